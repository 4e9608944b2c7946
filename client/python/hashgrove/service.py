"""A client for the HTTP service of Hashgrove (hashgrove serve).

    from hashgrove import Client
    c = Client("http://127.0.0.1:8080")
    shop = c["shop"]                        # a collection, with the methods of an Index
    found = shop.search(vectors, k=5)       # vectors: array of n rows
    found.ids, found.distances              # arrays of n rows and 5 columns
    codes = shop.encode(vectors)            # array of uint8, a row of packed bits for each vector
    shop.put(ids, vectors, labels=labels)   # returns when the items are on disk
    shop.delete(where="price < 5", dry_run=True)

A request that the server refuses raises Error, or one of its kinds: Unauthorized, NotFound, Conflict, TooLarge, Busy
and DiskFull; where no answer comes it is Unreachable. A Client may be used by several threads.
"""

from __future__ import annotations

import base64
import html
import http.client
import io
import json
import ssl
import threading
import urllib.parse
from typing import Any, Iterator

import numpy as np

__all__ = ["Client", "Collection", "Found", "Hit", "Error", "Invalid", "Unauthorized", "NotFound", "Conflict", "TooLarge",
           "Busy", "DiskFull", "Unreachable"]


class Error(Exception):
    """A request that was refused: message, code (such as not_found), status (of HTTP), request_id (names it in the server's
    logs) and retry_after (seconds to wait before the next try, or None)."""

    def __init__(self, message, *, status=0, request_id="", retry_after=None, code="", field=""):
        super().__init__(message)
        self.message, self.status, self.request_id, self.retry_after = message, status, request_id, retry_after
        self.code, self.field = code, field

    def __str__(self):
        if not self.status:
            return self.message
        return f"{self.message} (status {self.status}, request {self.request_id})"


class Invalid(Error, ValueError):
    """Data or options that cannot be used: what, where and what to do."""


class Unauthorized(Error):
    """The token is missing or wrong, or does not allow this."""


class NotFound(Error):
    """There is no such collection or item."""


class Conflict(Error):
    """The model of the collection is another one, or an id exists already."""


class TooLarge(Error):
    """The request is larger than the limits of the server."""


class Busy(Error):
    """The server has too much to do, or is starting or stopping: try again after retry_after seconds."""


class DiskFull(Error):
    """Nothing can be written until there is room on the server's disk; searching goes on."""


class Unreachable(Error, OSError):
    """No answer came from the server: nobody listens there, the connection broke, or it took too long. A write may have been
    made all the same."""


_kinds = {400: Invalid, 401: Unauthorized, 403: Unauthorized, 404: NotFound, 409: Conflict, 413: TooLarge, 429: Busy, 503: Busy, 507: DiskFull}


class Hit(dict):
    """An item that was found, as a dict: id, distance in bits, and where there are such label, tags, attributes,
    detail_distance, margin_distance and score. The keys are attributes too, which are None where there is nothing.

    >>> Hit(id=7, distance=3, label="boots")
    Hit(7, distance=3, label='boots')
    >>> Hit(id=7, distance=3, label="boots").label
    'boots'
    """

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return self.get(name)

    def __repr__(self) -> str:
        rest = "".join(f", {name}={value!r}" for name, value in self.items() if name != "id")
        return f"Hit({self.get('id')!r}{rest})"

    def _repr_html_(self) -> str:
        return _hits([self])


