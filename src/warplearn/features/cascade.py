"""Predictions in stages: clear series are classified with a part of the features.

Most series need few features to be told apart.  So the fit of a classifier also solves for
regressions on parts of the filters and shapelets, the *stages*, each a part of the next.  A series
is classified by the first stage whose *margin*, the difference between its two largest decision
values, is above a threshold.  What no stage decides is left to the whole model.

Leave-one-out predictions say how much the margin of a stage differs from the one that the whole
model has between the same two classes.  The threshold is some standard deviations of that
difference.  The filters of a stage are random ones: leave-one-out predictions with those that
matter most for the same series would be too good.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from warplearn._kernels.drivers.slide import GROUP
from warplearn._kernels.drivers.windows import Matrices
from warplearn._kernels.simd.threads import blas_threads
from warplearn.features.reduction import Basis, Total, select
from warplearn.features.representations import Array
from warplearn.features.sliding import SlidingFeatures, Standardized
from warplearn.features.solution import Solution, finish_again
from warplearn.series.chunks import CHUNK_BYTES
from warplearn.series.collection import SeriesCollection

DEVIATIONS = 3.0  # of the margin, by which a series is clear
_FEW = 10  # cases: deviations that as many cases tell are doubled, because they are too small
_BLOCK_BYTES = 2**22  # of features that are computed before they are used: they stay cached
_ROWS = 4  # series whose features are multiplied at once


class Stage(NamedTuple):
    """A sum of regressions on a part of the groups.

    Attributes
    ----------
    groups : array of int
        Ascending, numbered as in `Basis`.
    coef : array (targets, features)
        Coefficients of the features of these groups.
    intercept : array (targets,)
    threshold : float
        A series with a larger margin is decided.
    """

    groups: NDArray[np.int64]
    coef: Array
    intercept: Array
    threshold: float


def per_class(decisions: Array) -> Array:
    """One column for each class, also with two classes, which have one target."""
    return np.hstack([-decisions, decisions]) if decisions.shape[1] == 1 else decisions


def _margins(decisions: Array) -> Array:
    """How far the largest decision value of each case is above the second largest."""
    second, first = np.partition(per_class(decisions), -2, axis=1)[:, -2:].T
    margins: Array = first - second
    return margins


def _margin_deviation(loo: Array, of_all: Array, weights: Array) -> float:
    """Deviation between the margins of a stage and the whole model's, for the same two classes."""
    mine, theirs = per_class(loo), per_class(of_all)
    pairs = np.argsort(mine, axis=1)[:, -2:]
    (b, a), (d, c) = (np.take_along_axis(each, pairs, axis=1).T for each in (mine, theirs))
    return float(np.sqrt(np.average((a - b - (c - d)) ** 2, weights=weights)))


def fit_stages(basis: Basis, total: Total, whole: Solution, sizes: Sequence[int]) -> list[Stage]:
    """Stages that have some of the filters, and as large a share of the shapelets.

    Parameters
    ----------
    basis, total
        As for `finish`.
    whole : Solution
        What `finish` returned.
    sizes : sequence of int
        Numbers of filters, ascending.  Stages that would have more than half of the filters, or no
        more groups than the one before, are left out: they save little.
    """
    stages: list[Stage] = []
    n_filters = GROUP * basis.first_groups[1]
    for size in sizes:
        groups = _first_groups(basis, size / n_filters)
        if 2 * size > n_filters or (stages and len(groups) == len(stages[-1].groups)):
            continue
        own = finish_again(*select(basis, total, groups), whole)
        deviation = _margin_deviation(own.loo, whole.loo, total.sample.weights)
        threshold = DEVIATIONS * (1 + _FEW / total.n_cases) * deviation
        stages.append(Stage(groups, own.coef, own.intercept, threshold))
    return stages


def _first_groups(basis: Basis, share: float) -> NDArray[np.int64]:
    """The groups of the first draws, as many of each representation."""
    chosen = []
    for start, features in zip(basis.first_groups, basis.transformers, strict=False):
        kinds, draws = len(features.representations), len(np.unique(features.draws_))
        count = kinds * int(np.ceil(share * draws / kinds))
        chosen.append(start + np.flatnonzero(features.draws_ < count))
    return np.concatenate(chosen)


class Part(NamedTuple):
    """Groups of one transformer that a stage has and those before it have not.

    Attributes
    ----------
    transformer : int
    sweeps : list of Matrices
    coef : array (features, stages x targets)
        Coefficients in this stage and all later ones.
    """

    transformer: int
    sweeps: list[Matrices]
    coef: Array


