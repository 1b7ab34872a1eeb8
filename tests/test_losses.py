"""Losses: values, derivatives, kinks; and steps of every kind against a naive epoch."""

import math
from typing import NamedTuple

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from plans import solve
from scipy.special import expit, log_softmax, softmax
from sklearn.linear_model import SGDRegressor
from sklearn.metrics import log_loss

from warplearn._kernels.drivers.judging import risks_of, slopes_of
from warplearn._kernels.recursion.grid import Band
from warplearn.elastic import costs
from warplearn.linear_model.classifiers import (
    ElasticAdaline,
    ElasticLinearSVC,
    ElasticLogisticRegression,
    ElasticMarginPerceptron,
    ElasticPerceptron,
)
from warplearn.training import losses
from warplearn.training.losses import (
    AbsoluteError,
    LeastSquares,
    Logistic,
    Margin,
    Softmax,
    SquaredError,
)
from warplearn.training.penalties import L1, L2
from warplearn.training.plan import Model, Stopping
from warplearn.training.schedules import Decay


class Huber(NamedTuple):
    """A user's loss: half the square of a small error, and linear beyond delta."""

    delta: float = 1.0


def huber(loss, y, f):
    u = abs(f - y)
    return 0.5 * u * u if u <= loss.delta else loss.delta * (u - 0.5 * loss.delta)


def huber_slope(loss, y, f):
    return min(max(f - y, -loss.delta), loss.delta)


losses.register(Huber, huber, huber_slope)

KEEP_THE_LAST = Stopping(max_iter=1, monitor="loss", perfect=False)


# --- Values and derivatives


@pytest.mark.parametrize(
    ("loss", "y", "f", "value", "slope"),
    [
        (Logistic(), 1, 0, math.log(2), -0.5),
        (Logistic(), -1, 0, math.log(2), 0.5),
        (Logistic(), 1, 2, math.log(1 + math.exp(-2)), -1 / (1 + math.exp(2))),
        (Logistic(), -1, 2, math.log(1 + math.exp(2)), 1 / (1 + math.exp(-2))),
        (Margin(0.0), 1, 2, 0, 0),
        (Margin(0.0), 1, -2, 2, -1),
        (Margin(0.0), 1, 0, 0, -1),  # on the kink the step is taken
        (Margin(0.0), -1, 0, 0, 1),
        (Margin(0.0), -1, 1e-300, 1e-300, 1),
        (Margin(0.0), -1, -1e-300, 0, 0),
        (Margin(1.0), 1, 1, 0, -1),
        (Margin(1.0), -1, -1, 0, 1),
        (Margin(1.0), 1, np.nextafter(1, 2), 0, 0),
        (Margin(1.0), 1, 0.25, 0.75, -1),
        (Margin(0.5), -1, 2, 2.5, 1),
        (Margin(0.5), -1, -0.5, 0, 1),
        (LeastSquares(), 1, 3, 2, 2),
        (LeastSquares(), -1, -1, 0, 0),
        (LeastSquares(), 0.5, 0.25, 0.03125, -0.25),
        (Huber(1.0), 2.0, 2.5, 0.125, 0.5),
        (Huber(1.0), 2.0, -3.0, 4.5, -1),
    ],
)
def test_value_table(loss, y, f, value, slope):
    assert losses.value(loss, y, f) == pytest.approx(value, rel=1e-12, abs=1e-300)
    assert losses.slope(loss, y, f) == pytest.approx(slope)
    values, slopes, _ = compiled(loss, [[float(y)]], [[float(f)]])
    assert values[0] == pytest.approx(value, rel=1e-12, abs=1e-300)
    assert slopes[0, 0] == pytest.approx(slope)


def compiled(loss, y, f):
    """What kernels make of the targets and outputs (cases, size) of one model."""
    y, f = np.array(y, float), np.array(f, float)
    size, parameters = f.shape[1], np.array([tuple(loss)], float).reshape(1, -1)
    slopes, values, wrong = np.empty_like(f), np.empty(len(f)), np.empty(len(f))
    slopes_of(loss, parameters, size, y, f, slopes)
    for i in range(len(f)):
        value, mistakes = np.empty(1), np.empty(1)
        rows = slice(i, i + 1)
        risks_of(loss, parameters, size, y[rows], f[rows], np.ones(1), value, mistakes)
        values[i], wrong[i] = value[0], mistakes[0]
    return values, slopes, wrong


