"""Much data: epochs in batches, chunks from disk, and a cluster of processes.

`--only epoch` compares an epoch of training with scoring the same series.  `--only costs` prints
what features, their sums and distances cost.  `--only memory` prints what estimators allocate
beyond the series, wherever these are.  `--only cluster` compares two Dask workers of one
thread each with one.  Series are generated and of length 100, in float32.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars
from sklearn.base import clone

from benchmarks.measure import at_least, at_most, best_times, describe_machine
from warplearn import (
    DTWNeighborsClassifier,
    ElasticFeatureClassifier,
    ElasticFeatureRegressor,
    ElasticKMeans,
    ElasticLinearRegression,
    ElasticLogisticRegression,
    ElasticLVQClassifier,
    ElasticMLPClassifier,
    SeriesCollection,
    datasets,
    pairwise_dtw,
)
from warplearn.features.reduction import Basis, Cases, accumulate, combine

LENGTH = 100
CHUNK = 1_000  # series of a chunk on the cluster
MANY = 10  # times as many series for short steps


def bumps(count: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Noisy series of two classes."""
    rng = np.random.default_rng(seed)
    y = np.arange(count) % 2
    X = rng.standard_normal((count, LENGTH), dtype=np.float32)
    X += y[:, None] * np.sin(np.arange(LENGTH, dtype=np.float32) / 9)
    return X, y


def linear(batch_size: int) -> ElasticLogisticRegression:
    return ElasticLogisticRegression(
        elasticity=10, polarity="+", batch_size=batch_size, solver="adam", max_iter=1,
        learning_rate="constant", learning_rate_init=0.01, random_state=0, n_jobs=1,
    )  # fmt: skip


def seconds(
    function: Callable[[], Any], repeats: int = 3, clock: Callable[[], float] = time.perf_counter
) -> float:
    """The least time of some calls."""
    times = []
    for _ in range(repeats):
        start = clock()
        function()
        times.append(clock() - start)
    return min(times)


def epoch(options: argparse.Namespace) -> None:
    X, y = bumps(options.series)
    model = linear(256).fit(X[:1000], y[:1000])
    scores = seconds(lambda: model.decision_function(X))
    print(
        f"scores of {len(X):,} series, m = 10: {scores:.3f} s, {scores / len(X) * 1e6:.2f} us each"
    )
    for size in (64, 256, 1024, 4096):
        spent = seconds(lambda size=size: linear(size).fit(X, y), 1)
        most = 10 if size >= 1024 else np.inf
        at_most(f"epoch in batches of {size}: times the scores", spent / scores, most)


def costs(options: argparse.Namespace) -> None:
    """Time of the CPU for each series, which other processes disturb little."""
    X, y = bumps(600)
    between = (X[::2] + X[1::2]) / 2  # of both classes: not clear
    kinds = {
        "4,000 filters": {"n_filters": 4000, "n_shapelets": 0},
        "8,000 filters, 4,000 shapelets": {"n_filters": 8000},  # the defaults for many series
        "the defaults": {},
    }
    for name, settings in kinds.items():
        model = ElasticFeatureClassifier(**settings, random_state=0, n_jobs=1)
        model.fit(X[:100], y[:100])
        whole = clone(model).set_params(cascade=()).fit(X[:100], y[:100])
        third = clone(model).set_params(keep=1 / 3).fit(X[:100], y[:100])
        for which, each, series in (
            (name, model, X),
            (f"{name}, series between the classes", model, between),
            (f"{name}, cascade=()", whole, X),
            (f"{name}, keep=1/3", third, X),
        ):
            predict = partial(each.predict, series)
            _print_cost(f"prediction with {which}", predict, len(series))
        if not settings:
            continue  # sums are for many series
        cases = Cases(SeriesCollection.of(X), np.where(y > 0, 1.0, -1.0)[:, None], np.ones(len(X)))
        basis = Basis.of(model._transformers(), cases)
        sums = accumulate(basis, cases)
        size = sum(array.nbytes for family in sums.families for array in family) / 1e6
        _print_cost(
            f"features of {name}, and their sums",
            lambda basis=basis, cases=cases: accumulate(basis, cases), len(X),
        )  # fmt: skip
        _print_cost(
            f"adding two sums of {size:.0f} MB",
            lambda sums=sums: combine([sums, sums]), 1,
        )  # fmt: skip
    _print_cost("a pair", lambda: pairwise_dtw(X[:200], X[200:400]), 40_000)


def _print_cost(name: str, function: Callable[[], Any], count: float) -> None:
    function()
    spent = seconds(function, clock=time.process_time)
    print(f"{name:76s} {spent / count * 1e6:12.2f} us", flush=True)


def predictors(channels: int) -> list[Any]:
    """Fitted models of each kind, in float64."""
    X, y = bumps(400)
    X = np.repeat(X[:, None].astype(float), channels, axis=1)
    options: dict[str, Any] = {"elasticity": 2, "max_iter": 1, "random_state": 0}
    return [
        ElasticLogisticRegression(batch_size=100, **options).fit(X, y),
        ElasticLinearRegression(batch_size=100, **options).fit(X, y),
        ElasticMLPClassifier(batch_size=100, **options).fit(X, y),
        ElasticKMeans(3, max_iter=1, random_state=0).fit(X),
        ElasticLVQClassifier(max_iter=1, random_state=0).fit(X, y),
        DTWNeighborsClassifier(1, band=2).fit(X[:4], y[:4]),
        ElasticFeatureClassifier(80, n_shapelets=40, random_state=0).fit(X, y),
        ElasticFeatureRegressor(80, n_shapelets=40, random_state=0).fit(X, y),
    ]


