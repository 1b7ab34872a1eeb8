"""Commands for one model: fit, predict, evaluate, tune, explain, stream."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any, TextIO

import numpy as np
import typer
from rich.table import Table
from rich.text import Text
from sklearn.metrics import confusion_matrix
from sklearn.utils.validation import check_is_fitted

import warplearn
from warplearn import datasets
from warplearn.cli.common import (
    AsJson,
    DataFolder,
    Output,
    Seed,
    Split,
    console,
    friendly,
    load_series,
    make,
    named,
    parse_settings,
    print_json,
)
from warplearn.cli.drawing import draw_series
from warplearn.linear_model.classifiers import ElasticLinearClassifier

METHODS = {
    "logistic": "ElasticLogisticRegression",
    "perceptron": "ElasticPerceptron",
    "margin": "ElasticMarginPerceptron",
    "svm": "ElasticLinearSVC",
    "adaline": "ElasticAdaline",
    "network": "ElasticMLPClassifier",
    "features": "ElasticFeatureClassifier",
    "neighbors": "DTWNeighborsClassifier",
    "prototypes": "NearestPrototypeClassifier",
    "lvq": "ElasticLVQClassifier",
}
GRID = {"eta": [1.0, 0.3, 0.1, 0.03, 0.01], "polarity": ["+", "-"], "elasticity": [0.0, 0.1]}

MethodName = Annotated[str, typer.Option("-m", "--method", help=f"One of {', '.join(METHODS)}.")]
Parameters = Annotated[
    list[str] | None,
    typer.Option("-p", "--param", help="Parameter of the estimator, NAME=VALUE; may be repeated."),
]
ModelFile = Annotated[Path, typer.Argument(help="Model, as `fit` or `tune` wrote it.")]
Train = Annotated[str, typer.Argument(help="Labelled series: a file or the name of a data set.")]
Series = Annotated[str, typer.Argument(help="Series: a file or the name of a data set.")]
Written = Annotated[Path, typer.Option("-o", "--output", help="Model to write, .skops.")]


def save_model(model: Any, path: Path) -> None:
    """Write a model, whole or not at all."""
    import skops.io

    part = path.with_name(f"{path.name}.part")
    try:
        skops.io.dump(model, part)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def load_model(path: Path) -> Any:
    """Read a model; a file with anything but warplearn's own classes is refused."""
    import skops.io

    if not path.is_file():
        raise FileNotFoundError(f"no model {str(path)!r}")
    try:
        unknown = skops.io.get_untrusted_types(file=path)
        strange = [name for name in unknown if not name.startswith("warplearn.")]
        if strange:
            raise ValueError(f"{path} holds {', '.join(strange)}, which a model of ours does not")
        model = skops.io.load(path, trusted=unknown)
    except ValueError:
        raise
    except Exception as error:  # skops passes on whatever its parts raise on a damaged file
        raise ValueError(f"{path} is no model: {type(error).__name__}: {error}") from None
    if not hasattr(model, "predict"):
        raise ValueError(f"{path} is no model but a {type(model).__name__}")
    check_is_fitted(model)
    return model


def error_of(model: Any, data: datasets.Dataset) -> float:
    """Error in percent."""
    return float(100 * (model.predict(data.X) != data.y).mean())


def check_labelled(data: datasets.Dataset) -> datasets.Dataset:
    """Labels there must be."""
    if len(data.y) == 0:
        raise ValueError(f"{data.name} has no labels")
    return data


