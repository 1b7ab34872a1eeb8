"""One page with everything: tables that sort, figures, and models to look into.

The page is one file that asks nobody for anything: styles, scripts, figures and data are in it,
and its content security policy forbids the rest.  What is shown of a model is computed here, with
the library itself, and only drawn in the browser.
"""

from __future__ import annotations

import base64
import html
import io
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from warplearn import datasets
from warplearn.elastic.functions import active_path
from warplearn.experiments.journal import Line
from warplearn.experiments.results import Table, summarize, table_of
from warplearn.linear_model.classifiers import ElasticLinearClassifier, ElasticLogisticRegression
from warplearn.plotting import displays

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# matplotlib cannot write currentColor: this stands for it until the figure is text.
_INK = "#010203"
_INKED = ("axes.edgecolor", "axes.labelcolor", "text.color", "xtick.color", "ytick.color")
_LEADING_NUMBER = re.compile(r"\s*(-?\d+(\.\d+)?(e-?\d+)?)")


def write_report(
    rows: Sequence[Line],
    path: str | Path,
    *,
    title: str = "warplearn: results",
    models: Mapping[str, ElasticLinearClassifier] | None = None,
    directory: str | Path | None = None,
    n_series: int = 24,
) -> Path:
    """Write a page about results.

    Parameters
    ----------
    rows : sequence of dict
        Trials, as `read_rows` gives them.
    path : path
        The file to write, at once: there is all of it or what was there before.
    title : str
    models : dict, optional
        Fitted elastic linear classifiers by the name of their data set.  By default elastic
        logistic regression is fitted to each data set of the rows that is found, with the
        parameters of the rows where they have some.
    directory : path, optional
        Where data sets are, see `warplearn.datasets.load`.
    n_series : int, default=24
        How many test series of each data set can be chosen, at most.

    Returns
    -------
    path
    """
    if not rows:
        raise ValueError("rows must hold at least one trial, got none")
    views, missing = [], []
    for name in dict.fromkeys(row["dataset"] for row in rows):
        try:
            shown, train, held_out = _load(name, directory)
        except datasets.DatasetNotFoundError:
            missing.append(name)
            continue
        model = None if models is None else models.get(name)
        if model is None:
            model = _fit(rows, name, train)
        views.append(view_of(model, shown, held_out=held_out, n_series=n_series))
    body = [_facts(rows)]
    for study in dict.fromkeys(row["study"] for row in rows):
        body.append(_study_section(study, [row for row in rows if row["study"] == study]))
    page = _fill(
        "report.html", TITLE=html.escape(title), STYLE=_part("report.css"),
        SCRIPT=_part("report.js"), BODY="\n".join(body), MISSING=_missing_note(missing),
        DATA=_json(views), VIEWER="" if views else "hidden",
    )  # fmt: skip
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    scratch = target.with_name(f".{target.name}.part")
    scratch.write_text(page, "utf-8")
    scratch.replace(target)
    return target


# Models.


def _load(
    name: str, directory: str | Path | None
) -> tuple[datasets.Dataset, datasets.Dataset, bool]:
    """Series to show, series to train on, and whether they are different ones."""
    train = datasets.load(name, "train", directory, download=False)
    try:
        return datasets.load(name, "test", directory, download=False), train, True
    except datasets.DatasetNotFoundError:
        return train, train, False


def _fit(rows: Sequence[Line], name: str, train: datasets.Dataset) -> ElasticLogisticRegression:
    """Elastic logistic regression, with the parameters that a trial had."""
    kind = ElasticLogisticRegression
    known = kind().get_params()
    own = [r for r in rows if r["dataset"] == name and r.get("estimator") == kind.__name__]
    chosen = {k: v for row in own[:1] for k, v in row["parameters"].items() if k in known}
    chosen["max_iter"] = min(int(chosen.get("max_iter", 200)), 200)
    model = kind(**{"random_state": 0, **chosen})
    return model.fit(train.X.astype(np.float32), train.y)