class Found:
    """What a search found. ids and distances are arrays with a row for each query, or with one dimension for one query.
    Rows with fewer hits than others end with distance -1 and an id of 0 or None. Distances are in bits; where codes have
    bits of detail, these are in detail_distances, which is None otherwise. hits has everything about them: a list of
    Hits for each query. rank is what ordered them: hamming, margins or expected. answer is the whole answer as a dict."""

    def __init__(self, answer: dict, one: bool):
        rows = [r["hits"] for r in answer["results"]]
        flat = [h for row in rows for h in row]
        counts = np.array([len(row) for row in rows], dtype=np.intp)
        there = np.arange(counts.max(initial=0)) < counts[:, None]

        def spread(name: str, empty: Any, dtype: Any) -> Any:
            out = np.full(there.shape, empty, dtype=dtype)
            out[there] = [h[name] for h in flat]
            return out[0] if one else out

        whole = all(isinstance(h["id"], int) for h in flat)
        self.ids = spread("id", 0 if whole else None, np.int64 if whole else object)
        self.distances = spread("distance", -1, np.int32)
        detail = any("detail_distance" in h for h in flat)
        self.detail_distances = spread("detail_distance", -1, np.int32) if detail else None
        self.rank, self.fingerprint, self.seconds = answer["rank"], answer["fingerprint"], answer["seconds"]
        self.answer, self._one = answer, one

    def __iter__(self) -> Iterator[np.ndarray]:
        """Distances and ids, in the order of FAISS: D, I = index.search(vectors)."""
        return iter((self.distances, self.ids))

    @property
    def hits(self) -> list:
        rows = [[Hit(h) for h in r["hits"]] for r in self.answer["results"]]
        return rows[0] if self._one else rows

    def __repr__(self) -> str:
        return f"Found(ids={self.ids!r}, distances={self.distances!r})"

    def _repr_html_(self) -> str:
        parts = [f"<div>ranked by {html.escape(self.rank)}</div>"]
        for r in self.answer["results"][:10]:
            name = html.escape(", ".join([str(r["query"]), *([r["label"]] if r.get("label") else [])]))
            shown = code_picture(bytes.fromhex(r["code"]), self.answer["bits"])
            parts.append(f"<div style='margin:4px 0'>{shown} query {name}</div>{_hits(r['hits'])}")
        if len(self.answer["results"]) > 10:
            parts.append(f"<div>and {len(self.answer['results']) - 10} more queries</div>")
        return "".join(parts)


def code_picture(code: bytes, bits: int = 0, side: int = 5) -> str:
    """A packed code as a picture: a square for each bit, eight in a row, dark where it is 1.

    >>> code_picture(bytes([255]))[:4]
    '<svg'
    """
    bits = bits or 8 * len(code)
    wide = 8 if bits <= 128 else 32
    ones = np.flatnonzero(np.unpackbits(np.frombuffer(code, dtype=np.uint8))[:bits])
    squares = "".join(f"M{i % wide * side} {i // wide * side}h{side}v{side}h-{side}z" for i in ones)
    return (f"<svg role='img' width='{wide * side}' height='{-(-bits // wide) * side}' style='background:#dde;vertical-align:middle'>"
            f"<title>{code.hex()}</title><path fill='#225' d='{squares}'/></svg>")


def table(rows: list, head: list = []) -> str:
    """Rows of values as a table of HTML."""
    def line(kind: str, row: list) -> str:
        texts = (f"{v:.6g}" if isinstance(v, float) else ", ".join(v) if isinstance(v, list) else "" if v is None else v for v in row)
        return "<tr>" + "".join(f"<{kind}>{html.escape(str(v))}</{kind}>" for v in texts) + "</tr>"

    return "<table>" + "".join([line("th", head) if head else "", *(line("td", row) for row in rows)]) + "</table>"


def _hits(hits: list) -> str:
    """Hits as a table of HTML."""
    names = [n for n in ("id", "distance", "detail_distance", "score", "label", "tags") if any(n in h for h in hits)]
    names += sorted({n for h in hits for n in h.get("attributes", {})})
    return table([[{**h.get("attributes", {}), **h}.get(n) for n in names] for h in hits], names)


