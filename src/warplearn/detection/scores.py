"""Scores of windows: how much a classifier prefers a class of events to the background.

A *gate* comes first: a small linear model, which costs a fraction of the classifier.  It chooses
one of several neighbouring windows, and rejects most of those.  Windows that it rejects have a
score of minus infinity.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from warplearn.series.collection import SeriesCollection
from warplearn.series.windows import WindowSource
from warplearn.sliding import Slides

__all__ = ["Gate", "Readout", "Scorer", "Steps"]

_CANDIDATES = 8  # windows of a stride that a gate chooses from
_STRIDES = {True: 4, False: 8}  # of a window, by default, with and without a gate

Decide: TypeAlias = Callable[[SeriesCollection], NDArray[Any]]


class Steps(NamedTuple):
    """Which windows are scored: one of each stride.

    Attributes
    ----------
    stride : int
        Samples.
    offsets : array (candidates,)
        Where the windows begin that a gate chooses from; only 0 without a gate.
    """

    stride: int
    offsets: NDArray[np.int64]

    @classmethod
    def of(cls, window: int, stride: int | None, gated: bool) -> Steps:
        """The steps of windows of a length; by default a fraction of it."""
        size = max(1, window // _STRIDES[gated]) if stride is None else stride
        return cls(size, np.arange(0, size, -(-size // _CANDIDATES) if gated else size))

    @property
    def span(self) -> int:
        """Samples from the first candidate to the last."""
        return int(self.offsets[-1])


class Readout(NamedTuple):
    """How decision values become scores of events.

    Attributes
    ----------
    events : array of int
        Columns of the decision values that are classes of events.
    background : int
        The column of the background; -1 if there is none.
    """

    events: NDArray[np.int64]
    background: int

    @classmethod
    def of(cls, n_classes: int, background: int) -> Readout:
        """The readout of a model of some classes, one of which may be the background."""
        every = np.arange(n_classes)
        return cls(every[every != background], background)

    def scores(self, decisions: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """Scores, and the number of the best class among those of events.

        The score is the decision value of the best class minus that of the background or, without
        one, minus that of the second best class.
        """
        if decisions.ndim == 1:  # of two classes
            decisions = np.column_stack([-decisions / 2, decisions / 2])
        values = decisions[:, self.events]
        if self.background < 0:
            best = values.argmax(axis=1)
            two = np.partition(values, -2, axis=1)[:, -2:]
            return two[:, 1] - two[:, 0], best
        if values.shape[1] == 1:
            best = np.zeros(len(values), np.int64)
            return values[:, 0] - decisions[:, self.background], best
        return values.max(axis=1) - decisions[:, self.background], values.argmax(axis=1)


class Gate(NamedTuple):
    """Which windows the classifier looks at.

    Attributes
    ----------
    model : classifier of two classes
        Of background and events.
    threshold : float
        Windows with a decision value below it are rejected.
    """

    model: Any
    threshold: float


class Scorer(NamedTuple):
    """Scores windows, a few or many at a time.

    Attributes
    ----------
    decide : callable
        Decision values of the classifier.
    readout : Readout
    gate : callable or None
        Decision values of the gate.
    least : float
        The threshold of the gate.
    """

    decide: Decide
    readout: Readout
    gate: Decide | None
    least: float

    @classmethod
    def of(cls, model: Any, background: int, gate: Gate | None, length: int) -> Scorer:
        """The scorer of windows of one length by a fitted classifier.

        Parameters
        ----------
        background : int
            The class of the background among those of the model; -1 if it has none.
        """
        readout = Readout.of(len(model.classes_), background)
        if gate is None:
            return cls(_decider(model, length), readout, None, -np.inf)
        return cls(_decider(model, length), readout, _decider(gate.model, length), gate.threshold)

    def best(
        self, windows: WindowSource, candidates: int
    ) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]:
        """Of each run of some windows, the one that the gate prefers, its score and best class.

        Parameters
        ----------
        windows : WindowSource
        candidates : int
            Windows of a run.  There must be a gate to choose if there are several.

        Returns
        -------
        arrays (runs,)
            The number of the window in its run, its score, and its class among those of events.
        """
        runs = np.arange(len(windows.starts) // candidates)
        chosen, passed = np.zeros(len(runs), np.int64), runs
        if self.gate is not None and len(runs):
            values = self.gate(SeriesCollection.of_windows(windows)).reshape(-1, candidates)
            chosen = values.argmax(axis=1)
            passed = np.flatnonzero(values[runs, chosen] >= self.least)
        scores, codes = np.full(len(runs), -np.inf), np.zeros(len(runs), np.int64)
        if len(passed):
            some = windows.at(candidates * passed + chosen[passed])
            decisions = self.decide(SeriesCollection.of_windows(some))
            scores[passed], codes[passed] = self.readout.scores(decisions)
        return chosen, scores, codes


def _decider(model: Any, length: int) -> Decide:
    """Decision values of a model that is called very often."""
    decide: Decide = model.decider(length) if isinstance(model, Slides) else model.decision_function
    return decide
