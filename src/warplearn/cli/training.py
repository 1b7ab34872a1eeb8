"""Commands that train a classifier: fit and tune."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from warplearn import catalogue
from warplearn.cli.common import (
    check_classes,
    collect_warnings,
    estimator_for,
    load_series,
    make,
    parse_settings,
    print_json,
    print_summary,
    table_of,
)
from warplearn.cli.options import AsJson, Jobs, Seed, TrainReading, friendly
from warplearn.cli.progress import fit_with_progress, working
from warplearn.cli.storage import save_model, size_of
from warplearn.cli.terminal import console, say

if TYPE_CHECKING:
    from warplearn.datasets import Dataset

METHODS = ", ".join(catalogue.commands("classify"))
DEFAULT = "features"  # the most accurate on most data, see docs/features.md
FAMILIES = ("features", "logistic", "svm", "prototypes", "neighbors")  # that `tune` compares

# What `tune` tries without --grid.
_LINEAR: dict[str, list[Any]] = {
    "learning_rate_init": [1.0, 0.3, 0.1, 0.03, 0.01],
    "polarity": ["symmetric", "+", "-"],
    "elasticity": [0.0, 0.1],
}
GRIDS: dict[str, dict[str, list[Any]]] = {
    **dict.fromkeys(("adaline", "logistic", "margin", "perceptron", "svm"), _LINEAR),
    "logistic-cv": {"n_best": [1, 8]},
    "svm-cv": {"n_best": [1, 8]},
    "features": {"n_filters": [2000, None]},
    "lvq": {"learning_rate_init": [0.3, 0.1, 0.03], "n_prototypes": [1, 2, 3]},
    "neighbors": {"n_neighbors": [1, 3, 5], "band": [0.0, 0.05, 0.1, None]},
    "network": {"learning_rate_init": [0.01, 0.003], "elasticity": [0.0, 0.05, 0.1]},
    "prototypes": {"n_prototypes": [1, 2, 3], "band": [0.05, 0.1, None]},
}

Parameters = Annotated[
    list[str] | None,
    typer.Option("-p", "--param", help="Parameter of the estimator, NAME=VALUE; may be repeated."),
]
Train = Annotated[str, typer.Argument(help="Labelled series: a file or the name of a data set.")]
Written = Annotated[Path, typer.Option("-o", "--output", help="Model to write, .warp.")]


def _describe(model: Any, data: Dataset, path: Path) -> dict[str, Any]:
    """A summary of a model that was fitted and written."""
    from warplearn.experiments.measuring import decision_seconds

    error = float(100 * (model.predict(data.X) != data.y).mean())  # compiles what there is
    summary = {
        "estimator": type(model).__name__, "cases": len(data.X), "train_error": error,
        "milliseconds_per_decision": 1000 * decision_seconds(model, data.X),
        "model": str(path), "bytes": path.stat().st_size,
    }  # fmt: skip
    if hasattr(model, "loo_score_"):
        summary["leave-one-out_error"] = 100 * (1 - model.loo_score_)
    if hasattr(model, "solutions_"):
        summary |= {"epochs": model.n_iter_, "ended": model.solutions_[0].reason}
    return summary


@friendly
def fit(
    train: Train,
    output: Written,
    reading: TrainReading,
    method: Annotated[str, typer.Option("-m", "--method", help=f"One of {METHODS}.")] = DEFAULT,
    param: Parameters = None,
    seed: Seed = 0,
    jobs: Jobs = -1,
    json: AsJson = False,
) -> None:
    """Train a classifier and write it to a file.

    The default, random elastic features, is the most accurate on most data. An elastic linear
    classifier (-m logistic) is a hundred times smaller and faster; `warplearn tune` compares them.

    Examples
    --------
    `warplearn fit my.csv -o model.warp`

    `warplearn fit sensors.csv --id machine --time second --label state -o model.warp`

    `warplearn fit GunPoint_TRAIN.tsv -m svm -p elasticity=10% -p alpha=0.01 -o gun.warp`
    """
    cls = estimator_for("classify", method)
    model = make(cls, parse_settings(param or [], "--param"), seed, jobs)
    series = check_classes(load_series(train, reading))
    _find_labels(model, series)
    start = time.perf_counter()
    what = f"fitting {cls.__name__}"
    _, messages = collect_warnings(lambda: fit_with_progress(model, what, series.X, series.y))
    seconds = time.perf_counter() - start
    save_model(model, output)
    summary = {"seconds": seconds, **_describe(model, series, output)}
    for message in messages:
        say(f"warning: {message}", err=True)
    print_summary(summary | ({"warnings": messages} if json else {}), json)


def _find_labels(model: Any, data: Dataset) -> None:
    """Parameters on the command line name classes by text; find their labels."""
    import numpy as np

    from warplearn.base import weights_by_label

    if "class_weight" in model.get_params(deep=False):
        model.class_weight = weights_by_label(model.class_weight, np.unique(data.y))


class _Candidate(NamedTuple):
    """The best of a family in cross-validation, fitted to all series."""

    family: str
    model: Any
    parameters: dict[str, Any]
    cv_error: float
    deviation: float
    n_candidates: int
    seconds: float
    milliseconds: float
    bytes: int

    def row(self) -> dict[str, Any]:
        """For tables and programs."""
        return {
            "family": self.family, "cv_error": self.cv_error, "deviation": self.deviation,
            "parameters": self.parameters, "candidates": self.n_candidates,
            "seconds": self.seconds, "milliseconds_per_decision": self.milliseconds,
            "bytes": self.bytes,
        }  # fmt: skip


@friendly
def tune(
    train: Train,
    output: Written,
    reading: TrainReading,
    method: Annotated[
        list[str] | None,
        typer.Option(
            "-m",
            "--method",
            help=f"Of {METHODS}; may be repeated. Default: {', '.join(FAMILIES)}.",
        ),
    ] = None,
    param: Parameters = None,
    grid: Annotated[
        list[str] | None,
        typer.Option("-g", "--grid", help="Values to try, NAME=VALUE,VALUE,...; may be repeated."),
    ] = None,
    folds: Annotated[int, typer.Option(min=2, help="Of the cross-validation.")] = 5,
    seed: Seed = 0,
    jobs: Jobs = -1,
    json: AsJson = False,
) -> None:
    """Choose a model and its parameters by cross-validation, and write it.

    Families of models are compared on the same folds, each with a grid of parameters of its own.
    The one with the lowest error is taken, and of equals the smallest file. The table shows what
    the others cost and save.

    Examples
    --------
    `warplearn tune my.csv -o best.warp`

    `warplearn tune my.csv -m svm -g learning_rate_init=1,0.1 -g alpha=0.1,0.01 -o best.warp`
    """  # fmt: skip
    families = method or list(FAMILIES)
    given = parse_settings(grid or [], "--grid", several=True)
    fixed = parse_settings(param or [], "--param")
    if (given or fixed) and len(families) > 1:
        raise typer.BadParameter("needs one --method", param_hint="--grid, --param")
    for family in families:
        make(estimator_for("classify", family), {**given, **fixed})  # names unknown parameters
    series = _with_folds(check_classes(load_series(train, reading)), folds)
    found = [
        _search(family, given or GRIDS[family], fixed, series, folds, seed, jobs)
        for family in families
    ]
    ranked = sorted(found, key=lambda each: (round(each.cv_error, 9), each.bytes))
    best = ranked[0]
    save_model(best.model, output)
    why = _why(ranked, folds)
    summary: dict[str, Any] = {
        "chosen": best.family, "because": why, "cv_error": best.cv_error,
        "parameters": best.parameters, "folds": folds,
        "candidates": sum(each.n_candidates for each in found),
        **_describe(best.model, series, output),
    }  # fmt: skip
    if json:
        print_json({**summary, "families": [each.row() for each in ranked]})
        return
    table = table_of("model", "error %", "fit s", "ms/decision", "KB", "parameters")
    for each in ranked:
        settings = ", ".join(f"{name}={value}" for name, value in each.parameters.items())
        table.add_row(
            each.family, f"{each.cv_error:.1f} ± {each.deviation:.1f}", f"{each.seconds:.2g}",
            f"{each.milliseconds:.2g}", f"{each.bytes / 1000:.3g}", settings,
        )  # fmt: skip
    console().print(table)
    print_summary(summary, json)


def _with_folds(data: Dataset, folds: int) -> Dataset:
    """The data set, if each class has enough series."""
    labels = data.y.tolist()
    rare = min(set(labels), key=labels.count)
    if labels.count(rare) < folds:
        raise ValueError(
            f"class {rare!r} of {data.name} has {labels.count(rare)} series, which is fewer than "
            f"{folds} folds: --folds must be at most that"
        )
    return data


def _search(
    family: str,
    grid: dict[str, list[Any]],
    fixed: dict[str, Any],
    data: Dataset,
    folds: int,
    seed: int,
    jobs: int,
) -> _Candidate:
    """The best parameters of a family, in cross-validation."""
    from sklearn.model_selection import ParameterGrid, StratifiedKFold

    from warplearn.experiments.measuring import decision_seconds
    from warplearn.model_selection import ElasticGridSearchCV, makes_plans

    estimator = make(estimator_for("classify", family), fixed, seed, jobs)
    _find_labels(estimator, data)
    in_lanes = makes_plans(estimator)
    total = None if in_lanes else len(ParameterGrid(grid)) * folds
    with working(f"cross-validating {family}", total) as done:

        def accuracy(model: Any, X: Any, y: Any) -> float:
            done()
            return float((model.predict(X) == y).mean())

        search = ElasticGridSearchCV(
            estimator, grid, scoring=None if in_lanes else accuracy,
            cv=StratifiedKFold(folds, shuffle=True, random_state=seed),
            n_jobs=jobs if in_lanes else None,  # others use threads of their own
        )  # fmt: skip
        collect_warnings(lambda: search.fit(data.X, data.y))
        model = search.best_estimator_
        model.predict(data.X)  # compiles what there is
        milliseconds = 1000 * decision_seconds(model, data.X)
    deviation = search.cv_results_["std_test_score"][search.best_index_]
    return _Candidate(
        family, model, search.best_params_, 100 * (1 - search.best_score_),
        100 * float(deviation) / folds**0.5, len(search.cv_results_["params"]),
        search.refit_time_, milliseconds, size_of(model),
    )  # fmt: skip


def _why(ranked: list[_Candidate], folds: int) -> str:
    """What speaks for the chosen family, and for another one."""
    best = ranked[0]
    why = f"{best.family} has the lowest error in {folds}-fold cross-validation"
    if len(ranked) > 1 and abs(ranked[1].cv_error - best.cv_error) < 1e-9:
        why = f"{best.family} is the smallest of those with the lowest error"
    smaller = [each for each in ranked[1:] if each.bytes < best.bytes / 2]
    if smaller:
        other = min(smaller, key=lambda each: each.cv_error)
        size, speed = best.bytes / other.bytes, best.milliseconds / other.milliseconds
        why += (
            f"; {other.family} has {other.cv_error:.1f} %, {size:.2g} times smaller and "
            f"{speed:.2g} times as fast"
        )
    return why


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    for command in (fit, tune):
        app.command()(command)
