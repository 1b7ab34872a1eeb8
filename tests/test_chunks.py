"""Series that are read in chunks: the same results, in memory that does not grow with them."""

import pickle
import tracemalloc

import numpy as np
import polars
import pytest

from warplearn import (
    DTWNeighborsClassifier,
    ElasticEmbedding,
    ElasticFeatureClassifier,
    ElasticKMeans,
    ElasticLinearRegression,
    ElasticLogisticRegression,
    ElasticMean,
    ElasticMLPClassifier,
    SeriesCollection,
    datasets,
    elastic_inner_product,
    nearest_neighbors,
    pairwise_dtw,
    save_pairwise_dtw,
)
from warplearn.elastic import storing
from warplearn.series import chunks, sources
from warplearn.training.plan import Examples

MB = 2**20


def made(n=90, length=12, seed=0, dtype=np.float64, channels=None):
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=n)
    shape = (n, length) if channels is None else (n, channels, length)
    X = rng.normal(size=shape) + y.reshape(-1, *[1] * (len(shape) - 1))
    return X.astype(dtype), y


def in_chunks(X, size=20):
    return SeriesCollection.chunks([X[i : i + size] for i in range(0, len(X), size)])


@pytest.fixture
def small_chunks(monkeypatch):
    """Chunks of a few series, so that a few series are many chunks."""
    monkeypatch.setattr(chunks, "CHUNK_BYTES", 2**10)


# The collection


def test_chunks_are_one_collection():
    X, _ = made()
    whole, parts = SeriesCollection.of(X), in_chunks(X)
    assert len(parts) == 90
    assert parts.shape == whole.shape
    assert parts.blocks.tolist() == [0, 20, 40, 60, 80, 90]
    assert not parts.in_memory
    for index in (slice(5, 15), slice(15, 45), slice(None, None, -7), [3, 88, 3, -1], X[:, 0] > 0):
        np.testing.assert_array_equal(parts[index].values, whole[index].values)
    np.testing.assert_array_equal(parts[-1], X[-1])
    np.testing.assert_array_equal(parts.values, whole.values)
    with pytest.raises(IndexError, match="between 0 and 89"):
        parts[[90]]


def test_chunks_of_other_lengths_and_dtypes():
    parts = SeriesCollection.chunks([[[1.0, 2.0, 3.0], [4.0]], np.ones((2, 5), np.float32)])
    assert repr(parts) == "<SeriesCollection: 4 series, length 1 to 5, channels 1, float64>"
    expected = [[4, 0, 0, 0, 0], [1, 1, 1, 1, 1]]
    np.testing.assert_array_equal(parts[[1, 3]].values[..., 0], expected)
    assert parts[:2].max_length == 3


def test_functions_and_iterators_of_chunks():
    X, _ = made()
    calls = []

    def reader(i):
        def read():
            calls.append(i)
            return X[i : i + 30]

        return read

    lazy = SeriesCollection.chunks([reader(i) for i in range(0, 90, 30)])
    assert calls == [0, 30, 60]
    spooled = SeriesCollection.chunks(X[i : i + 30] for i in range(0, 90, 30))
    for parts in (lazy, spooled):
        np.testing.assert_array_equal(parts.values, X[..., None])
    copied = pickle.loads(pickle.dumps(in_chunks(X)))
    np.testing.assert_array_equal(copied.values, X[..., None])


def test_blocks_are_forgotten(monkeypatch):
    X, _ = made(100)
    monkeypatch.setattr(sources, "CACHE_BYTES", 3 * 10 * 12 * 8)
    reads = []
    parts = SeriesCollection.chunks(
        [lambda i=i: (reads.append(i), X[i : i + 10])[1] for i in range(0, 100, 10)]
    )
    reads.clear()
    np.testing.assert_array_equal(parts[[1, 12, 25, 2, 13]].values[..., 0], X[[1, 12, 25, 2, 13]])
    assert sorted(reads) == [0, 10, 20]
    parts[[3, 14, 26]]
    assert len(reads) == 3
    parts[40:70]
    parts[0]
    assert sorted(reads) == [0, 0, 10, 20, 40, 50, 60]


