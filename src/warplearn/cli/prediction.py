"""Commands that use a model: predict, evaluate, explain, stream."""

from __future__ import annotations

import csv
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from warplearn.cli.common import (
    check_labelled,
    load_series,
    print_json,
    print_summary,
    table_of,
)
from warplearn.cli.drawing import draw_series
from warplearn.cli.options import AsJson, Jobs, Output, Series, TestReading, friendly
from warplearn.cli.progress import working
from warplearn.cli.storage import load_model
from warplearn.cli.streams import stream_of
from warplearn.cli.terminal import console, field, say

if TYPE_CHECKING:
    from warplearn.datasets import Dataset

ModelFile = Annotated[Path, typer.Argument(help="Model, as `fit` or `tune` wrote it.")]
_MOST_CLASSES = 10  # of a confusion matrix that fits in a terminal
_MOST_CONFUSIONS = 20


def cases_for(model: Any, source: str, reading: TestReading) -> Dataset:
    """The series, if the model can take them."""
    cases = load_series(source, reading)
    if cases.X.n_channels != model.n_channels_in_:
        raise ValueError(
            f"{source} has {cases.X.n_channels} channels, the model was trained on "
            f"{model.n_channels_in_}"
        )
    if not cases.X.is_ragged and cases.X.max_length == model.n_features_in_ + 1:
        say(
            f"warning: all series are one step longer than the training series "
            f"({model.n_features_in_}): is a column of labels or identifiers among the values?",
            err=True,
        )
    return cases


@friendly
def predict(
    model: ModelFile,
    series: Series,
    reading: TestReading,
    proba: Annotated[bool, typer.Option("--proba", help="Probabilities of the classes.")] = False,
    output: Output = None,
    jobs: Jobs = -1,
    json: AsJson = False,
) -> None:
    """Print the class of each series, one a line.

    With --proba a line has the class and the probability of each class, separated by tabs, below a
    line with their names; a file that ends in .csv has commas.

    Examples
    --------
    `warplearn predict model.warp new.csv`

    `warplearn predict model.warp new.csv --proba -o classes.csv`
    """
    fitted = load_model(model, jobs)
    if proba and not hasattr(fitted, "predict_proba"):
        raise ValueError(
            f"{type(fitted).__name__} has no probabilities; the methods features, logistic, "
            "logistic-cv, network and neighbors have"
        )
    cases = cases_for(fitted, series, reading)
    with working(f"classifying {len(cases.X)} series"):
        labels = fitted.predict(cases.X)
        shares = fitted.predict_proba(cases.X) if proba else None
    if json:
        answer = {"predicted": labels, "classes": fitted.classes_, "probabilities": shares}
        print_json(answer if proba else labels)
        return
    lines = [[str(label)] for label in labels]
    if shares is not None:
        rows = zip(lines, shares, strict=True)
        lines = [[*line, *(f"{share:.6g}" for share in row)] for line, row in rows]
        lines.insert(0, ["predicted", *map(str, fitted.classes_)])
    _write_lines(lines, output)


def _write_lines(lines: list[list[str]], output: Path | None) -> None:
    """Print lines of fields, or write them to a file."""
    if output is not None and output.suffix == ".csv":
        with output.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(lines)
        return
    text = "\n".join("\t".join(map(field, line)) for line in lines)  # one line for each series
    if output is None:
        say(text)
    else:
        output.write_text(text + "\n", "utf-8")


@friendly
def evaluate(
    model: ModelFile,
    series: Series,
    reading: TestReading,
    jobs: Jobs = -1,
    json: AsJson = False,
) -> None:
    """Compare predictions with labels: error and confusion matrix.

    Examples
    --------
    `warplearn evaluate model.warp test.csv`

    `warplearn evaluate model.warp WarpedBumps --json`
    """
    import numpy as np
    from sklearn.metrics import confusion_matrix

    fitted = load_model(model, jobs)
    cases = check_labelled(cases_for(fitted, series, reading))
    labels = cases.y.astype(str)
    check_known_labels(labels, fitted.classes_.astype(str), cases.name)
    start = time.perf_counter()
    with working(f"classifying {len(cases.X)} series"):
        predicted = fitted.predict(cases.X).astype(str)
    seconds = time.perf_counter() - start
    classes = np.unique(np.concatenate([labels, predicted]))
    matrix = confusion_matrix(labels, predicted, labels=classes)
    error = float(100 * (predicted != labels).mean())
    summary = {"error": error, "cases": len(cases.X), "seconds": seconds}
    if json:
        print_json({**summary, "classes": classes, "confusion": matrix})
        return
    print_summary(summary, json)
    _show_confusion(classes, matrix)


def check_known_labels(labels: Any, classes: Any, name: str) -> None:
    """Refuse labels none of which the model knows, and name some that it does not."""
    unknown = sorted(set(labels) - set(classes))
    if not unknown:
        return
    if len(unknown) == len(set(labels)):
        raise ValueError(
            f"the labels of {name} ({_listed(unknown)}) are none of the model's classes "
            f"({_listed(classes.tolist())}): every series would count as an error"
        )
    count = sum(label in unknown for label in labels.tolist())
    say(
        f"warning: {count} series have labels that the model does not know, and count as errors: "
        f"{_listed(unknown)}",
        err=True,
    )


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")


