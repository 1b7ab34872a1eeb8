"""Elastic networks: gradients, what they can separate, kinds of input, restarts, ends, storage."""

import pickle

import numpy as np
import pytest
import skops.io
from plans import plan_of
from scipy.special import expit, log_softmax, softmax
from sklearn.base import clone

from warplearn import (
    ElasticLogisticRegression,
    ElasticMLPClassifier,
    ElasticMLPRegressor,
    datasets,
    elastic_inner_product,
)
from warplearn.neural_network.mlp import ACTIVATIONS, DenseLayers
from warplearn.training.batches import Batches
from warplearn.training.losses import Softmax, SquaredError
from warplearn.training.optimizers import Adam
from warplearn.training.plan import Model, Stopping, group_plans

SMALL = {"hidden_layer_sizes": (4,), "elasticity": 3, "max_iter": 20, "random_state": 0}


@pytest.fixture
def data(rng):
    X = rng.normal(size=(24, 8))
    return X, np.array(["no", "yes"])[(np.abs(X[:, 2]) + 0.5 * X[:, 5] > 0.6).astype(int)]


def bumps():
    train, test = (datasets.load("AlternatingBumps", part) for part in ("train", "test"))
    return train.X.values[:, :, 0], train.y, test.X.values[:, :, 0], test.y


# --- Gradients


def network_risk(X, targets, parameters, activation, loss):
    """The definition, with elastic inner products of one matrix at a time."""
    functions = {"tanh": np.tanh, "sigmoid": expit, "relu": lambda z: np.maximum(z, 0)}
    W, b, *dense = parameters
    outputs = np.stack([elastic_inner_product(X, w[..., 0]) for w in W], axis=1) + b
    for V, c in zip(dense[::2], dense[1::2], strict=True):
        outputs = functions[activation](outputs) @ V + c
    if isinstance(loss, Softmax):
        return -(targets * log_softmax(outputs, axis=1)).sum(axis=1).mean()
    return 0.5 * ((targets - outputs) ** 2).sum(axis=1).mean()


@pytest.mark.parametrize("activation", sorted(ACTIVATIONS))
@pytest.mark.parametrize("loss", [Softmax(), SquaredError()], ids=["softmax", "squares"])
@pytest.mark.parametrize("sizes", [(5,), (5, 4)], ids=str)
def test_a_step_follows_the_gradient_of_the_risk(rng, activation, loss, sizes):
    X, W, b = rng.normal(size=(10, 7)), rng.normal(size=(5, 7, 3, 1)), rng.normal(size=5)
    head = []
    for inside, outside in zip(sizes, (*sizes[1:], 2), strict=True):
        head += [rng.normal(size=(inside, outside)), rng.normal(size=outside)]
    targets = np.eye(2)[rng.integers(2, size=10)]
    model = Model(W, b, eta=1.0, rows=(0, 1), head=tuple(head))
    plan = plan_of(
        X, targets.T, loss, [model], Stopping(1, "loss", False),
        n_outputs=2, batch_size=10, head=DenseLayers(activation),
    )  # fmt: skip
    ((group, _),) = group_plans([plan])
    steps = Batches(group)
    steps.run(1)
    parameters = [W, b, *head]
    stepped = steps.trained[0].parameters
    for number, (before, after) in enumerate(zip(parameters, stepped, strict=True)):
        gradient = before - after  # a step of rate 1
        for index in [tuple(rng.integers(s) for s in before.shape) for _ in range(6)]:
            risks = []
            for shift in (1e-6, -1e-6):
                moved = [p.copy() for p in parameters]
                moved[number][index] += shift
                risks.append(network_risk(X, targets, moved, activation, loss))
            assert gradient[index] == pytest.approx((risks[0] - risks[1]) / 2e-6, abs=1e-6)
    ref = network_risk(X, targets, stepped, activation, loss)
    assert steps.trained[0].history == pytest.approx([ref])


def test_a_network_of_one_lane_per_unit_is_its_definition(data):
    X, y = data
    model = ElasticMLPClassifier(**SMALL).fit(X, y)
    assert (model.mean_[0], model.scale_[0]) == pytest.approx((X.mean(), X.std()))
    Z = (X - X.mean()) / X.std()
    scores = np.stack([elastic_inner_product(Z, w) for w in model.coef_], axis=1)
    hidden = np.tanh(scores + model.intercept_)
    outputs = hidden @ model.dense_coefs_[0] + model.dense_intercepts_[0]
    assert model.hidden_units(X) == pytest.approx(hidden)
    assert model.decision_function(X) == pytest.approx(outputs[:, 1] - outputs[:, 0])
    assert model.predict_proba(X) == pytest.approx(softmax(outputs, axis=1))
    assert np.exp(model.predict_log_proba(X)) == pytest.approx(softmax(outputs, axis=1))
    assert (model.predict(X) == np.array(["no", "yes"])[outputs.argmax(axis=1)]).all()


