"""Windows of a recording: series that overlap and are cut only when they are looked at.

A recording is one long series.  `WindowSource` says which parts of it are series, and whether each
is normalized.  It is a source of a `SeriesCollection` (`SeriesCollection.windows`), so that every
estimator takes windows.  Estimators that score series by the recursion alone never cut them
(`warplearn._kernels.drivers.recording`).

A recording that does not fit in memory is an iterator of chunks, or a memory map, and is read a
part at a time (`parts_of`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from warplearn.registry import check_choice
from warplearn.series.convert import FloatArray, to_floats
from warplearn.series.numbers import check_numbers

__all__ = [
    "NORMALIZATIONS",
    "Part",
    "WindowSource",
    "check_normalize",
    "chunks_of",
    "least_deviation",
    "normalized",
    "parts_of",
    "read_recording",
]

NORMALIZATIONS = ("none", "window")
PART = 2**17  # samples of a recording that are read at a time

# A deviation of at most so many rounding errors of the mean is that of a constant window.
_CONSTANT = 8

Index: TypeAlias = slice | NDArray[Any]


def least_deviation(dtype: Any) -> float:
    """The deviation of a window, as a share of its mean, up to which it counts as constant."""
    return _CONSTANT * float(np.finfo(dtype).eps)


def normalized(values: FloatArray) -> FloatArray:
    """Series (cases, time, channels) with mean 0 and deviation 1 in each channel.

    The deviation is that of all elements (`ddof=0`).  A channel that is constant but for rounding
    errors becomes 0.
    """
    wide = values.astype(np.float64)
    mean = wide.mean(axis=1, keepdims=True)
    wide -= mean
    deviation = wide.std(axis=1, keepdims=True)
    varies = deviation > least_deviation(values.dtype) * np.abs(mean)
    wide *= np.where(varies, 1 / np.where(varies, deviation, 1), 0)
    return wide.astype(values.dtype)


@final
class WindowSource:
    """Windows of one length, by where they start; cut when they are taken.

    Parameters
    ----------
    samples : array (time, channels)
        A recording of finite numbers.
    starts : array (windows,)
        The first sample of each window, in ascending order.
    length : int
    normalize : {"window", "none"}
    """

    blocks = chunks = None
    kept_blocks = 1

    def __init__(
        self, samples: FloatArray, starts: NDArray[np.int64], length: int, normalize: str
    ) -> None:
        self.samples, self.starts, self.length = samples, starts, length
        self.normalize = normalize

    @property
    def shape(self) -> tuple[int, ...]:
        """(windows, time, channels)."""
        return len(self.starts), self.length, self.samples.shape[1]

    @property
    def dtype(self) -> np.dtype[np.floating[Any]]:
        """float32 or float64."""
        return self.samples.dtype

    def take(self, index: Index) -> FloatArray:
        """The values of some windows."""
        steps = np.arange(self.length)
        values = self.samples[self.starts[index][:, None] + steps]
        return normalized(values) if self.normalize == "window" else values

    def at(self, index: Index) -> WindowSource:
        """Some of the windows, and all samples."""
        return WindowSource(self.samples, self.starts[index], self.length, self.normalize)

    def part(self, index: Index) -> WindowSource:
        """Some of the windows, and the samples from the first to the last of them."""
        starts = self.starts[index]
        if not len(starts):
            return WindowSource(self.samples[:0], starts, self.length, self.normalize)
        first, last = int(starts.min()), int(starts.max())
        samples = self.samples[first : last + self.length]
        return WindowSource(samples, starts - first, self.length, self.normalize)

    def astype(self, dtype: Any) -> WindowSource:
        """The same windows of samples of another dtype."""
        with np.errstate(over="ignore"):
            samples = self.samples.astype(dtype)
        check_numbers(samples, f"the recording as {np.dtype(dtype)}", "sample {}, channel {}")
        return WindowSource(samples, self.starts, self.length, self.normalize)


def check_normalize(normalize: Any) -> None:
    """Refuse what is no normalization of windows."""
    check_choice(normalize, NORMALIZATIONS, "normalize")


def read_recording(
    signal: Any, name: str = "signal", *, gaps: bool = False, first: int = 0
) -> FloatArray:
    """One recording, (time,) or (channels, time), as an array (time, channels).

    Parameters
    ----------
    signal : array-like
    name : str
        What error messages call it.
    gaps : bool
        Whether samples may be NaN; infinity is refused in any case.
    first : int
        The number of the first sample, for error messages.
    """
    array = to_floats(signal, name)
    if array.ndim not in (1, 2) or 0 in array.shape[:-1]:
        raise ValueError(
            f"{name} must be a recording of shape (time,) or (channels, time), got shape "
            f"{array.shape}"
        )
    samples = array[:, None] if array.ndim == 1 else array.T
    present = np.where(np.isnan(samples), samples.dtype.type(0), samples) if gaps else samples
    place = f"sample {first} + {{}}" if first else "sample {}"
    check_numbers(present, name, place + (", channel {}" if samples.shape[1] > 1 else ""))
    return samples


def chunks_of(signal: Any, name: str = "signal", *, gaps: bool = False) -> Iterator[FloatArray]:
    """Chunks (time, channels) of a recording, none of them large.

    Parameters
    ----------
    signal : array (time,) or (channels, time), or iterator of such
        An iterator gives chunks that follow each other in time.  Of a memory map, what is needed
        is read when it is needed.
    name, gaps
        As for `read_recording`.
    """
    first, channels = 0, None
    for array in signal if isinstance(signal, Iterator) else (signal,):
        whole = array if isinstance(array, np.ndarray) else to_floats(array, name)
        for start in range(0, whole.shape[-1] if whole.ndim else 1, PART):
            some = whole[..., start : start + PART] if whole.ndim else whole
            samples = read_recording(some, name, gaps=gaps, first=first)
            if channels not in (None, samples.shape[1]):
                raise ValueError(
                    f"{name} must have {channels} channel(s) throughout, got {samples.shape[1]} "
                    f"from sample {first} on"
                )
            channels, first = samples.shape[1], first + len(samples)
            yield samples
    if channels is None:
        raise ValueError(f"{name} must have at least one sample, got none")


class Part(NamedTuple):
    """Consecutive samples (time, channels) of a recording, and the number of the first of them."""

    samples: FloatArray
    first: int


def parts_of(signal: Any, length: int, stride: int, name: str = "signal") -> Iterator[Part]:
    """A recording a part at a time: each window lies in one part, and begins one or follows there.

    Parameters
    ----------
    signal
        As for `chunks_of`.
    length, stride : int
        Of windows, and from one window to the next.
    """
    kept, first, begin = None, 0, 0  # samples, the number of the first, where the next window is
    for samples in chunks_of(signal, name):
        kept = samples if kept is None or not len(kept) else np.concatenate([kept, samples])
        dropped = min(begin - first, len(kept))
        kept, first = kept[dropped:], first + dropped
        if first == begin and len(kept) >= length:
            yield Part(kept, first)
            begin += ((len(kept) - length) // stride + 1) * stride
            dropped = min(begin - first, len(kept))
            kept, first = kept[dropped:], first + dropped
