"""Elastic linear classifiers that choose their parameters."""

import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold

import warplearn
from warplearn import ElasticLinearSVCCV, ElasticLogisticRegressionCV, SeriesCollection
from warplearn.linear_model import Ensemble, Polarity

BRIEF = {
    "elasticities": (1, 3), "learning_rates": (0.3, 0.03), "n_best": 2, "n_starts": 2, "max_iter": 10,
    "random_state": 0, "cv": StratifiedKFold(3),
}  # fmt: skip
BOTH = [ElasticLogisticRegressionCV, ElasticLinearSVCCV]


@pytest.fixture
def data(rng):
    """A bump somewhere in the middle, for one class up and for the other down, and noise."""
    y = np.arange(36) % 2
    time, centre = np.linspace(0, 1, 20), rng.uniform(0.3, 0.7, (36, 1))
    bump = np.exp(-(((time - centre) / 0.1) ** 2))
    return np.where(y[:, None], bump, -bump) + rng.normal(0, 0.3, (36, 20)), y


@pytest.mark.parametrize("cls", BOTH)
def test_choice(cls, data):
    X, y = data
    model = cls(**BRIEF).fit(X[:24], y[:24])
    assert model.score(X[24:], y[24:]) > 0.8
    count = (1 + 3) * 2 * len(model.alphas)  # without warping, polarities are the same
    assert model.scores_.shape == (count, 3) == (len(model.cv_results_["params"]), model.n_splits_)
    means = model.cv_results_["mean_test_score"]
    np.testing.assert_allclose(means, model.scores_.mean(axis=1))
    best = model.cv_results_["params"].index(model.best_params_)
    own = [p["elasticity"] == model.best_params_["elasticity"] for p in model.cv_results_["params"]]
    assert means[best] == means[own].max()
    assert model.members_[0] == model.best_params_
    assert {each["elasticity"] for each in model.members_} == {model.best_params_["elasticity"]}
    assert 0.5 < model.best_score_ <= 1


def test_scores_are_those_of_held_out_series(data, rng):
    """Labels that cannot be learned are not."""
    X, _ = data
    y = rng.permutation(np.arange(len(X)) % 2)
    model = ElasticLogisticRegressionCV(**BRIEF | {"max_iter": 100}).fit(X, y)
    assert model.score(X, y) > 0.8 > 0.7 > model.cv_results_["mean_test_score"].mean()


def test_polarity(rng):
    """One class has a bump that may be anywhere, the other has none: only one polarity can tell."""
    y = np.arange(60) % 2
    centre = rng.uniform(0.1, 0.9, (60, 1))
    bump = np.exp(-(((np.linspace(0, 1, 40) - centre) / 0.03) ** 2))
    X = y[:, None] * bump + rng.normal(0, 0.1, (60, 40))
    settings = {"elasticities": (10,), "polarities": ("+", "-"), "learning_rates": (0.1,)}
    for labels, expected in ((y, "+"), (1 - y, "-")):
        model = ElasticLogisticRegressionCV(cv=3, random_state=0, **settings).fit(X, labels)
        assert model.best_params_["polarity"] == expected


