"""FastHash with the conventions of scikit-learn, which need not be installed."""

from __future__ import annotations

import inspect
import os
import warnings
from typing import Any

import numpy as np

from . import arrays, worker
from .model import OUTPUTS, Model
from .progress import Bar, alone
from .service import Invalid

try:
    from sklearn.base import BaseEstimator, TransformerMixin
    from sklearn.exceptions import NotFittedError
except ImportError:
    class NotFittedError(ValueError, AttributeError):  # type: ignore[no-redef]
        """A model is needed, and fit makes one."""

    class BaseEstimator:  # type: ignore[no-redef]
        """What scikit-learn's class of this name does for parameters."""

        @classmethod
        def _get_param_names(cls) -> list:
            return sorted(p for p in inspect.signature(cls.__init__).parameters if p != "self")

        def get_params(self, deep: bool = True) -> dict:
            """The parameters by name."""
            return {name: getattr(self, name) for name in self._get_param_names()}

        def set_params(self, **params: Any) -> Any:
            """Set parameters by name."""
            wrong = sorted(set(params) - set(self._get_param_names()))
            if wrong:
                raise ValueError(f"Invalid parameter {wrong[0]!r} for estimator {self}.")
            vars(self).update(params)
            return self

    class TransformerMixin:  # type: ignore[no-redef]
        """What scikit-learn's class of this name does."""

        def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any:
            """Learn, and encode the same rows."""
            return self.fit(X, y, **fit_params).transform(X)  # type: ignore[attr-defined]

__all__ = ["FastHash", "NotFittedError"]


