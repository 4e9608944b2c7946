"""Tests of what goes wrong: bad input, killed processes, forks, Ctrl-C, and memory: python3 test_faults.py

HASHGROVE_BINARY names the program; client/notebook_test.go builds it and runs this. HASHGROVE_LONG makes it long."""

import contextlib
import faulthandler
import gc
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import unittest
import warnings

import numpy as np

import hashgrove
from hashgrove import FastHash, Index, worker
from test_notebook import clouds


class Sparse:
    """What rows of scipy have."""
    tocsr, ndim, shape = None, 2, (3, 12)


X, y = clouds(30, dim=4)
ROWS = [  # that look like vectors, more or less
    X, X.astype(object), X.astype(complex), X.astype(str), X.astype("S8"), X.tolist(), [row[:1 + i % 3] for i, row in enumerate(X.tolist())],
    X[:, None], X.ravel(), np.array(3.0), None, "vectors", b"vectors", {"a": X}, iter(X.tolist()), [[None] * 4] * 30, [[{}] * 4] * 30,
    X.astype("M8[s]"), X > 0, X.astype(np.longdouble), (X * 1e9).astype(np.int64), np.ma.masked_less(X, 0), X[::-1, ::-1].T, Sparse(),
    X[:0], X[:, :0], X * np.inf, X.astype(float) * 1e300, X * 1e-45, X[:1], X[:2],
]
LABELS = [  # that look like classes, more or less
    y, y[:-1], y.astype(float), y + 0.5, y.astype(str), y.astype(object), list(y), [None] * 30, [""] * 30, np.full(30, np.nan), y[:, None],
    np.eye(4)[y], None, [f"{'x' * 100_000}{v}" for v in y], [10 ** 400 + int(v) for v in y], [["a", str(v)] for v in y], [[]] * 30,
    [{1: 2}] * 30, y.astype(complex), y > 0, "labels", 7, [v if i % 2 else str(v) for i, v in enumerate(y)], y.astype("M8[D]"),
    ["a\x00b\n"[:v + 1] for v in y], np.arange(30), -y.astype(np.int64) - 2 ** 62, [["a", None]] * 30, [(1, 2)] * 30,
]


class BadInput(unittest.TestCase):
    def test_fits(self):
        """Whatever comes in is learned from, or refused with a sentence."""
        learned = refused = 0
        for i, (rows, labels) in enumerate([(rows, y) for rows in ROWS] + [(X, labels) for labels in LABELS]):
            for missing in (False, True):
                h = FastHash(bits=4, effort="quick", options={"rounds": 2}, missing=missing)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    try:
                        h.fit(rows, labels)
                        learned += 1
                    except (ValueError, TypeError) as e:
                        refused += 1
                        self.assertGreater(len(str(e)), 15, (i, e))
                        self.assertFalse(hasattr(h, "model_"))
                    except Exception as e:
                        self.fail(f"fit {i}: {type(e).__name__}: {e}")
        self.assertTrue(learned > 40 and refused > 50)

    def test_transforms(self):
        X, y = clouds(120)
        h = FastHash(8, "quick").fit(X, y)
        for bad, word in ((X[:, :5], "12 features"), (X[0], "Reshape"), ([["a"] * 12], "numbers"), (X * np.inf, "NaN"),
                          (np.full((2, 12), 1e300), "float32"), (X[:0], "0 sample"), (Sparse(), "sparse")):
            with self.assertRaisesRegex((ValueError, TypeError), word):
                h.transform(bad)