def test_penalty_is_on_both_layers_and_not_on_biases(data):
    X, y = data
    free = ElasticMLPClassifier(**SMALL | {"alpha": 0.0}).fit(X, y)
    held = ElasticMLPClassifier(**SMALL | {"alpha": 0.3}).fit(X, y)
    for name in ("coef_", "dense_coefs_"):
        assert np.linalg.norm(getattr(held, name)) < 0.9 * np.linalg.norm(getattr(free, name))
    squares = (held.coef_**2).sum() + (held.dense_coefs_[0] ** 2).sum()
    likelihood = held.predict_log_proba(X)[np.arange(24), (y == "yes").astype(int)]
    assert held.solutions_[0].risk == pytest.approx(-likelihood.mean() + 0.3 * squares)


# --- What it can do


@pytest.mark.parametrize("polarity", ["+", "-", "symmetric"])
def test_no_elastic_linear_classifier_separates_alternating_bumps(polarity):
    X, y, X_test, y_test = bumps()
    model = ElasticLogisticRegression(polarity=polarity, random_state=0, max_iter=200).fit(X, y)
    assert model.score(X_test, y_test) < 0.8


def test_by_homogeneity_none_can(rng):
    """Of a, -a, 3 a, -3 a at most three are right, whatever the matrices."""
    x = rng.normal(size=(50, 1, 9)) * np.array([-3, -1, 1, 3])[:, None]
    for _ in range(20):
        W, b = rng.normal(size=(2, 50, 9, 3)), rng.normal()
        for signs in ((1, 0), (-1, 0), (1, -1)):
            right = np.stack(
                [
                    sum(s * elastic_inner_product(rows, w) for s, w in zip(signs, V, strict=True))
                    for rows, V in zip(x, W.swapaxes(0, 1), strict=True)
                ]
            )
            assert (((right + b > 0) == [True, False, True, False]).sum(axis=1) <= 3).all()


@pytest.mark.parametrize("activation", sorted(ACTIVATIONS))
def test_a_network_separates_them(activation):
    X, y, X_test, y_test = bumps()
    model = ElasticMLPClassifier(activation=activation, random_state=0).fit(X, y)
    assert model.score(X, y) == 1.0
    assert model.score(X_test, y_test) > 0.97


def test_incremental_method_separates_them():
    X, y, X_test, y_test = bumps()
    model = ElasticMLPClassifier(
        batch_size=None,
        solver="sgd",
        learning_rate_init=0.02,
        max_iter=30,
        hidden_layer_sizes=(16,),
        random_state=0,
    ).fit(X, y)
    assert model.score(X_test, y_test) > 0.95


def test_regression(rng):
    a = rng.uniform(-3, 3, 200)
    X = a[:, None] * np.hanning(20) + rng.normal(0, 0.05, (200, 20))
    y = 1000 + 100 * np.abs(a)
    model = ElasticMLPRegressor(hidden_layer_sizes=16, random_state=0).fit(X[:120], y[:120])
    assert model.score(X[120:], y[120:]) > 0.98
    two = ElasticMLPRegressor(hidden_layer_sizes=(16,), random_state=0)
    two.fit(X[:120], np.stack([y, a], axis=1)[:120])
    assert two.predict(X[120:]).shape == (80, 2)
    assert two.score(X[120:], np.stack([y, a], axis=1)[120:]) > 0.97


def test_dense_layers_behind_the_elastic_one(rng):
    X, y, X_test, y_test = bumps()
    model = ElasticMLPClassifier(hidden_layer_sizes=(8, 6), random_state=0).fit(X, y)
    assert [V.shape for V in model.dense_coefs_] == [(8, 6), (6, 2)]
    assert [len(c) for c in model.dense_intercepts_] == [6, 2]
    assert model.score(X_test, y_test) > 0.97


# --- Kinds of input


