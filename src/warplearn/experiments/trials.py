"""Choosing parameters, and trials of a method on a data set, many of them computed together.

A trial is reproducible by hand: its row holds the estimator, all parameters and the seed, and
`Estimator(**parameters, random_state=seed)` fitted on the training series in float32 is the model
of the trial.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import LeaveOneOut, StratifiedKFold

from warplearn.base import weights_by_label
from warplearn.experiments.cells import prediction_cells, training_cells
from warplearn.experiments.data import Data
from warplearn.experiments.measuring import decision_seconds, file_size
from warplearn.experiments.spec import Method, Protocol
from warplearn.model_selection import fit_many, predict_many

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
    """The result of a trial.

    Attributes
    ----------
    error, train_error : float
        In percent.
    parameters : dict
    fit_seconds, predict_seconds : float
    decision_seconds : float
        Of a test series, when all are predicted at once in one thread.
    model_bytes : int, optional
        Of the model file; None if there can be none.
    cells, predict_cells : int
        Of everything, and of the prediction of the test series.
    """

    error: float
    train_error: float
    parameters: dict[str, Any]
    fit_seconds: float
    predict_seconds: float
    decision_seconds: float
    model_bytes: int | None
    cells: int
    predict_cells: int


class Fold(NamedTuple):
    """Training series, and those to judge by, of one collection."""

    train: Indices
    test: Indices


def fixed_parameters(method: Method, data: Data) -> dict[str, Any]:
    """The parameters that are not chosen; polarity "first" becomes the sign it means.

    Said once for the whole training set: in a fold, another case may be the first.  Keys of
    `class_weight` are texts in a file, and become labels.
    """
    parameters = dict(method.parameters)
    estimator = method.make()
    classes = np.unique(data.y[data.train])
    if "class_weight" in parameters:
        parameters["class_weight"] = weights_by_label(parameters["class_weight"], classes)
    if getattr(estimator, "polarity", None) == "first" and len(classes) == 2:
        parameters["polarity"] = "+" if data.y[0] == classes[1] else "-"
    return parameters


def folds_of(data: Data, protocol: Protocol, seed: int) -> list[Fold]:
    """Folds of the training series: stratified, or one for each series if there are few."""
    y = data.y[data.train]
    splitter = (
        LeaveOneOut()
        if len(y) <= protocol.leave_one_out_up_to
        else StratifiedKFold(protocol.folds, shuffle=True, random_state=seed)
    )
    return [Fold(train, test) for train, test in splitter.split(np.zeros(len(y)), y)]


def choose(method: Method, data: Data, protocol: Protocol, seed: int) -> Choice:
    """Choose from the grid by cross-validation on the training series; of equals, the first.

    The best has the fewest wrong predictions in all folds together.
    """
    start = time.perf_counter()
    candidates = method.candidates()
    fixed = {**fixed_parameters(method, data), **method.selecting}
    folds = folds_of(data, protocol, seed)
    X, y = data.X[data.train], data.y[data.train]
    trains = [fold.train for _ in candidates for fold in folds]
    models = [method.make(seed, **{**fixed, **each}) for each in candidates for _ in folds]
    fitted = fit_many(models, X, y, trains, n_jobs=1)
    wrong = np.zeros(len(candidates))
    for index, fold in enumerate(folds):
        predicted = predict_many(fitted[index :: len(folds)], X[fold.test], n_jobs=1)
        wrong += [(labels != y[fold.test]).sum() for labels in predicted]
    best = int(wrong.argmin())
    return Choice(
        candidates[best], 100 * float(wrong[best]) / len(y), time.perf_counter() - start,
        sum(training_cells(m, X.lengths[t]) for m, t in zip(fitted, trains, strict=True)),
        len(fitted),
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
    whole = [Fold(data.train, data.test)]
    folds = [whole if len(data.test) else folds_of(data, protocol, seed) for seed in seeds]
    trains = [fold.train for own in folds for fold in own for _ in candidates]
    models = [
        method.make(seed, **{**fixed, **candidate})
        for seed, own in zip(seeds, folds, strict=True)
        for _ in own
        for candidate in candidates
    ]
    start = time.perf_counter()
    fitted = fit_many(models, data.X[data.train], data.y[data.train], trains, n_jobs=1)
    seconds = (time.perf_counter() - start) / len(seeds)
    outcomes = []
    for own in folds:
        mine, fitted = fitted[: len(own) * len(candidates)], fitted[len(own) * len(candidates) :]
        best, outcome = _judge(mine, own, data, len(candidates))
        parameters = {**fixed, **candidates[best]}
        outcomes.append(outcome._replace(parameters=parameters, fit_seconds=seconds))
    return outcomes


def _judge(
    fitted: Sequence[Any], folds: Sequence[Fold], data: Data, n_candidates: int
) -> tuple[int, Outcome]:
    """The candidate of a trial with the lowest training error, and its errors."""
    start, lengths = time.perf_counter(), data.X.lengths
    wrong = wrong_train = judging = best = 0
    training = sum(
        training_cells(model, lengths[folds[place // n_candidates].train])
        for place, model in enumerate(fitted)
    )
    for place, (train, test) in enumerate(folds):
        group = fitted[place * n_candidates : (place + 1) * n_candidates]
        predicted = predict_many(group, data.X[train], n_jobs=1)
        inside = [int((labels != data.y[train]).sum()) for labels in predicted]
        best = int(np.argmin(inside))
        (labels,) = predict_many([group[best]], data.X[test], n_jobs=1)
        wrong += int((labels != data.y[test]).sum())
        wrong_train += inside[best]
        judging += prediction_cells(group[best], lengths[test], lengths[train])
    spent = time.perf_counter() - start
    outcome = Outcome(
        error=100 * wrong / sum(len(fold.test) for fold in folds),
        train_error=100 * wrong_train / sum(len(fold.train) for fold in folds),
        parameters={},
        fit_seconds=0.0,
        predict_seconds=spent,
        decision_seconds=decision_seconds(group[best], data.X[test]),
        model_bytes=file_size(group[best]),
        cells=training + judging,
        predict_cells=judging,
    )
    return best, outcome


def model_of(method: Method, data: Data, seed: int, chosen: Mapping[str, Any]) -> Any:
    """The model of a trial, fitted on all training series.

    Parameters that are chosen in each trial by the training error are chosen here as well.
    """
    candidates = [dict(chosen)] if chosen or not method.grid else method.candidates()
    fixed = fixed_parameters(method, data)
    models = [method.make(seed, **{**fixed, **candidate}) for candidate in candidates]
    X, y = data.X[data.train], data.y[data.train]
    fitted = fit_many(models, X, y, [np.arange(len(y))] * len(models), n_jobs=1)
    wrong = [(labels != y).sum() for labels in predict_many(fitted, X, n_jobs=1)]
    return fitted[int(np.argmin(wrong))]
