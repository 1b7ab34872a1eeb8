"""Elastic linear classifiers: parameters, labels, weights, kinds of input, restarts, epochs."""

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.utils import compute_class_weight

from warplearn import Alphabet, SeriesCollection, elastic_inner_product
from warplearn.elastic.extent import columns_for
from warplearn.linear_model.classifiers import (
    ElasticAdaline,
    ElasticLinearSVC,
    ElasticLogisticRegression,
    ElasticMarginPerceptron,
    ElasticPerceptron,
)
from warplearn.linear_model.polarity import Polarity
from warplearn.linear_model.regressors import ElasticLinearRegression
from warplearn.training import train as driver

PLAIN = {"elasticity": 3, "max_iter": 20, "random_state": 0}
ONE_MATRIX = {**PLAIN, "polarity": "first"}
# Without chance, so that fits of different composition can be compared.
FIXED = {"elasticity": 3, "init_scale": 0.0, "shuffle": False, "max_iter": 10}


@pytest.fixture
def data(rng):
    X = rng.normal(size=(24, 8))
    return X, (X[:, 2] + 0.5 * X[:, 5] > 0).astype(int)


@pytest.fixture
def three(data, rng):
    X, _ = data
    return X, np.array(["a", "b", "c"])[np.digitize(X[:, 2], [-0.4, 0.4])]


# --- Parameters


@pytest.mark.parametrize(
    ("elasticity", "n", "m"),
    [
        (1, 50, 1), (7, 50, 7), (60, 50, 60), (np.int64(4), 50, 4), (0.0, 50, 1), (0.01, 50, 1),
        (0.1, 50, 5), (0.1, 51, 6), (0.3, 10, 3), ("100%", 50, 50), ("300%", 50, 150), (0.1, 150, 15),
        (np.float32(0.5), 10, 5), ("10%", 51, 6), ("0%", 51, 1),
    ],
)  # fmt: skip
def test_elasticity_is_columns_or_a_ratio(elasticity, n, m):
    assert columns_for(elasticity, n) == m


def test_elasticity_shapes_the_weights(data):
    X, y = data
    for elasticity, m in ((2, 2), (0.5, 4), (0.0, 1)):
        found = ElasticPerceptron(elasticity=elasticity, max_iter=2).fit(X, y)
        assert found.coef_.shape == (2, 8, m)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("elasticity", 0), ("elasticity", -1), ("elasticity", -0.1), ("elasticity", "350%"),
        ("elasticity", 1.0), ("elasticity", 3.5),
        ("elasticity", True), ("elasticity", "auto"), ("elasticity", np.nan), ("band", -1),
        ("band", 1.5), ("learning_rate_init", -0.1), ("learning_rate_init", np.inf),
        ("learning_rate_init", "fast"), ("learning_rate", "linear"),
        ("penalty", "l3"), ("alpha", -1.0), ("alpha", None), ("polarity", "both"), ("batch_size", 0),
        ("batch_size", 2.5), ("solver", "newton"), ("max_iter", 0), ("max_iter", 1.5),
        ("early_stopping", "risk"), ("tol", -1e-3), ("n_iter_no_change", 0), ("max_norm", 0.0),
        ("monitor", "risk"), ("longer", "cut"), ("average", "yes"),
        ("init_scale", -0.1), ("n_init", 0), ("class_weight", "heavy"), ("n_jobs", 0), ("margin", -0.1),
        ("margin", np.nan), ("margin", np.inf), ("margin", "wide"), ("max_norm", "far"),
        ("max_norm", np.nan),
    ],
)  # fmt: skip
def test_wrong_parameters_are_named(data, name, value):
    """With what was given: the value as Python writes it."""
    classifier = ElasticMarginPerceptron(max_iter=2).set_params(**{name: value})
    with pytest.raises(ValueError, match=name) as error:
        classifier.fit(*data)
    assert repr(value) in str(error.value) or str(value) in str(error.value)