def _show_confusion(classes: Any, matrix: Any) -> None:
    """The confusion matrix; of many classes, what was confused most often."""
    if len(classes) <= _MOST_CLASSES:
        table = table_of("is \\ predicted", *classes)
        for name, row in zip(classes, matrix, strict=True):
            table.add_row(name, *map(str, row))
    else:
        table = table_of("series", "are", "predicted")
        counts = [
            (int(count), str(classes[i]), str(classes[j]))
            for i, row in enumerate(matrix)
            for j, count in enumerate(row)
            if i != j and count
        ]
        for count, actual, other in sorted(counts, key=lambda each: -each[0])[:_MOST_CONFUSIONS]:
            table.add_row(str(count), actual, other)
    console().print(table)


@friendly
def explain(
    model: ModelFile,
    series: Series,
    reading: TestReading,
    case: Annotated[int, typer.Option(min=0, help="Which series, from 0.")] = 0,
    top: Annotated[int, typer.Option(min=1, help="How many time steps to list.")] = 5,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Figure to write: .png, .svg or .pdf.")
    ] = None,
    jobs: Jobs = -1,
    json: AsJson = False,
) -> None:
    """Show how much each time step contributes to the decision on a series.

    Elastic linear classifiers take their decision apart exactly: contributions, climbing and bias
    add up to the decision value. Climbing is what the warping path adds where it passes several
    columns at a time step. Of other models, a contribution is what the decision value loses if a
    window of a tenth of the series is flattened. Positive numbers speak for the second class, or
    with more than two classes for the predicted one.

    Examples
    --------
    `warplearn explain model.warp test.csv --case 3`

    `warplearn explain model.warp test.csv --case 3 -o why.png`
    """
    import numpy as np

    from warplearn.plotting import ContributionsDisplay

    fitted = load_model(model, jobs)
    cases = cases_for(fitted, series, reading)
    if case >= len(cases.X):
        raise typer.BadParameter(
            f"must be less than {len(cases.X)}, the number of series, got {case}",
            param_hint="--case",
        )
    one = cases.X[[case]]
    with working("explaining"):
        shown = ContributionsDisplay.from_estimator(fitted, one)
    total = np.asarray(shown.contributions, np.float64)
    climbing = np.zeros(len(total)) if shown.climbing is None else np.asarray(shown.climbing)
    along = total - climbing
    summary = {
        "case": case, "predicted": fitted.predict(one)[0],
        "label": cases.y[case] if len(cases.y) else None, "decision": shown.decision,
        "method": "occlusion" if shown.bias is None else "path", "bias": shown.bias,
    }  # fmt: skip
    if output is not None:
        shown.plot().figure_.savefig(output, dpi=150)
    if json:
        print_json({**summary, "contributions": total, "climbing": climbing})
        return
    if shown.bias is None:
        del summary["bias"]
    else:
        summary["climbing columns"] = _climbs(climbing)
    print_summary({**summary, "case": f"{case} of {cases.name}"}, json)
    _draw_lines({"series": one.values[0, :, 0].astype(np.float64), "contributions": along})
    for step in np.argsort(-np.abs(along), kind="stable")[:top]:
        extra = f" (and climbing {climbing[step]:+.4g})" if climbing[step] else ""
        console().print(f"step {step}: {along[step]:+.4g}{extra}")


def _climbs(climbing: Any) -> str:
    """How much climbing adds in all, and where most of it is."""
    most = int(abs(climbing).argmax())
    return f"{climbing.sum():+.4g} in all; the most is {climbing[most]:+.4g} at step {most}"


def _draw_lines(lines: dict[str, Any]) -> None:
    from rich.table import Table
    from rich.text import Text

    screen = console()
    plain, width = screen.options.ascii_only, max(10, screen.width - 20)
    table = Table.grid(padding=(0, 2))
    for name, line in lines.items():
        bars = draw_series(
            line, float(line.min()), float(line.max()), ascii_only=plain, width=width
        )
        table.add_row(name, Text(bars, "cyan", no_wrap=True))
    screen.print(table)


def _samples(lines: TextIO) -> Iterator[tuple[int, list[str] | None]]:
    """Samples with their line numbers; None where a new series begins."""
    for number, line in enumerate(lines, 1):
        fields = line.replace(",", " ").split()
        yield number, fields or None


@friendly
def stream(model: ModelFile, jobs: Jobs = 1, json: AsJson = False) -> None:
    """Read samples from standard input, and print the decision after each as it arrives.

    A line is a sample, its channels separated by commas or blanks; an empty line begins a new
    series. A line of output has the number of samples so far, the decision value (one for each
    class, if there are more than two) and the class. Elastic linear classifiers answer in
    microseconds; other models predict the series so far again with each sample.

    Example: `tail -f sensor.txt | warplearn stream model.warp`
    """
    import numpy as np

    online = stream_of(load_model(model, jobs))
    for number, fields in _samples(sys.stdin):
        if fields is None:
            online.reset()
            continue
        try:
            decision = np.atleast_1d(online.push([float(field) for field in fields]))
        except ValueError as error:
            raise ValueError(f"line {number} of standard input: {error}") from None
        label = online.label(decision)
        if json:
            value = decision[0] if len(decision) == 1 else decision
            print_json({"samples": online.n_samples, "decision": value, "class": label})
        else:
            values = "\t".join(f"{value:.6g}" for value in decision)
            say(f"{online.n_samples}\t{values}\t{field(label)}")
        sys.stdout.flush()


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    for command in (predict, evaluate, explain, stream):
        app.command()(command)
