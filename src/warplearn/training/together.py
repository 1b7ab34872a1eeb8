"""Many estimators at a time: trained side by side, and their matrices scored in one go."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from warplearn.elastic.bands import resolve_band
from warplearn.series.chunks import mapped
from warplearn.series.collection import SeriesCollection
from warplearn.series.lengths import fitting_lengths
from warplearn.training.data import TrainingSet
from warplearn.training.matrices import MatrixModel, Operands
from warplearn.training.plan import Array, Start
from warplearn.training.train import train


def train_together(
    estimators: Sequence[Any],
    sets: Sequence[TrainingSet],
    *,
    starts: Sequence[Start | None] | None = None,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> None:
    """Fit each estimator, in place, on a training set of its own: plan, train and adopt.

    With `starts`, each begins at given weights instead of random ones.
    """
    starts = [None] * len(estimators) if starts is None else starts
    shared = np.random.RandomState()
    plans = [
        estimator.plan(data, _generator(estimator.random_state, shared), start)
        for estimator, data, start in zip(estimators, sets, starts, strict=True)
    ]
    solutions = train(plans, n_jobs=n_jobs, verbose=verbose) if plans else []
    for estimator, plan, own in zip(estimators, plans, solutions, strict=True):
        estimator.adopt(plan, own)


def _generator(seed: Any, shared: np.random.RandomState) -> np.random.RandomState:
    """As `check_random_state`; to make a generator takes long, so integers seed a shared one."""
    if not isinstance(seed, Integral):
        return check_random_state(seed)
    shared.seed(int(seed))
    return shared


def scores_together(
    models: Sequence[MatrixModel],
    X: SeriesCollection,
    *,
    longer: str = "error",
    n_jobs: int | None = None,
) -> list[Array]:
    """Scores of models whose matrices have one shape, and which have the same band and channels.

    Parameters
    ----------
    models : sequence of fitted models
        Such as do not standardize series.
    X : SeriesCollection
    longer : str
        What is done with series longer than the matrices.

    Returns
    -------
    list of arrays (cases, matrices of the model)
    """
    W = np.concatenate([model.matrices_ for model in models])
    lengths = fitting_lengths(X.lengths, W.shape[1], longer)
    band = resolve_band(models[0].band, lengths, np.array([W.shape[2]]))
    W = W.astype(np.result_type(X.dtype, W.dtype), copy=False)
    operands = Operands(W, band, longer, None, n_jobs, models[0]._derived_channels())
    scores = mapped(operands.scores, X)
    return np.split(scores, np.cumsum([len(model.coef_) for model in models])[:-1], axis=1)
