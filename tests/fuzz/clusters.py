"""Fits and predictions with Dask: what they give in one process, or an error that says why."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np
import polars
from dask import delayed
from distributed import Client

import warplearn
import warplearn.dask as remote

from .contract import Case, choice, outcome, refused
from .estimators import made
from .inputs import hostile

FITTED = {
    "DTWNeighborsClassifier": {}, "ElasticFeatureClassifier": {}, "ElasticFeatureRegressor": {},
    "ElasticKMeans": {}, "ElasticLinearRegression": {"batch_size": 3},
    "ElasticLogisticRegression": {"batch_size": 3}, "ElasticMLPClassifier": {"batch_size": 3},
    "ElasticMean": {}, "ElasticGridSearchCV": {},
}  # fmt: skip
ASKED = ("predict", "predict_proba", "decision_function", "transform", "explain")


@cache
def client() -> Client:
    """A cluster in this process, which loses no worker if the machine sleeps for a while."""
    dask.config.set({"distributed.scheduler.worker-ttl": None})
    return Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=None)


def _labelled(rng: np.random.Generator) -> tuple[Any, Any, Any]:
    """Series, labels, and the series in chunks."""
    client()
    cases = int(rng.integers(8, 14))
    y = np.arange(cases) % 2
    X = rng.normal(size=(cases, 6)) + y[:, None]
    return X, y, da.from_array(X, chunks=(int(rng.integers(2, cases + 1)), 6))


def fits(rng: np.random.Generator) -> None:
    """A fit on chunks is the fit on all series, and so are its lazy predictions."""
    X, y, chunks = _labelled(rng)
    name = choice(rng, sorted(FITTED))
    ref = made(name, **FITTED[name]).fit(X, y)
    got = remote.fit(made(name, **FITTED[name]), X if "Search" in name else chunks, y)
    if "Neighbors" in name:  # which keeps its series on the cluster
        assert refused(outcome(lambda: remote.predict(got, chunks), "estimator"))
        np.testing.assert_array_equal(got.predict(X), ref.predict(X))
        return
    for method in ASKED:
        if hasattr(ref, method) and not ("Search" in name and method == "explain"):
            expected = getattr(ref, method)(X)
            expected = getattr(expected, "contributions", expected)
            lazy = getattr(remote, method)(got, chunks).compute()
            assert lazy.shape == expected.shape
            if expected.dtype.kind == "f":
                np.testing.assert_allclose(lazy, expected, rtol=1e-3, atol=1e-4)


def distances(rng: np.random.Generator) -> None:
    """A grid of tasks gives the matrix of distances."""
    X, _, chunks = _labelled(rng)
    Y = rng.normal(size=(5, 4))
    others = da.from_array(Y, chunks=(2, 4))
    np.testing.assert_array_equal(
        remote.pairwise_dtw(chunks, others).compute(), warplearn.pairwise_dtw(X, Y)
    )
    np.testing.assert_allclose(remote.pairwise_dtw(chunks).compute(), warplearn.pairwise_dtw(X))


def folders(rng: np.random.Generator) -> None:
    """Series and labels of a folder of files are those that were written."""
    X, y, _ = _labelled(rng)
    labels = np.array(["a", "b"])[y]
    with tempfile.TemporaryDirectory() as folder:
        for number, rows in enumerate(np.array_split(np.arange(len(X)), 3)):
            table = {f"t{i}": X[rows, i] for i in range(6)} | {"label": labels[rows]}
            polars.DataFrame(table).write_parquet(Path(folder) / f"{number}.parquet")
        parts, found = remote.read_parquet(folder)
        series = remote.collection(parts)
        np.testing.assert_array_equal(found, labels)
        np.testing.assert_array_equal(np.stack(list(series)), X)


def _something(seed: int) -> Any:
    """Made where it is used, for not everything can travel."""
    return hostile(np.random.default_rng(seed))


def malformed(rng: np.random.Generator) -> None:
    """Series, labels or a chunk are something else."""
    _, y, chunks = _labelled(rng)
    name = choice(rng, ("ElasticFeatureClassifier", "ElasticKMeans"))
    how = rng.integers(3)
    if how == 0:
        given = (hostile(rng), y)
    elif how == 1:
        given = (chunks, hostile(rng))
    else:
        spoiled = delayed(_something, pure=False)(int(rng.integers(2**32)))
        given = ([*chunks.to_delayed().ravel(), spoiled], np.arange(len(y) + 4) % 2)
    words = ("X", "y", "chunk", "target", "label type", "class", "classes", "n_clusters")
    result = outcome(lambda: remote.fit(made(name), *given), *words)
    assert refused(result) or hasattr(result, "predict")


CASES: dict[str, Case] = {
    "fits": fits, "distances": distances, "folders": folders, "malformed": malformed,
}  # fmt: skip
