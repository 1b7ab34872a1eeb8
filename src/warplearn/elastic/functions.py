"""Elastic functions (section 3.2 of the paper).

A series of length k is embedded into an n x m matrix along a warping path in the grid [k] x [m].
An elastic function picks the best path: for a local score, the path with the greatest sum over its
cells.  As a function of the matrix and of the series it is piecewise smooth; the derivative along
the active path is its generalized gradient.

Shapes.  A parameter matrix W has n rows, at least as many as the longest series, and m columns,
the elasticity: shape (n, m) for series of one channel and (n, m, d) for d channels.  A bank of u
matrices has u in front: (u, n, m), or (u, n, m, d).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from warplearn._kernels.drivers.evaluate import Evaluation, evaluate, evaluate_paths
from warplearn.elastic.bands import Band, BandLike, resolve_band
from warplearn.elastic.costs import resolve, resolve_distance
from warplearn.elastic.warping import distances
from warplearn.series.chunks import mapped
from warplearn.series.collection import SeriesCollection, single
from warplearn.series.convert import to_floats
from warplearn.series.numbers import check_numbers

_MANY_CELLS = 2**16  # of one grid, from which on lanes that are left over cost more than compiling


class ValueAndGradient(NamedTuple):
    """Values of an elastic function, and the gradients of their weighted sum.

    Attributes
    ----------
    values : array of shape (cases,), or (cases, u) for a bank
    W : array of the shape of W
        Generalized gradient with respect to the matrices.
    X : array of shape (cases, time), or (cases, channels, time)
        Generalized gradient with respect to the series, 0 behind their ends.
    """

    values: NDArray[Any]
    W: NDArray[Any]
    X: NDArray[Any]


class _Operands(NamedTuple):
    """Series and matrices in the kernels' form."""

    X: SeriesCollection
    W: NDArray[Any]
    bank: bool
    band: Band | None

    def evaluate(self, local: Any, **options: Any) -> Evaluation:
        values = self.X.astype(self.W.dtype).values
        return evaluate(local, values, self.X.lengths, self.W, band=self.band, **options)

    def scores(self, local: Any, n_jobs: int | None) -> NDArray[Any]:
        """The scores of all series, some at a time."""
        W, band = self.W, self.band

        def scores_of(some: SeriesCollection) -> NDArray[Any]:
            values = some.astype(W.dtype).values
            return evaluate(local, values, some.lengths, W, band=band, n_jobs=n_jobs).values

        return mapped(scores_of, self.X)

    def shaped(self, values: NDArray[Any]) -> NDArray[Any]:
        return values if self.bank else values[:, 0]


def _operands(X: SeriesCollection, W: Any, band: BandLike, names: tuple[str, str]) -> _Operands:
    """Check W against X; W has the dtype that both need."""
    x_name, w_name = names
    matrices = to_floats(W, w_name)
    d = X.n_channels
    axes = ("n", "m") if d == 1 else ("n", "m", "d")
    bank = matrices.ndim == len(axes) + 1
    if d == 1 and matrices.ndim == 4 and matrices.shape[-1] == 1:
        bank, matrices = True, matrices[..., 0]
    if (not bank and matrices.ndim != len(axes)) or (d > 1 and matrices.shape[-1] != d):
        shape = ", ".join(axes)
        raise ValueError(
            f"{w_name} must have shape ({shape}) or, for a bank, (u, {shape}), for series of "
            f"{d} channel(s), got {matrices.shape}"
        )
    matrices = matrices.reshape(-1 if bank else 1, *matrices.shape[bank : bank + 2], d)
    if 0 in matrices.shape:
        raise ValueError(f"{w_name} must not be empty, got shape {np.shape(W)}")
    if X.max_length > matrices.shape[1]:
        case = int(X.lengths.argmax())
        raise ValueError(
            f"{x_name}[{case}] has length {X.max_length}, "
            f"but {w_name} has only {matrices.shape[1]} rows"
        )
    dtype = np.result_type(X.dtype, matrices.dtype)
    check_numbers(matrices.astype(dtype, copy=False).reshape(np.shape(W)), w_name)
    columns = np.array([matrices.shape[2]])
    resolved = resolve_band(band, X.lengths, columns, x_name)
    return _Operands(X, matrices.astype(dtype, copy=False), bank, resolved)


