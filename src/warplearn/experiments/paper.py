"""The paper's own: its results, how it reads them, and how its two studies are shown.

`paper.csv` holds the table of results as printed.  Where the print is wrong (see `paper_errors`),
comparisons use the corrected numbers; the paper's reading of its table stays as printed.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import resources
from typing import Any, NamedTuple

import numpy as np

from warplearn.elastic.extent import Extent
from warplearn.experiments.journal import Line
from warplearn.experiments.results import Entry, entries_of, summarize
from warplearn.experiments.tables import (
    EMPTY,
    TITLE,
    Cell,
    Drawing,
    Table,
    cross_validated,
    entry_cell,
    failed_places,
    failure_notes,
    marked,
    method_legend,
    protocol_notes,
    register_table,
    source_notes,
)

NEIGHBOURS = ("NN+ALL", "NN+AHC", "NN+KME")
ELASTIC = ("ePERC", "eLOGR", "eMARG", "eLSVM")
PAPER_TRIALS = 100
_ROUNDED = 0.05  # the paper prints one digit
_SONY = ("SonyAIBORobotSurface1", "SonyAIBORobotSurface2")
# The paper's Coffee is the file of 2011; the archive has normalized it since.
_PAPER_NAMES = {"Coffee2011": "Coffee", "Coffee": ""}


_COLOURS = {
    "green": "every elastic classifier is better than every nearest-neighbour classifier.",
    "yellow": "neither green nor red.",
    "red": "every elastic classifier is worse than the best nearest-neighbour classifier.",
    "reading": "how the paper reads a data set; in parentheses what it printed.",
}


class Comparison(NamedTuple):
    """An entry of ours beside the paper's.

    Attributes
    ----------
    dataset, method : str
    ours : Entry
    paper : Entry or None
        None where the paper has none.
    protocol : str
        How ours was measured; the paper's are all on test series.
    """

    dataset: str
    method: str
    ours: Entry
    paper: Entry | None
    protocol: str

    @property
    def differs(self) -> bool:
        """Whether the two are further apart than two standard errors of their difference."""
        if self.paper is None:
            return False
        error = math.hypot(self.ours.standard_error, self.paper.standard_error)
        return abs(self.ours.mean - self.paper.mean) > 2 * error + _ROUNDED

    @property
    def agrees(self) -> bool:
        """Whether ours is better, or worse by at most two of the paper's standard deviations."""
        if self.paper is None:
            return False
        return self.ours.mean <= self.paper.mean + 2 * self.paper.sd + _ROUNDED


class Reading(NamedTuple):
    """How a data set is read: the colour that follows from our errors, and the paper's.

    Green: every elastic classifier is better than every nearest-neighbour classifier.  Red: every
    elastic classifier is worse than the best nearest-neighbour classifier.  Else yellow.  A colour
    is empty where there are no errors to tell.
    """

    ours: str
    paper: str

    @property
    def cell(self) -> Cell:
        """Our colour, the paper's in parentheses, for a table."""
        if not self.ours:
            return EMPTY
        return Cell(f"{self.ours} ({self.paper})" if self.paper else self.ours, None, self.ours)


def paper_errors(*, corrected: bool = True) -> dict[tuple[str, str], Entry]:
    """The paper's table of results, by its data set and method.

    Parameters
    ----------
    corrected : bool
        Whether to exchange the entries of NN+ALL for the two SonyAIBO sets, which are swapped in
        print.
    """
    text = (resources.files(__package__) / "paper.csv").read_text("utf-8")
    table = {}
    for line in csv.DictReader(text.splitlines()):
        for method in (*NEIGHBOURS, *ELASTIC):
            column = method.replace("+", "_")
            sd = line.get(f"{column}_sd")
            table[line["dataset"], method] = Entry(
                float(line[column]), float(sd or 0), PAPER_TRIALS if sd else 1
            )
    if corrected:
        one, two = ((name, "NN+ALL") for name in _SONY)
        table[one], table[two] = table[two], table[one]
    return table