@pytest.mark.parametrize(
    ("monitor", "tol", "reason", "epochs"),
    [("accuracy", 1e-3, "perfect training accuracy", None), ("loss", 1e-3, "no improvement", None),
     ("loss", None, "max_iter epochs", 300)],
)  # fmt: skip
def test_what_ends_training(data, monitor, tol, reason, epochs):
    X, _ = data
    options = {"elasticity": 3, "max_iter": 300, "n_iter_no_change": 5, "polarity": "first"}
    found = ElasticMarginPerceptron(monitor=monitor, tol=tol, **options).fit(X, X[:, 0] > 0)
    (solution,) = found.solutions_
    assert solution.reason == reason
    assert found.n_iter_ == len(found.history_[0]) == solution.n_epochs == (epochs or found.n_iter_)
    assert found.n_iter_ == 300 or tol is not None
    if monitor == "accuracy":
        assert found.score(X, X[:, 0] > 0) == 1
    else:
        assert solution.risk == found.history_[0].min()


# --- Labels


@pytest.mark.parametrize("y_first", [0, 1])
def test_polarity(data, y_first):
    X, y = data
    order = np.argsort(y != y_first, kind="stable")
    X, y = X[order], y[order]
    models = {
        polarity: ElasticMarginPerceptron(polarity=polarity, **PLAIN).fit(X, y)
        for polarity in ("first", "+", "-", "symmetric")
    }
    assert {p: m.polarity_.mix.ravel().tolist() for p, m in models.items()} == {
        "first": [1.0] if y_first else [-1.0], "+": [1.0], "-": [-1.0], "symmetric": [1.0, -1.0],
    }  # fmt: skip
    same = models["+" if y_first else "-"]
    assert models["first"].coef_.tolist() == same.coef_.tolist()
    for model in models.values():
        scores = elastic_inner_product(X, model.coef_) + model.intercept_
        assert model.decision_function(X) == pytest.approx(scores @ model.polarity_.mix[:, 0])
        assert model.score(X, y) > 0.7
    # The labels exchanged, and the polarity with them: the same model of the opposite sign.
    swapped = ElasticMarginPerceptron(polarity="-", **PLAIN).fit(X, 1 - y)
    assert swapped.coef_.tolist() == models["+"].coef_.tolist()
    assert swapped.decision_function(X).tolist() == (-models["+"].decision_function(X)).tolist()
    assert swapped.predict(X).tolist() == (1 - models["+"].predict(X)).tolist()
    assert models["+"].coef_.tolist() != models["-"].coef_.tolist()


@pytest.mark.parametrize("polarity", ["+", "-", "first"])
@pytest.mark.parametrize("y", [[0, 1], [1, 0]])
def test_outputs_of_zero_are_predicted_as_they_are_counted(polarity, y):
    """A series of zeros scores 0 at zero bias: training counts it for the positive class."""
    X = np.zeros((2, 3))
    found = ElasticPerceptron(
        init_scale=0.0, learning_rate_init=0.0, polarity=polarity, max_iter=1
    ).fit(X, y)
    assert found.solutions_[0].mistakes == 1
    positive = {"+": 1, "-": 0, "first": y[0]}[polarity]
    assert found.predict(X).tolist() == [positive] * 2
    assert np.sum(found.predict(X) != y) == found.solutions_[0].mistakes


@pytest.mark.parametrize("polarity", ["+", "-"])
def test_one_against_the_rest_is_separate_fits(three, polarity):
    X, y = three
    found = ElasticMarginPerceptron(polarity=polarity, **FIXED).fit(X, y)
    alone = [
        ElasticMarginPerceptron(polarity=polarity, **FIXED).fit(X, y == label) for label in "abc"
    ]
    assert found.coef_.tolist() == [model.coef_[0].tolist() for model in alone]
    ref = np.stack([model.decision_function(X) for model in alone], axis=1)
    assert found.decision_function(X) == pytest.approx(ref, abs=1e-12)
    assert found.predict(X).tolist() == np.array(list("abc"))[ref.argmax(axis=1)].tolist()
    assert found.score(X, y) > 0.7


def test_softmax_of_three_classes(three):
    X, y = three
    found = ElasticLogisticRegression(elasticity=3, random_state=0).fit(X, y)
    assert len(found.solutions_) == 1
    assert found.coef_.shape == (3, 8, 3)
    scores = elastic_inner_product(X, found.coef_) + found.intercept_
    assert found.predict_proba(X) == pytest.approx(softmax(scores, axis=1))
    assert found.score(X, y) > 0.8