def _collect_warnings(work: Callable[[], Any]) -> tuple[Any, list[str]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = work()
    return result, list(dict.fromkeys(str(warning.message) for warning in caught))


def _report_fit(model: Any, data: datasets.Dataset, path: Path, facts: dict[str, Any]) -> None:
    facts |= {
        "estimator": type(model).__name__, "cases": len(data.X),
        "train_error": error_of(model, data), "model": str(path), "bytes": path.stat().st_size,
    }  # fmt: skip
    if isinstance(model, ElasticLinearClassifier):
        facts |= {"epochs": model.n_iter_, "ended": model.solutions_[0].reason}


def _print_facts(facts: dict[str, Any], json: bool) -> None:
    if json:
        print_json(facts)
        return
    table = Table.grid(padding=(0, 2))
    for name, value in facts.items():
        if isinstance(value, dict):
            value = ", ".join(f"{key} {each}" for key, each in value.items())
        shown = f"{value:.4g}" if isinstance(value, float) else str(value)
        table.add_row(name.replace("_", " "), f"{shown} %" if name.endswith("error") else shown)
    console().print(table)


@friendly
def fit(
    train: Train,
    output: Written,
    method: MethodName = "logistic",
    param: Parameters = None,
    seed: Seed = 0,
    data: DataFolder = None,
    split: Split = "train",
    json: AsJson = False,
) -> None:
    """Train a classifier and write it to a file.

    Examples
    --------
    `warplearn fit WarpedBumps -o model.skops`

    `warplearn fit GunPoint_TRAIN.tsv -m svm -p eta=0.1 -p lam=0.01 -o gun.skops`
    """
    cls = getattr(warplearn, named(METHODS, method, "--method"))
    model = make(cls, parse_settings(param or [], "--param"), seed)
    series = check_labelled(load_series(train, split, data))
    start = time.perf_counter()
    _, said = _collect_warnings(lambda: model.fit(series.X, series.y))
    seconds = time.perf_counter() - start
    save_model(model, output)
    facts: dict[str, Any] = {"seconds": seconds}
    _report_fit(model, series, output, facts)
    for message in said:
        typer.echo(f"warning: {message}", err=True)
    _print_facts(facts | ({"warnings": said} if json else {}), json)


@friendly
def tune(
    train: Train,
    output: Written,
    method: MethodName = "logistic",
    param: Parameters = None,
    grid: Annotated[
        list[str] | None,
        typer.Option("-g", "--grid", help="Values to try, NAME=VALUE,VALUE,...; may be repeated."),
    ] = None,
    folds: Annotated[int, typer.Option(min=2, help="Of the cross-validation.")] = 5,
    seed: Seed = 0,
    data: DataFolder = None,
    split: Split = "train",
    json: AsJson = False,
) -> None:
    """Choose parameters by cross-validation, train with the best, and write the model.

    All candidates and folds are trained side by side.  Without --grid the learning rate, the
    polarity and the elasticity are chosen.

    Example: `warplearn tune WarpedBumps -m svm -g eta=1,0.1,0.01 -g lam=0.1,0.01 -o best.skops`
    """
    from sklearn.model_selection import StratifiedKFold

    cls = getattr(warplearn, named(METHODS, method, "--method"))
    if not issubclass(cls, ElasticLinearClassifier):
        raise typer.BadParameter(
            f"must be an elastic linear classifier to be tuned, got {method!r}",
            param_hint="--method",
        )
    values = parse_settings(grid or [], "--grid", several=True) or GRID
    make(cls, values)  # says which name is unknown
    estimator = make(cls, parse_settings(param or [], "--param"), seed)
    series = check_labelled(load_series(train, split, data))
    cv = StratifiedKFold(folds, shuffle=True, random_state=seed)
    search = warplearn.ElasticGridSearchCV(estimator, values, cv=cv)
    start = time.perf_counter()
    _collect_warnings(lambda: search.fit(series.X, series.y))
    seconds = time.perf_counter() - start
    save_model(search.best_estimator_, output)
    results = search.cv_results_
    best = np.argsort(results["rank_test_score"], kind="stable")[:10]
    facts: dict[str, Any] = {
        "seconds": seconds, "candidates": len(results["params"]), "folds": folds,
        "cv_error": 100 * (1 - search.best_score_), "parameters": search.best_params_,
    }  # fmt: skip
    _report_fit(search.best_estimator_, series, output, facts)
    if json:
        facts["best"] = [
            {"parameters": results["params"][i], "cv_error": 100 * (1 - score)}
            for i, score in zip(best, results["mean_test_score"][best], strict=True)
        ]
        print_json(facts)
        return
    table = Table("error %", *values)
    for i in best:
        row = (f"{results['params'][i].get(name, '')}" for name in values)
        table.add_row(f"{100 * (1 - results['mean_test_score'][i]):.1f}", *row)
    console().print(table)
    _print_facts(facts, json)


@friendly
def predict(
    model: ModelFile,
    series: Series,
    output: Output = None,
    data: DataFolder = None,
    split: Split = "test",
    json: AsJson = False,
) -> None:
    """Print the class of each series, one a line.

    Example: `warplearn predict model.skops WarpedBumps`
    """
    labels = load_model(model).predict(load_series(series, split, data).X)
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
    json: AsJson = False,
) -> None:
    """Compare predictions with labels: error and confusion matrix.

    Example: `warplearn evaluate model.skops WarpedBumps --json`
    """
    fitted, found = load_model(model), check_labelled(load_series(series, split, data))
    start = time.perf_counter()
    predicted = fitted.predict(found.X)
    seconds = time.perf_counter() - start
    classes = np.unique(np.concatenate([found.y.astype(str), predicted.astype(str)]))
    matrix = confusion_matrix(found.y.astype(str), predicted.astype(str), labels=classes)
    error = float(100 * (predicted.astype(str) != found.y.astype(str)).mean())
    facts = {"error": error, "cases": len(found.X), "seconds": seconds}
    if json:
        print_json({**facts, "classes": classes, "confusion": matrix})
        return
    _print_facts(facts, json)
    table = Table("is \\ predicted", *classes)
    for name, row in zip(classes, matrix, strict=True):
        table.add_row(name, *map(str, row))
    console().print(table)


