"""Hashgrove learns short binary codes from labelled vectors and finds the nearest codes exactly.

    from hashgrove import FastHash, Index, compare
    hasher = FastHash(bits=64).fit(X, y)
    codes = hasher.transform(X)
    with Index(hasher) as shop:
        shop.add(ids, X, labels=y)
        shop.search(queries, k=10).ids

FastHash has the conventions of scikit-learn. Client speaks to a service, and its collections have the methods of an Index.
Only numpy is required; the work is done by the program hashgrove, which is part of the package.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .comparison import Comparison, compare
    from .estimator import FastHash, NotFittedError
    from .index import Index
    from .model import Model
    from .service import (Busy, Client, Collection, Conflict, DiskFull, Error, Found, Hit, Invalid, NotFound, TooLarge,
                          Unauthorized, Unreachable, code_picture)
    from .worker import WorkerDied

__all__ = ["FastHash", "Model", "Index", "compare", "Comparison", "load", "methods", "Client", "Collection", "Found",
           "Hit", "Error", "Invalid", "WorkerDied", "NotFittedError", "Unauthorized", "NotFound", "Conflict", "TooLarge", "Busy",
           "DiskFull", "Unreachable", "code_picture"]

# Imported when first used, so that no program waits for scikit-learn without need; other names are of the module service.
_later = {"FastHash": "estimator", "NotFittedError": "estimator", "Index": "index", "Model": "model", "compare": "comparison",
          "Comparison": "comparison", "WorkerDied": "worker"}


def __getattr__(name: str) -> Any:
    if name in __all__ and name not in ("load", "methods"):
        import importlib
        value = getattr(importlib.import_module("." + _later.get(name, "service"), __name__), name)
        globals()[name] = value
        return value
    if name == "__version__":
        from importlib import metadata
        try:
            return metadata.version("hashgrove")
        except metadata.PackageNotFoundError:
            from . import worker
            return worker.shared().call("hello")[0]["version"]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list:
    return sorted([*__all__, "__version__"])


def load(path: Any) -> Any:
    """A model or an index from its file, whichever it is."""
    from .index import Index
    from .model import Model
    with open(path, "rb") as f:
        start = f.read(4)
    return Model.load(path) if start == b"\x89HGM" else Index(path=path)


def methods() -> list:
    """The names of all methods, FastHash first."""
    from . import worker
    return worker.shared().call("hello")[0]["methods"]
