"""What should not change a prediction: small warps of the time axis.

Few training series do not tell which differences between series matter.  Some differences hardly
do: a series is still the same if its time axis is slightly warped.  The *changes* D are what that
does to the features of the training series.  A ridge regression with penalty a then has the penalty
a (|b|^2 + s |D b|^2) on its coefficients b: it avoids features that change, whatever the targets
are.  Targets are not used, so leave-one-out predictions stay what they are.  They also choose the
strength s, which may be 0.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from warplearn.features.representations import Array
from warplearn.features.ridge import Standards
from warplearn.series.augmentation import warped
from warplearn.series.collection import SeriesCollection

_N_WARPED = 2  # variants of a series
_MOST = 256  # variants of all series
_WARP = 0.02  # share of the length by which elements are displaced


class Variants(NamedTuple):
    """Variants of series.

    Attributes
    ----------
    series : SeriesCollection
    sources : array of int
        The series that each is a variant of.
    """

    series: SeriesCollection
    sources: NDArray[np.int64]

    @classmethod
    def of(cls, X: SeriesCollection) -> Variants:
        """Variants of some series, the same ones each time.

        Elements are moved by whole steps: interpolated ones would be smoother than those of X.
        """
        rng = np.random.RandomState(0)
        chosen = np.sort(rng.permutation(_N_WARPED * len(X))[:_MOST])
        sources = chosen % len(X)
        series = warped(X[sources], rng, warp=_WARP, shift=_WARP, whole=True)
        return cls(series, sources)

    def changes(self, mine: Array, features: Array, standards: Standards, weights: Array) -> Array:
        """What becomes of the standardized features of the cases, weighted as these.

        Parameters
        ----------
        mine : array (variants, features), float32
            Features of the variants; they are overwritten.
        features : array (cases, features), float32
            Standardized features of the cases.
        standards : Standards
            Of these features.
        weights : array (cases,)
        """
        standards.standardize(mine)
        mine -= features[self.sources]
        mine *= np.sqrt(weights)[self.sources, None].astype(np.float32)
        return mine
