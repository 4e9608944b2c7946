"""Runs the examples in the documentation of the package: python3 test_examples.py

HASHGROVE_BINARY names the program; client/notebook_test.go builds it and runs this. The package must also work without
scikit-learn, which the second half of the tests hides."""

import doctest
import importlib
import os
import pkgutil
import subprocess
import sys
import unittest

import hashgrove

HIDDEN = """
import sys
for name in ("sklearn", "pandas", "scipy", "IPython"):
    sys.modules[name] = None
import numpy as np, pickle
import hashgrove
from hashgrove import FastHash
assert "sklearn" not in repr(FastHash.__mro__)
y = np.arange(90) % 3
X = np.random.default_rng(0).normal(size=(90, 4)) + y[:, None]
h = FastHash(bits=8, effort="quick")
codes = h.fit_transform(X, y)
assert (pickle.loads(pickle.dumps(h)).transform(X) == codes).all()
assert h.set_params(bits=4).get_params()["bits"] == 4
for wrong in (lambda: h.set_params(bitz=1), lambda: FastHash().transform(X)):
    try:
        wrong()
        raise SystemExit("it was not refused")
    except ValueError:
        pass
"""


class Examples(unittest.TestCase):
    def test_docstrings(self):
        tried = 0
        for m in pkgutil.iter_modules(hashgrove.__path__):
            if m.name == "__main__":
                continue
            result = doctest.testmod(importlib.import_module("hashgrove." + m.name))
            self.assertEqual(result.failed, 0, m.name)
            tried += result.attempted
        tried += doctest.testmod(hashgrove, extraglobs={"FastHash": hashgrove.FastHash}).attempted
        self.assertGreater(tried, 20)

    def test_without_others(self):
        subprocess.run([sys.executable, "-B", "-c", HIDDEN], check=True, cwd=os.path.dirname(os.path.abspath(__file__)))

    def test_light_import(self):
        """A program that only uses a service loads neither scikit-learn nor a process."""
        script = "import sys, hashgrove; hashgrove.Client; assert 'sklearn' not in sys.modules and 'hashgrove.worker' not in sys.modules"
        subprocess.run([sys.executable, "-B", "-c", script], check=True, cwd=os.path.dirname(os.path.abspath(__file__)))

    def test_names(self):
        for name in hashgrove.__all__:
            self.assertIsNotNone(getattr(hashgrove, name).__doc__, name)
        self.assertEqual(set(dir(hashgrove)), {*hashgrove.__all__, "__version__"})

    def test_command(self):
        out = subprocess.run([sys.executable, "-B", "-m", "hashgrove", "--version"], stdout=subprocess.PIPE, text=True,
                             cwd=os.path.dirname(os.path.abspath(__file__)))
        self.assertEqual((out.returncode, out.stdout.split()[0]), (0, "hashgrove"))


if __name__ == "__main__":
    unittest.main()
