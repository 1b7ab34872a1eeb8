"""Numbers that are too large to compute with: refused with their place, or trained without harm."""

import re
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import warplearn
from warplearn import SeriesCollection, catalogue, dtw
from warplearn.series.numbers import BLOCK, LARGEST, all_usable, check_numbers, usable
from warplearn.series.scaling import standardized

RNG = np.random.default_rng(0)
X = RNG.normal(size=(12, 8))
Y = np.arange(12) % 2
LABELLED = [
    name
    for name, entry in catalogue.ESTIMATORS.items()
    if entry.task not in ("search", "detect") and not entry.module.startswith("warplearn.torch")
]


def brief(name, **parameters):
    """An estimator that is fitted quickly."""
    cls = catalogue.estimator_class(name)
    short = {
        "random_state": 0, "max_iter": 2, "n_clusters": 2, "n_filters": 20, "n_shapelets": 16,
        "grid": (2, 1), "learning_rates": (0.1,),
    }  # fmt: skip
    known = {k: v for k, v in short.items() if k in cls().get_params()}
    return cls(**(known | parameters))


def finite_attributes(model):
    """Fitted arrays of floats."""
    arrays = {k: v for k, v in vars(model).items() if isinstance(v, np.ndarray)}
    return all(np.isfinite(v).all() for v in arrays.values() if v.dtype.kind == "f")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_usable_up_to_the_limit(dtype):
    most = LARGEST[np.dtype(dtype).itemsize]
    for size in (5, 200_000):  # in one piece, and in blocks
        values = np.zeros(size, dtype)
        values[-1] = -most
        assert usable(values)
        for wrong in (-np.nextafter(dtype(most), dtype(np.inf)), np.nan, np.inf):
            values[-1] = wrong
            assert not usable(values)
            with pytest.raises(ValueError, match=rf"z must be .* at \({size - 1},\)"):
                check_numbers(values, "z")
    assert usable(np.empty((0, 3), dtype))


def test_a_number_beyond_the_limit_is_named_with_its_place():
    large = np.zeros((3, 2, 5), np.float32)
    large[2, 1, 4] = 3e20
    with pytest.raises(ValueError, match=r"X must be between -1e\+15 and 1e\+15 in float32, but "):
        SeriesCollection.of(large)
    with pytest.raises(ValueError, match=r"3e\+20 at case 2, position 4, channel 1: scale it, or"):
        SeriesCollection.of(large)
    assert SeriesCollection.of(large.astype(np.float64)).dtype == np.float64
    with pytest.raises(ValueError, match=r"collection as float32 must be .*contains 3e\+20"):
        SeriesCollection.of(large.astype(np.float64)).astype(np.float32)
    with pytest.raises(ValueError, match=r"values must be .* contains 3e\+20"):
        SeriesCollection(large, np.full(3, 2))


@pytest.mark.parametrize(("dtype", "factor"), [(np.float32, 1e14), (np.float64, 1e99)])
def test_distances_below_the_limit_are_right(dtype, factor):
    x, y = X[:2].astype(dtype)
    ref = dtw(x, y)
    assert dtw(x * dtype(factor), y * dtype(factor)) == pytest.approx(ref * factor, rel=1e-5)


@pytest.mark.parametrize(
    "call",
    [
        lambda z: warplearn.dtw(z[0], z[1]),
        lambda z: warplearn.warping_path(z[0], z[1]),
        lambda z: warplearn.pairwise_dtw(z),
        lambda z: next(warplearn.pairwise_dtw_blocks(X, z))[1],
        lambda z: warplearn.nearest_neighbors(z),
        lambda z: warplearn.elastic_mean(z),
        lambda z: warplearn.elastic_inner_product(X, z.T),
        lambda z: warplearn.elastic_distance(X, z.T),
        lambda z: warplearn.active_path(X[0], z.T),
        lambda z: warplearn.embed(X[0], z.T, [(0, 0)]),
        lambda z: warplearn.value_and_gradient(X, np.ones((8, 2)), upstream=z[:, 0]),
    ],
)
def test_functions_refuse_what_would_overflow(call):
    with pytest.raises(ValueError, match=r"must be between -1e\+100 and 1e\+100 .*e\+199"):
        call(X * 1e200)


@pytest.mark.parametrize("name", LABELLED)
def test_estimators_refuse_what_would_overflow(name):
    with pytest.raises(ValueError, match=r"X must be between .*, but contains .*e\+199 at case 0"):
        brief(name).fit(X * 1e200, Y)
    model = brief(name).fit(X, Y)
    if hasattr(model, "predict"):
        with pytest.raises(ValueError, match=r"X must be between .*, but contains .*e\+199"):
            model.predict(X * 1e200)


@pytest.mark.parametrize("name", LABELLED)
def test_estimators_below_the_limit(name):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=ConvergenceWarning)
        warnings.filterwarnings("ignore", "(over|invalid).*", category=RuntimeWarning)
        model = brief(name).fit(X.astype(np.float32) * 1e14, Y)
    assert finite_attributes(model)
    if hasattr(model, "predict"):
        assert np.isfinite(model.predict(X.astype(np.float32) * 1e14)).all()


@pytest.mark.parametrize(
    "name", ["ElasticLinearRegression", "ElasticMLPRegressor", "ElasticKMeans"]
)
@pytest.mark.parametrize("weight", [np.nan, np.float32(np.nan), np.inf, -1.0, 0.0, 1j])
def test_a_weight_that_is_none_is_refused(name, weight):
    with pytest.raises(ValueError, match="sample_weight"):
        brief(name).fit(X, Y, sample_weight=weight)


