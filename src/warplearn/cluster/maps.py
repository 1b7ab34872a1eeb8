"""Self-organizing maps: a series also has some weight in the neighbours of its nearest mean."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state, check_scalar

from warplearn._kernels.simd.threads import limits_blas
from warplearn.averaging.methods import check_has_mean, stepper
from warplearn.averaging.objective import Objective
from warplearn.averaging.spaces import to_public
from warplearn.base import check_not_negative, check_series, check_weights
from warplearn.cluster.centres import Centres, common_length, distances_of, nearest, stacked
from warplearn.documentation import with_parameters_of
from warplearn.elastic.bands import BandLike, resolve_band
from warplearn.elastic.costs import resolve_distance
from warplearn.series.symbols import Alphabet


@with_parameters_of(Centres)
@dataclass(repr=False, eq=False)
class ElasticSOM(Centres):
    """Self-organizing map under dynamic time warping: batch learning on a rectangular grid.

    Each unit moves to the mean of all series, weighted by how near the unit is, on the grid, to
    the unit that fits the series best.  The neighbourhood is a Gaussian whose width shrinks
    geometrically from `width` to `final_width` over the epochs.  With other costs than the squared
    one a unit makes one step of `Descent` towards that mean.

    Parameters
    ----------
    grid : pair of int, default=(3, 3)
        Rows and columns of units.
    max_iter : int, default=10
        Epochs.
    width : float, optional
        Of the neighbourhood at the start; by default half the longer side of the grid.
    final_width : float, default=0.3
        Of the neighbourhood at the end.
    random_state : int, RandomState or None
        For the series that the units start from.
    verbose : int, default=0
        Print the quantization error of each epoch.

    Attributes
    ----------
    cluster_centers_ : array of shape (units, m) or (units, channels, m)
        Units row by row; in the matrix space (units, n, m) or (units, n, m, channels).
    labels_ : array of shape (cases,)
        The best unit of each training series.
    quantization_error_ : float
        Mean distance to the best unit.
    topographic_error_ : float
        Share of the series whose best and second best unit are no neighbours, diagonals included.
    history_ : list of one array
        The quantization error before each epoch and at the end.
    n_iter_ : int
        Epochs.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(20, 10)).cumsum(axis=1)
    >>> ElasticSOM((2, 3), random_state=0).fit(X).cluster_centers_.shape
    (6, 10)
    """

    grid: tuple[int, int] = (3, 3)
    _: KW_ONLY
    cost: Any = "squared"
    max_iter: int = 10
    width: float | None = None
    final_width: float = 0.3
    space: str = "series"
    length: int | None = None
    band: BandLike = None
    alphabet: Alphabet | None = None
    random_state: Any = None
    n_jobs: int | None = None
    verbose: int = 0

    @limits_blas
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> ElasticSOM:
        """Learn the map.

        Parameters
        ----------
        X : series collection
        y : ignored
        sample_weight : array of shape (cases,), optional
        """
        collection = check_series(self, X, reset=True)
        weights = check_weights(collection, sample_weight)
        local, _ = resolve_distance(self.cost)
        check_has_mean(local)
        check_scalar(self.max_iter, "max_iter", (int, np.integer), min_val=1)
        check_not_negative(self, "final_width", *(() if self.width is None else ("width",)))
        number = (int, float)
        check_scalar(self.final_width, "final_width", number, min_val=1e-3)
        offsets = self._offsets()
        width = max(self.grid) / 2 if self.width is None else self.width
        check_scalar(width, "width", number, min_val=self.final_width)
        rng = check_random_state(self.random_state)
        length = common_length(collection, self.length)
        seeds = rng.choice(len(collection), len(offsets), p=weights / weights.sum())
        centres = stacked(collection, seeds, self.space, length, collection.max_length)
        band = resolve_band(self.band, collection.lengths, np.array([length]))
        objective = Objective.of(collection, weights, local, band, self.n_jobs)
        method = stepper(local)
        history: list[float] = []
        for epoch in range(self.max_iter + 1):
            labels, costs = nearest(collection, centres, local, band, self.n_jobs)
            history.append(float(distances_of(costs, local).mean()))
            if epoch == self.max_iter:
                break
            self._report(epoch, history[-1])
            shrunk = width * (self.final_width / width) ** (epoch / max(1, self.max_iter - 1))
            near = np.exp(-(offsets**2).sum(axis=2) / (2 * shrunk**2))
            near[near < 1e-3] = 0  # a series without weight takes no time
            _, centres = method.sweep(objective.split(labels, near), centres, epoch, rng)
        self.cluster_centers_ = np.stack([to_public(Y) for Y in centres])
        self.n_iter_, self.history_, self.labels_ = self.max_iter, [np.array(history)], labels
        self.quantization_error_ = history[-1]
        self.topographic_error_ = self.topographic_error(collection)
        return self

    def topographic_error(self, X: Any) -> float:
        """Share of series whose best and second best unit are no neighbours on the grid.

        Parameters
        ----------
        X : series collection
        """
        two = np.argsort(self.transform(X), axis=1, kind="stable")[:, :2]
        if two.shape[1] < 2:
            return 0.0
        steps = np.abs(self._offsets()[two[:, 0], two[:, 1]]).max(axis=1)
        return float((steps > 1).mean())

    def _check_state(self, whole: bool = False) -> None:
        super()._check_state(whole)
        units = len(self.cluster_centers_)
        if np.shape(self.grid) != (2,) or int(self.grid[0]) * int(self.grid[1]) != units:
            raise ValueError(f"grid must be that of {units} units, got {self.grid!r}")

    def _report(self, epoch: int, error: float) -> None:
        if self.verbose:
            print(f"ElasticSOM: epoch {epoch}, quantization error {error:.6g}", flush=True)

    def _offsets(self) -> NDArray[np.int64]:
        """Steps between any two units, along rows and along columns."""
        pair = isinstance(self.grid, (list, tuple)) and len(self.grid) == 2
        if not pair or not all(isinstance(n, (int, np.integer)) and n >= 1 for n in self.grid):
            raise ValueError(f"grid must be two positive integers, got {self.grid!r}")
        places = np.argwhere(np.ones(self.grid, bool))
        return places[:, None] - places[None]