def kinks(loss, y):
    """Outputs near which a numerical derivative is none."""
    if isinstance(loss, Margin):
        return [loss.xi * y]
    return [y - loss.delta, y + loss.delta] if isinstance(loss, Huber) else []


@pytest.mark.parametrize(
    "loss", [Logistic(), Margin(0.0), Margin(0.7), LeastSquares(), Huber(0.6)], ids=repr
)
@given(f=st.floats(-30, 30), y=st.sampled_from([-1.0, 1.0]))
def test_slope_is_the_derivative(loss, f, y):
    if any(abs(f - kink) < 1e-4 for kink in kinks(loss, y)):
        return
    ref = (losses.value(loss, y, f + 1e-5) - losses.value(loss, y, f - 1e-5)) / 2e-5
    assert losses.slope(loss, y, f) == pytest.approx(ref, rel=1e-5, abs=1e-7)


@pytest.mark.parametrize("f", [50.0, 800.0, 1e6, 1e300])
def test_large_outputs_do_not_overflow(f):
    values, slopes, _ = compiled(Logistic(), [[1.0], [-1.0]], [[f], [f]])
    assert values == pytest.approx([0.0, f], rel=1e-12, abs=1e-20)
    assert slopes[:, 0] == pytest.approx([0.0, 1.0], abs=1e-20)
    assert losses.value(Logistic(), 1.0, -f) == pytest.approx(f)
    values, slopes, _ = compiled(Softmax(), np.eye(3)[[0, 1]], [[f, 0.0, -f]] * 2)
    assert values == pytest.approx([0.0, f], rel=1e-12, abs=1e-20)
    assert slopes == pytest.approx(np.array([[0.0, 0.0, 0.0], [1.0, -1.0, 0.0]]), abs=1e-20)


@pytest.mark.parametrize("loss", [Logistic(), Margin(0.0), Margin(1.0), LeastSquares()], ids=repr)
@pytest.mark.parametrize("y", [-1.0, 1.0])
def test_not_a_number_is_not_hidden(loss, y):
    values, _, _ = compiled(loss, [[y]], [[math.nan]])
    assert math.isnan(values[0])
    assert math.isnan(losses.value(loss, y, math.nan))


# --- Several outputs


@pytest.mark.parametrize("loss", [Logistic(), Margin(0.5), LeastSquares()], ids=repr)
def test_two_outputs_are_their_difference(loss, rng):
    y = rng.choice([-1.0, 1.0], size=(20, 1))
    f = rng.normal(size=(20, 2))
    values, slopes, wrong = compiled(loss, np.repeat(y, 2, axis=1), f)
    ref_values, ref_slopes, ref_wrong = compiled(loss, y, f[:, :1] - f[:, 1:])
    assert values.tolist() == ref_values.tolist()
    assert wrong.tolist() == ref_wrong.tolist()
    assert slopes.tolist() == np.hstack([ref_slopes, -ref_slopes]).tolist()


def test_softmax_against_scipy_and_sklearn(rng):
    f, labels = 5 * rng.normal(size=(40, 4)), rng.integers(0, 4, size=40)
    y = np.eye(4)[labels]
    values, slopes, wrong = compiled(Softmax(), y, f)
    assert values == pytest.approx(-(y * log_softmax(f, axis=1)).sum(axis=1))
    assert values.mean() == pytest.approx(log_loss(labels, softmax(f, axis=1)))
    assert slopes == pytest.approx(softmax(f, axis=1) - y)
    assert wrong.tolist() == (f.argmax(axis=1) != labels).astype(float).tolist()


def test_softmax_over_two_outputs_is_logistic(rng):
    f, y = rng.normal(size=(20, 2)), rng.choice([-1.0, 1.0], size=20)
    both, slopes, _ = compiled(Softmax(), np.stack([y > 0, y < 0], axis=1), f)
    one, ref, _ = compiled(Logistic(), y[:, None], f[:, :1] - f[:, 1:])
    assert both == pytest.approx(one)
    assert slopes[:, 0] == pytest.approx(ref[:, 0])


