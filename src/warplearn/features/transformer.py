"""Random elastic features: thousands of small random matrices that slide along a series.

At every position of a series a window has an elastic inner product with a random k x m matrix.
Such a matrix is called a *filter*.  Its outputs at all positions are pooled to a few numbers, such
as the share of outputs above a bias.  Nothing is trained; a linear model on top learns which
features matter (`models`).  With m = 1 a filter is the random convolution of ROCKET.  With m > 1
the window may stretch against the weights.

*Wins* and *losses* are the shares of the positions where a filter has the largest and the smallest
output of its group.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from warplearn._kernels.drivers import windows
from warplearn._kernels.drivers.slide import GROUP
from warplearn._kernels.drivers.windows import centre_columns
from warplearn.base import check_series
from warplearn.documentation import with_parameters_of
from warplearn.features.representations import Array
from warplearn.features.settings import POOLINGS, FilterSettings
from warplearn.features.sliding import SlidingFeatures
from warplearn.series.collection import SeriesCollection

__all__ = ["ElasticFeatures", "Filter"]


class Filter(NamedTuple):
    """One of the matrices that slide along a series.

    Attributes
    ----------
    matrix : array of shape (k, m), or (k, m, channels) if there are several channels
        The weights.
    bias : float
        The threshold of the pooling "share".
    dilation : int
        Distance of neighbouring elements of a window.
    padding : int
        Zeros before and after a series.
    representation : str
        The representation of the series that the filter slides along.
    channels : array of int
        The channels that it reads.
    """

    matrix: NDArray[np.float32]
    bias: float
    dilation: int
    padding: int
    representation: str
    channels: NDArray[np.int64]


@with_parameters_of(SlidingFeatures)
@with_parameters_of(FilterSettings)
@dataclass(repr=False, eq=False)
class ElasticFeatures(FilterSettings, SlidingFeatures):
    """Pooled outputs of random elastic filters that slide along a series.

    Attributes
    ----------
    n_filters_ : int
        Number of filters, a multiple of eight.

    Notes
    -----
    Features are computed in float32.  Weights are normal, and the mean of each column is
    subtracted.  Half of the groups pad a series with zeros, so that there are as many windows as
    elements.  A series shorter than a window has one window.  With several channels, a group reads
    a random number of them, 2**u rounded down, chosen at random.  A bias is the output at a random
    position of a random training series, that is, a random quantile of the outputs.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(20, 30)).cumsum(axis=1)
    >>> features = ElasticFeatures(100, random_state=0).fit(X)
    >>> features.transform(X).shape
    (20, 336)
    >>> features.get_feature_names_out()[:2].tolist()
    ['filter0_share', 'filter0_wins']
    """

    n_filters: int = 8000

    _item = "filter"
    _shapelets = False
    # Shares that differ less say nothing, and other series may differ a thousand times as much.
    least_scale: ClassVar[float] = 0.001
    _poolings: ClassVar[Mapping[str, int]] = POOLINGS

    def fit(self, X: Any, y: Any = None) -> ElasticFeatures:
        """Draw the filters; scales, dilations and biases depend on the training series.

        Parameters
        ----------
        X : series collection
        y : ignored
        """
        return self._draw(check_series(self, X, reset=True), None)

    def _draw_paddings(self, count: int, rng: np.random.RandomState) -> NDArray[np.int64]:
        return rng.randint(2, size=count)

    def _draw_matrices(
        self, X: SeriesCollection, labels: Array | None, rng: np.random.RandomState
    ) -> None:
        sizes, widest = self._sizes(), self._widest
        self.weights_ = np.zeros(sizes.sum(), np.float32)
        self.weights_[-sizes[widest].sum() :] = rng.standard_normal(sizes[widest].sum())
        centre_columns(self.groups_[widest], self.elasticities_[widest], self.weights_)
        self._share_columns()
        cases = rng.randint(len(X), size=self._n_draws)
        distinct, which = np.unique(cases, return_inverse=True)
        quantiles = rng.uniform(size=(len(sizes), GROUP))
        outputs, positions = self._sampled(
            self.standardized(X[distinct]), np.repeat(which[:, None], GROUP, axis=1)
        )
        at = (quantiles * positions).astype(np.int64)
        self.biases_ = np.take_along_axis(outputs, at[..., None], axis=2)[..., 0]

    @property
    def n_filters_(self) -> int:
        """Number of filters."""
        return GROUP * len(self.groups_)

    def filter(self, index: int) -> Filter:
        """One of the filters.

        Parameters
        ----------
        index : int
            Between 0 and `n_filters_` - 1.

        Returns
        -------
        Filter
        """
        group, place, matrix = self._matrix(index)
        row = self.groups_[group]
        return Filter(
            matrix,
            float(self.biases_[group, place]),
            int(row[windows.DILATION]),
            int(row[windows.PADDING]),
            self._distinct[row[windows.REPRESENTATION]],
            self._channels_of(group),
        )
