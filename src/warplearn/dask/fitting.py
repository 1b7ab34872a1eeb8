"""`fit` of any estimator on a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dask
import numpy as np
from distributed import Client, default_client
from joblib import parallel_config
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from warplearn.dask.collecting import collection, targets_of
from warplearn.dask.engine import ClusterEngine
from warplearn.dask.graphs import RETRIES, result_of
from warplearn.model_selection import ElasticGridSearchCV, fit_many
from warplearn.series.collection import SeriesCollection


def fit(
    estimator: Any,
    X: Any,
    y: Any = None,
    sample_weight: Any = None,
    *,
    client: Client | None = None,
) -> Any:
    """Fit an estimator on a cluster.

    The result is that of `estimator.fit` on one machine, to rounding, whatever the number of
    workers and chunks.

    Parameters
    ----------
    estimator : estimator
        Its `verbose` also prints how many chunks are done, in passes that take seconds.
        Any estimator of the library: feature models, linear models and networks with a
        `batch_size`, means, k-means, neighbours; or an `ElasticGridSearchCV`.
    X : dask array, bag, or list of delayed values
        As for `collection`, or what that returns.  For a grid search, series that fit in memory:
        there, tasks are groups of candidates and folds.
    y : array, dask array or list of delayed values, optional
        Labels or targets; they are collected here.
    sample_weight : array or dask array, optional
    client : Client, optional
        By default the current one.

    Returns
    -------
    estimator
        The same one, fitted.  Nothing in it refers to the cluster, except for neighbours, which
        search the training series where they are: such an estimator cannot be saved.
    """
    client = default_client() if client is None else client
    if isinstance(estimator, ElasticGridSearchCV):
        return _search(estimator, X, y, sample_weight, client)
    if not isinstance(X, SeriesCollection):
        X = collection(X, client=client)
    if X.engine is None:
        raise TypeError("X must be on the cluster, as `collection` makes it, got series in memory")
    own: dict[str, Any] = {}
    if sample_weight is not None:
        own["sample_weight"] = targets_of(sample_weight, X, client)
    labels = targets_of(y, X, client)
    assert isinstance(X.engine, ClusterEngine)
    with X.engine.progress.showing(bool(getattr(estimator, "verbose", 0))):
        return estimator.fit(X, **own) if labels is None else estimator.fit(X, labels, **own)


def _search(
    search: ElasticGridSearchCV, X: Any, y: Any, sample_weight: Any, client: Client
) -> ElasticGridSearchCV:
    """A grid search whose groups of candidates and folds are tasks."""
    own = {} if sample_weight is None else {"sample_weight": sample_weight}
    if search.in_lanes(own):

        def fit_groups(estimators: Sequence[Any], *args: Any, **options: Any) -> list[Any]:
            return _fit_many(client, estimators, *args, **options)

        return search.fit_in_lanes(X, y, **own, run=fit_groups)
    with parallel_config("dask", client=client):
        return search.fit(X, y, **own)


def _fit_many(
    client: Client,
    estimators: Sequence[BaseEstimator],
    X: SeriesCollection,
    y: NDArray[Any],
    trains: Sequence[NDArray[np.int64]],
    **options: Any,
) -> list[Any]:
    """`fit_many` with a task for each fold and each set of parameters that lanes cannot share."""
    groups: dict[Any, list[int]] = {}
    for index, (estimator, cases) in enumerate(zip(estimators, trains, strict=True)):
        apart = {
            name: value
            for name, value in estimator.get_params(deep=False).items()
            if name not in ("learning_rate_init", "alpha", "margin")
        }
        groups.setdefault((id(cases), repr(sorted(apart.items()))), []).append(index)
    data = dask.delayed((X, y), traverse=False)
    task = dask.delayed(_fit_group, pure=False)
    tasks = [
        task([estimators[i] for i in members], data, trains[members[0]], options)
        for members in groups.values()
    ]
    results = result_of(client.compute(tasks, retries=RETRIES), client)
    fitted: dict[int, Any] = {}
    for members, models in zip(groups.values(), results, strict=True):
        fitted.update(zip(members, models, strict=True))
    return [fitted[index] for index in range(len(estimators))]


def _fit_group(
    estimators: Sequence[Any],
    data: tuple[SeriesCollection, NDArray[Any]],
    cases: NDArray[np.int64],
    options: dict[str, Any],
) -> list[Any]:
    X, y = data
    return fit_many(estimators, X, y, [cases] * len(estimators), **options)
