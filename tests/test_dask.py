"""Fits on a cluster: equal to those on one machine, and they survive what happens to clusters."""

import functools
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import polars
import pytest
from sklearn.base import clone
from typer.testing import CliRunner

from warplearn import (
    DTWNeighborsClassifier,
    ElasticFeatureClassifier,
    ElasticGridSearchCV,
    ElasticKMeans,
    ElasticLinearRegression,
    ElasticLogisticRegression,
    ElasticMean,
    ElasticMLPClassifier,
    load,
    nearest_neighbors,
    pairwise_dtw,
    save,
)
from warplearn import cli as command_line
from warplearn.experiments import read_rows

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")
pytest.importorskip("dask.bag")
remote = pytest.importorskip("warplearn.dask")

pytestmark = pytest.mark.slow  # a cluster takes seconds to start

OPTIONS = {"elasticity": 3, "max_iter": 3, "random_state": 0}


@pytest.fixture(scope="module")
def cluster():
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "60s"}),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
    ):
        yield cluster


@pytest.fixture
def client(cluster):
    with distributed.Client(cluster, timeout=60) as client:
        yield client


def made(n=90, length=12, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=n)
    return rng.normal(size=(n, length)) + y[:, None], y


def read(X, first, count, pause=0.0, fails_once=None):
    """A chunk, as a slow or unreliable reader gives it."""
    time.sleep(pause)
    if fails_once is not None and not Path(fails_once).exists():
        Path(fails_once).touch()
        raise OSError("the tape is stuck")
    return X[first : first + count]


def slow_parts(X, count=8, pause=0.2):
    task = dask.delayed(read, pure=False)
    return [task(X, first, count, pause) for first in range(0, len(X), count)]


MODELS = {
    "features": ElasticFeatureClassifier(64, random_state=0),
    "linear": ElasticLogisticRegression(batch_size=45, **OPTIONS),
    "adam": ElasticLinearRegression(batch_size=90, **OPTIONS),
    "network": ElasticMLPClassifier(hidden_layer_sizes=(3,), batch_size=90, **OPTIONS),
}


@pytest.mark.parametrize("name", MODELS)
def test_fits_are_those_of_one_machine(client, name):
    X, y = made()
    model = MODELS[name]
    expected = model.fit(X, y).coef_
    for chunk in (20, 90):
        parts = da.from_array(X, chunks=(chunk, -1))
        fitted = remote.fit(model, parts, da.from_array(y, chunks=chunk), client=client)
        assert fitted is model
        np.testing.assert_allclose(fitted.coef_, expected, rtol=1e-8, atol=1e-12)


@pytest.fixture
def small_sample(monkeypatch):
    """Feature models have a sample of 60 series, and add up the others on the workers."""
    from warplearn.features import base, reduction

    monkeypatch.setattr(reduction, "SAMPLE_SIZE", 60)
    monkeypatch.setattr(base, "SAMPLE_SIZE", 60)


def test_more_series_than_the_sample(client, small_sample):
    X, y = made(400)
    model = ElasticFeatureClassifier(64, random_state=0)
    expected = model.fit(X, y).predict(X)
    remote.fit(model, da.from_array(X, chunks=(70, -1)), y, client=client)
    np.testing.assert_array_equal(model.predict(X), expected)


def test_unsupervised(client):
    X, _ = made()
    parts = da.from_array(X, chunks=(40, -1))
    for model in (ElasticKMeans(2, max_iter=3, random_state=0), ElasticMean(max_iter=3)):
        name = "mean_" if isinstance(model, ElasticMean) else "cluster_centers_"
        model.set_params(random_state=0)
        expected = getattr(model.fit(X), name)
        got = getattr(remote.fit(model, parts, client=client), name)
        np.testing.assert_allclose(got, expected, rtol=1e-8)


def test_a_collection_keeps_what_workers_hold(client):
    """Nobody else refers to the persisted array."""
    X, _ = made()
    series = remote.collection(da.from_array(X, chunks=(40, -1)).persist(), client=client)
    expected = ElasticMean(max_iter=2).fit(X).mean_
    np.testing.assert_allclose(ElasticMean(max_iter=2).fit(series).mean_, expected, rtol=1e-8)


