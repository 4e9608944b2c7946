"""The validation parts of paper/results/tuning.md: 5,000 rows to learn from, 3,000 new items and 2,000 queries each.

    python3 x/bench/validation.py FOLDER

reads in FOLDER what x/bench/datasets.sh and x/bench/text.py leave there, and data_batch_1.gist.npy with its labels, the GIST-320 of
CIFAR-10's first training batch; it writes NAME-l, NAME-n and NAME-q (.npy, .txt or .tags.txt) to FOLDER/val. No test queries are
among them. The parts ufashion, ugist, udigits and mfashion have unequal classes to learn from and equal ones to search.
"""

import sys

import numpy as np

folder = sys.argv[1]
rng = np.random.default_rng(3)


def lines(name):
    return open(f"{folder}/{name}").read().splitlines()


def save(name, part, x, y, end=".txt"):
    np.save(f"{folder}/val/{name}-{part}.npy", x)
    open(f"{folder}/val/{name}-{part}{end}", "w").writelines(line + "\n" for line in y)


def equal_parts(name, x, y, end=".txt"):
    for part, lo, hi in (("l", 0, 5000), ("n", 5000, 8000), ("q", 8000, 10000)):
        save(name, part, x[lo:hi], y[lo:hi], end)


def unequal_parts(name, x, y, sizes, new, queries):
    order = rng.permutation(len(y))
    x, y = x[order], np.array(y)[order]
    classes = sorted(set(y))
    learned, rest = [], []
    for k, c in enumerate(rng.permutation(len(classes))):
        rows = np.where(y == classes[c])[0]
        learned += list(rows[: sizes[k]])
        rest += list(rows[sizes[k] :])
    rest = np.array(rest)[rng.permutation(len(rest))]
    parts = {"l": learned, "n": [], "q": []}
    for c in classes:
        rows = [r for r in rest if y[r] == c]
        parts["q"] += rows[:queries]
        parts["n"] += rows[queries : queries + new]
    for part, rows in parts.items():
        save(name, part, x[rows], y[rows])


def main():
    gist, gist_classes = np.load(f"{folder}/data_batch_1.gist.npy"), lines("data_batch_1.gist.labels.txt")
    fashion, fashion_classes = np.load(f"{folder}/fashion.npy"), lines("fashion.txt")
    equal_parts("gist", gist, gist_classes)
    equal_parts("fashion", fashion, fashion_classes)
    equal_parts("iapr", np.load(f"{folder}/iapr.npy"), lines("iapr.tags.txt"), ".tags.txt")
    equal_parts("text", np.load(f"{folder}/text.npy"), lines("text.txt"))

    steep = [20, 20, 15, 15, 10, 10, 8, 5, 5]
    unequal_parts("ufashion", fashion, fashion_classes, [600] + steep, 300, 150)
    unequal_parts("ugist", gist, gist_classes, [600] + steep, 250, 120)
    table = [line.split(",") for line in lines("digits.csv")]
    label = table[0].index("class")
    digits = np.array([[float(v) for i, v in enumerate(r) if i != label] for r in table[1:]], dtype=np.float32)
    unequal_parts("udigits", digits, [r[label] for r in table[1:]], [100] + steep, 60, 40)
    unequal_parts("mfashion", fashion, fashion_classes, [600, 450, 350, 250, 200, 150, 120, 100, 80, 60], 300, 150)


main()
