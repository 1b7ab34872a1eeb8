"""Dynamic time warping between series (section 2.1 of the paper).

The distance of x and y is the least cost of a warping path in the grid [len(x)] x [len(y)].  It is
the elastic distance of x to the matrix whose rows all equal y, and computed as such.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from warplearn._kernels.drivers.evaluate import evaluate, evaluate_pairs
from warplearn._kernels.drivers.pair import score_pair
from warplearn.elastic.bands import Band, BandLike, resolve_band
from warplearn.elastic.costs import Traits, resolve_distance
from warplearn.series.chunks import mapped
from warplearn.series.collection import SeriesCollection, common_dtype, single

_BLOCK_BYTES = 2**26


class WarpingPath(NamedTuple):
    """A best path, as an array of index pairs (i, j) counted from 0, and the distance along it."""

    path: NDArray[np.int64]
    distance: float


def distances(scores: NDArray[Any], traits: Traits) -> NDArray[Any]:
    """Turn scores into distances, in place: costs are negated scores, of some the root."""
    np.subtract(0, scores, out=scores)  # not np.negative: the distance 0 has no sign
    if traits.root:
        # Rounding errors may put 0 on the wrong side, with some costs.
        np.sqrt(np.maximum(scores, 0, out=scores), out=scores)
    return scores


def _score(
    local: Any, traits: Traits, x: Any, y: Any, band: BandLike, *, path: bool = False
) -> WarpingPath:
    """The distance of two series, and their path if it is wanted."""
    first, second = _alike(single(x, "x"), single(y, "y"), "x", "y")
    resolved = resolve_band(band, first.lengths, second.lengths, "x")
    result = score_pair(local, first.values[0], second.values[0], band=resolved, path=path)
    return WarpingPath(result.path, float(distances(np.array(result.value), traits)))


def _alike(
    X: SeriesCollection, Y: SeriesCollection, x_name: str, y_name: str
) -> tuple[SeriesCollection, SeriesCollection]:
    """Both in the same dtype, and of the same number of channels."""
    _check_channels(X, Y, x_name, y_name)
    dtype = common_dtype(X, Y)
    return X.astype(dtype), Y.astype(dtype)


def _check_channels(X: SeriesCollection, Y: SeriesCollection, x_name: str, y_name: str) -> None:
    if X.n_channels != Y.n_channels:
        raise ValueError(
            f"{x_name} and {y_name} must have the same number of channels, "
            f"got {X.n_channels} and {Y.n_channels}"
        )


def dtw(x: Any, y: Any, band: BandLike = None, cost: Any = "squared") -> float:
    """Dynamic time warping distance of two series.

    Parameters
    ----------
    x, y : array of shape (time,) or (channels, time)
        The series; they may differ in length.
    band : int, float or str, optional
        Sakoe-Chiba band: a radius in cells, or a share of the longer series, such as 0.1 or "10%".
    cost : str or local score, default="squared"
        The cost of aligning two elements (see `warplearn.elastic.costs`).  With "squared" the
        distance is the root of the summed costs, as in the paper.

    Returns
    -------
    float

    Examples
    --------
    >>> dtw([0.0, 1.0, 2.0], [0.0, 1.0, 1.0, 2.0])
    0.0
    >>> dtw([0.0, 0.0, 3.0], [0.0, 4.0, 3.0])
    1.0
    """
    local, traits = resolve_distance(cost)
    return _score(local, traits, x, y, band).distance


def warping_path(x: Any, y: Any, band: BandLike = None, cost: Any = "squared") -> WarpingPath:
    """Best warping path between two series, and their distance.

    Parameters
    ----------
    x, y, band, cost
        As for `dtw`.

    Returns
    -------
    WarpingPath
        `path`, an array of shape (steps, 2) from (0, 0) to (len(x) - 1, len(y) - 1), and
        `distance`.  Of several best paths it is the one that, from the end, goes diagonally where
        it can, else along x.

    Notes
    -----
    Needs two bits for each cell of the grid, or of the band where there is one.

    Examples
    --------
    >>> warping_path([0.0, 1.0, 2.0], [0.0, 1.0, 1.0, 2.0]).path.tolist()
    [[0, 0], [1, 1], [1, 2], [2, 3]]
    """
    local, traits = resolve_distance(cost)
    return _score(local, traits, x, y, band, path=True)


def pairwise_dtw(
    X: Any,
    Y: Any = None,
    band: BandLike = None,
    cost: Any = "squared",
    *,
    n_jobs: int | None = None,
) -> NDArray[Any]:
    """Dynamic time warping distances of all pairs.

    Parameters
    ----------
    X, Y : series collections
        Anything `SeriesCollection.of` takes.  Without Y, the distances within X, of which only one
        half is computed if the cost is symmetric.
    band, cost
        As for `dtw`.
    n_jobs : int, optional
        Threads; None is 1, as in scikit-learn, -1 all cores.

    Returns
    -------
    array of shape (len(X), len(Y))
        In float32 if both collections are, else float64.

    See Also
    --------
    pairwise_dtw_blocks : the same a few rows at a time, for matrices larger than memory.
    """
    local, traits = resolve_distance(cost)
    first = SeriesCollection.of(X)
    if Y is None and traits.symmetric:
        resolved = resolve_band(band, first.lengths, first.lengths)
        result = evaluate_pairs(local, first.values, first.lengths, band=resolved, n_jobs=n_jobs)
        return distances(result.values, traits)
    second = first if Y is None else SeriesCollection.of(Y, name="Y")
    return rectangle(local, traits, first, second, band, n_jobs)


def rectangle(
    local: Any,
    traits: Traits,
    X: SeriesCollection,
    Y: SeriesCollection,
    band: BandLike,
    n_jobs: int | None,
    cases: NDArray[np.int64] | None = None,
) -> NDArray[Any]:
    """Distances of series in memory to all of Y or to some, a few of these at a time."""
    _check_channels(X, Y, "X", "Y")
    dtype = common_dtype(X, Y)
    resolved = resolve_band(band, X.lengths, Y.lengths)
    return mapped(
        lambda some: _small_rectangle(
            local, traits, X.astype(dtype), some.astype(dtype), resolved, n_jobs
        ),
        Y,
        cases=cases,
        axis=1,
    )


def _small_rectangle(
    local: Any,
    traits: Traits,
    X: SeriesCollection,
    Y: SeriesCollection,
    resolved: Band | None,
    n_jobs: int | None,
) -> NDArray[Any]:
    if traits.symmetric and len(Y) > len(X):  # the series in lanes should be the many
        result = evaluate(
            local, Y.values, Y.lengths, X.values, X.lengths, band=resolved, n_jobs=n_jobs
        )
        return np.ascontiguousarray(distances(result.values, traits).T)
    result = evaluate(local, X.values, X.lengths, Y.values, Y.lengths, band=resolved, n_jobs=n_jobs)
    return distances(result.values, traits)


def pairwise_dtw_blocks(
    X: Any,
    Y: Any = None,
    band: BandLike = None,
    cost: Any = "squared",
    *,
    rows: int | None = None,
    n_jobs: int | None = None,
) -> Iterator[tuple[slice, NDArray[Any]]]:
    """Dynamic time warping distances of all pairs, a few rows at a time.

    Nothing is computed before a block is asked for, and no block is kept: memory stays that of
    the data and one block.

    Parameters
    ----------
    X, Y, band, cost, n_jobs
        As for `pairwise_dtw`.  Without Y both halves are computed.
    rows : int, optional
        Rows a block; by default as many as fit in 64 MiB.

    Yields
    ------
    (slice, array)
        Which rows, and their distances to all of Y.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(100, 20))
    >>> nearest = [block.argmin(axis=1) for _, block in pairwise_dtw_blocks(X, X[:7], rows=30)]
    >>> len(np.concatenate(nearest))
    100
    """
    local, traits = resolve_distance(cost)
    first = SeriesCollection.of(X)
    second = first if Y is None else SeriesCollection.of(Y, name="Y")
    resolve_band(band, first.lengths, second.lengths)
    if rows is None:
        rows = max(1, _BLOCK_BYTES // (len(second) * common_dtype(first, second).itemsize))
    elif not isinstance(rows, (int, np.integer)) or rows < 1:
        raise ValueError(f"rows must be a positive integer, got {rows!r}")
    return (
        (block, rectangle(local, traits, first[block], second, band, n_jobs))
        for block in (slice(i, min(i + rows, len(first))) for i in range(0, len(first), rows))
    )
