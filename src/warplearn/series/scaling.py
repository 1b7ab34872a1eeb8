"""Standardizing series, channel by channel."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from warplearn.series.chunks import total
from warplearn.series.collection import SeriesCollection
from warplearn.series.convert import check_finite

__all__ = ["element_scales", "standardized"]


def element_scales(
    X: SeriesCollection, cases: NDArray[np.int64] | None = None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and deviation of all elements of each channel; 1 for the deviation of a constant.

    Parameters
    ----------
    X : SeriesCollection
    cases : array of int, optional
        The series whose elements count; by default all.
    """
    cases = np.arange(len(X)) if cases is None else np.sort(cases)
    count = X.lengths[cases].sum()
    mean = total(_sum_of_elements, X, cases=cases) / count
    squares = total(lambda some: _sum_of_squares(some, mean), X, cases=cases)
    scale = np.sqrt(squares / count)
    return mean, np.where(scale > 0, scale, 1.0)


def _elements(some: SeriesCollection) -> NDArray[np.float64]:
    inside = np.arange(some.max_length) < some.lengths[:, None]
    return some.values[inside].astype(np.float64)


def _sum_of_elements(some: SeriesCollection) -> NDArray[np.float64]:
    return _elements(some).sum(axis=0)


def _sum_of_squares(some: SeriesCollection, mean: NDArray[np.float64]) -> NDArray[np.float64]:
    return ((_elements(some) - mean) ** 2).sum(axis=0)


def standardized(
    X: SeriesCollection, mean: NDArray[np.float64], scale: NDArray[np.float64]
) -> SeriesCollection:
    """Series of the same dtype whose channels are shifted and scaled, 0 behind their end."""
    inside = (np.arange(X.max_length) < X.lengths[:, None])[..., None]
    with np.errstate(over="ignore"):  # a series very far from those that gave the scale
        values = np.where(inside, (X.values - mean) / scale, 0.0).astype(X.dtype)
    check_finite(values, "X, with the mean and scale of the training series,")
    return SeriesCollection._trusted(values, X.lengths)
