#!/usr/bin/env python3
"""Our codes in Spark, DuckDB, ClickHouse, PostgreSQL and Dask, each compared with our own index: python3 engines.py [TEST ...]

client/engines_test.go runs it in the environment that make setup makes, with a server of PostgreSQL. HASHGROVE_BINARY names the
program, HASHGROVE_POSTGRES a database. HASHGROVE_ENGINE_ROWS=5000000 takes so many rows, a million in SQL, and prints what they
cost."""

import collections
import functools
import glob
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import warnings

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

here = os.path.dirname(os.path.abspath(__file__))
package = os.path.join(here, "..", "..", "client", "python")
sys.path.insert(0, package)

from hashgrove import FastHash, Index, Invalid, Model, spark as hashes  # noqa: E402

program = os.path.abspath(os.environ["HASHGROVE_BINARY"])
rows = int(os.environ.get("HASHGROVE_ENGINE_ROWS", 0))


def setUpModule():
    """Files have short names, as on the page: all tests work in one folder."""
    folder = os.path.realpath(tempfile.mkdtemp())
    os.chdir(folder)
    unittest.addModuleCleanup(shutil.rmtree, folder, ignore_errors=True)
    unittest.addModuleCleanup(os.chdir, "/")
    os.environ.update(PYTHONPATH=package, SPARK_LOCAL_IP="127.0.0.1", PYSPARK_PYTHON=sys.executable)


def command(*args):
    return subprocess.run([program, *map(str, args), "--quiet"], check=True, stdout=subprocess.PIPE, text=True).stdout


def timed(work, times=1):
    """The least seconds of some runs, or of one that is long, and the result of the last."""
    best = float("inf")
    for _ in range(times):
        began = time.perf_counter()
        result = work()
        best = min(best, time.perf_counter() - began)
        if best > 5:
            break
    return best, result


