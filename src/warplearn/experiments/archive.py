"""Results on the UCR archive beside published ones.

`published.csv` holds accuracies on the test series of the archive's own split (resample 0) for 112
univariate sets of equal length, one run of each method.  The source is the repository
``time-series-machine-learning/tsml-eval`` (``results/classification/Univariate``).
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from functools import cache
from importlib import resources
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from warplearn.experiments.journal import Line
from warplearn.experiments.results import entries_of, summarize
from warplearn.experiments.tables import (
    EMPTY,
    Cell,
    Drawing,
    Table,
    cross_validated,
    failure_notes,
    method_legend,
    plain_table,
    ranks_drawing,
    register_table,
)

SOURCE = (
    "Published accuracies: time-series-machine-learning/tsml-eval, "
    "results/classification/Univariate, resample 0."
)
_NAMES = {
    "HC2": "HIVE-COTE 2",
    "MR-Hydra": "MultiRocket-Hydra",
    "MR": "MultiRocket",
    "RDST": "random dilated shapelet transform",
    "PF": "proximity forest",
    "1NN-DTW": "nearest neighbour with dynamic time warping, full window",
}
# Accuracies are published with six digits.  Two that differ in one test series are further apart.
_SAME = 0.005  # percentage points


@cache
def published_errors() -> dict[str, dict[str, float]]:
    """Published test errors in percent: for each data set, by method."""
    text = (resources.files(__package__) / "published.csv").read_text("utf-8")
    table = {}
    for line in csv.DictReader(text.splitlines()):
        name = line.pop("dataset")
        table[name] = {method: 100 * (1 - float(text)) for method, text in line.items()}
    return table


class Standing(NamedTuple):
    """Test errors in percent on the data sets that all methods have results for.

    Attributes
    ----------
    datasets, methods : list of str
        Our methods come first.
    ours : int
        Number of our methods.
    errors : array (data sets, methods)
    """

    datasets: list[str]
    methods: list[str]
    ours: int
    errors: NDArray[np.float64]

    @classmethod
    def of(cls, rows: Sequence[Line]) -> Standing:
        """Our rows beside published errors; data sets without test series are left out."""
        published, entries = published_errors(), summarize(rows)
        ours = list(dict.fromkeys(row["method"] for row in rows))
        crossed = cross_validated(rows)
        names = [
            name
            for name in dict.fromkeys(row["dataset"] for row in rows)
            if name in published
            and name not in crossed
            and all((name, method) in entries for method in ours)
        ]
        others = list(next(iter(published.values())))
        theirs, mine = np.empty((len(names), len(others))), np.empty((len(names), len(ours)))
        for row, name in enumerate(names):
            theirs[row] = [published[name][method] for method in others]
            mine[row] = [entries[name, method].mean for method in ours]
        for column in theirs.T:  # what is equal up to rounding is equal
            near = np.abs(mine - column[:, None]) < _SAME
            mine = np.where(near, column[:, None], mine)
        return cls(names, [*ours, *others], len(ours), np.hstack([mine, theirs]))


def archive_table(rows: Sequence[Line], failures: Sequence[Line] = ()) -> Table:
    """A row for each method, the most accurate first; below it what is not compared."""
    standing = Standing.of(rows)
    if not standing.datasets:
        return plain_table(rows, failures)
    errors, first = standing.errors, standing.methods[0]
    ranks = rankdata(errors, axis=1).mean(axis=0)
    seconds = _seconds(rows, standing)
    lines = []
    for place in np.argsort(errors.mean(axis=0), kind="stable"):
        method, mean = standing.methods[place], 100 - errors[:, place].mean()
        difference = errors[:, place] - errors[:, 0]
        counts = [int(count) for count in ((difference > 0).sum(), (difference < 0).sum())]
        score = f"{counts[0]} / {len(errors) - sum(counts)} / {counts[1]}"
        lines.append([
            Cell(method, None, "green" if place < standing.ours else ""),
            Cell(f"{mean:.2f}", mean),
            Cell(f"{ranks[place]:.2f}", ranks[place]),
            Cell(score, counts[0] - counts[1]) if place else EMPTY,
            Cell(f"{seconds[method]:.0f}", seconds[method]) if method in seconds else EMPTY,
        ])  # fmt: skip
    title = f"Test accuracy on {len(errors)} data sets with published results"
    against = f"{first} wins / ties / loses"
    columns = ["method", "mean accuracy, %", "mean rank", against, "fit + predict, s"]
    notes = [SOURCE, *_left_out(rows, standing), *failure_notes(failures)]
    return Table(title, columns, lines, notes, {**_NAMES, **method_legend(rows)})


def _seconds(rows: Sequence[Line], standing: Standing) -> dict[str, float]:
    """Seconds of fitting and predicting once on all data sets, for each of our methods."""
    spent: dict[tuple[str, str], list[float]] = {}
    for row in rows:
        taken = (row.get("fit_seconds") or 0.0) + (row.get("predict_seconds") or 0.0)
        spent.setdefault((row["method"], row["dataset"]), []).append(taken)
    return {
        method: sum(float(np.mean(spent[method, name])) for name in standing.datasets)
        for method in standing.methods[: standing.ours]
    }


def _left_out(rows: Sequence[Line], standing: Standing) -> list[str]:
    names = sorted({row["dataset"] for row in rows} - set(standing.datasets))
    return [f"Not compared, without published results or unfinished: {', '.join(names)}."] * bool(
        names
    )


def archive_drawings(rows: Sequence[Line]) -> list[Drawing]:
    """Mean ranks of all methods."""
    standing = Standing.of(rows)
    return ranks_drawing(standing.errors, standing.methods)


def archive_entries(rows: Sequence[Line]) -> list[Line]:
    """The summary for programs, with published errors."""
    published = published_errors()
    return [
        {**entry, "published": published.get(entry["dataset"], {})} for entry in entries_of(rows)
    ]


register_table("archive", archive_table, drawings=archive_drawings, entries=archive_entries)
