"""The program hashgrove as a child process that answers requests over a pair of pipes: a JSON head and raw arrays each
way. docs/python.md describes the frames.

A Worker starts its process when it is first needed. Threads may share it: answers find their request by its number. A
process that was killed is replaced by the next call. After a fork the new process starts a worker of its own. The
process ends when its input does, so that nothing is left behind however Python ends.
"""

from __future__ import annotations

import atexit
import itertools
import json
import os
import queue
import shutil
import subprocess
import tempfile
import threading
import weakref
from typing import Any, Callable, Iterator, Sequence

import numpy as np

from .service import Busy, Conflict, Error, Invalid, NotFound, TooLarge, _plain

__all__ = ["Worker", "WorkerDied", "program"]

PROTOCOL = 3
_types = {"f4": "<f4", "u1": "|u1", "i4": "<i4", "i8": "<i8"}


class WorkerDied(Error, RuntimeError):
    """The process that did the work has ended, by a signal or for lack of memory."""


def program() -> str:
    """The path of the program hashgrove: what HASHGROVE_BINARY names, that of this package, or that of the PATH."""
    named = os.environ.get("HASHGROVE_BINARY")
    own = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "hashgrove" + ".exe" * (os.name == "nt"))
    found = named or (own if os.path.exists(own) else shutil.which("hashgrove"))
    if found and not named:
        with open(found, "rb") as f:
            if f.read(2) == b"#!":  # the script of a wheel, which would start this package again
                found = None
    if not found:
        raise FileNotFoundError("the program hashgrove is not in this package: install the wheel of this platform, or name the "
                                "program in the environment variable HASHGROVE_BINARY")
    return found


