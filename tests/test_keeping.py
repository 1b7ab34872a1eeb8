"""Feature models that keep a share of their filters."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.preprocessing import StandardScaler

import warplearn
from warplearn import ElasticFeatureClassifier, ElasticFeatureRegressor, SeriesCollection
from warplearn.features import base
from warplearn.features.reduction import Basis, Cases, Total, accumulate
from warplearn.features.solution import MOST_FOR_PARTS, finish, reduced

ALPHAS = np.array(base.DEFAULT_ALPHAS)


def bumps(rng, count, n=60):
    y = np.arange(count) % 3
    at, time = rng.uniform(0.2, 0.8, (count, 1)), np.linspace(0, 1, n)
    X = np.exp(-(((time - at) / (0.03 + 0.03 * y[:, None])) ** 2))
    return X + rng.normal(0, 0.05, X.shape), y


def problem(rng, count):
    X, y = bumps(rng, count)
    Y = np.where(y[:, None] == np.arange(3), 1.0, -1.0)
    cases = Cases(SeriesCollection.of(X), Y, rng.uniform(0.5, 2, count))
    features = warplearn.ElasticFeatures(128, random_state=0).fit(X)
    return Basis.of((features,), cases), cases


def totals(basis, cases, moments):
    """All cases in the sample, or half of them in sums."""
    if not moments:
        return Total.of(cases)
    half = slice(0, len(cases.weights) // 2)
    rest = cases.take(slice(half.stop, None))
    return Total(cases.take(half), np.arange(half.stop), accumulate(basis, rest))


@pytest.mark.parametrize(("count", "moments"), [(30, False), (120, False), (120, True)])
def test_who_keeps_all_keeps_the_model(rng, count, moments):
    """The same penalties and factors give the same coefficients, with few cases and many."""
    basis, cases = problem(rng, count)
    total = totals(basis, cases, moments)
    solution = finish(basis, total, ALPHAS)
    same, again = reduced(basis, total, solution, 1.0)
    used = np.repeat(solution.importances > 0, 24)
    assert again.coef.shape[1] == used.sum()
    size = np.abs(solution.coef).max()
    assert again.coef == pytest.approx(solution.coef[:, used], abs=1e-3 * size)
    assert again.intercept == pytest.approx(solution.intercept, abs=1e-3)
    assert again.loo is solution.loo
    counted = [term for term in solution.terms if term.factor]
    assert [term.name for term in again.terms] == [term.name for term in counted]
    assert sum(len(family.groups) for family in same.families) == len(again.importances)


@pytest.mark.parametrize("moments", [False, True])
def test_what_is_kept_is_important_for_its_work(rng, moments):
    """Draws are kept as long as what came before is less than the share of the work."""
    basis, cases = problem(rng, 300)
    total = totals(basis, cases, moments)
    solution = finish(basis, total, ALPHAS)
    smaller, fewer = reduced(basis, total, solution, 0.5)
    filters, kept = basis.transformers[0], smaller.transformers[0]
    rigid, elastic = np.split(solution.importances, 2)
    importance, work = rigid + elastic, filters.work[:8]
    assert filters.work[8:].tolist() == work.tolist()
    best = []
    for draws in np.arange(8).reshape(2, 4).T:  # of one representation
        order = sorted(draws, key=lambda draw: -importance[draw] / work[draw])
        best += order[: 1 + (work[order[0]] < 0.5 * work[draws].sum())]
    groups = [g for g in range(16) if g % 8 in best and solution.importances[g] > 0]
    assert 4 < len(groups) < 16
    for place, group in enumerate(groups):
        for each in range(8):
            ref, got = filters.filter(8 * group + each), kept.filter(8 * place + each)
            assert got.matrix.tolist() == ref.matrix.tolist()
            assert (got.bias, got.dilation) == (ref.bias, ref.dilation)
    assert fewer.coef.shape == (3, 24 * len(groups))


def test_work_is_that_of_positions_and_rows():
    X = np.random.default_rng(0).normal(size=(6, 3, 50))
    features = warplearn.ElasticFeatures(160, random_state=0).fit(X)
    for group in range(20):
        one = features.filter(8 * group)
        rows, span = len(one.matrix), (len(one.matrix) - 1) * one.dilation
        positions = 50 + 2 * one.padding - span
        assert features.work[group] == (rows * len(one.channels) + 3) * (positions + 8)


def test_regressions_are_fitted_again(rng):
    """One family and one penalty: what is left is one ridge regression, times its factor."""
    X, y = bumps(rng, MOST_FOR_PARTS[1] + 20)
    model = ElasticFeatureRegressor(
        64, keep=0.25, alphas=(0.01,), elasticities=(2,), representations=("raw",), random_state=0
    ).fit(X, y)
    assert model.features_.n_filters_ in (16, 24)
    F = StandardScaler().fit_transform(model.features_.transform(X).astype(float))
    ref = Ridge(0.01 * F.shape[1]).fit(F, y)
    (factor,) = model.factors_
    expected = y.mean() + factor * (ref.predict(F) - y.mean())
    assert model.predict(X) == pytest.approx(expected, abs=1e-3)
    assert (model.alphas_ == 0.01).all()


@pytest.mark.parametrize("estimator", [ElasticFeatureClassifier, ElasticFeatureRegressor])
def test_models_with_fewer_filters_are_nearly_as_good(rng, estimator, tmp_path):
    X, y = bumps(rng, 400)
    settings = {"n_filters": 400, "n_shapelets": 200, "random_state": 0}
    whole = estimator(**settings).fit(X[:90], y[:90])
    model = estimator(keep=0.3, **settings).fit(X[:90], y[:90])
    assert model.loo_score_ == whole.loo_score_
    assert model.families_ == whole.families_
    assert model.factors_.tolist() == whole.factors_.tolist()
    assert len(model.importances_) < 0.5 * len(whole.importances_)
    assert model.coef_.shape[1] == 24 * len(model.importances_)
    assert model.score(X[90:], y[90:]) > whole.score(X[90:], y[90:]) - 0.05
    warplearn.save(model, tmp_path / "model.warp")
    for again in (warplearn.load(tmp_path / "model.warp"), pickle.loads(pickle.dumps(model))):
        assert again.predict(X).tolist() == model.predict(X).tolist()
    small = model.shrink(X[:90], y[:90], 80)
    assert small.shrinkage_[0].n_filters == 8 * len(model.importances_)
    assert len(small.importances_) == 10


def test_models_that_grow_draw_from_all(rng):
    """A group that was left out may come back with more series."""
    X, y = bumps(rng, 120)
    model = ElasticFeatureClassifier(160, keep=0.5, random_state=0)
    model.partial_fit(X[:60], y[:60], [0, 1, 2])
    assert model.features_.n_filters_ < 160
    assert model.score(X, y) > 0.5
    model.partial_fit(X[60:], y[60:])
    ref = clone(model).partial_fit(X[:60], y[:60], [0, 1, 2]).partial_fit(X[60:], y[60:])
    assert model.features_.groups_.tolist() == ref.features_.groups_.tolist()
    assert model.coef_ == pytest.approx(ref.coef_, abs=1e-6 * np.abs(ref.coef_).max())


def test_series_without_differences_keep_all():
    X, y = np.ones((10, 20)), np.arange(10) % 2
    model = ElasticFeatureClassifier(64, keep=0.5, random_state=0).fit(X, y)
    assert model.features_.n_filters_ == 64
    assert model.predict(X).shape == (10,)


@pytest.mark.parametrize("keep", [0, -0.5, 1.5, np.nan, "half", [0.5], True, None])
def test_shares_that_are_none_are_named(rng, keep):
    X, y = bumps(rng, 9)
    with pytest.raises((ValueError, TypeError), match="keep"):
        ElasticFeatureClassifier(64, keep=keep).fit(X, y)
    with pytest.raises((ValueError, TypeError), match="keep"):
        ElasticFeatureRegressor(64, keep=keep).partial_fit(X, y)
