"""Feature classifiers that decide clear series with a part of the features."""

import pickle

import numpy as np
import pytest

import warplearn
from warplearn import ElasticFeatureClassifier, ElasticFeatureRegressor, SeriesCollection
from warplearn._kernels.simd.threads import blas_threads
from warplearn.features import Stage
from warplearn.features.cascade import DEVIATIONS, _margin_deviation
from warplearn.features.reduction import Basis, Cases, Total, select
from warplearn.features.solution import MOST_FOR_PARTS, finish, finish_again

SETTINGS = {"n_filters": 1000, "n_shapelets": 500, "cascade": (200, 500), "random_state": 0}


def bumps(rng, count, classes=3, n=50):
    y = np.arange(count) % classes
    at, time = rng.uniform(0.2, 0.8, (count, 1)), np.linspace(0, 1, n)
    X = np.exp(-(((time - at) / (0.03 + 0.03 * y[:, None])) ** 2))
    return X + rng.normal(0, 0.15, X.shape), y


@pytest.fixture(scope="module", params=[2, 3])
def fitted(request):
    """A model, series that it does not know, and their features."""
    X, y = bumps(np.random.default_rng(1), 260, request.param)
    model = ElasticFeatureClassifier(**SETTINGS).fit(X[:60], y[:60])
    rest = X[60:]
    features = [each.transform(rest).astype(float) for each in (model.features_, model.shapelets_)]
    return model, rest, np.hstack(features)


def columns_of(model, groups):
    """The features of groups that are numbered through filters and shapelets; 24 in each."""
    assert model.features_.features_per_group == model.shapelets_.features_per_group == 24
    return (groups[:, None] * 24 + np.arange(24)).ravel()


def class_of(model, values):
    """The class of largest decision value, and its margin."""
    values = np.r_[-values, values] if len(values) == 1 else values
    second, first = np.sort(values)[-2:]
    return model.classes_[np.argmax(values)], first - second


def naive_predict(model, features):
    """Stage by stage for each series; also by which stage."""
    decided = []
    for row in features:
        last = class_of(model, model.coef_ @ row + model.intercept_)[0], len(model.stages_)
        for place, stage in reversed(list(enumerate(model.stages_))):
            values = stage.coef @ row[columns_of(model, stage.groups)] + stage.intercept
            label, margin = class_of(model, values)
            last = (label, place) if margin > stage.threshold else last
        decided.append(last)
    return (np.array(each) for each in zip(*decided, strict=True))


def with_thresholds(model, *thresholds):
    """The same model with other thresholds."""
    again = pickle.loads(pickle.dumps(model))
    pairs = zip(model.stages_, thresholds, strict=True)
    again.stages_ = [stage._replace(threshold=threshold) for stage, threshold in pairs]
    return again


def test_the_first_stage_with_a_clear_margin_decides(fitted):
    model, X, features = fitted
    model = with_thresholds(model, *(stage.threshold / 2 for stage in model.stages_))
    ref, by = naive_predict(model, features)
    assert set(by) == {0, 1, 2}  # series for every stage
    assert model.predict(X).tolist() == ref.tolist()


def test_thresholds_bound_what_stages_decide(fitted):
    model, X, features = fitted
    none, all_of_them = 1e300, 0.0
    for thresholds, place in (
        ((none, none), 2),
        ((all_of_them, none), 0),
        ((none, all_of_them), 1),
    ):
        changed = with_thresholds(model, *thresholds)
        ref, by = naive_predict(changed, features)
        assert set(by) == {place}
        assert changed.predict(X).tolist() == ref.tolist()
    decisions = model.decision_function(X)
    codes = decisions.argmax(axis=1) if decisions.ndim > 1 else (decisions > 0).astype(int)
    assert with_thresholds(model, none, none).predict(X).tolist() == codes.tolist()


def test_clear_series_keep_the_class_of_all_features(fitted):
    model, X, features = fitted
    _, by = naive_predict(model, features)
    assert (by < 2).mean() > 0.3  # a good part is clear
    whole = pickle.loads(pickle.dumps(model))
    whole.stages_ = []
    assert (model.predict(X) == whole.predict(X)).mean() > 0.98
    alone = [model.predict(X[i : i + 1])[0] for i in range(0, len(X), 9)]
    assert alone == model.predict(X)[::9].tolist()


