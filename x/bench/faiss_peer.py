"""Runs FAISS IndexBinaryFlat beside our benchmark and prints the ratios. search.sh calls it with our test binary."""

import os
import re
import subprocess
import sys
import time

import faiss
import numpy as np

SIZES = [f"{bits}:{n}" for n in (1_000_000, 10_000_000) for bits in (64, 256, 1024)]
ROW = re.compile(r"k=(\d+)/queries=(\d+)/threads=(\d+)\S*\s.*?([\d.e+]+) us/query")
READ = re.compile(r"/read\S*\s.*?([\d.]+) GB/s")


def ours(binary, size):
    """Our microseconds per query by (k, queries, threads), and the bandwidth of a read loop."""
    out = subprocess.run(
        [binary, "-test.run", "^$", "-test.bench", "Peer", "-test.benchtime", "1x", "-test.timeout", "2h"],
        env=dict(os.environ, HASHGROVE_SIZES=size), check=True, capture_output=True, text=True).stdout
    rows = {(int(k), int(q), int(t)): float(us) for k, q, t, us in ROW.findall(out)}
    if not rows:
        sys.exit("no results in:\n" + out)
    return rows, float(READ.search(out).group(1))


def theirs(index, queries, k, threads):
    faiss.omp_set_num_threads(threads)
    best = float("inf")
    for _ in range(10 if len(queries) == 1 else 2):
        start = time.perf_counter()
        index.search(queries, k)
        best = min(best, time.perf_counter() - start)
    return best * 1e6 / len(queries)


def main():
    binary, sizes = sys.argv[1], sys.argv[2:] or SIZES
    print(f"FAISS {faiss.__version__} ({faiss.get_compile_options().strip() or 'generic'})")
    print(f"{'bits':>5} {'codes':>9} {'k':>4} {'queries':>7} {'threads':>7} {'ours us':>10} {'FAISS us':>10} {'ratio':>6}")
    for size in sizes:
        bits, n = map(int, size.split(":"))
        rows, read = ours(binary, size)
        rng = np.random.default_rng(1)
        index = faiss.IndexBinaryFlat(bits)
        for first in range(0, n, 1_000_000):
            index.add(rng.integers(0, 256, (min(1_000_000, n - first), bits // 8), dtype=np.uint8))
        most = max(q for _, q, _ in rows)
        queries = rng.integers(0, 256, (most, bits // 8), dtype=np.uint8)
        for (k, count, threads), us in sorted(rows.items(), key=lambda row: (row[0][1], row[0][0], row[0][2])):
            peer = theirs(index, queries[:count], k, threads)
            print(f"{bits:5} {n:9} {k:4} {count:7} {threads:7} {us:10.1f} {peer:10.1f} {peer / us:6.1f}", flush=True)
        print(f"{bits:5} {n:9} read loop {read:.1f} GB/s, {n * bits / 8 / read / 1000:.0f} us for all codes", flush=True)


if __name__ == "__main__":
    main()
