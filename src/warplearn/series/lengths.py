"""Series that are longer than a fitted model: refuse, truncate or resample them.

A weight matrix has as many rows as the longest training series.  `fit_length` brings series to a
length that the matrix has rows for.
"""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warplearn.registry import choose
from warplearn.series.collection import SeriesCollection

__all__ = ["LONGER", "fit_length", "fitting_lengths", "resample"]


def resample(values: NDArray[Any], n: int) -> NDArray[Any]:
    """A series (time, channels) at n equally spaced points, by linear interpolation.

    The first and the last element stay what they are; one point is the first element.
    """
    if n == len(values):
        return values
    at = np.linspace(0, len(values) - 1, n)
    channels = [np.interp(at, np.arange(len(values)), channel) for channel in values.T]
    return np.stack(channels, axis=1).astype(values.dtype)


def fit_length(
    series: SeriesCollection, n: int, longer: str = "error", *, name: str = "X"
) -> SeriesCollection:
    """Bring series that are longer than n to the length n; the others stay as they are.

    Parameters
    ----------
    series : SeriesCollection
    n : int
        The length of the longest training series.
    longer : {"error", "truncate", "resample"}, default="error"
        What to do with longer series: raise an error, keep the first n elements, or take n
        equally spaced points of the series by linear interpolation.
    name : str, default="X"
        What error messages call the series.

    Returns
    -------
    SeriesCollection
        The same one if no series is longer.  Truncated series are views, resampled ones copies.

    Examples
    --------
    >>> X = SeriesCollection.of([[0.0, 1.0, 2.0, 3.0, 4.0], [7.0, 8.0]])
    >>> fit_length(X, 3, "resample").values[..., 0]
    array([[0., 2., 4.],
           [7., 8., 0.]])
    """
    if not isinstance(series, SeriesCollection):
        raise TypeError(f"series must be a SeriesCollection, got {type(series).__name__}")
    if not isinstance(n, Integral) or n < 1:
        raise ValueError(f"n must be a positive integer, got {n!r}")
    resized = choose(LONGER, longer, "longer")
    return series if series.max_length <= n else resized(series, int(n), name)


def fitting_lengths(
    lengths: NDArray[np.int64], n: int, longer: str = "error", *, name: str = "X"
) -> NDArray[np.int64]:
    """The lengths that series have after `fit_length`, or its error."""
    choose(LONGER, longer, "longer")
    if longer == "error" and lengths.max() > n:
        raise _too_long(lengths, n, name)
    return np.minimum(lengths, n)


def _refuse(series: SeriesCollection, n: int, name: str) -> SeriesCollection:
    raise _too_long(series.lengths, n, name)


def _too_long(lengths: NDArray[np.int64], n: int, name: str) -> ValueError:
    case = int(np.argmax(lengths > n))
    return ValueError(
        f"{name}[{case}] has length {lengths[case]}, longer than the longest training "
        f"series, {n}; set longer='truncate' or 'resample' to predict such series, or extend the "
        "model with partial_fit"
    )


def _truncate(series: SeriesCollection, n: int, name: str) -> SeriesCollection:
    return SeriesCollection(series.values[:, :n], np.minimum(series.lengths, n))


def _resample(series: SeriesCollection, n: int, name: str) -> SeriesCollection:
    values = np.array(series.values[:, :n])
    for case in np.flatnonzero(series.lengths > n):
        values[case] = resample(series.values[case, : series.lengths[case]], n)
    return SeriesCollection(values, np.minimum(series.lengths, n))


LONGER: dict[str, Callable[[SeriesCollection, int, str], SeriesCollection]] = {
    "error": _refuse,
    "resample": _resample,
    "truncate": _truncate,
}
