"""An index in memory or in a file, in a process of its own that lives as long as the object. The process answers the
requests of a service, so an Index is a Collection whose client asks it and not a server."""

from __future__ import annotations

import json
import os
import threading
import weakref
from typing import Any, NamedTuple

import numpy as np

from .model import Model
from .service import Client, Collection, Error, Invalid, _id, _plain
from .worker import Worker, WorkerDied

__all__ = ["Index", "Duplicates"]

_name = "index"  # of the collection in the process


class Duplicates(NamedTuple):
    """Pairs of items: the ids of both, the lesser one in a, and in how many bits their codes differ."""
    a: np.ndarray
    b: np.ndarray
    distances: np.ndarray


class _Here(Client):
    """Asks the process of an index, which it starts, and starts again if the index is in a file."""

    def __init__(self, model: Model | None, path: str | None, bits: int | None):
        self.model, self.path, self.bits = model, path, bits
        self._token, self._fingerprint = None, None
        self._worker, self._lock, self._closed = Worker(), threading.Lock(), False
        self._session: Any = None
        self.close = weakref.finalize(self, Worker.close, self._worker)
        try:
            self._open()
        except BaseException:
            self.close()
            raise

    def _open(self) -> None:
        """Make or open the index in a new process."""
        session, there = self._worker.session(), self.path is not None and os.path.exists(self.path)
        params: dict[str, Any] = {"name": _name, "path": self.path or ""}
        if not there and self.model is not None:
            params["model"] = self.model.number(self._worker)
        elif not there:
            params["bits"] = self.bits
        self._worker.call("index", params, session=session)
        self._session = session
        if there:
            ask = {"method": "GET", "path": f"/v1/collections/{_name}/model", "headers": {"Accept": "application/octet-stream"}}
            head, back = self._worker.call("http", ask, session=session)
            known = Model(back[0].tobytes()) if head["status"] == 200 else None
            if self.model is not None and (known is None or known.fingerprint != self.model.fingerprint):
                raise Invalid(f"{self.path} holds items of another model: open it without a model, or give another path",
                              code="other_model")
            self.model = known

    def call(self, op: str, params: dict, parts: Any = ()) -> tuple[Any, list]:
        """Ask the process, which is replaced if it has ended and the index is in a file."""
        with self._lock:
            if not self.close.alive:
                raise Error("the index is closed")
            if not self._session.alive():
                if self.path is None:
                    self._worker.close()
                    raise WorkerDied(f"this index was in memory, and {self._session.dead}; build it again, or give it a path "
                                     "to keep it in a file")
                self._open()
            session = self._session
        return self._worker.call(op, params, parts, session=session)

    def _send(self, method: str, path: str, body: Any, vectors: Any, headers: dict, safe: bool) -> tuple[int, dict, Any]:
        if vectors is not None and body is None:
            headers["Content-Type"] = "application/octet-stream"
        text = b"" if body is None else json.dumps(body, allow_nan=False, default=_plain).encode()
        parts = [np.frombuffer(text, dtype=np.uint8), *([] if vectors is None else [vectors])]
        params = {"method": method, "path": path, "headers": headers}
        try:
            head, back = self.call("http", params, parts)
        except WorkerDied:
            if self.path is None or not safe:  # it may have been done or not
                raise
            head, back = self.call("http", params, parts)
        return head["status"], head["headers"], back[0].tobytes()

    def __repr__(self) -> str:
        return f"in {self.path}" if self.path else "in memory"


