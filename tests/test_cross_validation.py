"""Elastic linear classifiers that choose their parameters."""

import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold

import warplearn
from warplearn import ElasticLinearSVCCV, ElasticLogisticRegressionCV, SeriesCollection
from warplearn.experiments.views import can_be_viewed
from warplearn.linear_model import Ensemble, Polarity
from warplearn.linear_model.candidates import Judged, Search
from warplearn.linear_model.cross_validation import _represented
from warplearn.linear_model.starts import Ridge, start_from, without_warping
from warplearn.training.data import TrainingSet

BRIEF = {
    "representations": ("raw", "differences"), "elasticities": (1, 3), "learning_rates": (0.3, 0.03),
    "n_best": 2, "n_starts": 2, "n_warped": 2, "max_iter": 10, "random_state": 0,
    "cv": StratifiedKFold(3),
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
    count = 2 * 2 * 2 * len(model.alphas)
    assert model.scores_.shape == (count, 3) == (len(model.cv_results_["params"]), model.n_splits_)
    means = model.cv_results_["mean_test_score"]
    np.testing.assert_allclose(means, model.scores_.mean(axis=1))
    params, names = model.cv_results_["params"], ("elasticity", "representation")
    best = model.best_params_
    own = [all(each[name] == best[name] for name in names) for each in params]
    assert means[params.index(best)] == means[own].max()
    assert model.members_[0] == best
    assert {each["elasticity"] for each in model.members_} == {best["elasticity"]}
    assert {each["representation"] for each in model.members_} == set(model.representations_)
    assert len(model.members_) == 2 * len(model.representations_)
    assert len(model.coef_) in (4 * len(model.representations_), 8 * len(model.representations_))
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
    settings = {
        "representations": ("raw",), "elasticities": (10,), "polarities": ("+", "-"),
        "learning_rates": (0.1,),
    }  # fmt: skip
    for labels, expected in ((y, "+"), (1 - y, "-")):
        model = ElasticLogisticRegressionCV(cv=3, random_state=0, **settings).fit(X, labels)
        assert model.best_params_["polarity"] == expected


@pytest.mark.parametrize("cls", BOTH)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_decisions_are_the_means_of_the_members(cls, n_classes, data):
    X, _ = data
    y = np.arange(len(X)) % n_classes
    model = cls(**BRIEF | {"representations": ("raw",)}).fit(X, y)
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
    assert model.n_splits_ == 3 * 6  # folds as many as series of the largest class, up to 20
    assert model.predict_proba(X).shape == (7, 3)
    with pytest.raises(ValueError, match="length 12"):
        model.predict([rng.normal(size=12)])


def test_symbols():
    words = ["GATTACA", "CATTAGA", "TACT", "ACTGACT"] * 3
    model = ElasticLogisticRegressionCV(**BRIEF).fit(words, [0, 1, 0, 1] * 3)
    assert model.score(words, [0, 1, 0, 1] * 3) == 1
    assert model.coef_.shape[3] == 4


def used_everywhere(model, X):
    """Whether all that a model can be used for gives its decisions."""
    decisions = model.decision_function(X)
    explanation = model.explain(X)
    assert explanation.contributions.shape == X.shape
    total = explanation.contributions.sum(axis=1) + explanation.bias
    np.testing.assert_allclose(total, decisions, rtol=1e-6, atol=1e-9)
    streams = model.stream(len(X))
    for _ in range(2):
        for samples in X.T:
            last = streams.push(samples)
        np.testing.assert_allclose(last, decisions, rtol=1e-6, atol=1e-9)
        streams.reset()
    slid = model.slide(X[0], normalize="none")
    np.testing.assert_allclose(slid, decisions[:1], rtol=1e-6)
    np.testing.assert_allclose(model.decider(20)(SeriesCollection.of(X)), decisions, rtol=1e-6)


def test_explained_streamed_slid_and_exported(data):
    X, y = data
    settings = BRIEF | {"elasticities": (3,), "representations": ("raw",)}
    model = ElasticLogisticRegressionCV(**settings).fit(X, y)
    used_everywhere(model, X)
    assert f"{len(model.coef_)}" in warplearn.to_c(model)


def test_representations_are_explained_streamed_and_kept_but_not_exported(data, tmp_path):
    X, y = data
    for name in ("raw+sums", "differences", "sums", "deviations"):
        model = ElasticLogisticRegressionCV(**BRIEF | {"representations": (name,)}).fit(X, y)
        assert model.representations_ == tuple(name.split("+"))
        used_everywhere(model, X)
    model.representations_ = ("raw", "deviations")  # matrices of one of them, 0 for the other
    model.coef_ = np.stack([np.zeros_like(model.coef_), model.coef_], axis=-1)
    used_everywhere(model, X)
    warplearn.save(model, tmp_path / "model")
    loaded = warplearn.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))
    with pytest.raises(ValueError, match="raw, deviations cannot be exported"):
        warplearn.to_c(model)
    assert not can_be_viewed(model)
    model.representations_ = ("up",)
    with pytest.raises(ValueError, match="representations_ must be"):
        model.predict(X)


