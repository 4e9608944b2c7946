"""An index in memory or in a file, in a process of its own that lives as long as the object."""

from __future__ import annotations

import json
import os
import threading
import weakref
from typing import Any, Iterator

import numpy as np

from . import arrays
from .model import Model, not_finite
from .service import Error, Found, Searcher, _attributes, _id
from .worker import Blocks, Invalid, Worker, WorkerDied

__all__ = ["Index"]


class _Found(Found):
    """Found, of arrays and of an answer that is read when somebody looks at the hits."""

    def __init__(self, head: dict, parts: list, one: bool):
        text = parts.pop() if head.get("answer") else None
        counts, distances = parts.pop(0), parts.pop(0)
        detail = parts.pop(0) if head["detail"] else None
        if head["weighted"]:
            parts.pop(0)
        ids = parts.pop(0) if head["whole"] else head["ids"]
        self._fill(counts, ids, head["whole"], distances, detail, one)
        self.rank, self.fingerprint, self.seconds, self._one = head["rank"], head["fingerprint"], head["seconds"], one
        self._head, self._text, self._answer = head, text, None

    @property
    def answer(self) -> dict:
        if self._answer is None and self._text is not None:
            self._answer, self._text = json.loads(self._text.tobytes()), None
        elif self._answer is None:
            self._answer = {**{k: self._head[k] for k in ("fingerprint", "items", "bits", "seconds", "rank")},
                            "results": [{"query": str(i), "hits": row} for i, row in enumerate(self._plain())]}
        return self._answer

    def _plain(self) -> list:
        """The hits of a search that asked for no fields."""
        ids, distances = np.atleast_2d(self.ids), np.atleast_2d(self.distances)
        return [[{"id": _id(i), "distance": int(d)} for i, d in zip(*row) if d >= 0] for row in zip(ids, distances)]