def test_large_boxes_and_many_parts(client, monkeypatch):
    """What tasks need comes with each of them or is fetched; many sums are added on the workers."""
    monkeypatch.setattr("warplearn.dask.engine.SPLIT_EVERY", 2)
    X, _ = made()
    parts = da.from_array(X, chunks=(10, -1))
    model = ElasticKMeans(2, max_iter=3, random_state=0)
    expected = clone(model).fit(X)
    for small in (0, 2**16):
        monkeypatch.setattr("warplearn.dask.engine._SMALL", small)
        got = remote.fit(clone(model), parts, client=client)
        np.testing.assert_allclose(got.cluster_centers_, expected.cluster_centers_, rtol=1e-8)
        np.testing.assert_array_equal(got.labels_, expected.labels_)


def test_ragged_chunks_and_neighbors(client):
    rng = np.random.default_rng(0)
    series = [rng.normal(size=rng.integers(5, 12)) for _ in range(30)]
    parts = [dask.delayed(series[first : first + 11]) for first in range(0, 30, 11)]
    X = remote.collection(parts, client=client)
    assert X.lengths.tolist() == [len(x) for x in series]
    np.testing.assert_array_equal(X[17], series[17])
    expected = nearest_neighbors(series, series[:5], 3)
    got = nearest_neighbors(X, series[:5], 3)
    np.testing.assert_array_equal(got.indices, expected.indices)
    np.testing.assert_array_equal(
        nearest_neighbors(X, None, 2).indices, nearest_neighbors(series, None, 2).indices
    )
    y = np.arange(30) % 3
    near = remote.fit(DTWNeighborsClassifier(), X, y, client=client).predict(series[:5])
    np.testing.assert_array_equal(near, DTWNeighborsClassifier().fit(series, y).predict(series[:5]))


def test_bags_of_series(client):
    X, y = made()
    bag = dask.bag.from_sequence(list(X), npartitions=4)
    model = ElasticLogisticRegression(batch_size=90, **OPTIONS)
    expected = ElasticLogisticRegression(batch_size=90, **OPTIONS).fit(X, y)
    remote.fit(model, bag, y, client=client)
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-8, atol=1e-12)
    np.testing.assert_array_equal(remote.predict(model, bag).compute(), model.predict(X))
    with pytest.raises(ValueError, match="chunk 1 must be finite, but contains NaN at case 0"):
        remote.fit(model, dask.bag.from_sequence([X[0], X[1] * np.nan], npartitions=2), y[:2])


def test_what_is_lazy(client):
    X, y = made()
    parts = da.from_array(X, chunks=(40, -1))
    model = MODELS["linear"].fit(X, y)
    assert remote.predict(model, parts).chunks == ((40, 40, 10),)
    for name in ("predict", "predict_proba", "decision_function"):
        got = getattr(remote, name)(model, parts).compute()
        np.testing.assert_array_equal(got, getattr(model, name)(X))
    np.testing.assert_array_equal(
        remote.explain(model, parts).compute(), model.explain(X).contributions
    )
    kmeans = ElasticKMeans(2, max_iter=1, random_state=0).fit(X)
    np.testing.assert_array_equal(remote.transform(kmeans, parts).compute(), kmeans.transform(X))
    unknown = remote.predict(model, [dask.delayed(X[:50]), dask.delayed(X[50:])])
    np.testing.assert_array_equal(unknown.compute(), model.predict(X))
    within = remote.pairwise_dtw(parts)
    assert within.shape == (90, 90)
    np.testing.assert_allclose(within.compute(), pairwise_dtw(X))
    between = remote.pairwise_dtw(parts, parts[:30], band=3)
    np.testing.assert_allclose(between.compute(), pairwise_dtw(X, X[:30], band=3))


