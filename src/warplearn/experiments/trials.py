"""Choosing parameters, and trials of a method on a data set, many of them computed together.

A trial is reproducible by hand: its row holds the estimator, all parameters and the seed, and
`Estimator(**parameters, random_state=seed)` fitted on the training series in float32 is the model
of the trial.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import LeaveOneOut, StratifiedKFold

from warplearn.experiments.data import Data
from warplearn.experiments.spec import Method, Protocol
from warplearn.linear_model.classifiers import ElasticLinearClassifier
from warplearn.model_selection import Fit, predict_together, take_apart, train_together
from warplearn.neighbors.nearest import DTWNeighborsClassifier
from warplearn.neighbors.prototypes import ElasticLVQClassifier, NearestPrototypeClassifier
from warplearn.neural_network.mlp import ElasticMLPClassifier
from warplearn.series.collection import SeriesCollection

Indices = NDArray[np.int64]


class Choice(NamedTuple):
    """Parameters chosen on the training series, and what it took.

    Attributes
    ----------
    parameters : dict
    error : float
        Of the cross-validation, in percent.
    seconds : float
    cells : int
    fits : int
    """

    parameters: dict[str, Any]
    error: float
    seconds: float
    cells: int
    fits: int


class Outcome(NamedTuple):
    """What a trial found; errors in percent, cells of all and of the test series' prediction."""

    error: float
    train_error: float
    parameters: dict[str, Any]
    fit_seconds: float
    predict_seconds: float
    cells: int
    predict_cells: int


class _Part(NamedTuple):
    """Training series, and those to judge by, of one collection."""

    train: Indices
    test: Indices


def fixed_parameters(method: Method, data: Data) -> dict[str, Any]:
    """The parameters that are not chosen; polarity "first" becomes the sign it means.

    Said once for the whole training set: in a fold, another case may be the first.
    """
    parameters = dict(method.parameters)
    estimator = method.make()
    classes = np.unique(data.y[data.train])
    if getattr(estimator, "polarity", None) == "first" and len(classes) == 2:
        parameters["polarity"] = "+" if data.y[0] == classes[1] else "-"
    return parameters


def folds_of(data: Data, protocol: Protocol, seed: int) -> list[_Part]:
    """Folds of the training series: stratified, or one for each series if there are few."""
    y = data.y[data.train]
    splitter = (
        LeaveOneOut()
        if len(y) <= protocol.leave_one_out_up_to
        else StratifiedKFold(protocol.folds, shuffle=True, random_state=seed)
    )
    return [_Part(train, test) for train, test in splitter.split(np.zeros(len(y)), y)]


def choose(method: Method, data: Data, protocol: Protocol, seed: int) -> Choice:
    """Choose from the grid by cross-validation on the training series; of equals, the first."""
    start = time.perf_counter()
    candidates = method.candidates()
    fixed = {**fixed_parameters(method, data), **method.selecting}
    folds = folds_of(data, protocol, seed)
    X, y = data.X[data.train], data.y[data.train]
    models = [
        method.make(**{**fixed, **candidate, "random_state": seed})
        for candidate in candidates
        for _ in folds
    ]
    fits, _ = _train(models, [fold.train for _ in candidates for fold in folds], X, y)
    wrong = np.zeros(len(candidates))
    for index, fold in enumerate(folds):
        for candidate, predicted in enumerate(
            predict_together(fits[index :: len(folds)], X[fold.test], n_jobs=1)
        ):
            wrong[candidate] += (predicted != y[fold.test]).sum()
    best = int(wrong.argmin())
    return Choice(
        candidates[best], 100 * float(wrong[best]) / len(y), time.perf_counter() - start,
        sum(_training_cells(fit, X) for fit in fits), len(fits),
    )  # fmt: skip


