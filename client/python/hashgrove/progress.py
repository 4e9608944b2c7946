"""Progress for people: a bar of tqdm where it is installed, else a line in a terminal."""

from __future__ import annotations

import sys
import time
import warnings
from typing import Any


def _notebook() -> bool:
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return hasattr(shell, "kernel")


class Bar:
    """A bar of steps that appears once the work has taken a second. With verbose None it is shown where somebody looks: in
    a terminal or a notebook."""

    def __init__(self, what: str, verbose: Any = None, delay: float = 1.0):
        self.what, self.began, self.delay = what, time.monotonic(), delay
        self.shown = 0.0
        self.bar: Any = None
        self.drawn = False
        self.on = bool(verbose) if verbose is not None else _notebook() or _terminal()
        if verbose:
            self.delay = 0.0

    def step(self, done: int, total: int, note: str = "") -> None:
        """Show that some steps of all are done."""
        now = time.monotonic()
        if not self.on or now - self.began < self.delay:
            return
        if self.bar is None and not self.drawn:
            self.bar = _tqdm(self.what, total)
        if self.bar is not None:
            self.bar.total = total
            self.bar.update(done - self.bar.n)
            if note:
                self.bar.set_postfix_str(note)
            return
        if now - self.shown < 0.1 and done < total:
            return
        self.shown, self.drawn = now, True
        left = (now - self.began) / max(done, 1) * (total - done)
        full = 30 * done // max(total, 1)
        print(f"\r{self.what} [{'#' * full}{'.' * (30 - full)}] {done}/{total}, {left:.0f} s left ", end="", file=sys.stderr,
              flush=True)

    def end(self) -> None:
        """Take the bar away."""
        if self.bar is not None:
            self.bar.close()
        elif self.drawn:
            print("\r" + " " * 78 + "\r", end="", file=sys.stderr, flush=True)
        self.on = False


def _terminal() -> bool:
    try:
        return sys.stderr is not None and sys.stderr.isatty()
    except (AttributeError, ValueError):
        return False


def _tqdm(what: str, total: int) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of notebooks without widgets
        try:
            from tqdm.auto import tqdm
        except ImportError:
            return None
        return tqdm(desc=what, total=total, leave=False)