@pytest.mark.parametrize("labels", ["two", "three"])
def test_probabilities(data, three, labels):
    X, y = data if labels == "two" else three
    found = ElasticLogisticRegression(**PLAIN).fit(X, y)
    P = found.predict_proba(X)
    assert P.sum(axis=1) == pytest.approx(np.ones(24), abs=1e-15)
    assert found.classes_[P.argmax(axis=1)].tolist() == found.predict(X).tolist()
    assert np.exp(found.predict_log_proba(X)) == pytest.approx(P)
    far = found.predict_log_proba(1e4 * X)
    assert np.isfinite(far).all()
    assert far.min() < -800


# --- Weights


@pytest.mark.parametrize("batch_size", [None, 6])
def test_weights_of_classes_are_weights_of_examples(data, batch_size):
    X, y = data
    y = np.where(np.arange(24) < 20, 0, y)
    options = {**ONE_MATRIX, "batch_size": batch_size, "monitor": "loss", "tol": None}
    balanced = compute_class_weight("balanced", classes=np.arange(2), y=y)
    fits = {"none": ElasticLinearSVC(**options).fit(X, y)}
    for name, class_weight, weights in (
        ("dict", {0: 0.5, 1: 3.0}, np.array([0.5, 3.0])),
        ("balanced", "balanced", balanced),
    ):
        fits[name] = ElasticLinearSVC(class_weight=class_weight, **options).fit(X, y)
        ref = ElasticLinearSVC(**options).fit(X, y, weights[y])
        assert fits[name].coef_.tolist() == ref.coef_.tolist()
        assert np.abs(fits[name].coef_ - fits["none"].coef_).max() > 1e-3


def test_weight_zero_is_left_out(data, rng):
    X, y = data
    weights = rng.integers(0, 3, size=24).astype(float)
    model = ElasticLinearSVC(elasticity=0.4, max_iter=20, random_state=0)
    found = model.fit([*X, np.arange(8.0)], [*y, 1], [*weights, 0.0]).coef_
    ref = model.fit(X[weights > 0], y[weights > 0], weights[weights > 0]).coef_
    assert found.tolist() == ref.tolist()
    with pytest.raises(ValueError, match=r"[Ss]ample.weight"):
        model.fit(X, y, np.zeros(24))


# --- Kinds of input


def inputs(rng, kind):
    """Twelve series in one of the forms users have, and the collection they are."""
    if kind == "ragged":
        X = [rng.normal(size=k) for k in rng.integers(4, 9, size=12)]
    elif kind == "channels":
        X = rng.normal(size=(12, 2, 7))
    elif kind == "ragged channels":
        X = [rng.normal(size=(2, k)) for k in rng.integers(4, 9, size=12)]
    else:
        X = ["".join(rng.choice(list("ACGT"), size=k)) for k in rng.integers(4, 9, size=12)]
    alphabet = Alphabet("ACGT") if kind == "symbols" else None
    return X, SeriesCollection.of(X, alphabet=alphabet)


@pytest.mark.parametrize("kind", ["ragged", "channels", "ragged channels", "symbols"])
@pytest.mark.parametrize("labels", [[0, 1], [0, 1, 2]], ids=["binary", "three"])
def test_kinds_of_series(rng, kind, labels):
    X, collection = inputs(rng, kind)
    y = np.resize(labels, 12)
    found = ElasticMarginPerceptron(polarity="-", **PLAIN).fit(X, y)
    n, d = collection.max_length, collection.n_channels
    assert found.n_features_in_ == n
    units = 1 if len(labels) == 2 else 3
    assert found.coef_.shape == ((units, n, 3) if d == 1 else (units, n, 3, d))
    scores = elastic_inner_product(collection, found.coef_) + found.intercept_
    values = found.decision_function(X)
    assert values == pytest.approx(np.squeeze(scores @ found.polarity_.mix))
    assert found.predict(X).tolist() == found.predict(collection).tolist()

    contributions, bias, _ = found.explain(X)
    per_time = (12, n) if d == 1 else (12, d, n)
    assert contributions.shape == (per_time if units == 1 else (3, *per_time))
    total = contributions.reshape(-1, 12, n * d).sum(axis=-1).T + bias
    assert np.squeeze(total) == pytest.approx(values, abs=1e-10)
    behind = np.arange(n) >= collection.lengths[:, None]
    assert not (contributions * (behind if d == 1 else behind[:, None])).any()


