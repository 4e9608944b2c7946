"""What Python costs beside the command, and the same job in FAISS and scikit-learn; docs/python.md has the figures.

    python3 notebook.py overhead MODEL.hgm ROWS.npy     rows from numpy against the command from a file, and one row
    python3 notebook.py side BASE.npy LABELS.txt QUERIES.npy LABELS.txt

HASHGROVE_BINARY names the program, and PYTHONPATH has client/python.
"""

import os
import subprocess
import sys
import tempfile
import time

import numpy as np

import hashgrove
from hashgrove import FastHash, Index, worker


def seconds(work):
    began = time.perf_counter()
    result = work()
    return time.perf_counter() - began, result


def overhead(model, path):
    """Alternates the command and Python, and compares the codes."""
    m, X = hashgrove.load(model), np.load(path)
    m.encode(X[:1000])
    ratios = []
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "codes.npy")
        command = [worker.program(), "encode", path, "-m", model, "-o", out, "--force", "--quiet"]
        for _ in range(3):
            there = seconds(lambda: subprocess.run(command, check=True, stdout=subprocess.DEVNULL))[0]
            here, codes = seconds(lambda: m.encode(X))
            ratios.append(here / there)
            print(f"{X.shape[0]} rows of {X.shape[1]}: the command {there:.2f} s, Python {here:.2f} s, {here / there:.2f} times")
        print("the same codes:", np.array_equal(codes, np.load(out)))
    print(f"median {sorted(ratios)[1]:.2f} times")
    times = []
    for i in range(3000):
        times.append(seconds(lambda: m.encode(X[i:i + 1]))[0])
    print(f"one row: median {1e6 * np.median(times):.0f} microseconds, nine of ten below {1e6 * np.quantile(times, 0.9):.0f}")


def side(base, labels, queries, answers):
    """FastHash, FAISS and scikit-learn on one data set, in one run. Every index learns from three quarters of the rows, and
    queries search the others, which are new to it, and then those that it has learned from."""
    import faiss
    from sklearn.neighbors import NearestNeighbors
    X, Q = np.load(base), np.load(queries)
    y, z = (np.array(open(name).read().split()) for name in (labels, answers))
    faiss.omp_set_num_threads(os.cpu_count())
    new = np.arange(len(X)) % 4 == 0
    parts = (new, ~new)

    def report(name, size, learn, made):
        """made: a function from queries to ids for each part of the rows."""
        right = []
        for part, search in zip(parts, made):
            search(Q[:50])
            took, ids = seconds(lambda: search(Q))
            right.append((y[part][ids] == z[:, None]).mean())
        print(f"| {name} | {size} | {learn:.1f} | {1e6 * took / len(Q):.0f} | {right[0]:.3f} | {right[1]:.3f} |", flush=True)

    print(f"{(~new).sum()} rows to learn from, {new.sum()} new ones, {len(Q)} queries")
    print("| | bytes an item | learn, s | search, us a query | right of 10, new items | right of 10, learned items |")
    print("|---|---|---|---|---|---|")
    learn, h = seconds(lambda: FastHash(bits=64).fit(X[~new], y[~new]))
    shops = []
    for part in parts:
        shops.append(Index(h))
        shops[-1].add(range(part.sum()), X[part])
    report("FastHash, `Index`", 8, learn, [lambda q, s=s: s.search(q, k=10, fields=[]).ids for s in shops])
    binary = []
    for part in parts:
        binary.append(faiss.IndexBinaryFlat(64))
        binary[-1].add(h.transform(X[part]))
    report("FastHash codes in `faiss.IndexBinaryFlat`", 8, learn, [lambda q, b=b: b.search(h.transform(q), 10)[1] for b in binary])
    dim = X.shape[1]
    for name, size, make in (("`faiss.IndexPQ`, 8 parts of 8 bits", 8, lambda: faiss.IndexPQ(dim, 8, 8)),
                             ("`faiss.IndexLSH`, 64 bits", 8, lambda: faiss.IndexLSH(dim, 64)),
                             ("`faiss.IndexFlatL2`", 4 * dim, lambda: faiss.IndexFlatL2(dim))):
        indexes = [make(), make()]
        learn = seconds(lambda: indexes[0].train(X[~new]))[0]
        indexes[1].train(X[~new])
        for index, part in zip(indexes, parts):
            index.add(X[part])
        report(name, size, learn, [lambda q, i=i: i.search(q, 10)[1] for i in indexes])
    near = [NearestNeighbors(n_neighbors=10, algorithm="brute", n_jobs=-1).fit(X[part]) for part in parts]
    report("`sklearn.neighbors.NearestNeighbors`", 4 * dim, 0, [lambda q, n=n: n.kneighbors(q, return_distance=False) for n in near])


if __name__ == "__main__":
    {"overhead": overhead, "side": side}[sys.argv[1]](*sys.argv[2:])
