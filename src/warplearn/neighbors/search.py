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
from warplearn.series.chunks import chunks
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
    local, _ = resolve_distance(cost)
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
    skip = np.arange(len(asked)) if queries is None else np.full(len(asked), -1)
    search = _Search(among, asked, skip, n_neighbors, verbose)
    if isinstance(local, Squared):
        return search.by_bounds(resolved, n_jobs)
    return search.by_all_distances(band, cost, n_jobs)


class _Search(NamedTuple):
    """A search for the nearest of some series to each query.

    Attributes
    ----------
    among, asked : SeriesCollection
        The candidates and the queries.
    skip : array (queries,)
        A series that is no candidate for the query, or -1.
    n_neighbors, verbose : int
    """

    among: SeriesCollection
    asked: SeriesCollection
    skip: NDArray[np.int64]
    n_neighbors: int
    verbose: int

    def by_bounds(self, band: Band | None, n_jobs: int | None) -> NearestNeighbors:
        """With the squared cost: sort candidates by a lower bound, and stop early."""
        dtype = common_dtype(self.among, self.asked)
        among, asked = self.among.astype(dtype), self.asked.astype(dtype)
        blocks, done = [], 0
        for cases in chunks(asked):
            some = asked[cases]
            block = nearest(
                among.values, among.lengths, some.values, some.lengths, self.n_neighbors,
                band=band, skip=self.skip[cases], n_jobs=n_jobs,
            )  # fmt: skip
            blocks.append(block)
            done += len(some)
            self._report(done, block.computed / block.total)
        computed, total = sum(b.computed for b in blocks), sum(b.total for b in blocks)
        return NearestNeighbors(
            np.sqrt(np.concatenate([b.costs for b in blocks])),
            np.concatenate([b.indices for b in blocks]),
            computed,
            total - computed,
        )

    def by_all_distances(self, band: BandLike, cost: Any, n_jobs: int | None) -> NearestNeighbors:
        """With any cost: compute all distances, a few queries at a time, and sort them."""
        distances, indices = [], []
        for rows, block in pairwise_dtw_blocks(self.asked, self.among, band, cost, n_jobs=n_jobs):
            skip = self.skip[rows]
            own = np.flatnonzero(skip >= 0)
            block[own, skip[own]] = np.inf
            order = block.argsort(axis=1, kind="stable")[:, : self.n_neighbors]
            distances.append(np.take_along_axis(block, order, axis=1))
            indices.append(order.astype(np.int64))
            self._report(rows.stop, 1.0)
        resolved = resolve_band(band, self.among.lengths, self.asked.lengths)
        cells = cells_of_grids(self.among.lengths, self.asked.lengths, resolved)
        return NearestNeighbors(np.concatenate(distances), np.concatenate(indices), cells, 0)

    def _report(self, done: int, share: float) -> None:
        if self.verbose:
            of = len(self.asked)
            print(f"nearest_neighbors: {done} of {of} queries, {share:.1%} of the cells")