def view_of(
    model: ElasticLinearClassifier,
    data: datasets.Dataset,
    *,
    held_out: bool = True,
    n_series: int = 24,
) -> dict[str, Any]:
    """What the page shows of a model: its matrices, and how each of some series threads them.

    Parameters
    ----------
    model : fitted elastic linear classifier
    data : Dataset
    held_out : bool
        Whether the model has not seen these series.
    n_series : int
        How many at most; mistakes first, then the others in their order.
    """
    fits = np.flatnonzero(data.X.lengths <= model.n_features_in_)
    collection = data.X.astype(model.coef_.dtype)  # one dtype: no kernel is compiled twice
    predicted = model.predict(collection[fits])
    wrong = predicted != data.y[fits]
    some = np.r_[np.flatnonzero(wrong)[: n_series // 3], np.flatnonzero(~wrong)]
    cases = fits[np.sort(some[:n_series])]
    X = collection[cases]
    explained = model.explain(X)
    several = len(model.classes_) > 2
    parts = explained.contributions if several else explained.contributions[None]
    if X.n_channels > 1:
        parts = parts.sum(axis=2)
    decisions = model.decision_function(X).reshape(len(X), -1)
    coef = model.coef_ if model.coef_.ndim == 4 else model.coef_[..., None]
    classes = [str(label) for label in model.classes_]
    names = classes if several else classes[1:]
    positive = [_unit_class(column, classes, several) for column in model.mix_]
    series = []
    for index, case in enumerate(cases):
        x = X[index]
        series.append({
            "case": int(case),
            "label": str(data.y[case]),
            "predicted": str(predicted[np.flatnonzero(fits == case)[0]]),
            "values": [_rounded(channel) for channel in np.atleast_2d(x)],
            "decisions": _rounded(decisions[index]),
            "contributions": [_rounded(own[index, : x.shape[-1]]) for own in parts],
            "paths": [_columns(x, W, model.band) for W in coef],
        })  # fmt: skip
    alphabet = data.alphabet
    channels = [str(s) for s in alphabet.symbols] if alphabet is not None else None
    return {
        "name": data.name,
        "model": type(model).__name__,
        "heldOut": held_out,
        "mistakes": int(wrong.sum()),
        "cases": len(fits),
        "classes": classes,
        "outputs": names,
        "biases": _rounded(np.atleast_1d(explained.bias)),
        "channels": channels or [f"channel {c}" for c in range(X.n_channels)],
        "units": [
            {"label": label, **_packed(W)} for label, W in zip(positive, coef, strict=True)
        ],
        "series": series,
    }  # fmt: skip


def _unit_class(mix: NDArray[Any], classes: list[str], several: bool) -> str:
    """The class that a unit speaks for."""
    if several:
        return classes[int(np.argmax(mix))]
    return classes[int(mix[0] > 0)]


def _packed(W: NDArray[Any]) -> dict[str, Any]:
    """A matrix (n, m, channels) as bytes of which 127 is the greatest weight; for colours only."""
    scale = float(np.abs(W).max()) or 1.0
    levels = np.round(W / scale * 127).astype(np.int8).transpose(2, 0, 1)
    text = [base64.b64encode(channel.tobytes()).decode("ascii") for channel in levels]
    return {"n": W.shape[0], "m": W.shape[1], "scale": float(f"{scale:.4g}"), "weights": text}


def _columns(x: NDArray[Any], W: NDArray[Any], band: Any) -> list[list[int]]:
    """For each time the first and the last column of the active path, all first ones first."""
    matrix = W if W.shape[2] > 1 else W[..., 0]
    i, j = active_path(x, matrix, band=band).T
    first = np.flatnonzero(np.r_[True, np.diff(i) > 0])
    last = np.r_[first[1:] - 1, len(i) - 1]
    return [j[first].tolist(), j[last].tolist()]


def _rounded(values: Iterable[Any]) -> list[float]:
    return [float(f"{float(v):.4g}") for v in values]


# Figures.


class _Panels(NamedTuple):
    """Figures side by side, or below each other where there is no room, and their caption."""

    svgs: list[str]
    caption: str


def _figures(rows: Sequence[Line]) -> list[_Panels]:
    """Figures that the rows of a study allow."""
    from matplotlib import rc_context

    settings: Any = dict.fromkeys(_INKED, _INK)
    settings |= {"svg.fonttype": "none", "svg.hashsalt": rows[0]["study"]}
    with rc_context(settings):
        return [*_elasticity_figure(rows), *_ranks_figure(rows)]


def _elasticity_figure(rows: Sequence[Line]) -> list[_Panels]:
    if not _varies_elasticity(rows):
        return []
    panels = []
    for name in dict.fromkeys(row["dataset"] for row in rows):
        figure = _figure(3.6, 3.0)
        shown = displays.ElasticityCurveDisplay({name: _errors_by_elasticity(rows, name)})
        ax = shown.plot(figure.subplots(), color="#3b82f6").ax_
        ax.set_title(name)
        ax.tick_params(axis="x", rotation=60)
        panels.append(_svg(figure))
    return [_Panels(panels, "Mean error over elasticity, with two standard errors.")]


def _ranks_figure(rows: Sequence[Line]) -> list[_Panels]:
    errors, methods, names = _table_of_means(rows)
    if len(methods) < 3 or len(names) < 4 or _varies_elasticity(rows):
        return []  # too few for ranks to mean anything
    shown = displays.CriticalDifferenceDisplay.from_errors(errors, methods)
    figure = _figure(6.4, 1.2 + 0.3 * -(-len(methods) // 2))
    shown.plot(figure.subplots())
    caption = (
        f"Mean ranks over {len(names)} data sets, the best on the right. A bar joins methods that "
        "do not differ significantly (Wilcoxon's test with Holm's correction, 0.05); Friedman's "
        f"test gives p = {shown.ranking.friedman:.2g}."
    )
    return [_Panels([_svg(figure)], caption)]


def _varies_elasticity(rows: Sequence[Line]) -> bool:
    """Whether the methods of a study are one estimator at several elasticities."""
    ratios = {row.get("parameters", {}).get("elasticity") for row in rows}
    return None not in ratios and len(ratios) > 2


def _errors_by_elasticity(rows: Sequence[Line], name: str) -> dict[float, list[float]]:
    errors: dict[float, list[float]] = {}
    for row in rows:
        if row["dataset"] == name:
            errors.setdefault(float(row["parameters"]["elasticity"]), []).append(row["error"])
    return errors


def _table_of_means(rows: Sequence[Line]) -> tuple[NDArray[Any], list[str], list[str]]:
    """Mean errors (data sets, methods) of the data sets that all methods have been tried on."""
    entries = summarize(rows)
    methods = list(dict.fromkeys(row["method"] for row in rows))
    names = [
        name
        for name in dict.fromkeys(row["dataset"] for row in rows)
        if all((name, method) in entries for method in methods)
    ]
    table = [[entries[name, method].mean for method in methods] for name in names]
    return np.array(table), methods, names


def _figure(width: float, height: float) -> Figure:
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def _svg(figure: Figure) -> str:
    """A figure as an element of the page, in the colours of the text around it."""
    stream = io.StringIO()
    figure.savefig(stream, format="svg", transparent=True, metadata={"Date": None})
    text = stream.getvalue()
    text = text[text.index("<svg") :].replace(_INK, "currentColor")
    # It may grow and shrink a little with the page; the view box keeps the proportions.
    inches = figure.get_figwidth()
    size = f'style="min-width:{4.4 * inches:.0f}rem;max-width:{6.5 * inches:.0f}rem"'
    return re.sub(r' (width|height)="[\d.]+pt"', "", text, count=2).replace(
        "<svg", f"<svg {size}", 1
    )


# Text.


def _study_section(study: str, rows: Sequence[Line]) -> str:
    parts = [f"<section><h2>{html.escape(study)}</h2>", _table(table_of(rows))]
    for svgs, caption in _figures(rows):
        panels = f"<div class=panels>{''.join(svgs)}</div>"
        parts.append(f"<figure>{panels}<figcaption>{html.escape(caption)}</figcaption></figure>")
    parts.append(
        f"<details><summary>Times and parameters</summary>{_table(_details(rows))}</details>"
    )
    return "\n".join([*parts, "</section>"])


def _details(rows: Sequence[Line]) -> Table:
    """What else is known of each method on each data set."""
    lines = []
    for (name, method), entry in summarize(rows).items():
        own = [row for row in rows if (row["dataset"], row["method"]) == (name, method)]
        chosen = own[0].get("parameters", {})
        lines.append([
            name, method, str(entry), f"{np.mean([r['train_error'] for r in own]):.1f}",
            str(entry.trials), f"{np.mean([r['fit_seconds'] for r in own]):.3g}",
            f"{np.mean([r['predict_seconds'] for r in own]):.3g}",
            f"{np.mean([r['cells'] for r in own]):.3g}",
            own[0].get("protocol", ""), own[0].get("source", ""),
            ", ".join(f"{key}={value}" for key, value in chosen.items()),
        ])  # fmt: skip
    columns = [
        "data set", "method", "error, %", "training error, %", "trials", "fit, s", "predict, s",
        "cells", "protocol", "source", "parameters",
    ]  # fmt: skip
    return Table("Means over trials", columns, lines, [])


def _table(table: Table) -> str:
    """A table whose columns sort."""
    heads = "".join(
        f'<th scope="col"><button type="button">{html.escape(c)}</button></th>'
        for c in table.columns
    )
    body = "".join(
        "<tr>" + "".join(_data_cell(cell) for cell in row) + "</tr>" for row in table.rows
    )
    notes = "".join(f"<p class=note>{html.escape(note)}</p>" for note in table.notes)
    return (
        f"<p class=note>{html.escape(table.title)}</p><div class=scroll><table class=sortable>"
        f"<thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></div>{notes}"
    )


def _data_cell(text: str) -> str:
    """A cell; one that starts with a number sorts by it."""
    number = _LEADING_NUMBER.match(text)
    shown = html.escape(text)
    if text.split(" ")[0] in ("green", "yellow", "red"):
        return f'<td><span class="dot {text.split(" ")[0]}"></span>{shown}</td>'
    return (
        f'<td class=number data-value="{number[1]}">{shown}</td>' if number else f"<td>{shown}</td>"
    )


def _facts(rows: Sequence[Line]) -> str:
    """Where the results come from."""
    versions = dict(next((row["versions"] for row in rows if row.get("versions")), {}))
    machine = next((row["machine"] for row in rows if row.get("machine")), "")
    facts = [
        f"{len(rows)} trials on {len({row['dataset'] for row in rows})} data sets",
        ", ".join(f"{name} {number}" for name, number in versions.items()),
        machine,
    ]
    return f"<p>{html.escape('; '.join(fact for fact in facts if fact))}.</p>"


def _missing_note(names: list[str]) -> str:
    if not names:
        return ""
    return (
        f"<p class=note>No model is shown of {html.escape(', '.join(names))}: the series are not "
        "here.</p>"
    )


def _json(data: Any) -> str:
    """JSON that can stand in a script element."""
    return json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")


def _part(name: str) -> str:
    return (resources.files(__package__) / "page" / name).read_text("utf-8")


def _fill(name: str, **parts: str) -> str:
    """A template with what stands between double braces replaced."""
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], _part(name))
