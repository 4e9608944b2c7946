"""Progress for people: a line that is written again and again."""

from __future__ import annotations

import sys
import time
from typing import Any


class Bar:
    """A bar of steps that appears once the work has taken a second. With verbose None it is shown where somebody looks: in
    a terminal or a notebook."""

    def __init__(self, what: str, verbose: Any = None):
        self.what, self.began, self.delay = what, time.monotonic(), 0.0 if verbose else 1.0
        self.shown = 0.0
        self.on = bool(verbose) if verbose is not None else _notebook() or _terminal()

    def step(self, done: int, total: int, note: str = "") -> None:
        """Show that some steps of all are done."""
        now = time.monotonic()
        if not self.on or now - self.began < self.delay or now - self.shown < 0.1 and done < total:
            return
        self.shown = now
        left = (now - self.began) / max(done, 1) * (total - done)
        full = 30 * done // max(total, 1)
        print(f"\r{self.what} [{'#' * full}{'.' * (30 - full)}] {done}/{total}, {left:.0f} s left {note} ", end="", file=sys.stderr,
              flush=True)

    def end(self) -> None:
        """Take the bar away."""
        if self.shown:
            print("\r" + " " * 118 + "\r", end="", file=sys.stderr, flush=True)
        self.on = False


def _notebook() -> bool:
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return hasattr(shell, "kernel")


def _terminal() -> bool:
    try:
        return sys.stderr is not None and sys.stderr.isatty()
    except (AttributeError, ValueError):
        return False