class Index(Searcher):
    """Finds the items with the nearest codes, exactly. It lives in memory, or with a path in a file, where every change is
    on disk when the call returns; a file that is there is opened, and model may then be None. Threads may share it.

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

    def __init__(self, model: Any = None, path: Any = None):
        self.path = None if path is None else os.path.abspath(os.fspath(path))
        self._model = None if model is None else _model(model)
        if self._model is None and self.path is None:
            raise Invalid("an index in memory needs a model: Index(model), or Index(path=...) for one in a file")
        self._worker, self._lock = Worker(), threading.Lock()
        self._session: Any = None
        self._number, self._closed = 0, False
        self._end = weakref.finalize(self, Worker.close, self._worker)
        try:
            self._open()
        except BaseException:
            self._end()
            raise

    def _open(self) -> None:
        """Make or open the index in a new process."""
        session = self._worker.session()
        if self.path is not None and os.path.exists(self.path):
            about, back = self._worker.call("index.open", {"path": self.path}, session=session)
            known = Model(back[0].tobytes()) if back else None
            if self._model is not None and (known is None or known.fingerprint != self._model.fingerprint):
                raise Invalid(f"{self.path} holds items of another model: open it without a model, or give another path",
                              "other_model")
            self._model = known
        else:
            params: dict[str, Any] = {"model": self._model.number(self._worker)}
            if self.path is not None:
                params["path"] = self.path
            about, _ = self._worker.call("index.create", params, session=session)
        self._session, self._number = session, about["index"]

    def _ask(self, op: str, params: dict, parts: Any = ()) -> tuple[Any, list]:
        try:
            return self._try(op, params, parts)
        except WorkerDied:
            if self.path is None or op in ("put", "patch", "delete"):  # which may have been done or not
                raise
            return self._try(op, params, parts)
        except Invalid as e:
            raise not_finite(e) from None

    def _try(self, op: str, params: dict, parts: Any) -> tuple[Any, list]:
        with self._lock:
            if self._closed:
                raise Error("the index is closed")
            if not self._session.alive():
                if self.path is None:
                    self._worker.close()
                    raise WorkerDied(f"this index was in memory, and {self._session.dead}; build it again, or give it a path "
                                     "to keep it in a file")
                self._open()
            session, number = self._session, self._number
        return self._worker.call("index." + op, {"index": number, **params}, parts, session=session)

    @property
    def model(self) -> Model:
        """The model that encodes items and queries."""
        if self._model is None:
            raise Invalid("the index was built from codes, without a model", "no_model")
        return self._model

    @property
    def pid(self) -> int | None:
        """The id of the process that holds the index, or None."""
        return self._worker.pid

    def search(self, vectors: Any = None, k: int | None = None, *, codes: Any = None, ids: Any = None, where: str | None = None,
               rank: str | None = None, radius: int | None = None, ties: str | None = None, prefix: int | None = None,
               rerank: str | None = None, explain: bool | None = None, fields: Any = None) -> Found:
        """The nearest items of vectors (array of one row or of many), of codes (uint8: packed bits), or of items by their ids
        (one or a list). k is 10 unless radius is given: then all items within that distance. where is a filter such as
        'label = "boots" and price < 30'; rank is hamming, margins, expected, or auto, what the model chose. fields is a list
        of label, tags and attributes; None means all, and an empty list returns arrays alone, which is fastest for many
        queries. rerank, euclidean or cosine, orders the nearest by their vectors, after set_vectors."""
        options = {"k": k, "radius": radius, "where": where, "rank": rank, "ties": ties, "prefix": prefix,
                   "rerank": rerank, "explain": explain, "fields": None if fields is None else list(fields)}
        request: dict[str, Any] = {name: _plain(value) for name, value in options.items() if value is not None}
        if sum(x is not None for x in (vectors, codes, ids)) != 1:
            raise Invalid("give exactly one of vectors, codes and ids")
        params: dict[str, Any] = {"request": request}
        parts: list = []
        if vectors is not None:
            one = _ndim(vectors) == 1
            parts = [self._rows(vectors, one)]
        elif codes is not None:
            rows = np.asarray(codes, dtype=np.uint8)
            one, params["codes"] = rows.ndim == 1, True
            parts = [np.ascontiguousarray(np.atleast_2d(rows))]
        else:
            one = isinstance(ids, (str, int, np.integer))
            request["queries"] = [{"id": _id(x)} for x in ([ids] if one else ids)]
        head, back = self._ask("search", params, parts)
        return _Found(head, back, one)

    def _rows(self, vectors: Any, one: bool = False) -> Blocks:
        x = arrays.rows(vectors, "vectors", one=one)
        if self._model is not None and x.shape[1] != self._model.dim:
            raise Invalid(f"vectors of {x.shape[1]} values, and the model takes {self._model.dim}", "dimension")
        return x

    def explain(self, id: Any, *, vector: Any = None, code: Any = None, query_id: Any = None) -> dict:
        """Why an item is near a vector, a code or another item, bit by bit, as a dict."""
        query: dict[str, Any] = {}
        if code is not None:
            query["code"] = np.asarray(code, dtype=np.uint8).tobytes().hex()
        if query_id is not None:
            query["id"] = _id(query_id)
        parts = [] if vector is None else [self._rows(vector, True)]
        return self._ask("explain", {"request": {"query": query, "id": _id(id)}}, parts)[0]

    def encode(self, vectors: Any, *, output: str = "packed") -> np.ndarray:
        """Codes of vectors, as Model.encode."""
        return self.model.encode(vectors, output=output)

    def put(self, ids: Any, vectors: Any = None, *, codes: Any = None, labels: Any = None, tags: Any = None,
            attributes: Any = None, mode: str = "upsert") -> int:
        """Write items, all or none, and return how many: ids, and vectors (array of n rows) or codes (uint8: packed bits),
        labels, tags (lists) and attributes (dicts of numbers and texts, or a frame). Items that are there are replaced, or
        with mode="add" refused as a Conflict."""
        if (vectors is None) == (codes is None):
            raise Invalid("give either vectors or codes")
        params: dict[str, Any] = {"ids": [_id(x) for x in ids], "mode": mode}
        part: Any
        if codes is not None:
            params["codes"] = True
            part = np.ascontiguousarray(np.atleast_2d(np.asarray(codes, dtype=np.uint8)))
        else:
            part = self._rows(vectors, len(params["ids"]) == 1 and _ndim(vectors) == 1)
        n = part.shape[0]
        given: list = [("ids", params["ids"])]
        if labels is not None:
            given.append(("labels", [arrays.label(x) for x in labels]))
        if tags is not None:
            given.append(("tags", [[arrays.label(t) for t in row] for row in tags]))
        if attributes is not None:
            if hasattr(attributes, "columns"):
                attributes = _records(attributes)
            given.append(("attributes", [_attributes(x) for x in attributes]))
        for name, values in given:
            if len(values) != n:
                raise Invalid(f"{len(values)} {name} for {n} items", field=name)
            params[name] = values
        return self._ask("put", params, [part])[0]["written"] if n else 0

    def set_vectors(self, ids: Any, vectors: Any) -> None:
        """Keep the vectors of items in memory, so that searches can rerank and explain. Items that are added later have none
        until it is called again."""
        x = self._rows(vectors)
        ids = [_id(i) for i in ids]
        if len(ids) != x.shape[0]:
            raise Invalid(f"{len(ids)} ids for {x.shape[0]} vectors")
        self._ask("vectors", {"ids": ids}, [x])

    def patch(self, ids: Any, *, labels: Any = None, tags: Any = None, attributes: Any = None, replace: bool = False) -> int:
        """Change labels, tags and attributes of items without their codes; what is None stays as it is. Returns how many of
        the ids are there."""
        items: list[dict] = [{"id": _id(x)} for x in ids]
        for name, values in (("label", labels), ("tags", tags), ("attributes", attributes)):
            if values is None:
                continue
            if len(values) != len(items):
                raise Invalid(f"{len(values)} {name} for {len(items)} ids")
            for item, value in zip(items, values):
                if value is not None:
                    item[name] = _attributes(value) if name == "attributes" else value
        return self._ask("patch", {"items": items, "replace": replace})[0]["updated"]

    def delete(self, ids: Any = None, *, where: str | None = None, dry_run: bool = False) -> int:
        """Delete items by id (one or a list) or by filter, and return how many were there; with dry_run, only count
        them."""
        if (ids is None) == (where is None):
            raise Invalid("give either ids or where")
        request: dict[str, Any] = {"dry_run": dry_run}
        if where is not None:
            request["where"] = where
        else:
            request["ids"] = [_id(x) for x in ([ids] if isinstance(ids, (str, int, np.integer)) else ids)]
        return self._ask("delete", {"request": request})[0]["deleted"]

    def item(self, id: Any) -> dict:
        """One item as a dict."""
        return self._ask("item", {"id": _id(id)})[0]

    def items(self, where: str | None = None, *, page: int = 1000) -> Iterator[dict]:
        """Go through all items that a filter lets through, in the order of ids, as dicts."""
        params: dict[str, Any] = {"limit": page, "where": where or ""}
        while True:
            a = self._ask("items", params)[0]
            yield from a["items"]
            if a.get("next") is None:
                return
            params["after"] = a["next"]

    def __len__(self) -> int:
        return self._ask("info", {})[0]["items"]

    def __contains__(self, id: Any) -> bool:
        return self.delete([id], dry_run=True) > 0

    def save(self, path: Any) -> None:
        """Write the items and the model to a new index file, for the command, a service or hashgrove.load."""
        self._ask("save", {"path": os.path.abspath(os.fspath(path))})

    def close(self) -> None:
        """End the process. An index in memory is gone, and one in a file is on disk."""
        self._closed = True
        self._end()

    def __reduce__(self) -> Any:
        if self.path is None:
            raise TypeError("an index in memory cannot be pickled: save it to a file and open that")
        return Index, (None, self.path)

    def __repr__(self) -> str:
        where = "in memory" if self.path is None else f"in {self.path}"
        if self._closed:
            return f"Index({where}, closed)"
        try:
            return f"Index({len(self)} items {where}, {self._model!r})"
        except Error as e:
            return f"Index({where}: {e})"

    def _repr_html_(self) -> str:
        import html
        head = html.escape(repr(self).partition(", Model(")[0].rstrip(")") + ")")
        return f"<div>{head}</div>" + (self._model._repr_html_() if self._model is not None and not self._closed else "")


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


def _ndim(x: Any) -> int:
    return x.ndim if hasattr(x, "ndim") else np.ndim(x[0]) + 1 if len(x) else 2


def _plain(x: Any) -> Any:
    return x.item() if isinstance(x, np.generic) else x


def _records(frame: Any) -> list:
    """The rows of a frame as dicts, without what is missing."""
    rows = frame.to_dict("records") if hasattr(frame, "iloc") else frame.to_dicts()
    return [{str(k): (v.isoformat() if hasattr(v, "isoformat") else v) for k, v in row.items()
             if v is not None and v == v} for row in rows]
