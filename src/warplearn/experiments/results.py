"""Rows of results as tables: means over trials, beside the paper's, and how they agree."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from warplearn.experiments.journal import Line, read_lines

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NEIGHBOURS = ("NN+ALL", "NN+AHC", "NN+KME")
ELASTIC = ("ePERC", "eLOGR", "eMARG", "eLSVM")
PAPER_TRIALS = 100
_ROUNDED = 0.05  # the paper prints one digit
_SONY = ("SonyAIBORobotSurface1", "SonyAIBORobotSurface2")
# The paper's Coffee is the file of 2011; the archive has normalized it since.
_PAPER_NAMES = {"Coffee2011": "Coffee", "Coffee": ""}


class Entry(NamedTuple):
    """An error rate in percent: its mean and standard deviation over trials."""

    mean: float
    sd: float
    trials: int

    @property
    def standard_error(self) -> float:
        """Of the mean."""
        return self.sd / math.sqrt(self.trials)

    def __str__(self) -> str:
        return f"{self.mean:.1f}" if self.trials == 1 else f"{self.mean:.1f} ±{self.sd:.1f}"


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


def summarize(rows: Iterable[Line]) -> dict[tuple[str, str], Entry]:
    """Mean errors over trials, by data set and method, in the order of the rows' names."""
    errors: dict[tuple[str, str], list[float]] = {}
    for row in rows:
        errors.setdefault((row["dataset"], row["method"]), []).append(row["error"])
    return {place: _entry(found) for place, found in errors.items()}


def _entry(errors: Sequence[float]) -> Entry:
    many = len(errors) > 1
    return Entry(float(np.mean(errors)), float(np.std(errors, ddof=many)), len(errors))


def paper_errors(*, corrected: bool = True) -> dict[tuple[str, str], Entry]:
    """The paper's table of results, by its data set and method.

    Parameters
    ----------
    corrected : bool
        Whether to exchange the entries of NN+ALL for the two SonyAIBO sets, which are swapped in
        print.
    """
    text = (resources.files(__package__) / "paper.csv").read_text("utf-8")
    found = {}
    for line in csv.DictReader(text.splitlines()):
        for method in (*NEIGHBOURS, *ELASTIC):
            column = method.replace("+", "_")
            sd = line.get(f"{column}_sd")
            found[line["dataset"], method] = Entry(
                float(line[column]), float(sd or 0), PAPER_TRIALS if sd else 1
            )
    if corrected:
        one, two = ((name, "NN+ALL") for name in _SONY)
        found[one], found[two] = found[two], found[one]
    return found


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


def _paper_name(dataset: str) -> str:
    """What the paper calls a data set; nothing if it is not in the paper."""
    return _PAPER_NAMES.get(dataset, dataset)


def reading(errors: Mapping[str, float]) -> str:
    """The paper's colour of a data set, from the mean errors of all methods.

    Green: every elastic classifier is better than every nearest-neighbour classifier.  Red: every
    elastic classifier is worse than the best nearest-neighbour classifier.  Else yellow.
    """
    elastic = [errors[name] for name in ELASTIC if name in errors]
    neighbours = [errors[name] for name in NEIGHBOURS if name in errors]
    if not elastic or not neighbours:
        return ""
    if max(elastic) < min(neighbours):
        return "green"
    return "red" if min(elastic) > min(neighbours) else "yellow"


def readings(rows: Sequence[Line]) -> dict[str, tuple[str, str]]:
    """For each data set our colour, and the paper's as printed."""
    found = summarize(rows)
    printed = paper_errors(corrected=False)
    colours = {}
    for dataset in dict.fromkeys(row["dataset"] for row in rows):
        ours = {method: entry.mean for (name, method), entry in found.items() if name == dataset}
        name = _paper_name(dataset)
        theirs = {method: entry.mean for (of, method), entry in printed.items() if of == name}
        colours[dataset] = (reading(ours), reading(theirs))
    return colours


class Totals(NamedTuple):
    """What a study took.

    Attributes
    ----------
    seconds : float
        From beginning to end of all runs that came to their end.
    cells : int
        Computed in them.
    """

    seconds: float
    cells: int

    def __str__(self) -> str:
        if not self.seconds:
            return "no run has come to its end"
        minutes, speed = self.seconds / 60, self.cells / self.seconds / 1e9
        counted = f", {self.cells:.3g} cells, {speed:.2g} billion a second" if self.cells else ""
        return f"{minutes:.1f} minutes{counted}"


def totals(path: str | Path) -> Totals:
    """What the runs in a file of results took."""
    ends = read_lines(path, "end")
    return Totals(sum(end["seconds"] for end in ends), sum(end["cells"] for end in ends))


# Tables.


class Table(NamedTuple):
    """A table of texts, with lines below it."""

    title: str
    columns: list[str]
    rows: list[list[str]]
    notes: list[str]

    def markdown(self) -> str:
        """As Markdown."""
        lines = [self.columns, ["---"] * len(self.columns), *self.rows]
        table = "\n".join("| " + " | ".join(cells) + " |" for cells in lines)
        return "\n\n".join([table, *self.notes])


