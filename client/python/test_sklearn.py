"""Tests of FastHash among the tools of scikit-learn and pandas: python3 test_sklearn.py

HASHGROVE_BINARY names the program; client/notebook_test.go builds it and runs this."""

import pickle
import unittest
import warnings

import numpy as np
import sklearn
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.naive_bayes import BernoulliNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MultiLabelBinarizer, StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from hashgrove import FastHash, Index, compare
from test_notebook import clouds


class Conventions(unittest.TestCase):
    def test_check_estimator(self):
        done = []
        for hasher in (FastHash(bits=8, effort="quick"), FastHash(bits=8, effort="quick", output="signs", missing=True),
                       FastHash(bits=8, method="sdh")):
            # Since 1.6 the list has another name, and entries of it are called alike.
            for estimator, check in _checks(hasher):
                name = getattr(check, "func", check).__name__
                with self.subTest(check=name, method=hasher.method), warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    check(estimator)
                    done.append(name)
        self.assertGreater(len(done), 90, sklearn.__version__)

    def test_tools(self):
        X, y = clouds(240)
        hasher = FastHash(bits=8, effort="quick")
        pipe = make_pipeline(StandardScaler(), hasher.set_params(output="bits"), BernoulliNB()).fit(X, y)
        self.assertGreater(pipe.score(X, y), 0.7)
        self.assertEqual(pickle.loads(pickle.dumps(pipe)).predict(X).tolist(), pipe.predict(X).tolist())
        self.assertFalse(hasattr(clone(pipe)[1], "model_"))
        search = GridSearchCV(FastHash(effort="quick"), {"bits": [2, 8], "options": [{"rounds": 2}, {"rounds": 8}]}, cv=3).fit(X, y)
        self.assertTrue(np.isfinite(search.cv_results_["mean_test_score"]).all())
        self.assertGreater(cross_val_score(hasher, X, y, cv=2, n_jobs=2).mean(), 0.4)
        tags = [["a"] * bool(c & 1) + ["b"] * bool(c & 2) + ["c"] for c in y]
        self.assertEqual(FastHash(8, "quick", min_shared=2).fit(X, tags).classes_.tolist(), ["a", "b", "c"])
        for sparse in (False, True):
            matrix = MultiLabelBinarizer(sparse_output=sparse).fit_transform(tags)
            self.assertEqual(FastHash(8, "quick").fit(X, matrix).classes_.tolist(), ["0", "1", "2"])


def _checks(hasher):
    try:
        return check_estimator(hasher, generate_only=True)
    except TypeError:
        from sklearn.utils.estimator_checks import estimator_checks_generator
        return estimator_checks_generator(hasher)


class Frames(unittest.TestCase):
    def setUp(self):
        import pandas as pd
        self.pd = pd
        self.X, y = clouds(240, dim=3)
        self.frame = pd.DataFrame(self.X, columns=["red", "green", "blue"], index=[f"r{i}" for i in range(240)])
        self.y = pd.Series(np.array(["boots", "hats", "mules", "socks"])[y], name="kind", index=self.frame.index)

    def test_pandas(self):
        h = FastHash(bits=16, effort="quick").fit(self.frame, self.y)
        self.assertEqual(h.feature_names_in_.tolist(), ["red", "green", "blue"])
        self.assertEqual(h.classes_.tolist(), ["boots", "hats", "mules", "socks"])
        info = h.model_.about["info"]
        self.assertEqual((info["features"], info["label"]), (["red", "green", "blue"], "kind"))
        with self.assertRaisesRegex(ValueError, "feature names"):
            h.transform(self.frame[["green", "red", "blue"]])
        with self.assertWarnsRegex(UserWarning, "feature names"):
            h.transform(self.X)
        out = h.set_output(transform="pandas").transform(self.frame)
        self.assertEqual((list(out.columns), list(out.index[:2])), (["fasthash_byte0", "fasthash_byte1"], ["r0", "r1"]))
        self.assertEqual(len(FastHash(8, "quick", output="bits").set_output(transform="pandas").fit_transform(self.frame, self.y).columns), 8)
        with self.assertRaisesRegex((ValueError, TypeError), "numbers"):
            FastHash(8, "quick").fit(self.frame.assign(name="x"), self.y)
        holes = self.frame.astype("Float64").copy()
        holes.iloc[3, 1] = self.pd.NA
        with self.assertRaisesRegex(ValueError, "NaN"):
            FastHash(8, "quick").fit(holes, self.y)
        self.assertEqual(FastHash(8, "quick", missing=True).fit(holes, self.y).transform(holes).shape, (240, 1))
        for missing in (None, np.nan):
            gaps = self.y.copy()
            gaps.iloc[5] = missing
            with self.assertRaisesRegex(ValueError, "row 5"):
                FastHash(8, "quick").fit(self.frame, gaps)

    def test_attributes_and_table(self):
        h = FastHash(bits=16, effort="quick").fit(self.frame, self.y)
        with Index(h) as shop:
            about = self.pd.DataFrame({"price": np.arange(240.0), "day": self.pd.date_range("2026-01-01", periods=240)})
            about.loc[3, "price"] = np.nan
            shop.add(self.frame.index, self.frame, labels=self.y, attributes=about)
            self.assertEqual(shop.delete(where="price < 5 and day < 2026-01-10", dry_run=True), 4)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            c = compare(self.frame, self.y, methods=["lsh"], bits=[8], unseen=-1)
        self.assertIn("MAP", " ".join(c.frame.columns))
        self.assertTrue(any(c.frame[n].dtype.kind == "f" for n in c.frame.columns))


if __name__ == "__main__":
    unittest.main()
