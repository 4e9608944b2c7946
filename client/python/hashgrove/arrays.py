"""From what people have, lists, arrays and frames, to what a worker takes; what cannot be used is refused with a
sentence. Messages that scikit-learn's checks look for begin as scikit-learn's own."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from .service import Invalid, _label as label
from .worker import Blocks

_reshape = ("Reshape your data either using array.reshape(-1, 1) if your data has a single feature or array.reshape(1, -1) "
            "if it contains a single sample.")


def names_of(X: Any) -> list[str] | None:
    """The names of the columns of a frame; None where there are none, or where they are no texts."""
    columns = getattr(X, "columns", None)
    if columns is None or callable(columns):
        return None
    names = list(columns)
    texts = [isinstance(n, str) for n in names]
    if not names or not any(texts):
        return None
    if not all(texts):
        raise TypeError("Feature names are only supported if all input features have string names, but your input has "
                        f"{sorted({type(n).__name__ for n in names})} as feature name / column name types. Convert them with "
                        "X.columns = X.columns.astype(str).")
    return names


def rows(X: Any, what: str = "X", *, least: int = 1, one: bool = False) -> Blocks:
    """Vectors as an array of two dimensions to send: float16 and bytes as they are, all else as float32. With one, an array
    of one dimension is one vector."""
    if hasattr(X, "tocsr") or hasattr(X, "todense"):
        raise TypeError(f"{what} is a sparse matrix, but dense data is required: use {what}.toarray(), or make its vectors "
                        "shorter first, for instance with TruncatedSVD")
    if isinstance(X, (str, bytes, dict, set)) or X is None:
        raise Invalid(f"Expected 2D array, got scalar array instead: {what} is {type(X).__name__}, and vectors are rows of "
                      f"numbers. {_reshape}")
    if isinstance(X, np.ma.MaskedArray):
        X = X.astype(np.float32).filled(np.nan)
    a = _array(X, what)
    if a.ndim == 1 and one:
        a = a.reshape(1, -1)
    if a.ndim != 2:
        got = "scalar array" if a.ndim == 0 else f"{a.ndim}D array"
        hint = _reshape if a.ndim < 2 else "Make each row one vector, for instance with X.reshape(len(X), -1)."
        raise Invalid(f"Expected 2D array, got {got} instead: {what} has the shape {a.shape}. {hint}")
    if a.dtype.kind == "O":
        a = _numbers(a, what)
    kind = a.dtype.kind
    if kind == "c":
        raise Invalid(f"Complex data not supported: {what} has the type {a.dtype}; use its real part, or real and imaginary "
                      "part side by side")
    if kind not in "biuf":
        raise Invalid(f"{what} has the type {a.dtype}, which are no numbers: leave out columns of texts and dates, or turn "
                      "them into numbers")
    if a.shape[0] < least:
        raise Invalid(f"Found array with {a.shape[0]} sample(s) (shape={a.shape}) while a minimum of {least} is required.")
    if a.shape[1] < 1:
        raise Invalid(f"Found array with 0 feature(s) (shape={a.shape}) while a minimum of 1 is required.")
    if kind == "b":
        a = a.view(np.uint8)
    return Blocks(a, {"u1": "u1", "f2": "f2"}.get(f"{a.dtype.kind}{a.dtype.itemsize}", "f4"))


def _array(X: Any, what: str) -> np.ndarray:
    """A frame or a list as an array of whatever it holds."""
    if isinstance(X, np.ndarray):
        return X
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", getattr(np, "VisibleDeprecationWarning", DeprecationWarning))  # ragged lists
            if hasattr(X, "to_numpy") and hasattr(X, "columns"):
                return np.asarray(X.to_numpy())
            return np.asarray(X)
    except (ValueError, DeprecationWarning, OverflowError) as e:
        raise Invalid(f"{what} cannot be made an array: rows of different lengths, or values that are no numbers ({e})") from None


def _numbers(a: np.ndarray, what: str) -> np.ndarray:
    """An array of objects as numbers."""
    missing = np.frompyfunc(lambda v: v is None or type(v).__name__ == "NAType", 1, 1)(a).astype(bool)
    if missing.any():
        a = np.where(missing, np.nan, a)
    if any(isinstance(v, complex) or isinstance(v, np.complexfloating) for v in a.flat):
        return a.astype(complex)
    try:
        return a.astype(np.float64)
    except TypeError as e:
        raise TypeError(f"{what} has values that are no numbers: {e}; argument must be a string or a number") from None
    except (ValueError, OverflowError) as e:
        raise Invalid(f"{what} has values that are no numbers: {e}; leave out such columns, or turn them into numbers") from None


class Supervision:
    """What says which rows are similar, as a worker takes it: parameters of a request and arrays behind the vectors."""

    def __init__(self) -> None:
        self.params: dict[str, Any] = {}
        self.arrays: list = []
        self.classes: np.ndarray | None = None


def supervision(y: Any, n: int, pairs: Any = None) -> Supervision:
    """Classes, tags (lists of texts, or an indicator matrix) and pairs of rows."""
    s = Supervision()
    if y is not None:
        name = getattr(y, "name", None)
        if isinstance(name, str):
            s.params["label"] = name
        if _has_tags(y):
            _tags(s, y, n)
        else:
            _classes(s, y, n)
    if pairs is not None:
        p = np.asarray(pairs)
        if p.ndim != 2 or p.shape[1] not in (2, 3) or p.dtype.kind not in "iu" or not len(p):
            raise Invalid("pairs are rows of two row numbers and 1 for similar, -1 for dissimilar or 0 for unknown, as whole "
                          f"numbers; these have the shape {p.shape} and the type {p.dtype}")
        if p.shape[1] == 2:
            p = np.column_stack([p, np.ones(len(p), dtype=p.dtype)])
        s.params["pairs"] = True
        s.arrays.append(np.ascontiguousarray(p, dtype=np.int64))
    return s


def _same_length(n: int, got: int) -> None:
    if n != got:
        raise Invalid(f"Found input variables with inconsistent numbers of samples: {[n, got]}: y needs an entry for each row "
                      "of X")


def _has_tags(y: Any) -> bool:
    if hasattr(y, "tocsr") or getattr(y, "ndim", 1) == 2 or hasattr(y, "columns"):
        return not (getattr(y, "ndim", 2) == 2 and getattr(y, "shape", (0, 0))[1] == 1)
    try:
        first = next(iter(y), None)
    except TypeError:
        return False
    return isinstance(first, (list, tuple, set, frozenset)) or isinstance(first, np.ndarray) and first.ndim == 1


def _classes(s: Supervision, y: Any, n: int) -> None:
    a = np.asarray(y) if not hasattr(y, "to_numpy") else np.asarray(y.to_numpy())
    if a.ndim == 2 and a.shape[1] == 1:
        warnings.warn("A column-vector y was passed when a 1d array was expected: it is taken as one class for each row. "
                      "Use y.ravel().", _conversion_warning(), stacklevel=4)
        a = a.ravel()
    if a.ndim != 1:
        raise Invalid(f"y should be a 1d array, got an array of shape {a.shape} instead: give one class for each row, or a list of "
                      "tags for each")
    _same_length(n, len(a))
    if a.dtype.kind == "c":
        raise Invalid("Complex data not supported: y holds classes, which are texts or whole numbers")
    if a.dtype.kind == "f":
        bad = ~np.isfinite(a)
        if bad.any():
            raise Invalid(f"Input y contains NaN or infinity: row {int(np.argmax(bad))} has no class; leave such rows out")
        if (a != np.round(a)).any():
            odd = a[a != np.round(a)][0]
            raise Invalid(f"Unknown label type: continuous: y has values such as {odd!r}, and classes are texts or whole numbers; "
                          "cut numbers into ranges first")
        a = a.astype(np.int64) if (np.abs(a) < 2**53).all() else a.astype(object)
    if a.dtype.kind == "O":
        classes, numbers = _objects(a)
    elif a.dtype.kind in "biuUSmM":
        classes, numbers = np.unique(a, return_inverse=True)
    else:
        raise Invalid(f"y has the type {a.dtype}: classes are texts or whole numbers")
    s.classes = classes
    names = [label(c) for c in classes]
    if "" in names:
        at = int(np.argmax(np.asarray(numbers) == names.index("")))
        raise Invalid(f"row {at} has no class: y is {classes[names.index('')]!r} there; leave such rows out, or give them a class")
    s.params["classes"] = names
    s.arrays.append(np.ascontiguousarray(np.asarray(numbers).reshape(-1), dtype=np.int32))


def _objects(a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The different values of an array of objects, sorted where they can be, and the number of each entry's."""
    known: dict[Any, int] = {}
    numbers = np.empty(len(a), dtype=np.int64)
    for i, v in enumerate(a):
        if v is None or isinstance(v, float) and v != v or type(v).__name__ in ("NAType", "NaTType"):
            raise Invalid(f"Input y contains NaN: row {i} has no class; leave such rows out")
        if isinstance(v, (list, dict, set)) or isinstance(v, float) and v != round(v):
            raise Invalid(f"Unknown label type: row {i} has the class {v!r}: classes are texts or whole numbers, for all rows alike")
        numbers[i] = known.setdefault(v, len(known))
    values = list(known)
    try:
        order = sorted(range(len(values)), key=values.__getitem__)
    except TypeError:  # texts and numbers together
        order = sorted(range(len(values)), key=lambda k: str(values[k]))
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    classes = np.empty(len(values), dtype=object)
    classes[:] = [values[k] for k in order]
    return classes, place[numbers]


