"""Nearest neighbours under dynamic time warping: exact, most distances never computed.

With the squared cost, a kernel (`_kernels.drivers.nearest`) sorts candidates by a lower bound,
computes them in lanes, and abandons a block of lanes once none of them can be among the nearest any
more.  With other costs all distances are computed, a few queries at a time.  In both cases results
are those of all distances sorted; of equal distances, the smaller index comes first.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_scalar

from warplearn._kernels.drivers.nearest import nearest
from warplearn._kernels.recursion.local import Squared
from warplearn.averaging.objective import Array
from warplearn.elastic.bands import Band, BandLike, cells_of_grids, resolve_band
from warplearn.elastic.costs import resolve_distance
from warplearn.elastic.warping import pairwise_dtw_blocks
from warplearn.series.chunks import chunks, total
from warplearn.series.collection import SeriesCollection, common_dtype
from warplearn.series.symbols import Alphabet


class NearestNeighbors(NamedTuple):
    """Neighbours, and how many cells were computed to find them.

    Attributes
    ----------
    distances, indices : arrays of shape (queries, k)
        The nearest first; of equals, the one with the smaller index.
    cells_computed, cells_avoided : int
        Cells of the grids of all pairs (inside the band) that were computed, and that were not.
    """

    distances: Array
    indices: NDArray[np.int64]
    cells_computed: int
    cells_avoided: int


def nearest_neighbors(
    X: Any,
    queries: Any = None,
    n_neighbors: int = 1,
    band: BandLike = None,
    *,
    cost: Any = "squared",
    alphabet: Alphabet | None = None,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> NearestNeighbors:
    """The nearest of the series X to each query, by dynamic time warping.

    Parameters
    ----------
    X : series collection
        Anything `SeriesCollection.of` takes.
    queries : series collection, optional
        By default X itself, where no series is a neighbour of its own.
    n_neighbors : int, default=1
    band : int, float or str, optional
        Sakoe-Chiba band: a radius in cells, or a share of the longer side, such as 0.1 or "10%".
    cost : str or local score, default="squared"
        The cost of aligning an element of a query with one of a series of X (see
        `warplearn.elastic.costs`).  With "squared" most distances need not be computed.
    alphabet : Alphabet, optional
        Encodes series of symbols.
    n_jobs : int, optional
        Threads; None is 1, as in scikit-learn, -1 all cores.
    verbose : int, default=0
        Print how far the search is.

    Returns
    -------
    NearestNeighbors

    Examples
    --------
    >>> result = nearest_neighbors([[0.0, 1.0], [5.0, 5.0]], [[0.0, 0.0, 2.0]])
    >>> result.indices, result.distances
    (array([[0]]), array([[1.]]))
    """
    resolve_distance(cost)
    among = SeriesCollection.of(X, alphabet=alphabet)
    asked = among
    if queries is not None:
        asked = SeriesCollection.of(queries, name="queries", alphabet=alphabet)
    if asked.n_channels != among.n_channels:
        raise ValueError(
            f"queries must have {among.n_channels} channel(s), as X has, got {asked.n_channels}"
        )
    n_neighbors = int(check_scalar(n_neighbors, "n_neighbors", (int, np.integer), min_val=1))
    candidates = len(among) - (queries is None)
    if n_neighbors > candidates:
        raise ValueError(
            f"Expected n_neighbors <= n_samples_fit, the {candidates} series there are to choose "
            f"from, but n_neighbors = {n_neighbors}, n_samples_fit = {len(among)}"
        )
    resolved = resolve_band(band, among.lengths, asked.lengths)
    search = _Search(
        n_neighbors, cost, band, resolved, common_dtype(among, asked), queries is None,
        n_jobs, verbose,
    )  # fmt: skip
    return search.among(among, asked)


class _Best(NamedTuple):
    """The nearest so far, the nearest first.

    Attributes
    ----------
    costs, indices : arrays (queries, neighbours)
        Summed squared costs, or distances by another cost; infinity where there are no more.
    computed, total : int
        Cells that were computed to find them, and that the grids have.
    """

    costs: Array
    indices: NDArray[np.int64]
    computed: int
    total: int

    def first(self, count: int) -> _Best:
        """The nearest of these, sorted; of equals those that come first."""
        order = self.costs.argsort(axis=1, kind="stable")[:, :count]
        return self._replace(
            costs=np.take_along_axis(self.costs, order, axis=1),
            indices=np.take_along_axis(self.indices, order, axis=1),
        )

    def merged(self, other: _Best) -> _Best:
        """The nearest of both; of equals those of the first, whose indices are smaller."""
        both = _Best(
            np.concatenate([self.costs, other.costs], axis=1),
            np.concatenate([self.indices, other.indices], axis=1),
            self.computed + other.computed,
            self.total + other.total,
        )
        return both.first(self.costs.shape[1])


class _Search(NamedTuple):
    """A search for the nearest of some series to each query.

    Attributes
    ----------
    n_neighbors : int
    cost : str or local score
    band : as users give it
    resolved : Band or None
    dtype : dtype
        What distances are computed in.
    within : bool
        Whether queries are the candidates, and none is a neighbour of its own.
    n_jobs, verbose : int or None
    """

    n_neighbors: int
    cost: Any
    band: BandLike
    resolved: Band | None
    dtype: Any
    within: bool
    n_jobs: int | None
    verbose: int

    @property
    def by_bounds(self) -> bool:
        """Whether lower bounds can be used, which are those of the squared cost."""
        return isinstance(resolve_distance(self.cost)[0], Squared)

    def among(self, X: SeriesCollection, asked: SeriesCollection) -> NearestNeighbors:
        """The nearest of all series X to each query."""
        if asked.engine is not None:
            asked = asked[:]
        if X.in_memory:
            best = self.best_of(X, np.arange(len(X)), asked)
        else:
            best = total(
                lambda some, own: self.best_of(some, own, asked),
                X, np.arange(len(X)), plus=_Best.merged,
            )  # fmt: skip
        distances = np.sqrt(best.costs) if self.by_bounds else best.costs
        return NearestNeighbors(distances, best.indices, best.computed, best.total - best.computed)

    def best_of(
        self, X: SeriesCollection, own: NDArray[np.int64], asked: SeriesCollection
    ) -> _Best:
        """The nearest of some series, whose indices are `own`, to each query."""
        X, done = X.astype(self.dtype), 0
        search = self._by_bounds if self.by_bounds else self._by_all_distances
        results = []
        for cases in chunks(asked):
            some = asked[cases].astype(self.dtype)
            skip = np.full(len(some), -1)
            if self.within:
                number = np.arange(len(asked))[cases]
                place = np.searchsorted(own, number).clip(max=len(own) - 1)
                skip = np.where(own[place] == number, place, -1)
            best = self._padded(search(X, some, skip))
            results.append(best._replace(indices=own[best.indices]))
            done += len(some)
            if self.verbose:
                share = best.computed / max(best.total, 1)
                print(
                    f"nearest_neighbors: {done} of {len(asked)} queries, {share:.1%} of the cells"
                )
        return _Best(
            np.concatenate([best.costs for best in results]),
            np.concatenate([best.indices for best in results]),
            sum(best.computed for best in results),
            sum(best.total for best in results),
        )

    def _padded(self, best: _Best) -> _Best:
        """As many places as there are neighbours wanted, of infinite cost where there are none."""
        missing = ((0, 0), (0, self.n_neighbors - best.costs.shape[1]))
        return best._replace(
            costs=np.pad(best.costs, missing, constant_values=np.inf),
            indices=np.pad(best.indices, missing),
        )

    def _by_bounds(
        self, X: SeriesCollection, asked: SeriesCollection, skip: NDArray[np.int64]
    ) -> _Best:
        """With the squared cost: sort candidates by a lower bound, and stop early."""
        # The kernel fills all places: of few series it finds all, and the query itself is dropped.
        few = len(X) - self.within < self.n_neighbors
        count = min(self.n_neighbors + self.within, len(X)) if few else self.n_neighbors
        found = _Best(*nearest(
            X.values, X.lengths, asked.values, asked.lengths, count,
            band=self.resolved, skip=None if few else skip, n_jobs=self.n_jobs,
        ))  # fmt: skip
        if few:
            found.costs[found.indices == skip[:, None]] = np.inf
        return found.first(self.n_neighbors) if few else found

    def _by_all_distances(
        self, X: SeriesCollection, asked: SeriesCollection, skip: NDArray[np.int64]
    ) -> _Best:
        """With any cost: compute all distances, a few queries at a time, and sort them."""
        every = np.arange(len(X))
        parts = []
        for rows, block in pairwise_dtw_blocks(asked, X, self.band, self.cost, n_jobs=self.n_jobs):
            own = np.flatnonzero(skip[rows] >= 0)
            block[own, skip[rows][own]] = np.inf
            indices = np.broadcast_to(every, block.shape)
            parts.append(_Best(block, indices, 0, 0).first(self.n_neighbors))
        cells = cells_of_grids(X.lengths, asked.lengths, self.resolved)
        return _Best(
            np.concatenate([part.costs for part in parts]),
            np.concatenate([part.indices for part in parts]),
            cells,
            cells,
        )