def test_errors_name_the_chunk():
    X, _ = made()
    parts = [X[i : i + 5].copy() for i in range(0, 90, 5)]
    parts[17][3, 4] = np.nan
    with pytest.raises(
        ValueError, match="chunk 17 must be finite, but contains NaN at case 3, pos"
    ):
        SeriesCollection.chunks(parts)
    with pytest.raises(ValueError, match=r"chunk 1 has 2 channel\(s\), but chunk 0 has 1"):
        SeriesCollection.chunks([X, np.zeros((4, 2, 12))])
    with pytest.raises(ValueError, match="chunk 1 could not be read: no such tape"):
        SeriesCollection.chunks([X, lambda: (_ for _ in ()).throw(OSError("no such tape"))])
    with pytest.raises(ValueError, match="Found array with 0 sample"):
        SeriesCollection.chunks([])
    with pytest.raises(TypeError, match="sequence or an iterator of chunks, got ndarray"):
        SeriesCollection.chunks(X)
    sizes = iter([10, 10, 9])
    changing = SeriesCollection.chunks([X, lambda: X[: next(sizes)]])
    assert len(changing) == 100
    changing[95]
    changing._source._remember()
    with pytest.raises(ValueError, match="chunk 1 has changed since it was first read"):
        changing[95]


@pytest.mark.parametrize("missing", [np.nan, None])
def test_errors_name_the_chunk_without_labels(missing):
    X, y = made()
    labels = y.astype(object)
    labels[87] = missing
    models = (
        ElasticFeatureClassifier(8), ElasticLogisticRegression(batch_size=30),
        ElasticLinearRegression(batch_size=30), DTWNeighborsClassifier(),
    )  # fmt: skip
    for model in models:
        with pytest.raises(ValueError, match="y must be given .* but case 2 of chunk 17 has none"):
            model.fit(in_chunks(X, 5), labels)
        with pytest.raises(ValueError, match="y must be given for each series, but case 87 has no"):
            model.fit(X, labels)
        with pytest.raises(
            ValueError, match=r"\[90, 83\]; case 3 of chunk 16 is the first without"
        ):
            model.fit(in_chunks(X, 5), y[:83])


def test_a_memory_map_is_not_copied(tmp_path):
    X, _ = made(2000, 500)
    np.save(tmp_path / "X.npy", X)
    tracemalloc.start()
    found = datasets.read(tmp_path / "X.npy")
    assert tracemalloc.get_traced_memory()[1] < X.nbytes / 4
    tracemalloc.stop()
    assert found.X.blocks is not None
    np.testing.assert_array_equal(found.X[7], X[7])
    np.save(tmp_path / "whole.npy", (X[:9] * 100).astype(np.int16))
    assert datasets.read(tmp_path / "whole.npy").X.dtype == np.float64
    X[3, 1] = np.inf
    np.save(tmp_path / "X.npy", X)
    with pytest.raises(datasets.MalformedFileError, match=r"X.npy.*infinity at case 3, position 1"):
        datasets.read(tmp_path / "X.npy")


def test_npz_is_read_once(tmp_path):
    X, y = made(2000, 500)
    X[5, 300:] = np.nan
    np.savez(tmp_path / "set.npz", X=X, y=y)
    tracemalloc.start()
    found = datasets.read(tmp_path / "set.npz")
    assert tracemalloc.get_traced_memory()[1] < 1.5 * X.nbytes
    tracemalloc.stop()
    assert found.X.lengths[5] == 300
    assert found.X.values[5, 300:].max() == 0
    np.testing.assert_array_equal(found.X[6], X[6])