def _tags(s: Supervision, y: Any, n: int) -> None:
    names: list[str]
    if hasattr(y, "tocsr") or hasattr(y, "columns") or isinstance(y, np.ndarray) and y.ndim == 2 or _is_matrix(y):
        columns = names_of(y)
        if hasattr(y, "tocsr"):
            y = y.toarray()
        a = np.asarray(y.to_numpy() if hasattr(y, "to_numpy") else y)
        if a.ndim != 2 or a.dtype.kind not in "biuf" or not np.isin(a, (0, 1)).all():
            raise Invalid(f"y has the shape {a.shape} and the type {a.dtype}: an indicator matrix has a column for each tag, and 0 "
                          "or 1 in it; or give a list of tags for each row, or one class")
        _same_length(n, len(a))
        names = columns or [str(j) for j in range(a.shape[1])]
        which = a.astype(bool)
        counts, numbers = which.sum(axis=1), np.nonzero(which)[1]
    else:
        lists = [sorted({label(t) for t in row}) for row in y]
        _same_length(n, len(lists))
        names = sorted({t for row in lists for t in row})
        place = {t: j for j, t in enumerate(names)}
        counts = np.array([len(row) for row in lists], dtype=np.int64)
        numbers = np.array([place[t] for row in lists for t in row], dtype=np.int64)
    if not names:
        raise Invalid("no row has a tag")
    s.classes = np.array(names, dtype=object)
    s.params["tags"] = names
    starts = np.zeros(n + 1, dtype=np.int64)
    np.cumsum(counts, out=starts[1:])
    s.arrays += [starts, np.ascontiguousarray(numbers, dtype=np.int32)]


