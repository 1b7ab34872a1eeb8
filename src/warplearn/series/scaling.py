"""Standardizing series, channel by channel."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from warplearn.series.collection import SeriesCollection
from warplearn.series.convert import check_values

__all__ = ["element_scales", "standardized"]


def element_scales(X: SeriesCollection) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and deviation of all elements of each channel; 1 for the deviation of a constant."""
    inside = np.arange(X.max_length) < X.lengths[:, None]
    elements = X.values[inside].astype(np.float64)
    scale = elements.std(axis=0)
    return elements.mean(axis=0), np.where(scale > 0, scale, 1.0)


def standardized(
    X: SeriesCollection, mean: NDArray[np.float64], scale: NDArray[np.float64]
) -> SeriesCollection:
    """Series of the same dtype whose channels are shifted and scaled, 0 behind their end."""
    inside = (np.arange(X.max_length) < X.lengths[:, None])[..., None]
    with np.errstate(over="ignore"):  # a series very far from those that gave the scale
        values = np.where(inside, (X.values - mean) / scale, 0.0).astype(X.dtype)
    return SeriesCollection._trusted(
        *check_values(values, X.lengths, None, "X, with the mean and scale of the training series,")
    )