def memory(options: argparse.Namespace) -> None:
    """Series in float32 for models in float64; what is allocated beyond them and the results."""
    X, y = bumps(options.series)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        np.save(folder / "X.npy", X)
        (folder / "parts").mkdir()
        parts = [slice(i, i + 10_000) for i in range(0, len(X), 10_000)]
        for number, part in enumerate(parts):
            table = polars.DataFrame(X[part], schema=[f"t{i}" for i in range(LENGTH)])
            table.write_parquet(folder / "parts" / f"{number:05d}.parquet")
        kinds = {
            "array": X,
            "reversed strides": X[::-1, ::-1],
            "file": np.load(folder / "X.npy", mmap_mode="r"),
            "chunks": SeriesCollection.chunks([X[part] for part in parts]),
            "Parquet": datasets.read(folder / "parts").X,
            "2 channels": np.stack([X[: len(X) // 2], X[len(X) // 2 :]], axis=1),
        }
        print(f"{len(X):,} series, {X.nbytes / 1e6:.0f} MB; peak beyond them in MB:")
        for kind, series in kinds.items():
            channels = 2 if kind == "2 channels" else 1
            for model in predictors(channels):
                used = _peak(lambda model=model, series=series: model.predict(series))
                at_most(f"{type(model).__name__}.predict, {kind}", used, 200)
            labels = y[: len(series)]
            used = _peak(lambda series=series, labels=labels: linear(4096).fit(series, labels))
            at_most(f"ElasticLogisticRegression.fit, {kind}", used, 200)
        np.savez(folder / "X.npz", X=X, y=y)
        used = _peak(lambda: datasets.read(folder / "X.npz")) - X.nbytes / 1e6
        at_most("read of an .npz file", used, 200)


def _peak(function: Callable[[], Any]) -> float:
    tracemalloc.start()
    function()
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most / 1e6


def cluster(options: argparse.Namespace) -> None:
    from distributed import Client, LocalCluster

    os.environ["OMP_NUM_THREADS"] = "1"
    X, y = bumps(options.series)
    model = ElasticFeatureClassifier(800, random_state=0, n_jobs=1).fit(X[:1000], y[:1000])
    with ExitStack() as opened:
        work = []
        for workers in (1, 2):
            local = opened.enter_context(
                LocalCluster(
                    n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=":0"
                )
            )
            client = opened.enter_context(Client(local, set_as_default=False))
            work.append(_on_cluster(model, X, y, client))
        for name, ones in work[0].items():
            if options.case in (None, name):
                spent = best_times({"one": ones, "two": work[1][name]}, repeats=options.repeats)
                at_least(
                    f"{name}, {spent['one']:.2f} s: two workers to one",
                    spent["one"] / spent["two"], 1.6,
                )  # fmt: skip


def _on_cluster(
    model: ElasticFeatureClassifier, X: np.ndarray, y: np.ndarray, client: Any
) -> dict[str, Callable[[], Any]]:
    """What two workers should do faster than one, on series that they hold."""
    import dask.array as da

    import warplearn.dask as remote

    def spread(chunks: list[np.ndarray]) -> Any:
        """An array of which each worker holds as many chunks as any other."""
        futures = client.scatter(chunks, hash=False)
        pairs = zip(futures, chunks, strict=True)
        return client.persist(
            da.concatenate([da.from_delayed(f, c.shape, c.dtype) for f, c in pairs])
        )

    # Features take long, and a step of the others is so short that their chunks have to be large.
    small = spread([X[i : i + CHUNK] for i in range(0, len(X), CHUNK)])
    many, labels = spread([X] * MANY), np.tile(y, MANY)
    pairs = small[: 3 * CHUNK]

    def fit(estimator: Any, *data: Any) -> Callable[[], Any]:
        return lambda: remote.fit(clone(estimator).set_params(n_jobs=1), *data, client=client)

    steps = linear(len(labels)).set_params(max_iter=10)
    network = ElasticMLPClassifier(
        hidden_layer_sizes=(4,), elasticity=10, batch_size=len(labels), max_iter=3, random_state=0
    )
    kmeans = ElasticKMeans(4, band=10, max_iter=3, mean_iter=1, random_state=0)
    return {
        "features fit": fit(ElasticFeatureClassifier(800, random_state=0), small, y),
        "features predict": lambda: client.compute(remote.predict(model, small)).result(),
        f"linear fit of {MANY} times as many": fit(steps, many, labels),
        f"network fit of {MANY} times as many": fit(network, many, labels),
        f"k-means fit of {MANY} times as many": fit(kmeans, many),
        "pairwise": lambda: client.compute(remote.pairwise_dtw(pairs).sum()).result(),
    }


PARTS = {"epoch": epoch, "costs": costs, "memory": memory, "cluster": cluster}


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks much",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--series", type=int, default=100_000)
    parser.add_argument("--case", help="only this case of the cluster")
    parser.add_argument(
        "--repeats", type=int, default=2, help="calls by turns on the cluster; the best count"
    )
    options = parser.parse_args(arguments)
    print(describe_machine())
    for part in options.only:
        print(f"\n{part}")
        PARTS[part](options)