def test_the_representation_that_tells_is_chosen(rng):
    """Classes differ in how much they vary around the same mean, or in their differences."""
    y = np.arange(40) % 2
    noise = rng.normal(size=(40, 30))
    rough = noise * (1 + 2 * y[:, None])
    settings = BRIEF | {"representations": ("raw", "sums", "deviations")}
    model = ElasticLogisticRegressionCV(**settings).fit(rough, y)
    assert {each["representation"] for each in model.members_} == {"deviations"}
    assert model.score(rng.normal(size=(40, 30)) * (1 + 2 * y[:, None]), y) > 0.9


def test_matrices_are_0_where_others_see_more(data):
    X, y = data
    names = ("raw", "sums+raw")
    model = ElasticLogisticRegressionCV(**BRIEF | {"representations": names}).fit(X, y)
    assert {each["representation"] for each in model.members_} == set(names)
    assert sorted(model.representations_) == ["raw", "sums"]
    used_everywhere(model, X)
    seen = np.abs(model.coef_).max(axis=(1, 2)) > 0
    assert seen[:, model.representations_.index("raw")].all()
    sums = seen[:, model.representations_.index("sums")]
    assert sums.sum() == len(sums) / 2


def test_channels_side_by_side_have_the_same_share(rng):
    X = SeriesCollection.of(rng.normal(size=(6, 20)))
    data = TrainingSet(X, np.zeros(6, np.int64), np.ones(6), np.arange(6))
    for name in ("raw", "raw+sums+deviations"):
        represented, unit = _represented(data, name)
        shares = (represented.X.values**2).mean(axis=(0, 1))
        np.testing.assert_allclose(shares, 1 / len(unit))
        np.testing.assert_allclose(represented.X.values[..., :1] * unit[0], X.values)


def test_each_start_has_variants_of_its_own(data, monkeypatch):
    """Behind the series are two variants of each for the first start, then two for the second."""
    X, y = data
    trained, fit = [], Search.fit

    def watched(search, plans):
        trained.extend((search, cases, block) for _, cases, block in plans)
        return fit(search, plans)

    monkeypatch.setattr(Search, "fit", watched)
    ElasticLogisticRegressionCV(**BRIEF | {"representations": ("raw",)}).fit(X, y)
    every, n = np.arange(36), 36
    starts = [(search, block) for search, cases, block in trained if len(cases) == n]
    assert [block for _, block in starts] == [0, 1, 0, 1]  # of two candidates
    for search, block in starts:
        assert len(search.data.X) == (1 + 2 * 2) * n
        own = every + n * np.array([0, 1 + 2 * block, 2 + 2 * block])[:, None]
        np.testing.assert_array_equal(search._with_variants(every, block), own.ravel())
        variants = search.data.X.values[own]
        assert (np.abs(np.diff(variants, axis=0)).max(axis=(1, 2, 3)) > 0).all()