class _Session:
    """One process and the requests under way. A thread of its own starts the process, writes to it and sees it end, so that
    Ctrl-C, which is for the main thread, never leaves half a frame; another one reads answers and passes them on."""

    def __init__(self, owner: Worker) -> None:
        self.outbox: queue.SimpleQueue = queue.SimpleQueue()  # frames to write; None ends the process
        self.pending: dict[int, queue.SimpleQueue] = {}
        self.numbers = itertools.count(1)
        self.process: subprocess.Popen | None = None
        self.dead: str | None = None  # why it ended
        self.ending = False
        self.thread = threading.Thread(target=self._run, args=(program(),), name="hashgrove-writer", daemon=True)
        owner._session = self  # before there is a process to be left behind
        self.thread.start()

    def _run(self, path: str) -> None:
        options: dict[str, Any] = {"start_new_session": True}  # Ctrl-C is for Python alone, which then ends the request
        if os.name == "nt":
            options = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.CREATE_NO_WINDOW}
        with tempfile.TemporaryFile() as errors:
            try:
                p = self.process = subprocess.Popen([path, "worker"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                                    stderr=errors, bufsize=0, **options)
            except OSError as e:
                self._end(f"the program hashgrove cannot be started: {e}")
                return
            reader = threading.Thread(target=self._read, name="hashgrove-reader", daemon=True)
            reader.start()
            try:
                for start, arrays in iter(self.outbox.get, None):
                    self._write(start, arrays)
            except Exception:  # nobody reads any more, or half a frame is written
                pass
            p.stdin.close()
            try:
                code = p.wait(10)
            except subprocess.TimeoutExpired:
                p.kill()
                code = p.wait()
            errors.seek(0)
            text = errors.read()[-2000:].decode("utf-8", "replace").strip()
        how = f"with status {code}"
        if code < 0:
            how = f"by signal {-code}" + (", for instance for lack of memory" if code == -9 else "")
        self._end(f"the process of hashgrove has ended {how}" + (f": {text}" if text else ""))

    def _end(self, why: str) -> None:
        """Tell all who wait why there will be no answer."""
        self.dead = why
        for waiting in list(self.pending.values()):
            waiting.put(None)

    def send(self, head: dict, arrays: Sequence[np.ndarray] = ()) -> None:
        """Have a frame written."""
        text = json.dumps(head, allow_nan=False, separators=(",", ":"), default=_plain).encode()
        self.outbox.put((b"HGW1" + len(text).to_bytes(4, "little") + text, arrays))

    def _write(self, start: bytes, arrays: Sequence[np.ndarray]) -> None:
        """Write a frame."""
        for block in itertools.chain([memoryview(start)], *map(_blocks, arrays)):
            while len(block):
                if self.ending:
                    raise EOFError
                block = block[self.process.stdin.write(block):]

    def _read(self) -> None:
        try:
            while True:
                head, arrays = self._frame()
                waiting = self.pending.get(head["id"]) if "progress" in head else self.pending.pop(head["id"], None)
                if waiting is not None:
                    waiting.put((head, arrays))
        except Exception:  # whatever ends the stream ends the session
            self.ending = True
            self.outbox.put(None)
        self.process.stdout.close()

    def _frame(self) -> tuple[dict, list]:
        """Read a frame. Arrays are read into the memory that their users see."""
        start = self._fill(np.empty(8, dtype=np.uint8)).tobytes()
        if start[:4] != b"HGW1":
            raise EOFError
        head = json.loads(self._fill(np.empty(int.from_bytes(start[4:], "little"), dtype=np.uint8)).tobytes())
        return head, [self._fill(np.empty(a["shape"], dtype=_types[a["type"]])) for a in head.get("arrays") or ()]

    def _fill(self, a: np.ndarray) -> np.ndarray:
        """Read an array."""
        view = memoryview(a.reshape(-1).view(np.uint8))
        while len(view):
            n = self.process.stdout.readinto(view)
            if not n:
                raise EOFError
            view = view[n:]
        return a

    def alive(self) -> bool:
        """Whether the process is there, or is being started."""
        if self.dead is None and self.process is not None and self.process.poll() is not None:
            self.thread.join()
        return self.dead is None and self.thread.is_alive()

    def free(self, number: int) -> None:
        """Say that a model is no longer needed."""
        self.send({"id": 0, "op": "cancel", "free": [number]})

    def close(self) -> None:
        """End the process: it gives up what is under way and cleans up behind itself."""
        self.ending = True
        self.outbox.put(None)
        self.thread.join(20)
        if self.process is not None:
            self.process.kill()

    def forget(self) -> None:
        """Let go of a process that belongs to the parent of this one."""
        self.dead = "the process of hashgrove belongs to the process that this one was forked from"
        if self.process is not None:
            self.process.stdin.close()
            self.process.stdout.close()
            self.process.returncode = 0  # not ours to wait for


class Request:
    """A request that was sent. Its result is JSON and arrays."""

    def __init__(self, session: _Session, op: str, params: dict | None = None, arrays: Sequence[np.ndarray] = ()):
        self.session, self.number, self.answers = session, next(session.numbers), queue.SimpleQueue()
        session.pending[self.number] = self.answers
        try:
            session.send({"id": self.number, "op": op, "params": params or {},
                          "arrays": [{"type": _type(a), "shape": a.shape} for a in arrays]}, arrays)
        except ValueError:
            session.pending.pop(self.number)
            raise

    def result(self, progress: Callable[[dict], None] | None = None) -> tuple[Any, list]:
        """Wait for the result."""
        try:
            while True:
                got = None if self.session.dead is not None and self.answers.empty() else self._next()
                if got is None:
                    raise WorkerDied(self.session.dead)
                head, arrays = got
                if "error" in head:
                    raise _refusal(head["error"])
                if "progress" not in head:
                    return head.get("result"), arrays
                if progress is not None:
                    progress(head["progress"])
        finally:
            self.cancel()

    def _next(self) -> Any:
        while True:
            try:
                return self.answers.get(timeout=0.1 if os.name == "nt" else None)  # nothing interrupts a lock of Windows
            except queue.Empty:
                pass

    def cancel(self) -> None:
        """Give up a request that has no answer yet."""
        if self.session.pending.pop(self.number, None) is not None:
            self.session.send({"id": 0, "op": "cancel", "params": {"request": self.number}})


class Worker:
    """A process of hashgrove that is started when it is needed and replaced when it has ended."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._session: _Session | None = None
        _workers.add(self)

    def session(self) -> _Session:
        """The running process."""
        s = self._session
        if s is None or not s.alive():
            with self._lock:
                s = self._session
                if s is None or not s.alive():
                    s = _Session(self)
                    speaks = Request(s, "hello").result()[0]["protocol"]
                    if speaks != PROTOCOL:
                        raise Error(f"the program {program()} speaks version {speaks} of the protocol, and this package version "
                                    f"{PROTOCOL}: install both from one release")
        return s

    @property
    def pid(self) -> int | None:
        """The id of the process, or None."""
        s = self._session
        return s.process.pid if s is not None and s.process is not None and s.alive() else None

    def call(self, op: str, params: dict | None = None, arrays: Sequence[np.ndarray] = (), *,
             progress: Callable[[dict], None] | None = None, session: _Session | None = None) -> tuple[Any, list]:
        """Ask for an operation and wait for its result, which is JSON and arrays."""
        return Request(session or self.session(), op, params, arrays).result(progress)

    def close(self) -> None:
        """End the process: it gives up what is under way and cleans up behind itself."""
        s, self._session = self._session, None
        if s is not None:
            s.close()


def _type(a: np.ndarray) -> str:
    """The type that an array is sent as."""
    name = f"{a.dtype.kind}{a.dtype.itemsize}"
    return name if name in _types else "f4"


def _blocks(a: np.ndarray) -> Iterator[memoryview]:
    """The bytes of an array to send, converted a block of rows at a time, so that a large array of float64 needs no second
    one of float32."""
    rows = max(1, (len(a) << 22) // max(1, a.nbytes))
    for first in range(0, len(a), rows):
        with np.errstate(over="ignore", invalid="ignore"):  # infinities are refused with their place
            block = np.ascontiguousarray(a[first:first + rows], dtype=_types[_type(a)])
        yield memoryview(block.reshape(-1).view(np.uint8))


def _refusal(e: dict) -> Error:
    """The exception for an error of the worker. Messages that scikit-learn's checks look for begin as its own."""
    code, message = e["code"], e["message"]
    if code == "not-finite":
        message = (f"Input X contains NaN, infinity or a value too large for float32: {message}; leave such rows out, replace the "
                   "values, or use missing=True, which learns from NaN")
    if code == "no-supervision":
        message = f"This method requires y to be passed, but the target y is None: {message}"
    kinds = {"not_found": NotFound, "exists": Conflict, "other_model": Conflict, "locked": Busy, "internal": Error,
             "too_large": TooLarge}
    return kinds.get(code, Invalid)(message, code=code, field=e.get("field", ""))


_workers: weakref.WeakSet = weakref.WeakSet()
_shared = Worker()


def shared() -> Worker:
    """The worker that encodes for all models of this process."""
    return _shared


def _after_fork() -> None:
    """Threads and pipes of the parent are not those of its child."""
    for w in list(_workers):
        w._lock = threading.Lock()
        if w._session is not None:
            w._session.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


@atexit.register
def _at_exit() -> None:
    for w in list(_workers):
        w.close()
