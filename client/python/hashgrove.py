"""A client for the HTTP service of Hashgrove (hashgrove serve): one file, the standard library and numpy.

    from hashgrove import Client
    c = Client("http://127.0.0.1:8080")
    found = c.search("shop", vectors, k=5)      # vectors: array of n rows
    found.ids, found.distances                  # arrays of n rows and 5 columns
    codes = c.encode("shop", vectors)           # array of uint8, a row of packed bits for each vector
    c.put("shop", ids, vectors, labels=labels)  # returns when the items are on disk
    c.delete("shop", where="price < 5", dry_run=True)

A request that the server refuses raises Error, or one of its kinds: Unauthorized, NotFound, Conflict, TooLarge, Busy
and DiskFull. A Client may be used by several threads.
"""

import base64
import http.client
import io
import json
import ssl
import threading
import urllib.parse

import numpy as np

__all__ = ["Client", "Found", "Error", "Unauthorized", "NotFound", "Conflict", "TooLarge", "Busy", "DiskFull"]


class Error(Exception):
    """A request that the server refused: message, status (of HTTP), request_id (names it in the server's logs) and
    retry_after (seconds to wait before the next try, or None)."""

    def __init__(self, message, status=0, request_id="", retry_after=None):
        super().__init__(message)
        self.message, self.status, self.request_id, self.retry_after = message, status, request_id, retry_after

    def __str__(self):
        return f"{self.message} (status {self.status}, request {self.request_id})"


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


_kinds = {401: Unauthorized, 403: Unauthorized, 404: NotFound, 409: Conflict, 413: TooLarge, 429: Busy, 503: Busy, 507: DiskFull}