def test_explanations_follow_the_path():
    """Each contribution is the samples of a row times the weights that the path meets there."""
    found = ElasticPerceptron(elasticity=2, max_iter=1, polarity="+")
    found.fit([[1.0, 2.0], [0.0, -1.0]], [0, 1])
    found.coef_ = np.array([[[1.0, -5.0], [3.0, 2.0]]])
    found.intercept_ = np.array([0.5])
    contributions, bias, climbing = found.explain([[1.0, 2.0], [1.0, -1.0]])
    assert contributions.tolist() == [
        [1.0, 10.0],
        [1.0, -2.0],
    ]  # paths (0,0) (1,0) (1,1); (0,0) (1,1)
    assert bias == 0.5
    assert climbing.tolist() == [[0.0, 5.0], [0.0, 0.0]]  # the second row has two cells


@pytest.mark.parametrize(
    ("fitted_on", "given", "message"),
    [
        (
            "ragged",
            np.ones((2, 20)),
            r"X\[0\] has length 20, longer than .* 8; .*longer='truncate'.* partial_fit",
        ),
        ("ragged", np.ones((2, 2, 5)), "X has 2 channel.*fitted on series of 1"),
        ("ragged", ["ACGT"], "X holds symbols, but .* numbers"),
        ("symbols", ["ACGX"], "contains 'X'"),
        ("symbols", np.ones((2, 5)), "X has 1 channel.*fitted on series of 4"),
    ],
)
def test_series_that_do_not_fit(rng, fitted_on, given, message):
    X, _ = inputs(rng, fitted_on)
    found = ElasticMarginPerceptron(**PLAIN).fit(X, np.resize([0, 1], 12))
    with pytest.raises(ValueError, match=message):
        found.predict(given)


def test_alphabet_given(rng):
    X, _ = inputs(rng, "symbols")
    alphabet = Alphabet("ACGTN")
    found = ElasticMarginPerceptron(alphabet=alphabet, **PLAIN).fit(X, np.resize([0, 1], 12))
    assert found.coef_.shape[-1] == 5
    assert found.decision_function(["NNNN"]).shape == (1,)


def test_band_and_float32(data):
    X, y = data
    found = ElasticAdaline(band=4, alpha=0.01, **ONE_MATRIX).fit(X, y)
    ref = elastic_inner_product(X, found.coef_[0], band=4) + found.intercept_[0]
    assert found.decision_function(X) == pytest.approx(found.polarity_.sign * ref)
    assert np.abs(ref - elastic_inner_product(X, found.coef_[0]) - found.intercept_[0]).max() > 1e-6
    single = ElasticMarginPerceptron(**PLAIN).fit(X.astype(np.float32), y)
    assert single.coef_.dtype == np.float32
    contributions, bias, _ = single.explain(X.astype(np.float32))
    assert contributions.sum(axis=1) + bias == pytest.approx(
        single.decision_function(X.astype(np.float32)), abs=1e-5
    )


# --- Restarts, threads, chance


def test_threads_and_restarts_do_not_change_results(three, two_threads):
    X, y = three
    fits = [
        ElasticLinearSVC(alpha=0.1, n_init=4, n_jobs=n_jobs, **PLAIN).fit(X, y) for n_jobs in (1, 2)
    ]
    assert fits[0].coef_.tolist() == fits[1].coef_.tolist()
    assert fits[0].intercept_.tolist() == fits[1].intercept_.tolist()
    assert [h.tolist() for h in fits[0].history_] == [h.tolist() for h in fits[1].history_]
    batches = [
        ElasticLinearSVC(n_init=2, batch_size=8, n_jobs=n_jobs, **PLAIN).fit(X, y).coef_
        for n_jobs in (1, 2)
    ]
    assert batches[0].tolist() == batches[1].tolist()


def test_the_best_restart_is_kept(data):
    """Restarts draw one after the other: those of a larger n_init contain those of a smaller."""
    X, y = data[0], np.arange(24) % 2
    options = {**ONE_MATRIX, "shuffle": False, "monitor": "loss", "init_scale": 1.0}
    risks = [
        ElasticMarginPerceptron(n_init=n_init, **options).fit(X, y).solutions_[0].risk
        for n_init in range(1, 9)
    ]
    assert (np.diff(risks) <= 0).all()
    assert risks[-1] < risks[0]


