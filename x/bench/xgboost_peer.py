"""One boosted bit with XGBoost's histogram trainer: the peer of x/bench/boosted-bit.

    python3 x/bench/xgboost_peer.py vectors.npy labels.txt CANDIDATES [THREADS [ROUNDS]]

The same data, the same bit, 200 trees of depth 4, 256 bins and, as colsample_bynode, the same share of columns per node;
everything else as XGBoost has it: logistic loss, learning rate 0.3. Quantising is not in the time. With fewer ROUNDS the
time is scaled to 200, and the error is left out.
"""

import os
import sys
import time

os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # where others use the cores too, threads that spin only harm

import numpy as np
import xgboost


def main():
    vectors, labels, candidates = sys.argv[1], sys.argv[2], int(sys.argv[3])
    threads = int(sys.argv[4]) if len(sys.argv) > 4 else 2
    rounds = int(sys.argv[5]) if len(sys.argv) > 5 else 200
    x = np.load(vectors)
    names = np.array(open(labels).read().split())
    bit = np.isin(names, np.unique(names)[:5])
    data = xgboost.QuantileDMatrix(x, bit.astype(np.float32), max_bin=256, nthread=threads)
    columns = x.shape[1]
    del x
    options = {
        "tree_method": "hist",
        "max_depth": 4,
        "max_bin": 256,
        "nthread": threads,
        "objective": "binary:logistic",
        "colsample_bynode": 1 if candidates < 0 else candidates / columns,
    }
    cpu, began = time.process_time(), time.perf_counter()
    booster = xgboost.train(options, data, rounds)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - began
    name = os.path.basename(vectors).removesuffix(".npy")
    line = f"BenchmarkBoostedBit/method=xgboost/data={name} 1 {wall * 200 / rounds:.2f} wall-s {cpu * 200 / rounds:.2f} cpu-s"
    if rounds == 200:
        line += f" {np.mean((booster.predict(data) >= 0.5) != bit):.4f} train-error"
    print(line)


main()