class Predictor:
    """What a fitted model predicts.

    Parameters
    ----------
    transformers : sequence of SlidingFeatures
        Fitted.
    coef, intercept : arrays (targets, features) and (targets,)
        The whole model.
    stages : sequence of Stage
        What decides before it; each has the groups of those before.
    n_jobs : int, optional
    """

    def __init__(
        self,
        transformers: Sequence[SlidingFeatures],
        coef: Array,
        intercept: Array,
        stages: Sequence[Stage] = (),
        n_jobs: int | None = None,
    ) -> None:
        self._transformers, self._n_jobs = transformers, n_jobs
        self._basis = Basis(tuple(transformers), ())
        self._thresholds = [*(stage.threshold for stage in stages), -np.inf]
        self._intercepts = np.stack([*(stage.intercept for stage in stages), intercept])
        self._tables = [*(self._widened(stage) for stage in stages), coef]
        self._groups = [stage.groups for stage in stages]
        self._steps: list[list[Part]] = []

    def _widened(self, stage: Stage) -> Array:
        """The coefficients of a stage, and zeros for all other features."""
        table = np.zeros((len(stage.coef), self._basis.n_features))
        table[:, self._basis.columns(stage.groups)] = stage.coef
        return table

    def _counting(self, coef: Array) -> NDArray[np.int64]:
        """The groups that have coefficients."""
        groups = np.arange(self._basis.first_groups[-1])
        parts = self._basis.split(groups)
        used = [
            coef[:, self._basis.columns_of(index, own)].any(axis=0).reshape(len(own), -1)
            for index, own in enumerate(parts)
        ]
        return groups[np.concatenate([each.any(axis=1) for each in used])]

    def _step(self, at: int) -> list[Part]:
        """What a stage computes; stages are asked for one after the other, and not all of them."""
        if at == len(self._steps):
            last = at == len(self._groups)
            groups = self._counting(self._tables[-1]) if last else self._groups[at]
            if at:
                groups = np.setdiff1d(groups, self._groups[at - 1], assume_unique=True)
            self._steps.append(list(self._parts(groups, self._tables[at:])))
        return self._steps[at]

    def _parts(self, groups: NDArray[np.int64], tables: list[Array]) -> Iterator[Part]:
        """What computes some groups, and adds them to all later stages."""
        for index, own in enumerate(self._basis.split(groups)):
            if len(own):
                columns = self._basis.columns_of(index, own)
                coef = np.concatenate([table[:, columns] for table in tables])
                sweeps = self._transformers[index].sweeps(own)
                yield Part(index, sweeps, np.ascontiguousarray(coef.T))

    def blocks(self, X: SeriesCollection) -> Iterator[Array]:
        """Predictions (cases, targets) of a block of checked series at a time."""
        fitting = CHUNK_BYTES // (X.max_length * X.n_channels * X.dtype.itemsize)
        size = max(1, min(fitting, _block_size(self._step(0))))
        for start in range(0, len(X), size):
            with blas_threads(self._n_jobs):
                predictions = self._of_block(X[start : start + size])
            yield predictions

    def _of_block(self, X: SeriesCollection) -> Array:
        standardized = [each.standardized(X) for each in self._transformers]
        sums = np.tile(self._intercepts, (len(X), 1, 1))  # (cases, stages, targets)
        decided, left, n_targets = np.empty_like(sums[:, 0]), np.arange(len(X)), sums.shape[2]
        for at, threshold in enumerate(self._thresholds):
            if not len(left):
                break
            parts = self._step(at)
            size = _block_size(parts)
            for start in range(0, len(left), size):
                some = left[start : start + size]
                for part in parts:
                    series = standardized[part.transformer].take(some)
                    sums[some, at:] += self._added(part, series).reshape(len(some), -1, n_targets)
            clear = ~(_margins(sums[left, at]) <= threshold)
            decided[left[clear]] = sums[left[clear], at]
            left = left[~clear]
        return decided

    def _added(self, part: Part, series: Standardized) -> Array:
        """What the groups of a part add to this stage and all later ones, for some series."""
        features = self._transformers[part.transformer].pooled(series, part.sweeps)
        # In float64 and a few series at a time, the result does not depend on the other series.
        rows = (features[i : i + _ROWS] for i in range(0, len(features), _ROWS))
        return np.concatenate([some.astype(np.float64) @ part.coef for some in rows])


def _block_size(parts: list[Part]) -> int:
    """How many series have features that stay cached."""
    return max(1, _BLOCK_BYTES // (4 * max(1, sum(len(part.coef) for part in parts))))
