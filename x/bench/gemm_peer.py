"""A product of square float32 matrices with numpy on OpenBLAS, one thread: the peer of BenchmarkMul in internal/gemm.

    OPENBLAS_NUM_THREADS=1 python3 x/bench/gemm_peer.py [SIZE [TURNS]]
"""

import sys
import time

import numpy as np


def main():
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    turns = int(sys.argv[2]) if len(sys.argv) > 2 else 10
    rng = np.random.default_rng(1)
    x, y = rng.random((n, n), np.float32), rng.random((n, n), np.float32)
    z = np.empty_like(x)
    np.dot(x, y, out=z)
    best = np.inf
    for _ in range(turns):
        began = time.perf_counter()
        np.dot(x, y, out=z)
        best = min(best, time.perf_counter() - began)
    print(f"BenchmarkMul/code=openblas {turns} {2 * n**3 / best / 1e9:.1f} GFLOP/s")


main()
