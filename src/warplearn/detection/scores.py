"""The score of an event: how much a model prefers its class to the background."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Readout"]


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
