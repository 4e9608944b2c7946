"""The linear classifier of the public check of codebook features: an L2-SVM, one against all, as in the demo of Coates and
Ng (ICML 2011): |w|^2 / 2 + C mean(max(0, 1 - y s)^2) with C = 100 over standardised columns, minimised by L-BFGS.

	linear_svm.py FOLDER [ROWS]

FOLDER holds train.npy and test.npy with the labels beside them; of pyramids of two levels, the quadrants alone are taken.
"""
import sys
import time

import numpy as np
from scipy.optimize import fmin_l_bfgs_b

C, STEPS = 100, 100


def read(part, rows=None):
    x = np.load(f"{sys.argv[1]}/{part}.npy", mmap_mode="r")
    labels = np.array(open(f"{sys.argv[1]}/{part}.labels.txt").read().split(), int)
    whole = x.shape[1] // 5 if x.shape[1] % 5 == 0 else 0
    return np.asarray(x[:rows, whole:], dtype=np.float32), labels[:rows]


def fit(x, labels):
    """The weights of all columns and classes, and in the last row the biases."""
    y = 2 * (labels[:, None] == np.arange(labels.max() + 1)).astype(np.float32) - 1
    dim, classes = x.shape[1], y.shape[1]

    def loss(w):
        w = w.reshape(dim + 1, classes).astype(np.float32)
        short = np.maximum(0, 1 - y * (x @ w[:dim] + w[dim]))
        slope = (-2 * C / len(x)) * (y * short)
        gradient = np.vstack([x.T @ slope + w[:dim], slope.sum(0, keepdims=True)])
        return float(0.5 * (w[:dim] ** 2).sum() + C * (short ** 2).sum(1).mean()), gradient.ravel().astype(np.float64)

    w, _, _ = fmin_l_bfgs_b(loss, np.zeros((dim + 1) * classes), maxiter=STEPS)
    return w.reshape(dim + 1, classes).astype(np.float32)


began = time.time()
train, labels = read("train", int(sys.argv[2]) if len(sys.argv) > 2 else None)
mean, spread = train.mean(0), np.sqrt(train.var(0) + 0.01)
train -= mean
train /= spread
w = fit(train, labels)
print(f"L2-SVM: {time.time() - began:.0f} s")


def report(part, x, labels):
    right = int((np.argmax(x @ w[:-1] + w[-1], 1) == labels).sum())
    print(f"L2-SVM, {part}: {right} of {len(x)} right, {100 * right / len(x):.2f} %")


report("train", train, labels)
del train
test, labels = read("test")
report("test", (test - mean) / spread, labels)