def compare(rows: Sequence[Line]) -> list[Comparison]:
    """Every entry of ours beside the paper's."""
    paper = paper_errors()
    protocols = {(row["dataset"], row["method"]): row["protocol"] for row in rows}
    return [
        Comparison(
            dataset,
            method,
            ours,
            paper.get((_paper_name(dataset), method)),
            protocols[dataset, method],
        )
        for (dataset, method), ours in summarize(rows).items()
    ]


def comparison_entries(rows: Sequence[Line]) -> list[Line]:
    """The summary for programs, with the paper's errors."""
    return [
        {**entry, "paper": each.paper.mean if each.paper else None, "differs": each.differs}
        for entry, each in zip(entries_of(rows), compare(rows), strict=True)
    ]


def _paper_name(dataset: str) -> str:
    """What the paper calls a data set; nothing if it is not in the paper."""
    return _PAPER_NAMES.get(dataset, dataset)


def reading(errors: Mapping[str, float]) -> str:
    """The colour of a data set, from the mean errors of all methods (see `Reading`)."""
    elastic = [errors[name] for name in ELASTIC if name in errors]
    neighbours = [errors[name] for name in NEIGHBOURS if name in errors]
    if not elastic or not neighbours:
        return ""
    if max(elastic) < min(neighbours):
        return "green"
    return "red" if min(elastic) > min(neighbours) else "yellow"


def readings(rows: Sequence[Line]) -> dict[str, Reading]:
    """For each data set our reading, and the paper's as printed."""
    entries = summarize(rows)
    printed = paper_errors(corrected=False)

    def colour(table: Mapping[tuple[str, str], Entry], name: str) -> str:
        return reading({method: entry.mean for (of, method), entry in table.items() if of == name})

    return {
        dataset: Reading(colour(entries, dataset), colour(printed, _paper_name(dataset)))
        for dataset in dict.fromkeys(row["dataset"] for row in rows)
    }


# The second study: methods and data sets.


def comparison_table(rows: Sequence[Line], failures: Sequence[Line] = ()) -> Table:
    """Mean errors with the paper's in parentheses, marks where they differ, and the reading."""
    entries = {(each.dataset, each.method): each for each in compare(rows)}
    failed = failed_places(failures)
    places = [*entries, *failed]
    order = (*NEIGHBOURS, *ELASTIC)
    methods = list(dict.fromkeys(method for _, method in places))
    methods.sort(key=lambda name: order.index(name) if name in order else len(order))
    colours, crossed = readings(rows), cross_validated(rows)
    read = any(colour.ours for colour in colours.values())
    lines = []
    for dataset in sorted(dict.fromkeys(dataset for dataset, _ in places), key=_place):
        cells = [
            _comparison_cell(entries.get((dataset, m)), (dataset, m) in failed) for m in methods
        ]
        last = [colours.get(dataset, Reading("", "")).cell] if read else []
        lines.append([Cell(marked(dataset, crossed)), *cells, *last])
    notes = []
    if any(each.paper for each in entries.values()):
        notes += _agreement(list(entries.values()), colours)
    notes += _means(entries, methods)
    notes += [*protocol_notes(crossed), *source_notes(rows), *failure_notes(failures)]
    legend = {**method_legend(rows), **(_COLOURS if read else {})}
    columns = ["data set", *methods, *(["reading"] if read else [])]
    return Table(TITLE, columns, lines, notes, legend)


def _place(dataset: str) -> int:
    """The paper's sets in its order, and others behind them."""
    names = list(dict.fromkeys(name for name, _ in paper_errors()))
    name = _PAPER_NAMES.get(dataset) or dataset
    return names.index(name) if name in names else len(names)


def _means(entries: Mapping[tuple[str, str], Comparison], methods: Sequence[str]) -> list[str]:
    """The mean of each method over the paper's sets that all methods were tested on."""
    paper = {name for name, _ in paper_errors()}
    tested = [
        dataset
        for dataset in dict.fromkeys(dataset for dataset, _ in entries)
        if _paper_name(dataset) in paper
        and all((dataset, m) in entries and entries[dataset, m].protocol == "test" for m in methods)
    ]
    if len(tested) < 2:
        return []
    means = [np.mean([entries[dataset, m].ours.mean for dataset in tested]) for m in methods]
    said = ", ".join(f"{m} {mean:.2f}" for m, mean in zip(methods, means, strict=True))
    others = ", ".join(sorted({dataset for dataset, _ in entries} - set(tested))) or "fewer"
    return [f"Mean over {len(tested)} of the paper's sets, not {others}: {said}."]


