"""Results as tables and figures, in the way that their study asks for.

The key `table` of a study names how its results are shown.  `plain` is for any study; the paper's
studies have ways of their own (`warplearn.experiments.paper`), and `register_table` adds another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from warplearn.experiments.journal import Line
from warplearn.experiments.results import Entry, entries_of, summarize

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TITLE = "Mean error in percent ± standard deviation over trials"
FAILED = "failed"


class Cell(NamedTuple):
    """A cell of a table.

    Attributes
    ----------
    text : str
    value : float, optional
        What the cell is sorted by; a cell without a value is sorted by its text, behind values.
    mark : str
        What the cell stands out by: a colour ("green", "yellow", "red"), "failed", or nothing.
    """

    text: str
    value: float | None = None
    mark: str = ""


EMPTY = Cell("")


class Table(NamedTuple):
    """A table, with lines below it.

    Attributes
    ----------
    title : str
    columns : list of str
    rows : list of lists of Cell
    notes : list of str
    legend : dict
        What columns, rows or marks mean that are called by abbreviations.
    """

    title: str
    columns: list[str]
    rows: list[list[Cell]]
    notes: list[str]
    legend: Mapping[str, str] = {}

    def texts(self) -> list[list[str]]:
        """The texts of the cells."""
        return [[cell.text for cell in row] for row in self.rows]

    def markdown(self) -> str:
        """As Markdown."""
        lines = [self.columns, ["---"] * len(self.columns), *self.texts()]
        table = "\n".join("| " + " | ".join(cells) + " |" for cells in lines)
        return "\n\n".join([table, *self.notes])


class Drawing(NamedTuple):
    """A figure of one or several panels, not yet drawn.

    Attributes
    ----------
    panels : dict
        Titles, and for each a function that draws into axes.
    size : (float, float)
        Of a panel, in inches.
    caption : str
    """

    panels: Mapping[str, Callable[[Axes], Any]]
    size: tuple[float, float]
    caption: str

    def figure(self, *titles: str) -> Figure:
        """A figure of matplotlib with these panels side by side, by default all."""
        from matplotlib.figure import Figure

        chosen = titles or tuple(self.panels)
        width, height = self.size
        figure = Figure(figsize=(width * len(chosen), height), layout="constrained")
        axes = figure.subplots(1, len(chosen), squeeze=False)[0]
        for axis, title in zip(axes, chosen, strict=True):
            self.panels[title](axis)
            axis.set_title(title)
            axis.set_ylabel(axis.get_ylabel() if axis is axes[0] else "")  # scales differ
        return figure


TableFunction: TypeAlias = Callable[[Sequence[Line], Sequence[Line]], Table]


class Presentation(NamedTuple):
    """How the results of a study are shown.

    Attributes
    ----------
    table : function of rows and failures that makes a `Table`
    drawings : function of rows that makes a list of `Drawing`
    entries : function of rows that makes a list of dictionaries, for programs
    """

    table: TableFunction
    drawings: Callable[[Sequence[Line]], list[Drawing]]
    entries: Callable[[Sequence[Line]], list[Line]] = entries_of


_PRESENTATIONS: dict[str, Presentation] = {}


def register_table(
    name: str,
    table: TableFunction,
    *,
    drawings: Callable[[Sequence[Line]], list[Drawing]] | None = None,
    entries: Callable[[Sequence[Line]], list[Line]] = entries_of,
) -> None:
    """Add a way to show results, for studies with `table = "name"`.

    Parameters
    ----------
    name : str
    table : callable
        Called with the rows (see `read_rows`) and the failures (see `read_failures`) of a study;
        returns a `Table`.
    drawings : callable, optional
        Called with the rows, returns a list of `Drawing`.  By default the mean ranks of the
        methods, where there are enough data sets, and errors against time and size.
    entries : callable, optional
        Called with the rows, returns what `--json` prints of them.
    """
    _PRESENTATIONS[name] = Presentation(table, drawings or standard_drawings, entries)


def table_names() -> list[str]:
    """The registered ways to show results."""
    return sorted(_PRESENTATIONS)


def presentation_of(lines: Sequence[Line]) -> Presentation:
    """How rows or failures are shown; `plain` if their studies do not agree on it."""
    names = {line.get("table", "plain") for line in lines}
    name = names.pop() if len(names) == 1 else "plain"
    if name not in _PRESENTATIONS:
        raise ValueError(
            f"table must be one of {table_names()} or be added with register_table, got {name!r}"
        )
    return _PRESENTATIONS[name]


def table_of(rows: Sequence[Line], failures: Sequence[Line] = ()) -> Table:
    """The table of results that their study asks for."""
    if not rows and not failures:
        raise ValueError("there are no trials in the results")
    return presentation_of([*rows, *failures]).table(rows, failures)


def drawings_of(rows: Sequence[Line]) -> list[Drawing]:
    """The figures of results that their study asks for."""
    return presentation_of(rows).drawings(rows)


# The way that suits any study, and what others can make theirs of.


def plain_table(rows: Sequence[Line], failures: Sequence[Line] = ()) -> Table:
    """Mean errors, a row for each data set and a column for each method."""
    entries = summarize(rows)
    failed = failed_places(failures)
    places = [*entries, *failed]
    methods = list(dict.fromkeys(method for _, method in places))
    crossed = cross_validated(rows)
    lines = [
        [
            Cell(marked(dataset, crossed)),
            *(entry_cell(entries.get((dataset, m)), (dataset, m) in failed) for m in methods),
        ]
        for dataset in dict.fromkeys(dataset for dataset, _ in places)
    ]
    notes = [*protocol_notes(crossed), *source_notes(rows), *failure_notes(failures)]
    return Table(TITLE, ["data set", *methods], lines, notes, method_legend(rows))


def method_legend(rows: Iterable[Line]) -> dict[str, str]:
    """For each method its estimator, what that is, and the options that it is named after."""
    from inspect import getdoc

    from warplearn.catalogue import estimator_class

    found: dict[str, Line] = {}
    for row in rows:
        if "estimator" in row:
            found.setdefault(row["method"], row)
    legend = {}
    for method, row in found.items():
        name = row["estimator"]
        try:
            said = (getdoc(estimator_class(name)) or "").split("\n\n")[0]
        except (ImportError, KeyError, ValueError):  # of a class, or a package, that is not here
            said = ""
        options = [v for v in row.get("parameters", {}).values() if isinstance(v, str)]
        parts = [name, " ".join(said.split()), f"options: {', '.join(options)}" if options else ""]
        legend[method] = "; ".join(part.rstrip(".") for part in parts if part) + "."
    return legend


def entry_cell(entry: Entry | None, failed: bool = False) -> Cell:
    """A mean error; of a method that failed, what there is of it."""
    if entry is None:
        return Cell("failed", None, FAILED) if failed else EMPTY
    return Cell(str(entry), entry.mean, FAILED if failed else "")


def failed_places(failures: Iterable[Line]) -> dict[tuple[str, str], str]:
    """Data sets and methods that failed, and why."""
    return {(line["dataset"], line["method"]): line["message"] for line in failures}


def cross_validated(rows: Iterable[Line]) -> dict[str, str]:
    """Data sets without test series, and how they were judged."""
    return {row["dataset"]: row["protocol"] for row in rows if row["protocol"] != "test"}


def marked(dataset: str, crossed: Mapping[str, str]) -> str:
    """The name of a data set, with a dagger if it was cross-validated."""
    return f"{dataset} †" if dataset in crossed else dataset


def protocol_notes(crossed: Mapping[str, str]) -> list[str]:
    """What the dagger means."""
    return [
        f"† {dataset} has no test series here: {protocol} on its training series, with "
        "parameters chosen on the same series."
        for dataset, protocol in sorted(crossed.items())
    ]


def source_notes(rows: Iterable[Line]) -> list[str]:
    """Which data were generated."""
    built_in = sorted({row["dataset"] for row in rows if row["source"] == "built-in"})
    return [f"Generated data, not the archive's: {', '.join(built_in)}."] if built_in else []


def failure_notes(failures: Iterable[Line]) -> list[str]:
    """What failed, and why."""
    places = failed_places(failures)
    return [f"Failed: {m} on {dataset}: {message}" for (dataset, m), message in places.items()]


def mean_errors(rows: Sequence[Line]) -> tuple[Any, list[str], list[str]]:
    """Mean errors (data sets, methods) on the data sets that all methods were tried on."""
    entries = summarize(rows)
    methods = list(dict.fromkeys(row["method"] for row in rows))
    names = [
        name
        for name in dict.fromkeys(row["dataset"] for row in rows)
        if all((name, method) in entries for method in methods)
    ]
    table = [[entries[name, method].mean for method in methods] for name in names]
    return np.array(table), methods, names


def rank_drawings(rows: Sequence[Line]) -> list[Drawing]:
    """Mean ranks of the methods over data sets."""
    return ranks_drawing(*mean_errors(rows)[:2])


def ranks_drawing(errors: Any, methods: Sequence[str]) -> list[Drawing]:
    """Mean ranks of methods, from their errors (data sets, methods)."""
    from warplearn.plotting import CriticalDifferenceDisplay

    if len(methods) < 3 or len(errors) < 4:
        return []  # too few for ranks to mean anything
    display = CriticalDifferenceDisplay.from_errors(errors, methods)
    caption = (
        f"Mean ranks over {len(errors)} data sets, the best on the right. A bar joins methods that "
        "do not differ significantly (Wilcoxon's test with Holm's correction, 0.05); Friedman's "
        f"test gives p = {display.ranking.friedman:.2g}."
    )
    return [Drawing({"": display.plot}, (6.4, 1.2 + 0.3 * -(-len(methods) // 2)), caption)]


_COSTS = {
    "size of the model": ("model_bytes", 1e-3, "kilobytes"),
    "time of a decision": ("decision_seconds", 1e6, "microseconds"),
    "time of training": ("fit_seconds", 1.0, "seconds"),
}


def trade_off_drawings(rows: Sequence[Line]) -> list[Drawing]:
    """Mean errors against size and time, where the rows have them."""
    from warplearn.plotting import TradeOffDisplay

    errors, methods, names = mean_errors(rows)
    if len(methods) < 2 or not names:
        return []
    panels = {}
    for title, (key, factor, unit) in _COSTS.items():
        costs = [
            [row.get(key) or 0.0 for row in rows if row["method"] == m and row["dataset"] in names]
            for m in methods
        ]
        if all(min(each) > 0 for each in costs):
            means = [factor * float(np.exp(np.mean(np.log(each)))) for each in costs]
            panels[title] = TradeOffDisplay(methods, errors.mean(axis=0), means, unit).plot
    few = f"over {len(names)} data sets" if len(names) > 1 else f"on {names[0]}"
    caption = (
        f"Mean error {few} against what a method takes (geometric means). Further left is smaller "
        "or quicker, further down more accurate; the line joins methods that no other one beats in "
        "both. Times of the first run include compiling."
    )
    return [Drawing(panels, (4.0, 4.2), caption)] if panels else []


def standard_drawings(rows: Sequence[Line]) -> list[Drawing]:
    """Ranks, and errors against time and size."""
    return [*rank_drawings(rows), *trade_off_drawings(rows)]


def details_table(rows: Sequence[Line]) -> Table:
    """Times, cells and parameters of each method on each data set."""
    lines = []
    for (name, method), entry in summarize(rows).items():
        own = [row for row in rows if (row["dataset"], row["method"]) == (name, method)]
        train_error, *costs = (
            float(np.mean([row.get(key) or 0.0 for row in own]))
            for key in (
                "train_error", "fit_seconds", "predict_seconds", "decision_seconds", "model_bytes",
                "cells",
            )
        )  # fmt: skip
        chosen = own[0].get("parameters", {})
        lines.append([
            Cell(name), Cell(method), entry_cell(entry),
            Cell(f"{train_error:.1f}", train_error), Cell(str(entry.trials), entry.trials),
            *(Cell(f"{cost:.3g}", cost) if cost else EMPTY for cost in costs),
            Cell(own[0].get("protocol", "")), Cell(own[0].get("source", "")),
            Cell(", ".join(f"{key}={value}" for key, value in chosen.items())),
        ])  # fmt: skip
    columns = [
        "data set", "method", "error, %", "training error, %", "trials", "fit, s", "predict, s",
        "a decision, s", "model, bytes", "cells", "protocol", "source", "parameters",
    ]  # fmt: skip
    return Table("Means over trials", columns, lines, [], method_legend(rows))


register_table("plain", plain_table)
