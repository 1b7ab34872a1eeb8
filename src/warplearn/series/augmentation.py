"""Variants of series: what a training series might have been, had time run a little otherwise."""

from __future__ import annotations

import numpy as np

from warplearn.series.collection import SeriesCollection

__all__ = ["warped"]

_KNOTS = 5  # of the displacement, which is linear between them


def warped(
    X: SeriesCollection,
    rng: np.random.RandomState,
    *,
    warp: float = 0.01,
    shift: float = 0.01,
    whole: bool = False,
) -> SeriesCollection:
    """Each series with its time axis shifted and warped at random.

    An element is read, by linear interpolation, from a place displaced in time.  The displacement
    is a random shift plus a random function that is linear between five knots.  The first and the
    last element stand for what is beyond the ends.

    Parameters
    ----------
    X : SeriesCollection
    rng : RandomState
    warp, shift : float
        Standard deviations of the displacement at the knots and of the shift, as shares of the
        length of a series.
    whole : bool, default=False
        Whether displacements are whole steps, so that elements of X are taken as they are.

    Returns
    -------
    SeriesCollection
        Of the same lengths and dtype.
    """
    values = np.zeros_like(X.values)
    bends, shifts = rng.normal(size=(len(X), _KNOTS)), rng.normal(size=len(X))
    for case, length in enumerate(X.lengths):
        time = np.arange(length)
        knots = np.linspace(0, length - 1, _KNOTS)
        places = time + length * (warp * np.interp(time, knots, bends[case]) + shift * shifts[case])
        places = np.rint(places) if whole else places
        for channel in range(X.n_channels):
            values[case, :length, channel] = np.interp(
                places, time, X.values[case, :length, channel]
            )
    return SeriesCollection._trusted(values, X.lengths)
