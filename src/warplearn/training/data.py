"""Training series with their targets, as a plan is made from them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from warplearn.series.collection import SeriesCollection
from warplearn.series.scaling import element_scales, standardized

_MOST_COPIED_BYTES = 2**26


class _Standardizer(NamedTuple):
    """Mean and deviation, as a function of series that can be pickled."""

    mean: NDArray[np.float64]
    scale: NDArray[np.float64]

    def standardize(self, some: SeriesCollection) -> SeriesCollection:
        """The series, standardized."""
        return standardized(some, self.mean, self.scale)


@dataclass(frozen=True, eq=False)
class TrainingSet:
    """Series, targets and weights, and which of the series to train on.

    Folds of one collection share X, so that they can be trained side by side.

    Attributes
    ----------
    X : SeriesCollection
    y : array
        Codes of the classes (cases,), or targets (cases, targets).
    weights : array (cases,)
    cases : array of int
        The series to train on, in the order in which they were given.
    classes : array, optional
        What the codes stand for.
    alphabet : Alphabet, optional
        What symbols were encoded with.
    """

    X: SeriesCollection
    y: NDArray[Any]
    weights: NDArray[np.float64]
    cases: NDArray[np.int64]
    classes: NDArray[Any] | None = None
    alphabet: Any = None

    @cached_property
    def weighted(self) -> NDArray[np.int64]:
        """The series to train on whose weight is not 0."""
        return self.cases[self.weights[self.cases] > 0]

    @cached_property
    def max_length(self) -> int:
        """Length of the longest series to train on."""
        return int(self.X.lengths[self.cases].max())

    @cached_property
    def scales(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Mean and deviation of the elements of each channel of the series to train on."""
        return element_scales(self.X, self.cases)

    @cached_property
    def standardized(self) -> SeriesCollection:
        """All series, standardized with `scales`."""
        return self.standardized_with(self.scales)

    def standardized_with(
        self, scales: tuple[NDArray[np.float64], NDArray[np.float64]]
    ) -> SeriesCollection:
        """All series, standardized: a copy if they are few, else whenever they are asked for."""
        X = self.X
        if X.in_memory and X.dtype.itemsize * int(np.prod(X.shape)) <= _MOST_COPIED_BYTES:
            return standardized(X, *scales)
        return X.changed(_Standardizer(*scales).standardize)