def test_a_folder_of_parquet_files(tmp_path):
    X, y = made(50, 8)
    for part, first in enumerate(range(0, 50, 20)):
        own = slice(first, first + 20)
        table = {f"t{i}": column for i, column in enumerate(X[own].T)}
        polars.DataFrame({**table, "label": y[own]}).write_parquet(tmp_path / f"{part}.parquet")
    found = datasets.read(tmp_path)
    np.testing.assert_array_equal(found.y, y)
    np.testing.assert_array_equal(found.X[[49, 0, 25]].values[..., 0], X[[49, 0, 25]])
    polars.DataFrame({"t0": [1.0], "t1": [None], "label": [1]}).write_parquet(
        tmp_path / "3.parquet"
    )
    assert datasets.read(tmp_path).X.lengths.tolist() == [8] * 50 + [1]
    polars.DataFrame({"t0": [1.0]}).write_parquet(tmp_path / "4.parquet")
    with pytest.raises(datasets.MalformedFileError, match=r"4.parquet.*in all files or in none"):
        datasets.read(tmp_path)


# Estimators


def fitted_models():
    X, y = made()
    options = {"elasticity": 3, "max_iter": 3, "random_state": 0}
    return [
        ElasticLogisticRegression(batch_size=16, **options).fit(X, y),
        ElasticLinearRegression(**options).fit(X, y),
        ElasticMLPClassifier(hidden_layer_sizes=(3,), **options).fit(X, y),
        ElasticKMeans(2, max_iter=2, random_state=0).fit(X),
        ElasticEmbedding().fit(X),
    ]


def test_what_models_say_does_not_depend_on_chunks(small_chunks):
    X, _ = made(seed=1)
    for model in fitted_models():
        for name in ("predict", "decision_function", "predict_proba", "transform", "explain"):
            if not hasattr(model, name):
                continue
            whole, parts = getattr(model, name)(X), getattr(model, name)(in_chunks(X))
            if name == "explain":
                whole, parts = whole.contributions, parts.contributions
            np.testing.assert_array_equal(parts, whole, err_msg=f"{model}.{name}")


def test_fits_do_not_depend_on_chunks(small_chunks):
    X, y = made()
    options = {"elasticity": 3, "max_iter": 3, "random_state": 0}
    models = [
        ElasticLogisticRegression(batch_size=30, **options),
        ElasticMLPClassifier(hidden_layer_sizes=(3,), batch_size=30, **options),
    ]
    for model in models:
        whole = model.fit(X, y).coef_
        np.testing.assert_allclose(model.fit(in_chunks(X), y).coef_, whole, rtol=1e-10)
    for model in (
        ElasticKMeans(2, random_state=0),
        ElasticKMeans(2, batch_size=30, random_state=0),
    ):
        whole = model.fit(X).cluster_centers_
        parts = model.fit(in_chunks(X)).cluster_centers_
        np.testing.assert_allclose(parts, whole, rtol=1e-10)
    mean = ElasticMean(init="euclidean")
    np.testing.assert_allclose(mean.fit(X).mean_, mean.fit(in_chunks(X)).mean_, rtol=1e-10)


def test_steps_of_one_example_need_all_series():
    X, y = made()
    with pytest.raises(
        ValueError, match="batch_size must be a positive integer to train on series"
    ):
        ElasticLogisticRegression().fit(in_chunks(X), y)


@pytest.mark.parametrize("size", [1, 7, 20])
@pytest.mark.parametrize("cost", ["squared", "absolute"])
def test_neighbors_in_chunks(small_chunks, size, cost):
    X, y = made(40)
    X[11] = X[30]
    queries, _ = made(9, seed=2)
    for asked in (None, queries):
        whole = nearest_neighbors(X, asked, 3, cost=cost)
        parts = nearest_neighbors(in_chunks(X, size), asked, 3, cost=cost)
        np.testing.assert_array_equal(parts.indices, whole.indices)
        np.testing.assert_array_equal(parts.distances, whole.distances)
    model = DTWNeighborsClassifier(3, cost=cost).fit(in_chunks(X, size), y)
    assert model._values.size == 0
    expected = DTWNeighborsClassifier(3, cost=cost).fit(X, y).predict(queries)
    np.testing.assert_array_equal(model.predict(queries), expected)


