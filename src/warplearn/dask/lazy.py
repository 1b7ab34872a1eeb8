"""Results for each series of a Dask collection, computed when they are asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dask
import dask.array
import numpy as np
from dask.delayed import Delayed
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from warplearn.dask.collecting import parts_of
from warplearn.dask.engine import as_collection
from warplearn.datasets.tables import parts_of_folder
from warplearn.elastic import warping
from warplearn.elastic.bands import BandLike
from warplearn.series.collection import SeriesCollection


def _call(estimator: Any, method: str, part: Any, number: int) -> Any:
    """A method of an estimator for the series of a chunk."""
    result = getattr(estimator, method)(as_collection(part, f"chunk {number}"))
    return result.contributions if method == "explain" else result


def _apply(estimator: Any, method: str, X: Any) -> dask.array.Array:
    """A method of a fitted estimator, for each chunk of series."""
    check_is_fitted(estimator)
    for kept in vars(estimator).values():
        if isinstance(kept, SeriesCollection) and kept.engine is not None:
            raise TypeError(
                f"estimator {type(estimator).__name__} searches series on the cluster, so it "
                f"cannot travel to the workers: call its own {method}"
            )
    model = dask.delayed(estimator, traverse=False)
    call = dask.delayed(_call, pure=False)
    example = np.asarray(_call(estimator, method, _example(estimator), 0))
    axis = example.ndim - _TRAILING[method](estimator, example) if method == "explain" else 0
    length = X.shape[-1] if method == "explain" and isinstance(X, dask.array.Array) else None
    sizes = X.chunks[0] if isinstance(X, dask.array.Array) else [np.nan] * len(parts_of(X))
    blocks = []
    for number, (part, size) in enumerate(zip(parts_of(X), sizes, strict=True)):
        shape: list[Any] = list(example.shape)
        shape[axis] = size
        if length is not None:
            shape[-1] = min(length, example.shape[-1])
        block = call(model, method, part, number)
        blocks.append(dask.array.from_delayed(block, tuple(shape), dtype=example.dtype))
    return dask.array.concatenate(blocks, axis=axis, allow_unknown_chunksizes=True)


def _example(estimator: Any) -> NDArray[Any]:
    """Two series that the estimator could have seen, to learn the form of its results."""
    fitted = getattr(estimator, "best_estimator_", estimator)  # of a search
    return np.zeros((2, fitted.n_channels_in_, fitted.n_features_in_))


# Axes of an explanation, from that of the cases on.
_TRAILING = {"explain": lambda estimator, example: 2 + (estimator.n_channels_in_ > 1)}


def predict(estimator: Any, X: Any) -> dask.array.Array:
    """What a fitted estimator predicts for each series.

    Parameters
    ----------
    estimator : estimator
        Fitted, with Dask or without.
    X : dask array, bag, or list of delayed values
        As for `collection`.

    Returns
    -------
    dask array
        Lazy; chunks as in X.
    """
    return _apply(estimator, "predict", X)


def predict_proba(estimator: Any, X: Any) -> dask.array.Array:
    """Probabilities of the classes; parameters as for `predict`."""
    return _apply(estimator, "predict_proba", X)


def decision_function(estimator: Any, X: Any) -> dask.array.Array:
    """Decision values; parameters as for `predict`."""
    return _apply(estimator, "decision_function", X)


def transform(estimator: Any, X: Any) -> dask.array.Array:
    """What a fitted transformer makes of each series; parameters as for `predict`."""
    return _apply(estimator, "transform", X)


def explain(estimator: Any, X: Any) -> dask.array.Array:
    """Contributions of the time steps of each series, as `explain` of a linear model gives them.

    Parameters are those of `predict`.  Series must be of equal length.
    """
    return _apply(estimator, "explain", X)


def pairwise_dtw(
    X: Any, Y: Any = None, band: BandLike = None, cost: Any = "squared"
) -> dask.array.Array:
    """Dynamic time warping distances of all pairs, a grid of tasks.

    Parameters
    ----------
    X, Y : dask arrays, bags, or lists of delayed values
        As for `collection`; without Y, the distances within X.
    band, cost
        As for `warplearn.pairwise_dtw`.

    Returns
    -------
    dask array
        Lazy, with a block for each pair of chunks; `dask.array.to_zarr` or `store` writes a matrix
        that does not fit in memory.
    """
    columns = X if Y is None else Y
    kind: np.dtype[Any] = np.dtype(np.float64)
    if isinstance(X, dask.array.Array) and isinstance(columns, dask.array.Array):
        small = X.dtype == columns.dtype == np.float32
        kind = np.dtype(np.float32) if small else kind
    task = dask.delayed(_block, pure=False)
    rows = list(zip(parts_of(X), _sizes(X), strict=True))
    others = list(zip(parts_of(columns), _sizes(columns), strict=True))
    grid = [
        [
            dask.array.from_delayed(
                task(x, None if Y is None and i == j else y, (i, j), band, cost), (n, m), dtype=kind
            )
            for j, (y, m) in enumerate(others)
        ]
        for i, (x, n) in enumerate(rows)
    ]
    return dask.array.concatenate(
        [dask.array.concatenate(row, axis=1, allow_unknown_chunksizes=True) for row in grid],
        axis=0,
        allow_unknown_chunksizes=True,
    )


def _sizes(X: Any) -> list[Any]:
    if isinstance(X, dask.array.Array):
        return list(X.chunks[0])
    return [np.nan] * len(parts_of(X))


def _block(x: Any, y: Any, place: tuple[int, int], band: BandLike, cost: Any) -> NDArray[Any]:
    rows = as_collection(x, f"chunk {place[0]}")
    columns = None if y is None else as_collection(y, f"chunk {place[1]}")
    return warping.pairwise_dtw(rows, columns, band, cost)


def read_parquet(folder: str | Path, label: str = "label") -> tuple[list[Delayed], NDArray[Any]]:
    """Chunks of series in a folder of Parquet files, which workers read, and their labels.

    Parameters
    ----------
    folder : path
        That all workers can read.
    label : str, default="label"
        The column of the labels, as for `warplearn.datasets.read_parquet`.

    Returns
    -------
    list of delayed values
        For `collection`, `fit` and `predict`.
    array
        The labels, read here; empty if there are none.
    """
    parts, labels = parts_of_folder(Path(folder), label)
    return [dask.delayed(part, pure=False)() for part in parts], labels
