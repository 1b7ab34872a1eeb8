"""What features of windows share: small matrices slide along series, and outputs are pooled.

At every position of a series a window of k elements, `dilation` apart, is compared with a k x m
matrix.  The outputs at all positions are pooled to a few numbers.  Matrices come in groups of
eight that share everything but their weights and biases: elasticity m, length k, dilation,
padding, normalization, representation and channels.  A group is fast to compute
(`_kernels.drivers.windows`), and its matrices can be compared with each other.

There is a group of each elasticity for each *draw*.  Their matrices begin with the same columns, so
one recursion computes all of them.

A subclass draws the weights and biases: `transformer` at random, `shapelets` from training series.
"""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Callable, Mapping
from copy import copy
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import TransformerMixin
from sklearn.utils import check_random_state, check_scalar
from sklearn.utils.validation import check_is_fitted

from warplearn._kernels.drivers import windows
from warplearn._kernels.drivers.slide import GROUP
from warplearn._kernels.drivers.windows import Matrices, pooled_outputs, window_outputs
from warplearn.base import check_array_of, check_fitted_array, check_fitted_count, check_series
from warplearn.features.representations import (
    REPRESENTATIONS,
    Array,
    common_scales,
    rescaled,
    within,
)
from warplearn.features.settings import WindowSettings, check_names, positive_integers
from warplearn.series.chunks import chunks
from warplearn.series.collection import SeriesCollection
from warplearn.series.numbers import check_flag, check_numbers

_MAX_CHANNELS = 9  # that one matrix reads, as in ROCKET
_MAX_COLUMNS = 64  # the compiler unrolls the loop over them
_MAX_SPAN = 2**24  # elements from the first to the last of a window
# Work of a group, roughly: pooling takes as long as some rows, and beginning as some positions.
_POOLING_ROWS, _MORE_POSITIONS = 3, 8

Sliding = TypeVar("Sliding", bound="SlidingFeatures")


class Standardized(NamedTuple):
    """Series as matrices slide along them.

    Attributes
    ----------
    values : array (cases, representations, channels, time), float32
        Standardized, and 0 behind the end of a series.
    lengths : array (cases, representations)
    """

    values: NDArray[np.float32]
    lengths: NDArray[np.int64]

    def take(self, cases: NDArray[np.int64]) -> Standardized:
        """Some of these series."""
        return Standardized(self.values[cases], self.lengths[cases])


class Kind(NamedTuple):
    """What the matrices of a family have in common.

    Attributes
    ----------
    item : str
        What a matrix is called.
    columns : int
        The elasticity m.
    representation : str
    normalized : bool
        Whether windows are normalized.
    """

    item: str
    columns: int
    representation: str
    normalized: bool

    def __str__(self) -> str:
        parts = [f"{self.item}s", f"m = {self.columns}", self.representation]
        return ", ".join(parts + ["normalized"] * self.normalized)


