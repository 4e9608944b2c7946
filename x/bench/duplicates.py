#!/usr/bin/env python3
"""All pairs of near codes, beside FAISS: python3 x/bench/duplicates.py PROGRAM [CODES [RADIUS]]

Codes of 64 bits in clusters of 1 to 10 around random centres, each up to 3 flips away from its own. FAISS answers a sample of
the codes as queries, all of which would take its time times CODES / sample; every item of its answers must be among our pairs."""

import os
import subprocess
import sys
import tempfile
import time

import faiss
import numpy as np
import pyarrow.parquet as pq

program, n, radius = sys.argv[1], int((sys.argv[2:3] or ["10000000"])[0]), int((sys.argv[3:4] or ["3"])[0])
rng = np.random.default_rng(7)
size = rng.integers(1, 11, n)
code = np.repeat(rng.integers(0, 2**64, n, dtype=np.uint64), size)[:n]
for _ in range(3):
    code ^= np.where(rng.random(n) < 0.5, np.uint64(1) << rng.integers(0, 64, n).astype(np.uint64), np.uint64(0))
code = rng.permutation(code).astype(">u8").view(np.uint8).reshape(n, 8)


def timed(work):
    """Seconds on the clock and of processors, and the result."""
    clock, before = time.perf_counter(), os.times()
    result = work()
    after = os.times()
    return time.perf_counter() - clock, sum(after[:4]) - sum(before[:4]), result


def hashgrove(*args):
    return timed(lambda: subprocess.run(["/usr/bin/time", "-f", "%M", program, *map(str, args), "--quiet"], check=True,
                                        capture_output=True, text=True).stderr.split()[-1])


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    np.save("codes.npy", code)
    hashgrove("index", "build", "codes.npy", "--codes", "-o", "codes.hgi")
    found = {}
    for what, flags in (("pairs, first 20", []), ("pairs, Parquet", ["-o", "pairs.parquet"]),
                        ("groups, Parquet", ["--groups", "-o", "groups.parquet"])):
        clock, cpu, kilobytes = hashgrove("duplicates", "codes.hgi", "--radius", radius, *flags)
        found[what] = clock, cpu
        print(f"hashgrove duplicates, {what}: {clock:.1f} s, {cpu:.1f} s of processors, {int(kilobytes) / 1024:.0f} MB", flush=True)
    pairs = pq.read_table("pairs.parquet")
    a, b, d = (pairs[c].to_numpy() for c in ("a", "b", "distance"))
    print(f"{len(a)} pairs", flush=True)


def faiss_pairs(index, queries):
    lims, _, ids = index.range_search(code[queries], radius + 1)  # FAISS takes distances below the radius
    return {(min(q, i), max(q, i)) for k, q in enumerate(queries) for i in ids[int(lims[k]):int(lims[k + 1])].tolist() if q != i}


for name, index, sample in (("IndexBinaryFlat", faiss.IndexBinaryFlat(64), 1000),
                            ("IndexBinaryMultiHash, 4 x 16", faiss.IndexBinaryMultiHash(64, 4, 16), 1000)):
    built = timed(lambda: index.add(code))
    queries = np.sort(rng.choice(n, sample, replace=False)).tolist()
    if name != "IndexBinaryFlat":
        index.nflip = 0  # codes within 3 bits agree in one of 4 parts
    clock, cpu, got = timed(lambda: faiss_pairs(index, queries))
    chosen = np.isin(a, queries) | np.isin(b, queries)
    want = set(zip(a[chosen].tolist(), b[chosen].tolist()))
    c, p = found["pairs, Parquet"]
    print(f"faiss {faiss.__version__} {name}: built in {built[0]:.1f} s; {sample} queries {clock:.2f} s, {cpu:.2f} s of processors; "
          f"all {n}, scaled up: {clock * n / sample:.0f} s, {cpu * n / sample:.0f} s of processors: "
          f"{clock * n / sample / c:.0f} and {cpu * n / sample / p:.0f} times; the same pairs: {got == want}", flush=True)