def _is_matrix(y: Any) -> bool:
    """Whether a list of lists is an indicator matrix: rows of one length, of zeros and ones."""
    if not isinstance(y, (list, tuple)):
        return False
    lengths = {len(row) if isinstance(row, (list, tuple, np.ndarray)) else -1 for row in y}
    if len(lengths) != 1 or lengths <= {-1, 0}:
        return False
    return all(isinstance(v, (int, bool, np.integer, np.bool_)) and v in (0, 1) for row in y for v in row)


def _conversion_warning() -> type:
    try:
        from sklearn.exceptions import DataConversionWarning
        return DataConversionWarning
    except ImportError:
        return UserWarning


def check_names(known: Any, X: Any, who: str) -> None:
    """Whether the columns of a frame are those that a model was fitted with, in the words of scikit-learn."""
    names = names_of(X)
    if known is None and names is None:
        return
    if known is None:
        warnings.warn(f"X has feature names, but {who} was fitted without feature names", stacklevel=4)
        return
    if names is None:
        warnings.warn(f"X does not have valid feature names, but {who} was fitted with feature names", stacklevel=4)
        return
    known = list(known)
    if known == names:
        return
    text = "The feature names should match those that were passed during fit.\n"

    def listed(title: str, some: list) -> str:
        return title + "".join(f"- {n}\n" for n in sorted(some)[:5]) + ("- ...\n" if len(some) > 5 else "") if some else ""

    unexpected, missing = [n for n in names if n not in known], [n for n in known if n not in names]
    text += listed("Feature names unseen at fit time:\n", unexpected)
    text += listed("Feature names seen at fit time, yet now missing:\n", missing)
    if not unexpected and not missing:
        text += "Feature names must be in the same order as they were in fit.\n"
    raise Invalid(text)