def run_trials(
    method: Method,
    data: Data,
    protocol: Protocol,
    seeds: Sequence[int],
    chosen: Mapping[str, Any],
) -> list[Outcome]:
    """Trials with these seeds.

    With `chosen` empty and a grid, parameters are chosen in each trial by the training error.
    """
    candidates = [dict(chosen)] if chosen or not method.grid else method.candidates()
    fixed = fixed_parameters(method, data)
    X, y = data.X[data.train], data.y[data.train]
    whole = [_Part(data.train, data.test)]
    parts = [whole if len(data.test) else folds_of(data, protocol, seed) for seed in seeds]
    settings = [
        (candidate, seed, part.train)
        for seed, own in zip(seeds, parts, strict=True)
        for part in own
        for candidate in candidates
    ]
    models = [
        _with_seed(method.make(**{**fixed, **candidate}), seed) for candidate, seed, _ in settings
    ]
    trained, seconds = _train(models, [train for *_, train in settings], X, y)
    outcomes = []
    for index, own in enumerate(parts):
        per_trial = len(own) * len(candidates)
        mine = trained[index * per_trial : (index + 1) * per_trial]
        start, looked, wrong, wrong_train, best = time.perf_counter(), 0, 0, 0, 0
        for place, part in enumerate(own):
            group = mine[place * len(candidates) : (place + 1) * len(candidates)]
            inside = [(p != y[part.train]).sum() for p in _predict(group, X[part.train])]
            best = int(np.argmin(inside))
            series, labels = (data.X, data.y) if len(data.test) else (X, y)
            (predicted,) = _predict([group[best]], series[part.test])
            wrong += int((predicted != labels[part.test]).sum())
            wrong_train += int(inside[best])
            looked += prediction_cells(_model(group[best]), series[part.test])
        judged = sum(len(part.test) for part in own)
        outcomes.append(
            Outcome(
                100 * wrong / judged,
                100 * wrong_train / sum(len(part.train) for part in own),
                {**fixed, **candidates[best]},
                seconds / len(seeds),
                time.perf_counter() - start,
                looked + sum(_training_cells(fit, X) for fit in mine),
                looked,
            )
        )
    return outcomes


def _with_seed(model: Any, seed: int) -> Any:
    """Models without chance have no seed."""
    return model.set_params(random_state=seed) if "random_state" in model.get_params() else model


# Training and prediction, side by side where models allow it.


def _train(
    models: Sequence[Any], trains: Sequence[Indices], X: SeriesCollection, y: NDArray[Any]
) -> tuple[list[Any], float]:
    """Trained models, linear ones as `Fit`, and the seconds it took."""
    start = time.perf_counter()
    if all(isinstance(model, ElasticLinearClassifier) for model in models):
        weights = np.ones(len(X))
        fits = [
            take_apart(model, train, X, y, weights)
            for model, train in zip(models, trains, strict=True)
        ]
        train_together(fits, X, y, weights, n_jobs=1)
        return list(fits), time.perf_counter() - start
    for model, train in zip(models, trains, strict=True):
        model.set_params(n_jobs=1).fit(X[train], y[train])
    return list(models), time.perf_counter() - start


def _training_cells(fit: Any, X: SeriesCollection) -> int:
    """Cells of the forward grids: each epoch scores each series for its step and for the risk.

    What other models take is not counted.
    """
    if not isinstance(fit, Fit):
        return 0
    epochs = sum(solution.n_epochs * len(solution.W) for solution in fit.estimator.solutions_)
    return 2 * epochs * int(X.lengths[fit.train].sum()) * int(fit.estimator.coef_.shape[2])


def _model(trained: Any) -> Any:
    return trained.estimator if isinstance(trained, Fit) else trained


def _predict(trained: Sequence[Any], X: SeriesCollection) -> list[NDArray[Any]]:
    if isinstance(trained[0], Fit):
        return predict_together(trained, X, n_jobs=1)
    return [model.predict(X) for model in trained]


@singledispatch
def prediction_cells(model: Any, X: SeriesCollection) -> int:
    """Cells of the grids that prediction computes; 0 of models that are not only grids."""
    return 0


@prediction_cells.register(ElasticLinearClassifier)
@prediction_cells.register(ElasticMLPClassifier)
def _matrix_cells(model: Any, X: SeriesCollection) -> int:
    return int(X.lengths.sum()) * model.coef_.shape[2] * len(model.coef_)


@prediction_cells.register(NearestPrototypeClassifier)
@prediction_cells.register(ElasticLVQClassifier)
def _prototype_cells(model: Any, X: SeriesCollection) -> int:
    return int(X.lengths.sum()) * model.prototypes_.shape[-1] * len(model.prototypes_)


@prediction_cells.register
def _neighbor_cells(model: DTWNeighborsClassifier, X: SeriesCollection) -> int:
    """Of all pairs; bounds save a part of them."""
    return int(X.lengths.sum()) * int(model._lengths.sum())
