"""Windows of long recordings: the values are those of the windows, cut and normalized."""

import numpy as np
import pytest
from sklearn.base import clone

from warplearn import (
    ElasticFeatureClassifier,
    ElasticLogisticRegression,
    ElasticLVQClassifier,
    ElasticMLPClassifier,
    ElasticPerceptron,
    NearestPrototypeClassifier,
    SeriesCollection,
)
from warplearn._kernels.drivers.evaluate import evaluate
from warplearn._kernels.drivers.recording import window_scores
from warplearn._kernels.recursion.local import Product, Squared
from warplearn.series import windows as windows_module
from warplearn.series.windows import chunks_of, least_deviation, parts_of

LENGTH = 12


def cut(signal, length=LENGTH, stride=1, normalize=True):
    """Windows (cases, channels, time), one after the other."""
    signal = np.atleast_2d(signal)
    starts = range(0, signal.shape[1] - length + 1, stride)
    windows = np.array([signal[:, s : s + length] for s in starts])
    if normalize:
        mean, deviation = windows.mean(axis=2, keepdims=True), windows.std(axis=2, keepdims=True)
        windows = (windows - mean) / np.where(deviation > 1e-12, deviation, np.inf)
    return windows


@pytest.fixture
def data(rng):
    y = np.arange(30) % 2
    return rng.normal(size=(30, LENGTH)) + np.linspace(0, 2, LENGTH) * y[:, None], y


@pytest.fixture
def signal(rng):
    return 50 + rng.normal(size=230).cumsum()


LINEAR = {"elasticity": 3, "max_iter": 10, "random_state": 0}


# --- The kernel


@pytest.mark.parametrize("channels", [1, 2])
@pytest.mark.parametrize("stride", [1, 5, 17])
@pytest.mark.parametrize("normalized", [True, False])
def test_scores_are_those_of_cut_windows(rng, channels, stride, normalized):
    recording = rng.normal(size=(channels, 150)).cumsum(axis=1)
    w = rng.normal(size=(3, LENGTH, 4, channels))
    starts = np.arange(0, 150 - LENGTH + 1, stride)
    X = cut(recording, stride=stride, normalize=normalized).swapaxes(1, 2)
    ref = evaluate(Product(), X, np.full(len(X), LENGTH), w).values
    samples = recording.T
    least = least_deviation(float) if normalized else None
    got = window_scores(Product(), samples, starts, LENGTH, w, least_deviation=least)
    assert got == pytest.approx(ref, rel=1e-10, abs=1e-10)