def _comparison_cell(each: Comparison | None, failed: bool) -> Cell:
    cell = entry_cell(each.ours if each else None, failed)
    if each is None or each.paper is None:
        return cell
    return cell._replace(text=f"{cell.text}{' *' if each.differs else ''} ({each.paper})")


def _agreement(entries: Sequence[Comparison], colours: Mapping[str, Reading]) -> list[str]:
    fair = [each for each in entries if each.paper is not None and each.protocol == "test"]
    elastic = [each for each in fair if each.method in ELASTIC]
    agree = sum(each.agrees for each in elastic)
    tested = {each.dataset for each in fair}
    read = [
        colour.ours == colour.paper
        for dataset, colour in colours.items()
        if dataset in tested and colour.ours and colour.paper
    ]
    exact = [each for each in fair if each.method == "NN+ALL"]
    near = sum(abs(each.ours.mean - each.paper.mean) <= 0.2 for each in exact if each.paper)
    better = "elastic entries are better than the paper's or within two of its standard deviations"
    counts = [
        (agree, len(elastic), better),
        (near, len(exact), "entries of NN+ALL are within 0.2 points"),
        (sum(read), len(read), "data sets have the paper's reading"),
    ]
    said = [f"{count} of {of} {what}" for count, of, what in counts if of]
    return [
        "In parentheses the paper's. * = further apart than two standard errors of the difference.",
        f"{'; '.join(said)}. Cross-validated ones are not counted.",
    ]


# The first study: elasticity.


def elasticity_errors(rows: Iterable[Line]) -> dict[str, dict[float, list[float]]]:
    """For each data set the errors of all trials at each ratio w = m / n."""
    curves: dict[str, dict[float, list[float]]] = {}
    for row in rows:
        extent = Extent.of(row["parameters"]["elasticity"], "elasticity")
        if extent.cells:
            raise ValueError(
                "the table by elasticity needs shares of the length, such as 0.1 or '200%', got "
                f"elasticity={extent.cells} in a row of {row['method']}"
            )
        curves.setdefault(row["dataset"], {}).setdefault(extent.share, []).append(row["error"])
    return curves


def elasticity_table(rows: Sequence[Line], failures: Sequence[Line] = ()) -> Table:
    """Mean errors by elasticity and data set."""
    curves = elasticity_errors(rows)
    ratios = sorted({ratio for curve in curves.values() for ratio in curve})
    lines = [
        [
            Cell(f"{w:g}", w),
            *(entry_cell(Entry.of(c[w]) if w in c else None) for c in curves.values()),
        ]
        for w in ratios
    ]
    notes = [*source_notes(rows), *failure_notes(failures)]
    if rows:
        worst = max(row["train_error"] for row in rows)
        notes.insert(0, f"The greatest training error of any trial is {worst:.1f} %.")
    return Table(f"{TITLE}, by w = m / n", ["w", *curves], lines, notes)


def elasticity_drawings(rows: Sequence[Line]) -> list[Drawing]:
    """The paper's figure of the first study: a panel for each data set."""
    from warplearn.plotting import ElasticityCurveDisplay

    def panel(name: str, curve: Mapping[float, Any]) -> Callable[[Any], None]:
        def draw(ax: Any) -> None:
            ElasticityCurveDisplay({name: curve}).plot(ax, color="#3b82f6")
            ax.tick_params(axis="x", rotation=60)

        return draw

    panels = {name: panel(name, curve) for name, curve in elasticity_errors(rows).items()}
    return [Drawing(panels, (3.6, 3.1), "Mean error over elasticity, with two standard errors.")]


register_table("comparison", comparison_table, entries=comparison_entries)
register_table("elasticity", elasticity_table, drawings=elasticity_drawings)