def test_stages_are_the_first_draws_of_all_kinds(fitted):
    model, _, _ = fitted
    small, large = (stage.groups for stage in model.stages_)
    assert set(small) < set(large)
    count = len(model.features_.groups_)
    filters = small[small < count]
    draws = model.features_.draws_[filters]
    assert sorted(set(draws)) == list(range(16))  # a fifth of 63, rounded up to four kinds
    assert np.bincount(draws).tolist() == [2] * 16  # of both elasticities
    kinds = model.features_.groups_[filters, 4]
    assert np.bincount(kinds).tolist() == [8] * 4
    shapelets = small[small >= count] - count
    assert sorted(set(model.shapelets_.draws_[shapelets])) == list(range(8))


def test_stages_are_sums_of_regressions_on_their_features():
    X, y = bumps(np.random.default_rng(2), 90)
    model = ElasticFeatureClassifier(**SETTINGS).fit(X, y)
    Y = np.where(y[:, None] == np.arange(3), 1.0, -1.0)
    cases = Cases(SeriesCollection.of(X), Y, np.ones(90))
    basis, total = Basis.of([model.features_, model.shapelets_], cases), Total.of(cases)
    alphas = np.array(model.alphas)
    # With the threads of `fit`: among penalties that are about as good, rounding decides.
    with blas_threads(model.n_jobs):
        whole = finish(basis, total, alphas, model._slack)
        refs = [finish_again(*select(basis, total, each.groups), whole) for each in model.stages_]
    for stage, ref in zip(model.stages_, refs, strict=True):
        assert [term.name for term in ref.terms] == [
            term.name for term in whole.terms if term.whole
        ]
        assert len(ref.terms) == 12  # none for parts
        size = np.abs(ref.coef).max()
        assert stage.coef == pytest.approx(ref.coef, abs=1e-6 * size)
        assert stage.intercept == pytest.approx(ref.intercept, abs=1e-6)
        differences = []
        for mine, theirs in zip(ref.loo, whole.loo, strict=True):
            second, first = np.argsort(mine)[-2:]
            differences.append(mine[first] - mine[second] - theirs[first] + theirs[second])
        deviation = np.sqrt(np.mean(np.square(differences)))
        assert stage.threshold == pytest.approx(DEVIATIONS * (1 + 10 / 90) * deviation, rel=1e-6)


def test_deviations_are_weighted(rng):
    mine, theirs = rng.normal(size=(2, 7, 1))
    weights = rng.uniform(0.5, 2, 7)
    # With two classes the margin is twice the decision value, in its direction.
    squares = [(2 * abs(a) - 2 * b * np.sign(a)) ** 2 for a, b in zip(mine, theirs, strict=True)]
    ref = np.sqrt(np.average(np.ravel(squares), weights=weights))
    assert _margin_deviation(mine, theirs, weights) == pytest.approx(ref)


def test_decision_values_do_not_know_stages():
    X, y = bumps(np.random.default_rng(3), 100)
    model = ElasticFeatureClassifier(**SETTINGS).fit(X[:60], y[:60])
    whole = ElasticFeatureClassifier(**SETTINGS | {"cascade": ()}).fit(X[:60], y[:60])
    assert len(model.stages_) == 2
    assert whole.stages_ == []
    for method in ("decision_function", "predict_proba"):
        got, ref = getattr(model, method)(X[60:]), getattr(whole, method)(X[60:])
        assert got.tolist() == ref.tolist()
    assert model.loo_score_ == whole.loo_score_
    assert whole.predict(X).tolist() == whole.decision_function(X).argmax(axis=1).tolist()


def test_who_has_no_stages():
    X, y = bumps(np.random.default_rng(4), 42)
    assert ElasticFeatureClassifier(400, random_state=0).fit(X, y).stages_ == []  # too small
    assert ElasticFeatureRegressor(1000, random_state=0).fit(X, y).stages_ == []
    assert ElasticFeatureClassifier(**SETTINGS, keep=0.5).fit(X, y).stages_ == []
    model = ElasticFeatureClassifier(**SETTINGS).fit(X, y)
    assert model.shrink(X, y, 200).stages_ == []
    alike = ElasticFeatureClassifier(**SETTINGS | {"cascade": (480, 481, 999)}).fit(X, y)
    assert len(alike.stages_) == 1  # the second has no more groups, the third too many


def test_series_without_differences():
    X, y = np.ones((12, 30)), np.arange(12) % 2
    model = ElasticFeatureClassifier(**SETTINGS).fit(X, y)
    assert model.predict(X).shape == (12,)


