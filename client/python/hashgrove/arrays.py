"""From what people have, lists, arrays and frames, to what a worker takes. What the worker refuses is left to it; messages
that scikit-learn's checks look for begin as scikit-learn's own."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from .service import Invalid, _label as label


def names_of(X: Any) -> list[str] | None:
    """The names of the columns of a frame; None where there are none, or where they are no texts."""
    columns = getattr(X, "columns", None)
    names = [] if columns is None or callable(columns) else list(columns)
    texts = [isinstance(n, str) for n in names]
    if not any(texts):
        return None
    if not all(texts):
        raise TypeError("Feature names are only supported if all input features have string names: convert them with "
                        "X.columns = X.columns.astype(str)")
    return names


def rows(X: Any, what: str = "X", *, one: bool = False) -> np.ndarray:
    """Vectors as an array of bytes or floats with two dimensions. With one, an array of one dimension is one vector."""
    if hasattr(X, "tocsr"):
        raise TypeError(f"{what} is a sparse matrix, but dense data is required: use {what}.toarray(), or make its vectors "
                        "shorter first, for instance with TruncatedSVD")
    if isinstance(X, np.ma.MaskedArray):
        X = X.astype(np.float32).filled(np.nan)
    try:
        a = np.asarray(X)
    except (ValueError, OverflowError) as e:
        raise Invalid(f"{what} cannot be made an array: rows of different lengths, or values that are no numbers ({e})") from None
    if a.ndim == 1 and one:
        a = a.reshape(1, -1)
    if a.ndim != 2:
        raise Invalid(f"Expected 2D array, got {a.ndim}D array instead: {what} has the shape {a.shape}, and vectors are rows of "
                      "numbers. Reshape your data either using array.reshape(-1, 1) if your data has a single feature or "
                      "array.reshape(1, -1) if it contains a single sample.")
    if a.dtype.kind == "O":
        try:
            a = np.where(np.frompyfunc(_missing, 1, 1)(a).astype(bool), np.nan, a).astype(np.float64)
        except (TypeError, ValueError, OverflowError) as e:
            kind = TypeError if isinstance(e, TypeError) else Invalid
            raise kind(f"{what} has values that are no numbers: {e}; leave out such columns, or turn them into numbers") from None
    if a.dtype.kind not in "biuf":
        raise Invalid(f"{'Complex data not supported: ' * (a.dtype.kind == 'c')}{what} has the type {a.dtype}, which are no real "
                      "numbers: leave out columns of texts and dates, or turn them into numbers")
    if 0 in a.shape:
        raise Invalid(f"Found array with {a.shape[0]} sample(s) and {a.shape[1]} feature(s) (shape={a.shape}) while a minimum of 1 "
                      "is required.")
    return a if a.dtype.kind == "f" or a.dtype == np.uint8 else a.astype(np.float32)


def _missing(v: Any) -> bool:
    return v is None or type(v).__name__ in ("NAType", "NaTType")


def supervision(y: Any, pairs: Any = None) -> tuple[dict, list, Any]:
    """What says which rows are similar, as parameters of a request and arrays behind the vectors: classes, tags (lists of
    texts, or an indicator matrix) and pairs of rows. The different classes or tags come third."""
    params: dict[str, Any] = {}
    others, known = [], None
    if isinstance(getattr(y, "name", None), str):
        params["label"] = y.name
    if y is not None:
        key, read = ("tags", _tags) if _has_tags(y) else ("classes", _classes)
        params[key], known = read(y)
    if pairs is not None:
        p = np.asarray(pairs)
        if p.ndim != 2 or p.dtype.kind not in "iu":
            raise Invalid("pairs are rows of two row numbers and 1 for similar, -1 for dissimilar or 0 for unknown, as whole "
                          f"numbers; these have the shape {p.shape} and the type {p.dtype}")
        if p.shape[1] == 2:
            p = np.column_stack([p, np.ones(len(p), dtype=p.dtype)])
        params["pairs"] = True
        others.append(p.astype(np.int64))
    return params, others, known


def _has_tags(y: Any) -> bool:
    if hasattr(y, "tocsr") or getattr(y, "ndim", 1) == 2:
        return y.shape[1] != 1
    try:
        return isinstance(next(iter(y), None), (list, tuple, set, frozenset, np.ndarray))
    except TypeError:
        return False


def _classes(y: Any) -> tuple[list, np.ndarray]:
    """The class of each row, and the different ones."""
    a = np.asarray(y)
    if a.ndim == 2:
        a = a.ravel()
    if a.ndim != 1 or a.dtype.kind not in "biufOUSmM":
        raise Invalid(f"y should be a 1d array, got an array of shape {a.shape} and type {a.dtype} instead: give one class for each "
                      "row, a text or a whole number, or a list of tags for each")
    for i, v in enumerate(a if a.dtype.kind in "fO" else ()):
        if _missing(v) or isinstance(v, (float, np.floating)) and v % 1 != 0 or isinstance(v, (list, dict, set)):
            raise Invalid(f"Input y contains NaN, infinity or what is no class: row {i} has {v!r}, and classes are texts or whole "
                          "numbers; leave such rows out")
    names = [label(v) for v in a]
    try:
        return names, np.unique(a)
    except TypeError:  # texts and numbers together
        return names, np.unique(names)


def _tags(y: Any) -> tuple[list, np.ndarray]:
    """The tags of each row, and the different ones."""
    if not getattr(y, "ndim", 1) == 2:
        lists = [sorted({label(t) for t in row}) for row in y]
        names = sorted({t for row in lists for t in row})
        if set(names) <= {"0", "1"}:
            raise Invalid("y has no tags: give a list of texts for each row, or an indicator matrix as an array of numpy")
        return lists, np.array(names, dtype=object)
    a = y.toarray() if hasattr(y, "tocsr") else np.asarray(y)
    if not np.isin(a, (0, 1)).all():
        raise Invalid(f"y has the shape {a.shape} and the type {a.dtype}: an indicator matrix has a column for each tag, and 0 or 1 "
                      "in it; or give a list of tags for each row, or one class")
    names = names_of(y) or list(map(str, range(a.shape[1])))
    return [[names[j] for j in np.flatnonzero(row)] for row in a], np.array(names, dtype=object)


def check_names(known: Any, X: Any, who: str) -> None:
    """Whether the columns of a frame are those that a model was fitted with, in the words of scikit-learn."""
    names = names_of(X)
    if known is None or names is None:
        if names is not None:
            warnings.warn(f"X has feature names, but {who} was fitted without feature names", stacklevel=4)
        elif known is not None:
            warnings.warn(f"X does not have valid feature names, but {who} was fitted with feature names", stacklevel=4)
    elif list(known) != names:
        text, a, b = "The feature names should match those that were passed during fit.\n", set(names), set(known)
        for title, some in (("unseen at fit time", a - b), ("seen at fit time, yet now missing", b - a)):
            if some:
                text += f"Feature names {title}:\n" + "".join(f"- {n}\n" for n in sorted(some)[:5])
        raise Invalid(text if a != b else text + "Feature names must be in the same order as they were in fit.\n")
