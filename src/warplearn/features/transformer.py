"""Random elastic features: thousands of small matrices that slide along a series.

At every position of a series a window of k elements, `dilation` apart, has an elastic inner
product with a random k x m matrix; of all these outputs a few numbers are kept, such as the share
above a bias.  Nothing is trained: a linear model on top finds out which of them matter
(`feature_models`).  With m = 1 this is the random convolution of ROCKET, with m > 1 a window may
stretch against the weights.

The matrices, called kernels, come in groups of eight that share all but their weights and biases:
elasticity m, length k, dilation, padding, representation and channels.  That is fast (see
`_kernels.windows`), and lets the kernels of a group compete: *wins* and *losses* are the shares of
the positions where a kernel has the largest and the smallest output of its group.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import uniform_filter1d
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_random_state, check_scalar
from sklearn.utils.validation import check_is_fitted

from warplearn._kernels.drivers import windows
from warplearn._kernels.drivers.windows import GROUP, centre_columns, pooled_outputs, window_outputs
from warplearn.averaging.objective import Array
from warplearn.base import check_series
from warplearn.registry import choose
from warplearn.series.chunks import chunks
from warplearn.series.collection import SeriesCollection

__all__ = ["ElasticFeatures", "Kernel"]

# In the order of the features of a kernel.
POOLINGS = {
    "share": windows.SHARE,
    "max": windows.MAXIMUM,
    "wins": windows.WINS,
    "losses": windows.LOSSES,
}
_MOST_CHANNELS = 9  # of a kernel, as in ROCKET
_NEIGHBOURS = 9  # of which the smooth representation is the mean


# Representations: (cases, time, channels) and lengths to the same.


def _inside(values: Array, lengths: Array) -> Array:
    """Whether a time point belongs to the series; an array (cases, time, 1)."""
    inside: Array = (np.arange(values.shape[1]) < lengths[:, None])[..., None]
    return inside


def _raw(values: Array, lengths: Array) -> tuple[Array, Array]:
    return values, lengths


def _differences(values: Array, lengths: Array) -> tuple[Array, Array]:
    """Differences of neighbours; a series of one element has one difference, 0."""
    steps = np.diff(values, axis=1, append=values[:, -1:])
    return np.where(_inside(values, lengths - 1), steps, 0), np.maximum(lengths - 1, 1)


def _second_differences(values: Array, lengths: Array) -> tuple[Array, Array]:
    return _differences(*_differences(values, lengths))


def _smooth(values: Array, lengths: Array) -> tuple[Array, Array]:
    """Means of nine neighbours, of fewer at the ends."""
    inside = _inside(values, lengths)
    sums, counts = (
        uniform_filter1d(part.astype(np.float64), _NEIGHBOURS, axis=1, mode="constant")
        for part in (np.where(inside, values, 0), inside)
    )
    return np.where(inside, sums / np.where(inside, counts, 1), 0), lengths


REPRESENTATIONS: dict[str, Callable[[Array, Array], tuple[Array, Array]]] = {
    "raw": _raw,
    "differences": _differences,
    "second_differences": _second_differences,
    "smooth": _smooth,
}


class Kernel(NamedTuple):
    """One of the matrices that slide along a series.

    Attributes
    ----------
    matrix : array of shape (k, m), or (k, m, channels) if there are several channels
    bias : float
        What outputs are compared with.
    dilation, padding : int
        How far apart the elements of a window are; how many zeros precede and follow a series.
    representation : str
        What of the series it slides along.
    channels : array of int
        Which channels it reads.
    """

    matrix: NDArray[np.float32]
    bias: float
    dilation: int
    padding: int
    representation: str
    channels: NDArray[np.int64]


class ElasticFeatures(TransformerMixin, BaseEstimator):
    """Pooled outputs of random elastic functions that slide along a series.

    Parameters
    ----------
    n_kernels : int, default=8000
        How many kernels; rounded up to a multiple of eight.
    elasticities : sequence of int, default=(1, 2)
        Columns m of the matrices, each for as many kernels; 1 is a convolution.
    lengths : sequence of int, default=(7, 9, 11)
        Rows k to draw from.
    dilations : sequence of int, optional
        What to draw dilations from; by default 2**u, rounded down, with u uniform between 0 and
        the value at which a window is as long as the median training series.
    poolings : sequence of str, default=("share", "wins", "losses")
        Some of "share" (of the positions whose output is above the bias), "max" (output), "wins"
        and "losses" (share of the positions with the largest, the smallest output of the group).
    representations : sequence of str, default: all four
        What kernels slide along: "raw" is the series, "differences" of neighbours and
        "second_differences" are what they say, "smooth" are means of nine neighbours; all are
        standardized with the mean and deviation of all training elements of a channel.  Each
        entry gets as many kernels; one that is named twice gets twice as many.
    random_state : int, RandomState or None
    n_jobs : int, optional
        Threads; None is Numba's current setting, -1 all cores.  Features do not depend on it.
    verbose : int, default=0
        Print how far `transform` is.

    Attributes
    ----------
    n_kernels_ : int
    elasticities_ : array of shape (groups,)
        Ascending; kernels 8 i to 8 i + 7 are group i.
    groups_ : array of shape (groups, 7)
        The table that `_kernels.windows` describes.
    weights_, biases_, channels_ : array
        What the table refers to; `kernel` shows them kernel by kernel.
    means_, scales_ : array of shape (different representations, channels)

    Notes
    -----
    Computed in float32.  Weights are normal, with mean 0 down each column.  Half of the groups pad
    a series with zeros, so that there are as many windows as elements; a series shorter than a
    window has one.  Of several channels a group reads 2**u, drawn at random.  A bias is the output
    at a random place of a random training series, that is a random quantile of its outputs.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(20, 30)).cumsum(axis=1)
    >>> features = ElasticFeatures(100, random_state=0).fit(X)
    >>> features.transform(X).shape
    (20, 312)
    >>> features.get_feature_names_out()[:2].tolist()
    ['kernel0_share', 'kernel0_wins']
    """

    n_channels_in_: int

    def __init__(
        self,
        n_kernels: int = 8000,
        *,
        elasticities: Sequence[int] = (1, 2),
        lengths: Sequence[int] = (7, 9, 11),
        dilations: Sequence[int] | None = None,
        poolings: Sequence[str] = ("share", "wins", "losses"),
        representations: Sequence[str] = ("raw", "differences", "second_differences", "smooth"),
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_kernels = n_kernels
        self.elasticities = elasticities
        self.lengths = lengths
        self.dilations = dilations
        self.poolings = poolings
        self.representations = representations
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []  # always float32
        return tags

    def fit(self, X: Any, y: Any = None) -> ElasticFeatures:
        """Draw the kernels; the training series decide on scales, dilations and biases.

        Parameters
        ----------
        X : series collection
        y : ignored
        """
        collection = check_series(self, X, reset=True)
        check_scalar(self.n_kernels, "n_kernels", (int, np.integer), min_val=1)
        elasticities = _numbers(self.elasticities, "elasticities")
        _names(self.poolings, POOLINGS, "poolings")
        if len(set(self.poolings)) < len(self.poolings):
            raise ValueError(f"poolings must be different from each other, got {self.poolings!r}")
        _names(self.representations, REPRESENTATIONS, "representations")
        self.means_, self.scales_ = self._scales(collection)
        rng = check_random_state(self.random_state)
        count = -(-self.n_kernels // GROUP)
        turns = np.arange(count)
        self.elasticities_ = np.sort(elasticities[turns % len(elasticities)])
        self.groups_, self.channels_ = self._draw_groups(collection, count, rng)
        drawn = [self._distinct.index(name) for name in self.representations]
        self.groups_[:, windows.REPRESENTATION] = np.array(drawn)[turns % len(drawn)]
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
                    inside = _inside(values, lengths)
                    sums[r] += np.where(inside, function(values, r), 0).sum(axis=(0, 1))
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

    def _standardized(self, X: SeriesCollection) -> tuple[Array, Array]:
        """What kernels slide along, (cases, representations, channels, time), and the lengths."""
        shape = (len(X), len(self._distinct), X.n_channels, X.max_length)
        values, lengths = np.empty(shape, np.float32), np.empty(shape[:2], np.int64)
        for r, (represented, ends) in enumerate(self._represent(X)):
            scaled = (represented - self.means_[r]) / self.scales_[r]
            values[:, r] = np.where(_inside(scaled, ends), scaled, 0).transpose(0, 2, 1)
            lengths[:, r] = ends
        return values, lengths

    def _draw_groups(
        self, X: SeriesCollection, count: int, rng: np.random.RandomState
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The table of groups, without representations, and their channels."""
        n, d = np.median(X.lengths), X.n_channels
        groups = np.zeros((count, 7), np.int64)
        rows = rng.choice(_numbers(self.lengths, "lengths"), count)
        if self.dilations is None:
            most = np.log2(np.maximum(1, (n - 1) / np.maximum(rows - 1, 1)))
            dilations = np.floor(2 ** rng.uniform(0, most)).astype(np.int64)
        else:
            dilations = rng.choice(_numbers(self.dilations, "dilations"), count)
        padded = rng.randint(2, size=count)
        several = np.floor(2 ** rng.uniform(0, np.log2(min(d, _MOST_CHANNELS) + 1), count))
        several = several.astype(np.int64)
        shuffled = rng.uniform(size=(count, d)).argsort(axis=1)
        channels = shuffled[np.arange(d) < several[:, None]]
        ends = several.cumsum()
        sizes = GROUP * rows * several * self.elasticities_
        groups[:, windows.ROWS] = rows
        groups[:, windows.DILATION] = dilations
        groups[:, windows.PADDING] = padded * ((rows - 1) * dilations // 2)
        groups[:, windows.CHANNELS_FROM] = ends - several
        groups[:, windows.CHANNELS_TO] = ends
        groups[:, windows.WEIGHTS_FROM] = sizes.cumsum() - sizes
        return groups, channels

    def _weights_of(self, group: int) -> Array:
        """A view of the weights of a group, (half, row, channel, column, kernel of the half)."""
        row = self.groups_[group]
        several = row[windows.CHANNELS_TO] - row[windows.CHANNELS_FROM]
        shape = (2, row[windows.ROWS], several, self.elasticities_[group], GROUP // 2)
        start = row[windows.WEIGHTS_FROM]
        return self.weights_[start : start + np.prod(shape)].reshape(shape)

    def _draw_weights(self, rng: np.random.RandomState) -> NDArray[np.float32]:
        last = self.groups_[-1]
        several = last[windows.CHANNELS_TO] - last[windows.CHANNELS_FROM]
        size = last[windows.WEIGHTS_FROM]
        size += GROUP * last[windows.ROWS] * several * self.elasticities_[-1]
        weights = rng.standard_normal(size).astype(np.float32)
        centre_columns(self.groups_, self.elasticities_, weights)
        return weights

    def _draw_biases(self, X: SeriesCollection, rng: np.random.RandomState) -> NDArray[np.float32]:
        biases = np.empty((len(self.groups_), GROUP), np.float32)
        cases = rng.randint(len(X), size=len(self.groups_))
        places = rng.uniform(size=biases.shape)
        for of in self._same_elasticity():
            seen, which = np.unique(cases[of], return_inverse=True)
            outputs, positions = window_outputs(
                int(self.elasticities_[of.start]), *self._standardized(X[seen]),
                self.groups_[of], self.channels_, self.weights_, which,
            )  # fmt: skip
            at = (places[of] * positions[:, None]).astype(np.int64)
            biases[of] = np.take_along_axis(outputs, at[..., None], axis=2)[..., 0]
        return biases

    def _same_elasticity(self) -> list[slice]:
        """Groups of the same elasticity, which are neighbours."""
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
        collection = check_series(self, X, reset=False)
        wanted = sum(POOLINGS[name] for name in self.poolings)
        step = GROUP * len(self.poolings)
        features = np.empty((len(collection), step * len(self.groups_)), np.float32)
        for cases in chunks(collection):
            values, lengths = self._standardized(collection[cases])
            for of in self._same_elasticity():
                pooled_outputs(
                    int(self.elasticities_[of.start]), wanted, values, lengths,
                    self.groups_[of], self.channels_, self.weights_, self.biases_[of],
                    features[cases], of.start * step, self.n_jobs,
                )  # fmt: skip
            if self.verbose:
                print(f"ElasticFeatures: {cases.stop} of {len(collection)} series")
        return features

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Names of the features: kernel and pooling.

        Parameters
        ----------
        input_features : ignored
        """
        check_is_fitted(self)
        poolings = [name for name in POOLINGS if name in self.poolings]
        names = [f"kernel{i}_{name}" for i in range(self.n_kernels_) for name in poolings]
        return np.array(names, dtype=object)

    @property
    def n_kernels_(self) -> int:
        """How many kernels there are."""
        return GROUP * len(self.groups_)

    def kernel(self, index: int) -> Kernel:
        """Show a kernel.

        Parameters
        ----------
        index : int
            Between 0 and `n_kernels_` - 1.
        """
        check_is_fitted(self)
        check_scalar(index, "index", (int, np.integer), min_val=0, max_val=self.n_kernels_ - 1)
        group, place = divmod(int(index), GROUP)
        row = self.groups_[group]
        half, lane = divmod(place, GROUP // 2)
        matrix = self._weights_of(group)[half, ..., lane].transpose(0, 2, 1).copy()
        return Kernel(
            matrix if self.n_channels_in_ > 1 else matrix[..., 0],
            float(self.biases_[group, place]),
            int(row[windows.DILATION]),
            int(row[windows.PADDING]),
            self._distinct[row[windows.REPRESENTATION]],
            self.channels_[row[windows.CHANNELS_FROM] : row[windows.CHANNELS_TO]],
        )

    def select(self, groups: Any) -> ElasticFeatures:
        """The same features with some of the groups of kernels only.

        Parameters
        ----------
        groups : array of int
            Which groups, ascending.
        """
        check_is_fitted(self)
        chosen = np.unique(np.asarray(groups, np.int64))
        if not len(chosen) or chosen[0] < 0 or chosen[-1] >= len(self.groups_):
            raise ValueError(
                f"groups must be numbers between 0 and {len(self.groups_) - 1}, got {groups!r}"
            )
        weights = [self._weights_of(group).ravel() for group in chosen]
        smaller = copy(self)
        smaller.groups_ = self.groups_[chosen]
        smaller.elasticities_ = self.elasticities_[chosen]
        smaller.biases_ = self.biases_[chosen]
        smaller.weights_ = np.concatenate(weights)
        sizes = [len(part) for part in weights]
        smaller.groups_[:, windows.WEIGHTS_FROM] = np.cumsum(sizes) - sizes
        return smaller


def _numbers(given: Any, name: str) -> NDArray[np.int64]:
    """Positive integers, at least one."""
    numbers = np.asarray(given)
    if numbers.ndim != 1 or not len(numbers) or numbers.dtype.kind not in "iu" or min(numbers) < 1:
        raise ValueError(f"{name} must be positive integers, at least one, got {given!r}")
    return numbers.astype(np.int64)


def _names(given: Any, table: Any, name: str) -> None:
    """Refuse what is not a sequence of names from a table, at least one."""
    if isinstance(given, str) or not len(given):
        raise ValueError(f"{name} must be some of {sorted(table)}, at least one, got {given!r}")
    for one in given:
        choose(table, one, name)
