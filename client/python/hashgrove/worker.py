"""The program hashgrove as a child process that answers requests over a pair of pipes: a JSON head and raw arrays each
way. docs/python.md describes the frames.

A Worker starts its process when it is first needed. Threads may share it: answers find their request by its number. A
process that was killed is replaced by the next call. After a fork the new process starts a worker of its own. The
process ends when its input does, so that nothing is left behind however Python ends.
"""

from __future__ import annotations

import atexit
import collections
import itertools
import json
import os
import queue
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import weakref
from typing import Any, Callable, Iterable, Sequence

import numpy as np

from .service import Busy, Conflict, Error, Invalid, NotFound, TooLarge

__all__ = ["Worker", "WorkerDied", "program"]

PROTOCOL = 2
try:  # without the conversions of module signal, which take longer than the call
    from _signal import getsignal as _get_signal, signal as _set_signal
except ImportError:
    from signal import getsignal as _get_signal, signal as _set_signal
_INT = int(signal.SIGINT)
_main = threading.main_thread()
_types = {"f4": "<f4", "f2": "<f2", "u1": "|u1", "i4": "<i4", "i8": "<i8"}
_threaded = os.name == "nt"  # whether a thread of its own reads answers
_small = 1 << 16  # a frame that one call writes


class WorkerDied(Error, RuntimeError):
    """The process that did the work has ended, by a signal or for lack of memory."""


def program() -> str:
    """The path of the program hashgrove: what HASHGROVE_BINARY names, that of this package, or that of the PATH."""
    named = os.environ.get("HASHGROVE_BINARY")
    if named:
        return named
    own = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "hashgrove" + (".exe" if os.name == "nt" else ""))
    if os.path.exists(own):
        return own
    # A script of a wheel on the PATH would start this package again, which has no program.
    found = shutil.which("hashgrove")
    if found and not _is_script(found):
        return found
    raise FileNotFoundError("the program hashgrove is not in this package: install the wheel of this platform, or name the "
                            "program in the environment variable HASHGROVE_BINARY")


def _is_script(path: str) -> bool:
    with open(path, "rb") as f:
        return f.read(2) == b"#!"


_again = object()  # wakes a thread that waits for an answer: it may be its turn to read


