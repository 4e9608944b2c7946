"""Progress for people: a line that is written again and again."""

from __future__ import annotations

import sys
import time
from typing import Any

from .worker import Worker


class Bar:
    """A bar of steps that appears once the work has taken a second. With verbose None it is shown where somebody looks: in
    a terminal or a notebook."""

    def __init__(self, what: str, verbose: Any = None):
        self.what, self.began, self.delay, self.shown = what, time.monotonic(), 0.0 if verbose else 1.0, 0.0
        shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
        self.on = bool(verbose) if verbose is not None else hasattr(shell, "kernel") or sys.stderr is not None and sys.stderr.isatty()

    def step(self, done: int, total: int, note: str = "", **_: Any) -> None:
        """Show that some steps of all are done."""
        now = time.monotonic()
        if not self.on or now - self.began < self.delay or now - self.shown < 0.1 and done < total:
            return
        self.shown = now
        left = (now - self.began) / max(done, 1) * (total - done)
        bar = ("#" * (30 * done // max(total, 1))).ljust(30, ".")
        print(f"\r{self.what} [{bar}] {done}/{total}, {left:.0f} s left {note} ", end="", file=sys.stderr, flush=True)

    def end(self) -> None:
        """Take the bar away."""
        if self.shown:
            print("\r" + " " * 118 + "\r", end="", file=sys.stderr, flush=True)


def alone(op: str, params: dict, parts: list, bar: Bar) -> tuple:
    """Do long work in a process of its own, which takes its memory away with it, and show how far it is."""
    own = Worker()
    try:
        return own.call(op, params, parts, progress=lambda p: bar.step(**p))
    finally:
        bar.end()
        own.close()
