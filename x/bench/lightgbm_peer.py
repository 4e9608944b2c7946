"""One boosted bit with LightGBM: the peer of x/bench/boosted-bit.

    python3 x/bench/lightgbm_peer.py vectors.npy labels.txt CANDIDATES [THREADS [ROUNDS]]

The same data, the same bit, 200 trees of depth 4 (16 leaves), 255 bins, logistic loss at rate 0.3, with plain and with
quantised gradients. Quantising of the columns is not in the time. With fewer ROUNDS the time is scaled to 200, and the error
is left out.
"""

import os
import sys
import time

os.environ.setdefault("OMP_WAIT_POLICY", "passive")

import lightgbm
import numpy as np


def main():
    vectors, labels, candidates = sys.argv[1], sys.argv[2], int(sys.argv[3])
    threads = int(sys.argv[4]) if len(sys.argv) > 4 else 2
    rounds = int(sys.argv[5]) if len(sys.argv) > 5 else 200
    x = np.load(vectors).astype(np.float32)
    names = np.array(open(labels).read().split())
    bit = np.isin(names, np.unique(names)[:5])
    for quantised in (False, True):
        options = {
            "objective": "binary",
            "num_leaves": 16,
            "max_depth": 4,
            "learning_rate": 0.3,
            "max_bin": 255,
            "num_threads": threads,
            "use_quantized_grad": quantised,
            "feature_fraction_bynode": 1 if candidates < 0 else candidates / x.shape[1],
            "verbose": -1,
        }
        data = lightgbm.Dataset(x, bit.astype(np.float32), params=options).construct()
        cpu, began = time.process_time(), time.perf_counter()
        booster = lightgbm.train(options, data, rounds)
        cpu, wall = time.process_time() - cpu, time.perf_counter() - began
        method = "lightgbm-quantised" if quantised else "lightgbm"
        name = os.path.basename(vectors).removesuffix(".npy")
        line = f"BenchmarkBoostedBit/method={method}/data={name} 1 {wall * 200 / rounds:.2f} wall-s {cpu * 200 / rounds:.2f} cpu-s"
        if rounds == 200:
            line += f" {np.mean((booster.predict(x) >= 0.5) != bit):.4f} train-error"
        print(line, flush=True)


main()
