"""A page about one model on labelled series: what it gets right, what not, and what it takes."""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from warplearn.experiments.measuring import decision_seconds, file_size
from warplearn.experiments.pages import counted, figure_html, table_html, write_page
from warplearn.experiments.tables import Cell, Table
from warplearn.experiments.views import can_be_viewed, view_of
from warplearn.series.collection import SeriesCollection

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_EXAMPLES = 6  # series shown of each kind
_BINS = 8  # of the reliability diagram


class Judged(NamedTuple):
    """A classifier and what it says about labelled series.

    Attributes
    ----------
    model : fitted classifier
    X : SeriesCollection
    labels, predicted : arrays (cases,) of str
    classes : list of str
        Of the model, as texts.
    probabilities : array (cases, classes), optional
        Of models that have them.
    """

    model: Any
    X: SeriesCollection
    labels: NDArray[np.str_]
    predicted: NDArray[np.str_]
    classes: list[str]
    probabilities: NDArray[np.float64] | None

    @classmethod
    def of(cls, model: Any, X: Any, y: Any) -> Judged:
        """Let a model classify labelled series."""
        if not hasattr(model, "classes_"):
            raise ValueError(f"model must be a classifier, got {type(model).__name__}")
        series, labels = SeriesCollection.of(X), np.asarray(y).astype(str)
        classes = [str(label) for label in model.classes_]
        if not np.isin(labels, classes).any():
            known, given = ", ".join(classes[:5]), ", ".join(np.unique(labels)[:5])
            raise ValueError(f"y must have labels of the model's classes, {known}, got {given}")
        P = np.asarray(model.predict_proba(series)) if hasattr(model, "predict_proba") else None
        return cls(model, series, labels, model.predict(series).astype(str), classes, P)

    @property
    def wrong(self) -> NDArray[np.bool_]:
        """Which series are mistaken."""
        return self.labels != self.predicted

    @property
    def confidence(self) -> NDArray[np.float64]:
        """The probability of the predicted class; 1 if the model has none."""
        if self.probabilities is None:
            return np.ones(len(self.labels))
        return np.asarray(self.probabilities.max(axis=1), np.float64)


def write_model_page(model: Any, X: Any, y: Any, path: str | Path, *, name: str = "") -> Path:
    """Write a page about a classifier: errors, calibration, examples, explanations, size, speed.

    Parameters
    ----------
    model : fitted classifier
    X : series collection
        Series that the model has not seen in training, if errors are to mean anything.
    y : array (cases,)
        Their labels.
    path : path
        The file to write; it works offline.
    name : str
        What the series are called.

    Returns
    -------
    path
    """
    judged = Judged.of(model, X, y)
    kind = type(model).__name__
    body = [
        _summary(judged),
        *_section("Which classes are mistaken", table_html(_confusion(judged))),
        *_calibration(judged),
        *_examples(judged),
        f"<details><summary>Parameters</summary>{table_html(_parameters(model))}</details>",
    ]
    views = []
    if can_be_viewed(model) and hasattr(model, "coef_"):
        views.append(view_of(model, judged.X, np.asarray(y), name=name or kind))
    return write_page(path, f"{kind} on {name}" if name else kind, body, views)


def _section(title: str, content: str) -> list[str]:
    return [f"<section><h2>{html.escape(title)}</h2>", content, "</section>"]


def _summary(judged: Judged) -> str:
    """Errors, size and speed in a few lines."""
    model, X = judged.model, judged.X
    mistakes = int(judged.wrong.sum())
    batch = decision_seconds(model, X)
    alone = min(decision_seconds(model, X[[case]]) for case in range(min(5, len(X))))
    size = file_size(model)
    lengths = f"{X.lengths.min()} to {X.lengths.max()}" if np.ptp(X.lengths) else X.max_length
    rows = {
        "series": f"{len(X)} of length {lengths}, {counted(X.n_channels, 'channel')}",
        "mistakes": f"{mistakes} of {len(X)}, {100 * mistakes / len(X):.1f} %",
        "size of the model file": "cannot be saved" if size is None else f"{size / 1e3:,.1f} kB",
        "time of a decision, all at once": _duration(batch),
        "time of a decision, one by one": _duration(alone),
    }
    entries = "".join(f"<dt>{key}</dt><dd>{html.escape(text)}</dd>" for key, text in rows.items())
    return f"<dl class=summary>{entries}</dl>"


def _duration(seconds: float) -> str:
    return f"{1e6 * seconds:,.1f} µs" if seconds < 1e-3 else f"{1e3 * seconds:,.1f} ms"


def _confusion(judged: Judged) -> Table:
    from sklearn.metrics import confusion_matrix

    names = list(dict.fromkeys([*judged.classes, *np.unique(judged.labels)]))
    matrix = confusion_matrix(judged.labels, judged.predicted, labels=names)
    rows = [
        [
            Cell(f"is {name}"),
            *(
                Cell(str(count), int(count), "hit" if i == j else "miss" if count else "")
                for j, count in enumerate(line)
            ),
            Cell(f"{100 * line[i] / max(1, line.sum()):.1f}", float(line[i] / max(1, line.sum()))),
        ]
        for i, (name, line) in enumerate(zip(names, matrix, strict=True))
    ]
    columns = ["class", *(f"predicted {name}" for name in names), "right, %"]
    legend = {"hit": "classified right.", "miss": "mistaken."}
    return Table("Numbers of series, by class and prediction", columns, rows, [], legend)


