"""Tables of events, and the rule that makes events of scores.

A table of events is a structured array, which `pandas.DataFrame` and `polars.from_numpy` take as it
is.  Labelled events, which users bring, have the columns `start`, `end` and `class`; detected ones
also `score` and `reported`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Labelled",
    "Peak",
    "Rule",
    "Scored",
    "Tracker",
    "columns_of",
    "event_table",
    "read_events",
]

Table = NDArray[np.void]


class Labelled(NamedTuple):
    """Labelled events in the order of time: the first sample, that after the last, and classes."""

    start: NDArray[np.int64]
    end: NDArray[np.int64]
    label: NDArray[Any]


class Peak(NamedTuple):
    """What the rule finds: the last sample of the best window, when it was reported, and what."""

    last: int
    reported: int
    code: int
    score: float


class Scored(NamedTuple):
    """Scores of windows of one stream, in the order of time.

    Attributes
    ----------
    last : array (windows,)
        The last sample of each window.
    known : array (windows,)
        The sample after which the score is known.
    scores : array (windows,)
    codes : array (windows,)
        Numbers of classes, from 0.
    """

    last: NDArray[np.int64]
    known: NDArray[np.int64]
    scores: NDArray[np.float64]
    codes: NDArray[np.int64]

    def part(self, which: Any) -> Scored:
        """Some of the windows."""
        return Scored(*(column[which] for column in self))


def columns_of(events: Any, name: str) -> list[Any]:
    """The columns start, end and class of a table in any form."""
    wanted = ("start", "end", "class")
    table: Any = events
    fields = getattr(getattr(table, "dtype", None), "names", None)
    fields = list(table) if isinstance(table, Mapping) else getattr(table, "columns", fields)
    if fields is not None:
        missing = [column for column in wanted if column not in fields]
        if missing:
            raise ValueError(f"{name} must have columns {', '.join(wanted)}; it lacks {missing[0]}")
        return [np.asarray(table[column]) for column in wanted]
    rows: list[Any] = list(table) if np.iterable(table) else [None]
    if not all(isinstance(row, (list, tuple, np.ndarray)) and len(row) == 3 for row in rows):
        raise ValueError(
            f"{name} must be a table with columns start, end and class, or a list of such "
            f"triples, got {events!r:.80}"
        )
    return [np.asarray([row[column] for row in rows]) for column in range(3)]


def read_events(events: Any, n_samples: int | None = None, name: str = "events") -> Labelled:
    """Labelled events in the order of time.

    Parameters
    ----------
    events : data frame, mapping or structured array, or list of (start, end, class)
        An event is from sample `start` to before sample `end`.
    n_samples : int, optional
        Length of the recording, in which all events must lie.
    name : str
        What error messages call the table.
    """
    start, end, label = columns_of(events, name)
    if not len(start):
        return Labelled(np.empty(0, np.int64), np.empty(0, np.int64), label)
    for column, values in (("start", start), ("end", end)):
        if values.dtype.kind not in "iu":
            raise ValueError(
                f"{name}: {column} must hold integers, numbers of samples, got {values.dtype}"
            )
    order = np.argsort(start, kind="stable")
    start, end, label = start[order].astype(np.int64), end[order].astype(np.int64), label[order]
    outside = (start < 0) | (end <= start) | (end > (np.inf if n_samples is None else n_samples))
    if outside.any():
        i = int(outside.argmax())
        within = "" if n_samples is None else f", within the {n_samples} samples of the recording"
        raise ValueError(
            f"{name} must start at 0 or later and end after they start{within}; got an event from "
            f"{start[i]} to {end[i]}"
        )
    overlapping = start[1:] < end[:-1]
    if overlapping.any():
        i = int(overlapping.argmax())
        raise ValueError(
            f"{name} must not overlap, got one from {start[i]} to {end[i]} and one from "
            f"{start[i + 1]} to {end[i + 1]}"
        )
    return Labelled(start, end, label)


def event_table(
    peaks: list[Peak],
    window: int,
    durations: NDArray[np.int64],
    classes: NDArray[Any],
    streams: list[int] | None = None,
) -> Table:
    """Peaks as a table of events, each in the middle of its window and as long as its class is.

    Parameters
    ----------
    durations : array (classes,)
    streams : list of int, optional
        The stream of each peak, if there are several.
    """
    columns: list[Any] = [("start", np.int64), ("end", np.int64), ("class", classes.dtype)]
    columns += [("score", np.float64), ("reported", np.int64)]
    table = np.empty(len(peaks), columns if streams is None else [("stream", np.int64), *columns])
    if peaks:
        last, reported, codes, scores = (np.array(column) for column in zip(*peaks, strict=True))
        duration = durations[codes]
        start = last + 1 - window + (window - duration) // 2
        table["start"], table["end"] = np.maximum(0, start), start + duration
        table["class"], table["score"], table["reported"] = classes[codes], scores, reported
    if streams is not None:
        table["stream"] = streams
    return table


class Rule(NamedTuple):
    """When scores are an event.

    An event opens with a score of at least `threshold`.  It ends with a score below `release`, or
    `longest` samples after it opened, and is reported then, with the window of its best score.  The
    next one opens at least `refractory` samples after that window.
    """

    threshold: float
    release: float
    refractory: int
    longest: int


@dataclass
class Tracker:
    """Follows the scores of one stream; `peak` is the best of an event that is open."""

    opened: int | None = None
    free_from: int = 0
    peak: Peak | None = None

    def follow(self, rule: Rule, scored: Scored) -> Iterator[Peak]:
        """Take the scores of the next windows."""
        above = np.flatnonzero(scored.scores >= rule.threshold).tolist()
        if self.opened is None and not above:
            return
        # Lists and `bisect`: numpy takes longer for one number than an event should.
        below = np.flatnonzero(scored.scores < rule.release).tolist()
        last, known, scores, codes = (column.tolist() for column in scored)
        place = 0
        while True:
            if self.opened is None:
                place = max(place, bisect_left(last, self.free_from))
                next_above = bisect_left(above, place)
                if next_above == len(above):
                    return
                place = above[next_above]
                self.opened = last[place]
            next_below = bisect_left(below, place)
            stop = below[next_below] if next_below < len(below) else len(last)
            stop = min(stop, bisect_left(last, self.opened + rule.longest))
            if stop > place:
                best = max(scores[place:stop])
                if self.peak is None or best > self.peak.score:
                    at = scores.index(best, place)
                    self.peak = Peak(last[at], -1, codes[at], best)
            if stop == len(last):
                return
            place = stop
            yield self.close(rule, known[stop])

    def close(self, rule: Rule, now: int) -> Peak:
        """Report the open event at a sample."""
        assert self.peak is not None
        last, _, code, score = self.peak
        self.opened, self.peak, self.free_from = None, None, last + rule.refractory
        return Peak(last, now, code, score)