@pytest.mark.parametrize(
    ("y", "f", "wrong"), [(1.0, 0.0, 0), (-1.0, 0.0, 1), (1.0, -1e-9, 1), (-1.0, -1e-9, 0)]
)
def test_outputs_of_zero_are_of_the_positive_class(y, f, wrong):
    assert compiled(Margin(1.0), [[y]], [[f]])[2][0] == wrong


@pytest.mark.parametrize(
    ("estimator", "loss"),
    [
        (ElasticPerceptron(), Margin(0.0)),
        (ElasticMarginPerceptron(margin=0.25), Margin(0.25)),
        (ElasticLinearSVC(), Margin(1.0)),
        (ElasticLogisticRegression(), Logistic()),
        (ElasticAdaline(), LeastSquares()),
    ],
    ids=lambda case: type(case).__name__,
)
def test_classifiers_are_their_losses(estimator, loss):
    found = estimator._binary_loss()
    assert (type(found), tuple(found)) == (type(loss), tuple(loss))


# --- One epoch, step by step, against a slow reference

NAIVE_VALUES = {
    Logistic: lambda loss, y, f: np.logaddexp(0, -y[0] * f[0]),
    Margin: lambda loss, y, f: max(0.0, loss.xi - y[0] * f[0]),
    LeastSquares: lambda loss, y, f: (y[0] - f[0]) ** 2 / 2,
    Huber: lambda loss, y, f: huber(loss, y[0], f[0]),
    Softmax: lambda loss, y, f: -log_softmax(f)[y > 0].sum(),
}
NAIVE_SLOPES = {
    Logistic: lambda loss, y, f: -y * expit(-y * f),
    Margin: lambda loss, y, f: np.where(y * f <= loss.xi, -y, 0.0),
    LeastSquares: lambda loss, y, f: f - y,
    Huber: lambda loss, y, f: np.clip(f - y, -loss.delta, loss.delta),
    Softmax: lambda loss, y, f: softmax(f) - y,
}
NAIVE_PENALTIES = {
    L2: (lambda W: (W**2).sum(), lambda W: 2 * W),
    L1: (lambda W: np.abs(W).sum(), np.sign),
}


def naive_outputs(x, W, b, cost, band):
    """The outputs of a model for one series, with the active paths."""
    found = [naive.best(naive.local_scores(x, w, naive.SCORES[cost]), band) for w in W]
    return np.array([score for score, _, _ in found]) + b, [path for _, path, _ in found]


def naive_loss(functions, loss, y, f):
    """The value or the slopes for one example; two outputs of a scalar loss are a difference."""
    if len(f) == 2 and not isinstance(loss, Softmax):
        found = functions[type(loss)](loss, y[:1], f[:1] - f[1:])
        return found if np.isscalar(found) else np.array([found[0], -found[0]])
    return functions[type(loss)](loss, y, f)


def naive_epoch(X, y, weights, W, b, loss, *, eta, lam, penalty, cost, band):
    """The incremental generalized gradient method, one pass over the examples in their order."""
    W, b = W.copy(), b.copy()
    for x, target, weight in zip(X, y.T, weights, strict=True):
        f, paths = naive_outputs(x, W, b, cost, band)
        slopes = naive_loss(NAIVE_SLOPES, loss, target, f)
        before = W.copy()
        for c, path in enumerate(paths):
            _, gradient = naive.gradient_along(path, x, before[c], naive.SLOPES[cost])
            shrink = lam * NAIVE_PENALTIES[type(penalty)][1](before[c])
            W[c] -= eta * weight * (slopes[c] * gradient + shrink)
            b[c] -= eta * weight * slopes[c]
    return W, b


def naive_risk(X, y, weights, W, b, loss, *, lam, penalty, cost, band):
    f = [naive_outputs(x, W, b, cost, band)[0] for x in X]
    values = [naive_loss(NAIVE_VALUES, loss, t, g) for t, g in zip(y.T, f, strict=True)]
    return np.average(values, weights=weights) + lam * NAIVE_PENALTIES[type(penalty)][0](W)


