"""Long recordings made of labelled series, with background between them."""

from __future__ import annotations

from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from warplearn.series.collection import SeriesCollection
from warplearn.series.convert import to_floats
from warplearn.series.numbers import LARGEST, check_count

__all__ = ["Recording", "make_recording"]

Array = NDArray[Any]

_KNOTS = 8  # of the warping of background
_LONGEST_SPACING = 10**6  # in lengths of a series
_NOISE_ONLY = 0.25  # share of the background that is noise


class Recording(NamedTuple):
    """A recording and what is in it.

    Attributes
    ----------
    signal : array of shape (time,) or (channels, time)
    events : structured array
        Start, end and class of each event.
    """

    signal: Array
    events: NDArray[np.void]


def make_recording(
    X: Any,
    y: Any,
    *,
    n_events: int | None = None,
    spacing: tuple[float, float] = (0.5, 2.0),
    noise: float = 0.1,
    random_state: Any = None,
) -> Recording:
    """Put series one behind the other, with background between them and noise over all.

    A quarter of the background is noise, the rest are random walks that are warped in time.  Each
    piece is tilted so that it begins where the series before it ends, and ends where the next one
    begins: the recording has no jumps that would give the events away.

    Parameters
    ----------
    X : series collection
    y : array of shape (cases,)
        Their classes.
    n_events : int, optional
        How many series to take; by default all.  They come in random order.
    spacing : tuple of two floats, default=(0.5, 2.0)
        The shortest and the longest background, in lengths of the longest series.
    noise : float, default=0.1
        Deviation of the noise that is added.
    random_state : int, RandomState or None

    Returns
    -------
    Recording

    Examples
    --------
    >>> from warplearn import datasets
    >>> train = datasets.load("GunPoint", "train")
    >>> signal, events = make_recording(train.X, train.y, random_state=0)
    >>> len(events), events.dtype.names
    (50, ('start', 'end', 'class'))
    """
    series = SeriesCollection.of(X)
    try:
        labels = np.asarray(y)
    except ValueError as error:  # lists of different lengths
        raise ValueError(f"y must have a class for each series, got {y!r}") from error
    if labels.shape != (len(series),):
        raise ValueError(
            f"y must have a class for each of {len(series)} series, got {labels.shape}"
        )
    shares = to_floats(spacing, "spacing")
    if shares.shape != (2,) or not (np.abs(shares) <= _LONGEST_SPACING).all():
        raise ValueError(f"spacing must be two shares up to {_LONGEST_SPACING}, got {spacing!r}")
    least, most = (round(share * series.max_length) for share in shares.tolist())
    if not 2 <= least <= most:
        raise ValueError(
            f"spacing must be two ascending shares of at least two samples, got {spacing!r}"
        )
    if not isinstance(noise, Real) or not 0 <= noise <= LARGEST[4]:
        raise ValueError(f"noise must be a number of at least 0, got {noise!r}")
    count = len(series) if n_events is None else check_count(n_events, "n_events")
    if count > len(series):
        raise ValueError(
            f"n_events must be at most {len(series)}, the series there are, got {count}"
        )
    rng = check_random_state(random_state)
    order = rng.permutation(len(series))[:count]
    pieces: list[Array] = []
    events = np.empty(len(order), [("start", int), ("end", int), ("class", labels.dtype)])
    at, last = 0, np.zeros(series.n_channels)
    for event, case in zip(events, order, strict=True):
        x = series.elements(case)
        between = _between(rng, int(rng.randint(least, most + 1)), last, x[0])
        at += len(between)
        event["start"], event["end"], event["class"] = at, at + len(x), labels[case]
        at, last = at + len(x), x[-1]
        pieces += [between, x]
    pieces.append(_between(rng, most, last, np.zeros_like(last)))
    signal = np.concatenate(pieces)
    signal = (signal + rng.normal(0, noise, signal.shape)).astype(series.dtype)
    return Recording(signal[:, 0] if series.n_channels == 1 else signal.T, events)


def _between(rng: np.random.RandomState, size: int, start: Array, end: Array) -> Array:
    """Background (size, channels) from one level to another."""
    pieces = [_background(rng, size) for _ in range(len(start))]
    piece = np.stack(pieces, axis=1)
    share = np.linspace(0, 1, size)[:, None]
    return piece + (1 - share) * (start - piece[0]) + share * (end - piece[-1])


def _background(rng: np.random.RandomState, size: int) -> Array:
    if rng.random_sample() < _NOISE_ONLY:
        return rng.normal(0, 0.3, size)
    steps = max(4, int(size * rng.uniform(0.4, 1.2)))
    walk = rng.normal(size=steps).cumsum()
    walk = np.convolve(walk, np.ones(3) / 3, "same")
    walk = (walk - walk.mean()) / max(walk.std(), 1e-9)
    path = np.concatenate([[0.0], rng.gamma(1.0, 1.0, _KNOTS - 1).cumsum()])
    at = np.interp(np.linspace(0, 1, size), np.linspace(0, 1, _KNOTS), path / path[-1])
    return np.interp(at * (steps - 1), np.arange(steps), walk)