@friendly
def explain(
    model: ModelFile,
    series: Series,
    case: Annotated[int, typer.Option(min=0, help="Which series, from 0.")] = 0,
    top: Annotated[int, typer.Option(min=1, help="How many time steps to list.")] = 5,
    data: DataFolder = None,
    split: Split = "test",
    json: AsJson = False,
) -> None:
    """Show how much each time step contributes to the decision on a series.

    Contributions and the bias add up to the decision value.  With more than two classes they are
    those for the predicted class.

    Example: `warplearn explain model.skops WarpedBumps --case 3`
    """
    fitted, found = load_model(model), load_series(series, split, data)
    if not isinstance(fitted, ElasticLinearClassifier):
        raise ValueError(
            f"an elastic linear classifier can be explained, {type(fitted).__name__} not"
        )
    if case >= len(found.X):
        raise typer.BadParameter(
            f"must be less than {len(found.X)}, the number of series, got {case}",
            param_hint="--case",
        )
    one = found.X[[case]]
    label = fitted.predict(one)[0]
    parts, bias = fitted.explain(one)
    if len(fitted.classes_) > 2:
        place = int(np.flatnonzero(fitted.classes_ == label)[0])
        parts, bias = parts[place], float(bias[place])
    steps = np.asarray(parts[0], np.float64)
    over_time = steps if steps.ndim == 1 else steps.sum(axis=0)
    facts = {
        "case": case, "predicted": label, "label": found.y[case] if len(found.y) else None,
        "decision": float(over_time.sum() + bias), "bias": float(bias),
    }  # fmt: skip
    if json:
        print_json({**facts, "contributions": steps})
        return
    _print_facts({**facts, "case": f"{case} of {found.name}"}, json)
    screen = console()
    plain, width = screen.options.ascii_only, max(10, screen.width - 20)
    values = one.values[0, :, 0].astype(np.float64)
    table = Table.grid(padding=(0, 2))
    for name, line in (("series", values), ("contributions", over_time)):
        bars = draw_series(
            line, float(line.min()), float(line.max()), ascii_only=plain, width=width
        )
        table.add_row(name, Text(bars, "cyan", no_wrap=True))
    screen.print(table)
    for step in np.argsort(-np.abs(over_time), kind="stable")[:top]:
        screen.print(f"step {step}: {over_time[step]:+.4g}")


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

    Example: `tail -f sensor.txt | warplearn stream model.skops`
    """
    fitted = load_model(model)
    if not isinstance(fitted, ElasticLinearClassifier):
        raise ValueError(
            f"an elastic linear classifier can be streamed, {type(fitted).__name__} not"
        )
    online = fitted.stream()
    for number, fields in _samples(sys.stdin):
        if fields is None:
            online.reset()
            continue
        try:
            decision = np.atleast_1d(online.push([float(field) for field in fields]))
        except ValueError as error:
            raise ValueError(f"line {number} of standard input: {error}") from None
        label = fitted._classes_of(decision if len(decision) == 1 else decision[None])[0]
        if json:
            shown = decision[0] if len(decision) == 1 else decision
            print_json({"samples": online.n_samples, "decision": shown, "class": label})
        else:
            values = "\t".join(f"{value:.6g}" for value in decision)
            typer.echo(f"{online.n_samples}\t{values}\t{label}")
        sys.stdout.flush()


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    for command in (fit, predict, evaluate, tune, explain, stream):
        app.command()(command)
