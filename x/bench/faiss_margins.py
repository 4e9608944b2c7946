"""Runs FAISS product quantisers of as many bytes as our codes beside a ranking by margins. margins.sh calls it.

Both rank by a distance that only the query knows in full: the items are compressed, the query is not. IndexPQ has 8 bits
for each part of a vector, IndexPQFastScan 4, both as many bytes in all as a code. Vectors are normal, of 64 columns or
as many as there are parts; what they hold does not change the time. Ours and theirs run in turns, and the shortest time
of each counts.
"""

import os
import re
import subprocess
import sys
import time

import faiss
import numpy as np

PROCESSOR = bool(os.environ.get("HASHGROVE_PROCESSOR"))
ROW = re.compile(r"bits=(\d+)/n=(\d+)/k=(\d+)/queries=(\d+)/threads=(\d+)/method=scan 1 ([\d.]+) us-hamming ([\d.]+) us-margins")


def ours(binary, bits, n, queries):
    """Our microseconds per query by Hamming distance and by margins, by (queries, threads)."""
    kind = os.environ.get("HASHGROVE_MARGINS", "normal")
    flags = ["-processor", "-threads", "1"] if PROCESSOR else []
    out = subprocess.run([binary, "-bits", bits, "-codes", n, "-queries", queries, "-margins", kind, *flags], check=True,
                         capture_output=True, text=True).stdout
    rows = {(int(q), int(t)): (float(h), float(m)) for _, _, _, q, t, h, m in ROW.findall(out)}
    if not rows:
        sys.exit("no results in:\n" + out)
    return rows


def theirs(index, queries, k, threads):
    """The microseconds per query of a product quantiser."""
    faiss.omp_set_num_threads(threads)
    clock = time.process_time if PROCESSOR else time.perf_counter
    best = float("inf")
    for _ in range(30 if len(queries) == 1 else 3):
        start = clock()
        index.search(queries, k)
        best = min(best, clock() - start)
    return best * 1e6 / len(queries)


def peers(bits, n):
    """The product quantisers, trained and filled."""
    size = max(64, bits // 4)
    rng = np.random.default_rng(1)
    made = {"PQ": faiss.IndexPQ(size, bits // 8, 8), "PQFastScan": faiss.IndexPQFastScan(size, bits // 4, 4)}
    sample = rng.standard_normal((20_000, size), dtype=np.float32)
    for index in made.values():
        index.train(sample)
    for first in range(0, n, 100_000):
        part = rng.standard_normal((min(100_000, n - first), size), dtype=np.float32)
        for index in made.values():
            index.add(part)
    return made, rng.standard_normal((1000, size), dtype=np.float32)


def main():
    binary, count, k = sys.argv[1], sys.argv[2], 100
    print(f"FAISS {faiss.__version__} ({faiss.get_compile_options().strip() or 'generic'}), k = {k}")
    print(f"{'bits':>5} {'codes':>9} {'queries':>7} {'threads':>7} {'hamming us':>10} {'margins us':>10} {'times':>6} "
          f"{'PQ us':>9} {'ratio':>6} {'FastScan us':>11} {'ratio':>6}")
    for size in sys.argv[3:]:
        bits, n = size.split(":")
        made, queries = peers(int(bits), int(n))
        best = {}
        for _ in range(int(os.environ.get("HASHGROVE_ROUNDS", "3"))):
            for (number, threads), mine in ours(binary, bits, n, count).items():
                peer = (theirs(made[name], queries[:number], k, threads) for name in ("PQ", "PQFastScan"))
                times = (*mine, *peer)
                best[number, threads] = [min(pair) for pair in zip(times, best.get((number, threads), times))]
        for (number, threads), (hamming, margins, pq, scan) in sorted(best.items()):
            print(f"{bits:>5} {n:>9} {number:7} {threads:7} {hamming:10.1f} {margins:10.1f} {margins / hamming:6.2f} "
                  f"{pq:9.1f} {pq / margins:6.1f} {scan:11.1f} {scan / margins:6.1f}", flush=True)


if __name__ == "__main__":
    main()