@pytest.mark.parametrize("seconds", [1e-9, 10.0])
def test_chance_does_not_depend_on_time(data, monkeypatch, seconds):
    """However many epochs are run in one go: same model, and the same source of chance after it."""
    X, y = data
    states = []
    for limit in (0.01, seconds):
        monkeypatch.setattr(driver, "_CHUNK_SECONDS", limit)
        source = np.random.RandomState(3)
        found = ElasticMarginPerceptron(**{**PLAIN, "random_state": source}).fit(X, y)
        states.append((found.coef_.tolist(), source.uniform()))
    assert states[0] == states[1]


# --- Plans


def test_a_plan_neither_reads_nor_sets_fitted_state(data):
    X, y = data
    model = ElasticLinearSVC(**PLAIN, n_init=2)
    before = dict(vars(model))
    series = SeriesCollection.of(X)
    training_set = model.training_set(series, y, np.ones(24), np.arange(24))
    plan = model.plan(training_set, np.random.RandomState(0))
    assert vars(model) == before
    fitted = ElasticLinearSVC(**PLAIN, n_init=2).fit(X[:, :5], 1 - y)
    again = fitted.plan(training_set, np.random.RandomState(0))
    assert [m.W.tolist() for m in again.models] == [m.W.tolist() for m in plan.models]
    assert again.examples.key == plan.examples.key
    (solutions,) = driver.train([plan])
    assert model.adopt(plan, solutions).coef_.tolist() == (
        ElasticLinearSVC(**PLAIN, n_init=2).fit(X, y).coef_.tolist()
    )
    assert (
        model.predict(X).tolist()
        == ElasticLinearSVC(**PLAIN, n_init=2).fit(X, y).predict(X).tolist()
    )


def test_shuffled_training_series_give_a_model_of_the_same_polarity(data, rng):
    """The default does not depend on which class comes first."""
    X, y = data
    for _ in range(3):
        order = rng.permutation(24)
        model = ElasticLogisticRegression(**PLAIN).fit(X[order], y[order])
        assert model.polarity_ == Polarity(2, 1, 2)
    first = [ElasticLogisticRegression(**ONE_MATRIX).fit(X[o], y[o]).polarity_.sign
             for o in (np.argsort(y), np.argsort(-y))]  # fmt: skip
    assert first == [-1, 1]


@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("steps", [{}, {"batch_size": 6, "solver": "adam"}], ids=["one", "batches"])
def test_partial_fit_is_an_epoch_of_fit(data, average, steps):
    """The mean over epochs and a solver's memory are carried on."""
    X, y = data
    options = {"shuffle": False, "average": average, "monitor": "loss", "learning_rate_init": 0.01}
    whole = ElasticLogisticRegression(**{**PLAIN, **options, **steps, "max_iter": 4}).fit(X, y)
    pieces = ElasticLogisticRegression(**{**PLAIN, **options, **steps})
    risks = [pieces.partial_fit(X, y, classes=[0, 1]).history_[0][0] for _ in range(4)]
    assert risks == pytest.approx(whole.history_[0], rel=1e-10)
    assert np.argmin(risks) == 3, "the last weights must be the best"
    assert pieces.coef_ == pytest.approx(whole.coef_, rel=1e-9, abs=1e-12)
    assert pieces.t_ == whole.t_ == 4


def test_early_stopping_judges_by_series_held_out(rng):
    X, y = rng.normal(size=(60, 8)), np.arange(60) % 2  # nothing to learn
    options = {**PLAIN, "max_iter": 300, "n_iter_no_change": 10, "monitor": "loss"}
    held = ElasticLogisticRegression(early_stopping=True, validation_fraction=0.25, **options)
    assert held.fit(X, y).solutions_[0].reason == "no improvement"
    free = ElasticLogisticRegression(**options).fit(X, y)
    assert free.n_iter_ > held.n_iter_
    assert free.solutions_[0].risk < held.solutions_[0].risk
    with pytest.raises(ValueError, match="partial_fit needs early_stopping=False"):
        held.partial_fit(X, y)
    with pytest.raises(ValueError, match=r"validation_fraction must be between 0 and 1, got 1\.5"):
        held.set_params(validation_fraction=1.5).fit(X, y)