def test_growing_models_have_the_stages_of_a_fit():
    X, y = bumps(np.random.default_rng(5), 120)
    ref = ElasticFeatureClassifier(**SETTINGS).fit(X, y)
    model = ElasticFeatureClassifier(**SETTINGS).partial_fit(X, y, classes=[0, 1, 2])
    for got, stage in zip(model.stages_, ref.stages_, strict=True):
        assert got.groups.tolist() == stage.groups.tolist()
        assert got.threshold == pytest.approx(stage.threshold, rel=1e-4)
    assert model.predict(X).tolist() == ref.predict(X).tolist()


def test_files_keep_stages(fitted, tmp_path):
    model, X, _ = fitted
    warplearn.save(model, tmp_path / "model.warp")
    again = warplearn.load(tmp_path / "model.warp")
    for got, ref in zip(again.stages_, model.stages_, strict=True):
        assert isinstance(got, Stage)
        assert got.groups.tolist() == ref.groups.tolist()
        assert got.coef.tolist() == ref.coef.tolist()
        assert got.threshold == ref.threshold
    assert again.predict(X).tolist() == model.predict(X).tolist()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda s: {"groups": s.groups[::-1].copy()}, "ascend"),
        (lambda s: {"groups": s.groups.astype(np.int32)}, "int64"),
        (lambda s: {"groups": s.groups + 10_000}, "between 0 and"),
        (lambda s: {"groups": s.groups[:0]}, "groups of a Stage"),
        (lambda s: {"groups": s.groups[1:], "coef": s.coef[:, 24:]}, "stage before"),
        (lambda s: {"coef": s.coef[:, 1:]}, "coef of a Stage"),
        (lambda s: {"coef": np.full_like(s.coef, np.nan)}, "coef of a Stage"),
        (lambda s: {"intercept": s.intercept[:, None]}, "intercept of a Stage"),
        (lambda s: {"threshold": np.nan}, "threshold"),
        (lambda s: {"threshold": -1.0}, "threshold"),
    ],
)
def test_damaged_stages_are_named(fitted, tmp_path, change, message):
    model, X, _ = fitted
    damaged = pickle.loads(pickle.dumps(model))
    damaged.stages_[1] = damaged.stages_[1]._replace(**change(damaged.stages_[1]))
    with pytest.raises((ValueError, TypeError), match=message):
        damaged.predict(X)
    content = pickle.dumps(damaged)
    with pytest.raises((ValueError, TypeError), match=message):
        pickle.loads(content)
    with pytest.raises((ValueError, TypeError), match=message):
        warplearn.save(damaged, tmp_path / "model.warp")


@pytest.mark.parametrize("stages", [None, {}, [1.0], ["stage"], ()])
def test_what_are_no_stages_is_named(fitted, stages):
    model, X, _ = fitted
    damaged = pickle.loads(pickle.dumps(model))
    damaged.stages_ = stages
    with pytest.raises(ValueError, match="stages_"):
        damaged.predict(X)


@pytest.mark.parametrize(
    "cascade", [500, "500", (500, 250), (8, 8), (0,), (0.5,), (np.nan,), (2**40,), [[8]], None]
)
def test_what_is_no_number_of_filters_is_named(rng, cascade):
    X, y = bumps(rng, 9)
    with pytest.raises((ValueError, TypeError), match="cascade"):
        ElasticFeatureClassifier(64, cascade=cascade).fit(X, y)
    with pytest.raises((ValueError, TypeError), match="cascade"):
        ElasticFeatureClassifier(64, cascade=cascade).partial_fit(X, y, classes=[0, 1, 2])


def test_all_groups_with_their_penalties_are_the_whole_model(rng):
    """Where there are no parts, fitting again changes nothing."""
    X, y = bumps(rng, MOST_FOR_PARTS[1] + 14)
    Y = np.where(y[:, None] == np.arange(3), 1.0, -1.0)
    cases = Cases(SeriesCollection.of(X), Y, rng.uniform(0.5, 2, MOST_FOR_PARTS[1] + 14))
    features = warplearn.ElasticFeatures(320, random_state=0).fit(X)
    basis, total = Basis.of([features], cases), Total.of(cases)
    ref = finish(basis, total, np.array([1e-3, 1e-2, 1e-1, 1.0]))
    got = finish_again(basis, total, ref)
    assert [term.alpha for term in got.terms] == [term.alpha for term in ref.terms]
    assert got.coef == pytest.approx(ref.coef, abs=1e-5 * np.abs(ref.coef).max())
    assert got.loo == pytest.approx(ref.loo, abs=1e-4)
