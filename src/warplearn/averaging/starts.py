"""Where a search for a mean starts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from warplearn._kernels.drivers.evaluate import evaluate, evaluate_pairs
from warplearn.averaging.objective import Array, Objective
from warplearn.averaging.spaces import SPACES
from warplearn.elastic.costs import COSTS
from warplearn.registry import choose
from warplearn.series.chunks import total
from warplearn.series.collection import SeriesCollection, single
from warplearn.series.lengths import resample
from warplearn.series.symbols import Alphabet, is_symbolic

_MEDOID_CANDIDATES = 256


# A way to choose the first mean, a series (time, channels), of a given length if it matters.
Start: TypeAlias = Callable[[Objective, int | None, np.random.RandomState], Array]


def _medoid(objective: Objective, length: int | None, rng: np.random.RandomState) -> Array:
    cases = np.flatnonzero(objective.weights)
    if len(cases) > _MEDOID_CANDIDATES:
        cases = np.sort(rng.choice(cases, _MEDOID_CANDIDATES, replace=False))
    among = objective.X[cases]
    x, lengths, band, n_jobs = among.values, among.lengths, objective.band, objective.n_jobs
    if COSTS.about(objective.cost).symmetric:
        pairs = evaluate_pairs(objective.cost, x, lengths, band=band, n_jobs=n_jobs)
    else:
        pairs = evaluate(objective.cost, x, lengths, x, lengths, band=band, n_jobs=n_jobs)
    to_each = pairs.values.T
    return np.array(among.elements(int(np.argmax(to_each @ objective.weights[cases]))))


def _random(objective: Objective, length: int | None, rng: np.random.RandomState) -> Array:
    shares = objective.weights / objective.weights.sum()
    return np.array(objective.X.elements(int(rng.choice(len(shares), p=shares))))


def _euclidean(objective: Objective, length: int | None, rng: np.random.RandomState) -> Array:
    X = objective.X
    length = X.max_length if length is None else length

    def weighted_sum(some: SeriesCollection, weights: NDArray[np.float64]) -> Array:
        summed = np.zeros((length, some.n_channels))
        for case, weight in enumerate(weights):
            summed += weight * resample(some.elements(case), length)
        return summed

    mean = total(weighted_sum, X, objective.weights) / objective.weights.sum()
    return np.asarray(mean, X.dtype)


STARTS: dict[str, Start] = {"medoid": _medoid, "random": _random, "euclidean": _euclidean}


def _given(init: Any, X: SeriesCollection, alphabet: Alphabet | None) -> Start:
    """A start that is a series."""
    series = single(init, "init", dtype=X.dtype, alphabet=alphabet if is_symbolic([init]) else None)
    if series.n_channels != X.n_channels:
        raise ValueError(
            f"init must have {X.n_channels} channel(s), as X has, got {series.n_channels}"
        )
    first = series.elements(0)
    return lambda objective, length, rng: first


def first_mean(
    objective: Objective,
    init: Any,
    space: str,
    length: int | None,
    rng: np.random.RandomState,
    alphabet: Alphabet | None = None,
) -> Array:
    """The mean to start from, in the kernels' form."""
    lift = choose(SPACES, space, "space")
    X = objective.X
    start = choose(STARTS, init, "init") if isinstance(init, str) else _given(init, X, alphabet)
    series = start(objective, length, rng)
    return lift(resample(series, len(series) if length is None else length), X.max_length)
