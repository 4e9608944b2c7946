"""Tests of service.py against a service with a collection shop: python3 test_service.py URL TOKEN VECTORS.npy

The vectors are those of its items, whose ids are 0, 1, ...; client/python_test.go starts the service and runs this.
"""

import socket
import sys
import threading
import unittest

import numpy as np

import hashgrove
from hashgrove import Client

url, token, vectors = None, None, None


class ClientTest(unittest.TestCase):
    def setUp(self):
        self.c = Client(url, token)
        self.addCleanup(self.c.close)

    def test_server(self):
        self.assertEqual(self.c.server()["access"], "write")
        shop = self.c.collections()[0]
        self.assertEqual((shop["name"], shop["dims"]), ("shop", vectors.shape[1]))
        self.assertEqual(self.c["shop"].about()["bits"], shop["bits"])

    def test_search(self):
        found = self.c["shop"].search(vectors, k=5, rank="hamming")
        self.assertEqual((found.ids.shape, found.distances.shape), ((len(vectors), 5), (len(vectors), 5)))
        self.assertEqual((found.ids.dtype, found.distances.dtype), (np.int64, np.int32))
        self.assertTrue((found.distances[:, 0] == 0).all())
        self.assertTrue((np.diff(found.distances) >= 0).all())
        self.assertEqual(found.hits[0][0]["id"], found.ids[0, 0])
        D, I = found
        self.assertTrue(D is found.distances and I is found.ids)
        codes = self.c["shop"].encode(vectors)
        for i in (0, 7):
            for other in (
                self.c["shop"].search(vectors[i], k=5, rank="hamming"),
                self.c["shop"].search(vectors[i].astype(np.float64), k=5, rank="hamming"),
                self.c["shop"].search(list(map(float, vectors[i])), k=5, rank="hamming", fields=[]),
                self.c["shop"].search(codes=codes[i], k=5, rank="hamming"),
                self.c["shop"].search(ids=i, k=5, rank="hamming"),
                self.c["shop"].search(ids=np.int64(i), k=5, rank="hamming", fields=["label"]),
            ):
                np.testing.assert_array_equal(other.ids, found.ids[i])
                np.testing.assert_array_equal(other.distances, found.distances[i])
        np.testing.assert_array_equal(self.c["shop"].search(codes=codes, k=5, rank="hamming").ids, found.ids)
        np.testing.assert_array_equal(self.c["shop"].search(ids=[0, 7], k=5, rank="hamming").ids, found.ids[[0, 7]])
        np.testing.assert_array_equal(self.c["shop"].search(np.asfortranarray(vectors), k=5, rank="hamming").ids, found.ids)
        self.assertEqual(self.c["shop"].search(vectors[:2], k=1, explain=True).answer["results"][0]["why"]["distance"] >= 0, True)
        near = self.c["shop"].search(vectors[5], k=2, rerank="euclidean")
        self.assertEqual(near.ids[0], 5)
        self.assertEqual(self.c["shop"].explain(1, vector=vectors[0])["id"], 1)
        np.testing.assert_array_equal(self.c["shop"].vector(5), vectors[5])

    def test_rankings_and_detail(self):
        found = self.c["shop"].search(vectors, k=5, rank="expected")
        self.assertEqual((found.rank, found.detail_distances), ("expected", None))
        self.assertEqual(self.c["shop"].search(vectors, k=5, rank="margins").rank, "margins")
        self.assertEqual(self.c["shop"].search(vectors, radius=5).rank, "hamming")
        found = self.c["style"].search(vectors, k=5, rank="hamming")
        self.assertEqual((found.detail_distances.shape, found.detail_distances.dtype), ((len(vectors), 5), np.int32))
        for i, hits in enumerate(found.hits):
            weighted = [h["margin_distance"] for h in hits]
            self.assertEqual(weighted, sorted(weighted))
            np.testing.assert_array_equal(weighted, 16 * found.distances[i] + 2 * found.detail_distances[i])
        one = self.c["style"].search(vectors[7], k=5, rank="hamming")
        np.testing.assert_array_equal(one.detail_distances, found.detail_distances[7])

    def test_rows_of_different_length(self):
        found = self.c["shop"].search(vectors[:20], radius=0, k=1000, where='label = "boots"')
        self.assertEqual(found.ids.shape[0], 20)
        counts = [len(hits) for hits in found.hits]
        self.assertGreater(max(counts), min(counts))
        np.testing.assert_array_equal((found.distances >= 0).sum(axis=1), counts)

    def test_encode(self):
        bits = self.c["shop"].about()["bits"]
        codes, margins = self.c["shop"].encode(vectors, margins=True)
        self.assertEqual((codes.shape, codes.dtype), ((len(vectors), (bits + 7) // 8), np.uint8))
        np.testing.assert_array_equal(self.c["shop"].encode(vectors), codes)
        np.testing.assert_array_equal(self.c["shop"].encode(vectors[3]), codes[3])
        np.testing.assert_array_equal(np.unpackbits(codes, axis=1)[:, :bits], margins > 0)

    def test_changes(self):
        c = self.c
        before = sum(1 for _ in c["shop"].items())
        ids = [1000, "a/b ?", np.int64(1002)]
        written = c["shop"].put(ids, vectors[:3], labels=["x", "", "y"], tags=[["t"], [], ["u", "v"]],
                        attributes=[{"price": np.float32(1.5)}, {}, {"price": 2, "maker": "Grove"}])
        self.assertEqual(written, 3)
        self.assertEqual(c["shop"].item(1000)["attributes"], {"price": 1.5})
        self.assertEqual(c["shop"].item("a/b ?")["id"], "a/b ?")
        found = c["shop"].search(vectors[0], k=1000, fields=[])
        self.assertEqual(found.ids.dtype, object)
        self.assertIn("a/b ?", list(self.c["shop"].search(vectors[1], k=1000).ids))
        self.assertEqual(c["shop"].patch([1000, 5555], labels=["z", "z"], attributes=[None, {"a": 1}]), 1)
        self.assertEqual(c["shop"].item(1000)["label"], "z")
        with self.assertRaises(hashgrove.Conflict):
            c["shop"].put([1000], vectors[:1], mode="add")
        self.assertEqual(c["shop"].put([1003], codes=c["shop"].encode(vectors[:1])), 1)
        self.assertEqual(sum(1 for _ in c["shop"].items(page=7)), before + 4)
        self.assertEqual([x["id"] for x in c["shop"].items("price < 2")], [1000])
        self.assertEqual(c["shop"].facets("price < 2")["items"], 1)
        self.assertEqual(c["shop"].delete(where="price < 9", dry_run=True), 2)
        self.assertEqual(c["shop"].delete(where="price < 9"), 2)
        self.assertEqual(c["shop"].delete(["a/b ?", 1003]), 2)
        self.assertEqual(c["shop"].delete(1003), 0)
        for blank in ("", " ", "\t\n"):
            with self.assertRaises(hashgrove.Error):
                c["shop"].delete(where=blank)
        self.assertEqual(sum(1 for _ in c["shop"].items()), before)

    def test_refusals(self):
        for kind, status, ask in (
            (hashgrove.Unauthorized, 401, lambda: Client(url, "wrong").server()),
            (hashgrove.NotFound, 404, lambda: self.c["a/b"].about()),
            (hashgrove.NotFound, 404, lambda: self.c["shop"].item("none")),
            (hashgrove.Conflict, 409, lambda: Client(url, token, fingerprint="0" * 15 + "1")["shop"].search(ids=1)),
            (hashgrove.Error, 400, lambda: self.c["shop"].search(vectors[:, :2])),
            (hashgrove.Error, 400, lambda: self.c["shop"].search(ids=1, where="(")),
        ):
            with self.assertRaises(kind) as caught:
                ask()
            self.assertEqual(caught.exception.status, status)
            self.assertTrue(caught.exception.request_id)
            self.assertNotIn(token, str(caught.exception))
        self.assertNotIn(token, repr(self.c))
        for wrong in (
            lambda: self.c["shop"].search(), lambda: self.c["shop"].search(vectors, ids=[1]), lambda: self.c["shop"].delete(),
            lambda: self.c["shop"].encode(), lambda: Client("shop"), lambda: self.c["shop"].search(np.zeros((2, 2, 2))),
            lambda: self.c["shop"].put([1], vectors[:1], attributes=[{"a": float("nan")}]),
        ):
            with self.assertRaises(ValueError):
                wrong()
        sparse = type("Sparse", (), {"tocsr": None, "ndim": 2, "shape": (1, 4)})()
        with self.assertRaisesRegex(TypeError, "sparse"):
            self.c["shop"].search(sparse)

    def test_unreachable(self):
        """Nobody listens, does not speak HTTP, or hangs up: an Error that names the service, and an OSError as before."""
        for answer in (None, b"", b"nonsense\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\ncut"):
            with socket.socket() as listener:
                listener.bind(("127.0.0.1", 0))
                where = f"http://127.0.0.1:{listener.getsockname()[1]}"
                if answer is not None:
                    listener.listen()

                    def reply():
                        connection, _ = listener.accept()
                        with connection:
                            connection.recv(1 << 16)
                            connection.sendall(answer)

                    threading.Thread(target=reply, daemon=True).start()
                for kind in (hashgrove.Unreachable, hashgrove.Error, OSError):
                    with self.assertRaises(kind) as caught:
                        Client(where, token).server()
                    self.assertIn(where, str(caught.exception))
                    self.assertNotIn(token, str(caught.exception))
                    self.assertIsNotNone(caught.exception.__cause__)
                    if answer is not None:
                        break  # it answers once

    def test_threads(self):
        want = self.c["shop"].search(vectors, k=3).ids
        wrong = []

        def search():
            for _ in range(5):
                if not (self.c["shop"].search(vectors, k=3).ids == want).all():
                    wrong.append(1)

        threads = [threading.Thread(target=search) for _ in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(wrong, [])


if __name__ == "__main__":
    url, token, vectors = sys.argv[1], sys.argv[2], np.load(sys.argv[3])
    unittest.main(argv=sys.argv[:1])