def test_a_fitted_model_is_an_ordinary_one(client, tmp_path):
    X, y = made()
    model = remote.fit(MODELS["linear"], da.from_array(X, chunks=(30, -1)), y, client=client)
    save(model, tmp_path / "model.warp")
    np.testing.assert_array_equal(load(tmp_path / "model.warp").predict(X), model.predict(X))


def test_parquet_is_read_by_workers(client, tmp_path):
    X, y = made(40)
    for part in range(2):
        own = slice(20 * part, 20 * part + 20)
        table = {f"t{i}": column for i, column in enumerate(X[own].T)}
        polars.DataFrame({**table, "label": y[own]}).write_parquet(tmp_path / f"{part}.parquet")
    parts, labels = remote.read_parquet(tmp_path)
    model = remote.fit(ElasticLogisticRegression(batch_size=40, **OPTIONS), parts, labels)
    expected = ElasticLogisticRegression(batch_size=40, **OPTIONS).fit(X, y)
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-8)


@pytest.mark.parametrize("lanes", [True, False])
def test_grid_search(client, lanes):
    X, y = made()
    if lanes:
        model, grid = ElasticLogisticRegression(**OPTIONS), {"elasticity": [1, 3]}
        grid["learning_rate_init"] = [0.1, 0.01]
    else:
        model, grid = DTWNeighborsClassifier(), {"n_neighbors": [1, 3]}
    expected = ElasticGridSearchCV(model, grid, cv=3).fit(X, y)
    got = remote.fit(ElasticGridSearchCV(model, grid, cv=3), X, y, client=client)
    assert got.best_params_ == expected.best_params_
    np.testing.assert_array_equal(
        got.cv_results_["mean_test_score"], expected.cv_results_["mean_test_score"]
    )


def test_a_study_on_a_scheduler(cluster, client, tmp_path):
    study = tmp_path / "small.toml"
    study.write_text(
        """
        name = "small"
        datasets = ["WarpedBumps"]
        trials = 2
        seed = 0

        [[methods]]
        name = "eLOGR"
        estimator = "ElasticLogisticRegression"
        parameters = { max_iter = 2, elasticity = 2 }
        grid = { learning_rate_init = [0.1, 0.01] }
        """
    )
    rows = {}
    for name, options in {"here": [], "there": ["--scheduler", cluster.scheduler_address]}.items():
        path = tmp_path / f"{name}.jsonl"
        command = ["reproduce", str(study), "-o", str(path), "--quiet", "--jobs", "1", *options]
        result = CliRunner().invoke(command_line.application(), command)
        assert result.exit_code == 0, result.output
        rows[name] = {row["key"]: row["error"] for row in read_rows(path)}
    assert len(rows["here"]) == 2
    assert rows["there"] == rows["here"]


def test_progress_of_long_passes(client, small_sample, monkeypatch, capsys):
    monkeypatch.setattr("warplearn.dask.progress._SECONDS", 0.0)
    X, y = made(160)
    parts = slow_parts(X, 16, 0.05)
    for verbose in (1, 0):
        remote.fit(ElasticFeatureClassifier(64, random_state=0, verbose=verbose), parts, y)
        lines = [line for line in capsys.readouterr().out.splitlines() if "warplearn.dask" in line]
        assert all(line.endswith(" of 10 chunks") for line in lines)
        assert bool(lines) == bool(verbose)


# What happens to clusters


def test_a_reader_that_fails_once(client, tmp_path):
    X, y = made()
    parts = slow_parts(X, 30, 0.0)
    parts[1] = dask.delayed(read, pure=False)(X, 30, 30, 0.0, str(tmp_path / "failed"))
    model = remote.fit(ElasticFeatureClassifier(64, random_state=0), parts, y, client=client)
    expected = ElasticFeatureClassifier(64, random_state=0).fit(X, y)
    assert (tmp_path / "failed").exists()
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-8, atol=1e-12)


