"""Tests of FastHash, Model, Index and compare against the command: python3 test_notebook.py

HASHGROVE_BINARY names the program; client/notebook_test.go builds it and runs this."""

import contextlib
import copy
import io
import json
import os
import pickle
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np

import hashgrove
from hashgrove import Client, FastHash, Index, Model, compare

program = os.environ["HASHGROVE_BINARY"]


def clouds(n=400, dim=12, classes=4, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, n)
    centre = rng.normal(size=(classes, dim)) * 1.5
    return (centre[y] + rng.normal(size=(n, dim))).astype(np.float32), y


def run(*args, **options):
    return subprocess.run([program, *map(str, args)], check=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options).stdout


@contextlib.contextmanager
def service(*args, token=None):
    """A service of indexes, and a client of it."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    server = subprocess.Popen([program, "serve", *args, "--listen", address, "--quiet"], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL)
    client = Client("http://" + address, token)
    try:
        for _ in range(600):
            try:
                client.server()
                break
            except OSError:
                time.sleep(0.1)
        yield client
    finally:
        client.close()
        server.terminate()
        server.wait(60)


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.X, cls.y = clouds()
        cls.hasher = FastHash(bits=24, effort="quick", random_state=3).fit(cls.X, cls.y)

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def files(self, X, y):
        """X and y as the command reads them."""
        np.save(self.path("x.npy"), X)
        with open(self.path("y.txt"), "w") as f:
            f.write("".join(f"{v}\n" for v in y))


class SameAsTheCommand(Case):
    def train(self, *flags, X=None, y=None, labels=None):
        self.files(self.X if X is None else X, self.y if y is None else y)
        run("train", self.path("x.npy"), *(labels or ["--labels", self.path("y.txt")]), "--quiet", "--force", "-o", self.path("m.hgm"),
            *flags)
        with open(self.path("m.hgm"), "rb") as f:
            return f.read()

    def test_models(self):
        for made, flags in (
            (self.hasher, ["--bits", "24", "--effort", "quick", "--seed", "3"]),
            (FastHash(bits=8, effort="paper", options={"rounds": 5, "loss": "hinge"}).fit(self.X, self.y),
             ["--bits", "8", "--effort", "paper", "--rounds", "5", "--loss", "hinge"]),
            (FastHash(bits=8, method="ksh", options={"anchors": 30}).fit(self.X, self.y),
             ["--bits", "8", "--method", "ksh", "--set", "anchors=30"]),
            (FastHash(8, "quick", options={"device": "cpu"}).fit(self.X, self.y), ["--bits", "8", "--effort", "quick"]),
            (FastHash(bits=16, effort="quick", detail_bits=4, sample=20, validation=0).fit(self.X, self.y),
             ["--bits", "16", "--effort", "quick", "--detail-bits", "4", "--set", "sample_similar=20", "--set", "sample_dissimilar=20",
              "--validation", "0"]),
        ):
            self.assertEqual(bytes(made.model_), self.train(*flags), flags)

    def test_types(self):
        flags = ["--bits", "8", "--effort", "quick"]
        names = np.array(["boots", "hats", "mules", "sandals"])[self.y]
        self.assertEqual(bytes(FastHash(8, "quick").fit(self.X, list(names)).model_), self.train(*flags, y=names))
        for X in (self.X.astype(np.float64), self.X.astype(np.float16), (self.X * 20 + 100).astype(np.uint8),
                  (self.X * 1000).astype(np.int32), np.asfortranarray(self.X), self.X[::2], self.X.astype(">f4")):
            y = self.y[:len(X)] if len(X) == len(self.y) else self.y[::2]
            made = FastHash(8, "quick").fit(X, y)
            self.assertEqual(bytes(made.model_), self.train(*flags, X=X, y=y), X.dtype)
            run("encode", self.path("x.npy"), "-m", self.path("m.hgm"), "-o", self.path("c.npy"), "--force")
            np.testing.assert_array_equal(made.transform(X), np.load(self.path("c.npy")))

    def test_tags(self):
        rng = np.random.default_rng(5)
        tags = [sorted({f"t{v}" for v in [c, c + 1, rng.integers(9)]}) for c in self.y]
        with open(self.path("tags.txt"), "w") as f:
            f.write("".join(",".join(row) + "\n" for row in tags))
        made = FastHash(8, "quick").fit(self.X, tags)
        want = self.train("--bits", "8", "--effort", "quick", labels=["--tags", self.path("tags.txt")])
        self.assertEqual(made.model_.fingerprint, Model(want).fingerprint)
        names = sorted({t for row in tags for t in row})
        matrix = np.array([[t in row for t in names] for row in tags], dtype=int)
        self.assertEqual(len(FastHash(8, "quick").fit(self.X, matrix).classes_), len(names))
        self.assertEqual(FastHash(8, "quick").fit(self.X, [set(row) for row in tags]).model_.fingerprint, made.model_.fingerprint)

    def test_pairs(self):
        rng = np.random.default_rng(6)
        pairs = np.unique(np.sort(rng.integers(0, len(self.X), (3000, 2)), axis=1), axis=0)
        pairs = pairs[pairs[:, 0] != pairs[:, 1]]
        pairs = np.column_stack([pairs, np.where(self.y[pairs[:, 0]] == self.y[pairs[:, 1]], 1, -1)])
        with open(self.path("pairs.csv"), "w") as f:
            f.write("".join(f"{a},{b},{'similar' if s > 0 else 'dissimilar'}\n" for a, b, s in pairs))
        made = FastHash(8, "quick").fit(self.X, pairs=pairs)
        self.assertEqual(bytes(made.model_), self.train("--bits", "8", "--effort", "quick", labels=["--pairs", self.path("pairs.csv")]))

    def test_codes_and_answers(self):
        self.hasher.save(self.path("m.hgm"))
        self.files(self.X, self.y)
        run("encode", self.path("x.npy"), "-m", self.path("m.hgm"), "-o", self.path("c.npy"))
        np.testing.assert_array_equal(self.hasher.transform(self.X), np.load(self.path("c.npy")))
        with Index(self.hasher) as shop:
            shop.add(range(len(self.X)), self.X, labels=self.y)
            shop.save(self.path("s.hgi"))
            with self.assertRaises(hashgrove.Error):
                shop.save(self.path("s.hgi"))
            np.save(self.path("q.npy"), self.X[:7])
            answer = json.loads(run("search", self.path("s.hgi"), self.path("q.npy"), "-k", "5", "--where", 'label != "1"', "--json"))
            found = shop.search(self.X[:7], k=5, where='label != "1"')
            self.assertEqual(found.answer["rank"], answer["rank"])
            for mine, theirs in zip(found.answer["results"], answer["results"]):
                self.assertEqual((mine["code"], mine["hits"]), (theirs["code"], theirs["hits"]))


class Estimator(Case):
    def test_outputs(self):
        h, X = self.hasher, self.X
        packed = h.transform(X)
        self.assertEqual((packed.shape, packed.dtype), ((len(X), 3), np.uint8))
        bits = h.transform(X, output="bits")
        np.testing.assert_array_equal(np.packbits(bits, axis=1), packed)
        np.testing.assert_array_equal(h.transform(X, output="signs"), bits.astype(int) * 2 - 1)
        margins = h.transform(X, output="margins")
        np.testing.assert_array_equal(margins > 0, bits == 1)
        np.testing.assert_array_equal(h.model_.encode(X[5]), packed[5])
        np.testing.assert_array_equal(FastHash(24, "quick", random_state=3, output="bits").fit_transform(X, self.y), bits)
        with self.assertRaises(ValueError):
            h.transform(X, output="colours")

    def test_many_rows(self):
        X = np.tile(self.X, (1500, 1))  # more than one request
        np.testing.assert_array_equal(self.hasher.transform(X), np.tile(self.hasher.transform(self.X), (1500, 1)))
        X[123456, 7] = np.nan
        with self.assertRaisesRegex(ValueError, "row 123456, column 7"):
            self.hasher.transform(X)

    def test_pickle_and_copies(self):
        for other in (pickle.loads(pickle.dumps(self.hasher)), copy.deepcopy(self.hasher)):
            np.testing.assert_array_equal(other.transform(self.X), self.hasher.transform(self.X))
            self.assertEqual(bytes(other.model_), bytes(self.hasher.model_))
        self.hasher.save(self.path("m.hgm"))
        m = hashgrove.load(self.path("m.hgm"))
        self.assertEqual(m, self.hasher.model_)
        self.assertEqual(FastHash.from_model(m).transform(self.X[:3]).shape, (3, 3))
        self.assertEqual(m.shorter(8).encode(self.X).tolist(), self.hasher.transform(self.X)[:, :1].tolist())
        with open(self.path("m.hgm"), "r+b") as f:
            f.seek(200)
            f.write(b"damage")
        with self.assertRaises(ValueError):
            hashgrove.load(self.path("m.hgm"))

    def test_params(self):
        h = FastHash(bits=8, options={"rounds": 3})
        self.assertEqual(h.set_params(bits=16).get_params()["bits"], 16)
        for bad, word in (({"bits": 0}, "bits"), ({"bits": "many"}, "bits"), ({"method": "magic"}, "magic"),
                          ({"effort": "heroic"}, "heroic"), ({"options": {"roundz": 1}}, "did you mean rounds"), ({"options": {"deepth": 1}}, "did you mean depth"),
                          ({"threads": 1, "n_jobs": 1}, "n_jobs"), ({"n_jobs": 1.5}, "threads"), ({"random_state": -1}, "seed"),
                          ({"validation": 3}, "validation"), ({"output": "x"}, "output"), ({"options": {"bits": 3}}, "bits")):
            with self.assertRaisesRegex(ValueError, word):
                FastHash(**{"bits": 8, **bad}).fit(self.X, self.y)
        self.assertEqual(FastHash(8, "quick", random_state=np.random.RandomState(1)).fit(self.X, self.y).model_.bits, 8)
        for n, threads in ((None, 0), (3, 3), (-1, os.cpu_count()), (-10**5, 1)):
            self.assertEqual(FastHash(n_jobs=n)._options().get("threads", 0), threads)
        self.assertEqual(FastHash(24, "quick", random_state=3, n_jobs=-1).fit(self.X, self.y).model_, self.hasher.model_)

    def test_missing_values(self):
        X = self.X.copy()
        X[::7, 2] = np.nan
        with self.assertRaisesRegex(ValueError, "NaN"):
            FastHash(8, "quick").fit(X, self.y)
        h = FastHash(8, "quick", missing=True).fit(X, self.y)
        self.assertEqual(h.transform(X).shape, (len(X), 1))
        masked = np.ma.masked_invalid(X)
        np.testing.assert_array_equal(h.transform(masked), h.transform(X))

    def test_score_and_looks(self):
        self.assertGreater(self.hasher.score(self.X, self.y), 0.5)
        self.assertIn("new items", self.hasher.model_._repr_html_())
        self.assertIn("24 bits", repr(self.hasher.model_))
        self.assertIn("fasthash", hashgrove.methods())
        self.assertRegex(hashgrove.__version__, r"^\d+\.\d+\.\d+")

    def test_warnings_and_bar(self):
        X = self.X.copy()
        X[0] = 1e6  # which leaves all others one bin
        with self.assertWarns(UserWarning), contextlib.redirect_stderr(io.StringIO()) as shown:
            FastHash(8, "paper", options={"rounds": 3}, verbose=True).fit(X, self.y)
        self.assertIn("learning bits [", shown.getvalue())


class Indexes(Case):
    def test_life(self):
        Index(self.hasher, self.path("served.hgi")).close()
        with Index(self.hasher) as memory, Index(self.hasher, self.path("shop.hgi")) as file, \
                service(self.path("served.hgi")) as client, client["served"] as served:
            for shop in (memory, file, served):
                self.life(shop)
            for shop in (memory, file):
                self.own(shop)
        for shop in (memory, file):
            self.assertIn("closed", repr(shop))
            with self.assertRaises(hashgrove.Error):
                len(shop)
        with hashgrove.load(self.path("shop.hgi")) as again:
            self.assertEqual(len(again), len(self.X) - 30)
            self.assertEqual(again.model.fingerprint, self.hasher.model_.fingerprint)
            with self.assertRaises(hashgrove.Error):  # it is in use, or of another model
                Index(FastHash(8, "quick").fit(self.X, self.y), self.path("shop.hgi"))
        self.assertEqual(len(pickle.loads(pickle.dumps(again))), len(self.X) - 30)
        with self.assertRaises(TypeError):
            pickle.dumps(Index(self.hasher))

    def life(self, shop):
        X, n = self.X, len(self.X)
        self.assertEqual((len(shop), bool(shop)), (0, True))
        ids = [f"item-{i:03}" for i in range(n)]
        self.assertEqual(shop.add(ids, X, labels=self.y, attributes=[{"price": i, "new": "yes"} for i in range(n)]), n)
        with self.assertRaises(hashgrove.Conflict):
            shop.add(ids[:1], X[:1])
        found = shop.search(X[:5], k=3, rank="hamming")
        self.assertEqual((found.ids.shape, found.distances.dtype), ((5, 3), np.int32))
        self.assertTrue((found.distances[:, 0] == 0).all())
        hit = shop.search(X[0], k=3, rank="hamming", where="price < 200").hits[0]
        self.assertEqual((hit["id"], hit.id, hit.distance), (ids[0], ids[0], 0))
        self.assertIn("<table", hit._repr_html_() + found._repr_html_())
        codes = self.hasher.transform(X)
        np.testing.assert_array_equal(shop.search(codes=codes[:5], k=3, rank="hamming").ids, found.ids)
        np.testing.assert_array_equal(shop.search(ids=ids[:5], k=3, rank="hamming").ids, found.ids)
        bare = shop.search(X[:5], k=3, rank="hamming", fields=[])
        np.testing.assert_array_equal(bare.ids, found.ids)
        self.assertEqual(bare.hits[1][2], {"id": found.ids[1, 2], "distance": found.distances[1, 2]})
        self.assertTrue((shop.search(X[:2], radius=1).distances <= 1).all())
        self.assertEqual(shop.explain(ids[1], vector=X[0])["id"], ids[1])
        self.assertEqual(shop.patch(ids[:2], labels=["a", "b"]), 2)
        item = shop.item(ids[0])
        self.assertEqual((item["label"], item["attributes"]["price"]), ("a", 0))
        self.assertEqual([i["id"] for i in shop.items("price < 30", page=7)], ids[:30])
        self.assertEqual(shop.delete(where="price < 30", dry_run=True), 30)
        self.assertEqual(shop.delete(where="price < 30"), 30)
        self.assertEqual((shop.delete(ids[40]), shop.delete(ids[:3]), len(shop)), (1, 0, n - 31))
        self.assertTrue(ids[50] in shop and ids[0] not in shop)
        shop.put(ids[:1], codes=codes[:1], labels=["back"])
        self.assertEqual(shop.item(ids[0])["code"], codes[0].tobytes().hex())
        np.testing.assert_array_equal(shop.encode(X[:3]), codes[:3])
        for bad in (lambda: shop.search(X[:, :3]), lambda: shop.search(X, k=0), lambda: shop.search(X, where="prce < 3"),
                    lambda: shop.search(), lambda: shop.put(ids, X[:3]), lambda: shop.delete(),
                    lambda: shop.put(ids[:1], X[:1], attributes=[{"x": [1]}])):
            with self.assertRaises(ValueError):
                bad()
        with self.assertRaises(hashgrove.NotFound):
            shop.item("nobody")
        for blank in ("", " ", "\t\n"):
            with self.assertRaises(ValueError):
                shop.delete(where=blank)

    def own(self, shop):
        ids, X = [f"item-{i:03}" for i in range(len(self.X))], self.X
        with self.assertRaisesRegex(ValueError, "vectors"):
            shop.search(X[60], k=1, rerank="euclidean")
        shop.set_vectors(ids[50:], X[50:])
        near = shop.search(X[60], k=2, rerank="euclidean")
        self.assertEqual((near.ids[0], near.hits[0].score), (ids[60], 0))
        shop.put(ids[60:61], X[:1])
        by = dict(k=9, rank="margins")
        self.assertEqual(shop.search(ids=ids[60:61], **by).hits, shop.search(X[:1], **by).hits)
        shop.put(ids[60:61], X[60:61])
        self.assertIn("items", repr(shop))

    def test_threads(self):
        with Index(self.hasher) as shop, ThreadPoolExecutor(8) as pool:
            shop.put(range(len(self.X)), self.X)
            want, codes = shop.search(self.X, k=5).ids, self.hasher.transform(self.X)
            found = pool.map(lambda x: (shop.search(x, k=5).ids, self.hasher.model_.encode(x)), self.X)
            for i, (ids, code) in enumerate(found):
                self.assertTrue((ids == want[i]).all() and (code == codes[i]).all(), i)


TOKEN = "a-secret-token-of-tests"


class Services(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        shop, style, x, token = (os.path.join(folder.name, name) for name in ("shop.hgi", "style.hgi", "x.npy", "token"))
        with open(token, "w") as f:
            f.write(TOKEN)
        np.save(x, cls.X)
        detailed = FastHash(bits=16, effort="quick", detail_bits=3).fit(cls.X, cls.y)
        for path, hasher in ((shop, cls.hasher), (style, detailed)):
            with Index(hasher, path) as ix:
                ix.put(range(len(cls.X)), cls.X, labels=cls.y)
        started = service(shop, style, "--vectors", "shop=" + x, "--token-file", token, token=TOKEN)
        cls.client = started.__enter__()
        cls.addClassCleanup(started.__exit__, None, None, None)
        cls.shop, cls.style = cls.client["shop"], cls.client["style"]

    def test_search(self):
        self.assertEqual(self.client.server()["access"], "write")
        self.assertEqual([(c["name"], c["bits"]) for c in self.client.collections()], [("shop", 24), ("style", 19)])
        X, by = self.X, dict(k=5, rank="hamming")
        codes, margins = self.shop.encode(X, margins=True)
        np.testing.assert_array_equal(np.unpackbits(codes, axis=1), margins > 0)
        found = self.shop.search(X, **by)
        self.assertEqual((found.ids.shape, found.ids.dtype, found.distances.dtype), ((len(X), 5), np.int64, np.int32))
        self.assertTrue((np.diff(found.distances) >= 0).all())
        D, I = found
        self.assertTrue(D is found.distances and I is found.ids)
        for other in (self.shop.search(X[7].astype(np.float64), **by), self.shop.search(list(map(float, X[7])), fields=[], **by),
                      self.shop.search(codes=codes[7], **by), self.shop.search(ids=np.int64(7), fields=["label"], **by)):
            np.testing.assert_array_equal(other.ids, found.ids[7])
            np.testing.assert_array_equal(other.distances, found.distances[7])
        np.testing.assert_array_equal(self.shop.search(np.asfortranarray(X), **by).ids, found.ids)
        self.assertGreaterEqual(self.shop.search(X[:2], k=1, explain=True).answer["results"][0]["why"]["distance"], 0)
        self.assertEqual(self.shop.search(X[5], k=2, rerank="euclidean").ids[0], 5)
        np.testing.assert_array_equal(self.shop.vector(5), X[5])

        def again(_):
            ids = self.shop.search(X, **by).ids
            self.client.close()  # the connection of this thread
            return ids

        with ThreadPoolExecutor(4) as pool:
            for ids in pool.map(again, range(20)):
                np.testing.assert_array_equal(ids, found.ids)

    def test_rankings_and_detail(self):
        for rank in ("expected", "margins"):
            found = self.shop.search(self.X, k=5, rank=rank)
            self.assertEqual((found.rank, found.detail_distances), (rank, None))
        self.assertEqual(self.shop.search(self.X[:9], radius=5).rank, "hamming")
        found = self.style.search(self.X, k=5, rank="hamming")
        self.assertEqual((found.detail_distances.shape, found.detail_distances.dtype), ((len(self.X), 5), np.int32))
        for i, hits in enumerate(found.hits):
            weighted = [h["margin_distance"] for h in hits]
            self.assertEqual(weighted, sorted(weighted))
            np.testing.assert_array_equal(weighted, 16 * found.distances[i] + 2 * found.detail_distances[i])

    def test_rows_of_different_length(self):
        found = self.shop.search(self.X[:20], radius=0, k=1000, where='label = "1"')
        counts = [len(hits) for hits in found.hits]
        self.assertGreater(max(counts), min(counts))
        np.testing.assert_array_equal((found.distances >= 0).sum(axis=1), counts)

    def test_changes(self):
        written = self.style.put([1000, "a/b ?", np.int64(1002)], self.X[:3], labels=["x", "", "y"], tags=[["t"], [], ["u", "v"]],
                                 attributes=[{"price": np.float32(1.5)}, {}, {"price": 2, "maker": "Grove"}])
        self.assertEqual((written, self.style.item(1000)["attributes"]), (3, {"price": 1.5}))
        self.assertEqual(self.style.item("a/b ?")["id"], "a/b ?")
        found = self.style.search(self.X[1], k=1000, fields=[])
        self.assertTrue(found.ids.dtype == object and "a/b ?" in list(found.ids))
        self.assertEqual(self.style.patch([1000, 5555], labels=["z", "z"], attributes=[None, {"a": 1}]), 1)
        self.assertEqual(self.style.item(1000)["label"], "z")
        self.assertEqual(self.style.facets("price < 2")["items"], 1)
        self.assertEqual(self.style.delete([1000, "a/b ?", 1002]), 3)

    def test_refusals(self):
        url = repr(self.client)[len("Client("):-1]
        for kind, status, ask in (
            (hashgrove.Unauthorized, 401, lambda: Client(url, "wrong").server()),
            (hashgrove.NotFound, 404, lambda: self.client["a/b"].about()),
            (hashgrove.Conflict, 409, lambda: Client(url, TOKEN, fingerprint="0" * 15 + "1")["shop"].search(ids=1)),
            (hashgrove.Error, 400, lambda: self.shop.search(ids=1, where="(")),
        ):
            with self.assertRaises(kind) as caught:
                ask()
            self.assertEqual(caught.exception.status, status)
            self.assertTrue(caught.exception.request_id)
            self.assertNotIn(TOKEN, str(caught.exception))
        for wrong in (
            lambda: self.shop.search(self.X, ids=[1]), lambda: self.shop.encode(), lambda: Client("shop"),
            lambda: self.shop.search(np.zeros((2, 2, 2))), lambda: self.shop.put([1], self.X[:1], attributes=[{"a": float("nan")}]),
        ):
            with self.assertRaises(ValueError):
                wrong()

    def test_unreachable(self):
        """Nobody listens, does not speak HTTP, or hangs up: an Error that names the service, and an OSError as before."""
        for answer in (None, b"", b"nonsense\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\ncut"):
            with socket.socket() as listener:
                listener.bind(("127.0.0.1", 0))
                where = f"http://127.0.0.1:{listener.getsockname()[1]}"

                def reply():
                    with listener.accept()[0] as connection:
                        connection.recv(1 << 16)
                        connection.sendall(answer)

                if answer is not None:
                    listener.listen()
                    threading.Thread(target=reply, daemon=True).start()
                with self.assertRaisesRegex(hashgrove.Unreachable, where) as caught:
                    Client(where, TOKEN).server()
                self.assertIsInstance(caught.exception, (hashgrove.Error, OSError))
                self.assertNotIn(TOKEN, str(caught.exception))


class Codes(Case):
    def test_from_elsewhere(self):
        codes = np.random.default_rng(1).integers(0, 256, (60, 3), dtype=np.uint8)
        for path in (None, self.path("codes.hgi")):
            with Index(path=path, bits=24) as ix:
                ix.add(range(60), codes=codes, labels=["even", "odd"] * 30)
                found = ix.search(codes=codes, k=1)
                self.assertTrue((found.distances == 0).all())
                hits = ix.search(ids=7, radius=24, where='label = "odd"').hits
                distances = {h["id"]: h["distance"] for h in hits}
                self.assertEqual(distances, {i: int(np.unpackbits(codes[i] ^ codes[7]).sum()) for i in range(1, 60, 2)})
                self.assertEqual((ix.delete([7]), len(ix)), (1, 59))
                with self.assertRaisesRegex(hashgrove.Invalid, "model"):
                    ix.search(np.ones((1, 3)))
                with self.assertRaisesRegex(hashgrove.Invalid, "model"):
                    ix.model
        with Index(path=path) as ix:
            self.assertEqual(len(ix), 59)

    def test_duplicates(self):
        codes = np.random.default_rng(2).integers(0, 2, (60, 24), dtype=np.uint8)
        codes[30:] = codes[:30]
        codes[31, 3] ^= 1
        packed = np.packbits(codes, axis=1)
        with Index(bits=24) as ix:
            ix.add(range(60), codes=packed)
            want = [(i, k, int(d)) for i in range(60) for k in range(i + 1, 60) if (d := (codes[i] != codes[k]).sum()) <= 5]
            found = ix.duplicates(5)
            self.assertEqual(list(zip(found.a.tolist(), found.b.tolist(), found.distances.tolist())), want)
            self.assertEqual(ix.duplicates(0, groups=True), [[i, i + 30] for i in range(30) if i != 1])
            with self.assertRaisesRegex(hashgrove.TooLarge, f"{len(want)} pairs"):
                ix.duplicates(5, most=1)
            with self.assertRaises(hashgrove.Invalid):
                ix.duplicates(-1)
        with Index(bits=24) as ix:
            ix.add(["a", "b", 7], codes=packed[[0, 30, 1]])
            self.assertEqual([x.tolist() for x in ix.duplicates(0)], [["a"], ["b"], [0]])
            self.assertEqual(len(ix.duplicates(0, groups=True)), 1)

    def test_refusals(self):
        for arguments in ({"bits": 7}, {"bits": 4097}, {"bits": 24, "model": self.hasher}, {}):
            with self.assertRaises(hashgrove.Invalid):
                Index(**arguments)
        with Index(self.hasher) as ix:
            for wrong in (1.5, np.float32(2), float("nan"), None, True, np.False_):
                with self.assertRaisesRegex(hashgrove.Invalid, "is no id"):
                    ix.put([wrong], self.X[:1])
            ix.add([1], self.X[:1])
            with self.assertRaisesRegex(hashgrove.Error, "replace it"):
                ix.add([1], self.X[:1])


class Comparisons(Case):
    def test_compare(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            c = compare(self.X, self.y, methods=["fasthash", "lsh"], bits=[8, 16], effort="quick", title="clouds")
        self.assertEqual({r["method"] for r in c.records} >= {"fasthash", "lsh"}, True)
        self.assertIn("<iframe", c._repr_html_())
        self.assertIn("fasthash", repr(c).lower())
        self.assertTrue(c.verdict)
        c.save(self.path("report.html"))
        self.files(self.X, self.y)
        said = json.loads(run("compare", self.path("x.npy"), "--labels", self.path("y.txt"), "--methods", "fasthash,lsh", "--bits",
                              "8,16", "--effort", "quick", "--json"))
        self.assertEqual([(r["method"], r["bits"], r["map"]) for r in said["rows"]],
                         [(r["method"], r["bits"], r["map"]) for r in c.records])
        with self.assertRaises(ValueError):
            compare(self.X, self.y, methods=["magic"])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
