"""Rows of results summed up: mean errors over trials, and what the runs took."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from warplearn.experiments.journal import Line, read_lines


class Entry(NamedTuple):
    """An error rate in percent: its mean and standard deviation over trials."""

    mean: float
    sd: float
    trials: int

    @classmethod
    def of(cls, errors: Sequence[float]) -> Entry:
        """Sum up the errors of trials."""
        many = len(errors) > 1
        return cls(float(np.mean(errors)), float(np.std(errors, ddof=many)), len(errors))

    @property
    def standard_error(self) -> float:
        """Of the mean."""
        return self.sd / math.sqrt(self.trials)

    def __str__(self) -> str:
        return f"{self.mean:.1f}" if self.trials == 1 else f"{self.mean:.1f} ±{self.sd:.1f}"


def summarize(rows: Iterable[Line]) -> dict[tuple[str, str], Entry]:
    """Mean errors over trials, by data set and method, in the order of the rows."""
    errors: dict[tuple[str, str], list[float]] = {}
    for row in rows:
        errors.setdefault((row["dataset"], row["method"]), []).append(row["error"])
    return {place: Entry.of(trials) for place, trials in errors.items()}


def entries_of(rows: Sequence[Line]) -> list[Line]:
    """The summary for programs: a dictionary for each method on each data set."""
    protocols = {(row["dataset"], row["method"]): row["protocol"] for row in rows}
    return [
        {
            "dataset": dataset, "method": method, "error": entry.mean, "sd": entry.sd,
            "trials": entry.trials, "protocol": protocols[dataset, method],
        }
        for (dataset, method), entry in summarize(rows).items()
    ]  # fmt: skip


class Totals(NamedTuple):
    """What a study took.

    Attributes
    ----------
    seconds : float
        From beginning to end of all runs that were completed.
    cells : int
        Computed in them.
    """

    seconds: float
    cells: int

    def __str__(self) -> str:
        if not self.seconds:
            return "no run was completed"
        minutes, speed = self.seconds / 60, self.cells / self.seconds / 1e9
        counted = f", {self.cells:.3g} cells, {speed:.2g} billion a second" if self.cells else ""
        return f"{minutes:.1f} minutes{counted}"


def totals(path: str | Path) -> Totals:
    """What the runs in a file of results took."""
    ends = read_lines(path, "end")
    return Totals(sum(end["seconds"] for end in ends), sum(end["cells"] for end in ends))
