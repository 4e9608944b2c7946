"""A trained model: the bytes of its file, and a process that encodes with it."""

from __future__ import annotations

import collections
import functools
import itertools
import os
import threading
import weakref
from typing import Any

import numpy as np

from . import arrays, worker
from .service import Invalid, code_picture, table
from .worker import WorkerDied

__all__ = ["Model"]

_block = 8 << 20  # bytes of vectors in one request, so that sending and encoding overlap
_ahead = 3  # requests under way

OUTPUTS = ("packed", "bits", "signs", "margins")


class Model:
    """Turns vectors into codes. It is its file: bytes(model) are those that "hashgrove train" writes, pickling keeps them,
    and save and Model.load write and read them. Several threads may use one at a time.

    >>> import numpy as np, hashgrove
    >>> X = np.random.default_rng(0).normal(size=(300, 8)).astype("f4") + np.arange(300)[:, None] % 3
    >>> model = hashgrove.FastHash(bits=16, effort="quick").fit(X, np.arange(300) % 3).model_
    >>> model.encode(X[:2]).shape
    (2, 2)
    >>> model.encode(X[:2], output="signs").shape
    (2, 16)
    >>> model.shorter(8).bits
    8
    """

    def __init__(self, data: bytes, *, about: dict | None = None):
        self._data, self._about = bytes(data), about
        self._numbers: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()  # in each process that knows it
        self._lock = threading.Lock()
        if about is None:
            self.number(worker.shared())  # to see that it is a model

    @classmethod
    def load(cls, path: Any) -> Model:
        """The model in a file."""
        with open(path, "rb") as f:
            return cls(f.read())

    def save(self, path: Any) -> None:
        """Write the model to a file, all or nothing."""
        path = os.fspath(path)
        part = f"{path}.{os.getpid()}.part"
        try:
            with open(part, "wb") as f:
                f.write(self._data)
                f.flush()
                os.fsync(f.fileno())
            os.replace(part, path)
        finally:
            if os.path.exists(part):
                os.unlink(part)

    def __bytes__(self) -> bytes:
        return self._data

    def __reduce__(self) -> Any:
        return functools.partial(Model, about=self._about), (self._data,)

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, Model) and self._data == other._data

    def __hash__(self) -> int:
        return hash(self._data)

    @property
    def about(self) -> dict:
        """All that is known about the model, as a dict."""
        assert self._about is not None
        return self._about

    @property
    def bits(self) -> int:
        """The length of the codes."""
        return self.about["bits"]

    @property
    def dim(self) -> int:
        """The length of the vectors."""
        return self.about["dim"]

    @property
    def fingerprint(self) -> str:
        """Identifies the hash functions: codes are comparable if the fingerprints of their models are equal."""
        return self.about["fingerprint"]

    @property
    def method(self) -> str:
        """The name of the method, such as fasthash."""
        return self.about["info"]["method"]

    @property
    def new_items(self) -> dict | None:
        """How well held-out rows find each other, as a dict with map and precision; None if none were held out."""
        return self.about["info"].get("new_items")

    @property
    def learned_items(self) -> dict | None:
        """How well held-out rows find rows that were learned from. Expect the figures of new_items."""
        return self.about["info"].get("learned_items")

    def number(self, of: worker.Worker, session: Any = None) -> int:
        """The number of the model in a worker, which reads it first if it does not know it."""
        with self._lock:
            session = session or of.session()
            known = self._numbers.get(session)
            if known is None:
                about, _ = of.call("load", arrays=[np.frombuffer(self._data, dtype=np.uint8)], session=session)
                known = about.pop("model")
                self._about = self._about or about
                self._numbers[session] = known
                weakref.finalize(self, session.free, known)
            return known

    def encode(self, X: Any, *, output: str = "packed", threads: int | None = None) -> np.ndarray:
        """Codes of vectors: rows of packed bytes as numpy.packbits makes them, or with output "bits" of 0 and 1, with "signs"
        of -1 and +1, and with "margins" of how certain each bit is, in float32. One vector gives one code."""
        one = getattr(X, "ndim", None) == 1
        made = self._codes(arrays.rows(X, one=one), output, threads, "the model")
        return made[0] if one else made

    def _codes(self, x: np.ndarray, output: str, threads: int | None, who: str) -> np.ndarray:
        if output not in OUTPUTS:
            raise Invalid(f"output is {output!r}: choose one of {', '.join(OUTPUTS)}")
        if x.shape[1] != self.dim:
            raise Invalid(f"X has {x.shape[1]} features, but {who} is expecting {self.dim} features as input", code="dimension")
        try:
            made = self._encode(x, output == "margins", threads)
        except WorkerDied:  # encoding changes nothing, so that once more does no harm
            made = self._encode(x, output == "margins", threads)
        if output in ("bits", "signs"):
            made = np.unpackbits(made, axis=1, count=self.bits)
            if output == "signs":
                made = made.astype(np.int8) * 2 - 1
        return made

    def _encode(self, x: np.ndarray, margins: bool, threads: int | None) -> np.ndarray:
        """Send the rows in blocks, some of them ahead of the answers."""
        w = worker.shared()
        session = w.session()
        params = {"model": self.number(w, session), "margins": margins, "threads": threads or 0}
        n, width = x.shape
        each = max(1, _block // max(1, width * x.dtype.itemsize))
        firsts = iter(range(0, n, each))
        asked: collections.deque = collections.deque()
        made = []
        try:
            while True:
                for first in itertools.islice(firsts, _ahead - len(asked)):
                    asked.append(worker.Request(session, "encode", {**params, "first": first}, [x[first:first + each]]))
                if not asked:
                    return made[0] if len(made) == 1 else np.concatenate(made)
                made.append(asked[0].result()[1][0])
                asked.popleft()
        finally:
            for request in asked:
                request.cancel()

    def shorter(self, bits: int) -> Model:
        """A model of the first bits, without training again: the leading bits of a FastHash code are a FastHash code."""
        w = worker.shared()
        about, made = w.call("shorter", {"model": self.number(w), "bits": int(bits)})
        w.session().free(about.pop("model"))
        return Model(made[0].tobytes(), about=about)

    def __repr__(self) -> str:
        info = self.about["info"]
        parts = [f"{self.bits} bits", f"{self.dim} dimensions"]
        if info.get("runs"):
            parts.append(f"{info['runs'][-1].get('rows', 0)} rows")
        if self.new_items:
            parts.append(f"MAP {_best(self.new_items):.3f} of new items, {_best(self.learned_items):.3f} of learned ones")
        return f"Model({self.method}, {', '.join(parts)}, fingerprint {self.fingerprint[:16]})"

    def _repr_html_(self) -> str:
        info, about = self.about["info"], self.about
        lines = {"method": self.method, "vectors": f"{self.dim} dimensions",
                 "codes": f"{self.bits} bits, of which {about.get('detail_bits', 0)} are detail"}
        if info.get("runs"):
            lines["learned from"] = f"{info['runs'][-1].get('rows', 0)} rows, seed {info['runs'][-1]['seed']}"
        if info.get("classes"):
            lines["classes"] = f"{len(info['classes'])}: {', '.join(info['classes'][:8])}" + ", ..." * (len(info["classes"]) > 8)
        for name, figures in (("new items", self.new_items), ("learned items", self.learned_items)):
            if figures:
                lines[name] = f"MAP {_best(figures):.3f}"
        lines.update({"searches rank by": about["rank"], "fingerprint": self.fingerprint[:16]})
        return code_picture(bytes.fromhex(self.fingerprint[:16])) + table(list(lines.items()))


def _best(figures: Any) -> float:
    """MAP by the best of the rankings."""
    return max(figures["map"], figures.get("margins", {}).get("map", 0), figures.get("expected", {}).get("map", 0))
