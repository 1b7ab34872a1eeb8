"""Detection in streams: samples go in, events come out, in bounded memory and time.

A stream keeps the samples of the windows to come in a buffer of fixed size.  Whatever the packets
are that samples come in, windows start at the same samples, and the same function scores them.
So `ElasticDetector.detect` is a stream too, with a large buffer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from warplearn.detection.events import Peak, Rule, Table, Tracker, event_table
from warplearn.detection.gaps import Stretches, warn_of_gap
from warplearn.detection.scores import Readout
from warplearn.series.collection import SeriesCollection
from warplearn.series.convert import FloatArray, to_floats
from warplearn.series.numbers import check_count, check_numbers, usable
from warplearn.series.windows import WindowSource

__all__ = ["Detection", "DetectionStream"]


Decide = Callable[[SeriesCollection], NDArray[Any]]


class Detection(NamedTuple):
    """All that a stream needs of a detector.

    Attributes
    ----------
    decide : callable
        Decision values of windows.
    readout : Readout
    rule : Rule
    window, stride, max_gap, n_channels : int
    normalize : str
    dtype : dtype
        What samples are computed in.
    classes : array
        Of events.
    durations : array (classes,)
    """

    decide: Decide
    readout: Readout
    rule: Rule
    window: int
    stride: int
    max_gap: int
    n_channels: int
    normalize: str
    dtype: np.dtype[np.floating[Any]]
    classes: NDArray[Any]
    durations: NDArray[np.int64]


class DetectionStream:
    """Events in one or more streams, found while the samples come in.

    Made by `ElasticDetector.stream`.  Memory does not grow: a stream keeps its last windows.  An
    event is reported when its score has fallen, at the latest a window after it was first seen.

    Parameters
    ----------
    detection : Detection
    n_streams : int
        How many streams there are side by side.
    room : int
        New samples of each stream that are scored at a time.

    Attributes
    ----------
    n_samples : int
        Samples of each stream so far.
    n_gaps : array (streams,)
        Gaps so far.
    scores : array (streams,)
        The latest score of each stream; NaN before the first window and after a break.
    """

    def __init__(self, detection: Detection, n_streams: int = 1, room: int = 256) -> None:
        self.n_streams, self._detection = check_count(n_streams, "n_streams"), detection
        self._kept = detection.window - 1
        shape = (self.n_streams, self._kept + max(room, detection.window), detection.n_channels)
        self._buffer = np.zeros(shape, detection.dtype)
        self._nothing = event_table(
            [], detection.window, detection.durations, detection.classes, []
        )
        self.reset()

    def reset(self) -> DetectionStream:
        """Forget all samples and events."""
        self.n_samples, self._end = 0, 0
        self._trackers = [Tracker() for _ in range(self.n_streams)]
        self._open = np.zeros(self.n_streams, bool)
        self._stretches = Stretches(self.n_streams, self._detection.max_gap)
        self.scores = np.full(self.n_streams, np.nan)
        return self

    @property
    def n_gaps(self) -> NDArray[np.int64]:
        """Gaps of each stream so far."""
        return self._stretches.n_gaps

    def push(self, samples: Any) -> Table:
        """Take the next samples of every stream, one or a packet of them.

        Parameters
        ----------
        samples : array of shape (streams, channels, time)
            Without the first axis if there is one stream, without the second if there is one
            channel, and without the last for a single sample.  NaN stands for a sample that is
            missing.

        Returns
        -------
        structured array
            Events that are over: stream, start, end, class, score, and reported, the number of the
            sample that the event was reported after.
        """
        return self._push(self._packet(samples))

    def push_samples(self, samples: FloatArray) -> Table:
        """Take samples (time, channels) of a single stream that are checked already."""
        if samples.shape[1] != self._detection.n_channels:
            raise ValueError(
                f"recording must have {self._detection.n_channels} channel(s), as the one of fit, "
                f"got {samples.shape[1]}"
            )
        return self._push(samples[None].astype(self._detection.dtype))

    def skip(self, n_samples: int) -> Table:
        """Say that samples of every stream are missing, as `push` of so many NaN does."""
        left, found = check_count(n_samples, "n_samples", 0), [self._nothing]
        room = self._buffer.shape[1] - self._kept
        while left:  # a sensor may be off for days: never all of it at once
            shape = (self.n_streams, min(left, room), self._detection.n_channels)
            found.append(self._push(np.full(shape, np.nan, self._detection.dtype)))
            left -= shape[1]
        return np.concatenate(found)

    def flush(self) -> Table:
        """Report events that are open, as if the streams had ended."""
        found = []
        for stream in np.flatnonzero(self._open):
            peak = self._trackers[stream].close(self._detection.rule, self.n_samples - 1)
            found.append((int(stream), peak))
        self._open[:] = False
        return self._table(found)

    def _push(self, packet: FloatArray) -> Table:
        """Take new samples (streams, time, channels), all or, if one is infinite, none."""
        if not usable(packet):
            check_numbers(np.where(np.isnan(packet), packet.dtype.type(0), packet), "samples")
        found: list[tuple[int, Peak]] = []
        room = self._buffer.shape[1] - self._kept
        for start in range(0, packet.shape[1], room):
            found += self._take(packet[:, start : start + room])
        return self._table(found)

    def _packet(self, samples: Any) -> FloatArray:
        """The samples as a new array (streams, time, channels)."""
        array = to_floats(samples, "samples")
        shape = (self.n_streams, self._detection.n_channels)
        axes = tuple(size for size in shape if size > 1)
        if array.ndim == len(axes):
            array = array[..., None]
        if array.ndim != len(axes) + 1 or array.shape[:-1] != axes:
            raise ValueError(
                f"samples must be of {shape[0]} stream(s) with {shape[1]} channel(s), an array of "
                f"shape {axes} or {(*axes, 'time')}, got shape {np.shape(samples)}"
            )
        return array.reshape(*shape, -1).swapaxes(1, 2).astype(self._detection.dtype)

    def _take(self, packet: FloatArray) -> list[tuple[int, Peak]]:
        """Take samples for which there is room in the buffer."""
        size = packet.shape[1]
        if self._end + size > self._buffer.shape[1]:
            kept = min(self._kept, self._end)
            self._buffer[:, :kept] = self._buffer[:, self._end - kept : self._end]
            self._end = kept
        ages = self._stretches.grow(size) if usable(packet) else self._fill(packet)
        self._buffer[:, self._end : self._end + size] = packet
        times = np.arange(self.n_samples, self.n_samples + size)
        self._end, self.n_samples = self._end + size, self.n_samples + size
        return self._decide(ages, times)

    def _fill(self, packet: FloatArray) -> NDArray[np.int64]:
        """Fill gaps of a packet, in place, and warn of them."""
        ages, begins = self._stretches.complete(packet, self._buffer[:, self._end - 1])
        for stream, at in begins[:1]:
            where = None if self.n_streams == 1 else int(stream)
            warn_of_gap(self.n_samples + int(at), where, self._detection.max_gap)
        return ages

    def _decide(self, ages: NDArray[np.int64], times: NDArray[np.int64]) -> list[Any]:
        """Score the windows that end with some of the latest samples, and follow the scores."""
        window, stride = self._detection.window, self._detection.stride
        due = np.arange(-int(times[0] - window + 1) % stride, len(times), stride)
        stream, place = np.nonzero(ages[:, due] >= window)
        at = due[place]
        scores, codes = np.empty(0), np.empty(0, np.int64)
        if len(stream):
            first = self._end - len(times) - window + 1
            starts = stream * self._buffer.shape[1] + first + at
            flat = self._buffer.reshape(-1, self._buffer.shape[2])
            source = WindowSource(flat, starts, window, self._detection.normalize)
            decisions = self._detection.decide(SeriesCollection.of_windows(source))
            scores, codes = self._detection.readout.scores(decisions)
        elif not self._open.any():
            self.scores[ages[:, -1] < window] = np.nan
            return []
        return self._follow(ages, times, stream, at, scores, codes)

    def _follow(
        self, ages: Any, times: Any, stream: Any, at: Any, scores: Any, codes: Any
    ) -> list[tuple[int, Peak]]:
        """Events that end with these scores; those of a stream lie side by side."""
        rule, found = self._detection.rule, list[tuple[int, Peak]]()
        bounds = np.searchsorted(stream, np.arange(self.n_streams + 1))
        ends = bounds[1:][bounds[1:] > bounds[:-1]] - 1
        self.scores[stream[ends]] = scores[ends]
        self.scores[ages[:, -1] < self._detection.window] = np.nan
        high = np.zeros(self.n_streams, bool)
        high[stream[scores >= rule.threshold]] = True
        for s in np.flatnonzero(self._open | high):
            own = slice(int(bounds[s]), int(bounds[s + 1]))
            columns = times[at[own]], scores[own], codes[own]
            breaks = times[(ages[s] == 0) & (np.append(1, ages[s, :-1]) > 0)]
            found += [(int(s), peak) for peak in self._followed(int(s), columns, breaks)]
        return found

    def _followed(self, stream: int, columns: Any, breaks: NDArray[np.int64]) -> Iterator[Peak]:
        """Events of one stream that end with its latest scores, or where it breaks."""
        tracker, rule = self._trackers[stream], self._detection.rule
        begin = 0
        for pause in breaks:
            end = int(np.searchsorted(columns[0], pause))
            yield from tracker.follow(rule, *(column[begin:end] for column in columns))
            begin = end
            if tracker.opened is not None:
                yield tracker.close(rule, int(pause))
        yield from tracker.follow(rule, *(column[begin:] for column in columns))
        self._open[stream] = tracker.opened is not None

    def _table(self, found: list[tuple[int, Peak]]) -> Table:
        """Events in the order in which they were reported."""
        if not found:
            return self._nothing.copy()
        found.sort(key=lambda pair: (pair[1].reported, pair[0]))
        detection = self._detection
        return event_table(
            [peak for _, peak in found],
            detection.window,
            detection.durations,
            detection.classes,
            [stream for stream, _ in found],
        )
