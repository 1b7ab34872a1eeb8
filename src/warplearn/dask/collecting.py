"""Dask collections as a `SeriesCollection` whose series stay on the cluster."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dask.array
import numpy as np
from dask.delayed import Delayed
from distributed import Client, default_client
from numpy.typing import NDArray

from warplearn.dask.engine import ClusterEngine, ClusterSource, as_collection
from warplearn.dask.graphs import Graph, Part, new_keys, parts_with_graphs, result_of, submit
from warplearn.series.collection import SeriesCollection


def collection(X: Any, *, client: Client | None = None) -> SeriesCollection:
    """Series on a cluster, as estimators take them.

    Every chunk is read once, to check it and to learn the lengths of its series.  The series stay
    where they are: fits move functions to them, and sums back.  Call `persist()` on a Dask array
    before, if the workers have room for all of it; else chunks are read again in each pass.

    Parameters
    ----------
    X : dask array, bag, or list of delayed values
        An array of shape (cases, time) or (cases, channels, time); a bag of series; or chunks that
        `SeriesCollection.of` takes when they are computed.
    client : Client, optional
        By default the current one.

    Returns
    -------
    SeriesCollection
        Errors name the chunk, counted from 0.
    """
    client = default_client() if client is None else client
    parts = parts_with_graphs(parts_of(X), client)
    described = describe(parts, client)
    first = described[0]
    for number, each in enumerate(described):
        if each[1] != first[1]:
            raise ValueError(f"chunk {number} has {each[1]} channel(s), but chunk 0 has {first[1]}")
    lengths = np.concatenate([each[0] for each in described])
    bounds = np.concatenate([[0], np.cumsum([len(each[0]) for each in described])])
    dtype = np.result_type(*{np.dtype(each[2]) for each in described})
    engine = ClusterEngine(client, parts, bounds)
    source = ClusterSource(engine, lengths, first[1], dtype)
    return SeriesCollection._of_source(source, lengths, engine)


def parts_of(X: Any) -> list[Delayed]:
    """The chunks of a Dask collection."""
    if isinstance(X, dask.array.Array):
        if X.ndim not in (2, 3):
            raise ValueError(f"X must be (cases, time) or (cases, channels, time), got {X.ndim}D")
        whole = X.rechunk(dict.fromkeys(range(1, X.ndim), -1))
        return list(whole.to_delayed().ravel())
    if hasattr(X, "npartitions") and hasattr(X, "to_delayed"):  # a bag
        return list(X.to_delayed())
    if isinstance(X, Sequence) and len(X) and all(isinstance(part, Delayed) for part in X):
        return list(X)
    raise TypeError(
        "X must be a dask array, a bag or a list of delayed chunks of series, got "
        f"{type(X).__name__}; an array in memory needs no cluster, or dask.array.from_array"
    )


def describe(parts: Sequence[Part], client: Client) -> list[tuple[NDArray[np.int64], int, str]]:
    """The lengths of the series of each part, and its channels and dtype."""
    graph: Graph = {}
    keys = new_keys("describe", len(parts))
    for number, (key, part) in enumerate(zip(keys, parts, strict=True)):
        graph.update(part.graph)
        graph[key] = (_describe, part.key, number)
    futures = submit(client, graph, keys)
    described = []
    try:
        for number, future in enumerate(futures):
            try:
                described.append(future.result())
            except Exception as error:  # of any kind: a reader is a user's
                if str(error).startswith(f"chunk {number}"):
                    raise
                raise ValueError(f"chunk {number} could not be read: {error}") from error
    except BaseException:
        client.cancel(futures, force=True)
        raise
    return described


def _describe(part: Any, number: int) -> tuple[NDArray[np.int64], int, str]:
    X = as_collection(part, f"chunk {number}")
    return X.lengths, X.n_channels, X.dtype.str


def targets_of(y: Any, X: SeriesCollection, client: Client) -> NDArray[Any] | None:
    """Labels, targets or weights of all series, here; errors name the chunk they are missing in."""
    if y is None:
        return None
    engine = X.engine
    assert isinstance(engine, ClusterEngine)
    sizes = np.diff(engine.bounds)
    if isinstance(y, dask.array.Array):
        y = list(y.rechunk(dict.fromkeys(range(1, y.ndim), -1)).to_delayed().ravel())
    if isinstance(y, Sequence) and len(y) and all(isinstance(part, Delayed) for part in y):
        own = [np.asarray(each) for each in result_of(client.compute(list(y)), client)]
        if len(own) == len(sizes):
            for number, (each, size) in enumerate(zip(own, sizes, strict=True)):
                if len(each) != size:
                    raise ValueError(f"chunk {number} has {size} series, but {len(each)} labels")
        y = np.concatenate(own)
    try:
        return np.asarray(y)
    except ValueError as error:  # rows of different lengths
        raise ValueError(f"y must be a label or target for each series: {error}") from error