def test_longer_series_are_cut_or_resampled_on_request(data):
    X, y = data
    model = ElasticLogisticRegression(**PLAIN).fit(X, y)
    longer = np.repeat(X, 2, axis=1)
    with pytest.raises(ValueError, match="longer='truncate'"):
        model.predict(longer)
    cut = model.set_params(longer="truncate").decision_function(longer)
    assert cut.tolist() == model.decision_function(longer[:, :8]).tolist()
    points = np.linspace(0, 15, 8)
    resampled = np.array([np.interp(points, np.arange(16), x) for x in longer])
    got = model.set_params(longer="resample").decision_function(longer)
    assert got == pytest.approx(model.decision_function(resampled))


@pytest.mark.parametrize(
    ("class_weight", "message"),
    [
        ({"1": 100}, "class_weight names '1', which is none of the classes"),
        ({1: -2.0}, r"class_weight\[1\] must be a number from 0 to .*, got -2.0"),
        (3, "class_weight must be None, 'balanced' or a dict, got 3"),
        ({0: 0, 1: 0.0}, "class_weight must be positive for some of the series X, got {0: 0, 1"),
    ],
)
def test_wrong_weights_of_classes_are_named(data, class_weight, message):
    with pytest.raises(ValueError, match=message):
        ElasticLogisticRegression(class_weight=class_weight).fit(*data)


# --- Regression


def peaks(rng, count=120):
    """Bumps at random places; the target is their height."""
    time, y = np.linspace(0, 1, 40), rng.uniform(1, 3, count)
    peak = rng.uniform(0.4, 0.6, count)
    return y[:, None] * np.exp(-100 * (time - peak[:, None]) ** 2), y


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", "huber"])
def test_regression_follows_a_bump_that_moves(rng, loss):
    X, y = peaks(rng)
    model = ElasticLinearRegression(loss=loss, random_state=0).fit(X[:80], 50 + 10 * y[:80])
    assert model.score(X[80:], 50 + 10 * y[80:]) > 0.98
    scores = elastic_inner_product(X, model.coef_) + model.intercept_
    ref = scores[:, 0] * model.target_scale_[0] + model.target_mean_[0]
    assert model.predict(X) == pytest.approx(ref)
    contributions, bias, _ = model.explain(X)
    assert contributions.sum(axis=1) + bias == pytest.approx(model.predict(X))
    assert len(model.history_) == len(model.solutions_) == 1
    stream = model.stream()
    assert [stream.push(sample) for sample in X[0]][-1] == pytest.approx(model.predict(X[:1])[0])


def test_regression_of_several_targets(rng):
    X, y = peaks(rng)
    both = np.stack([y, -y], axis=1)
    model = ElasticLinearRegression(random_state=0, max_iter=100).fit(X, both)
    assert model.predict(X).shape == (120, 2)
    assert model.coef_.shape == (2, 40, 4)
    assert model.explain(X).contributions.shape == (2, 120, 40)
    with pytest.raises(ValueError, match=r"y must have 2 target\(s\)"):
        model.partial_fit(X, y)


def test_absolute_and_huber_losses_resist_outliers(rng):
    X, y = peaks(rng, 160)
    spoilt = np.where(np.arange(160) % 10 == 0, y + 60.0, y)
    errors = {
        loss: np.median(np.abs(
            ElasticLinearRegression(loss=loss, epsilon=0.1, random_state=0).fit(X, spoilt).predict(X)
            - y
        ))
        for loss in ("squared_error", "absolute_error", "huber")
    }  # fmt: skip
    assert errors["absolute_error"] < 0.5 * errors["squared_error"]
    assert errors["huber"] < 0.5 * errors["squared_error"]


def test_wrong_parameters_of_regression_are_named(rng):
    X, y = peaks(rng, 20)
    for name, value in (("loss", "cubic"), ("epsilon", 0.0), ("monitor", "accuracy")):
        with pytest.raises(ValueError, match=name):
            ElasticLinearRegression(**{name: value}).fit(X, y)
