"""One boosted bit with XGBoost and, where it is installed, LightGBM: the peers of x/bench/boosted-bit.

    python3 x/bench/boosted_peers.py vectors.npy labels.txt CANDIDATES [THREADS [ROUNDS]]

The same data, the same bit, 200 trees of depth 4, 256 bins (LightGBM 255), the same share of columns per node, and the
logistic loss at rate 0.3; LightGBM with plain and with quantised gradients. Quantising of the columns is not in the time.
With fewer ROUNDS the time is scaled to 200, and the error is left out.
"""

import os
import sys
import time

os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # where others use the cores too, threads that spin only harm

import numpy as np
import xgboost

try:
    import lightgbm
except ImportError:
    lightgbm = None

vectors, labels, candidates, threads, rounds = (sys.argv[1:] + ["2", "200"][len(sys.argv) - 4:])[:5]
candidates, threads, rounds = int(candidates), int(threads), int(rounds)
x = np.load(vectors).astype(np.float32)
names = np.array(open(labels).read().split())
bit = np.isin(names, np.unique(names)[:5])
share = 1 if candidates < 0 else candidates / x.shape[1]


def measure(method, train, data):
    cpu, began = time.process_time(), time.perf_counter()
    booster = train()
    cpu, wall = time.process_time() - cpu, time.perf_counter() - began
    name = os.path.basename(vectors).removesuffix(".npy")
    line = f"BenchmarkBoostedBit/method={method}/data={name} 1 {wall * 200 / rounds:.2f} wall-s {cpu * 200 / rounds:.2f} cpu-s"
    if rounds == 200:
        line += f" {np.mean((booster.predict(data) >= 0.5) != bit):.4f} train-error"
    print(line, flush=True)


options = {"tree_method": "hist", "max_depth": 4, "max_bin": 256, "nthread": threads, "objective": "binary:logistic",
           "colsample_bynode": share}
binned = xgboost.QuantileDMatrix(x, bit.astype(np.float32), max_bin=256, nthread=threads)
measure("xgboost", lambda: xgboost.train(options, binned, rounds), binned)
for quantised in (False, True) if lightgbm else ():
    options = {"objective": "binary", "num_leaves": 16, "max_depth": 4, "learning_rate": 0.3, "max_bin": 255,
               "num_threads": threads, "use_quantized_grad": quantised, "feature_fraction_bynode": share, "verbose": -1}
    data = lightgbm.Dataset(x, bit.astype(np.float32), params=options).construct()
    measure("lightgbm-quantised" if quantised else "lightgbm", lambda: lightgbm.train(options, data, rounds), x)
