"""One layout: a series taken out of a collection is as good as the array that went in.

Every public function and every method of an estimator that takes series is called with arrays, and
with the same series taken out of a `SeriesCollection` one by one.
"""

import inspect
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest

import warplearn
from warplearn import SeriesCollection, catalogue, datasets
from warplearn.series import fit_length, single

LENGTHS = (7, 9, 6, 9, 8, 7, 9, 8)
Y = np.array([0, 1] * 4)


def arrays(channels):
    """Ragged series of two classes, (time,) or (channels, time)."""
    rng = np.random.default_rng(channels)
    series = [
        rng.normal(size=(channels, k)).cumsum(axis=1) + 3 * c
        for k, c in zip(LENGTHS, Y, strict=True)
    ]
    return [x[0] for x in series] if channels == 1 else series


def matrix(channels):
    W = np.random.default_rng(9).normal(size=(9, 4, channels))
    return W[..., 0] if channels == 1 else W


@pytest.fixture(params=[1, 3], ids=["1 channel", "3 channels"])
def channels(request):
    return request.param


def taken_out(series):
    """The same series, each by indexing a collection."""
    collection = SeriesCollection.of(series)
    return [collection[case] for case in range(len(series))]


def flat(value: Any) -> list[Any]:
    """The arrays in a result."""
    if isinstance(value, SeriesCollection):
        return [value.values, value.lengths]
    if isinstance(value, (list, tuple)):
        return [array for each in value for array in flat(each)]
    return [np.asarray(value)]


def assert_same(got, ref):
    got, ref = flat(got), flat(ref)
    assert len(got) == len(ref)
    for a, b in zip(got, ref, strict=True):
        np.testing.assert_array_equal(a, b)


def embedded(x, W):
    return warplearn.embed(x, W, warplearn.active_path(x, W))


def stored_distances(X):
    with TemporaryDirectory() as folder:
        return np.array(warplearn.save_pairwise_dtw(f"{folder}/distances.npy", X, rows=3))


# Each is given series, and a matrix for that many channels.
FUNCTIONS = {
    "active_path": lambda X, W: [warplearn.active_path(x, W) for x in X],
    "dtw": lambda X, W: [warplearn.dtw(x, X[0]) for x in X],
    "elastic_distance": lambda X, W: warplearn.elastic_distance(X, W),
    "elastic_inner_product": lambda X, W: warplearn.elastic_inner_product(X, W),
    "elastic_mean": lambda X, W: warplearn.elastic_mean(X, init=X[1], max_iter=2),
    "embed": lambda X, W: [embedded(x, W) for x in X],
    "explain": lambda X, W: warplearn.explain(warplearn.DTWNeighborsClassifier().fit(X, Y), X)[0],
    "nearest_neighbors": lambda X, W: warplearn.nearest_neighbors(X, X[:3], 2),
    "pairwise_dtw": lambda X, W: warplearn.pairwise_dtw(X, X[:3]),
    "pairwise_dtw_blocks": lambda X, W: [b for _, b in warplearn.pairwise_dtw_blocks(X, rows=3)],
    "save_pairwise_dtw": lambda X, W: stored_distances(X),
    "value_and_gradient": lambda X, W: warplearn.value_and_gradient(X, W),
    "warping_path": lambda X, W: [warplearn.warping_path(x, X[0]) for x in X],
}
NO_SERIES = {"band_mask", "event_metrics", "load", "save", "to_c", "warmup"}
INTERNAL = {
    "SeriesCollection.of": lambda X, W: SeriesCollection.of(X),
    "fit_length": lambda X, W: fit_length(SeriesCollection.of(X), 8, "resample"),
    "single": lambda X, W: [single(x) for x in X],
}


def test_every_public_function_is_here():
    public = {
        name for name in warplearn.__all__ if inspect.isfunction(getattr(warplearn, name, None))
    }
    assert public - NO_SERIES == set(FUNCTIONS)


@pytest.mark.parametrize("name", [*FUNCTIONS, *INTERNAL])
def test_functions(name, channels):
    X, W = arrays(channels), matrix(channels)
    call = (FUNCTIONS | INTERNAL)[name]
    assert_same(call(taken_out(X), W), call(X, W))


def test_shapes(channels):
    X = arrays(channels)
    collection = SeriesCollection.of(X)
    for case, (x, again) in enumerate(zip(X, collection, strict=True)):
        assert collection[case].shape == again.shape == x.shape
        assert np.shares_memory(collection[case], collection.values)
        assert_same([collection[case], again], [x, x])
        assert_same(collection.elements(case), np.atleast_2d(x).T)


def test_files(channels, tmp_path):
    X = arrays(channels)
    for name, series in (("one.ts", X), ("other.ts", taken_out(X))):
        datasets.write_ts(tmp_path / name, series, Y, name="X")
    assert (tmp_path / "one.ts").read_text() == (tmp_path / "other.ts").read_text()
    assert_same(list(datasets.read(tmp_path / "one.ts").X), X)


# Estimators

METHODS = (
    "class_distances",
    "decision_function",
    "explain",
    "kneighbors",
    "predict",
    "predict_log_proba",
    "predict_proba",
    "search",
    "topographic_error",
    "transform",
)
SMALL = {"max_iter": 2, "mean_iter": 2, "random_state": 0, "n_filters": 84, "n_shapelets": 40}
ESTIMATORS = [  # a detector takes recordings, see test_detection.py
    name for name, entry in catalogue.ESTIMATORS.items() if entry.public and entry.task != "detect"
]


def made(name):
    """An estimator that learns little, and fast."""
    cls = catalogue.estimator_class(name)
    if catalogue.ESTIMATORS[name].task == "search":
        one = warplearn.ElasticPerceptron(max_iter=2, random_state=0)
        return cls(one, {"elasticity": [2, 3]}, cv=2)
    model = cls()
    known = model.get_params()
    return model.set_params(**{key: value for key, value in SMALL.items() if key in known})


@pytest.mark.parametrize("name", ESTIMATORS)
def test_estimators(name, channels):
    X = arrays(channels)
    model = made(name).fit(X, Y)
    again = made(name).fit(taken_out(X), Y)
    asked = [method for method in METHODS if hasattr(model, method)]
    for method in asked:
        ref = getattr(model, method)(X)
        assert_same(getattr(model, method)(taken_out(X)), ref)
        assert_same(getattr(model, method)(SeriesCollection.of(X)), ref)
        assert_same(getattr(again, method)(X), ref)
    if hasattr(model, "score"):
        assert model.score(taken_out(X), Y) == model.score(X, Y)
    assert asked or hasattr(model, "score")