def test_batches_take_few_blocks(monkeypatch):
    X, _ = made(200)
    monkeypatch.setattr(sources, "CACHE_BYTES", 4 * 10 * 12 * 8)
    parts = in_chunks(X, 10)
    order = Examples(np.arange(200), np.ones(200)).orders(parts).next()
    assert sorted(order) == list(range(200))
    for start in range(0, 200, 20):
        assert len(np.unique(order[start : start + 20] // 10)) == 2
    assert (np.diff(order) != 1).mean() > 0.5


# Matrices of distances in files


@pytest.mark.parametrize("suffix", [".npy", ".zarr"])
def test_distances_in_a_file(tmp_path, monkeypatch, suffix):
    if suffix == ".zarr":
        pytest.importorskip("zarr")
    X, _ = made(30)
    file = tmp_path / f"distances{suffix}"
    computed = []
    whole = storing.rectangle

    def rectangle(*args):
        if len(computed) == 2:
            raise KeyboardInterrupt
        computed.append(1)
        return whole(*args)

    monkeypatch.setattr(storing, "rectangle", rectangle)
    with pytest.raises(KeyboardInterrupt):
        save_pairwise_dtw(file, X, rows=8)
    monkeypatch.setattr(storing, "rectangle", lambda *args: computed.append(2) or whole(*args))
    np.testing.assert_allclose(save_pairwise_dtw(file, in_chunks(X), rows=8), pairwise_dtw(X))
    assert computed == [1, 1, 2, 2]
    save_pairwise_dtw(file, X, rows=8)
    assert computed == [1, 1, 2, 2]
    with pytest.raises(ValueError, match="was begun with other series or parameters; remove it"):
        save_pairwise_dtw(file, X + 1, rows=8)
    other = tmp_path / f"other{suffix}"
    expected = pairwise_dtw(X, X[:5], band=2, cost="absolute")
    np.testing.assert_allclose(save_pairwise_dtw(other, X, X[:5], 2, "absolute"), expected)


def test_files_of_distances_are_not_overwritten(tmp_path):
    X, _ = made(10)
    np.save(tmp_path / "mine.npy", X)
    with pytest.raises(ValueError, match="is there already, and not a matrix to go on with"):
        save_pairwise_dtw(tmp_path / "mine.npy", X)
    with pytest.raises(ValueError, match="the suffix of file must be one of"):
        save_pairwise_dtw(tmp_path / "distances.csv", X)


# Memory


def peak(function):
    """Bytes that a function allocates at most, beyond what was there before."""
    tracemalloc.start()
    function()
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most


def test_memory_does_not_grow_with_the_series():
    X, y = made(100, 50)
    linear = ElasticLogisticRegression(elasticity=2, max_iter=1, batch_size=50).fit(X, y)
    network = ElasticMLPClassifier(hidden_layer_sizes=(32,), elasticity=2, max_iter=1).fit(X, y)
    kmeans = ElasticKMeans(2, max_iter=1, random_state=0).fit(X)
    many = np.tile(X.astype(np.float32), (4000, 1))  # 80 MB
    labels = np.tile(y, 4000)
    assert many.nbytes > 75 * MB
    for model in (linear, network, kmeans):
        assert peak(lambda model=model: model.predict(many)) < 40 * MB  # float32, fitted on float64
    assert peak(lambda: linear.predict(many[::-1, ::-1])) < 40 * MB
    assert peak(lambda: elastic_inner_product(many[:, ::-1], linear.coef_[0])) < 40 * MB
    more = ElasticLogisticRegression(elasticity=2, max_iter=1, batch_size=4000)
    assert peak(lambda: more.fit(many, labels)) < 60 * MB
    two, own = made(60, 40, channels=2)
    wide = ElasticLogisticRegression(elasticity=2, max_iter=1, batch_size=50).fit(two, own)
    many = np.tile(two, (2000, 1, 1))
    assert many.nbytes > 70 * MB
    assert peak(lambda: wide.predict(many)) < 40 * MB
    network = ElasticMLPClassifier(
        hidden_layer_sizes=(2,), elasticity=2, max_iter=1, batch_size=4000, random_state=0
    )
    assert peak(lambda: network.fit(many, np.tile(own, 2000))) < 60 * MB
