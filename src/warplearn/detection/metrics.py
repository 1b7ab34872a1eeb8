"""How well detected events agree with labelled ones."""

from __future__ import annotations

from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from warplearn.detection.events import columns_of, read_events

__all__ = ["EventMetrics", "event_metrics"]


class EventMetrics(NamedTuple):
    """Agreement of detected with labelled events.

    Attributes
    ----------
    precision : float
        Share of the detected events that are right; 1 if there are none.
    recall : float
        Share of the labelled events that were detected; 1 if there are none.
    f1 : float
        Harmonic mean of the two.
    mean_delay : float
        Samples from the last one of an event to its report, on average over the events that were
        detected; NaN if there are none.  Negative where events are reported before they end.
    n_right, n_detected, n_labelled : int
        The counts.
    """

    precision: float
    recall: float
    f1: float
    mean_delay: float
    n_right: int
    n_detected: int
    n_labelled: int


def event_metrics(detected: Any, labelled: Any, *, overlap: float = 0.5) -> EventMetrics:
    """Compare detected events with labelled ones.

    A detected event is right if a labelled event of its class overlaps with it enough.  Of several
    that overlap with the same labelled event, the one that overlaps most is right.

    Parameters
    ----------
    detected : table of events
        As `ElasticDetector.detect` gives it, or any table with columns start, end and class.
    labelled : table of events
        Columns start, end and class, or a list of such triples.
    overlap : float, default=0.5
        Samples that both events have, as a share of those that at least one of them has.

    Returns
    -------
    EventMetrics

    Examples
    --------
    >>> labelled = [(10, 30, "beat"), (50, 70, "beat"), (90, 110, "pause")]
    >>> detected = [(12, 32, "beat"), (91, 111, "beat")]
    >>> metrics = event_metrics(detected, labelled)
    >>> metrics.n_right, metrics.precision, round(metrics.recall, 2), round(metrics.f1, 2)
    (1, 0.5, 0.33, 0.4)
    """
    if not isinstance(overlap, Real) or not 0 < float(overlap) <= 1:
        raise ValueError(f"overlap must be a number above 0 and at most 1, got {overlap!r}")
    true = read_events(labelled, name="labelled")
    start, end, label = columns_of(detected, "detected")
    pairs = []
    for i in range(len(start)):
        first = int(np.searchsorted(true.end, start[i], side="right"))
        last = int(np.searchsorted(true.start, end[i]))
        for j in range(first, last):
            both = min(end[i], true.end[j]) - max(start[i], true.start[j])
            either = max(end[i], true.end[j]) - min(start[i], true.start[j])
            if true.label[j] == label[i] and both >= overlap * either:
                pairs.append((-both / either, i, j))
    right: dict[int, int] = {}  # detected by labelled
    for _, i, j in sorted(pairs):
        if j not in right and i not in right.values():
            right[j] = i
    names = getattr(getattr(detected, "dtype", None), "names", None) or ()
    told = np.asarray(detected["reported"] if "reported" in names else end - 1)
    delays = told[list(right.values())] - (true.end[list(right)] - 1)
    n_right, n_detected, n_labelled = len(right), len(start), len(true.start)
    return EventMetrics(
        n_right / n_detected if n_detected else 1.0,
        n_right / n_labelled if n_labelled else 1.0,
        2 * n_right / (n_detected + n_labelled) if n_detected + n_labelled else 1.0,
        float(delays.mean()) if n_right else float("nan"),
        n_right,
        n_detected,
        n_labelled,
    )