@pytest.mark.parametrize("repeats", [1, 3])
@pytest.mark.parametrize(("wrong", "kept"), [(0, True), (9, True), (10, False)])
def test_candidates_are_left_out_that_are_clearly_worse(wrong, kept, repeats):
    """One is right on all series, the other wrong on some; holding out again proves nothing."""
    codes = np.tile(np.arange(20) % 2, repeats)
    decisions = np.where(codes == 1, 1.0, -1.0)
    cases = np.tile(np.arange(20), repeats)
    other = np.where(cases < wrong, -0.5, 0.5) * decisions
    judged = Judged(
        [{}, {}], np.stack([other, decisions])[..., None], cases, codes, np.ones(len(codes)),
        np.repeat(np.arange(repeats), 20),
    )  # fmt: skip
    assert judged.not_worse().tolist() == ([0, 1] if kept else [1])


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("polarity", ["+", "-", "symmetric"])
def test_training_starts_at_the_model_without_warping(polarity, n_classes, data):
    """At elasticity 1 the start is that model, but for its noise."""
    X, _ = data
    y = np.arange(len(X)) % n_classes
    series, rng = SeriesCollection.of(X), np.random.RandomState(0)
    every = np.arange(len(y))
    for model in (
        warplearn.ElasticLogisticRegression(elasticity=1, polarity=polarity, init_scale=0.0),
        warplearn.ElasticLinearSVC(elasticity=1, polarity=polarity, init_scale=0.0),
    ):
        training = TrainingSet(series, y, np.ones(len(y)), every, np.arange(n_classes))
        weights, biases = without_warping(model, training, rng, 2.0)
        start = start_from(model, training, rng, weights, biases)
        scores = warplearn.elastic_inner_product(X, start.W) + start.b
        decisions = scores @ start.context.readout.mix
        for column, target in zip(decisions.T, [1] if n_classes == 2 else range(3), strict=True):
            ridge = Ridge.of(X, np.ones(len(y)))
            w, b = ridge.solve(np.where(y == target, 1.0, -1.0))
            np.testing.assert_allclose(column, 2 * (X @ w + b), rtol=1e-6, atol=1e-9)


def test_ridge_chooses_by_leaving_out_one(rng):
    X, weights = rng.normal(size=(12, 30)), np.arange(12) % 3 + 1.0
    target = np.where(X[:, 0] + rng.normal(size=12) > 0, 1.0, -1.0)
    w, b = Ridge.of(X, weights).solve(target)
    weights = weights / weights.mean()
    centred = X - weights @ X / 12
    K = centred @ centred.T / np.mean(weights * (centred**2).sum(axis=1)) + 0.1

    def predicted(penalty, cases):
        dual = np.linalg.solve(
            K[np.ix_(cases, cases)] + np.diag(penalty / weights[cases]), target[cases]
        )
        return K[:, cases] @ dual

    def left_out(penalty):
        every = np.arange(12)
        own = [predicted(penalty, every[every != case])[case] for case in every]
        return weights @ (own - target) ** 2

    best = min(10.0 ** np.arange(-5, 2.1, 0.5), key=left_out)
    np.testing.assert_allclose(X @ w + b, predicted(best, np.arange(12)), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"elasticities": ()}, "elasticities must have at least one"),
        ({"polarities": "symmetric"}, "polarities must be a sequence"),
        ({"polarities": ["up"]}, "polarity must be"),
        ({"learning_rates": [-1.0]}, "learning_rate_init must be"),
        ({"learning_rates": np.ones((2, 0))}, "learning_rates must be single values"),
        ({"representations": ("raw+sums+raw",)}, "representations must have nothing twice"),
        ({"alphas": 0.1}, "alphas must be a sequence"),
        ({"n_best": 0}, "n_best must be"),
        ({"n_warped": -1}, "n_warped must be an integer of at least 0"),
        ({"representations": ["up"]}, "representations must be"),
        ({"representations": ["raw+up"]}, "representations must be"),
        ({"representations": [3]}, "representations must be"),
        ({"longer": "cut"}, "longer must be"),
        ({"elasticities": [1.0]}, "ambiguous"),
        ({"cv": np.ones((3, 4), int)}, "cv must be a number of folds, or divide X"),
        ({"cv": [([0, 1], [10**9])]}, "cv must be a number of folds, or divide X"),
        ({"cv": [([0, 1], [])]}, "cv must leave series to train on and to judge by"),
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
