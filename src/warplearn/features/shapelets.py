"""Elastic shapelets: subsequences of training series that slide along a series and may stretch.

At every position of a series a window of k elements, `dilation` apart, has an elastic Euclidean
distance to a k x m prototype, the *shapelet*.  With m = 1 it is the distance to a subsequence of a
training series, as in the random dilated shapelet transform [1]_.  With m > 1 column j is the
subsequence that begins j steps later, so that a window may stretch against it by m - 1 steps.

Three numbers are kept: the smallest distance, where it is, and the share of the positions where
the distance is below a threshold.  The threshold is a small quantile of the distances to the
windows of another training series of the same class.

References
----------
.. [1] A. Guillaume, C. Vrain, W. Elloumi. Random dilated shapelet transform: a new approach for
   time series shapelets. ICPRAI 2022.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import type_of_target

from warplearn._kernels.drivers import pooling, windows
from warplearn._kernels.drivers.slide import GROUP, LEAST_VARIANCE
from warplearn.base import check_fitted_array, check_labels, check_series, check_targets
from warplearn.documentation import with_parameters_of
from warplearn.features.representations import Array
from warplearn.features.settings import WindowSettings
from warplearn.features.sliding import SlidingFeatures, Standardized
from warplearn.series.collection import SeriesCollection

__all__ = ["ElasticShapelets", "Shapelet"]

# In the order of the features of a shapelet.
POOLINGS = {
    "share": pooling.SHARE,
    "min": pooling.MAXIMUM,
    "place": pooling.PLACE,
    "wins": pooling.WINS,
    "losses": pooling.LOSSES,
}
_QUANTILES = 0.05, 0.1  # of the distances within the class, between which a threshold is drawn


class Shapelet(NamedTuple):
    """One of the prototypes that slide along a series.

    Attributes
    ----------
    matrix : array of shape (k, m), or (k, m, channels) if there are several channels
        The prototype.
    threshold : float
        Distances below it are counted.
    dilation : int
        Distance of neighbouring elements of a window.
    normalized : bool
        Whether windows are normalized before they are compared with it.
    representation : str
        The representation of the series that the shapelet slides along.
    channels : array of int
        The channels that it reads.
    source, position : int
        The training series that it was taken from, and where it begins there.
    """

    matrix: NDArray[np.float32]
    threshold: float
    dilation: int
    normalized: bool
    representation: str
    channels: NDArray[np.int64]
    source: int
    position: int


@with_parameters_of(SlidingFeatures)
@with_parameters_of(WindowSettings)
@dataclass(repr=False, eq=False)
class ElasticShapelets(SlidingFeatures):
    """Distances of a series to subsequences of training series, at the best place and how often.

    Parameters
    ----------
    n_shapelets : int, default=4000
        Number of shapelets, rounded up to a multiple of eight for each elasticity.  May be given by
        position.
    elasticities : sequence of int, default=(1, 2)
        Numbers of columns m of the prototypes.  Each gets the same number of shapelets; m = 1 is
        a plain subsequence.  The first columns of a prototype are one of each smaller number.
    lengths : sequence of int, default=(11,)
        Numbers of elements k of a window, drawn at random.
    representations : sequence of str, default=("raw", "differences")
        What windows slide along, see `ElasticFeatures`.  Each entry gets the same number of
        shapelets.
    normalize : sequence of bool, default=(True,)
        Whether windows are normalized, by their own mean and deviation, before they are compared.
        Each entry gets the same number of shapelets.
    poolings : sequence of str, default=("share", "min", "place")
        What is kept of the distances to a shapelet:

        - "share": the share of the positions where the distance is below the threshold;
        - "min": the smallest distance, the root of the mean over the elements of a window;
        - "place": where it is, between 0 and 1;
        - "wins", "losses": the shares of the positions where the shapelet is the nearest and the
          farthest of its group.

    Attributes
    ----------
    n_shapelets_ : int
        Number of shapelets, a multiple of eight.
    sources_, positions_ : arrays of shape (groups, 8)
        The training series that each shapelet was taken from, and where it begins there.

    Notes
    -----
    Features are computed in float32.  A window is normalized with the root of its variance plus
    0.0001, where the variance of all elements is 1; so noise in flat windows stays small.  A
    series shorter than a window is continued by zeros.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(20) % 2
    >>> X = rng.normal(size=(20, 30)).cumsum(axis=1)
    >>> shapelets = ElasticShapelets(100, random_state=0).fit(X, y)
    >>> shapelets.transform(X).shape
    (20, 336)
    >>> shapelets.get_feature_names_out()[:3].tolist()
    ['shapelet0_share', 'shapelet0_min', 'shapelet0_place']
    """

    n_shapelets: int = 4000
    _: KW_ONLY
    elasticities: Sequence[int] = (1, 2)
    lengths: Sequence[int] = (11,)
    normalize: Sequence[bool] = (True,)
    poolings: Sequence[str] = ("share", "min", "place")
    representations: Sequence[str] = ("raw", "differences")

    _item = "shapelet"
    _shapelets = True
    # All features are between 0 and about 1.
    least_scale: ClassVar[float] = 0.02
    _poolings: ClassVar[Mapping[str, int]] = POOLINGS
    _rows_of_groups: ClassVar[tuple[str, ...]] = (
        *SlidingFeatures._rows_of_groups,
        "sources_",
        "positions_",
    )

    def fit(self, X: Any, y: Any = None) -> ElasticShapelets:
        """Draw shapelets from training series, and thresholds from distances.

        Parameters
        ----------
        X : series collection
        y : array of shape (cases,), optional
            Classes: thresholds are drawn from distances to series of the same class.  Without
            them, and with targets that are numbers, thresholds are drawn from all series.
        """
        collection = check_series(self, X, reset=True)
        return self._draw(collection, None if y is None else _class_numbers(collection, y))

    def _draw_paddings(self, count: int, rng: np.random.RandomState) -> NDArray[np.int64]:
        return np.zeros(count, np.int64)

    def _draw_matrices(
        self, X: SeriesCollection, labels: Array | None, rng: np.random.RandomState
    ) -> None:
        normalize = np.asarray(self.normalize)
        if normalize.ndim != 1 or not len(normalize) or normalize.dtype != bool:
            raise ValueError(f"normalize must be booleans, at least one, got {self.normalize!r}")
        turns = self.draws_ // len(self.representations)
        self.groups_[:, windows.NORMALIZED] = normalize[turns % len(normalize)]
        sources = rng.randint(len(X), size=(self._n_draws, GROUP))
        places = rng.uniform(size=sources.shape)
        others = _others(sources, labels, len(X), rng)
        quantiles = rng.uniform(*_QUANTILES, size=(len(self.groups_), GROUP))
        self.sources_ = sources[self.draws_]
        self.weights_ = np.empty(self._sizes().sum(), np.float32)
        distinct, which = np.unique(np.stack([sources, others]), return_inverse=True)
        own, other = which.reshape(2, -1, GROUP)
        standardized = self.standardized(X[distinct])
        self.positions_ = self._cut(standardized, own, places)[self.draws_]
        self._share_columns()
        outputs, positions = self._sampled(standardized, other)
        # Outputs are negated distances: their largest come last, NaN behind all positions.
        at = positions - 1 - (quantiles * positions).astype(np.int64)
        self.biases_ = np.take_along_axis(np.sort(outputs, axis=2), at[..., None], axis=2)[..., 0]

    def _cut(self, standardized: Standardized, cases: Array, places: Array) -> Array:
        """Cut the widest shapelets out of the series `cases`, those of a shape at once.

        Parameters
        ----------
        standardized : Standardized
        cases, places : arrays (draws, 8)
            Series, and relative positions there.

        Returns
        -------
        array (draws, 8)
            Positions.
        """
        groups = np.arange(len(self.groups_))[self._widest]
        table, positions = self.groups_[groups], np.empty(cases.shape, np.int64)
        n_channels = table[:, windows.CHANNELS_TO] - table[:, windows.CHANNELS_FROM]
        same = [windows.ROWS, windows.REPRESENTATION, windows.NORMALIZED]
        shapes = np.column_stack([table[:, same], n_channels])
        for shape in np.unique(shapes, axis=0):
            members = np.flatnonzero((shapes == shape).all(axis=1))
            rows, representation, normalized, _ = shape
            chosen, steps = groups[members], np.arange(rows)[:, None]
            steps = steps + np.arange(self.elasticities_[chosen[0]])  # (row, column)
            dilation = self.groups_[chosen, windows.DILATION, None, None, None]
            length = standardized.lengths[cases[members], representation]
            room = np.maximum(1, length - dilation[..., 0, 0] * steps[-1, -1])
            first = (places[members] * room).astype(np.int64)
            positions[members] = first
            index = first[..., None, None] + dilation * steps  # (group, shapelet, row, column)
            last = np.maximum(length[..., None, None] - 1, index[..., :1])
            index = np.minimum(index, last)  # a later column may end behind the series
            channels = np.stack([self._channels_of(group) for group in chosen])
            cut = _taken(standardized.values[:, representation], cases[members], channels, index)
            if normalized:
                cut = _normalized(cut)
            halves = cut.reshape(len(chosen), 2, GROUP // 2, *cut.shape[2:])
            weights = halves.transpose(0, 1, 4, 3, 5, 2).reshape(len(chosen), -1)
            starts = self.groups_[chosen, windows.WEIGHTS_FROM, None]
            self.weights_[starts + np.arange(weights.shape[1])] = weights
        return positions

    def _check_state(self, whole: bool = False) -> None:
        super()._check_state(whole)
        for name in ("sources_", "positions_"):
            if check_fitted_array(self, name, (len(self.groups_), GROUP), "i").min() < 0:
                raise ValueError(f"{name} must not be negative")

    @property
    def n_shapelets_(self) -> int:
        """Number of shapelets."""
        return GROUP * len(self.groups_)

    def shapelet(self, index: int) -> Shapelet:
        """One of the shapelets.

        Parameters
        ----------
        index : int
            Between 0 and `n_shapelets_` - 1.

        Returns
        -------
        Shapelet
        """
        group, place, matrix = self._matrix(index)
        row, channels = self.groups_[group], self._channels_of(group)
        elements = row[windows.ROWS] * len(channels)
        return Shapelet(
            matrix,
            float(np.sqrt(max(0.0, -float(self.biases_[group, place])) / elements)),
            int(row[windows.DILATION]),
            bool(row[windows.NORMALIZED]),
            self._distinct[row[windows.REPRESENTATION]],
            channels,
            int(self.sources_[group, place]),
            int(self.positions_[group, place]),
        )


def _class_numbers(X: SeriesCollection, y: Any) -> Array | None:
    """The number of each series' class, or None if targets are no classes."""
    try:
        kind = type_of_target(y, "y")
    except (ValueError, TypeError) as error:
        raise ValueError(f"y must be a label or numbers for each series: {error}") from error
    if kind not in ("binary", "multiclass"):
        check_targets(X, y)
        return None
    return np.unique(check_labels(X, y), return_inverse=True)[1]


