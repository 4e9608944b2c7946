"""Codes on a cluster: encode, search, evaluate and find near-duplicates in Spark. What encodes its batches serves Ray and
Dask too.

    from hashgrove import spark as hashes
    make = hashes.encode("items.hgm", vector="vector", keep=["id", "label"])
    codes = items.mapInArrow(make, make.schema(items))
    hashes.search(codes, queries, k=10, where="price < 30")

Codes are columns of signed 64-bit integers, the first bit the highest: code, or code_0, code_1, ... if there are more than
64 bits. The package must be installed where tasks run."""

from __future__ import annotations

import functools
import math
import sys
from typing import Any, Iterator, Sequence

import numpy as np

from . import worker
from .index import _model
from .model import Model
from .service import Invalid

__all__ = ["encode", "search", "evaluate", "near_duplicates"]


def encode(model: Any, vector: str = "vector", keep: Sequence[str] = ("id",)) -> Encoder:
    """A function from rows to codes, for mapInArrow: of the columns it passes on those to keep, and adds the code of the
    vector. The model, or the file of one, is read here and travels in the function, which Spark broadcasts: a task needs no
    file."""
    return Encoder(_model(model), vector, keep)


class Encoder:
    """Made by encode. schema(frame) is what mapInArrow asks for; batch(rows) encodes an Arrow table or a pandas frame, as Ray
    Data and Dask pass them."""

    def __init__(self, model: Model, vector: str, keep: Sequence[str]):
        self.vector, self.keep, self.dim, self.bits = vector, list(keep), model.dim, model.bits
        self.marks = {"hashgrove": model.fingerprint, "bits": model.bits, "detail": model.about.get("detail_bits", 0)}
        words = (model.bits + 63) // 64
        self.columns = ["code"] if words == 1 else [f"code_{i}" for i in range(words)]
        self._data = bytes(model)

    def __call__(self, batches: Iterator) -> Iterator:
        for batch in batches:
            yield self.batch(batch)

    def schema(self, frame: Any) -> Any:
        """The columns of codes made of a Spark frame. They remember their model: codes of two are never compared."""
        from pyspark.sql.types import LongType, StructField, StructType
        for name in [self.vector, *self.keep]:
            if name not in frame.columns:
                raise Invalid(f"there is no column {name!r} among {', '.join(frame.columns)}")
        return StructType([frame.schema[name] for name in self.keep] +
                          [StructField(name, LongType(), False, self.marks) for name in self.columns])

    def batch(self, rows: Any) -> Any:
        """Codes of rows, in the form that the rows have."""
        import pyarrow as pa
        if hasattr(rows, "iloc"):
            return self.batch(pa.Table.from_pandas(rows, preserve_index=False)).to_pandas().set_axis(rows.index)
        model = _loaded(self._data)
        x = self._vectors(rows)
        try:
            words = _words(model.encode(x, threads=_threads())) if len(x) else np.empty((0, len(self.columns)), np.int64)
        except Invalid as e:
            bad = ~np.isfinite(x).all(axis=1)
            raise e if e.code != "not-finite" or not bad.any() else Invalid(
                f"the vector of {self._name(rows, int(bad.argmax()))} has a value that is missing or no number: leave such rows "
                "out, or train with missing values", code=e.code) from None
        made = [rows.column(name) for name in self.keep] + [pa.array(w) for w in np.ascontiguousarray(words.T)]
        return type(rows).from_arrays(made, names=self.keep + self.columns)

    def _vectors(self, rows: Any) -> np.ndarray:
        """The vectors of rows as an array."""
        import pyarrow as pa
        import pyarrow.compute as pc
        if not len(rows):
            return np.empty((0, self.dim), np.float32)
        column = rows.column(self.vector)
        if isinstance(column, pa.ChunkedArray):
            column = column.combine_chunks()
        kinds = pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list
        if not any(kind(column.type) for kind in kinds):
            raise Invalid(f"the column {self.vector!r} has the type {column.type}, and a vector is an array of numbers: of "
                          "Spark's ml.Vector, vector_to_array makes one")
        lengths = pc.list_value_length(column).fill_null(-1).to_numpy(zero_copy_only=False)
        if (lengths != self.dim).any():
            at = int((lengths != self.dim).argmax())
            name, length = self._name(rows, at), lengths[at]
            raise Invalid(f"{name} has no vector, its {self.vector!r} is null: leave such rows out") if length < 0 else Invalid(
                f"the vector of {name} has {length} values, and the model takes {self.dim}", code="dimension")
        return column.flatten().to_numpy(zero_copy_only=False).reshape(-1, self.dim)

    def _name(self, rows: Any, at: int) -> str:
        return f"{self.keep[0]} {rows.column(self.keep[0])[at].as_py()!r}" if self.keep else f"row {at} of a batch"


@functools.lru_cache(maxsize=4)
def _loaded(data: bytes) -> Model:
    """A model, once for all tasks of this process, whose requests go to one process of hashgrove."""
    return Model(data)


def _threads() -> int:
    """The cores of the task: an engine runs as many tasks as there are cores."""
    task = sys.modules["pyspark"].TaskContext.get() if "pyspark" in sys.modules else None
    return task.cpus() if task else 1


