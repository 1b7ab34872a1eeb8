"""Means, clusters and neighbours against public libraries; memory; and what bounds are worth.

One thread.  Peers that are not installed are left out.  Real sets come from the folder that the
environment variable WARPLEARN_DATA names; without it, that part is left out.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import tracemalloc
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.data import read_set
from benchmarks.measure import at_least, at_most, best_times, describe_machine
from warplearn import elastic_inner_product
from warplearn.cluster import ElasticKMeans
from warplearn.mean import elastic_mean
from warplearn.neighbors.nearest import DTWNeighborsClassifier
from warplearn.series.collection import SeriesCollection

PEERS = ("aeon", "tslearn")
_QUERIES = 100  # of a test set: the time of all is in proportion, and Wafer has 6,164


def _installed(contestants: dict[str, Callable[..., Any]]) -> dict[str, Callable[..., Any]]:
    return {
        name: f for name, f in contestants.items() if importlib.util.find_spec(name) is not None
    }


def _compare(label: str, ours: dict[str, Any], peers: dict[str, Any], least: float) -> None:
    """Times by turns, then ours again, and ratios to the faster peer."""
    if not peers:
        print("  no peer is installed (pip install 'warplearn[bench]')")
        return
    times = best_times(ours) | best_times(peers, repeats=2)
    again = best_times(ours)
    times |= {name: min(times[name], again[name]) for name in ours}
    for name, seconds in times.items():
        print(f"  {name:<22s} {1e3 * seconds:10.2f} ms")
    fastest = min(times[name] for name in peers)
    for name in ours:
        at_least(f"  {label}, {name.split()[-1]}: times faster", fastest / times[name], least)


def _walks(count: int, length: int) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(count, length)).cumsum(axis=1)


def sweep() -> None:
    print("\nOne DBA sweep over 200 series of length 150, from the same start")
    X = _walks(200, 150)

    def tslearn() -> Any:
        from tslearn.barycenters import dtw_barycenter_averaging

        start = X[0][:, None]
        return lambda: dtw_barycenter_averaging(X[..., None], max_iter=1, init_barycenter=start)

    def aeon() -> Any:
        from aeon.clustering.averaging import petitjean_barycenter_average

        def call() -> Any:
            return petitjean_barycenter_average(
                X[:, None], max_iters=1, init_barycenter=X[:1].copy(), n_jobs=1
            )

        return call

    def call(X: np.ndarray) -> Callable[[], Any]:
        collection, start = SeriesCollection.of(X), X[0]
        # The peers do not look at the variation after their last sweep, `elastic_mean` does.
        return lambda: elastic_mean(collection, init=start, max_iter=1, n_jobs=1)

    ours = {f"warplearn {t.__name__}": call(X.astype(t)) for t in (np.float32, np.float64)}
    peers = {name: make() for name, make in _installed({"tslearn": tslearn, "aeon": aeon}).items()}
    _compare("DBA sweep", ours, peers, 15)


def kmeans() -> None:
    print("\nk-means, 200 series of length 150, 5 clusters, 2 assignments, up to 30 sweeps each")
    X = _walks(200, 150)

    # Only tslearn: aeon's k-means took ten times as long when tried.
    def tslearn() -> Any:
        from tslearn.clustering import TimeSeriesKMeans

        start = X[:5, :, None]
        model = TimeSeriesKMeans(5, metric="dtw", init=start, max_iter=2, tol=0, n_jobs=1)
        return lambda: model.fit(X[..., None])

    def call(X: np.ndarray) -> Callable[[], Any]:
        # tslearn's means may end sooner, when a sweep changes the variation by less than 1e-5.
        model = ElasticKMeans(5, init=X[:5], max_iter=2, tol=0, n_jobs=1)
        return lambda: model.fit(X)

    ours = {f"warplearn {t.__name__}": call(X.astype(t)) for t in (np.float32, np.float64)}
    peers = {name: make() for name, make in _installed({"tslearn": tslearn}).items()}
    _compare("k-means", ours, peers, 15)


def neighbours() -> None:
    print(f"\n1-NN, {_QUERIES} test series, against aeon's KNeighborsTimeSeriesClassifier")
    if "WARPLEARN_DATA" not in os.environ:
        print("  WARPLEARN_DATA is not set")
        return

    for name in ("ECG200", "GunPoint", "TwoLeadECG", "Wafer"):
        X, y = read_set(name, "TRAIN")
        queries = read_set(name, "TEST")[0][:_QUERIES]

        def aeon(X: np.ndarray = X, y: np.ndarray = y, queries: np.ndarray = queries) -> Any:
            from aeon.classification.distance_based import KNeighborsTimeSeriesClassifier

            model = KNeighborsTimeSeriesClassifier(n_neighbors=1, distance="dtw", n_jobs=1)
            model.fit(X[:, None], y)
            return lambda: model.predict(queries[:, None])

        print(f" {name}")
        ours = {}
        for dtype in (np.float32, np.float64):
            model = DTWNeighborsClassifier(n_jobs=1).fit(X.astype(dtype), y)
            asked = queries.astype(dtype)
            ours[f"warplearn {dtype.__name__}"] = lambda m=model, q=asked: m.predict(q)
            found = model.search(asked)
            share = found.cells_computed / (found.cells_computed + found.cells_avoided)
            print(f"  {dtype.__name__}: {share:.1%} of the cells computed")
        _compare("1-NN", ours, {n: make() for n, make in _installed({"aeon": aeon}).items()}, 30)


def memory() -> None:
    print("\nPeak memory of k-means on 100,000 series of length 50, the data included")
    rng = np.random.default_rng(0)
    for dtype in (np.float32, np.float64):
        ElasticKMeans(8, max_iter=1, mean_iter=1, n_jobs=1).fit(_walks(100, 50).astype(dtype))
        tracemalloc.start()
        X = rng.standard_normal(size=(100_000, 50), dtype=dtype)
        tracemalloc.reset_peak()
        ElasticKMeans(8, max_iter=2, mean_iter=2, random_state=0, n_jobs=1).fit(X)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        at_most(f"  {np.dtype(dtype).name}: times the data", peak / X.nbytes, 1.5)


def _upper_bounds(X: np.ndarray, W: np.ndarray) -> np.ndarray:
    """Upper bounds (cases, u) of elastic inner products.

    A path has one cell in each row and at most one more in each column but the first.  For a
    row it is worth at most `x_i` times the greatest or least weight of the row, for a column at
    most the greatest product of an extreme element and an extreme weight.
    """
    positive, negative = np.maximum(X, 0), np.minimum(X, 0)
    rows = positive @ W.max(axis=2).T + negative @ W.min(axis=2).T
    high, low = X.max(axis=1, initial=0)[:, None, None], X.min(axis=1, initial=0)[:, None, None]
    columns = np.maximum(high * W.max(axis=1)[None], low * W.min(axis=1)[None])[..., 1:]
    return rows + np.maximum(columns, 0).sum(axis=2)


def inner_products() -> None:
    print("\nUpper bounds of elastic inner products for prediction among classes (m = n / 10)")
    print(
        "  share of the matrices (class means) that a bound excludes once the best score is known,"
    )
    print("  and the time of the bounds in times of that of all scores")
    if "WARPLEARN_DATA" not in os.environ:
        print("  WARPLEARN_DATA is not set")
        return
    for name in ("CBF", "SyntheticControl", "SwedishLeaf", "Plane"):
        X, y = read_set(name, "TRAIN")
        queries = read_set(name, "TEST")[0][:500]
        m = -(-X.shape[1] // 10)
        W = np.stack(
            [
                elastic_mean(X[y == c], space="matrix", length=m, max_iter=10).mean
                for c in np.unique(y)
            ]
        )
        scores = elastic_inner_product(queries, W, n_jobs=1)
        bounds = _upper_bounds(queries, W)
        assert (bounds >= scores - 1e-9 * np.abs(scores)).all()
        excluded = (bounds < scores.max(axis=1, keepdims=True)).mean()
        times = best_times(
            {
                "scores": lambda q=queries, W=W: elastic_inner_product(q, W, n_jobs=1),
                "bounds": lambda q=queries, W=W: _upper_bounds(q, W),
            },
            repeats=3,
        )
        price = times["bounds"] / times["scores"]
        print(f"  {name:<18s} {len(W):2d} classes: {excluded:6.1%} excluded, price {price:5.2f}")


def main(arguments: list[str]) -> None:
    parts = {
        "sweep": sweep,
        "kmeans": kmeans,
        "neighbours": neighbours,
        "memory": memory,
        "bounds": inner_products,
    }
    parser = argparse.ArgumentParser(prog="python -m benchmarks unsupervised", description=__doc__)
    parser.add_argument("--only", choices=parts, action="append", help="run one part")
    chosen = parser.parse_args(arguments).only or list(parts)
    warnings.filterwarnings("ignore", module="tslearn|aeon|numba")
    print(describe_machine(*PEERS))
    for name in chosen:
        parts[name]()