class Found:
    """What a search found. ids and distances are arrays with a row for each query, or with one dimension for one query.
    Rows with fewer hits than others end with distance -1 and an id of 0 or None. Distances are in bits; where codes have
    bits of detail, these are in detail_distances, which is None otherwise. hits has everything about them: a list of
    dicts for each query. rank is what ordered them: hamming, margins or expected. answer is the whole answer of the
    server."""

    def __init__(self, answer, one):
        results = answer["results"]
        hits = [r["hits"] for r in results]
        shape = (len(hits), max(map(len, hits), default=0))
        whole = all(isinstance(h["id"], int) for row in hits for h in row)
        ids = np.zeros(shape, dtype=np.int64) if whole else np.full(shape, None, dtype=object)
        distances = np.full(shape, -1, dtype=np.int32)
        detail = np.full(shape, -1, dtype=np.int32) if any("detail_distance" in h for row in hits for h in row) else None
        for i, row in enumerate(hits):
            for j, h in enumerate(row):
                ids[i, j], distances[i, j] = h["id"], h["distance"]
                if detail is not None:
                    detail[i, j] = h["detail_distance"]
        if one:
            ids, distances, hits = ids[0], distances[0], hits[0]
            detail = None if detail is None else detail[0]
        self.ids, self.distances, self.detail_distances, self.hits, self.rank = ids, distances, detail, hits, answer["rank"]
        self.answer, self.fingerprint, self.seconds = answer, answer["fingerprint"], answer["seconds"]

    def __repr__(self):
        return f"Found(ids={self.ids!r}, distances={self.distances!r})"


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

    def collections(self):
        """A list of dicts, one for each collection."""
        return self._ask("GET", "/v1/collections")["collections"]

    def collection(self, collection):
        """All that is known about a collection, as a dict."""
        return self._ask("GET", _path(collection))

    def search(self, collection, vectors=None, *, codes=None, ids=None, picture=None, k=10, radius=None, where=None,
               rank=None, ties=None, prefix=None, shortlist=None, rerank=None, explain=None, fields=None):
        """Search for vectors (array of one row or of many), or for codes (array of uint8: packed bits), or for the ids of
        items (one or a list), or for a picture (the bytes of a file). rank is hamming, margins (of vectors and pictures),
        expected, or auto, the default: what the model chose, and hamming with radius or ties. fields is a list of label, tags and attributes;
        None means all, and an empty list none. Returns Found."""
        options = {"k": k, "radius": radius, "where": where, "rank": rank, "ties": ties, "prefix": prefix, "shortlist": shortlist,
                   "rerank": rerank, "explain": explain, "fields": fields}
        options = {name: value for name, value in options.items() if value is not None}
        path = _path(collection, "search")
        if sum(x is not None for x in (vectors, codes, ids, picture)) != 1:
            raise ValueError("give exactly one of vectors, codes, ids and picture")
        if vectors is not None:
            rows = np.asarray(vectors)
            if "fields" in options:
                options["fields"] = ",".join(options["fields"])
            if "explain" in options:
                options["explain"] = "true" if options["explain"] else "false"
            answer = self._ask("POST", path + "?" + urllib.parse.urlencode(options), _npy(rows), "application/x-npy", safe=True)
            return Found(answer, rows.ndim == 1)
        if codes is not None:
            rows = np.asarray(codes, dtype=np.uint8)
            one = rows.ndim == 1
            queries = [{"code": row.tobytes().hex()} for row in np.atleast_2d(rows)]
        elif ids is not None:
            one = isinstance(ids, (str, int, np.integer))
            queries = [{"id": _id(x)} for x in ([ids] if one else ids)]
        else:
            one, queries = True, [{"picture": base64.b64encode(picture).decode()}]
        return Found(self._ask("POST", path, options | {"queries": queries}, safe=True), one)

    def explain(self, collection, id, *, vector=None, code=None, query_id=None, picture=None):
        """Why an item is near a vector, a code, another item or a picture, as a dict."""
        query = {}
        if vector is not None:
            query["vector"] = np.asarray(vector, dtype=float).tolist()
        if code is not None:
            query["code"] = np.asarray(code, dtype=np.uint8).tobytes().hex()
        if query_id is not None:
            query["id"] = _id(query_id)
        if picture is not None:
            query["picture"] = base64.b64encode(picture).decode()
        return self._ask("POST", _path(collection, "explain"), {"query": query, "id": _id(id)}, safe=True)

    def encode(self, collection, vectors=None, *, pictures=None, margins=False):
        """Codes of vectors (array of one row or of many) or of pictures (a list of the bytes of files): an array of uint8
        with a row of packed bits for each, as numpy.packbits makes them. With margins, a pair of these and of an array that
        tells how certain each bit is."""
        if (vectors is None) == (pictures is None):
            raise ValueError("give either vectors or pictures")
        path = _path(collection, "encode")
        if pictures is not None:
            body = {"pictures": [base64.b64encode(p).decode() for p in pictures], "margins": margins}
            a, one = self._ask("POST", path, body, safe=True), False
        else:
            rows = np.asarray(vectors)
            one = rows.ndim == 1
            if not margins:
                npy = self._ask("POST", path, _npy(rows), "application/x-npy", accept="application/x-npy", safe=True)
                codes = np.load(io.BytesIO(npy), allow_pickle=False)
                return codes[0] if one else codes
            a = self._ask("POST", path + "?margins=true", _npy(rows), "application/x-npy", safe=True)
        codes = np.array([list(bytes.fromhex(code)) for code in a["codes"]], dtype=np.uint8)
        if not margins:
            return codes
        sure = np.array(a["margins"], dtype=np.float32)
        return (codes[0], sure[0]) if one else (codes, sure)

    def put(self, collection, ids, vectors=None, *, codes=None, labels=None, tags=None, attributes=None, mode="upsert"):
        """Write items, all or none, and return how many when they are on disk: ids, and vectors (array of n rows) or codes
        (array of uint8: packed bits), labels (texts), tags (lists of texts) and attributes (dicts of numbers and texts).
        Items that are there are replaced, or with mode="add" refused as a Conflict."""
        body = {"ids": [_id(x) for x in ids], "mode": mode}
        if vectors is not None:
            rows = np.ascontiguousarray(np.atleast_2d(vectors), dtype="<f4")
            body["vectors_base64"] = base64.b64encode(rows.tobytes()).decode()
        if codes is not None:
            body["codes"] = [row.tobytes().hex() for row in np.atleast_2d(np.asarray(codes, dtype=np.uint8))]
        if labels is not None:
            body["labels"] = [str(x) for x in labels]
        if tags is not None:
            body["tags"] = [[str(x) for x in row] for row in tags]
        if attributes is not None:
            body["attributes"] = [_attributes(x) for x in attributes]
        return self._ask("POST", _path(collection, "items"), body)["written"]

    def patch(self, collection, ids, *, labels=None, tags=None, attributes=None, replace=False):
        """Change labels, tags and attributes of items without their codes; what is None stays as it is. Returns how many
        of the ids are there."""
        items = [{"id": _id(x)} for x in ids]
        for name, values in (("label", labels), ("tags", tags), ("attributes", attributes)):
            if values is None:
                continue
            if len(values) != len(items):
                raise ValueError(f"{len(values)} {name} for {len(items)} ids")
            for item, value in zip(items, values):
                if value is not None:
                    item[name] = _attributes(value) if name == "attributes" else value
        return self._ask("PATCH", _path(collection, "items"), {"items": items, "replace": replace})["updated"]

    def delete(self, collection, ids=None, *, where=None, dry_run=False):
        """Delete items by id (one or a list) or by filter, and return how many were there; with dry_run, only count
        them."""
        if (ids is None) == (where is None):
            raise ValueError("give either ids or where")
        body = {"dry_run": dry_run}
        if where is not None:
            body["where"] = where
        else:
            body["ids"] = [_id(x) for x in ([ids] if isinstance(ids, (str, int, np.integer)) else ids)]
        return self._ask("POST", _path(collection, "delete"), body)["deleted"]

    def item(self, collection, id):
        """One item as a dict."""
        return self._ask("GET", _path(collection, "items", id))["item"]

    def items(self, collection, where=None, *, page=None):
        """Go through all items that a filter lets through, in the order of ids, as dicts."""
        after = None
        while True:
            query = {name: x for name, x in (("where", where), ("limit", page), ("after", after)) if x is not None}
            a = self._ask("GET", _path(collection, "items") + "?" + urllib.parse.urlencode(query))
            yield from a["items"]
            after = a.get("next")
            if after is None:
                return

    def vector(self, collection, id):
        """The vector of an item, where the server knows it."""
        return np.array(self._ask("GET", _path(collection, "vector", id))["vector"], dtype=np.float32)

    def facets(self, collection, where=None, *, top=None):
        """Labels, tags and attributes with counts, among the items that a filter lets through, as a dict."""
        query = {name: x for name, x in (("where", where), ("top", top)) if x is not None}
        return self._ask("GET", _path(collection, "facets") + "?" + urllib.parse.urlencode(query))

    def close(self):
        """Close the connection of this thread; the next request opens another."""
        connection = getattr(self._local, "connection", None)
        self._local.connection = None
        if connection:
            connection.close()

    def _ask(self, method, path, body=None, content_type="application/json", accept="application/json", safe=False):
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body, allow_nan=False).encode()
        headers = {"Accept": accept}
        if body is not None:
            headers["Content-Type"] = content_type
        if self._token:
            headers["Authorization"] = "Bearer " + self._token
        if self._fingerprint and path.startswith("/v1/collections/"):
            headers["Hashgrove-Fingerprint"] = self._fingerprint
        response, data = self._send(method, self._parts.path.rstrip("/") + path, body, headers, safe or method == "GET")
        if response.status // 100 != 2:
            raise _refusal(response, data)
        return json.loads(data) if accept == "application/json" else data

    def _send(self, method, path, body, headers, safe):
        """Send a request over the connection of this thread. One that the server has closed meanwhile is replaced; a write
        must not be sent twice, so it begins with a new one."""
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
                return response, response.read()
            except (http.client.RemoteDisconnected, ConnectionError):
                self.close()
                if not used:
                    raise
            except BaseException:
                self.close()
                raise

    def _connect(self):
        host, port = self._parts.hostname, self._parts.port
        if self._parts.scheme == "http":
            return http.client.HTTPConnection(host, port, timeout=self._timeout)
        context = self._context or ssl.create_default_context()
        return http.client.HTTPSConnection(host, port, timeout=self._timeout, context=context)