@pytest.mark.parametrize("cls", BOTH)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_decisions_are_the_means_of_the_members(cls, n_classes, data):
    X, _ = data
    y = np.arange(len(X)) % n_classes
    model = cls(**BRIEF).fit(X, y)
    single = warplearn.ElasticLogisticRegression(elasticity=1, max_iter=1, random_state=0).fit(X, y)
    total, start = 0.0, 0
    members = model.polarity_.members
    assert len(members) == 4
    for member in members:
        units = slice(start, start := start + len(member.mix))
        single.coef_, single.intercept_ = model.coef_[units], model.intercept_[units]
        single._context = model._context._replace(readout=member)
        single._states = [None] * member.n_models
        total = total + single.decision_function(X)
    assert start == len(model.coef_)
    np.testing.assert_allclose(model.decision_function(X), total / 4, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("cls", BOTH)
def test_the_unit_does_not_matter(cls, data):
    X, y = data
    ref = cls(**BRIEF).fit(X, y)
    got = cls(**BRIEF).fit(1024 * X, y)
    assert got.members_ == ref.members_
    np.testing.assert_allclose(got.decision_function(1024 * X), ref.decision_function(X), rtol=1e-6)


def test_threads_and_portions(data, monkeypatch):
    X, y = data
    ref = ElasticLogisticRegressionCV(**BRIEF).fit(X, y)
    monkeypatch.setattr("warplearn.linear_model.candidates._MOST_BYTES", 1)
    got = ElasticLogisticRegressionCV(**BRIEF, n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(got.scores_, ref.scores_)
    np.testing.assert_array_equal(got.coef_, ref.coef_)


def test_series_of_weight_0_are_left_out(data):
    X, y = data
    weights = np.ones(len(y))
    weights[[3, 10]] = 0
    settings = BRIEF | {"cv": None}
    ref = ElasticLinearSVCCV(**settings).fit(X[weights > 0], y[weights > 0])
    got = ElasticLinearSVCCV(**settings).fit(X, y, weights)
    np.testing.assert_array_equal(got.scores_, ref.scores_)


def test_few_series_of_several_lengths(rng):
    """The longest series is held out once; one class has a single series."""
    X = [rng.normal(size=k) for k in (9, 5, 6, 7, 8, 5, 6)]
    y = list("abababc")
    model = ElasticLogisticRegressionCV(**BRIEF | {"cv": None}).fit(X, y)
    assert model.n_splits_ == 3 * 13  # folds as many as series of the largest class, up to 40
    assert model.predict_proba(X).shape == (7, 3)
    with pytest.raises(ValueError, match="length 12"):
        model.predict([rng.normal(size=12)])


def test_symbols():
    words = ["GATTACA", "CATTAGA", "TACT", "ACTGACT"] * 3
    model = ElasticLogisticRegressionCV(**BRIEF).fit(words, [0, 1, 0, 1] * 3)
    assert model.score(words, [0, 1, 0, 1] * 3) == 1
    assert model.coef_.shape[3] == 4


def test_explained_streamed_slid_and_exported(data):
    X, y = data
    model = ElasticLogisticRegressionCV(**BRIEF | {"elasticities": (3,)}).fit(X, y)
    decisions = model.decision_function(X)
    explanation = model.explain(X)
    total = explanation.contributions.sum(axis=1) + explanation.bias
    np.testing.assert_allclose(total, decisions, rtol=1e-6, atol=1e-9)
    streams = model.stream(len(X))
    for samples in X.T:
        last = streams.push(samples)
    np.testing.assert_allclose(last, decisions, rtol=1e-6, atol=1e-9)
    slid = model.slide(X[0], normalize="none")
    np.testing.assert_allclose(slid, decisions[:1], rtol=1e-6)
    assert f"{len(model.coef_)}" in warplearn.to_c(model)
    np.testing.assert_allclose(model.decider(20)(SeriesCollection.of(X)), decisions, rtol=1e-6)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"elasticities": ()}, "elasticities must have at least one"),
        ({"polarities": "symmetric"}, "polarities must be a sequence"),
        ({"polarities": ["up"]}, "polarity must be"),
        ({"learning_rates": [-1.0]}, "learning_rate_init must be"),
        ({"alphas": 0.1}, "alphas must be a sequence"),
        ({"n_best": 0}, "n_best must be"),
        ({"longer": "cut"}, "longer must be"),
        ({"elasticities": [1.0]}, "ambiguous"),
    ],
)
def test_errors(settings, message, data):
    with pytest.raises(ValueError, match=message):
        ElasticLogisticRegressionCV(**BRIEF | settings).fit(*data)


def test_ensemble_is_checked():
    with pytest.raises(ValueError, match="members"):
        Ensemble(()).check()
    with pytest.raises(ValueError, match="same classes"):
        Ensemble((Polarity(2), Polarity(3))).check()
    Ensemble((Polarity(2), Polarity(2, -1), Polarity(2, 1, 2))).check()
