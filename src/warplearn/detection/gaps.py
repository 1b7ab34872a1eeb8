"""Gaps in a stream: samples that are missing.

A sample is missing if some channel of it is NaN.  The first `max_gap` samples of a gap are replaced
by the last sample before it, if there is one.  Further ones break the stream: no window contains
them, an event that is open is reported, and the next decision comes a whole window later.  The
rule needs no later samples, so recordings and streams are treated alike.
"""

from __future__ import annotations

import sys
import warnings
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from warplearn.series.convert import FloatArray

__all__ = ["Completed", "GapWarning", "Stretches", "warn_of_gap"]


class Completed(NamedTuple):
    """What was found in some samples.

    Attributes
    ----------
    ages : array (streams, time)
        Samples since the last break, after each sample; 0 for one that is a break.
    begins : array (gaps, 2)
        Stream and sample where each gap begins.
    """

    ages: NDArray[np.int64]
    begins: NDArray[np.int64]


class GapWarning(UserWarning):
    """Samples of a recording or stream are missing."""


def warn_of_gap(sample: int, stream: int | None, max_gap: int) -> None:
    """Warn that a gap begins at a sample."""
    of = "" if stream is None else f" of stream {stream}"
    treated = (
        "no window contains it"
        if not max_gap
        else f"its first {max_gap} sample(s) are filled with the last one before it, and no window "
        "contains the others"
    )
    warnings.warn(
        f"a gap (NaN) begins at sample {sample}{of}: {treated}; further gaps are treated alike",
        GapWarning,
        stacklevel=_level_of_caller(),
    )


def _level_of_caller() -> int:
    """How many calls up the code is that called the library; it is the one to be shown."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals["__name__"].startswith("warplearn."):
        frame, level = frame.f_back, level + 1
    return level


class Stretches:
    """Where streams stand: samples since the last break, and the gap they are in.

    Parameters
    ----------
    n_streams : int
    max_gap : int
        Samples of a gap that are filled.

    Attributes
    ----------
    age : array (streams,)
        Samples since the last break, filled ones included.
    missing : array (streams,)
        Length of the gap so far; 0 if the last sample was there.
    n_gaps : array (streams,)
        Gaps so far.
    """

    def __init__(self, n_streams: int, max_gap: int) -> None:
        self.max_gap = max_gap
        self.age, self.missing, self.n_gaps = np.zeros((3, n_streams), np.int64)

    def grow(self, size: int) -> NDArray[np.int64]:
        """Take samples of which none is missing; returns the ages of `Completed`."""
        ages = self.age[:, None] + np.arange(1, size + 1)
        self.age = ages[:, -1]
        self.missing[:] = 0
        return ages

    def complete(self, samples: FloatArray, last: FloatArray) -> Completed:
        """Take the next samples, and fill what may be filled, in place.

        Parameters
        ----------
        samples : array (streams, time, channels)
        last : array (streams, channels)
            The samples before the first.
        """
        gone = np.isnan(samples).any(axis=2)
        steps, age = np.arange(samples.shape[1]), self.age[:, None]
        before = np.maximum.accumulate(np.where(gone, -1, steps), axis=1)  # the last that is there
        earlier = self.missing[:, None] + steps + 1
        run = np.where(gone, np.where(before < 0, earlier, steps - before), 0)
        breaks = gone & ((run > self.max_gap) | ((before < 0) & (age == 0)))
        stream, at = np.nonzero(gone & ~breaks)
        source = before[stream, at]
        held = samples[stream, np.maximum(source, 0)]
        samples[stream, at] = np.where(source[:, None] >= 0, held, last[stream])
        samples[breaks] = 0  # in no window, but kernels want numbers
        latest = np.maximum.accumulate(np.where(breaks, steps, -1), axis=1)
        ages = np.where(latest < 0, age + steps + 1, steps - latest)
        begins = np.argwhere(run == 1)
        self.age, self.missing = ages[:, -1], run[:, -1]
        self.n_gaps = self.n_gaps + (run == 1).sum(axis=1)
        return Completed(ages, begins)
