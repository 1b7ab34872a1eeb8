"""Random elastic features: thousands of small random matrices that slide along a series.

At every position of a series a window of k elements, `dilation` apart, has an elastic inner
product with a random k x m matrix.  Such a matrix is called a *filter*.  Its outputs at all
positions are pooled to a few numbers, such as the share of outputs above a bias.  Nothing is
trained; a linear model on top learns which features matter (`models`).  With m = 1 a filter is
the random convolution of ROCKET.  With m > 1 the window may stretch against the weights.

Filters come in groups of eight.  The filters of a group share everything but their weights and
biases: elasticity m, length k, dilation, padding, representation and channels.  A group is fast to
compute (`_kernels.drivers.windows`), and its filters can be compared: *wins* and *losses* are the
shares of the positions where a filter has the largest and the smallest output of its group.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import TransformerMixin
from sklearn.utils import check_random_state, check_scalar
from sklearn.utils.validation import check_is_fitted

from warplearn._kernels.drivers import windows
from warplearn._kernels.drivers.windows import GROUP, centre_columns, pooled_outputs, window_outputs
from warplearn.base import check_array_of, check_fitted_array, check_fitted_count, check_series
from warplearn.documentation import with_parameters_of
from warplearn.features.representations import REPRESENTATIONS, Array, within
from warplearn.features.settings import (
    POOLINGS,
    FilterSettings,
    check_names,
    positive_integers,
)
from warplearn.series.chunks import chunks
from warplearn.series.collection import SeriesCollection

__all__ = ["ElasticFeatures", "Filter"]

_MAX_CHANNELS = 9  # that one filter reads, as in ROCKET
_MAX_COLUMNS = 64  # the compiler unrolls the loop over them
_MAX_SPAN = 2**24  # elements from the first to the last of a window


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


class Standardized(NamedTuple):
    """Series as filters slide along them.

    Attributes
    ----------
    values : array (cases, representations, channels, time), float32
        Standardized, and 0 behind the end of a series.
    lengths : array (cases, representations)
    """

    values: NDArray[np.float32]
    lengths: NDArray[np.int64]


@with_parameters_of(FilterSettings)
@dataclass(repr=False, eq=False)
class ElasticFeatures(TransformerMixin, FilterSettings):
    """Pooled outputs of random elastic filters that slide along a series.

    Attributes
    ----------
    n_filters_ : int
        Number of filters, a multiple of eight.
    elasticities_ : array of shape (groups,)
        Columns m of the filters of each group, ascending.  Group i has filters 8 i to 8 i + 7.
    groups_ : array of shape (groups, 7)
        The table described in `_kernels.drivers.windows`.
    weights_, biases_, channels_ : arrays
        The arrays that the table refers to; `filter` returns them filter by filter.
    means_, scales_ : arrays of shape (distinct representations, channels)
        What the representations are standardized with.
    n_features_in_, n_channels_in_ : int
        Length of the longest training series, and number of channels.

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
    (20, 312)
    >>> features.get_feature_names_out()[:2].tolist()
    ['filter0_share', 'filter0_wins']
    """

    _fitted_by = "groups_"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []  # always float32
        return tags

    def fit(self, X: Any, y: Any = None) -> ElasticFeatures:
        """Draw the filters; scales, dilations and biases depend on the training series.

        Parameters
        ----------
        X : series collection
        y : ignored
        """
        collection = check_series(self, X, reset=True)
        check_scalar(self.n_filters, "n_filters", (int, np.integer), min_val=1, max_val=2**31)
        elasticities = positive_integers(self.elasticities, "elasticities")
        check_names(self.poolings, POOLINGS, "poolings")
        if len(set(self.poolings)) < len(self.poolings):
            raise ValueError(f"poolings must be different from each other, got {self.poolings!r}")
        check_names(self.representations, REPRESENTATIONS, "representations")
        self.means_, self.scales_ = self._scales(collection)
        rng = check_random_state(self.random_state)
        count = -(-self.n_filters // GROUP)
        turns = np.arange(count)
        self.elasticities_ = np.sort(elasticities[turns % len(elasticities)])
        self.groups_, self.channels_ = self._draw_groups(collection, count, rng)
        rows = [self._distinct.index(name) for name in self.representations]
        self.groups_[:, windows.REPRESENTATION] = np.array(rows)[turns % len(rows)]
        self.weights_ = self._draw_weights(rng)
        self.biases_ = self._draw_biases(collection, rng)
        return self

    def _scales(self, X: SeriesCollection) -> tuple[Array, Array]:
        """Mean and deviation of all elements, for each representation and channel."""

        def mean_of(function: Callable[[Array, int], Array]) -> Array:
            sums = np.zeros((len(self._distinct), X.n_channels))
            counts = np.zeros((len(self._distinct), 1))
            for cases in chunks(X):
                for r, (values, lengths) in enumerate(self._represent(X[cases])):
                    mask = within(values, lengths)
                    sums[r] += np.where(mask, function(values, r), 0).sum(axis=(0, 1))
                    counts[r] += lengths.sum()
            means: Array = sums / counts
            return means

        means = mean_of(lambda values, r: values)
        scales = np.sqrt(mean_of(lambda values, r: (values - means[r]) ** 2))
        return means, np.where(scales > 0, scales, 1)

    @property
    def _distinct(self) -> list[str]:
        """The representations, each once."""
        return list(dict.fromkeys(self.representations))

    def _represent(self, X: SeriesCollection) -> list[tuple[Array, Array]]:
        values = X.values.astype(np.float64)
        return [REPRESENTATIONS[name](values, X.lengths) for name in self._distinct]

    def standardized(self, X: SeriesCollection) -> Standardized:
        """Represent and standardize series, for `pooled`."""
        if not isinstance(X, SeriesCollection) or X.n_channels != self.n_channels_in_:
            raise ValueError(
                f"X must be a SeriesCollection of {self.n_channels_in_} channel(s), got {X!r}"
            )
        shape = (len(X), len(self._distinct), X.n_channels, X.max_length)
        values, lengths = np.empty(shape, np.float32), np.empty(shape[:2], np.int64)
        for r, (represented, ends) in enumerate(self._represent(X)):
            scaled = (represented - self.means_[r]) / self.scales_[r]
            values[:, r] = np.where(within(scaled, ends), scaled, 0).transpose(0, 2, 1)
            lengths[:, r] = ends
        return Standardized(values, lengths)

    def _draw_groups(
        self, X: SeriesCollection, count: int, rng: np.random.RandomState
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The table of groups, without representations, and the channels of all groups."""
        n, d = np.median(X.lengths), X.n_channels
        groups = np.zeros((count, 7), np.int64)
        rows = rng.choice(positive_integers(self.lengths, "lengths"), count)
        if self.dilations is None:
            largest = np.log2(np.maximum(1, (n - 1) / np.maximum(rows - 1, 1)))
            dilations = np.floor(2 ** rng.uniform(0, largest)).astype(np.int64)
        else:
            dilations = rng.choice(positive_integers(self.dilations, "dilations"), count)
        padded = rng.randint(2, size=count)
        n_channels = np.floor(2 ** rng.uniform(0, np.log2(min(d, _MAX_CHANNELS) + 1), count))
        n_channels = n_channels.astype(np.int64)
        shuffled = rng.uniform(size=(count, d)).argsort(axis=1)
        channels = shuffled[np.arange(d) < n_channels[:, None]]
        ends = n_channels.cumsum()
        sizes = GROUP * rows * n_channels * self.elasticities_
        groups[:, windows.ROWS] = rows
        groups[:, windows.DILATION] = dilations
        groups[:, windows.PADDING] = padded * ((rows - 1) * dilations // 2)
        groups[:, windows.CHANNELS_FROM] = ends - n_channels
        groups[:, windows.CHANNELS_TO] = ends
        groups[:, windows.WEIGHTS_FROM] = sizes.cumsum() - sizes
        return groups, channels

    def _weights_of(self, group: int) -> Array:
        """A view of the weights of a group, (half, row, channel, column, filter of the half)."""
        row = self.groups_[group]
        n_channels = row[windows.CHANNELS_TO] - row[windows.CHANNELS_FROM]
        shape = (2, row[windows.ROWS], n_channels, self.elasticities_[group], GROUP // 2)
        start = row[windows.WEIGHTS_FROM]
        return self.weights_[start : start + np.prod(shape)].reshape(shape)

    def _draw_weights(self, rng: np.random.RandomState) -> NDArray[np.float32]:
        last = self.groups_[-1]
        n_channels = last[windows.CHANNELS_TO] - last[windows.CHANNELS_FROM]
        size = last[windows.WEIGHTS_FROM]
        size += GROUP * last[windows.ROWS] * n_channels * self.elasticities_[-1]
        weights = rng.standard_normal(size).astype(np.float32)
        centre_columns(self.groups_, self.elasticities_, weights)
        return weights

    def _draw_biases(self, X: SeriesCollection, rng: np.random.RandomState) -> NDArray[np.float32]:
        biases = np.empty((len(self.groups_), GROUP), np.float32)
        cases = rng.randint(len(X), size=len(self.groups_))
        quantiles = rng.uniform(size=biases.shape)
        for of in self._same_elasticity():
            distinct, which = np.unique(cases[of], return_inverse=True)
            outputs, positions = window_outputs(
                int(self.elasticities_[of.start]), *self.standardized(X[distinct]),
                self.groups_[of], self.channels_, self.weights_, which,
            )  # fmt: skip
            at = (quantiles[of] * positions[:, None]).astype(np.int64)
            biases[of] = np.take_along_axis(outputs, at[..., None], axis=2)[..., 0]
        return biases

    def _same_elasticity(self) -> list[slice]:
        """Slices of the groups that have the same elasticity; such groups are neighbours."""
        starts = np.unique(self.elasticities_, return_index=True)[1].tolist()
        return [slice(*ends) for ends in zip(starts, [*starts[1:], len(self.groups_)], strict=True)]

    def transform(self, X: Any) -> NDArray[np.float32]:
        """Features of each series.

        Parameters
        ----------
        X : series collection
            Of any lengths.

        Returns
        -------
        array of shape (cases, features), float32
        """
        check_is_fitted(self)
        self._check_state()
        collection = check_series(self, X, reset=False)
        width = self.features_per_group * len(self.groups_)
        features = np.empty((len(collection), width), np.float32)
        for cases in chunks(collection):
            standardized = self.standardized(collection[cases])
            for of in self._same_elasticity():
                first = of.start * self.features_per_group
                self._pool(standardized, of, features[cases], first)
            if self.verbose:
                print(f"ElasticFeatures: {cases.stop} of {len(collection)} series")
        return features

    def pooled(self, standardized: Standardized, groups: NDArray[np.int64]) -> NDArray[np.float32]:
        """Features of some groups of filters of the same elasticity.

        Parameters
        ----------
        standardized : Standardized
            The series, as `standardized` returns them.
        groups : array of int

        Returns
        -------
        array of shape (cases, features of these groups), float32
        """
        shape = (len(standardized.values), self.features_per_group * len(groups))
        features = np.empty(shape, np.float32)
        self._pool(standardized, groups, features)
        return features

    def _pool(
        self,
        standardized: Standardized,
        groups: slice | NDArray[np.int64],
        features: NDArray[np.float32],
        first: int = 0,
    ) -> None:
        """Write features of groups of the same elasticity to columns `first`, ... of a table."""
        pooled_outputs(
            int(self.elasticities_[groups][0]), sum(POOLINGS[name] for name in self.poolings),
            standardized.values, standardized.lengths, self.groups_[groups], self.channels_,
            self.weights_, self.biases_[groups], features, first, self.n_jobs,
        )  # fmt: skip

    @property
    def features_per_group(self) -> int:
        """How many features the eight filters of a group have."""
        return GROUP * len(self.poolings)

    def families(self) -> list[tuple[tuple[int, int], NDArray[np.int64]]]:
        """The families of filters that are not empty.

        Filters of the same elasticity that slide along the same representation are a family.

        Returns
        -------
        list of (place, groups)
            The place is the index of the elasticity, of `elasticities` in ascending order, and
            that of the representation.
        """
        rows = np.searchsorted(np.unique(self.elasticities), self.elasticities_)
        places = np.column_stack([rows, self.groups_[:, windows.REPRESENTATION]])
        distinct, members = np.unique(places, axis=0, return_inverse=True)
        return [
            ((int(row), int(column)), np.flatnonzero(members.ravel() == index))
            for index, (row, column) in enumerate(distinct)
        ]

    def _check_state(self, whole: bool = False) -> None:
        check_names(self.poolings, POOLINGS, "poolings")
        check_names(self.representations, REPRESENTATIONS, "representations")
        check_fitted_count(self, "n_features_in_")
        n_channels = check_fitted_count(self, "n_channels_in_")
        representations = len(self._distinct)
        shape = (representations, n_channels)
        for name, least in (("means_", -np.inf), ("scales_", 0.0)):
            # Differences of numbers at the limit are beyond it.
            values = check_array_of(getattr(self, name, None), name, shape, finite=False)
            if not ((values > least) & (values < np.inf)).all():
                raise ValueError(f"{name} must be finite" + " and positive" * (least == 0))
        groups = check_fitted_array(self, "groups_", (None, 7), "i")
        columns = check_fitted_array(self, "elasticities_", (len(groups),), "i")
        channels = check_fitted_array(self, "channels_", (None,), "i")
        weights = check_fitted_array(self, "weights_", (None,))
        biases = check_fitted_array(self, "biases_", (len(groups), GROUP))
        if {groups.dtype, columns.dtype, channels.dtype} != {np.dtype(np.int64)}:
            raise ValueError("groups_, elasticities_ and channels_ must be of type int64")
        if {weights.dtype, biases.dtype} != {np.dtype(np.float32)}:
            raise ValueError("weights_ and biases_ must be of type float32")
        rows, dilation, padding, representation, first, last, start = groups.T
        # In floating point: products of numbers from a damaged file could overflow.
        spans = (rows - 1.0) * dilation
        sizes = float(GROUP) * rows * (last - first.astype(np.float64)) * columns
        in_range = {
            "rows": rows >= 1,
            "dilations": (dilation >= 1) & (spans <= _MAX_SPAN),
            "paddings": (padding >= 0) & (padding <= spans),
            "representations": (representation >= 0) & (representation < representations),
            "channels": (first >= 0) & (first < last) & (last <= len(channels)),
            "weights": start == sizes.cumsum() - sizes,
        }
        for what, valid in in_range.items():
            if not valid.all():
                raise ValueError(
                    f"groups_ must hold valid {what}, got {groups[~valid][0].tolist()}"
                )
        if sizes.sum() != len(weights):
            raise ValueError(f"weights_ must be {sizes.sum():.0f} numbers, got {len(weights)}")
        if not np.isin(columns, self.elasticities).all():
            raise ValueError(f"elasticities_ must be some of {self.elasticities!r}")
        if columns[0] < 1 or columns[-1] > _MAX_COLUMNS or (np.diff(columns) < 0).any():
            raise ValueError(f"elasticities_ must ascend from 1 to {_MAX_COLUMNS} at most")
        if channels.min() < 0 or channels.max() >= n_channels:
            raise ValueError(f"channels_ must be between 0 and {n_channels - 1}")

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Names of the features: filter and pooling.

        Parameters
        ----------
        input_features : ignored
        """
        check_is_fitted(self)
        poolings = [name for name in POOLINGS if name in self.poolings]
        names = [f"filter{i}_{name}" for i in range(self.n_filters_) for name in poolings]
        return np.array(names, dtype=object)

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
        check_is_fitted(self)
        check_scalar(index, "index", (int, np.integer), min_val=0, max_val=self.n_filters_ - 1)
        group, place = divmod(int(index), GROUP)
        row = self.groups_[group]
        half, lane = divmod(place, GROUP // 2)
        matrix = self._weights_of(group)[half, ..., lane].transpose(0, 2, 1).copy()
        return Filter(
            matrix if self.n_channels_in_ > 1 else matrix[..., 0],
            float(self.biases_[group, place]),
            int(row[windows.DILATION]),
            int(row[windows.PADDING]),
            self._distinct[row[windows.REPRESENTATION]],
            self.channels_[row[windows.CHANNELS_FROM] : row[windows.CHANNELS_TO]],
        )

    def select(self, groups: Any) -> ElasticFeatures:
        """The same features with only some of the groups of filters.

        Parameters
        ----------
        groups : array of int
            Indices of the groups to keep.

        Returns
        -------
        ElasticFeatures
            A new, fitted transformer.
        """
        check_is_fitted(self)
        chosen = np.unique(np.asarray(groups, np.int64))
        if not len(chosen) or chosen[0] < 0 or chosen[-1] >= len(self.groups_):
            raise ValueError(
                f"groups must be integers between 0 and {len(self.groups_) - 1}, at least one, "
                f"got {groups!r}"
            )
        weights = [self._weights_of(group).ravel() for group in chosen]
        smaller = copy(self)
        smaller.groups_ = self.groups_[chosen]
        smaller.elasticities_ = self.elasticities_[chosen]
        smaller.biases_ = self.biases_[chosen]
        smaller.weights_ = np.concatenate(weights)
        sizes = [len(each) for each in weights]
        smaller.groups_[:, windows.WEIGHTS_FROM] = np.cumsum(sizes) - sizes
        return smaller