def test_ragged_series_of_several_channels(rng):
    y = np.arange(40) % 3
    X = [rng.normal(size=(2, rng.integers(5, 10))) + np.array([[c], [-c]]) for c in y]
    model = ElasticMLPClassifier(**SMALL | {"max_iter": 60}).fit(X, y)
    assert model.coef_.shape == (4, max(x.shape[1] for x in X), 3, 2)
    assert model.score(X, y) > 0.9
    alone = np.concatenate([model.predict_proba([x]) for x in X])
    assert model.predict_proba(X) == pytest.approx(alone)


def test_symbols():
    words = ["GATTACA", "CATTAGA", "TACT", "ACTGACT"] * 3
    model = ElasticMLPClassifier(**SMALL | {"max_iter": 100}).fit(words, [0, 1, 0, 1] * 3)
    assert model.predict(words[:4]).tolist() == [0, 1, 0, 1]


def test_a_band_keeps_cells_out(data):
    X, y = data
    free, banded = (ElasticMLPClassifier(band=b, **SMALL).fit(X, y) for b in (None, 2))
    assert not np.allclose(free.predict_proba(X), banded.predict_proba(X))
    initial = ElasticMLPClassifier(
        band=2, **SMALL | {"max_iter": 1, "alpha": 0.0, "learning_rate_init": 0.0}
    )
    same = clone(initial).set_params(max_iter=5).fit(X, y)
    assert same.coef_.tolist() == initial.fit(X, y).coef_.tolist()  # a rate of 0 changes nothing


def test_initial_scores_are_standardized(data):
    X, y = data
    model = ElasticMLPClassifier(
        **SMALL | {"learning_rate_init": 0.0, "max_iter": 1, "activation": "relu"}
    )
    hidden = model.fit(X, y)._from_scores(np.asarray, X)
    assert hidden.mean(axis=0) == pytest.approx(np.zeros(4), abs=1e-12)
    assert hidden.std(axis=0) == pytest.approx(np.ones(4))


def test_level_and_size_of_the_series_do_not_matter(data):
    X, y = data
    one, other = (ElasticMLPClassifier(**SMALL).fit(Z, y) for Z in (X, 300 + 50 * X))
    assert other.predict_proba(300 + 50 * X) == pytest.approx(one.predict_proba(X), abs=1e-6)


def test_weights_of_examples_and_classes(data):
    X, y = data
    some = np.arange(24) % 3 > 0
    zero = ElasticMLPClassifier(**SMALL, shuffle=False, batch_size=100)
    one = clone(zero).fit(X, y, sample_weight=some.astype(float))
    other = clone(zero)
    other.fit(X[some], y[some])
    assert one.coef_.shape == other.coef_.shape
    heavy = clone(zero).set_params(class_weight={"no": 50.0}).fit(X, y)
    light = clone(zero).set_params(class_weight={"no": 0.02}).fit(X, y)
    assert (heavy.predict(X) == "no").sum() > (light.predict(X) == "no").sum()
    by_hand = clone(zero).fit(X, y, sample_weight=np.where(y == "no", 50.0, 1.0))
    assert by_hand.coef_.tolist() == heavy.coef_.tolist()


# --- Restarts and ends


def test_equal_seeds_give_equal_results(data, two_threads):
    X, y = data
    fits = [ElasticMLPClassifier(n_jobs=jobs, **SMALL).fit(X, y) for jobs in (1, 1, 2)]
    assert fits[0].coef_.tolist() == fits[1].coef_.tolist() == fits[2].coef_.tolist()
    other = ElasticMLPClassifier(**SMALL | {"random_state": 1}).fit(X, y)
    assert other.coef_.tolist() != fits[0].coef_.tolist()


def test_the_best_restart_is_kept(data):
    X, y = data
    several = ElasticMLPClassifier(n_init=4, **SMALL).fit(X, y)
    assert several.solutions_[0].risk < ElasticMLPClassifier(**SMALL).fit(X, y).solutions_[0].risk


def test_validation_fraction_ends_training_and_chooses_weights(rng):
    X, y = rng.normal(size=(60, 8)), np.arange(60) % 2  # nothing to learn
    settings = SMALL | {"max_iter": 200, "n_iter_no_change": 10, "learning_rate_init": 0.05}
    model = ElasticMLPClassifier(early_stopping=True, validation_fraction=0.25, **settings)
    model.fit(X, y)
    assert model.solutions_[0].reason == "no improvement"
    assert model.n_iter_ < 60
    assert model.solutions_[0].risk == model.history_[0].min()
    # Training without holding out goes on: the training risk falls for long.
    assert ElasticMLPClassifier(**settings).fit(X, y).n_iter_ > 1.5 * model.n_iter_


