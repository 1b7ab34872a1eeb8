"""Fixed point: weights and samples as whole numbers.

A sample is divided by the limit of its channel, and is then a whole number of steps from -levels
to levels.  A weight is a whole number of 8 or 16 bits; each matrix has a scale of its own.  Sums
of their products are of 32 bits and cannot overflow, whatever the samples are: `levels` is at most
2^31 - 1 divided by the greatest sum of absolute weights along any path.  With 16 bits, levels and
weights share what that leaves.
"""

from __future__ import annotations

from copy import copy
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from warplearn._kernels.drivers.evaluate import evaluate
from warplearn._kernels.recursion.local import Product
from warplearn.series.collection import SeriesCollection

_MOST_SCORE = 2**31 - 1
_MOST_LEVELS = 2**15 - 1
_LEAST_LIMIT = 1e-15
MOST_WEIGHT = {"int8": 2**7 - 1, "int16": 2**15 - 1}


class FixedPoint(NamedTuple):
    """The weight matrices of a linear model in whole numbers.

    Attributes
    ----------
    weights : array (matrices, n, m, channels) of int8 or int16
    scales : array (matrices,)
        What a weight of 1 stands for, where samples are divided by their limits.
    levels : int
        The whole number that stands for a sample at its limit.
    limits : array (channels,)
        The greatest absolute value of a sample; what is beyond is cut.
    """

    weights: NDArray[Any]
    scales: NDArray[np.float64]
    levels: int
    limits: NDArray[np.float64]

    @classmethod
    def of(cls, matrices: NDArray[Any], kind: str, limit: Any) -> FixedPoint:
        """Round matrices (matrices, n, m, channels) to 8 or 16 bits."""
        limits = checked_limits(limit, matrices.shape[-1])
        W = matrices.astype(np.float64) * limits
        greatest = np.abs(W).max(axis=(1, 2, 3))
        greatest[greatest == 0] = 1
        longest = _heaviest_path(W / greatest[:, None, None, None])
        steps = min(MOST_WEIGHT[kind], int(np.sqrt(_MOST_SCORE / longest)))
        scales = greatest / steps
        weights = np.rint(W / scales[:, None, None, None])
        levels = min(_MOST_LEVELS, int(_MOST_SCORE / max(1.0, _heaviest_path(weights))))
        if min(steps, levels) < 1:
            raise ValueError(f"the series are too long for numbers={kind!r}: sums would overflow")
        return cls(weights.astype(kind), scales, levels, limits)

    @property
    def steps(self) -> NDArray[np.float32]:
        """What samples are multiplied with to be whole numbers, by channel."""
        return (self.levels / self.limits).astype(np.float32)

    def model(self, exact: Any) -> Any:
        """A copy of a linear model with the weights that the whole numbers stand for."""
        rounded = copy(exact)
        W = self.weights * self.scales[:, None, None, None] / self.limits
        rounded.coef_ = W.reshape(exact.coef_.shape)
        return rounded

    def series(self, X: SeriesCollection) -> SeriesCollection:
        """Series with the numbers that the device makes of their samples."""
        level = X.values.astype(np.float32) * self.steps
        level = np.clip(level, -self.levels, self.levels)
        level = np.trunc(level + np.copysign(np.float32(0.5), level))
        return SeriesCollection(level.astype(np.float64) / self.levels * self.limits, X.lengths)

    def n_cut(self, X: SeriesCollection) -> int:
        """How many series have a sample beyond the limit, which is cut."""
        inside = np.arange(X.max_length)[None, :, None] < X.lengths[:, None, None]
        return int((inside & (np.abs(X.values) > self.limits)).any(axis=(1, 2)).sum())


def checked_limits(limit: Any, channels: int) -> NDArray[np.float64]:
    """The limits of all channels, from one number or one for each channel."""
    if limit is None:
        raise ValueError(
            "limit must be given for fixed point: the greatest absolute value of a sample, a "
            f"number or one for each of {channels} channel(s), got None"
        )
    try:
        given = np.asarray(limit, np.float64)
    except (TypeError, ValueError, OverflowError):
        given = np.zeros(0)
    possible = (given >= _LEAST_LIMIT) & (given <= 1 / _LEAST_LIMIT)
    if given.shape not in ((), (channels,)) or not possible.all():
        raise ValueError(
            f"limit must be a number from {_LEAST_LIMIT} to {1 / _LEAST_LIMIT:g}, or one for each "
            f"of {channels} channel(s), got {limit!r}"
        )
    return np.broadcast_to(given, (channels,)).copy()


def limits_of(X: SeriesCollection) -> NDArray[np.float64]:
    """The greatest absolute value of each channel."""
    inside = np.arange(X.max_length)[None, :, None] < X.lengths[:, None, None]
    greatest = np.abs(np.where(inside, X.values, 0)).max(axis=(0, 1)).astype(np.float64)
    return np.where(greatest > _LEAST_LIMIT, greatest, 1.0)


def _heaviest_path(W: NDArray[np.float64]) -> float:
    """The greatest sum of absolute weights along a warping path through one of the matrices.

    A path to an inner cell is part of a path to the last row, so it needs no look of its own;
    neither do series that end earlier.
    """
    total = np.abs(W).sum(axis=3, keepdims=True)
    n = W.shape[1]
    ones = np.ones((1, n, 1))
    return float(evaluate(Product(), ones, np.array([n]), total, n_jobs=1).values.max())