class Index(Collection):
    """Finds the items with the nearest codes, exactly. It lives in memory, or with a path in a file, where every change is
    on disk when the call returns; a file that is there is opened, and model may then be None. Threads may share it. With bits
    in place of a model it holds codes from elsewhere: put and search take codes=, uint8 rows as numpy.packbits makes them.

    >>> import numpy as np, hashgrove
    >>> y = np.arange(300) % 3
    >>> X = np.random.default_rng(0).normal(size=(300, 8)) + 3 * y[:, None]
    >>> hasher = hashgrove.FastHash(bits=16, effort="quick").fit(X, y)
    >>> with hashgrove.Index(hasher) as shop:
    ...     shop.add(range(300), X, labels=y, attributes=[{"price": i} for i in range(300)])
    ...     found = shop.search(X[:2], k=3, where="price < 100")
    ...     found.ids.shape, found.hits[0][0].label, len(shop)
    300
    ((2, 3), '0', 300)
    """

    def __init__(self, model: Any = None, path: Any = None, *, bits: int | None = None):
        self.path = None if path is None else os.path.abspath(os.fspath(path))
        known = None if model is None else _model(model)
        if known is None and bits is None and (self.path is None or not os.path.exists(self.path)):
            raise Invalid("a new index needs a model: Index(model); or the length of codes that you have: Index(bits=64); or "
                          "Index(path=...) opens one in a file that is there")
        if bits is not None and (known is not None or not 8 <= bits <= 4096):
            raise Invalid(f"bits={bits}: codes without a model have 8 to 4096 bits")
        super().__init__(_Here(known, self.path, bits), _name)

    @property
    def model(self) -> Model:
        """The model that encodes items and queries."""
        if self.client.model is None:
            raise Invalid("the index was built from codes, without a model", code="no_model")
        return self.client.model

    @property
    def pid(self) -> int | None:
        """The id of the process that holds the index, or None."""
        return self.client._worker.pid

    def encode(self, vectors: Any, *, output: str = "packed") -> np.ndarray:
        """Codes of vectors, as Model.encode."""
        return self.model.encode(vectors, output=output)

    def set_vectors(self, ids: Any, vectors: Any) -> None:
        """Keep the vectors of items in memory, so that searches can rerank and explain. Items that are written later bring
        theirs."""
        self.client.call("vectors", {"name": _name, "ids": [_id(i) for i in ids]}, self.client._rows(vectors)[:1])

    def duplicates(self, radius: int, *, groups: bool = False, most: int | None = None) -> Any:
        """All pairs of items whose codes differ in at most radius bits, exactly: arrays a, b and distances, in order of ids.
        With groups, the groups that such pairs connect: a list of lists of ids. More pairs than most, 100 million if it is
        None, are counted and refused."""
        head, (rows,) = self.client.call("duplicates", {"name": _name, "radius": radius, "groups": groups, "most": most or 0})
        if not groups:
            ids = np.array(head["ids"], dtype=np.int64 if all(isinstance(i, int) for i in head["ids"]) else object)
            return Duplicates(ids[rows[:, 0]], ids[rows[:, 1]], rows[:, 2])
        found: list = [[] for _ in range(rows[-1, 0] + 1)] if len(rows) else []
        for group, place, _ in rows.tolist():
            found[group].append(head["ids"][place])
        return found

    def save(self, path: Any) -> None:
        """Write the items and the model to a new index file, for the command, a service or hashgrove.load."""
        self.client.call("save", {"name": _name, "path": os.path.abspath(os.fspath(path))})

    def __reduce__(self) -> Any:
        if self.path is None:
            raise TypeError("an index in memory cannot be pickled: save it to a file and open that")
        return Index, (None, self.path)

    def __repr__(self) -> str:
        try:
            return f"Index({len(self)} items {self.client!r})"
        except Error as e:
            return f"Index({self.client!r}: {e})"


def _model(m: Any) -> Model:
    """A model, whatever holds it."""
    if isinstance(m, Model):
        return m
    if hasattr(m, "_fitted"):
        return m._fitted()
    if isinstance(m, (bytes, bytearray)):
        return Model(bytes(m))
    if isinstance(m, (str, os.PathLike)):
        return Model.load(m)
    raise Invalid(f"{type(m).__name__} is no model: give a fitted FastHash, a Model or the path of one")