def elastic_inner_product(
    X: Any, W: Any, *, band: BandLike = None, n_jobs: int | None = None
) -> NDArray[Any]:
    """Elastic inner product, the paper's `sigma_W` (Example 2).

    `max over paths phi of the sum over (i, j) in phi of x_i w_ij`; with one column it is the
    ordinary inner product.

    Parameters
    ----------
    X : series collection
        Anything `SeriesCollection.of` takes.
    W : array of shape (n, m) or (n, m, d), or a bank of such
    band : int, float or str, optional
        Sakoe-Chiba band: a radius in cells, or a share of the longer side, such as 0.1 or "10%".
    n_jobs : int, optional
        Threads; None is 1, as in scikit-learn, -1 all cores.

    Returns
    -------
    array of shape (cases,), or (cases, u) for a bank

    Examples
    --------
    >>> W = np.array([[1.0, -1.0], [2.0, 0.0], [0.0, 3.0]])
    >>> elastic_inner_product([[1.0, 1.0, 1.0]], W)
    array([6.])
    """
    local, _ = resolve("product")
    operands = _operands(SeriesCollection.of(X), W, band, ("X", "W"))
    return operands.shaped(operands.scores(local, n_jobs))


def elastic_distance(
    X: Any, Y: Any, *, cost: Any = "squared", band: BandLike = None, n_jobs: int | None = None
) -> NDArray[Any]:
    """Elastic Euclidean distance, the paper's `delta_Y` (Example 1).

    The least cost of embedding a series into the matrix Y.  If all rows of Y are equal it is the
    dynamic time warping distance to that row.

    Parameters
    ----------
    X : series collection
    Y : array of shape (n, m) or (n, m, d), or a bank of such
    cost : str or local score, default="squared"
        See `warplearn.elastic.costs`.
    band, n_jobs
        As for `elastic_inner_product`.

    Returns
    -------
    array of shape (cases,), or (cases, u) for a bank
    """
    local, traits = resolve_distance(cost)
    operands = _operands(SeriesCollection.of(X), Y, band, ("X", "Y"))
    values = operands.scores(local, n_jobs)
    return operands.shaped(distances(values, traits))


def active_path(
    x: Any, W: Any, *, cost: Any = "product", band: BandLike = None
) -> NDArray[np.int64]:
    """The warping path along which an elastic function embeds a series.

    Parameters
    ----------
    x : array of shape (time,) or (channels, time)
    W : array of shape (n, m) or (n, m, d)
    cost : str or local score, default="product"
    band
        As for `elastic_inner_product`.

    Returns
    -------
    array of shape (steps, 2)
        Pairs (i, j) counted from 0.  Of several best paths, the one that from the end goes
        diagonally where it can, else along x.
    """
    local, _ = resolve(cost)
    operands = _operands(single(x), W, band, ("x", "W"))
    if operands.bank:
        raise ValueError(f"W must be a single matrix, got a bank of shape {np.shape(W)}")
    X = operands.X.astype(operands.W.dtype)
    lanes = 8 if X.max_length * operands.W.shape[-2] > _MANY_CELLS else None
    result = evaluate_paths(
        local, X.values, X.lengths, operands.W, band=operands.band, lanes=lanes, n_jobs=1
    )
    return result.paths[0]