class SlidingFeatures(TransformerMixin, WindowSettings, metaclass=ABCMeta):
    """Pooled outputs of matrices that slide along a series.

    A subclass says what its matrices are called and how they are pooled, and draws them.

    Attributes
    ----------
    elasticities_ : array of shape (groups,)
        Columns m of the matrices of each group, ascending.  Group i has matrices 8 i to 8 i + 7.
    draws_ : array of shape (groups,)
        The draw of each group.  Groups of one draw differ in the number of columns only.
    groups_ : array of shape (groups, 8)
        The table described in `_kernels.drivers.windows`.
    weights_, biases_, channels_ : arrays
        The arrays that the table refers to.
    common_ : array of shape (2, channels)
        Mean and deviation that series are brought to; a deviation of 0 leaves a channel as it is.
    means_, scales_ : arrays of shape (distinct representations, channels)
        What the representations are standardized with.
    n_features_in_, n_channels_in_ : int
        Length of the longest training series, and number of channels.
    """

    _fitted_by = "groups_"
    _item: ClassVar[str]  # what a matrix is called
    _shapelets: ClassVar[bool]  # the local score: a squared difference, or a product
    _poolings: ClassVar[Mapping[str, int]]  # names, in the order of the features of a matrix
    # Fitted attributes with a row for each group.
    _rows_of_groups: ClassVar[tuple[str, ...]] = ("groups_", "elasticities_", "draws_", "biases_")
    # Deviation that regressions add to that of each feature, so that features which hardly differ
    # between training series have little influence.
    least_scale: ClassVar[float] = 0.0

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []  # always float32
        return tags

    @abstractmethod
    def _draw_paddings(self, count: int, rng: np.random.RandomState) -> NDArray[np.int64]:
        """Whether each group is padded with zeros."""

    @abstractmethod
    def _draw_matrices(
        self, X: SeriesCollection, labels: Array | None, rng: np.random.RandomState
    ) -> None:
        """Set `weights_` and `biases_`, with training series and their classes."""

    def _draw(self: Sliding, X: SeriesCollection, labels: Array | None) -> Sliding:
        """Draw everything, with the training series."""
        name = f"n_{self._item}s"
        check_scalar(getattr(self, name), name, (int, np.integer), min_val=1, max_val=2**31)
        elasticities = np.sort(positive_integers(self.elasticities, "elasticities"))
        if (np.diff(elasticities) == 0).any():
            raise ValueError(
                f"elasticities must be different from each other, got {self.elasticities!r}"
            )
        self._check_names()
        check_flag(self.rescale, "rescale")
        self.common_ = common_scales(X) if self.rescale else np.zeros((2, X.n_channels))
        self.means_, self.scales_ = self._scales(X)
        rng = check_random_state(self.random_state)
        count = -(-getattr(self, name) // (GROUP * len(elasticities)))
        table, self.channels_ = self._draw_groups(X, count, rng)
        rows = [self._distinct.index(name) for name in self.representations]
        table[:, windows.REPRESENTATION] = np.array(rows)[np.arange(count) % len(rows)]
        self.draws_ = np.tile(np.arange(count), len(elasticities))
        self.elasticities_ = np.repeat(elasticities, count)
        self.groups_ = table[self.draws_]
        sizes = self._sizes()
        self.groups_[:, windows.WEIGHTS_FROM] = sizes.cumsum() - sizes
        self._draw_matrices(X, labels, rng)
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
        values = rescaled(X.values.astype(np.float64), X.lengths, self.common_)
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
            with np.errstate(over="ignore"):  # a series very far from those that gave the scale
                scaled = (represented - self.means_[r]) / self.scales_[r]
                values[:, r] = np.where(within(scaled, ends), scaled, 0).transpose(0, 2, 1)
            name = "X, with the mean and scale of the training series,"
            check_numbers(values[:, r], name, "case {}, channel {}, position {}")
            lengths[:, r] = ends
        return Standardized(values, lengths)

    def _draw_groups(
        self, X: SeriesCollection, count: int, rng: np.random.RandomState
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The table of draws, without representations and weights, and the channels of all."""
        n, d = np.median(X.lengths), X.n_channels
        groups = np.zeros((count, windows.COLUMNS), np.int64)
        rows = rng.choice(positive_integers(self.lengths, "lengths"), count)
        if self.dilations is None:
            largest = np.log2(np.maximum(1, (n - 1) / np.maximum(rows - 1, 1)))
            dilations = np.floor(2 ** rng.uniform(0, largest)).astype(np.int64)
        else:
            dilations = rng.choice(positive_integers(self.dilations, "dilations"), count)
        padded = self._draw_paddings(count, rng)
        n_channels = np.floor(2 ** rng.uniform(0, np.log2(min(d, _MAX_CHANNELS) + 1), count))
        n_channels = n_channels.astype(np.int64)
        shuffled = rng.uniform(size=(count, d)).argsort(axis=1)
        channels = shuffled[np.arange(d) < n_channels[:, None]]
        ends = n_channels.cumsum()
        groups[:, windows.ROWS] = rows
        groups[:, windows.DILATION] = dilations
        groups[:, windows.PADDING] = padded * ((rows - 1) * dilations // 2)
        groups[:, windows.CHANNELS_FROM] = ends - n_channels
        groups[:, windows.CHANNELS_TO] = ends
        return groups, channels

    def _sizes(self) -> NDArray[np.int64]:
        """How many weights each group has."""
        table = self.groups_
        n_channels = table[:, windows.CHANNELS_TO] - table[:, windows.CHANNELS_FROM]
        sizes: NDArray[np.int64] = GROUP * table[:, windows.ROWS] * n_channels * self.elasticities_
        return sizes

    def _channels_of(self, group: int) -> NDArray[np.int64]:
        """The channels that a group reads."""
        row = self.groups_[group]
        return self.channels_[row[windows.CHANNELS_FROM] : row[windows.CHANNELS_TO]]

    def _weights_of(self, group: int) -> Array:
        """A view of the weights of a group, (half, row, channel, column, matrix of the half)."""
        row = self.groups_[group]
        n_channels = row[windows.CHANNELS_TO] - row[windows.CHANNELS_FROM]
        shape = (2, row[windows.ROWS], n_channels, self.elasticities_[group], GROUP // 2)
        start = row[windows.WEIGHTS_FROM]
        return self.weights_[start : start + np.prod(shape)].reshape(shape)

    def _places(self, groups: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Where the weights of some groups begin, for each weight, and its place behind that."""
        sizes = self._sizes()[groups]
        begins = np.repeat(self.groups_[groups, windows.WEIGHTS_FROM], sizes)
        return begins, np.arange(sizes.sum()) - np.repeat(sizes.cumsum() - sizes, sizes)

    def _shared_places(
        self, fewer: NDArray[np.int64], more: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Where weights of groups stand, and where the same ones of groups of more columns do."""
        begins, behind = self._places(fewer)
        row_sizes = GROUP // 2 * self.elasticities_
        sizes = self._sizes()[fewer]
        row, column = np.divmod(behind, np.repeat(row_sizes[fewer], sizes))
        wider = self.groups_[more, windows.WEIGHTS_FROM], row_sizes[more]
        begin, step = (np.repeat(each, sizes) for each in wider)
        return begins + behind, begin + row * step + column

    @property
    def _n_draws(self) -> int:
        """How many draws there are, as long as all groups are there."""
        return int(self.draws_[-1]) + 1

    @property
    def _widest(self) -> slice:
        """The groups of most columns, one for each draw: they come last."""
        return slice(len(self.groups_) - self._n_draws, None)

    def _share_columns(self) -> None:
        """Give groups the first columns of the widest group of their draw."""
        first = self._widest.start
        own, widest = self._shared_places(np.arange(first), first + self.draws_[:first])
        self.weights_[own] = self.weights_[widest]

    def _sampled(
        self, standardized: Standardized, cases: NDArray[np.int64]
    ) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """Outputs (groups, 8, positions) on the series `cases` (draws, 8), and how many."""
        (matrices,) = self.sweeps(np.arange(len(self.groups_)), biases=False)
        return window_outputs(matrices, *standardized, cases[self.draws_])

    def _matrix(self, index: int) -> tuple[int, int, Array]:
        """Group of a matrix, its place there, and a copy of its weights (row, column, channel)."""
        check_is_fitted(self)
        last = GROUP * len(self.groups_) - 1
        check_scalar(index, "index", (int, np.integer), min_val=0, max_val=last)
        group, place = divmod(int(index), GROUP)
        half, lane = divmod(place, GROUP // 2)
        matrix = self._weights_of(group)[half, ..., lane].transpose(0, 2, 1).copy()
        return group, place, matrix if self.n_channels_in_ > 1 else matrix[..., 0]

    def sweeps(self, groups: NDArray[np.int64], *, biases: bool = True) -> list[Matrices]:
        """What kernels compute, one after the other, to have the outputs of some groups.

        Groups of one draw come out of one recursion, that of the group of most columns.

        Parameters
        ----------
        groups : array of int
            All different.
        """
        draws, of = np.unique(self.draws_[groups], return_inverse=True)
        columns = self.elasticities_[groups]
        places = np.full((len(draws), int(columns.max())), -1)
        places[of, columns - 1] = np.arange(len(groups))
        most = np.zeros(len(draws), np.int64)
        np.maximum.at(most, of, columns)
        distinct = np.unique(self.elasticities_).tolist()
        result = []
        for m in np.unique(most).tolist():
            own = places[most == m, :m]
            result.append(
                Matrices(
                    self._shapelets, self.groups_[groups[own[:, -1]]], own,
                    tuple(each - 1 for each in distinct if each <= m),
                    self.channels_, self.weights_,
                    self.biases_[groups] if biases else np.zeros((0, GROUP), np.float32),
                    sum(self._poolings[name] for name in self.poolings),
                )
            )  # fmt: skip
        return result

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
        sweeps, width = self.sweeps(np.arange(len(self.groups_))), self.n_features
        features = np.empty((len(collection), width), np.float32)
        for cases in chunks(collection):
            self._pool(self.standardized(collection[cases]), sweeps, features[cases])
            if self.verbose:
                print(f"{type(self).__name__}: {cases.stop} of {len(collection)} series")
        return features

    def pooled(self, standardized: Standardized, sweeps: list[Matrices]) -> NDArray[np.float32]:
        """Features of some groups.

        Parameters
        ----------
        standardized : Standardized
            The series, as `standardized` returns them.
        sweeps : list of Matrices
            The groups, as `sweeps` returns them.

        Returns
        -------
        array of shape (cases, features of these groups), float32
        """
        n_groups = len(sweeps[0].biases)
        shape = (len(standardized.values), self.features_per_group * n_groups)
        features = np.empty(shape, np.float32)
        self._pool(standardized, sweeps, features)
        return features

    def _pool(
        self, standardized: Standardized, sweeps: list[Matrices], features: NDArray[np.float32]
    ) -> None:
        """Write the features of some groups to a table."""
        for matrices in sweeps:
            pooled_outputs(matrices, *standardized, features, self.n_jobs)

    @property
    def n_features(self) -> int:
        """How many features there are."""
        return self.features_per_group * len(self.groups_)

    @property
    def features_per_group(self) -> int:
        """How many features the eight matrices of a group have."""
        return GROUP * len(self.poolings)

    @property
    def work(self) -> Array:
        """The relative time that each group takes, for a series as long as those of `fit`."""
        rows, dilation, padding, *_, first, last, _ = self.groups_.T
        positions = self.n_features_in_ + 2 * padding - (rows - 1) * dilation
        work: Array = (rows * (last - first) + _POOLING_ROWS) * (
            np.maximum(positions, 1) + _MORE_POSITIONS
        )
        return work

    @property
    def pooling_names(self) -> list[str]:
        """The features of a matrix, in their order."""
        return [name for name in self._poolings if name in self.poolings]

    def families(self) -> list[tuple[Kind, NDArray[np.int64]]]:
        """The families of matrices, each with its groups; those of the same draws together."""
        columns = [windows.REPRESENTATION, windows.NORMALIZED]
        kinds = np.column_stack([self.groups_[:, columns], self.elasticities_])
        distinct, members = np.unique(kinds, axis=0, return_inverse=True)
        return [
            (
                Kind(self._item, int(m), self._distinct[r], bool(normalized)),
                np.flatnonzero(members.ravel() == index),
            )
            for index, (r, normalized, m) in enumerate(distinct)
        ]

    def _check_names(self) -> None:
        """Check what is kept of outputs, and what matrices slide along."""
        check_names(self.poolings, self._poolings, "poolings")
        if len(set(self.poolings)) < len(self.poolings):
            raise ValueError(f"poolings must be different from each other, got {self.poolings!r}")
        check_names(self.representations, REPRESENTATIONS, "representations")

    def _check_state(self, whole: bool = False) -> None:
        self._check_names()
        check_fitted_count(self, "n_features_in_")
        n_channels = check_fitted_count(self, "n_channels_in_")
        representations = len(self._distinct)
        if check_fitted_array(self, "common_", (2, n_channels))[1].min() < 0:
            raise ValueError("common_ must hold deviations of at least 0")
        shape = (representations, n_channels)
        for name, least in (("means_", -np.inf), ("scales_", 0.0)):
            # Differences of numbers at the limit are beyond it.
            values = check_array_of(getattr(self, name, None), name, shape, finite=False)
            if not ((values > least) & (values < np.inf)).all():
                raise ValueError(f"{name} must be finite" + " and positive" * (least == 0))
        groups = check_fitted_array(self, "groups_", (None, windows.COLUMNS), "i")
        columns = check_fitted_array(self, "elasticities_", (len(groups),), "i")
        draws = check_fitted_array(self, "draws_", (len(groups),), "i")
        channels = check_fitted_array(self, "channels_", (None,), "i")
        weights = check_fitted_array(self, "weights_", (None,))
        biases = check_fitted_array(self, "biases_", (len(groups), GROUP))
        if {groups.dtype, columns.dtype, draws.dtype, channels.dtype} != {np.dtype(np.int64)}:
            raise ValueError("groups_, elasticities_, draws_ and channels_ must be of type int64")
        if {weights.dtype, biases.dtype} != {np.dtype(np.float32)}:
            raise ValueError("weights_ and biases_ must be of type float32")
        sizes = self._check_groups(groups, columns, len(channels), representations)
        if sizes.sum() != len(weights):
            raise ValueError(f"weights_ must be {sizes.sum():.0f} numbers, got {len(weights)}")
        if not np.isin(columns, self.elasticities).all():
            raise ValueError(f"elasticities_ must be some of {self.elasticities!r}")
        if columns[0] < 1 or columns[-1] > _MAX_COLUMNS or (np.diff(columns) < 0).any():
            raise ValueError(f"elasticities_ must ascend from 1 to {_MAX_COLUMNS} at most")
        if channels.min() < 0 or channels.max() >= n_channels:
            raise ValueError(f"channels_ must be between 0 and {n_channels - 1}")
        self._check_draws(whole)

    def _check_draws(self, whole: bool) -> None:
        """Check that groups of one draw differ in the number of columns only."""
        order = np.lexsort([self.elasticities_, self.draws_])
        draws, table = self.draws_[order], self.groups_[order, : windows.WEIGHTS_FROM]
        again = np.flatnonzero(draws[1:] == draws[:-1])
        same = (table[again] == table[again + 1]).all()
        if not same or (np.diff(self.elasticities_[order])[again] == 0).any():
            raise ValueError("draws_ must be the same for groups that differ in columns only")
        if whole:
            fewer, more = self._shared_places(order[again], order[again + 1])
            if not np.array_equal(self.weights_[fewer], self.weights_[more]):
                raise ValueError("weights_ must be the same in the first columns of a draw")

    @staticmethod
    def _check_groups(groups: Array, columns: Array, n_picked: int, representations: int) -> Array:
        """Check the table of groups; returns the number of weights of each."""
        rows, dilation, padding, normalized, representation, first, last, start = groups.T
        # In floating point: products of numbers from a damaged file could overflow.
        spans = (rows - 1.0) * dilation
        sizes: Array = float(GROUP) * rows * (last - first.astype(np.float64)) * columns
        in_range = {
            "rows": rows >= 1,
            "dilations": (dilation >= 1) & (spans <= _MAX_SPAN),
            "paddings": (padding >= 0) & (padding <= spans),
            "normalizations": (normalized >= 0) & (normalized <= 1),
            "representations": (representation >= 0) & (representation < representations),
            "channels": (first >= 0) & (first < last) & (last <= n_picked),
            "weights": start == sizes.cumsum() - sizes,
        }
        for what, valid in in_range.items():
            if not valid.all():
                raise ValueError(
                    f"groups_ must hold valid {what}, got {groups[~valid][0].tolist()}"
                )
        return sizes

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Names of the features: matrix and pooling.

        Parameters
        ----------
        input_features : ignored
        """
        check_is_fitted(self)
        count = GROUP * len(self.groups_)
        names = [f"{self._item}{i}_{name}" for i in range(count) for name in self.pooling_names]
        return np.array(names, dtype=object)

    def select(self: Sliding, groups: Any) -> Sliding:
        """The same features with only some of the groups of matrices.

        Parameters
        ----------
        groups : array of int
            Indices of the groups to keep.

        Returns
        -------
        transformer
            A new, fitted one.
        """
        check_is_fitted(self)
        chosen = np.unique(np.asarray(groups, np.int64))
        if not len(chosen) or chosen[0] < 0 or chosen[-1] >= len(self.groups_):
            raise ValueError(
                f"groups must be integers between 0 and {len(self.groups_) - 1}, at least one, "
                f"got {groups!r}"
            )
        smaller = copy(self)
        for name in self._rows_of_groups:
            setattr(smaller, name, getattr(self, name)[chosen])
        begins, behind = self._places(chosen)
        smaller.weights_ = self.weights_[begins + behind]
        sizes = smaller._sizes()
        smaller.groups_[:, windows.WEIGHTS_FROM] = sizes.cumsum() - sizes
        return smaller
