"""Series a few at a time, so that what a pass allocates does not grow with their number.

What an estimator does with many series is one of two things: it maps each series to a row of
results (`mapped`), or it adds something up over all of them (`total`).  Both take a function of
some series.  They call it for one chunk after the other, or leave that to the engine of the
collection, if it has one: series on a cluster stay there, and the function travels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warplearn.series.collection import SeriesCollection

__all__ = ["CHUNK_BYTES", "add", "chunks", "each", "mapped", "placed", "shuffled", "total"]

CHUNK_BYTES = 2**22


def add(one: Any, other: Any) -> Any:
    """The sum of two numbers, arrays, or lists and tuples of such."""
    if not isinstance(one, (list, tuple)):
        return one + other
    parts = [add(a, b) for a, b in zip(one, other, strict=True)]
    return type(one)._make(parts) if hasattr(one, "_make") else type(one)(parts)


def chunks(X: SeriesCollection, cases: NDArray[np.int64] | None = None) -> Iterator[Any]:
    """Indices of all series, or of some, a few at a time."""
    size = max(1, CHUNK_BYTES // (X.max_length * X.n_channels * X.dtype.itemsize))
    if cases is not None and len(cases) == len(X) and (np.diff(cases) > 0).all():
        cases = None  # slices do not copy
    count = len(X) if cases is None else len(cases)
    for start in range(0, count, size):
        chunk = slice(start, min(start + size, count))
        yield chunk if cases is None else cases[chunk]


def shuffled(
    X: SeriesCollection, cases: NDArray[np.int64], rng: np.random.RandomState
) -> NDArray[np.int64]:
    """Some of the series in random order.

    Those that are stored in blocks are shuffled so that a batch needs few blocks: the blocks come
    in random order, and the series of as many blocks as are kept in memory are shuffled together.
    """
    if X.blocks is None or len(X.blocks) <= X.kept_blocks + 1:
        return rng.permutation(cases)
    cases = np.sort(cases)
    in_blocks = np.split(cases, np.searchsorted(cases, X.blocks[1:-1]))
    order = rng.permutation(len(in_blocks))
    groups = np.split(order, np.arange(X.kept_blocks, len(order), X.kept_blocks))
    return np.concatenate(
        [rng.permutation(np.concatenate([in_blocks[b] for b in group])) for group in groups]
    )


def placed(X: SeriesCollection, column: NDArray[Any]) -> Any:
    """A column for many passes over the series; if these are on a cluster, so is the column."""
    return column if X.engine is None else X.engine.placed(column)


def each(
    function: Callable[..., Any],
    X: SeriesCollection,
    *columns: NDArray[Any],
    cases: NDArray[np.int64] | None = None,
) -> Iterator[Any]:
    """What a function makes of one chunk after the other.

    Parameters
    ----------
    function : callable
        Is given some series, and their rows of each of the columns.
    X : SeriesCollection
    *columns : arrays
        With a row for each series of X; see `placed` for many passes.
    cases : array of int, optional
        Some of the series, in ascending order; by default all.
    """
    if X.engine is not None:
        yield from X.engine.each(function, columns, cases)
        return
    for chunk in chunks(X, cases):
        yield function(X[chunk], *(column[chunk] for column in columns))


def mapped(
    function: Callable[..., NDArray[Any]],
    X: SeriesCollection,
    *columns: NDArray[Any],
    cases: NDArray[np.int64] | None = None,
    axis: int = 0,
) -> NDArray[Any]:
    """The arrays that a function makes of the chunks, one behind the other along an axis.

    Parameters are those of `each`.
    """
    count = len(X) if cases is None else len(cases)
    results = each(function, X, *columns, cases=cases)
    first = next(results)
    if first.shape[axis] == count:
        return first
    shape = list(first.shape)
    shape[axis] = count
    whole = np.empty(shape, first.dtype)
    along = np.moveaxis(whole, axis, 0)
    done = 0
    for result in _chain(first, results):
        along[done : done + result.shape[axis]] = np.moveaxis(result, axis, 0)
        done += result.shape[axis]
    return whole


def _chain(first: Any, others: Iterator[Any]) -> Iterator[Any]:
    yield first
    del first  # or it would stay in memory to the end
    yield from others


def total(
    function: Callable[..., Any],
    X: SeriesCollection,
    *columns: NDArray[Any],
    cases: NDArray[np.int64] | None = None,
    plus: Callable[[Any, Any], Any] = add,
) -> Any:
    """The sum over the chunks of what a function makes of each.

    Parameters
    ----------
    function, X, columns, cases
        As for `each`, but cases may be in any order.
    plus : callable, default=add
        Adds two results; by default numbers, arrays, and lists and tuples of such.
    """
    if X.engine is not None:
        return X.engine.total(function, columns, cases, plus)
    results = each(function, X, *columns, cases=cases)
    so_far = next(results)
    for result in results:
        so_far = plus(so_far, result)
    return so_far