def embed(x: Any, Z: Any, path: Any) -> NDArray[Any]:
    """Embed a series into a matrix along a warping path, the paper's `x (x)_phi Z`.

    Parameters
    ----------
    x : array of shape (time,) or (channels, time)
    Z : array of shape (n, m), or (n, m, d)
    path : array of shape (steps, 2)
        Index pairs counted from 0, such as `active_path` returns.

    Returns
    -------
    array of the shape of Z
        `x_i` in the cells (i, j) of the path, Z elsewhere.

    Examples
    --------
    >>> embed([2.0, 4.0], np.zeros((3, 2)), [(0, 0), (1, 1)])
    array([[2., 0.],
           [0., 4.],
           [0., 0.]])
    """
    series = single(x)
    k = series.max_length
    base = to_floats(Z, "Z")
    operands = _operands(series, base, None, ("x", "Z"))
    if operands.bank:
        raise ValueError(f"Z must be a single matrix, got shape {base.shape}")
    try:
        cells = np.asarray(path)
    except ValueError as error:  # no pairs
        raise ValueError(f"path must be an array of index pairs: {error}") from error
    if cells.ndim != 2 or cells.shape[1] != 2 or cells.dtype.kind not in "iu" or not len(cells):
        raise ValueError(f"path must be an array of index pairs, got shape {cells.shape}")
    steps = np.diff(cells, axis=0)
    is_step = np.isin(steps, (0, 1)).all(axis=1) & steps.any(axis=1)
    m = base.shape[1]
    if tuple(cells[0]) != (0, 0) or tuple(cells[-1]) != (k - 1, m - 1) or not is_step.all():
        raise ValueError(
            f"path must be a warping path from (0, 0) to {(k - 1, m - 1)}, the grid of a series of "
            f"length {k} and {m} columns"
        )
    matrix = np.array(operands.W[0])
    matrix[cells[:, 0], cells[:, 1]] = operands.X.values[0, cells[:, 0]]
    return matrix.reshape(base.shape)


def value_and_gradient(
    X: Any,
    W: Any,
    *,
    cost: Any = "product",
    band: BandLike = None,
    upstream: Any = None,
    n_jobs: int | None = None,
) -> ValueAndGradient:
    """Values of an elastic function and its generalized gradients.

    The gradients are those of `sum(upstream * values)`: with the default of ones for a single
    series and matrix, the derivatives themselves; with the derivatives of a loss, the gradient of
    the loss.  Where several paths are best, one of them is taken, and at a distance of 0 the
    gradient 0.

    Parameters
    ----------
    X : series collection
    W : array of shape (n, m) or (n, m, d), or a bank of such
    cost : str or local score, default="product"
        With "product" the function is `elastic_inner_product`, with others `elastic_distance`.
    band, n_jobs
        As for `elastic_inner_product`.
    upstream : array of the shape of the values, optional

    Returns
    -------
    ValueAndGradient
        `values`, and the gradients with respect to `W` and `X`.
    """
    local, traits = resolve(cost)
    collection = SeriesCollection.of(X)
    operands = _operands(collection, W, band, ("X", "W"))
    shape = (len(collection), len(operands.W))
    weights = np.ones(shape, operands.W.dtype)
    if upstream is not None:
        weights = to_floats(upstream, "upstream").astype(operands.W.dtype)
        expected = shape if operands.bank else shape[:1]
        if weights.shape != expected:
            raise ValueError(f"upstream must have shape {expected}, got {weights.shape}")
        check_numbers(weights, "upstream")
        weights = weights.reshape(shape)
    if not traits.similarity:
        weights = -weights
    if traits.root:  # d sqrt(c) = dc / (2 sqrt(c))
        values = distances(operands.scores(local, n_jobs), traits)
        weights = np.divide(weights, 2 * values, out=np.zeros_like(weights), where=values > 0)
    result = operands.evaluate(
        local, upstream=weights, want_series=True, want_matrix=True, n_jobs=n_jobs
    )
    values = result.values if traits.similarity else distances(result.values, traits)
    by_series = result.series_gradient.swapaxes(1, 2)
    return ValueAndGradient(
        operands.shaped(values),
        result.matrix_gradient.reshape(np.shape(W)),
        by_series[:, 0] if collection.n_channels == 1 else by_series,
    )


__all__ = [
    "ValueAndGradient",
    "active_path",
    "elastic_distance",
    "elastic_inner_product",
    "embed",
    "value_and_gradient",
]
