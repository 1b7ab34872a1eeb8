"""Elastic shapelets, alone and beside random filters."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import RidgeClassifierCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from test_features import represented

import warplearn
from warplearn import (
    ElasticFeatureClassifier,
    ElasticFeatureRegressor,
    ElasticShapelets,
    SeriesCollection,
    elastic_distance,
)
from warplearn._kernels.drivers import windows
from warplearn.base import SHORTER_SERIES_ARE_VALID

ALL = ("share", "min", "place", "wins", "losses")


def walks(rng, shape):
    return rng.normal(size=shape).cumsum(axis=-1)


def windows_of(shapelet, z):
    """All windows (positions, channels, k) of a standardized series (channels, time)."""
    span = (len(shapelet.matrix) - 1) * shapelet.dilation
    positions = max(1, z.shape[1] - span)
    z = np.pad(z[shapelet.channels], [(0, 0), (0, span)])
    seen = np.array([z[:, p : p + span + 1 : shapelet.dilation] for p in range(positions)])
    if shapelet.normalized:
        seen = seen - seen.mean(axis=2, keepdims=True)
        seen = seen / np.sqrt((seen**2).mean(axis=2, keepdims=True) + 1e-4)
    return seen


def distances_of(transformer, x, index):
    """The distances of all windows of a series to a shapelet, by the public function."""
    shapelet = transformer.shapelet(index)
    seen = windows_of(shapelet, represented(transformer, x, shapelet.representation))
    matrix = shapelet.matrix.reshape(*shapelet.matrix.shape[:2], len(shapelet.channels))
    distances = elastic_distance(seen, matrix if len(shapelet.channels) > 1 else matrix[..., 0])
    return distances / np.sqrt(len(matrix) * len(shapelet.channels))


@pytest.mark.parametrize(("channels", "elasticities"), [(1, (1, 2)), (3, (1,))])
def test_features_are_pooled_elastic_distances(rng, channels, elasticities):
    """Ragged series, also shorter than a window, and of a single element."""
    X = [walks(rng, (channels, n)) for n in (30, 45, 8, 1, 33, 60)]
    transformer = ElasticShapelets(
        64, elasticities=elasticities, normalize=(True, False), poolings=ALL, random_state=1
    )
    got = transformer.fit(X, [0, 1] * 3).transform(X).reshape(6, 64, 5)
    shapelets = [transformer.shapelet(i) for i in range(64)]
    assert {s.matrix.shape[1] for s in shapelets} == set(elasticities)
    for case, x in enumerate(X):
        for first in range(0, 64, 8):
            table = np.array([distances_of(transformer, x, i) for i in range(first, first + 8)])
            for i, row in enumerate(table, first):
                share, least, place, wins, losses = got[case, i]
                near = np.abs(row - shapelets[i].threshold) < 1e-3
                assert abs(share - (row < shapelets[i].threshold).mean()) <= near.mean() + 1e-6
                assert least == pytest.approx(row.min(), abs=1e-3)
                assert row[round(place * len(row))] == pytest.approx(row.min(), abs=2e-3)
                others = np.delete(table, i - first, axis=0)
                assert wins <= (row <= others.min(axis=0) + 1e-3).mean() + 1e-6
                assert losses <= (row >= others.max(axis=0) - 1e-3).mean() + 1e-6


@pytest.mark.parametrize("channels", [1, 2])
def test_windows_that_do_not_fit_the_cache(rng, monkeypatch, channels):
    """They are copied a part at a time."""
    X = walks(rng, (4, channels, 90))
    transformer = ElasticShapelets(
        64, lengths=(5, 9), normalize=(True, False), poolings=ALL, random_state=0
    ).fit(X)
    at_once = transformer.transform(X)
    monkeypatch.setattr(windows, "_MOST_COPIES", 9 * 40)
    np.testing.assert_array_equal(transformer.transform(X), at_once)


def test_shapelets_are_subsequences(rng):
    X = walks(rng, (9, 80))
    transformer = ElasticShapelets(
        160, elasticities=(1, 3), lengths=(5, 9), dilations=(1, 4), representations=("raw", "smooth"),
        normalize=(False, True), random_state=0,
    ).fit(X)  # fmt: skip
    seen = set()
    for i in range(160):
        shapelet = transformer.shapelet(i)
        z = represented(transformer, X[shapelet.source, None], shapelet.representation)[0]
        k, m = shapelet.matrix.shape
        for j in range(m):
            at = shapelet.position + shapelet.dilation * (np.arange(k) + j)
            own = shapelet.position + shapelet.dilation * np.arange(k)
            cut = z[at]
            if shapelet.normalized:
                cut = (cut - z[own].mean()) / np.sqrt(z[own].var() + 1e-4)
            assert shapelet.matrix[:, j] == pytest.approx(cut, abs=1e-4)
        seen.add((k, m, shapelet.dilation, shapelet.representation, shapelet.normalized))
    assert [len(set(values)) for values in zip(*seen, strict=True)] == [2] * 5
    least = transformer.transform(X).reshape(9, 160, 3)[transformer.sources_.ravel(), range(160), 1]
    rigid = np.repeat(transformer.elasticities_ == 1, 8)
    assert least[rigid] == pytest.approx(np.zeros(rigid.sum()), abs=1e-3)


def test_thresholds_come_from_the_same_class(rng):
    """Between two quantiles of the distances to another series of the class."""
    X = walks(rng, (6, 100)) + 50 * np.repeat([0, 1], 3)[:, None]
    y = np.repeat(["a", "b"], 3)
    transformer = ElasticShapelets(64, representations=("raw",), random_state=0).fit(X, y)
    for i in range(64):
        shapelet = transformer.shapelet(i)
        ranges = []
        for case in np.flatnonzero(y == y[shapelet.source]):
            distances = np.sort(distances_of(transformer, X[case, None], i))
            low, high = (distances[int(q * len(distances))] for q in (0.05, 0.1))
            ranges.append(
                case != shapelet.source and low - 1e-3 <= shapelet.threshold <= high + 1e-3
            )
        assert any(ranges)
    alone = ElasticShapelets(8, random_state=0).fit(X[:1], y[:1])  # no other series
    assert np.isfinite(alone.biases_).all()


def test_classes_matter_and_numbers_do_not(rng):
    X = walks(rng, (8, 40))
    ref = ElasticShapelets(16, random_state=0).fit(X)
    numbers = ElasticShapelets(16, random_state=0).fit(X, rng.normal(size=8))
    classes = ElasticShapelets(16, random_state=0).fit(X, [0, 1] * 4)
    assert numbers.biases_.tolist() == ref.biases_.tolist()
    assert classes.biases_.tolist() != ref.biases_.tolist()
    assert classes.weights_.tolist() == ref.weights_.tolist()


@pytest.mark.parametrize(
    "y", [iter([0, 1] * 4), {0: 1}, "ab", 5, [0.5] * 5, [None] * 8, [0.5] * 7 + [np.nan]]
)
def test_what_is_no_target_is_named(rng, y):
    with pytest.raises(ValueError, match=r"(^| )y "):
        ElasticShapelets(16).fit(rng.normal(size=(8, 6)), y)


def test_a_pattern_anywhere_is_found(rng):
    """Two bumps or one, anywhere: the share and the least distance tell them apart."""
    y = np.arange(120) % 2
    X = rng.normal(0, 0.2, (120, 100))
    for case in range(120):
        for at in rng.choice(9, 1 + y[case], replace=False) * 10:
            X[case, at : at + 11] += np.hanning(11) * 3
    model = make_pipeline(
        ElasticShapelets(400, dilations=(1,), random_state=0),
        StandardScaler(), RidgeClassifierCV(np.logspace(-1, 5, 7)),
    ).fit(X[:60], y[:60])  # fmt: skip
    assert model.score(X[60:], y[60:]) > 0.9


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_shapelets": 0}, "n_shapelets == 0, must be >= 1"),
        ({"elasticities": (0,)}, "elasticities must be positive integers"),
        ({"lengths": ()}, "lengths must be positive integers"),
        ({"rescale": np.array([None, 1.0])}, "rescale must be True or False"),
        ({"normalize": True}, "normalize must be booleans, at least one, got True"),
        ({"normalize": (0, 1)}, r"normalize must be booleans, at least one, got \(0, 1\)"),
        ({"poolings": ("max",)}, "poolings must be one of .*got 'max'"),
    ],
)
def test_bad_parameters(rng, settings, message):
    with pytest.raises((ValueError, TypeError), match=message):
        ElasticShapelets(**settings).fit(walks(rng, (4, 20)))


def test_names_selection_and_threads(rng, two_threads):
    X = walks(rng, (5, 40))
    transformer = ElasticShapelets(64, random_state=0).fit(X)
    F, names = transformer.transform(X), transformer.get_feature_names_out()
    assert len(set(names)) == len(names) == F.shape[1]
    some = transformer.select([1, 6])
    assert some.transform(X).tolist() == F.reshape(5, 8, 24)[:, [1, 6]].reshape(5, -1).tolist()
    assert some.shapelet(8).source == transformer.shapelet(48).source
    assert transformer.set_params(n_jobs=2).transform(X).tolist() == F.tolist()


def test_damaged_attributes_are_named(rng):
    transformer = ElasticShapelets(16, random_state=0).fit(walks(rng, (5, 40)))
    transformer.sources_ = -transformer.sources_ - 1
    with pytest.raises(ValueError, match="sources_ must not be negative"):
        transformer.transform(walks(rng, (5, 40)))


# --- Beside filters


def bumps(rng, count):
    y = np.arange(count) % 3
    at, time = rng.uniform(0.2, 0.8, (count, 1)), np.linspace(0, 1, 60)
    X = np.exp(-(((time - at) / (0.03 + 0.03 * y[:, None])) ** 2))
    return X + rng.normal(0, 0.05, X.shape), y


def test_models_add_up_both(rng):
    X, y = bumps(rng, 60)
    model = ElasticFeatureClassifier(64, n_shapelets=64, random_state=0).fit(X, y)
    filters, shapelets = model.features_, model.shapelets_
    F = np.hstack([filters.transform(X), shapelets.transform(X)]).astype(float)
    assert model.decision_function(X) == pytest.approx(
        F @ model.coef_.T + model.intercept_, abs=1e-3
    )
    assert model.families_[0] == "filters, m = 1, raw"
    assert len(model.factors_) == len(model.families_)
    whole = [
        name
        for name in model.families_
        if name.endswith(("raw", "differences", "smooth", "normalized"))
    ]
    assert len(whole) == len(filters.families()) + len(shapelets.families())
    assert len(model.importances_) == 16
    alone = ElasticFeatureClassifier(64, n_shapelets=0, random_state=0).fit(X, y)
    assert alone.shapelets_ is None
    assert alone.features_.weights_.tolist() == filters.weights_.tolist()


@pytest.mark.parametrize("estimator", [ElasticFeatureClassifier, ElasticFeatureRegressor])
def test_models_grow_shrink_and_are_kept(rng, estimator, tmp_path):
    X, y = bumps(rng, 90)
    model = estimator(64, n_shapelets=64, random_state=0).fit(X, y)
    parts = estimator(64, n_shapelets=64, random_state=0)
    known = {"classes": [0, 1, 2]} if estimator is ElasticFeatureClassifier else {}
    parts.partial_fit(X, y, **known)
    assert parts.coef_ == pytest.approx(model.coef_, abs=1e-6 * np.abs(model.coef_).max())
    parts.partial_fit(X, y)
    assert parts.loo_score_ > 0.8
    warplearn.save(model, tmp_path / "model.warp")
    for again in (warplearn.load(tmp_path / "model.warp"), pickle.loads(pickle.dumps(model))):
        assert again.predict(X).tolist() == model.predict(X).tolist()
    small = model.shrink(X, y, 24)
    kept = [each for each in (small.features_, small.shapelets_) if each is not None]
    assert sum(len(each.groups_) for each in kept) == 3
    assert small.shrinkage_[0].n_filters == 128
    assert small.predict(X).shape == (90,)
    last = small.shrink(X, y, 8)  # of one kind only
    assert (last.features_ is None) != (last.shapelets_ is None)
    assert pickle.loads(pickle.dumps(last)).predict(X).tolist() == last.predict(X).tolist()
    with pytest.raises((ValueError, TypeError), match="n_shapelets"):
        clone(model).set_params(n_shapelets=-1).fit(X, y)


def test_sums_are_those_of_both(rng, monkeypatch):
    """With more cases than the sample holds, through sums, as with all cases at once."""
    from warplearn.features import base, reduction, solution

    monkeypatch.setattr(solution, "MOST_FOR_PARTS", (0, 0))  # sums have no regressions on parts
    X, y = bumps(rng, 200)
    ref = ElasticFeatureClassifier(32, n_shapelets=32, alphas=(0.01,), random_state=0).fit(X, y)
    monkeypatch.setattr(reduction, "SAMPLE_SIZE", 199)
    monkeypatch.setattr(reduction, "_PENDING", 0)
    assert base.SAMPLE_SIZE > 200  # the same filters and shapelets are drawn
    got = clone(ref).fit(X, y)
    near = pytest.approx(ref.decision_function(X), abs=0.01)
    assert got.decision_function(X) == near


# --- scikit-learn's contract


@parametrize_with_checks(
    [ElasticShapelets(40, random_state=0)],
    expected_failed_checks=lambda e: {
        "check_n_features_in_after_fitting": SHORTER_SERIES_ARE_VALID,
        "check_transformer_general": SHORTER_SERIES_ARE_VALID,
    },
)
def test_estimator_checks(estimator, check):
    check(estimator)


def test_collections_of_any_kind(rng):
    X = walks(rng, (6, 2, 30))
    ref = ElasticShapelets(16, random_state=0).fit(X, [0, 1] * 3).transform(X)
    got = ElasticShapelets(16, random_state=0).fit(SeriesCollection.of(X), [0, 1] * 3)
    assert got.transform(list(X)).tolist() == ref.tolist()