class FastHash(TransformerMixin, BaseEstimator):
    """Learns short binary codes from labelled vectors, so that similar rows have similar codes.

    Parameters are those of the command "hashgrove train", and so are the models, byte for byte.

    bits             length of the codes
    effort           quick, normal, best or paper
    method           fasthash, or another of hashgrove.methods()
    random_state     None or a seed; 0 and None mean 1, the seed of the command. A RandomState draws one
    output           what transform returns: "packed" bytes, "bits" of 0 and 1, "signs" of -1 and +1, or "margins"
    detail_bits      bits behind the others that keep the vector itself, such as 64, so that items of one class are found in
                     the order of their likeness
    validation       share of rows to hold out for the figures of the model; None means 0.05 of 200 rows or more
    min_shared       number of shared tags that makes two rows similar
    sample           number of similar and of dissimilar rows to sample for each row; None uses all pairs
    missing          whether NaN stands for a missing value, which the model then takes everywhere
    options          a dict of further options by the names of the flags, such as {"loss": "hinge", "rounds": 50}
    threads          number of threads; None means all cores, and it never changes a model
    n_jobs           the same under the name of scikit-learn, where -1 means all cores
    verbose          True and False show a bar or none; None shows one where somebody looks

    After fit: model_, n_features_in_, feature_names_in_ (of frames), classes_ (of classes or tags) and report_.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(300) % 3
    >>> X = rng.normal(size=(300, 8)) + y[:, None]
    >>> hasher = FastHash(bits=16, effort="quick", random_state=7).fit(X, y)
    >>> codes = hasher.transform(X)
    >>> codes.shape, codes.dtype
    ((300, 2), dtype('uint8'))
    >>> hasher.transform(X[:1], output="bits").shape
    (1, 16)
    """

    def __init__(self, bits: int = 64, effort: str = "normal", method: str = "fasthash", random_state: Any = None, *,
                 output: str = "packed", detail_bits: int = 0, validation: float | None = None, min_shared: int = 2,
                 sample: Any = None, missing: bool = False, options: dict | None = None, threads: int | None = None,
                 verbose: bool | None = None, n_jobs: int | None = None):
        given = locals()
        for name in self._get_param_names():
            setattr(self, name, given[name])

    def fit(self, X: Any, y: Any = None, *, pairs: Any = None) -> FastHash:
        """Learn a model. y has a class for each row, or tags: a list for each row, or an indicator matrix. pairs has rows
        of two row numbers and 1 for similar, -1 for dissimilar or 0 for unknown, and replaces y. Ctrl-C ends the training
        and leaves nothing behind."""
        options, names, x = self._options(), arrays.names_of(X), arrays.rows(X)
        given, others, classes = arrays.supervision(y, pairs)
        if pairs is None and "classes" in given and len(classes) < 2:
            raise Invalid(f"y has only one class, or none, in {x.shape[0]} sample{'s' * (x.shape[0] != 1)}: codes can only tell "
                          "apart what differs, so give rows of two classes or more")
        params = {**given, "options": options, "names": names, "missing": bool(self.missing), "memory": options.pop("memory", 0)}
        made, back = alone("train", params, [x, *others], Bar("learning bits", self.verbose))
        about, self.report_ = made["about"], made["report"]
        about.pop("model")
        for note in self.report_["notes"]:
            if note.get("doubt"):
                warnings.warn(note["text"], UserWarning, stacklevel=2)
        self.model_, self.n_features_in_ = Model(back[0].tobytes(), about=about), x.shape[1]
        vars(self).pop("feature_names_in_", None)
        vars(self).pop("classes_", None)
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)
        if classes is not None:
            self.classes_ = classes
        return self

    def _options(self) -> dict:
        """The options of a training. Those that have their default value are left to the method."""
        if self.output not in OUTPUTS:
            raise Invalid(f"output is {self.output!r}: choose one of {', '.join(OUTPUTS)}")
        o: dict[str, Any] = {"bits": self.bits, "method": self.method, "seed": self._seed(), "threads": self._threads(),
                             "detail_bits": self.detail_bits, "effort": "" if self.effort == "normal" else self.effort or ""}
        if not self.bits:
            raise Invalid("bits is 0: ask for 1 or more")
        o["validation"] = 0.0 if self.validation is None else self.validation or -1.0  # 0 would be the default
        o["min_shared"] = 0 if self.min_shared == 2 else self.min_shared
        if self.sample is not None:
            o["sample_similar"], o["sample_dissimilar"] = (
                self.sample if isinstance(self.sample, (tuple, list)) else (self.sample, self.sample))
        for name, value in (self.options or {}).items():
            name = name.replace("-", "_")
            if name in ("method", "bits", "seed", "effort", "threads"):
                raise Invalid(f"options has {name!r}, which is a parameter of its own")
            o[name] = value
        return o

    def _threads(self) -> int:
        """The number of threads; 0 means all cores."""
        if self.n_jobs is None:
            return self.threads or 0
        if self.threads is not None:
            raise Invalid("threads and n_jobs mean the same: give one of them")
        return self.n_jobs if self.n_jobs >= 0 else max(1, (os.cpu_count() or 1) + 1 + self.n_jobs)

    def _seed(self) -> Any:
        draw = getattr(self.random_state, "randint", getattr(self.random_state, "integers", None))
        return int(draw(1, 2**31 - 1)) if draw else self.random_state or 0

    def _fitted(self) -> Model:
        if not hasattr(self, "model_"):
            raise NotFittedError(f"This {type(self).__name__} instance is not fitted yet. Call 'fit' with appropriate arguments "
                                 "before using this estimator.")
        return self.model_

    def transform(self, X: Any, *, output: str | None = None) -> Any:
        """Codes of vectors: packed bytes as numpy.packbits makes them, or what output says, here or in the constructor."""
        model = self._fitted()
        arrays.check_names(getattr(self, "feature_names_in_", None), X, type(self).__name__)
        return model._codes(arrays.rows(X), output or self.output, self._threads(), type(self).__name__)

    def score(self, X: Any, y: Any) -> float:
        """How well rows find each other by their codes: mean average precision, ranked as the model chose and expected over
        the order of ties, from 0 to 1. Each row is left out of its own ranking. Cross-validation can choose options by it;
        its rows are new to the model."""
        model, x = self._fitted(), arrays.rows(X)
        given, _, _ = arrays.supervision(y)
        w = worker.shared()
        params = {**given, "model": model.number(w), "min_shared": self.min_shared, "threads": self._threads()}
        return float(w.call("score", params, [x])[0]["map"])

    @property
    def _n_features_out(self) -> int:
        bits = self._fitted().bits
        return (bits + 7) // 8 if self.output == "packed" else bits

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the columns that transform returns."""
        n = self._n_features_out
        if input_features is not None and list(input_features) != list(getattr(self, "feature_names_in_", input_features)):
            raise ValueError("input_features is not equal to feature_names_in_")
        if input_features is not None and len(input_features) != self.n_features_in_:
            raise ValueError(f"input_features should have length equal to number of features ({self.n_features_in_}), got "
                             f"{len(input_features)}")
        what = "byte" if self.output == "packed" else "bit"
        return np.array([f"fasthash_{what}{i}" for i in range(n)], dtype=object)

    def save(self, path: Any) -> None:
        """Write the model to a file, for the command, a service or hashgrove.load."""
        self._fitted().save(path)

    @classmethod
    def from_model(cls, model: Model) -> FastHash:
        """A fitted FastHash of a model that was trained elsewhere."""
        info, detail = model.about["info"], model.about.get("detail_bits", 0)
        made = cls(bits=model.bits - detail, method=model.method, detail_bits=detail, missing=model.about.get("missing", False))
        made.model_, made.n_features_in_, made.report_ = model, model.dim, {}
        if info.get("features"):
            made.feature_names_in_ = np.array(info["features"], dtype=object)
        if info.get("classes"):
            made.classes_ = np.array(info["classes"], dtype=object)
        return made

    def _more_tags(self) -> dict:  # scikit-learn before 1.6
        return {"requires_y": True, "allow_nan": bool(self.missing), "preserves_dtype": []}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.allow_nan = bool(self.missing)
        tags.transformer_tags.preserves_dtype = []
        return tags