def table_of(rows: Sequence[Line]) -> Table:
    """The table that suits the rows: beside the paper's, by elasticity, or plain."""
    if not rows:
        raise ValueError("there are no trials in the results")
    if all(row["study"] == "elasticity" for row in rows):
        return elasticity_table(rows)
    return comparison_table(rows)


def comparison_table(rows: Sequence[Line]) -> Table:
    """Mean errors with the paper's in parentheses, marks where they differ, and the reading."""
    entries = {(each.dataset, each.method): each for each in compare(rows)}
    methods = list(dict.fromkeys(method for _, method in entries))
    order = (*NEIGHBOURS, *ELASTIC)
    methods.sort(key=lambda name: order.index(name) if name in order else len(order))
    colours = readings(rows)
    known = any(each.paper for each in entries.values())
    lines = []
    for dataset, (ours, theirs) in sorted(colours.items(), key=lambda item: _place(item[0])):
        own = [entries.get((dataset, method)) for method in methods]
        crossed = any(each is not None and each.protocol != "test" for each in own)
        colour = f"{ours} ({theirs})" if ours and theirs else ours
        name = f"{dataset} †" if crossed else dataset
        lines.append([name, *(_cell(each) for each in own), colour])
    columns = ["data set", *methods, "reading"]
    if not any(colour for *_, colour in lines):
        columns, lines = columns[:-1], [line[:-1] for line in lines]
    notes = []
    if known:
        notes += _agreement(list(entries.values()), colours)
    notes += _means(entries, methods)
    for dataset, protocol in sorted({(each.dataset, each.protocol) for each in entries.values()}):
        if protocol == "test":
            continue
        notes.append(
            f"† {dataset} has no test series here: {protocol} on its training series, with "
            "parameters chosen on the same series."
        )
    notes += _sources(rows)
    return Table("Mean error in percent ± standard deviation over trials", columns, lines, notes)


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
    return [f"Mean over {len(tested)} of the paper's sets, not {_others(tested, entries)}: {said}."]


def _others(tested: Sequence[str], entries: Mapping[tuple[str, str], Comparison]) -> str:
    return ", ".join(sorted({dataset for dataset, _ in entries} - set(tested))) or "fewer"


def _cell(each: Comparison | None) -> str:
    if each is None:
        return ""
    if each.paper is None:
        return str(each.ours)
    return f"{each.ours}{' *' if each.differs else ''} ({each.paper})"


def _agreement(entries: Sequence[Comparison], colours: Mapping[str, tuple[str, str]]) -> list[str]:
    fair = [each for each in entries if each.paper is not None and each.protocol == "test"]
    elastic = [each for each in fair if each.method in ELASTIC]
    agree = sum(each.agrees for each in elastic)
    tested = {each.dataset for each in fair}
    read = [
        ours == theirs
        for dataset, (ours, theirs) in colours.items()
        if dataset in tested and ours and theirs
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


def _sources(rows: Sequence[Line]) -> list[str]:
    built_in = sorted({row["dataset"] for row in rows if row["source"] == "built-in"})
    if not built_in:
        return []
    return [f"Generated data, not the archive's: {', '.join(built_in)}."]


def elasticity_table(rows: Sequence[Line]) -> Table:
    """Mean errors by elasticity and data set."""
    curves = elasticity_errors(rows)
    ratios = sorted({ratio for curve in curves.values() for ratio in curve})
    lines = [
        [f"{w:g}", *(str(_entry(curve[w])) if w in curve else "" for curve in curves.values())]
        for w in ratios
    ]
    worst = max(row["train_error"] for row in rows)
    notes = [f"The greatest training error of any trial is {worst:.1f} %.", *_sources(rows)]
    title = "Mean error in percent ± standard deviation over trials, by w = m / n"
    return Table(title, ["w", *curves], lines, notes)


def elasticity_errors(rows: Iterable[Line]) -> dict[str, dict[float, list[float]]]:
    """For each data set the errors of all trials at each ratio w = m / n."""
    curves: dict[str, dict[float, list[float]]] = {}
    for row in rows:
        ratio = float(row["parameters"]["elasticity"])
        curves.setdefault(row["dataset"], {}).setdefault(ratio, []).append(row["error"])
    return curves


def plot_elasticity(rows: Sequence[Line]) -> Figure:
    """The paper's figure of the first study: a panel for each data set."""
    from matplotlib.figure import Figure

    from warplearn.plotting.displays import ElasticityCurveDisplay

    curves = elasticity_errors(rows)
    figure = Figure(figsize=(3.6 * len(curves), 3.2), layout="constrained")
    axes = figure.subplots(1, len(curves), squeeze=False)[0]
    for axis, (name, curve) in zip(axes, curves.items(), strict=True):
        ElasticityCurveDisplay({name: curve}).plot(axis)
        axis.set_title(name)
        axis.set_ylabel(axis.get_ylabel() if axis is axes[0] else "")  # scales differ
        axis.tick_params(axis="x", rotation=60)
    return figure