def test_a_warm_start_goes_on(data):
    X, y = data
    model = ElasticMLPClassifier(**SMALL, warm_start=True).fit(X, y)
    first = model.solutions_[0].risk
    assert model.fit(X, y).solutions_[0].risk < first
    with pytest.raises(ValueError, match=r"X must have 1 channel\(s\), .* got 2"):
        model.fit(np.stack([X, X], axis=1), y)
    with pytest.raises(ValueError, match="y must have 2 classes or targets, .* got 3"):
        model.fit(X, np.arange(24) % 3)


def test_partial_fit_is_an_epoch(data):
    X, y = data
    whole = ElasticMLPClassifier(**SMALL | {"max_iter": 3}, shuffle=False).fit(X, y)
    pieces = ElasticMLPClassifier(**SMALL, shuffle=False)
    for _ in range(3):
        pieces.partial_fit(X, y, classes=["no", "yes"])
    assert whole.solutions_[0].risk == whole.history_[0][-1]  # the last weights are the best
    assert pieces.coef_ == pytest.approx(whole.coef_)  # Adam's moments are carried on
    assert pieces.t_ == 3
    longer = np.hstack([X, X[:, ::-1]])
    pieces.partial_fit(longer, y)
    assert pieces.coef_.shape == (4, 16, 3)
    assert pieces.predict(X).shape == (24,)
    regression = ElasticMLPRegressor(**SMALL)
    for _ in range(40):
        regression.partial_fit(X, X[:, 2])
    assert regression.score(X, X[:, 2]) > 0.5


def test_a_solver_by_value(data):
    X, y = data
    named = ElasticMLPClassifier(**SMALL).fit(X, y)
    given = ElasticMLPClassifier(solver=Adam(), **SMALL).fit(X, y)
    assert given.coef_.tolist() == named.coef_.tolist()


# --- Storage and errors


@pytest.mark.parametrize("by", ["pickle", "skops"])
@pytest.mark.parametrize("kind", [ElasticMLPClassifier, ElasticMLPRegressor])
def test_saved_and_loaded(data, kind, by):
    X, y = data
    model = kind(**SMALL).fit(X, (y == "yes").astype(int))
    if by == "pickle":
        again = pickle.loads(pickle.dumps(model))
    else:
        saved = skops.io.dumps(model)
        again = skops.io.loads(saved, trusted=skops.io.get_untrusted_types(data=saved))
    assert again.predict(X).tolist() == model.predict(X).tolist()
    more = [
        found.partial_fit(X, (y == "yes").astype(int)).coef_.tolist() for found in (model, again)
    ]
    assert more[0] == more[1]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("hidden_layer_sizes", 0), ("hidden_layer_sizes", ()), ("hidden_layer_sizes", (4, 0.5)),
        ("activation", "step"), ("elasticity", -1), ("learning_rate_init", -1.0), ("alpha", np.nan),
        ("batch_size", 0), ("max_iter", 0), ("early_stopping", 0.1), ("monitor", "luck"),
        ("tol", "x"), ("n_init", 0), ("n_iter_no_change", 0), ("solver", "newton"),
    ],
)  # fmt: skip
def test_bad_parameters_are_named(data, name, value):
    with pytest.raises(ValueError, match=name):
        ElasticMLPClassifier(**SMALL | {name: value}).fit(*data)


def test_bad_input_is_named(data):
    X, y = data
    with pytest.raises(ValueError, match="y must hold at least two classes"):
        ElasticMLPClassifier().fit(X, np.zeros(24))
    with pytest.raises(ValueError, match=r"validation_fraction=0\.5 of 3 series leaves 1"):
        ElasticMLPClassifier(early_stopping=True, validation_fraction=0.5).fit(X[:3], [0, 1, 1])
    model = ElasticMLPClassifier(**SMALL).fit(X, y)
    with pytest.raises(ValueError, match=r"X\[0\] has length 16, longer than the longest"):
        model.predict(np.hstack([X, X]))
    with pytest.raises(ValueError, match="classes must be given"):
        ElasticMLPClassifier().partial_fit(X, y)
    regression = ElasticMLPRegressor(**SMALL).fit(X, X[:, 0])
    with pytest.raises(ValueError, match=r"y must have 1 target\(s\)"):
        regression.partial_fit(X, X[:, :2])


def test_an_activation_set_after_fit_is_checked(data):
    X, y = data
    model = ElasticMLPClassifier(max_iter=1, random_state=0).fit(X, y)
    model.activation = ("tanh",)
    with pytest.raises(ValueError, match="activation must be one of"):
        model.predict(X)