def _path(*names):
    return "/v1/collections/" + "/".join(urllib.parse.quote(str(x), safe="") for x in names)


def _id(x):
    return int(x) if isinstance(x, (int, np.integer)) else str(x)


def _attributes(values):
    return {name: x.item() if isinstance(x, np.generic) else x for name, x in values.items()}


def _npy(rows):
    """The bytes of an array in the format of numpy.save. Numbers become float32 at the server."""
    if rows.ndim not in (1, 2):
        raise ValueError(f"an array of {rows.ndim} dimensions: vectors have one, and rows of vectors two")
    if rows.dtype == object:
        raise ValueError("vectors of different lengths, or values that are no numbers")
    out = io.BytesIO()
    np.lib.format.write_array(out, np.ascontiguousarray(np.atleast_2d(rows)), allow_pickle=False)
    return out.getvalue()


def _refusal(response, data):
    try:
        e = json.loads(data)["error"]
        message, request = e["message"], e["request_id"]
    except (ValueError, KeyError, TypeError):  # from a proxy, or before the server could think
        text = data[:200].decode("utf-8", "replace").strip()
        message, request = f"the server answered {response.status}: {text}", response.getheader("X-Request-Id", "")
    retry = response.getheader("Retry-After", "")
    kind = _kinds.get(response.status, Error)
    return kind(message, response.status, request, int(retry) if retry.isdigit() else None)