class Client:
    """A server at a URL such as http://127.0.0.1:8080. fingerprint is that of the model that collections must have, or
    None for any; timeout is in seconds; context is an ssl.SSLContext for https."""

    def __init__(self, url, token=None, *, fingerprint=None, timeout=60, context=None):
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"{url!r} is no address such as http://127.0.0.1:8080")
        self._parts, self._token, self._fingerprint = parts, token, fingerprint
        self._timeout, self._context, self._local = timeout, context, threading.local()

    def __repr__(self):  # without the token
        return f"Client({self._parts.scheme}://{self._parts.netloc})"

    def server(self):
        """What the server is, its limits, and what this token may do."""
        return self._ask("GET", "/v1/server")

    def __getitem__(self, collection: str) -> Collection:
        """A collection, with the methods of an Index."""
        return Collection(self, collection)

    def collections(self):
        """A list of dicts, one for each collection."""
        return self._ask("GET", "/v1/collections")["collections"]

    def close(self):
        """Close the connection of this thread; the next request opens another."""
        connection = getattr(self._local, "connection", None)
        self._local.connection = None
        if connection:
            connection.close()

    def _rows(self, vectors):
        """Vectors as rows to send, and whether they are one vector."""
        from . import arrays
        one = (vectors.ndim if hasattr(vectors, "ndim") else np.ndim(vectors[0]) + 1 if len(vectors) else 2) == 1
        return arrays.rows(vectors, "vectors", one=one), one

    def _ask(self, method, path, body=None, *, query=None, vectors=None, safe=False):
        """Send a request, whose body is JSON and may have vectors beside it, and return what the answer says."""
        query = urllib.parse.urlencode({name: value for name, value in (query or {}).items() if value is not None})
        path += "?" * bool(query) + query
        headers = {"Accept": "application/json"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        if self._token:
            headers["Authorization"] = "Bearer " + self._token
        if self._fingerprint and path.startswith("/v1/collections/"):
            headers["Hashgrove-Fingerprint"] = self._fingerprint
        status, answered, data = self._send(method, path, body, vectors, headers, safe or method == "GET")
        if status // 100 != 2:
            raise _refusal(status, answered, data)
        return json.loads(data)

    def _send(self, method, path, body, vectors, headers, safe):
        """Send a request over the connection of this thread and return status, headers and body of the answer. A connection
        that the server has closed meanwhile is replaced; a write must not be sent twice, so it begins with a new one."""
        if vectors is not None and body is None:
            out = io.BytesIO()
            np.lib.format.write_array(out, np.ascontiguousarray(vectors), allow_pickle=False)  # numbers become float32 at the server
            body, headers["Content-Type"] = out.getvalue(), "application/x-npy"
        elif body is not None:
            if vectors is not None:
                body["vectors_base64"] = base64.b64encode(vectors.astype("<f4").tobytes()).decode()
            body = json.dumps(body, allow_nan=False, default=_plain).encode()
        path = self._parts.path.rstrip("/") + path
        if not safe:
            self.close()
        while True:
            connection = getattr(self._local, "connection", None)
            used = connection is not None
            if not used:
                connection = self._local.connection = self._connect()
            try:
                connection.request(method, path, body, headers)
                response = connection.getresponse()
                return response.status, response.headers, response.read()
            except BaseException as e:
                self.close()
                if used and isinstance(e, ConnectionError):
                    continue
                if not isinstance(e, (OSError, http.client.HTTPException)):
                    raise
                where = f"{self._parts.scheme}://{self._parts.netloc.rpartition('@')[2]}"
                raise Unreachable(f"no answer from {where}: {e or type(e).__name__}") from e

    def _connect(self):
        host, port = self._parts.hostname, self._parts.port
        if self._parts.scheme == "http":
            return http.client.HTTPConnection(host, port, timeout=self._timeout)
        context = self._context or ssl.create_default_context()
        return http.client.HTTPSConnection(host, port, timeout=self._timeout, context=context)


class Collection:
    """A collection of a service, as client["name"]. An Index has the same methods, so that code which is given one or the
    other runs in a notebook and against a service alike:

        shop = Index(model)                             # in a notebook
        shop = Client("http://127.0.0.1:8080")["shop"]  # with a service
        shop.put(ids, vectors, labels=labels)
        shop.search(vectors, k=5, where='label = "boots"').ids
    """

    def __init__(self, client: Client, name: str):
        self.client, self.name = client, name

    def __repr__(self) -> str:
        return f"{self.client!r}[{self.name!r}]"

    def about(self) -> dict:
        """All that is known about the collection, as a dict."""
        return self.client._ask("GET", _path(self.name))

    def search(self, vectors=None, k=None, *, codes=None, ids=None, picture=None, radius=None, where=None,
               rank=None, ties=None, prefix=None, rerank=None, explain=None, fields=None):
        """Search for vectors (array of one row or of many), or for codes (array of uint8: packed bits), or for the ids of
        items (one or a list), or for a picture (the bytes of a file). k is 10 unless radius is given: then all items within
        that distance. where is a filter such as 'label = "boots" and price < 30'; rank is hamming, margins (of vectors and pictures),
        expected, or auto, the default: what the model chose, and hamming with radius or ties. fields is a list of label, tags and attributes;
        None means all, and an empty list none. Returns Found."""
        if k is None and radius is None:
            k = 10
        if sum(x is not None for x in (vectors, codes, ids, picture)) != 1:
            raise Invalid("give exactly one of vectors, codes, ids and picture")
        options = {"k": k, "radius": radius, "where": where, "rank": rank, "ties": ties, "prefix": prefix,
                   "rerank": rerank, "explain": explain, "fields": fields}
        path, one = _path(self.name, "search"), True
        if vectors is not None:
            rows, one = self.client._rows(vectors)
            flat = {n: ",".join(v) if n == "fields" and v is not None else v for n, v in options.items()}
            flat["explain"] = None if explain is None else json.dumps(explain)
            return Found(self.client._ask("POST", path, query=flat, vectors=rows, safe=True), one)
        body = {name: value for name, value in options.items() if value is not None}
        if picture is not None:
            body["picture"] = base64.b64encode(picture).decode()
        elif ids is not None:
            one = isinstance(ids, (str, int, np.integer))
            body["queries"] = [{"id": _id(x)} for x in ([ids] if one else ids)]
        else:
            one = np.ndim(codes) == 1
            body["queries"] = [{"code": code} for code in _hex(codes)]
        return Found(self.client._ask("POST", path, body, safe=True), one)

    def explain(self, id, *, vector=None, code=None, query_id=None, picture=None):
        """Why an item is near a vector, a code, another item or a picture, as a dict."""
        query = {"vector": None if vector is None else np.asarray(vector, dtype=float), "code": None if code is None else _hex(code)[0],
                 "id": None if query_id is None else _id(query_id),
                 "picture": None if picture is None else base64.b64encode(picture).decode()}
        body = {"query": {name: value for name, value in query.items() if value is not None}, "id": _id(id)}
        return self.client._ask("POST", _path(self.name, "explain"), body, safe=True)

    def encode(self, vectors=None, *, pictures=None, margins=False):
        """Codes of vectors (array of one row or of many) or of pictures (a list of the bytes of files): an array of uint8
        with a row of packed bits for each, as numpy.packbits makes them. With margins, a pair of these and of an array that
        tells how certain each bit is."""
        if (vectors is None) == (pictures is None):
            raise Invalid("give either vectors or pictures")
        if pictures is not None:
            one, asked = False, {"body": {"pictures": [base64.b64encode(p).decode() for p in pictures], "margins": margins}}
        else:
            rows, one = self.client._rows(vectors)
            asked = {"vectors": rows, "query": {"margins": json.dumps(margins)}}
        a = self.client._ask("POST", _path(self.name, "encode"), **asked, safe=True)
        codes = np.frombuffer(bytes.fromhex("".join(a["codes"])), dtype=np.uint8).reshape(len(a["codes"]), -1)
        if not margins:
            return codes[0] if one else codes
        sure = np.array(a["margins"], dtype=np.float32)
        return (codes[0], sure[0]) if one else (codes, sure)

    def put(self, ids, vectors=None, *, codes=None, labels=None, tags=None, attributes=None, mode="upsert"):
        """Write items, all or none, and return how many when they are on disk: ids, and vectors (array of n rows) or codes
        (array of uint8: packed bits), labels (texts), tags (lists of texts) and attributes (dicts of numbers and texts).
        Items that are there are replaced, or with mode="add" refused as a Conflict."""
        if (vectors is None) == (codes is None):
            raise Invalid("give either vectors or codes")
        body = {"ids": [_id(x) for x in ids], "mode": mode}
        if not body["ids"]:
            return 0
        rows = None if vectors is None else self.client._rows(vectors)[0]
        if codes is not None:
            body["codes"] = _hex(codes)
        if labels is not None:
            body["labels"] = [_label(x) for x in labels]
        if tags is not None:
            body["tags"] = [[_label(x) for x in row] for row in tags]
        if attributes is not None:
            body["attributes"] = _records(attributes) if hasattr(attributes, "columns") else list(attributes)
        return self.client._ask("POST", _path(self.name, "items"), body, vectors=rows)["written"]

    def patch(self, ids, *, labels=None, tags=None, attributes=None, replace=False):
        """Change labels, tags and attributes of items without their codes; what is None stays as it is. Returns how many
        items were there to change."""
        items = [{"id": _id(x)} for x in ids]
        for name, values in (("label", labels), ("tags", tags), ("attributes", attributes)):
            if values is None:
                continue
            if len(values) != len(items):
                raise Invalid(f"{len(values)} {name} for {len(items)} ids")
            for item, value in zip(items, values):
                if value is not None:
                    item[name] = value
        if not replace:
            items = [item for item in items if len(item) > 1]
        return self.client._ask("PATCH", _path(self.name, "items"), {"items": items, "replace": replace})["updated"]

    def delete(self, ids=None, *, where=None, dry_run=False):
        """Delete items by id (one or a list) or by filter, and return how many were there; with dry_run, only count
        them."""
        if (ids is None) == (where is None):
            raise Invalid("give either ids or where")
        body = {"dry_run": dry_run}
        if where is not None:
            body["where"] = where
        else:
            body["ids"] = [_id(x) for x in ([ids] if isinstance(ids, (str, int, np.integer)) else ids)]
        return self.client._ask("POST", _path(self.name, "delete"), body)["deleted"]

    def item(self, id):
        """One item as a dict."""
        return self.client._ask("GET", _path(self.name, "items", id))["item"]

    def items(self, where=None, *, page=None):
        """Go through all items that a filter lets through, in the order of ids, as dicts."""
        after = None
        while True:
            a = self.client._ask("GET", _path(self.name, "items"), query={"where": where, "limit": page, "after": after})
            yield from a["items"]
            after = a.get("next")
            if after is None:
                return

    def vector(self, id):
        """The vector of an item, where the server knows it."""
        return np.array(self.client._ask("GET", _path(self.name, "vector", id))["vector"], dtype=np.float32)

    def facets(self, where=None, *, top=None):
        """Labels, tags and attributes with counts, among the items that a filter lets through, as a dict."""
        return self.client._ask("GET", _path(self.name, "facets"), query={"where": where, "top": top})

    def add(self, ids, vectors=None, *, codes=None, labels=None, tags=None, attributes=None):
        """Write items that are not there yet, all or none: put with mode="add"."""
        return self.put(ids, vectors, codes=codes, labels=labels, tags=tags, attributes=attributes, mode="add")

    def __contains__(self, id: Any) -> bool:
        return self.delete([id], dry_run=True) > 0

    def __len__(self) -> int:
        return self.about()["items"]

    def __bool__(self) -> bool:  # an empty index is an index
        return True

    def __iter__(self) -> Iterator[dict]:
        return self.items()

    def close(self) -> None:
        """Let go of the connection, or of the process of an index."""
        self.client.close()

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()


def _path(*names):
    return "/v1/collections/" + "/".join(urllib.parse.quote(str(x), safe="") for x in names)


def _id(x):
    if x is None or isinstance(x, (bool, np.bool_, float, np.floating)):
        raise Invalid(f"{x!r} is no id: an id is a whole number or a text")
    return int(x) if isinstance(x, (int, np.integer)) else str(x)


def _plain(x):
    """A value that is not one of Python's own, for JSON."""
    if isinstance(x, (np.generic, np.ndarray)):
        return x.tolist()
    raise Invalid(f"{x!r} is no value: give a number or a text, or a list of these")


def _hex(codes):
    """Packed codes as texts."""
    return [row.tobytes().hex() for row in np.atleast_2d(np.asarray(codes, dtype=np.uint8))]


def _label(x):
    """A label or a tag as a text, as the command reads it from an array of numpy."""
    if isinstance(x, (bool, np.bool_)):
        return "true" if x else "false"
    if isinstance(x, bytes):
        return x.decode("utf-8", "replace")
    if isinstance(x, float) and x == round(x):
        return str(int(x))
    return str(x).strip()


def _records(frame):
    """The rows of a frame as dicts, without what is missing."""
    rows = frame.to_dict("records") if hasattr(frame, "iloc") else frame.to_dicts()
    return [{str(k): (v.isoformat() if hasattr(v, "isoformat") else v) for k, v in row.items()
             if v is not None and v == v} for row in rows]


def _refusal(status, headers, data):
    try:
        e = json.loads(data)["error"]
        message, request, code = e["message"], e["request_id"], e.get("code", "")
    except (ValueError, KeyError, TypeError):  # from a proxy, or before the server could think
        text = bytes(data[:200]).decode("utf-8", "replace").strip()
        message, request, code = f"the server answered {status}: {text}", headers.get("X-Request-Id", ""), ""
    retry = headers.get("Retry-After", "")
    return _kinds.get(status, Error)(message, status=status, request_id=request, code=code,
                                     retry_after=int(retry) if retry.isdigit() else None)
