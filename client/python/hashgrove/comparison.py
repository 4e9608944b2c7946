"""Methods side by side on one's own data."""

from __future__ import annotations

import html
import warnings
from typing import Any

from . import arrays
from .progress import Bar, alone

__all__ = ["Comparison", "compare"]


class Comparison:
    """What "hashgrove compare" says. frame is a table of pandas with a row for each method and length, advice a list of
    sentences, verdict the first of them, result everything as a dict, and html the report with plots, which a notebook
    shows."""

    def __init__(self, made: dict, page: bytes):
        self.title, self.notes, self.result = made["title"], made["notes"], made["result"]
        self.head, self.rows = made["head"], made["rows"]
        self.html = page.decode()
        self.records = self.result["rows"]  # as dicts, with all figures
        self.advice = [a["text"] for a in self.result["advice"]]
        self.verdict = self.advice[0] if self.advice else ""

    @property
    def frame(self) -> Any:
        """The table as a frame of pandas; numbers are numbers, and what does not apply is NaN."""
        import pandas as pd
        table = pd.DataFrame(self.rows, columns=self.head)
        for name in table.columns:
            numbers = pd.to_numeric(table[name].replace("-", None), errors="coerce")
            if numbers.notna().sum() == (table[name] != "-").sum():
                table[name] = numbers
        return table

    def save(self, path: Any) -> None:
        """Write the report to a file of HTML."""
        with open(path, "w", encoding="utf-8") as f:
            f.write(self.html)

    def __repr__(self) -> str:
        width = [max(len(row[i]) for row in [self.head, *self.rows]) for i in range(len(self.head))]
        lines = ["  ".join(text.ljust(w) for text, w in zip(row, width)).rstrip() for row in [self.head, *self.rows]]
        return "\n".join([self.title, *lines, "", *(f"- {a}" for a in self.advice)])

    def _repr_html_(self) -> str:
        return f"<iframe srcdoc='{html.escape(self.html)}' style='width:100%;height:640px' title='{html.escape(self.title)}'></iframe>"


def compare(X: Any, y: Any, *, methods: Any = None, bits: Any = None, title: str = "X", random_state: Any = None,
            effort: str | None = None, options: dict | None = None, threads: int | None = None, verbose: Any = None,
            **settings: Any) -> Comparison:
    """Train several methods on X, measure them side by side on rows that none has learned from, and say in words which one to
    use. y is as in FastHash.fit.

    methods is a list of names, bits a list of lengths. Further settings are the flags of "hashgrove compare" with
    underscores: share, new_share, rank, detail_bits, unseen, standardize and min_shared.

    >>> import numpy as np
    >>> y = np.arange(1200) % 3
    >>> X = np.random.default_rng(0).normal(size=(1200, 8)) + y[:, None]
    >>> c = compare(X, y, methods=["lsh"], bits=[16], unseen=-1)
    >>> c.records[0]["method"]
    'lsh'
    """
    given, others, _ = arrays.supervision(y)
    train = {**(options or {}), **({"effort": effort} if effort else {})}
    params = {**given, "title": title, "names": arrays.names_of(X), "methods": methods, "bits": bits, "seed": random_state or 0,
              "threads": threads or 0, "train": train, **settings}
    made, back = alone("compare", params, [arrays.rows(X), *others], Bar("comparing", verbose))
    for text in [*(made["failures"] or []), *(made["result"].get("warnings") or [])]:
        warnings.warn(text, UserWarning, stacklevel=2)
    return Comparison(made, back[0].tobytes())
