"""Progress for people: a bar of tqdm where it is installed, else one of ours, in a terminal and in a notebook."""

from __future__ import annotations

import sys
import time
import warnings
from typing import Any


def _notebook() -> Any:
    """The shell of a notebook, or None."""
    try:
        from IPython import get_ipython
    except ImportError:
        return None
    shell = get_ipython()
    return shell if shell is not None and hasattr(shell, "kernel") else None


class Bar:
    """A bar of steps that appears once the work has taken a second. With verbose None it is shown where somebody looks: in
    a terminal or a notebook."""

    def __init__(self, what: str, verbose: Any = None, delay: float = 1.0):
        self.what, self.began, self.delay = what, time.monotonic(), delay
        self.shown, self.notebook = 0.0, None
        self.bar: Any = None
        self.drawn = False
        self.on = bool(verbose) if verbose is not None else _notebook() is not None or _terminal()
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
        if self.notebook is None and _notebook() is not None:
            from IPython.display import HTML, display
            self.notebook = display(HTML(""), display_id=True)
        if self.notebook is not None:
            from IPython.display import HTML
            self.notebook.update(HTML(f"{self.what} <progress max='{total}' value='{done}'></progress> {done} of {total}, "
                                      f"{left:.0f} s left"))
            return
        full = 30 * done // max(total, 1)
        print(f"\r{self.what} [{'#' * full}{'.' * (30 - full)}] {done}/{total}, {left:.0f} s left ", end="", file=sys.stderr,
              flush=True)

    def end(self) -> None:
        """Take the bar away."""
        if self.bar is not None:
            self.bar.close()
        elif self.notebook is not None:
            from IPython.display import HTML
            self.notebook.update(HTML(""))
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