def _words(packed: np.ndarray) -> np.ndarray:
    """Rows of packed bytes as 64-bit integers."""
    padded = np.zeros((len(packed), (packed.shape[1] + 7) // 8 * 8), np.uint8)
    padded[:, :packed.shape[1]] = packed
    return padded.view(">i8").astype(np.int64)


class _Codes:
    """A frame of codes: id and label as they are, the code as columns of signed integers."""

    def __init__(self, frame: Any, what: str, *others: str):
        from pyspark.sql import functions as F
        for name in ("id", *others):
            if name not in frame.columns:
                raise Invalid(f"the {what} have no column {name!r} among {', '.join(frame.columns)}")
        self.names = ["code"] if "code" in frame.columns else []
        while not self.names[:1] == ["code"] and f"code_{len(self.names)}" in frame.columns:
            self.names.append(f"code_{len(self.names)}")
        if not self.names:
            raise Invalid(f"the {what} have no column code, or code_0, code_1 and so on, among {', '.join(frame.columns)}")
        self.marks = frame.schema[self.names[0]].metadata
        if self.marks.get("detail"):
            raise Invalid(f"the {what} have {self.marks['detail']} bits of detail, which weigh less: search them in an index of "
                          "hashgrove")
        words = []
        for name in self.names:
            kind, word = frame.schema[name].dataType.typeName(), F.col(name)
            if kind == "decimal":  # how Spark reads unsigned integers of Parquet
                word = F.when(word >= 2**63, word - F.lit(2**64).cast("decimal(20,0)")).otherwise(word).cast("long")
            elif kind != "long":
                raise Invalid(f"the column {name!r} of the {what} is {kind}: codes are 64-bit integers")
            words.append(word.alias(name))
        kind = frame.schema["id"].dataType.typeName()
        self.frame = frame.where(functools.reduce(lambda a, b: a & b, [w.isNotNull() for w in words])).select("id", *words, *others)
        number = F.expr("try_cast(id AS bigint)")  # as in an index: integers by value come before texts by their bytes
        number = F.when(number.cast("string") == F.col("id").cast("string"), number)
        self.order = [F.col("id")] if kind in ("byte", "short", "integer", "long") else [
            number.isNull(), F.coalesce(number, F.lit(0)), F.col("id").cast("string")]

    def beside(self, queries: _Codes) -> _Codes:
        """Refuse queries that cannot be compared with the codes."""
        if self.names != queries.names:
            raise Invalid(f"queries in {', '.join(queries.names)}, and codes in {', '.join(self.names)}: their lengths differ")
        a, b = self.marks.get("hashgrove"), queries.marks.get("hashgrove")
        if a and b and a != b:
            raise Invalid(f"codes of the model {a[:16]} and queries of {b[:16]}: encode both with one model", code="other_model")
        return self

    def collected(self) -> Any:
        """The rows as an Arrow table here, in order of ids."""
        return self.frame.orderBy(*self.order).toArrow()


def _array(table: Any, names: list) -> np.ndarray:
    """Columns of codes as rows of words."""
    return np.stack([table.column(name).to_numpy() for name in names], axis=1)


def search(codes: Any, queries: Any, k: int, where: Any = None) -> Any:
    """The k nearest codes of each query, exactly, as a frame of query (the query's id), place from 1 on, id and distance. Both
    frames have an id and a code; where is a condition of Spark on the codes. The queries are collected and broadcast, each
    partition finds its nearest, and those are merged. Ties are in the order of ids, as in an index."""
    import pyarrow as pa
    from pyspark.sql import Window, functions as F
    asked, base = _Codes(queries, "queries"), _Codes(codes if where is None else codes.where(where), "codes")
    names, k = base.beside(asked).names, int(k)
    if k < 1:
        raise Invalid(f"k is {k}: ask for at least 1")
    table = asked.collected()
    wanted, ids = _array(table, names), table.column("id").combine_chunks()

    def nearest(batches: Iterator) -> Iterator:
        parts = list(batches)
        if not parts:
            return
        rows = pa.Table.from_batches(parts)
        _, (at, distances) = worker.shared().call("nearest", {"k": k, "threads": _threads()}, [wanted, _array(rows, names)])
        number = np.repeat(np.arange(len(ids), dtype=np.int32), at.shape[1])
        yield pa.RecordBatch.from_arrays([pa.array(number), ids.take(pa.array(number)), rows.column("id").take(
            pa.array(at.ravel())).combine_chunks(), pa.array(distances.ravel())], names=["number", "query", "id", "distance"])

    kind = {f: frame.schema["id"].dataType.simpleString() for f, frame in (("query", queries), ("id", codes))}
    found = base.frame.sortWithinPartitions(*base.order).mapInArrow(
        nearest, f"number int, query {kind['query']}, id {kind['id']}, distance int")
    place = F.row_number().over(Window.partitionBy("number").orderBy("distance", *base.order))
    return found.withColumn("place", place).where(F.col("place") <= k).select("query", "place", "id", "distance")


def evaluate(codes: Any, queries: Any, label: str = "label") -> dict:
    """MAP and precision at 100 of a ranking of all codes for each query by Hamming distance, expected over the orders of ties, as
    "hashgrove eval" has them. Both frames have a label; codes without one are left out."""
    import pyarrow as pa
    from pyspark.sql import functions as F
    asked, base = _Codes(queries, "queries", label), _Codes(codes.where(F.col(label).isNotNull()), "codes", label)
    names, table = base.beside(asked).names, asked.collected()
    labels = table.column(label).cast(pa.string()).combine_chunks()
    classes = labels.unique().drop_null()
    wanted, own = _array(table, names), _numbers(labels, classes)

    def counts(batches: Iterator) -> Iterator:
        parts = list(batches)
        if not parts:
            return
        rows = pa.Table.from_batches(parts)
        theirs = _numbers(rows.column(label).cast(pa.string()).combine_chunks(), classes, -2)
        _, (sums,) = worker.shared().call("counts", {"threads": _threads()}, [wanted, _array(rows, names), own, theirs])
        q, d = np.nonzero(sums[:, :, 0])
        yield pa.RecordBatch.from_arrays([pa.array(v.astype(np.int64)) for v in (q, d, sums[q, d, 0], sums[q, d, 1])],
                                         names=["query", "distance", "items", "good"])

    sums = base.frame.mapInArrow(counts, "query long, distance long, items long, good long").groupBy("query", "distance").agg(
        F.sum("items"), F.sum("good")).orderBy("query", "distance").collect()
    of: list = [[] for _ in range(len(table))]
    for query, _, items, good in sums:
        if labels[query].is_valid:
            of[query].append((items, good))
    found = [_average(buckets) for buckets in of]
    judged = [ap for ap, _ in found if ap is not None]
    return {"queries": len(of), "judged": len(judged), "map": math.fsum(judged) / max(1, len(judged)),
            "precision": {100: math.fsum(p for _, p in found) / max(1, len(of))}}


def _numbers(labels: Any, classes: Any, none: int = -1) -> np.ndarray:
    """The number of each label among the classes."""
    import pyarrow.compute as pc
    at = pc.index_in(labels, value_set=classes, skip_nulls=True)
    return at.fill_null(none).to_numpy(zero_copy_only=False).astype(np.int32)


def _average(buckets: list) -> tuple:
    """Average precision and precision at 100 of one ranking, expected over the orders of ties: buckets have the number of items
    at a distance, and of right ones among them. internal/eval/tally.go derives the formula."""
    total, first, N, P = 0.0, 0.0, 0, 0
    for n, p in buckets:
        c = (p - 1) / (n - 1) if n > 1 else 1.0
        if p:
            total += p / n * (c * n + (P + 1 - c - c * N) * _between(N, N + n))
        first += p * min(n, max(0, 100 - N)) / n
        N, P = N + n, P + p
    return total / P if P else None, first / 100


def _between(lo: int, hi: int) -> float:
    """The sum of 1/i for lo < i <= hi."""
    if lo < 64 or hi - lo < 64:
        top = min(hi, max(lo, 64) + 64)
        return math.fsum(1 / i for i in range(lo + 1, top + 1)) + (_between(top, hi) if top < hi else 0.0)
    tail = [1 / (2 * n) - 1 / (12 * n**2) + 1 / (120 * n**4) for n in (lo, hi)]
    return math.log1p((hi - lo) / lo) + tail[1] - tail[0]


def near_duplicates(codes: Any, radius: int) -> Any:
    """All pairs of codes that differ in at most radius bits, as a frame of a, b (ids, the lesser one first) and distance. Such
    codes agree in one of radius + 1 parts: Spark joins on those, and counts the bits that differ."""
    from pyspark.sql import functions as F
    base = _Codes(codes, "codes")
    bits = base.marks.get("bits", 64 * len(base.names))
    if not 0 <= radius < bits:
        raise Invalid(f"the radius is {radius}: give 0 to {bits - 1} for codes of {bits} bits")
    edges = [bits * i // (radius + 1) for i in range(radius + 2)]
    parts = [F.array(*(F.shiftrightunsigned(F.shiftleft(base.names[w], max(lo - 64 * w, 0)), 64 - min(hi, 64 * w + 64) + max(lo, 64 * w))
                       for w in range(lo // 64, (hi + 63) // 64))) for lo, hi in zip(edges, edges[1:])]
    rows = base.frame.select("id", F.struct(*base.order).alias("at"), *base.names, F.posexplode(F.array(*parts)).alias("part", "bits"))
    a, b = (rows.select("part", "bits", F.struct("id", "at", *base.names).alias(side)) for side in "ab")
    distance = functools.reduce(lambda x, y: x + y, [
        F.bit_count(F.col(f"a.{n}").bitwiseXOR(F.col(f"b.{n}"))) for n in base.names])
    return a.join(b, ["part", "bits"]).where("a.at < b.at").withColumn("distance", distance).where(
        F.col("distance") <= radius).select(F.col("a.id").alias("a"), F.col("b.id").alias("b"), "distance").distinct()