@pytest.mark.parametrize(
    ("loss", "size", "channels", "cost", "band", "penalty", "lam", "batch_size"),
    [
        (Margin(0.7), 1, 1, "product", None, L2(), 0.0, None),
        (Margin(0.7), 1, 1, "product", None, L2(), 0.0, 1),
        (Margin(0.0), 2, 1, "product", None, L2(), 0.05, None),
        (Margin(0.0), 2, 1, "product", None, L2(), 0.05, 1),
        pytest.param(Logistic(), 1, 1, "product", None, L1(), 0.05, None, marks=pytest.mark.slow),
        pytest.param(Logistic(), 1, 1, "product", None, L1(), 0.05, 1, marks=pytest.mark.slow),
        pytest.param(Logistic(), 2, 1, "product", None, L2(), 0.0, None, marks=pytest.mark.slow),
        pytest.param(LeastSquares(), 1, 1, "product", 2, L2(), 0.05, None, marks=pytest.mark.slow),
        pytest.param(Margin(1.0), 1, 2, "product", None, L2(), 0.0, None, marks=pytest.mark.slow),
        (Softmax(), 3, 1, "product", None, L2(), 0.0, None),
        (Softmax(), 3, 1, "product", None, L2(), 0.0, 1),
        (Huber(0.5), 1, 1, "product", None, L2(), 0.0, None),
        (Huber(0.5), 1, 1, "product", None, L2(), 0.0, 1),
        pytest.param(Huber(0.5), 1, 1, "squared", None, L2(), 0.0, None, marks=pytest.mark.slow),
    ],
    ids=lambda case: type(case).__name__ if isinstance(case, tuple) else repr(case),
)
def test_an_epoch_is_the_naive_one(loss, size, channels, cost, band, penalty, lam, batch_size, rng):
    lengths = [6, 4, 5, 6, 3, 6, 5]
    X = [rng.normal(size=(channels, k)) for k in lengths]
    weights = np.array([1.0, 0.5, 2.0, 1.0, 0.0, 1.5, 1.0])
    labels = rng.integers(0, max(size, 2), size=len(X))
    y = np.eye(3)[labels].T if size == 3 else np.tile(2.0 * labels - 1, (size, 1))
    W, b = rng.normal(size=(size, 6, 3, channels)), rng.normal(size=size)
    options = {"lam": lam, "penalty": penalty, "cost": cost, "band": band}

    columns = [x.T for x in X]
    ref_W, ref_b = naive_epoch(columns, y, weights, W, b, loss, eta=0.1, **options)
    ref_risk = naive_risk(columns, y, weights, ref_W, ref_b, loss, **options)

    model = Model(W, b, 0.1, lam, tuple(loss), tuple(range(size)))
    (got,) = solve(
        X, y, loss, [model], KEEP_THE_LAST, n_outputs=size, cost=costs.resolve(cost)[0],
        band=None if band is None else Band(band), penalty=penalty, weights=weights,
        shuffle=False, batch_size=batch_size, schedule=Decay(0.0),
    )  # fmt: skip
    assert got.W == pytest.approx(ref_W, abs=1e-10)
    assert got.b == pytest.approx(ref_b, abs=1e-10)
    assert got.risk == pytest.approx(ref_risk, abs=1e-10)
    assert np.abs(got.W - W).max() > 0.01


# --- Losses of one's own


class Pinball(NamedTuple):
    """A user's loss of several outputs: the quantile `tau` of each target."""

    tau: float = 0.5


def pinball(loss, y, f):
    total = 0.0
    for c in range(len(f)):
        error = y[c] - f[c]
        total += max(loss.tau * error, (loss.tau - 1.0) * error)
    return total


def pinball_slopes(loss, y, f, out):
    for c in range(len(f)):
        out[c] = 1.0 - loss.tau if f[c] > y[c] else -loss.tau


losses.register_joint(Pinball, pinball, pinball_slopes, name="pinball")


