"""Commands that use a model: predict, evaluate, explain, stream."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, TextIO

import numpy as np
import typer
from rich.table import Table
from rich.text import Text

from warplearn.cli.common import (
    AsJson,
    DataFolder,
    Jobs,
    Output,
    Series,
    Split,
    check_labelled,
    console,
    friendly,
    load_series,
    print_json,
    print_summary,
)
from warplearn.cli.drawing import draw_series
from warplearn.cli.storage import load_model

ModelFile = Annotated[Path, typer.Argument(help="Model, as `fit` or `tune` wrote it.")]


@friendly
def predict(
    model: ModelFile,
    series: Series,
    output: Output = None,
    data: DataFolder = None,
    split: Split = "test",
    jobs: Jobs = -1,
    json: AsJson = False,
) -> None:
    """Print the class of each series, one a line.

    Example: `warplearn predict model.warp WarpedBumps`
    """
    labels = load_model(model, jobs).predict(load_series(series, split, data).X)
    if output is not None:
        output.write_text("".join(f"{label}\n" for label in labels), "utf-8")
    elif json:
        print_json(labels)
    else:
        typer.echo("\n".join(map(str, labels)))


@friendly
def evaluate(
    model: ModelFile,
    series: Series,
    data: DataFolder = None,
    split: Split = "test",
    jobs: Jobs = -1,
    json: AsJson = False,
) -> None:
    """Compare predictions with labels: error and confusion matrix.

    Example: `warplearn evaluate model.warp WarpedBumps --json`
    """
    from sklearn.metrics import confusion_matrix

    fitted, cases = load_model(model, jobs), check_labelled(load_series(series, split, data))
    start = time.perf_counter()
    predicted = fitted.predict(cases.X).astype(str)
    seconds = time.perf_counter() - start
    labels = cases.y.astype(str)
    classes = np.unique(np.concatenate([labels, predicted]))
    matrix = confusion_matrix(labels, predicted, labels=classes)
    error = float(100 * (predicted != labels).mean())
    summary = {"error": error, "cases": len(cases.X), "seconds": seconds}
    if json:
        print_json({**summary, "classes": classes, "confusion": matrix})
        return
    print_summary(summary, json)
    table = Table("is \\ predicted", *classes)
    for name, row in zip(classes, matrix, strict=True):
        table.add_row(name, *map(str, row))
    console().print(table)


def _check_able(model: Any, method: str, done: str) -> None:
    if not hasattr(model, method):
        raise ValueError(f"an elastic linear classifier can be {done}, {type(model).__name__} not")


@friendly
def explain(
    model: ModelFile,
    series: Series,
    case: Annotated[int, typer.Option(min=0, help="Which series, from 0.")] = 0,
    top: Annotated[int, typer.Option(min=1, help="How many time steps to list.")] = 5,
    data: DataFolder = None,
    split: Split = "test",
    jobs: Jobs = -1,
    json: AsJson = False,
) -> None:
    """Show how much each time step contributes to the decision on a series.

    Contributions and the bias add up to the decision value.  With more than two classes they are
    those for the predicted class.

    Example: `warplearn explain model.warp WarpedBumps --case 3`
    """
    fitted, cases = load_model(model, jobs), load_series(series, split, data)
    _check_able(fitted, "explain", "explained")
    if case >= len(cases.X):
        raise typer.BadParameter(
            f"must be less than {len(cases.X)}, the number of series, got {case}",
            param_hint="--case",
        )
    one = cases.X[[case]]
    label = fitted.predict(one)[0]
    contributions, bias = fitted.explain(one)
    if len(fitted.classes_) > 2:
        place = int(np.flatnonzero(fitted.classes_ == label)[0])
        contributions, bias = contributions[place], float(bias[place])
    steps = np.asarray(contributions[0], np.float64)
    over_time = steps if steps.ndim == 1 else steps.sum(axis=0)
    summary = {
        "case": case, "predicted": label, "label": cases.y[case] if len(cases.y) else None,
        "decision": float(over_time.sum() + bias), "bias": float(bias),
    }  # fmt: skip
    if json:
        print_json({**summary, "contributions": steps})
        return
    print_summary({**summary, "case": f"{case} of {cases.name}"}, json)
    _draw_lines({"series": one.values[0, :, 0].astype(np.float64), "contributions": over_time})
    for step in np.argsort(-np.abs(over_time), kind="stable")[:top]:
        console().print(f"step {step}: {over_time[step]:+.4g}")


def _draw_lines(lines: dict[str, Any]) -> None:
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
        yield number, None if not fields or fields == ["reset"] else fields


@friendly
def stream(model: ModelFile, json: AsJson = False) -> None:
    """Read samples from standard input, and print the decision after each as it arrives.

    A line is a sample, its channels separated by commas or blanks; an empty line begins a new
    series.  A line of output has the number of samples so far, the decision value (one for each
    class, if there are more than two) and the class.

    Example: `tail -f sensor.txt | warplearn stream model.warp`
    """
    fitted = load_model(model)
    _check_able(fitted, "stream", "streamed")
    online = fitted.stream()
    for number, fields in _samples(sys.stdin):
        if fields is None:
            online.reset()
            continue
        try:
            decision = np.atleast_1d(online.push([float(field) for field in fields]))
        except ValueError as error:
            raise ValueError(f"line {number} of standard input: {error}") from None
        outputs = decision if len(decision) == 1 else decision[None]
        label = fitted.classes_[fitted.polarity_.classes_of(outputs)][0]
        if json:
            value = decision[0] if len(decision) == 1 else decision
            print_json({"samples": online.n_samples, "decision": value, "class": label})
        else:
            values = "\t".join(f"{value:.6g}" for value in decision)
            typer.echo(f"{online.n_samples}\t{values}\t{label}")
        sys.stdout.flush()


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    for command in (predict, evaluate, explain, stream):
        app.command()(command)