def _taken(values: Array, cases: Array, channels: Array, index: Array) -> Array:
    """Elements (group, shapelet, channel, row, column) of series (cases, channels, time).

    Behind their end, series are continued by zeros.
    """
    time = values.shape[2]
    at = np.minimum(index, time - 1)[:, :, None]
    picked = values[cases[..., None, None, None], channels[:, None, :, None, None], at]
    return np.where(index[:, :, None] < time, picked, 0)


def _normalized(cut: Array) -> Array:
    """Normalize shapelets (..., row, column) as windows are, by their first column."""
    own = cut[..., :1]
    deviation = np.sqrt(own.var(axis=-2, keepdims=True) + LEAST_VARIANCE)
    normalized: Array = (cut - own.mean(axis=-2, keepdims=True)) / deviation
    return normalized


def _others(
    sources: NDArray[np.int64], labels: Array | None, count: int, rng: np.random.RandomState
) -> NDArray[np.int64]:
    """For each series another one of the same class; itself if there is no other."""
    codes = np.zeros(count, np.int64) if labels is None else labels
    order = np.argsort(codes, kind="stable")
    sizes = np.bincount(codes)
    starts = sizes.cumsum() - sizes
    ranks = np.empty(count, np.int64)
    ranks[order] = np.arange(count) - starts[codes[order]]
    size = sizes[codes[sources]]
    steps = 1 + (rng.uniform(size=sources.shape) * (size - 1)).astype(np.int64)
    others: NDArray[np.int64] = order[starts[codes[sources]] + (ranks[sources] + steps) % size]
    return others