@pytest.mark.parametrize("name", ["ElasticPerceptron", "ElasticKMeans", "ElasticFeatureClassifier"])
def test_weights_that_would_overflow_are_refused(name):
    with pytest.raises(ValueError, match=r"sample_weight must be at most 1e\+15, got 1e\+300 for"):
        brief(name).fit(X, Y, sample_weight=np.full(12, 1e300))


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        ("ElasticPerceptron", {"init_scale": 1e300}, "init_scale must be a number from 0 to 1e"),
        ("ElasticPerceptron", {"init_scale": np.inf}, "init_scale must be a number from 0 to 1e"),
        ("ElasticPerceptron", {"learning_rate_init": 1e300}, "learning_rate_init must be a number"),
        ("ElasticPerceptron", {"class_weight": {1: 1e300}}, r"class_weight\[1\] must be a number"),
        ("ElasticPerceptron", {"validation_fraction": 7}, "validation_fraction must be between"),
        ("ElasticPerceptron", {"alphabet": "ab"}, "alphabet must be None or an Alphabet"),
        ("ElasticMLPClassifier", {"alpha": 1e300}, "alpha must be a number from 0 to 1e"),
        ("ElasticLVQClassifier", {"learning_rate_init": np.nan}, "learning_rate_init must be a"),
        ("ElasticKMeans", {"tol": np.nan}, "tol must be a number from 0"),
        ("ElasticSOM", {"width": np.nan}, "width must be a number from 0"),
    ],
)
def test_parameters_that_would_overflow_are_refused(name, parameters, message):
    with pytest.raises((ValueError, TypeError), match=message):
        brief(name, **parameters).fit(X, Y)


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("ElasticPerceptron", {"learning_rate_init": 1e14}),
        ("ElasticPerceptron", {"learning_rate_init": 1e14, "batch_size": 4}),
        ("ElasticLVQClassifier", {"learning_rate_init": 1e14, "max_iter": 5}),
    ],
)
def test_weights_that_grow_beyond_the_limit_are_not_kept(name, parameters):
    large = X.astype(np.float32) * 1e6
    with (
        pytest.warns(ConvergenceWarning, match="diverged.*learning_rate_init"),
        np.errstate(all="ignore"),
    ):
        model = brief(name, **parameters).fit(large, Y)
    assert finite_attributes(model)
    assert set(model.predict(large)) <= {0, 1}


def test_outputs_of_a_network_that_overflow():
    model = brief("ElasticMLPClassifier", activation="relu", hidden_layer_sizes=(4, 4, 4))
    model.fit(X, Y)
    model.dense_coefs_ = [np.full_like(V, 1e99) for V in model.dense_coefs_]
    with pytest.raises(ValueError, match="outputs overflow: coef_ or dense_coefs_"):
        model.predict_proba(X * 1e50)


def test_series_far_from_those_that_gave_the_scale():
    few = SeriesCollection.of(np.ones((2, 3), np.float32))
    with pytest.raises(ValueError, match="X, with the mean and scale of the training series, must"):
        standardized(few, np.zeros(1), np.full(1, 1e-30))


@pytest.mark.parametrize("name", LABELLED)
@pytest.mark.parametrize("factor", [1e20, 1e90])
def test_series_far_from_those_of_training(name, factor):
    """Finite predictions of them, or an error; features are computed in float32."""
    model = brief(name).fit(X, Y)
    methods = ("predict", "predict_proba", "decision_function", "transform")
    for method in [each for each in methods if hasattr(model, each)]:
        said, problem = 0.0, ""
        try:
            said = getattr(model, method)(X * factor)
        except ValueError as error:
            problem = str(error)
        assert np.isfinite(said).all()
        assert not problem or re.search(r"\b(X|outputs)\b.* must be ", problem)


@pytest.mark.parametrize("exponent", [-900, -130, 60, 320])
@pytest.mark.parametrize("name", ["ElasticFeatureRegressor", "ElasticLinearRegression"])
def test_targets_of_any_size(name, exponent):
    """Powers of two are exact, so predictions differ by the factor and nothing else."""
    targets = X[:, 0] + 0.3
    ref = brief(name).fit(X, targets).predict(X)
    got = brief(name).fit(X, np.ldexp(targets, exponent)).predict(X)
    np.testing.assert_allclose(np.ldexp(got, -exponent), ref, rtol=1e-12)
    assert ref.std() > 0.01


def test_a_stream_refuses_a_sample_that_would_overflow():
    stream = brief("ElasticPerceptron").fit(X, Y).stream()
    with pytest.raises(ValueError, match=r"sample must be between .* but contains 1e\+200"):
        stream.push(1e200)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", [0, 1, 7, BLOCK // 2 + 1, BLOCK + 1])
def test_arrays_are_usable_if_each_is(dtype, size, rng):
    arrays = [rng.normal(size=(2, size)).astype(dtype) for _ in range(5)]
    assert all_usable(arrays)
    for array in arrays:
        for wrong in (np.nan, -np.inf, -2 * LARGEST[array.itemsize]) if size else ():
            before, array[-1, -1] = array[-1, -1], wrong
            assert not all_usable(arrays)
            array[-1, -1] = before
    assert all_usable(arrays)