def test_windows_in_any_order(rng):
    samples, w = rng.normal(size=(90, 1)), rng.normal(size=(2, 9, 1))
    starts = rng.permutation(78)[:70]
    least = least_deviation(float)
    every = window_scores(Squared(), samples, np.arange(78), LENGTH, w, least_deviation=least)
    some = window_scores(Squared(), samples, starts, LENGTH, w, least_deviation=least)
    assert some == pytest.approx(every[starts], rel=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_recording_far_from_zero(rng, dtype):
    """The deviation is 1, the mean a thousand: sums of squares alone would lose it."""
    samples = (1000 + rng.normal(size=(80, 1))).astype(dtype)
    w = rng.normal(size=(1, LENGTH, 4, 1)).astype(dtype)
    least = least_deviation(dtype)
    X = cut(samples[:, 0].astype(float)).swapaxes(1, 2)
    ref = evaluate(Product(), X, np.full(len(X), LENGTH), w.astype(float)).values
    got = window_scores(Product(), samples, np.arange(len(X)), LENGTH, w, least_deviation=least)
    assert got == pytest.approx(ref, abs=1e-5 if dtype == np.float32 else 1e-10)


@pytest.mark.parametrize("constant", [0.0, 0.1, 3.3e6])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_constant_windows_become_zero(constant, dtype):
    samples = np.full((100, 1), constant, dtype)
    w, least = np.ones((1, LENGTH, 4, 1), dtype), least_deviation(dtype)
    got = window_scores(Product(), samples, np.arange(89), LENGTH, w, least_deviation=least)
    assert not got.any()
    assert not SeriesCollection.windows(samples[:, 0], LENGTH).values.any()


# --- slide


@pytest.mark.parametrize("stride", [1, 7])
@pytest.mark.parametrize("normalize", ["window", "none"])
@pytest.mark.parametrize("method", ["decision_function", "predict", "predict_proba"])
def test_linear_classifier(data, signal, stride, normalize, method):
    model = ElasticLogisticRegression(**LINEAR).fit(*data)
    windows = cut(signal, stride=stride, normalize=normalize == "window")
    ref = getattr(model, method)(windows)
    got = model.slide(signal, stride, normalize=normalize, method=method)
    assert got.shape == ref.shape
    if method == "predict":
        assert got.tolist() == ref.tolist()
    else:
        assert got == pytest.approx(ref, rel=1e-9, abs=1e-9)


MODELS = [
    ElasticLogisticRegression(**LINEAR, band=4),
    ElasticPerceptron(**LINEAR, polarity="-"),
    ElasticFeatureClassifier(64, random_state=0),
    NearestPrototypeClassifier("mean"),
    ElasticLVQClassifier(max_iter=2, band=3, random_state=0),
    ElasticMLPClassifier(hidden_layer_sizes=(4,), max_iter=3, random_state=0),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("classes", [2, 3])
def test_models_of_every_kind(data, signal, model, classes):
    X, _ = data
    model.fit(X, np.arange(30) % classes)
    windows = cut(signal)
    assert model.slide(signal) == pytest.approx(model.decision_function(windows), abs=2e-5)
    assert model.slide(signal, method="predict").tolist() == model.predict(windows).tolist()
    decide = model.decider(LENGTH)
    collection = SeriesCollection.windows(signal, LENGTH)
    assert decide(collection) == pytest.approx(model.slide(signal), rel=1e-12)


def test_channels_and_shorter_windows(rng):
    X = rng.normal(size=(20, 2, LENGTH))
    model = ElasticLogisticRegression(**LINEAR).fit(X, np.arange(20) % 2)
    signal = rng.normal(size=(2, 70))
    got = model.slide(signal, 3, window=8)
    assert got == pytest.approx(model.decision_function(cut(signal, 8, 3)), abs=1e-9)


@pytest.mark.parametrize("longer", ["truncate", "resample"])
def test_windows_longer_than_the_model(data, signal, longer):
    model = ElasticLogisticRegression(**LINEAR, longer=longer).fit(*data)
    ref = model.decision_function(cut(signal, 20))
    assert model.slide(signal, window=20) == pytest.approx(ref, abs=1e-9)


def test_precision_is_that_of_the_windows(data, signal):
    X, y = data
    model = ElasticLogisticRegression(**LINEAR).fit(X.astype(np.float32), y)
    single = signal.astype(np.float32)
    assert model.slide(single).dtype == model.decision_function(cut(single)).dtype
    assert model.slide(single) == pytest.approx(model.slide(signal), abs=1e-4)


@pytest.mark.parametrize("stride", [1, 5, 40])
@pytest.mark.parametrize("size", [1, 7, 100])
def test_chunks_and_memory_maps(data, signal, tmp_path, monkeypatch, stride, size):
    model = ElasticLogisticRegression(**LINEAR).fit(*data)
    ref = model.slide(signal, stride)
    chunks = (signal[start : start + size] for start in range(0, len(signal), size))
    assert model.slide(chunks, stride).tolist() == ref.tolist()
    path = tmp_path / "recording.npy"
    np.save(path, signal)
    monkeypatch.setattr(windows_module, "PART", size)
    assert model.slide(np.load(path, mmap_mode="r"), stride).tolist() == ref.tolist()


@pytest.mark.slow
def test_threads_give_the_same(rng):
    X = rng.normal(size=(10, 40))
    model = ElasticLogisticRegression(**LINEAR).fit(X, np.arange(10) % 2)
    signal = rng.normal(size=60_000)
    ref = model.slide(signal)
    assert model.set_params(n_jobs=2).slide(signal).tolist() == ref.tolist()


def test_prototypes_decide_as_they_predict(data):
    X, _ = data
    for classes in (2, 3):
        model = NearestPrototypeClassifier("mean").fit(X, np.arange(30) % classes)
        values = model.decision_function(X)
        chosen = (values > 0).astype(int) if classes == 2 else values.argmax(axis=1)
        assert chosen.tolist() == model.predict(X).tolist()
        assert np.isfinite(values).all()


# --- Collections of windows


def test_collection_of_windows(signal):
    X = SeriesCollection.windows(signal, LENGTH, stride=3)
    assert X.shape == (73, LENGTH, 1)
    assert X.values[..., 0] == pytest.approx(cut(signal, stride=3)[:, 0], abs=1e-12)
    assert X[5].tolist() == X.values[5, :, 0].tolist()
    some = X[[4, 9, 60]]
    assert some.values.tolist() == X.values[[4, 9, 60]].tolist()
    assert len(some.window_source.samples) == 3 * 56 + LENGTH
    assert len(X[:0]) == 0
    assert X.astype(np.float32).dtype == np.float32


def test_a_model_can_be_trained_on_windows(signal):
    X = SeriesCollection.windows(signal, LENGTH, stride=5)
    y = np.arange(len(X)) % 2
    model = ElasticLogisticRegression(**LINEAR, batch_size=8)
    on_windows = clone(model).fit(X, y)
    on_arrays = clone(model).fit(X.values[..., 0], y)
    assert on_windows.coef_ == pytest.approx(on_arrays.coef_, abs=1e-9)


@pytest.mark.parametrize(("length", "stride"), [(1, 1), (5, 2), (5, 5), (3, 8), (30, 4)])
@pytest.mark.parametrize("size", [1, 4, 13])
def test_parts_have_every_window_once(length, stride, size):
    chunks = (np.arange(start, min(start + size, 50.0)) for start in range(0, 50, size))
    found = []
    for samples, first in parts_of(chunks, length, stride):
        assert samples[0, 0] == first
        assert len(samples) < length + size + stride
        found += [first + s for s in range(0, len(samples) - length + 1, stride)]
    assert found == list(range(0, 50 - length + 1, stride))


# --- Bad input


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"signal": np.zeros(LENGTH - 1)}, "signal must have at least window=12 samples"),
        ({"signal": np.zeros(0)}, "signal must have at least one sample"),
        ({"signal": 3.0}, r"signal must be a recording of shape .* got shape \(\)"),
        ({"signal": np.zeros((2, 3, 4))}, r"signal must be a recording .* got shape \(2, 3, 4\)"),
        ({"signal": np.zeros((2, 30))}, r"2 channel\(s\)"),
        ({"signal": "text"}, "signal must hold real numbers"),
        ({"signal": np.append(np.zeros(30), np.nan)}, "signal .* contains NaN at sample 30"),
        ({"signal": np.append(np.zeros(30), np.inf)}, "signal .* contains infinity at sample 30"),
        ({"signal": iter([np.zeros(20), np.zeros((2, 5))])}, "channel.* from sample 20 on"),
        ({"signal": iter([np.zeros(20), [np.nan]])}, r"NaN at sample 20 \+ 0"),
        ({"stride": 0}, "stride must be a positive integer, got 0"),
        ({"stride": 1.5}, "stride must be a positive integer, got 1.5"),
        ({"window": -3}, "window must be a positive integer, got -3"),
        ({"window": 13}, "longer than the longest training series, 12"),
        ({"normalize": "z"}, "normalize must be one of .*, got 'z'"),
        ({"method": "transform"}, "method must be one of .*, got 'transform'"),
    ],
)
def test_bad_arguments_are_named(data, arguments, message):
    model = ElasticLogisticRegression(**LINEAR).fit(*data)
    with pytest.raises((ValueError, TypeError), match=message):
        model.slide(**{"signal": np.arange(40.0), **arguments})


def test_methods_that_a_model_lacks(data):
    model = ElasticPerceptron(**LINEAR).fit(*data)
    with pytest.raises(ValueError, match="method must be one of .* got 'predict_proba'"):
        model.slide(np.zeros(40), method="predict_proba")


def test_infinity_is_no_gap():
    with pytest.raises(ValueError, match="contains infinity at sample 1"):
        list(chunks_of([0.0, np.inf], gaps=True))
    assert len(next(chunks_of([0.0, np.nan], gaps=True))) == 2
