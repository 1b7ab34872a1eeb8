"""Detection in streams: samples go in, events come out, in bounded memory and time.

A stream keeps the samples of the windows to come in a buffer of fixed size.  Whatever the packets
are that samples come in, windows start at the same samples, and the same function scores them.
So `ElasticDetector.detect` is a stream too, with a large buffer.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from warplearn.detection.events import Peak, Rule, Scored, Table, Tracker, event_table
from warplearn.detection.gaps import Stretches, warn_of_gap
from warplearn.detection.scores import Scorer, Steps
from warplearn.series.convert import FloatArray, to_floats
from warplearn.series.numbers import check_count, check_numbers, usable
from warplearn.series.windows import WindowSource

__all__ = ["Detection", "DetectionStream"]


class Detection(NamedTuple):
    """All that a stream needs of a detector.

    Attributes
    ----------
    scorer : Scorer
        Scores of windows.
    rule : Rule
    window, max_gap, n_channels : int
    steps : Steps
    normalize : str
    dtype : dtype
        What samples are computed in.
    classes : array
        Of events.
    durations : array (classes,)
    """

    scorer: Scorer
    rule: Rule
    window: int
    steps: Steps
    max_gap: int
    n_channels: int
    normalize: str
    dtype: np.dtype[np.floating[Any]]
    classes: NDArray[Any]
    durations: NDArray[np.int64]


class Cut(NamedTuple):
    """Where a break or the end cuts a stride short.

    Attributes
    ----------
    stream : int
    last : int
        The last sample before it.
    known : int
        The sample after which it is known.
    age : int
        Samples since the break before.
    """

    stream: int
    last: int
    known: int
    age: int


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
        The latest score of each stream; NaN before the first window and after a break, and minus
        infinity for a window that the gate rejects.
    """

    def __init__(self, detection: Detection, n_streams: int = 1, room: int = 256) -> None:
        self.n_streams, self._detection = check_count(n_streams, "n_streams"), detection
        # A stride is decided on when the last window that may be chosen is there.
        self._whole = detection.window + detection.steps.span
        self._kept = self._whole - 1
        shape = (self.n_streams, self._kept + max(room, self._whole), detection.n_channels)
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
        now, age = self.n_samples - 1, self._stretches.age
        rest = [Cut(stream, now, now, int(age[stream])) for stream in range(self.n_streams)]
        nothing = np.empty(0, np.int64)
        stream, scored = self._with_unfinished(nothing, self._scored(nothing, nothing), rest)
        found = self._follow(age[:, None], np.array([now]), stream, scored)
        for s in np.flatnonzero(self._open):
            found.append((int(s), self._trackers[s].close(self._detection.rule, now)))
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
        age, cuts = self._stretches.age, list[Cut]()
        times = np.arange(self.n_samples, self.n_samples + size)
        if usable(packet):
            ages = self._stretches.grow(size)
        else:
            ages = self._fill(packet)
            before = np.column_stack([age, ages[:, :-1]])
            cuts = [
                Cut(int(s), int(times[at]) - 1, int(times[at]), int(before[s, at]))
                for s, at in np.argwhere((ages == 0) & (before > 0))
            ]
        self._buffer[:, self._end : self._end + size] = packet
        self._end, self.n_samples = self._end + size, self.n_samples + size
        return self._decide(ages, times, cuts)

    def _fill(self, packet: FloatArray) -> NDArray[np.int64]:
        """Fill gaps of a packet, in place, and warn of them."""
        ages, begins = self._stretches.complete(packet, self._buffer[:, self._end - 1])
        for stream, at in begins[:1]:
            where = None if self.n_streams == 1 else int(stream)
            warn_of_gap(self.n_samples + int(at), where, self._detection.max_gap)
        return ages

    def _decide(
        self, ages: NDArray[np.int64], times: NDArray[np.int64], cuts: list[Cut]
    ) -> list[tuple[int, Peak]]:
        """Score windows of strides that end with some of the latest samples; follow the scores."""
        whole, stride = self._whole, self._detection.steps.stride
        due = np.arange(-int(times[0] - whole + 1) % stride, len(times), stride)
        stream, place = np.nonzero(ages[:, due] >= whole)
        if not len(stream) and not cuts:
            self.scores[ages[:, -1] < self._detection.window] = np.nan
            return []
        scored = self._scored(stream, times[due[place]])
        if cuts:
            stream, scored = self._with_unfinished(stream, scored, cuts)
        return self._follow(ages, times, stream, scored)

    def _scored(
        self,
        stream: NDArray[np.int64],
        ends: NDArray[np.int64],
        offsets: NDArray[np.int64] | None = None,
    ) -> Scored:
        """Choose and score windows; of each stride the last one ends with a sample of `ends`.

        Parameters
        ----------
        stream : array (strides,)
            Their streams, ascending.
        ends : array (strides,)
        offsets : array (candidates,), optional
            Where the windows of a stride begin, if not all of them are there.
        """
        window = self._detection.window
        offsets = self._detection.steps.offsets if offsets is None else offsets
        last = ends[:, None] - offsets[-1] + offsets
        if not len(stream):
            return Scored(ends, ends, np.empty(0), np.empty(0, np.int64))
        first = self._end - self.n_samples + 1 - window + stream * self._buffer.shape[1]
        flat = self._buffer.reshape(-1, self._buffer.shape[2])
        source = WindowSource(
            flat, (first[:, None] + last).ravel(), window, self._detection.normalize
        )
        chosen, scores, codes = self._detection.scorer.best(source, len(offsets))
        return Scored(last[np.arange(len(last)), chosen], ends, scores, codes)

    def _with_unfinished(
        self, stream: NDArray[np.int64], scored: Scored, cuts: list[Cut]
    ) -> tuple[NDArray[np.int64], Scored]:
        """Add strides that a break or the end cuts short, as far as their windows are there.

        Parameters
        ----------
        stream, scored
            Of whole strides.
        cuts : list of Cut
        """
        steps, window = self._detection.steps, self._detection.window
        streams, parts = [stream], [scored]
        for cut in cuts:
            behind = (cut.last + 1 - window) % steps.stride
            if behind >= steps.span or cut.age < window + behind:
                continue  # the stride is whole, or does not begin after the break before
            offsets = steps.offsets[steps.offsets <= behind]
            end = np.array([cut.last - behind + offsets[-1]])
            streams.append(np.array([cut.stream]))
            part = self._scored(streams[-1], end, offsets)
            parts.append(part._replace(known=np.array([cut.known])))
        every = np.concatenate(streams)
        merged = Scored(*(np.concatenate(column) for column in zip(*parts, strict=True)))
        order = np.lexsort((merged.known, every))
        return every[order], merged.part(order)

    def _follow(
        self,
        ages: NDArray[np.int64],
        times: NDArray[np.int64],
        stream: NDArray[np.int64],
        scored: Scored,
    ) -> list[tuple[int, Peak]]:
        """Events that end with these scores; those of a stream lie side by side."""
        rule, found = self._detection.rule, list[tuple[int, Peak]]()
        bounds = np.searchsorted(stream, np.arange(self.n_streams + 1))
        ends = bounds[1:][bounds[1:] > bounds[:-1]] - 1
        self.scores[stream[ends]] = scored.scores[ends]
        self.scores[ages[:, -1] < self._detection.window] = np.nan
        high = np.zeros(self.n_streams, bool)
        high[stream[scored.scores >= rule.threshold]] = True
        for s in np.flatnonzero(self._open | high):
            own = scored.part(slice(int(bounds[s]), int(bounds[s + 1])))
            breaks = times[(ages[s] == 0) & (np.append(1, ages[s, :-1]) > 0)]
            found += [(int(s), peak) for peak in self._followed(int(s), own, breaks)]
        return found

    def _followed(self, stream: int, scored: Scored, breaks: NDArray[np.int64]) -> Iterator[Peak]:
        """Events of one stream that end with its latest scores, or where it breaks."""
        tracker, rule = self._trackers[stream], self._detection.rule
        begin = 0
        for pause in breaks:
            end = int(np.searchsorted(scored.known, pause, side="right"))
            yield from tracker.follow(rule, scored.part(slice(begin, end)))
            begin = end
            if tracker.opened is not None:
                yield tracker.close(rule, int(pause))
        yield from tracker.follow(rule, scored.part(slice(begin, None)))
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
