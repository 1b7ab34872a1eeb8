"""Feature models of many series: samples, sums, and `partial_fit`."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import warplearn
from warplearn import ElasticFeatureClassifier, ElasticFeatureRegressor, SeriesCollection
from warplearn.features import base, reduction, solution
from warplearn.features.reduction import (
    Basis,
    Cases,
    Total,
    accumulate,
    combine,
    join,
    reduce,
    sampled,
)
from warplearn.features.ridge import Rows, few_cases, solve
from warplearn.features.solution import Everything, finish, many_cases, standardize

ALPHAS = np.array(base.DEFAULT_ALPHAS)


def waves(rng, count, classes=3, n=40):
    """Waves in noise, whose number of periods depends on the class."""
    y = rng.integers(classes, size=count)
    phase, time = rng.uniform(0, 6, (count, 1)), np.linspace(0, 1, n)
    X = np.sin(6 * (1.5 + y[:, None]) * time + phase) + rng.normal(0, 0.5, (count, n))
    return X, y


@pytest.fixture
def small_sample(monkeypatch):
    """A sample of 60 cases, so that 200 cases are many."""
    monkeypatch.setattr(reduction, "SAMPLE_SIZE", 60)
    monkeypatch.setattr(base, "SAMPLE_SIZE", 60)
    monkeypatch.setattr(reduction, "_PENDING", 10)


def problem(rng, count=200, n_filters=64):
    """A basis of 8 families of 24 features, and cases with weights."""
    X, y = waves(rng, count)
    Y = np.where(y[:, None] == np.arange(3), 1.0, -1.0)
    cases = Cases(SeriesCollection.of(X), Y, rng.uniform(0.5, 2, count))
    features = warplearn.ElasticFeatures(n_filters, random_state=0).fit(X)
    return Basis.of((features,), cases), cases


def test_samples_do_not_depend_on_chunks():
    positions = np.arange(10_000)
    chosen = np.flatnonzero(sampled(positions, 100))
    assert len(chosen) == 100
    assert np.histogram(chosen, 4, (0, 10_000))[0].min() > 10  # from everywhere
    first = np.flatnonzero(sampled(positions[:5000], 100))
    assert set(chosen[chosen < 5000]) <= set(first)
    candidates = np.union1d(first, positions[5000:])
    assert candidates[sampled(candidates, 100)].tolist() == chosen.tolist()
    assert sampled(positions[:100], 100).all()


def test_sums_are_those_of_all_cases(rng):
    basis, cases = problem(rng)
    got = combine([accumulate(basis, cases.take(slice(0, 70))),
                   accumulate(basis, cases.take(slice(70, 200)))])  # fmt: skip
    F, w = basis.transformers[0].transform(cases.series).astype(float), cases.weights
    assert got.n_cases == 200
    assert got.weight == pytest.approx(w.sum())
    assert got.targets == pytest.approx(w @ cases.Y)
    for family, sums in zip(basis.families, got.families, strict=True):
        columns = (family.groups[:, None] * 24 + np.arange(24)).ravel()
        D = F[:, columns] - family.shift
        upper = np.triu(D.T @ (w[:, None] * D))
        assert np.triu(sums.gram) == pytest.approx(upper, abs=1e-4)
        assert sums.products == pytest.approx(D.T @ (w[:, None] * cases.Y), abs=1e-4)
        assert sums.weighted == pytest.approx(w @ D, abs=1e-4)
        assert sums.plain == pytest.approx(D.sum(axis=0), abs=1e-4)
        assert sums.squares == pytest.approx((D**2).sum(axis=0), abs=1e-4)


@pytest.mark.parametrize("count", [24, 30, 200])
def test_both_ways_to_solve_agree(rng, count):
    """Through the cases, or through the features, of which there are 24."""
    basis, cases = problem(rng, count)
    everything = Everything.of(cases, None)
    targets = cases.Y - everything.targets / everything.weight
    for features in basis.of_families(cases.series):
        standardized = features.copy()
        standards = standardize(standardized, targets, cases.weights)
        few = few_cases(Rows.of(standardized, cases.weights), targets, cases.weights)
        many, same = many_cases(features.copy(), cases, None, everything)
        assert same.mean == pytest.approx(standards.mean, abs=1e-6)
        assert same.scale == pytest.approx(standards.scale, rel=1e-4)
        ref, got = (solve(system, 24 * ALPHAS) for system in (few, many))
        assert got.alpha == ref.alpha
        assert got.coef == pytest.approx(ref.coef, abs=1e-4 * np.abs(ref.coef).max())
        assert got.loo == pytest.approx(ref.loo, abs=1e-3)


def test_sums_and_sample_give_what_all_cases_give(rng, small_sample, monkeypatch):
    """Coefficients are the same, and so are the leave-one-out predictions of the sample."""
    monkeypatch.setattr(solution, "MOST_FOR_PARTS", (0, 0))  # sums have no regressions on parts
    basis, cases = problem(rng)
    assert basis.sample_size == 60
    ref = finish(basis, Total(cases, np.arange(200)), ALPHAS[6:7])
    got_from = reduce(basis, (cases.take(slice(at, at + 45)) for at in range(0, 200, 45)))
    assert len(got_from.positions) == 60
    assert got_from.moments.n_cases == 140
    got = finish(basis, got_from, ALPHAS[6:7])
    factors, others = (np.array([term.factor for term in each.terms]) for each in (got, ref))
    assert (others > 0).sum() > 3
    for family, factor, other in zip(basis.families, factors, others, strict=True):
        columns = (family.groups[:, None] * 24 + np.arange(24)).ravel()
        if factor > 0 and other > 0:
            coef = ref.coef[:, columns] / other
            near = pytest.approx(coef, abs=1e-3 * np.abs(coef).max())
            assert got.coef[:, columns] / factor == near
    assert np.abs(factors - others).max() < 0.1  # chosen with fewer predictions
    assert np.abs(got.loo - ref.loo[got_from.positions]).max() < 0.3


def test_the_result_does_not_depend_on_chunks(rng, small_sample):
    """Neither on one machine, nor where sums are combined in a tree of pickled values."""
    basis, cases = problem(rng)
    ref = reduce(basis, [cases])
    positions = np.arange(200)
    chosen = sampled(positions, basis.sample_size)
    parts = [
        accumulate(pickle.loads(pickle.dumps(basis)), cases.take(some[~chosen[some]]))
        for some in np.array_split(positions, 7)
    ]
    tree = combine([combine(parts[:3]), combine(parts[3:])])
    totals = [
        Total(cases.take(chosen), positions[chosen], pickle.loads(pickle.dumps(tree))),
        reduce(basis, (cases.take(slice(at, at + 33)) for at in range(0, 200, 33))),
    ]
    ref_solution = finish(basis, ref, ALPHAS)
    for total in totals:
        assert total.positions.tolist() == ref.positions.tolist()
        assert total.n_cases == 200
        got = finish(basis, total, ALPHAS)
        assert [term.alpha for term in got.terms] == [term.alpha for term in ref_solution.terms]
        size = np.abs(ref_solution.coef).max()
        assert got.coef == pytest.approx(ref_solution.coef, abs=1e-4 * size)


def test_joined_cases_may_differ_in_length(rng):
    parts = [
        Cases(SeriesCollection.of(rng.normal(size=(2, n)).astype(dtype)), np.ones((2, 1)), w)
        for n, dtype, w in ((5, "f4", np.ones(2)), (9, "f8", np.full(2, 2.0)))
    ]
    joined = join(parts)
    assert joined.series.lengths.tolist() == [5, 5, 9, 9]
    assert joined.series.dtype == np.float64
    assert joined.series[1].tolist() == parts[0].series[1].tolist()
    assert joined.weights.tolist() == [1, 1, 2, 2]


# --- Models


@pytest.mark.parametrize("classes", [2, 3])
def test_parts_are_as_good_as_the_whole(rng, small_sample, classes):
    """The first part holds all series that filters are drawn with: then nothing differs."""
    X, y = waves(rng, 220, classes)
    weights = rng.uniform(0.5, 2, 220)
    weights[5] = 0
    model = ElasticFeatureClassifier(64, random_state=0, class_weight={0: 2.0})
    got = clone(model)
    for at in range(0, 220, 55):
        part = slice(at, at + 55)
        assert got.partial_fit(X[part], y[part], range(classes), weights[part]) is got
    ref = clone(model).fit(X[:55], y[:55], weights[:55])
    assert got.features_.weights_.tolist() == ref.features_.weights_.tolist()
    cases = ref._check(X, y, weights, reset=False)
    cases = cases.take(cases.weights > 0)
    ref._adopt(got._growth.basis, reduce(got._growth.basis, [cases]))
    D = ref.decision_function(X)
    assert got.decision_function(X) == pytest.approx(D, abs=1e-3)
    assert got.loo_score_ == ref.loo_score_
    assert got.sharpness_ == pytest.approx(ref.sharpness_, rel=1e-3)
    assert got.score(X, y) > 0.9
    assert got.predict_proba(X).shape == (220, classes)


def test_models_of_many_series_are_as_good(rng, small_sample):
    X, y = waves(rng, 600)
    model = ElasticFeatureClassifier(160, random_state=0).fit(X[:300], y[:300])
    error = 1 - model.score(X[300:], y[300:])
    assert error < 0.1
    assert abs(1 - model.loo_score_ - error) < 0.1
    small = model.shrink(X[:300], y[:300], 40)
    assert small.features_.n_filters_ == 40
    assert small.score(X[300:], y[300:]) > 0.85


def test_regressor_in_parts(rng, small_sample):
    X, y = waves(rng, 400, 4)
    y = 1e4 + 100 * (y + rng.normal(0, 0.1, 400))
    model = ElasticFeatureRegressor(80, random_state=0)
    for at in range(0, 300, 50):
        model.partial_fit(X[at : at + 50], y[at : at + 50])
    assert model.score(X[300:], y[300:]) > 0.7
    assert model.loo_score_ > 0.7


def test_what_is_solved_when(rng):
    X, y = waves(rng, 60)
    model = ElasticFeatureClassifier(64, random_state=0)
    with pytest.raises(NotFittedError):
        model.predict(X)
    with pytest.raises(AttributeError, match="'ElasticFeatureClassifier' object has no .* 'coef_'"):
        _ = model.coef_
    model.partial_fit(X[:30], y[:30], classes=[0, 1, 2])
    assert "coef_" not in vars(model)
    first = model.coef_
    assert model.coef_ is first
    model.partial_fit(X[30:], y[30:])
    assert "coef_" not in vars(model)
    again = pickle.loads(pickle.dumps(model))  # grows and predicts as the original does
    assert again.predict(X).tolist() == model.predict(X).tolist()
    assert np.abs(model.coef_ - first).max() > 0
    assert not hasattr(model, "nothing_")
    with pytest.raises(AttributeError, match="sharpness_"):
        _ = ElasticFeatureRegressor(8).partial_fit(X, y).sharpness_


def test_arrays_may_be_filled_anew(rng):
    X, y = waves(rng, 80)
    ref, got = (ElasticFeatureClassifier(64, random_state=0) for _ in range(2))
    buffer = np.empty((40, 40))
    for part in (slice(0, 40), slice(40, 80)):
        buffer[:] = X[part]
        got.partial_fit(buffer, y[part], [0, 1, 2])
        ref.partial_fit(X[part].copy(), y[part], [0, 1, 2])
    buffer[:] = 0
    assert got.decision_function(X).tolist() == ref.decision_function(X).tolist()


def test_an_interrupted_part_is_not_counted_twice(rng, small_sample, monkeypatch):
    X, y = waves(rng, 120)
    model = ElasticFeatureClassifier(64, random_state=0).partial_fit(X, y, [0, 1, 2])

    def interrupt(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(reduction.FamilyMoments, "add", interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(X, y)
    with pytest.raises(ValueError, match="partial_fit can only go on from partial_fit"):
        model.partial_fit(X, y)


def test_saved_models_predict_but_do_not_grow(rng, tmp_path):
    X, y = waves(rng, 60)
    model = ElasticFeatureClassifier(64, random_state=0).partial_fit(X, y, [0, 1, 2])
    warplearn.save(model, tmp_path / "model.warp")
    loaded = warplearn.load(tmp_path / "model.warp")
    assert loaded.predict(X).tolist() == model.predict(X).tolist()
    for fitted in (loaded, clone(model).fit(X, y)):
        with pytest.raises(ValueError, match="partial_fit can only go on from partial_fit"):
            fitted.partial_fit(X, y)
    assert clone(loaded).partial_fit(X, y, [0, 1, 2]).score(X, y) > 0.8
    refitted = model.fit(X[:40], y[:40])
    assert "_growth" not in vars(refitted)


def test_bad_parts(rng):
    X, y = waves(rng, 40)
    model = ElasticFeatureClassifier(8, random_state=0)
    with pytest.raises(ValueError, match="classes must be given in the first call"):
        model.partial_fit(X, y)
    with pytest.raises(ValueError, match="class_weight must be None or a dict for partial_fit"):
        clone(model).set_params(class_weight="balanced").partial_fit(X, y, [0, 1, 2])
    failed = clone(model)
    with pytest.raises(ValueError, match="labels that are not in classes"):
        failed.partial_fit(X, y, [0, 1])
    with pytest.raises(ValueError, match="classes must be given in the first call"):
        failed.partial_fit(X, y)
    model.partial_fit(X, y, [0, 1, 2])
    with pytest.raises(ValueError, match="classes must stay the same"):
        model.partial_fit(X, y, [0, 1])
    with pytest.raises(ValueError, match="X has 2 channel"):
        model.partial_fit(rng.normal(size=(4, 2, 9)), y[:4])
    nothing = clone(model).set_params(class_weight={0: 0.0, 1: 0.0, 2: 0.0})
    with pytest.raises(ValueError, match="weights must be positive for at least one series"):
        nothing.partial_fit(X, y, [0, 1, 2])
    one = ElasticFeatureClassifier(8, random_state=0).partial_fit(X[:1], y[:1], [0, 1, 2])
    with pytest.raises(ValueError, match="at least two series of positive weight, got n_samples=1"):
        one.predict(X)


def test_factors_of_zero_cost_nothing(rng):
    """Filters without coefficients are not computed, and predictions do not need them."""
    X, y = waves(rng, 60)
    model = ElasticFeatureClassifier(64, random_state=0).fit(X, y)
    table = model.coef_.reshape(3, 8, 24)
    table[:, [1, 4]] = 0
    ref = model.features_.transform(X).astype(float) @ model.coef_.T + model.intercept_
    ((_, sweeps, coef),) = model._predictor()._step(0)
    used = np.flatnonzero(table.any(axis=(0, 2)))
    assert {1, 4}.isdisjoint(used)
    assert sum((each.places >= 0).sum() for each in sweeps) == len(used)
    assert coef.shape == (len(used) * 24, 3)
    assert model.decision_function(X) == pytest.approx(ref, abs=1e-4)
    table[...] = 0
    assert model.decision_function(X) == pytest.approx(np.tile(model.intercept_, (60, 1)))