@unittest.skipUnless(os.path.exists("/proc/self/stat"), "without /proc nobody can see what is left behind")
class Processes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.X, cls.y = clouds(400)
        cls.hasher = FastHash(bits=16, effort="quick").fit(cls.X, cls.y)
        cls.codes = cls.hasher.transform(cls.X)

    def test_killed_while_encoding(self):
        big = np.tile(self.X, (1000, 1))
        stop = threading.Event()

        def kill():
            while not stop.wait(0.03):
                with contextlib.suppress(ProcessLookupError, TypeError):  # it has ended, or there is none
                    os.kill(worker.shared().pid, signal.SIGKILL)

        killer = threading.Thread(target=kill)
        killer.start()
        died = 0
        for _ in range(10):
            try:
                self.assertEqual(len(self.hasher.transform(big)), len(big))
            except hashgrove.WorkerDied as e:
                self.assertIn("signal 9", str(e))
                died += 1
        stop.set()
        killer.join()
        self.assertGreater(died, 0)
        np.testing.assert_array_equal(self.hasher.transform(self.X), self.codes)

    def test_killed_training(self):
        before = children()

        def kill():
            while not children() - before:
                time.sleep(0.01)
            time.sleep(0.2)
            os.kill((children() - before).pop(), signal.SIGKILL)

        killer = threading.Thread(target=kill, daemon=True)
        killer.start()
        X, y = clouds(4000, dim=60, classes=9)
        with self.assertRaisesRegex(hashgrove.WorkerDied, "signal 9"):
            FastHash(bits=512, effort="best").fit(X, y)
        killer.join()
        self.assertEqual(children() - before, set())

    def test_killed_index(self):
        with tempfile.TemporaryDirectory() as folder:
            for path in (None, os.path.join(folder, "shop.hgi")):
                with Index(self.hasher, path) as shop:
                    shop.add(range(len(self.X)), self.X)
                    os.kill(shop.pid, signal.SIGKILL)
                    if path is None:
                        for _ in range(2):
                            with self.assertRaisesRegex(hashgrove.WorkerDied, "memory"):
                                shop.search(self.X[:2])
                        self.assertIn("memory", repr(shop))
                    else:
                        self.assertEqual(len(shop), len(self.X))
                        self.assertEqual(shop.search(self.X[:2], k=3).ids.shape, (2, 3))

    def test_fork(self):
        with Index(self.hasher) as shop:
            shop.add(range(len(self.X)), self.X)
            want = shop.search(self.X[:3], k=3).ids
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of threads and forks
                child = os.fork()
                if child == 0:
                    same = (self.hasher.transform(self.X) == self.codes).all()
                    fresh = FastHash(bits=8, effort="quick").fit(self.X, self.y).transform(self.X).shape == (400, 1)
                    try:
                        shop.search(self.X[:1])
                    except hashgrove.WorkerDied:
                        worker.shared().close()
                        os._exit(not (same and fresh))
                    os._exit(2)
                self.assertEqual(os.waitpid(child, 0)[1], 0)
            np.testing.assert_array_equal(shop.search(self.X[:3], k=3).ids, want)
            np.testing.assert_array_equal(self.hasher.transform(self.X), self.codes)

    def test_interrupt(self):
        """Ctrl-C ends a training, leaves no process and no file, and an index in memory stays what it is."""
        script = textwrap.dedent("""
            import os, signal, sys, threading, tempfile
            import numpy as np
            from hashgrove import FastHash, Index
            from test_faults import children
            from test_notebook import clouds
            X, y = clouds(3000, dim=60, classes=9)
            hasher = FastHash(8, "quick").fit(X, y)
            shop = Index(hasher)
            shop.add(range(len(X)), X)
            want = shop.search(X[:50], k=3).ids
            before = children()
            for wait in (0.05, 0.6, *[0.02] * 100):
                try:
                    threading.Timer(wait, os.kill, (os.getpid(), signal.SIGINT)).start()
                    while wait < 0.05:
                        assert (shop.search(X[:50], k=3).ids == want).all()
                    FastHash(bits=512, effort="best").fit(X, y)
                    sys.exit("it was not interrupted")
                except KeyboardInterrupt:
                    assert children() == before
            assert (shop.search(X[:50], k=3).ids == want).all()
            print("fine", os.listdir(tempfile.gettempdir()))
        """)
        here = pathlib.Path(__file__).parent
        with tempfile.TemporaryDirectory() as folder:
            out = subprocess.run([sys.executable, "-B", "-c", script], cwd=here, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                 text=True, timeout=300, env={**os.environ, "TMPDIR": folder})
        self.assertEqual((out.returncode, out.stdout.strip()), (0, "fine []"))

    def test_end_of_python(self):
        """However Python ends, its processes end."""
        for how in ("", "os._exit(0)", "os.kill(os.getpid(), 9)"):
            script = ("import os; from hashgrove import worker, FastHash; from test_notebook import clouds; X, y = clouds(200); "
                      f"FastHash(8, 'quick').fit(X, y).transform(X); print(worker.shared().pid, flush=True); {how}")
            out = subprocess.run([sys.executable, "-B", "-c", script], cwd=pathlib.Path(__file__).parent, stdout=subprocess.PIPE,
                                 timeout=300)
            pid = int(out.stdout)
            stop = time.monotonic() + 60
            while running(pid):
                self.assertLess(time.monotonic(), stop, how)
                time.sleep(0.1)

    def test_memory(self):
        """Neither Python nor its process grows with the number of calls."""
        with Index(self.hasher) as shop:
            shop.add(range(len(self.X)), self.X)

            def calls(n):
                for i in range(n):
                    self.hasher.transform(self.X[i % 300:i % 300 + 20])
                    shop.search(self.X[i % 300], k=5)
                    if i % 50 == 0:
                        hashgrove.Model(bytes(self.hasher.model_)).encode(self.X[:2])
                gc.collect()
                return [resident(pid) for pid in (os.getpid(), worker.shared().pid, shop.pid)]

            first = calls(300)
            then = calls(10_000 if os.environ.get("HASHGROVE_LONG") else 1000)
            for before, after in zip(first, then):
                self.assertLess(after, before + 64)


def children():
    """The processes that this one has started."""
    return {int(name) for name in os.listdir("/proc") if name.isdigit() and _state(name)[1] == os.getpid()}


def running(pid):
    return _state(pid)[0] != "Z"


def _state(pid):
    """State and parent of a process; one that has ended is like one that nobody waited for."""
    try:
        with open(f"/proc/{pid}/stat") as f:
            state, parent = f.read().rpartition(")")[2].split()[:2]
    except OSError:
        return "Z", 0
    return state, int(parent) if state != "Z" else 0


def resident(pid):
    with open(f"/proc/{pid}/statm") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGESIZE") >> 20


if __name__ == "__main__":
    faulthandler.dump_traceback_later(1500, exit=True)  # so that a test which hangs says where
    unittest.main()