def processor():
    """Seconds of processors that this process has used, with all that it has started."""
    used, parent = {}, {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat") as f:
                fields = f.read().rpartition(")")[2].split()
        except OSError:  # it has just ended
            continue
        parent[pid], used[pid] = fields[1], sum(map(int, fields[11:15]))
    total, known = 0, {str(os.getpid())}
    while known:
        total += sum(used.get(pid, 0) for pid in known)
        known = {pid for pid in parent if parent[pid] in known}
    return total / os.sysconf("SC_CLK_TCK")


def said(text, *values):
    if rows:
        print(text.format(*values), flush=True)


class Cluster:
    """Spark with a master and workers of one core, each a process of its own, on loopback."""

    def __init__(self):
        import pyspark
        self.home, self.processes = os.path.dirname(pyspark.__file__), []
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.url = f"spark://127.0.0.1:{port}"
        self.start("master.Master", "--port", str(port))
        self.workers = [self.add_worker(), self.add_worker()]

    def start(self, name, *args):
        with open(name + ".log", "ab") as log:
            self.processes.append(subprocess.Popen(
                [os.path.join(self.home, "bin", "spark-class"), "org.apache.spark.deploy." + name, "--host", "127.0.0.1", "--webui-port", "0",
                 *args], stdout=log, stderr=log, start_new_session=True, env={**os.environ, "SPARK_HOME": self.home}))
        return self.processes[-1]

    def add_worker(self):
        return self.start("worker.Worker", "--cores", "1", "--memory", "2g", "--work-dir", tempfile.mkdtemp(dir="."), self.url)

    def session(self):
        from pyspark.sql import SparkSession
        options = {"driver.host": "127.0.0.1", "driver.bindAddress": "127.0.0.1", "ui.enabled": "false", "executor.memory": "1g",
                   "task.maxFailures": "2", "sql.shuffle.partitions": "4", "sql.files.minPartitionNum": "12",
                   "sql.files.openCostInBytes": "0", "log.level": "OFF", "ui.showConsoleProgress": "false", "sql.warehouse.dir": os.getcwd()}
        builder = SparkSession.builder.master(self.url)
        for name, value in options.items():
            builder = builder.config("spark." + name, value)
        return builder.getOrCreate()

    def kill(self, process):
        """End a process and what it has started, as when its machine loses power."""
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def close(self):
        for process in self.processes:
            if process.poll() is None:
                self.kill(process)


@functools.cache
def cluster():
    """The cluster of all tests, and a session."""
    made = Cluster()
    unittest.addModuleCleanup(made.close)
    session = made.session()
    unittest.addModuleCleanup(session.stop)
    return made, session


class Spark(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        warnings.simplefilter("ignore")
        rng, n = np.random.default_rng(4), rows or 6000
        cls.y = rng.integers(0, 9, n)
        centres = rng.normal(size=(9, 32))
        cls.X = np.empty((n, 32), np.float32)
        for first in range(0, n, 1 << 18):
            part = slice(first, first + (1 << 18))
            cls.X[part] = centres[cls.y[part]] * 0.6 + rng.standard_normal((len(cls.y[part]), 32), np.float32)
        cls.queries = cls.X[-40:] + rng.normal(size=(40, 32)).astype(np.float32)
        np.save("vectors.npy", cls.X)
        np.save("queries.npy", cls.queries)
        cls.labels = np.array([f"c{v}" for v in range(9)])[cls.y]
        for name, labels in (("labels", cls.labels), ("asked", cls.labels[-40:])):
            with open(name + ".txt", "w") as f:
                f.write("\n".join(labels) + "\n")
        cls.models = [FastHash(bits=bits, effort="quick").fit(cls.X[:3000], cls.labels[:3000]) for bits in (64, 72)]
        cls.models[0].save("items.hgm")
        command("encode", "vectors.npy", "-m", "items.hgm", "-o", "codes.npy")
        os.mkdir("items")
        for i, part in enumerate(np.array_split(np.arange(n), 12)):
            pq.write_table(cls.table(cls.X[part], part, cls.labels[part]), f"items/{i:02}.parquet")
        cls.cluster, cls.spark = cluster()
        cls.items = cls.spark.read.parquet("items")

    @staticmethod
    def table(X, ids, labels):
        starts = pa.array(np.arange(len(X) + 1) * X.shape[1], pa.int32())
        return pa.table({"id": pa.array(ids, pa.int64()), "label": labels, "vector": pa.ListArray.from_arrays(starts, X.ravel())})

    def codes(self, rows, model=0):
        """Codes as a frame of Spark."""
        make = hashes.encode(self.models[model], keep=["id", "label"])
        return rows.mapInArrow(make, make.schema(rows))

    def asked(self, model=0):
        return self.codes(self.spark.createDataFrame(self.table(self.queries, np.arange(40), self.labels[-40:])), model)

    def test_encode_while_a_worker_is_killed(self):
        """The codes are complete, and those of the command, although the machine of half of the tasks goes away."""
        make = hashes.encode("items.hgm", keep=["id"])
        reached, killed = os.path.abspath("reached"), os.path.abspath("killed")

        def held(batches):
            from pyspark import TaskContext
            if TaskContext.get().partitionId() == 6:  # when half of the tasks are done
                open(reached, "w").close()
                while not os.path.exists(killed):
                    time.sleep(0.01)
            return make(batches)

        def kill():
            while not os.path.exists(reached):
                time.sleep(0.01)
            self.cluster.kill(self.cluster.workers[0])
            open(killed, "w").close()

        killer = threading.Thread(target=kill, daemon=True)
        killer.start()
        seconds, _ = timed(lambda: self.items.mapInArrow(held, make.schema(self.items)).write.parquet("codes"))
        killer.join()
        self.cluster.workers[0] = self.cluster.add_worker()
        found = pq.read_table("codes").sort_by("id")
        self.assertEqual(found["id"].to_numpy().tolist(), list(range(len(self.X))))
        words = found["code"].to_numpy().astype(">i8").view(np.uint8).reshape(-1, 8)
        self.assertEqual(words.tobytes(), np.load("codes.npy").tobytes())
        said("{} rows, one of two workers killed with -9 on the way: {:.1f} s, all codes those of hashgrove encode", len(self.X), seconds)

    def test_costs(self):
        """Codes of more than 64 bits, and where the time goes."""
        make = hashes.encode(self.models[1], keep=["id"])
        if not rows:
            found = self.items.mapInArrow(make, make.schema(self.items)).orderBy("id").toArrow()
            words = np.stack([found[name].to_numpy() for name in ("code_0", "code_1")], axis=1).astype(">i8").view(np.uint8)
            np.testing.assert_array_equal(words[:, :9], self.models[1].transform(self.X))
            return
        make, model, n = hashes.encode("items.hgm", keep=["id"]), Model.load("items.hgm"), len(self.X)

        def empty(batches):
            yield from (batch.select(["id"]) for batch in batches)

        def run(work, schema):
            self.items.mapInArrow(work, schema).write.format("noop").mode("overwrite").save()

        run(make, make.schema(self.items))  # starts the executors' Pythons
        once = ["--force", "-m", "items.hgm", "-o", "x.npy"]
        for what, count, work in (
            ("hashgrove encode, npy, 1 thread", n, lambda: command("encode", "vectors.npy", *once, "--threads", "1")),
            ("hashgrove encode, npy", n, lambda: command("encode", "vectors.npy", *once)),
            ("hashgrove encode, Parquet", len(np.array_split(self.y, 12)[0]), lambda: command(
                "encode", "items/00.parquet", *once, "--id-column", "id", "--label", "label")),
            ("Model.encode, through the pipe", n, lambda: model.encode(self.X)),
            ("Spark, reading alone", n, lambda: self.items.write.format("noop").mode("overwrite").save()),
            ("Spark, reading, and Arrow to Python and back", n, lambda: run(empty, "id long")),
            ("Spark, encode", n, lambda: run(make, make.schema(self.items))),
        ):
            before = processor()
            seconds, _ = timed(work)
            used = processor() - before
            said("{}: {:.2f} s, {:.2f} s of processors, {:.0f} rows a second of one", what, seconds, used, count / used)

    def test_page(self):
        """The lines for Spark in docs/scale.md are complete."""
        here = {"items": self.items, "queries": self.spark.createDataFrame(self.table(self.queries, np.arange(40), self.labels[-40:]))}
        for block in re.findall(r"```python\n(.*?)```", read("docs/scale.md"), re.DOTALL):
            if "dask" not in block:
                exec(block.replace('"codes"', '"page"'), here)
        self.assertEqual((here["found"].columns, here["pairs"].columns), (["query", "place", "id", "distance"], ["a", "b", "distance"]))
        self.assertEqual(here["found"].count(), 400)
        self.assertGreater(here["figures"]["map"], 0.5)
        command("index", "build", *sorted(glob.glob("page/*.parquet")), "--codes", "-m", "items.hgm", "-o", "page.hgi")
        command("index", "build", "vectors.npy", "--labels", "labels.txt", "-m", "items.hgm", "-o", "same.hgi")
        one, other = (command("index", "export", name, "--to", "jsonl", "-o", "-") for name in ("page.hgi", "same.hgi"))
        self.assertEqual(one, other)
        self.assertGreater(pq.read_table("sample").num_rows, len(self.X) // 2)

    def test_search(self):
        command("index", "build", "vectors.npy", "--labels", "labels.txt", "-m", "items.hgm", "-o", "items.hgi")
        codes, asked = self.codes(self.items), self.asked()
        for k, where, flags in ((10, None, []), (3, "label = 'c1'", ["--where", 'label = "c1"'])):
            want = json.loads(command("search", "items.hgi", "queries.npy", "-k", k, "--rank", "hamming", "--json", *flags))
            seconds, found = timed(lambda: hashes.search(codes, asked, k, where).orderBy("query", "place").collect())
            self.assertEqual([tuple(row) for row in found], [(q, place + 1, hit["id"], hit["distance"]) for q, result in enumerate(
                want["results"]) for place, hit in enumerate(result["hits"])])
            said("search: the {} nearest of 40 queries, encoding included: {:.1f} s", k, seconds)

    def test_evaluate(self):
        report = json.loads(command("eval", "-m", "items.hgm", "--base", "vectors.npy", "--base-labels", "labels.txt", "--queries",
                                    "queries.npy", "--queries-labels", "asked.txt", "--rank", "hamming", "--neighbours", "none", "--json"))
        found = hashes.evaluate(self.codes(self.items), self.asked())
        self.assertEqual((found["queries"], found["judged"]), (40, 40))
        self.assertAlmostEqual(found["map"], report["map"], delta=1e-11)
        self.assertAlmostEqual(found["precision"][100], report["precision"]["100"], delta=1e-11)

    def test_near_duplicates(self):
        some = self.items.where("id < 400")
        for model in (0, 1):
            with Index(self.models[model]) as ix:
                ix.add(range(400), self.X[:400])
                want = ix.duplicates(3)
            found = hashes.near_duplicates(self.codes(some, model), 3).orderBy("a", "b").collect()
            self.assertEqual([tuple(row) for row in found], list(zip(want.a.tolist(), want.b.tolist(), want.distances.tolist())))
            self.assertGreater(len(found), 100)

    def test_sql(self):
        compare(self, "Spark", lambda statement: [tuple(row) for row in self.spark.sql(statement).collect()])

    def test_refusals(self):
        """One sentence each, and no file."""
        some = self.table(self.X[:50], np.arange(50), self.labels[:50])
        wide, none, hole = (some["vector"].to_pylist() for _ in range(3))
        wide[33], none[33], hole[33] = wide[33][:7], None, [float("nan")] * 32
        for vectors, word in ((wide, "the vector of id 33 has 7 values, and the model takes 32"), (none, "id 33 has no vector"),
                              (hole, "the vector of id 33 has a value that is missing")):
            bad = self.spark.createDataFrame(some.set_column(2, "vector", pa.array(vectors, pa.list_(pa.float32()))))
            with self.assertRaisesRegex(Exception, word):
                self.codes(bad).write.parquet("bad")
            self.assertEqual([f for f in os.listdir("bad") if not f.startswith(("_temp", "."))], [])
            shutil.rmtree("bad")
        codes = self.codes(self.spark.createDataFrame(some))
        other = FastHash(bits=64, effort="quick", random_state=9).fit(self.X[:500], self.labels[:500])
        make = hashes.encode(other, keep=["id", "label"])
        strange = self.spark.createDataFrame(some).mapInArrow(make, make.schema(self.items))
        for work in (lambda q: hashes.search(codes, q, 1), lambda q: hashes.evaluate(codes, q)):
            for queries, word in ((strange, "encode both with one model"), (self.asked(1), "their lengths differ"),
                                  (self.items, "no column code")):
                with self.assertRaisesRegex(Invalid, word):
                    work(queries)
        with self.assertRaisesRegex(Invalid, "no column 'vektor'"):
            hashes.encode("items.hgm", "vektor").schema(self.items)


class Dask(unittest.TestCase):
    def test_dask(self):
        import dask.dataframe as dd
        import pandas as pd
        X = np.random.default_rng(0).normal(size=(300, 8)).astype(np.float32)
        hasher = FastHash(bits=16, effort="quick").fit(X, np.arange(300) % 3)
        make = hashes.encode(hasher)
        frame = pd.DataFrame({"id": np.arange(300), "vector": list(X)})
        os.mkdir("parts")
        for i in range(3):
            frame[100 * i:100 * i + 100].to_parquet(f"parts/{i}.parquet")
        parts = dd.read_parquet("parts")
        found = parts.map_partitions(make.batch, meta=make.batch(parts.head(0))).compute()
        words = found["code"].to_numpy().astype(">i8").view(np.uint8).reshape(-1, 8)
        np.testing.assert_array_equal(words[:, :2], hasher.transform(X))
        self.assertEqual(found["id"].tolist(), list(range(300)))


@functools.cache
def sql():
    """items.parquet of an index, how the engines of docs/sql.md take it, its questions, and our answers and seconds."""
    n, rng = min(rows, 1_000_000) or 3000, np.random.default_rng(7)
    cluster = np.repeat(np.arange(n), rng.integers(1, 10, n))[:n]
    code = rng.integers(0, 2**64, n, dtype=np.uint64)[cluster]
    for _ in range(3):
        code ^= np.where(rng.random(n) < 0.5, np.uint64(1) << rng.integers(0, 64, n).astype(np.uint64), np.uint64(0))
    order = rng.permutation(n)
    pq.write_table(pa.table({"id": np.arange(n), "label": [f"c{c % 5}" for c in cluster[order]], "price": np.arange(n) % 50 * 1.0,
                             "code": code[order]}), "made.parquet")
    command("index", "build", "made.parquet", "--codes", "--attributes", "made.parquet", "--attribute-columns", "price", "-o", "sql.hgi")
    command("index", "export", "sql.hgi", "-o", "items.parquet")
    prepare, questions = page()
    want, ours = {}, {}
    with Index(path="sql.hgi") as ix:
        def near(ids=7, **options):
            return [(h["id"], h["distance"]) for h in ix.search(ids=ids, **options).hits]

        def majority():
            votes = collections.Counter(h["label"] for h in ix.search(ids=7, k=10).hits)
            return [min(votes.items(), key=lambda v: (-v[1], v[0]))]

        for name, work in {
            "nearest": lambda: near(k=10), "radius": lambda: near(radius=8), "majority": majority,
            "filter": lambda: near(k=10, where='label = "c1" and price < 30'),
            "many": lambda: [(q, h["id"], h["distance"]) for q, hits in enumerate(ix.search(ids=range(5), k=3).hits) for h in hits],
            "near-duplicates": lambda: list(zip(*(v.tolist() for v in ix.duplicates(3)))),
        }.items():
            ours[name], want[name] = timed(work, 3)
    return prepare, questions, want, ours


def compare(test, engine, run):
    """Every statement of docs/sql.md has our answer in an engine, which runs statements and returns rows."""
    prepare, questions, want, ours = sql()
    test.assertEqual(set(questions), set(want))
    for statement in prepare[engine]:
        run(statement)
    for name, statement in questions.items():
        seconds, found = timed(lambda: run(statement), 3)
        test.assertEqual(found, want[name], (engine, name))
        said("{}, {}: {:.1f} ms, ours {:.2f} ms, {:.1f} times", engine, name, seconds * 1e3, ours[name] * 1e3, seconds / ours[name])


class SQL(unittest.TestCase):
    def test_duckdb(self):
        import duckdb
        with duckdb.connect() as connection:
            compare(self, "DuckDB", lambda statement: connection.execute(statement).fetchall())

    def test_clickhouse(self):
        from chdb.session import Session
        session = Session("clickhouse")
        self.addCleanup(session.close)
        compare(self, "ClickHouse", lambda statement: cells(str(session.query(statement, "TSV"))))

    def test_postgresql(self):
        url = os.environ.get("HASHGROVE_POSTGRES")
        if not url:
            self.skipTest("HASHGROVE_POSTGRES names no server")
        command("push", "sql.hgi", "--engine", url, "--table", "shop")
        compare(self, "PostgreSQL", lambda statement: cells(subprocess.run(
            ["psql", url, "-qAt", "-F", "\t", "-v", "ON_ERROR_STOP=1", "-c", statement], check=True, stdout=subprocess.PIPE, text=True).stdout))


def cells(text):
    """Rows of lines and tabs, with whole numbers as such."""
    return [tuple(int(v) if v.lstrip("-").isdigit() else v for v in line.split("\t")) for line in text.splitlines()]


def read(name):
    return pathlib.Path(here, "..", "..", name).read_text(encoding="utf-8")


def page():
    """The statements of docs/sql.md: for each engine those that prepare it, and the questions by their names."""
    parts = read("docs/sql.md").split("```")
    prepare, questions = {}, {}
    for before, block in zip(parts[::2], parts[1::2]):
        statements = [s.strip() for s in re.split(r";\n", block.removeprefix("sql\n")) if s.strip()]
        if block.startswith("sql\n-- "):
            questions = {s[3:].split(":")[0]: s for s in statements}
        elif block.startswith("sql\n"):
            prepare[before.strip().split("\n\n")[-1].split()[0].strip(":")] = statements
    return prepare, questions


if __name__ == "__main__":
    unittest.main(verbosity=2)
