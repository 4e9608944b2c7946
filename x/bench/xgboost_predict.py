"""64 boosted bits predicted with XGBoost: the peer of x/bench/encoded-rows.

    python3 x/bench/xgboost_predict.py vectors.npy labels.txt [THREADS [TURNS]]

One booster of 200 trees of depth 4 per bit, learned from the first 5,000 rows (a bit is a random half of the classes),
then asked for its margins of all rows. Both ways that XGBoost offers run, a prepared DMatrix and the plain array, and
the quicker one counts; the time of preparing is left out.
"""

import os
import sys
import time

os.environ.setdefault("OMP_WAIT_POLICY", "passive")

import numpy as np
import xgboost


def main():
    vectors, labels = sys.argv[1], sys.argv[2]
    threads = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    turns = int(sys.argv[4]) if len(sys.argv) > 4 else 2
    x = np.load(vectors).astype(np.float32)
    names = np.array(open(labels).read().split())
    classes = np.unique(names)
    rng = np.random.default_rng(1)
    few = xgboost.QuantileDMatrix(x[:5000], max_bin=256, nthread=2)
    options = {"tree_method": "hist", "max_depth": 4, "max_bin": 256, "nthread": 2, "objective": "binary:logistic"}
    boosters = []
    for _ in range(64):
        bit = np.isin(names[:5000], rng.permutation(classes)[: len(classes) // 2])
        few.set_label(bit.astype(np.float32))
        boosters.append(xgboost.train(options, few, 200))
    for b in boosters:
        b.set_param({"nthread": threads})
    ways = {
        "DMatrix": lambda b, data: b.predict(data, output_margin=True),
        "array": lambda b, data: b.inplace_predict(x, predict_type="margin"),
    }
    best = {}
    for _ in range(turns):
        for way, predict in ways.items():
            data = xgboost.DMatrix(x, nthread=threads)  # a new one: boosters remember what they predicted for the last
            began = time.perf_counter()
            for b in boosters:
                predict(b, data)
            best[way] = min(best.get(way, np.inf), time.perf_counter() - began)
    way = min(best, key=best.get)
    name = os.path.basename(vectors).removesuffix(".npy")
    print(f"BenchmarkEncode/method=xgboost/data={name}/threads={threads} 1 {best[way] / len(x) * 1e6:.2f} us/row   ({way})")


main()
