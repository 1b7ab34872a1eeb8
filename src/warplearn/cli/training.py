"""Commands that train a classifier: fit and tune."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from rich.table import Table

from warplearn import catalogue
from warplearn.cli.common import (
    AsJson,
    DataFolder,
    Jobs,
    Seed,
    Split,
    check_labelled,
    console,
    estimator_for,
    friendly,
    load_series,
    make,
    parse_settings,
    print_json,
    print_summary,
)
from warplearn.cli.storage import save_model

if TYPE_CHECKING:
    from warplearn.datasets import Dataset

METHODS = ", ".join(catalogue.commands("classify"))

# What `tune` tries without --grid.
_LINEAR: dict[str, list[Any]] = {
    "learning_rate_init": [1.0, 0.3, 0.1, 0.03, 0.01],
    "polarity": ["symmetric", "+", "-"],
    "elasticity": [0.0, 0.1],
}
GRIDS: dict[str, dict[str, list[Any]]] = {
    **dict.fromkeys(("adaline", "logistic", "margin", "perceptron", "svm"), _LINEAR),
    "features": {"n_filters": [1000, 5000]},
    "lvq": {"learning_rate_init": [0.3, 0.1, 0.03], "n_prototypes": [1, 2, 3]},
    "neighbors": {"n_neighbors": [1, 3, 5], "band": [0.0, 0.05, 0.1, None]},
    "network": {"learning_rate_init": [0.01, 0.003], "elasticity": [0.0, 0.05, 0.1]},
    "prototypes": {"n_prototypes": [1, 2, 3], "band": [0.05, 0.1, None]},
}

MethodName = Annotated[str, typer.Option("-m", "--method", help=f"One of {METHODS}.")]
Parameters = Annotated[
    list[str] | None,
    typer.Option("-p", "--param", help="Parameter of the estimator, NAME=VALUE; may be repeated."),
]
Train = Annotated[str, typer.Argument(help="Labelled series: a file or the name of a data set.")]
Written = Annotated[Path, typer.Option("-o", "--output", help="Model to write, .warp.")]


def _collect_warnings(work: Callable[[], Any]) -> tuple[Any, list[str]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = work()
    return result, list(dict.fromkeys(str(warning.message) for warning in caught))


def _describe(model: Any, data: Dataset, path: Path) -> dict[str, Any]:
    """A summary of a model that was fitted and written."""
    error = float(100 * (model.predict(data.X) != data.y).mean())
    summary = {
        "estimator": type(model).__name__, "cases": len(data.X), "train_error": error,
        "model": str(path), "bytes": path.stat().st_size,
    }  # fmt: skip
    if hasattr(model, "solutions_"):
        summary |= {"epochs": model.n_iter_, "ended": model.solutions_[0].reason}
    return summary


@friendly
def fit(
    train: Train,
    output: Written,
    method: MethodName = "logistic",
    param: Parameters = None,
    seed: Seed = 0,
    data: DataFolder = None,
    split: Split = "train",
    jobs: Jobs = -1,
    json: AsJson = False,
) -> None:
    """Train a classifier and write it to a file.

    Examples
    --------
    `warplearn fit WarpedBumps -o model.warp`

    `warplearn fit GunPoint_TRAIN.tsv -m svm -p elasticity=10% -p alpha=0.01 -o gun.warp`
    """
    cls = estimator_for("classify", method)
    model = make(cls, parse_settings(param or [], "--param"), seed, jobs)
    series = check_labelled(load_series(train, split, data))
    start = time.perf_counter()
    _, messages = _collect_warnings(lambda: model.fit(series.X, series.y))
    seconds = time.perf_counter() - start
    save_model(model, output)
    summary = {"seconds": seconds, **_describe(model, series, output)}
    for message in messages:
        typer.echo(f"warning: {message}", err=True)
    print_summary(summary | ({"warnings": messages} if json else {}), json)


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
    jobs: Jobs = -1,
    json: AsJson = False,
) -> None:
    """Choose parameters by cross-validation, train with the best, and write the model.

    Candidates and folds of gradient-trained classifiers are trained side by side.  Without --grid
    each method has parameters and values of its own, such as learning rate, polarity and
    elasticity for linear classifiers.

    Example: `warplearn tune WarpedBumps -m svm -g learning_rate_init=1,0.1 -g alpha=0.1,0.01
    -o best.warp`
    """
    from sklearn.model_selection import StratifiedKFold

    from warplearn.model_selection import ElasticGridSearchCV

    cls = estimator_for("classify", method)
    values = parse_settings(grid or [], "--grid", several=True) or GRIDS.get(method, {})
    if not values:
        raise typer.BadParameter(f"is needed for {method}", param_hint="--grid")
    make(cls, values)  # names unknown parameters
    estimator = make(cls, parse_settings(param or [], "--param"), seed, jobs)
    series = check_labelled(load_series(train, split, data))
    cv = StratifiedKFold(folds, shuffle=True, random_state=seed)
    search = ElasticGridSearchCV(estimator, values, cv=cv, n_jobs=jobs)
    start = time.perf_counter()
    _collect_warnings(lambda: search.fit(series.X, series.y))
    seconds = time.perf_counter() - start
    save_model(search.best_estimator_, output)
    summary: dict[str, Any] = {
        "seconds": seconds, "candidates": len(search.cv_results_["params"]), "folds": folds,
        "cv_error": 100 * (1 - search.best_score_), "parameters": search.best_params_,
        **_describe(search.best_estimator_, series, output),
    }  # fmt: skip
    best = _best_candidates(search.cv_results_)
    if json:
        print_json({**summary, "best": best})
        return
    table = Table("error %", *values)
    for candidate in best:
        chosen = (str(candidate["parameters"].get(name, "")) for name in values)
        table.add_row(f"{candidate['cv_error']:.1f}", *chosen)
    console().print(table)
    print_summary(summary, json)


def _best_candidates(results: dict[str, Any], count: int = 10) -> list[dict[str, Any]]:
    """The best candidates of a search, from the best."""
    best = np.argsort(results["rank_test_score"], kind="stable")[:count]
    return [
        {
            "parameters": results["params"][place],
            "cv_error": 100 * (1 - float(results["mean_test_score"][place])),
        }
        for place in best
    ]


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    for command in (fit, tune):
        app.command()(command)