class _Session:
    """One process and the requests under way. A thread that waits for an answer reads, one at a time, and passes on what is
    for others; on Windows, where a read cannot be interrupted, a thread of its own does that."""

    def __init__(self) -> None:
        self.writing, self.reading = threading.Lock(), threading.Lock()
        self.pending: dict[int, queue.SimpleQueue] = {}
        self.numbers = itertools.count(1)
        self.dead: str | None = None  # why it ended
        self.ended = False  # nothing more can be read
        self.unneeded: collections.deque = collections.deque()  # numbers of models
        self.errors = tempfile.TemporaryFile()
        options: dict[str, Any] = {}
        if os.name == "nt":
            options["creationflags"] = subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.CREATE_NO_WINDOW
        else:
            options["start_new_session"] = True  # Ctrl-C is for Python alone, which then ends the request
        self.process = subprocess.Popen([program(), "worker"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=self.errors, bufsize=0, **options)
        self.input, self.output = self.process.stdin, self.process.stdout
        self.known = b""  # read and not yet used
        self.thread: threading.Thread | None = None
        if _threaded:
            self.thread = threading.Thread(target=self._read_all, name="hashgrove-reader", daemon=True)
            self.thread.start()
        else:
            self.poll = select.poll()
            self.poll.register(self.output, select.POLLIN)
        for pipe in (self.input, self.output):
            _enlarge(pipe)

    def receive(self, waiting: queue.SimpleQueue, signals: _Signals) -> Any:
        """The next answer for a request; None if the process has ended."""
        while True:
            if waiting.empty() and self.thread is None and self.reading.acquire(False):
                try:
                    while waiting.empty():
                        self._turn(signals)
                finally:
                    self.reading.release()
                    if self.dead is not None:
                        self._tidy()
                    for other in list(self.pending.values()):
                        if other is not waiting:
                            other.put(_again)
            got = signals.get(waiting)
            if got is not _again:
                return got

    def _turn(self, signals: _Signals) -> None:
        """Wait for an answer and pass it on."""
        if not self.known:
            while not self.poll.poll(None if signals.quiet else 100):
                signals.check()
        self._pass_on()

    def _read_all(self) -> None:
        with self.reading:  # until the end: a pipe that another thread closed would give its number to the next one
            while not self.ended:
                self._pass_on()
        self._tidy()

    def _pass_on(self) -> None:
        try:
            head, arrays = self._frame()
        except (OSError, ValueError, EOFError) as e:  # whatever ends the stream ends the session
            self.ended = True
            self.end(str(e))
            return
        waiting = self.pending.get(head["id"])
        if waiting is not None:
            waiting.put((head, arrays))

    def _frame(self) -> tuple[dict, list]:
        """Read a frame. Arrays are read into the memory that their users see."""
        known = self.known
        while len(known) < 8:
            known += self._more()
        if known[:4] != b"HGW1":
            raise EOFError(f"it answered {known[:8]!r}")
        size = 8 + int.from_bytes(known[4:8], "little")
        while len(known) < size:
            known += self._more()
        head, known = json.loads(known[8:size]), known[size:]
        arrays = []
        for about in head.get("arrays") or ():
            a = np.empty(about["shape"], dtype=_types[about["type"]])
            view = memoryview(a.reshape(-1).view(np.uint8))
            there = min(len(known), len(view))
            view[:there], known, view = known[:there], known[there:], view[there:]
            while len(view):
                n = self.output.readinto(view)
                if not n:
                    raise EOFError("its answer ends early")
                view = view[n:]
            arrays.append(a)
        self.known = known
        return head, arrays

    def _more(self) -> bytes:
        b = self.output.read(_small)
        if not b:
            raise EOFError
        return b

    def end(self, why: str) -> None:
        """Note that the process has ended, and tell all who wait."""
        if self.dead is not None:
            self._tidy()
            return
        try:
            code = self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = self.process.wait()
        try:
            self.errors.seek(0)
            text = self.errors.read()[-2000:].decode("utf-8", "replace").strip()
        except (OSError, ValueError):
            text = ""
        if code < 0:
            how = f"by signal {-code}" + (", for instance for lack of memory" if code == -9 else "")
        else:
            how = f"with status {code}"
        self.dead = f"the process of hashgrove has ended {how}" + (f": {text or why}" if text or why else "")
        for waiting in list(self.pending.values()):
            waiting.put(None)
        self._tidy()

    def _tidy(self) -> None:
        """Close the pipes of a process that has ended, unless another thread still uses one: it will notice and tidy up."""
        for lock, files in ((self.writing, (self.input,)), (self.reading, (self.output, self.errors))):
            if lock.acquire(False):
                for f in files:
                    try:
                        f.close()
                    except OSError:
                        pass
                lock.release()

    def send(self, head: dict, arrays: Sequence[Iterable[np.ndarray]], size: int) -> None:
        """Write a frame: a small one at once."""
        text = json.dumps(head, allow_nan=False, separators=(",", ":")).encode()
        start = b"HGW1" + len(text).to_bytes(4, "little") + text
        if size <= _small:
            start += b"".join(block.tobytes() for blocks in arrays for block in blocks)
            arrays = ()
        with self.writing:
            self._write(start)
            for blocks in arrays:
                for block in blocks:
                    if block.size:
                        self._write(memoryview(block).cast("B"))

    def _write(self, data: Any) -> None:
        n = self.input.write(data)
        if n < len(data):
            view = memoryview(data)[n:]
            while len(view):
                view = view[self.input.write(view):]

    def alive(self) -> bool:
        """Whether the process is there."""
        if self.dead is None and self.process.poll() is not None:
            self.end("")
        return self.dead is None

    def free(self, number: int) -> None:
        """Remember that a model is no longer needed; the next request says so."""
        self.unneeded.append(number)

    def close(self, patience: float = 10) -> None:
        """End the process: it gives up what is under way and cleans up behind itself."""
        if self.dead is not None:
            return
        if self.writing.acquire(timeout=0.1):
            try:
                self.input.close()
            except OSError:
                pass
            finally:
                self.writing.release()
        else:  # a frame is being written, and will not be finished
            self.process.terminate()
        try:
            self.process.wait(patience)
        except subprocess.TimeoutExpired:
            self.process.kill()
        self.end("it was closed")

    def forget(self) -> None:
        """Let go of a process that belongs to the parent of this one."""
        for pipe in (self.input, self.output, self.errors):
            try:
                pipe.close()
            except (OSError, ValueError):
                pass
        self.dead = "the process of hashgrove belongs to the process that this one was forked from"
        self.process.returncode = 0  # not ours to wait for


def _enlarge(pipe: Any) -> None:
    """Give a pipe a megabyte where the system can, for fewer turns."""
    if sys.platform.startswith("linux"):
        import fcntl
        try:
            fcntl.fcntl(pipe.fileno(), 1031, 1 << 20)  # F_SETPIPE_SZ
        except OSError:
            pass


class _Signals:
    """Keeps Ctrl-C back while a frame is half written or half read, and lets it through where nothing is lost. A second one
    is let through at once, and breaks the session."""

    def __init__(self) -> None:
        self.old: Any = None
        self.count = 0
        self.quiet = True  # no signal will come: another thread has it, or nobody

    def __enter__(self) -> _Signals:
        if threading.current_thread() is _main:
            old = _get_signal(_INT)
            if callable(old):
                self.old, self.quiet = old, False
                _set_signal(_INT, self._arrived)
        return self

    def __exit__(self, *error: Any) -> None:
        if not self.quiet:
            _set_signal(_INT, self.old)
            self.quiet = True
            if self.count and error[0] is None:
                signal.raise_signal(signal.SIGINT)

    def _arrived(self, number: int, frame: Any) -> None:
        self.count += 1
        if self.count > 1:
            raise KeyboardInterrupt

    def check(self) -> None:
        """Let through what came meanwhile."""
        if self.count:
            raise KeyboardInterrupt

    def get(self, waiting: queue.SimpleQueue) -> Any:
        """The next entry of a queue."""
        while True:
            self.check()
            try:
                return waiting.get_nowait() if not waiting.empty() else waiting.get(timeout=None if self.quiet else 0.1)
            except queue.Empty:
                pass


class Worker:
    """A process of hashgrove that is started when it is needed and replaced when it has ended."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._session: _Session | None = None
        _workers.add(self)

    def session(self) -> _Session:
        """The running process."""
        s = self._session
        if s is not None and s.alive():
            return s
        with _Signals(), self._lock:  # Ctrl-C comes before the process is made, or when somebody knows it
            if self._session is None or not self._session.alive():
                self._session = _Session()
                _check(self.hello(self._session))
            return self._session

    def running(self) -> bool:
        """Whether the process is there."""
        return self._session is not None and self._session.alive()

    @property
    def pid(self) -> int | None:
        """The id of the process, or None."""
        return self._session.process.pid if self.running() else None

    def hello(self, session: _Session | None = None) -> dict:
        """What the process is: protocol, version, methods and defaults."""
        return self.call("hello", session=session)[0]

    def call(self, op: str, params: dict | None = None, arrays: Sequence[Any] = (), *,
             progress: Callable[[dict], None] | None = None, session: _Session | None = None) -> tuple[Any, list]:
        """Ask for an operation and wait for its result, which is JSON and arrays. An array to send is a numpy array, or a
        Blocks, which is converted a block at a time."""
        s = session or self.session()
        waiting: queue.SimpleQueue = queue.SimpleQueue()
        number = next(s.numbers)
        s.pending[number] = waiting
        with _Signals() as signals:
            try:
                self._send(s, number, op, params, arrays)
                while True:
                    if s.dead is not None and waiting.empty():
                        raise WorkerDied(s.dead)
                    got = s.receive(waiting, signals)
                    if got is None:
                        raise WorkerDied(s.dead or "the process of hashgrove has ended")
                    head, back = got
                    if "progress" in head:
                        if progress is not None:
                            progress(head["progress"])
                    elif "error" in head:
                        raise _refusal(head["error"])
                    else:
                        return head.get("result"), back
            except (OSError, ValueError) as e:
                if isinstance(e, Error) or isinstance(e, ValueError) and s.dead is None and not s.input.closed:
                    raise
                s.close(1)
                s._tidy()
                raise WorkerDied(s.dead or f"the process of hashgrove cannot be reached: {e}") from None
            except (KeyboardInterrupt, SystemExit):
                if signals.count > 1:
                    s.process.kill()
                    s.end("it was interrupted")
                else:
                    self._cancel(s, number)
                raise
            finally:
                s.pending.pop(number, None)

    def _send(self, s: _Session, number: int, op: str, params: dict | None, arrays: Sequence[Any]) -> None:
        parts = [a if isinstance(a, Blocks) else Blocks(a) for a in arrays]
        head: dict[str, Any] = {"id": number, "op": op}
        if params:
            head["params"] = params
        if parts:
            head["arrays"] = [{"type": p.type, "shape": p.shape} for p in parts]
        unneeded = []
        while s.unneeded:
            unneeded.append(s.unneeded.popleft())
        if unneeded:
            head["free"] = unneeded
        s.send(head, parts, sum(p.nbytes for p in parts))

    def _cancel(self, s: _Session, number: int) -> None:
        """Say that the caller has given up a request."""
        try:
            if s.dead is None:
                s.send({"id": 0, "op": "cancel", "params": {"request": number}}, (), 0)
        except (OSError, ValueError):
            pass

    def close(self) -> None:
        """End the process."""
        with self._lock:
            s, self._session = self._session, None
        if s is not None:
            s.close()


class Blocks:
    """An array to send: as it is, or converted to another type a block of rows at a time, so that a large array of
    float64 needs no second one of float32."""

    size = 1 << 22  # bytes of a block, about

    def __init__(self, array: np.ndarray, type: str | None = None):
        self.array = array
        self.type = type or f"{array.dtype.kind}{array.dtype.itemsize}"
        self.dtype = np.dtype(_types[self.type])
        self.shape = list(array.shape)
        self.nbytes = int(array.size) * self.dtype.itemsize

    def __iter__(self) -> Iterable[np.ndarray]:
        a = self.array
        if a.dtype == self.dtype and a.flags.c_contiguous:
            yield a
            return
        rows = max(1, self.size // max(1, self.nbytes // max(1, len(a)))) if a.ndim else 1
        for first in range(0, len(a), rows):
            with np.errstate(over="ignore", invalid="ignore"):  # infinities are refused with their place
                yield np.ascontiguousarray(a[first:first + rows], dtype=self.dtype)


def _check(hello: dict) -> None:
    if hello["protocol"] != PROTOCOL:
        raise Error(f"the program {program()} speaks version {hello['protocol']} of the protocol, and this package "
                    f"version {PROTOCOL}: install both from one release")


def _refusal(e: dict) -> Error:
    """The exception for an error of the worker."""
    code, message = e["code"], e["message"]
    kinds = {"not_found": NotFound, "exists": Conflict, "other_model": Conflict, "locked": Busy, "internal": Error,
             "too_large": TooLarge}
    return kinds.get(code, Invalid)(message, code=code, field=e.get("field", ""))


_workers: weakref.WeakSet = weakref.WeakSet()
_shared: list = []
_shared_lock = threading.Lock()


def shared() -> Worker:
    """The worker that encodes for all models of this process."""
    if not _shared:
        with _shared_lock:
            if not _shared:
                _shared.append(Worker())
    return _shared[0]


def _after_fork() -> None:
    """Threads and pipes of the parent are not those of its child."""
    global _shared_lock, _main
    _shared_lock, _main = threading.Lock(), threading.main_thread()
    for w in list(_workers):
        w._lock = threading.Lock()
        if w._session is not None:
            w._session.forget()


def _at_exit() -> None:
    for w in list(_workers):
        w.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)

atexit.register(_at_exit)