def test_chunks_that_are_bad_are_named(client):
    X, y = made(36)
    task = dask.delayed(read, pure=False)
    parts = [task(X, first, 2) for first in range(0, 36, 2)]

    def broken():
        raise OSError("no such tape")

    wrong = X.copy()
    wrong[35, 3] = np.nan
    cases = {
        "chunk 17 must be finite, but contains NaN at case 1, position 3": task(wrong, 34, 2),
        "chunk 17 could not be read: no such tape": dask.delayed(broken)(),
        r"chunk 17 has 3 channel\(s\), but chunk 0 has 1": dask.delayed(np.zeros((2, 3, 12))),
    }
    for message, part in cases.items():
        with pytest.raises(ValueError, match=message):
            remote.fit(ElasticFeatureClassifier(64), [*parts[:17], part], y, client=client)
    labels = y.astype(float)
    labels[34] = np.nan
    with pytest.raises(
        ValueError, match="y must be given for each series, but case 0 of chunk 17 has none: .*nan"
    ):
        remote.fit(ElasticFeatureClassifier(64), parts, labels, client=client)
    few = [dask.delayed(y[first : first + 2]) for first in range(0, 34, 2)]
    with pytest.raises(ValueError, match="chunk 17 has 2 series, but 1 labels"):
        remote.fit(ElasticFeatureClassifier(64), parts, [*few, dask.delayed(y[:1])], client=client)
    with pytest.raises(TypeError, match="X must be a dask array, a bag or a list of delayed"):
        remote.fit(ElasticFeatureClassifier(64), X, y, client=client)


@pytest.mark.parametrize("name", ["network", "features"])
def test_a_worker_is_killed_and_one_is_added(cluster, client, small_sample, name):
    X, y = made(160)
    parts = slow_parts(X)
    model = clone(MODELS[name])
    expected = clone(MODELS[name]).fit(X, y)
    client.wait_for_workers(2, timeout=60)
    victim = next(iter(client.run(os.getpid).values()))
    fitted = []
    thread = threading.Thread(
        target=lambda: fitted.append(remote.fit(model, parts, y, client=client))
    )
    thread.start()
    time.sleep(2)
    os.kill(victim, signal.SIGKILL)
    cluster.scale(3)
    thread.join(120)
    assert fitted
    scale = np.abs(expected.coef_).max()
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-6, atol=1e-5 * scale)
    cluster.scale(2)


def test_an_interrupt_leaves_no_tasks(client):
    X, y = made()
    parts = slow_parts(X, 4, 0.5)
    timer = threading.Timer(2, functools.partial(os.kill, os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        remote.fit(ElasticFeatureClassifier(64, random_state=0), parts, y, client=client)

    def remaining():
        return client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks))

    deadline = time.monotonic() + 30
    while remaining() and time.monotonic() < deadline:
        time.sleep(0.2)
    assert remaining() == 0


def test_workers_started_by_the_command_line(tmp_path):
    file = tmp_path / "scheduler.json"
    dask_command = str(Path(sys.executable).parent / "dask")
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    common = ["--scheduler-file", str(file)]
    scheduler = [dask_command, "scheduler", "--port", "0", "--no-dashboard", *common]
    worker = [dask_command, "worker", "--nthreads", "1", "--no-nanny", "--no-dashboard", *common]
    started = [subprocess.Popen(scheduler, cwd=tmp_path, **quiet)]
    try:
        started += [subprocess.Popen(worker, cwd=tmp_path, **quiet) for _ in range(2)]
        deadline = time.monotonic() + 60
        while not file.exists() and time.monotonic() < deadline:
            time.sleep(0.1)
        address = json.loads(file.read_text())["address"]
        with distributed.Client(address, timeout=60) as client:
            client.wait_for_workers(2, timeout=60)
            X, y = made()
            model = ElasticLogisticRegression(batch_size=90, **OPTIONS)
            parts = da.from_array(X, chunks=(30, -1))
            got = remote.fit(model, parts, y, client=client).coef_
            np.testing.assert_allclose(got, model.fit(X, y).coef_, rtol=1e-8, atol=1e-12)
            client.shutdown()  # as a user would
    finally:
        for process in started:
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(30)