def test_a_loss_of_several_outputs_is_as_easy_to_add(rng):
    X = rng.normal(size=(60, 6))
    y = np.stack([X[:, 1], -X[:, 2]]) + rng.exponential(size=(2, 60))
    start = Model(np.zeros((2, 6, 1, 1)), np.zeros(2), 0.02, rows=(0, 1))
    stopping = Stopping(max_iter=300, monitor="loss", perfect=False, patience=300)
    below = {}
    for tau in (0.2, 0.8):
        (got,) = solve(X, y, Pinball(tau), [start], stopping, schedule=Decay(0.1), n_outputs=2)
        f = X @ got.W[:, :, 0, 0].T + got.b
        below[tau] = (y.T < f).mean(axis=0)
    assert below[0.2] == pytest.approx([0.2, 0.2], abs=0.08)
    assert below[0.8] == pytest.approx([0.8, 0.8], abs=0.08)
    assert losses.resolve("pinball") == Pinball(0.5)


@pytest.mark.parametrize(
    "loss", [SquaredError(), AbsoluteError(), losses.Huber(0.7), Pinball(0.3)], ids=repr
)
def test_slopes_of_several_outputs_are_derivatives(loss, rng):
    y, f = rng.normal(size=(2, 20, 3))
    _, slopes, wrong = compiled(loss, y, f)
    assert not wrong.any()
    for c in range(3):
        up, down = f.copy(), f.copy()
        up[:, c] += 1e-6
        down[:, c] -= 1e-6
        ref = (compiled(loss, y, up)[0] - compiled(loss, y, down)[0]) / 2e-6
        assert slopes[:, c] == pytest.approx(ref, abs=1e-6)


def test_huber_with_one_column_is_that_of_sklearn(rng):
    """Elasticity 1 is the linear model: the same steps as scikit-learn's."""
    X, outliers = rng.normal(size=(30, 6)), np.where(np.arange(30) % 7 == 0, 25.0, 0.0)
    y = X @ rng.normal(size=6) + outliers
    start = Model(np.zeros((1, 6, 1, 1)), np.zeros(1), 0.01, loss_parameters=(0.5,))
    stopping = Stopping(max_iter=20, monitor="loss", perfect=False)
    (got,) = solve(X, y, Huber(0.5), [start], stopping, schedule=Decay(0.0), shuffle=False)
    epochs = int(got.history.argmin()) + 1
    ref = SGDRegressor(
        loss="huber", epsilon=0.5, penalty=None, learning_rate="constant", eta0=0.01,
        shuffle=False, max_iter=epochs, tol=None,
    ).fit(X, y)  # fmt: skip
    assert got.W.ravel() == pytest.approx(ref.coef_)
    assert got.b == pytest.approx(ref.intercept_)
    assert got.history.shape == (20,)


def test_huber_resists_outliers_that_squares_do_not(rng):
    """An elastic regression on real targets, with the user's loss and with the library's."""
    X, truth = rng.normal(size=(40, 8)), rng.normal(size=(1, 8, 3, 1))
    clean = np.array([naive.elastic(x[:, None], truth[0], "product") for x in X])
    spoilt = clean + np.where(np.arange(40) % 8 == 0, 60.0, 0.0)
    errors = {}
    for loss in (Huber(0.5), LeastSquares()):
        start = Model(truth.copy(), np.zeros(1), 0.01)
        stopping = Stopping(max_iter=60, monitor="loss", perfect=False)
        (got,) = solve(X, spoilt, loss, [start], stopping, schedule=Decay(0.1))
        f = [naive.elastic(x[:, None], got.W[0], "product") + got.b[0] for x in X]
        errors[type(loss)] = np.median(np.abs(f - clean))
    assert errors[Huber] < 0.3 * errors[LeastSquares]


def test_an_unknown_loss_is_named():
    class Unknown(NamedTuple):
        pass

    assert losses.resolve(Huber()) == Huber()
    assert losses.resolve("logistic") == Logistic()
    with pytest.raises(TypeError, match="loss must be"):
        losses.resolve(Huber)
    with pytest.raises(ValueError, match="loss must be one of .*'softmax'.* got 'hing'"):
        losses.resolve("hing")
    model = Model(np.zeros((1, 2, 1, 1)), np.zeros(1), 0.1)
    with pytest.raises(TypeError, match="loss must be .* got Unknown"):
        solve(np.eye(2), np.ones(2), Unknown(), [model])
