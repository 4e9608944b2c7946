"""Boosters of XGBoost or LightGBM beside the model that "hashgrove import" makes of them, on the same rows.

    python3 x/bench/imported_boosters.py vectors.npy 'boosters/*.json' [THREADS [TURNS]]

The rows are predicted by all boosters, one after the other, by the quickest way that the library offers; the time of
preparing is left out. Then our model encodes them, and the codes must be the signs of the library's margins, bit by bit.
Times are per row: least time of a turn, and processor time of all threads, which counts on a busy machine.
ENCODED_ROWS and HASHGROVE name the programs x/bench/encoded-rows and hashgrove.
"""

import glob
import os
import subprocess
import sys
import tempfile
import time

os.environ.setdefault("OMP_WAIT_POLICY", "passive")

import numpy as np


def xgboost_ways(paths, x, threads):
    import xgboost

    boosters = [xgboost.Booster({"nthread": threads}, model_file=p) for p in paths]
    fresh = lambda: xgboost.DMatrix(x, nthread=threads)  # boosters remember what they predicted for the last one
    return {
        "DMatrix": (fresh, lambda data: [b.predict(data, output_margin=True) for b in boosters]),
        "array": (lambda: None, lambda _: [b.inplace_predict(x, predict_type="margin") for b in boosters]),
    }


def lightgbm_ways(paths, x, threads):
    import lightgbm

    boosters = [lightgbm.Booster(model_file=p) for p in paths]
    predict = lambda _: [b.predict(x, raw_score=True, num_threads=threads) for b in boosters]
    return {"array": (lambda: None, predict)}


def main():
    vectors, pattern = sys.argv[1], sys.argv[2]
    threads = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    turns = int(sys.argv[4]) if len(sys.argv) > 4 else 3
    paths = sorted(glob.glob(pattern))
    x = np.load(vectors).astype(np.float32)
    library = "xgboost" if paths[0].endswith(".json") else "lightgbm"
    ways = (xgboost_ways if library == "xgboost" else lightgbm_ways)(paths, x, threads)
    best, margins = {}, None
    for _ in range(turns):
        for way, (prepare, predict) in ways.items():
            data = prepare()
            began, spent = time.perf_counter(), time.process_time()
            margins = predict(data)
            took = time.perf_counter() - began, time.process_time() - spent
            best[way] = tuple(map(min, best.get(way, took), took))
    way = min(best, key=best.get)
    theirs = best[way][0] / len(x) * 1e6
    margins = np.stack([m.reshape(len(x), -1) for m in margins], 1).reshape(len(x), -1)
    with tempfile.TemporaryDirectory() as folder:
        model, codes = folder + "/m.hgm", folder + "/c.npy"
        hashgrove = os.environ.get("HASHGROVE", "bin/hashgrove")
        subprocess.run([hashgrove, "import", *paths, "-o", model, "--quiet"], check=True, stdout=subprocess.DEVNULL)
        subprocess.run([hashgrove, "encode", vectors, "-m", model, "-o", codes, "--quiet"], check=True,
                       stdout=subprocess.DEVNULL)
        wrong = int((np.load(codes) != np.packbits(margins > 0, axis=1)).sum())
        out = subprocess.run([os.environ["ENCODED_ROWS"], model, vectors, str(threads), str(4 * turns)], check=True,
                             capture_output=True, text=True).stdout
        ours, cpu = float(out.split(" us/row")[0].split()[-1]), float(out.split(" cpu-us/row")[0].split()[-1])
    spent = best[way][1] / len(x) * 1e6
    print(f"{library} ({way}), {len(paths)} boosters, {len(x)} rows of {x.shape[1]}, {threads} threads: "
          f"{theirs:.1f} us, ours {ours:.1f} us, {theirs / ours:.1f} times; "
          f"processors {spent:.1f} us, ours {cpu:.1f} us, {spent / cpu:.1f} times; "
          f"of {margins.size} bits, {wrong} bytes differ", flush=True)


main()
