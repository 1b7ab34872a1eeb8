"""Self-organizing maps: a series also has some weight in the neighbours of its nearest mean."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state, check_scalar

from warplearn.base import check_series, check_weights
from warplearn.cluster.centres import Centres, common_length, nearest, stacked
from warplearn.elastic.bands import BandLike, resolve_band
from warplearn.mean import Objective, averaged, shown


class ElasticSOM(Centres):
    """Self-organizing map under dynamic time warping: batch learning on a rectangular grid.

    Each unit becomes the mean of all series, weighted by how near the unit is, on the grid, to
    the unit that fits the series best.  The neighbourhood is a Gaussian whose width shrinks
    geometrically from `width` to `final_width` over the epochs.

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
    space, length, band, random_state, n_jobs, verbose
        As for `ElasticKMeans`.

    Attributes
    ----------
    cluster_centers_ : array of shape (units, m) or (units, channels, m)
        Units row by row.
    labels_ : array of shape (cases,)
        The best unit of each training series.
    quantization_error_ : float
        Mean distance to the best unit.
    topographic_error_ : float
        Share of the series whose best and second best unit are no neighbours, diagonals included.
    n_iter_ : int
    """

    def __init__(
        self,
        grid: tuple[int, int] = (3, 3),
        *,
        max_iter: int = 10,
        width: float | None = None,
        final_width: float = 0.3,
        space: str = "series",
        length: int | None = None,
        band: BandLike = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.grid = grid
        self.max_iter = max_iter
        self.width = width
        self.final_width = final_width
        self.space = space
        self.length = length
        self.band = band
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

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
        check_scalar(self.max_iter, "max_iter", (int, np.integer), min_val=1)
        number = (int, float)
        check_scalar(self.final_width, "final_width", number, min_val=1e-3)
        apart = self._apart()
        width = max(self.grid) / 2 if self.width is None else self.width
        check_scalar(width, "width", number, min_val=self.final_width)
        rng = check_random_state(self.random_state)
        length = common_length(collection, self.length)
        seeds = rng.choice(len(collection), len(apart), p=weights / weights.sum())
        centres = stacked([collection[case] for case in seeds], collection, self.space, length)
        resolved = resolve_band(self.band, collection.lengths, np.array([length]))
        whole = Objective(collection, weights, resolved, self.n_jobs)
        for epoch in range(self.max_iter):
            best, costs = nearest(collection, centres, resolved, self.n_jobs)
            if self.verbose:
                error = np.sqrt(costs).mean()
                print(f"ElasticSOM: epoch {epoch}, quantization error {error:.6g}", flush=True)
            shrunk = width * (self.final_width / width) ** (epoch / max(1, self.max_iter - 1))
            near = np.exp(-(apart**2).sum(axis=2) / (2 * shrunk**2))
            near[near < 1e-3] = 0  # a series without weight costs nothing
            centres = np.stack(
                [
                    Y + averaged(whole._replace(weights=weights * h[best]).pull(Y))
                    for Y, h in zip(centres, near, strict=True)
                ]
            )
        self.cluster_centers_ = np.stack([shown(Y) for Y in centres])
        self.n_iter_ = self.max_iter
        self.labels_, costs = nearest(collection, centres, resolved, self.n_jobs)
        self.quantization_error_ = float(np.sqrt(costs).mean())
        self.topographic_error_ = self.topographic_error(collection)
        return self

    def topographic_error(self, X: Any) -> float:
        """Share of series whose best and second best unit are no neighbours on the grid."""
        two = np.argsort(self.transform(X), axis=1, kind="stable")[:, :2]
        if two.shape[1] < 2:
            return 0.0
        steps = np.abs(self._apart()[two[:, 0], two[:, 1]]).max(axis=1)
        return float((steps > 1).mean())

    def _apart(self) -> NDArray[np.int64]:
        """Steps between any two units, along rows and along columns."""
        if np.shape(self.grid) != (2,) or min(self.grid) < 1:
            raise ValueError(f"grid must be two positive integers, got {self.grid!r}")
        places = np.argwhere(np.ones(self.grid, bool))
        return places[:, None] - places[None]