def _parameters(model: Any) -> Table:
    rows = [[Cell(name), Cell(repr(value))] for name, value in model.get_params().items()]
    return Table("As they were set", ["parameter", "value"], rows, [])


# Calibration.


def reliability(
    confidence: NDArray[Any], right: NDArray[Any], n_bins: int = _BINS
) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """How often predictions are right, by how sure the model was of them.

    Returns
    -------
    confidence, accuracy : arrays (bins,)
        Means in bins of equally many cases.
    error : float
        The expected calibration error: the mean of their differences.
    """
    order = np.argsort(confidence, kind="stable")
    bins = [part for part in np.array_split(order, n_bins) if len(part)]
    means = np.array([confidence[part].mean() for part in bins])
    shares = np.array([right[part].mean() for part in bins])
    weights = np.array([len(part) for part in bins]) / len(order)
    return means, shares, float(weights @ np.abs(means - shares))


def _calibration(judged: Judged) -> list[str]:
    if judged.probabilities is None:
        return []
    means, shares, error = reliability(judged.confidence, ~judged.wrong)

    def draw() -> Figure:
        from matplotlib.figure import Figure

        figure = Figure(figsize=(3.8, 3.4), layout="constrained")
        ax = figure.subplots()
        ax.plot([0, 1], [0, 1], color="0.6", linewidth=1)
        ax.plot(means, shares, "o-", color="#3b82f6")
        low = max(0.0, min(float(means.min()), float(shares.min())) - 0.05)
        ax.set(
            xlim=(low, 1.02), ylim=(low, 1.02),
            xlabel="probability of the predicted class", ylabel="share that is right",
        )  # fmt: skip
        return figure

    caption = (
        f"Calibration: on the grey line probabilities are what they say. Points are means of "
        f"equally many series; the expected calibration error is {100 * error:.1f} %."
    )
    return _section("Can probabilities be trusted?", figure_html([draw], caption, "calibration"))


# Examples.


def _examples(judged: Judged) -> list[str]:
    """Mistakes, the most confident first, and series that are right, some of each class."""
    order = np.argsort(-judged.confidence, kind="stable")
    wrong = [int(case) for case in order if judged.wrong[case]][:_EXAMPLES]
    right: list[int] = []
    by_class = [
        [int(case) for case in order if not judged.wrong[case] and judged.labels[case] == name]
        for name in judged.classes
    ]
    for rank in range(_EXAMPLES):
        right += [cases[rank] for cases in by_class if rank < len(cases)]
    parts = []
    for title, cases in {
        "Mistakes, the surest first": wrong,
        "Series that are classified right": right[:_EXAMPLES],
    }.items():
        if cases:
            drawings, caption = _drawn(judged, cases)
            parts += _section(title, figure_html(drawings, caption, title))
    return parts


def _drawn(judged: Judged, cases: Sequence[int]) -> tuple[list[Callable[[], Figure]], str]:
    """Small figures of series, with contributions of time steps where the model explains itself."""
    explained = _contributions(judged, cases)
    caption = "Series (first channel) with their class, the prediction and its probability."
    if explained is not None:
        caption += " Bars: what each time step contributes to the predicted class, red for it."
    drawings: list[Callable[[], Figure]] = [
        partial(_draw_case, judged, case, None if explained is None else explained[place])
        for place, case in enumerate(cases)
    ]
    return drawings, caption


def _contributions(judged: Judged, cases: Sequence[int]) -> NDArray[Any] | None:
    """Contributions (cases, time) to the predicted class."""
    if not hasattr(judged.model, "explain"):
        return None
    found = np.asarray(judged.model.explain(judged.X[list(cases)]).contributions)
    several = len(judged.classes) > 2
    if judged.X.n_channels > 1:
        found = found.sum(axis=-2)
    places = [judged.classes.index(judged.predicted[case]) for case in cases]
    if several:
        return np.array([found[place, index] for index, place in enumerate(places)])
    return np.where(np.array(places)[:, None] == 1, found, -found)


def _draw_case(judged: Judged, case: int, parts: NDArray[Any] | None) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(3.2, 2.2), layout="constrained")
    ax = figure.subplots()
    length = int(judged.X.lengths[case])
    if parts is not None:
        under = ax.twinx()
        own = parts[:length]
        colours = np.where(own > 0, "#e2483d", "#3b82f6")
        under.bar(np.arange(length), own, 1.0, color=colours, alpha=0.45)
        limit = float(np.abs(own).max()) or 1.0
        under.set(ylim=(-1.05 * limit, 1.05 * limit), yticks=[])
        ax.set_zorder(under.get_zorder() + 1)
        ax.patch.set_visible(False)
    ax.plot(judged.X.values[case, :length, 0], color=ax.xaxis.label.get_color(), linewidth=1.2)
    sure = "" if judged.probabilities is None else f" ({judged.confidence[case]:.2f})"
    ax.set_title(
        f"{case}: is {judged.labels[case]}, predicted {judged.predicted[case]}{sure}", fontsize=9
    )
    ax.tick_params(labelsize=8)
    return figure
