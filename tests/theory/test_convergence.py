"""Convergence (sections 3.4 and 3.6 of the paper), as far as it can be shown in finite time.

For examples of the positive class the loss is not convex (see `test_convexity`), so the paper's
proofs give a stationary point and no more.  That elastic-linearly separable data end up separated
is what the margin perceptron theorem says; here it is seen on planted examples.
"""

import numpy as np
import pytest
from plans import solve
from scipy.optimize import nnls
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from warplearn import elastic_inner_product, value_and_gradient
from warplearn.linear_model.classifiers import ElasticAdaline, ElasticLinearSVC
from warplearn.training.losses import Logistic, Margin
from warplearn.training.plan import Model, Stopping
from warplearn.training.schedules import Constant, Decay


def separable(seed, n=8, m=3, count=30):
    """Series that a planted (W, b) separates with margin 1."""
    rng = np.random.default_rng(seed)
    X, W = rng.normal(size=(200, n)), rng.normal(size=(n, m))
    f = elastic_inner_product(X, W)
    b = -np.median(f)
    inside = np.abs(f + b) > 0.25 * np.abs(f + b).max()
    X, f = X[inside][:count], f[inside][:count] + b
    scale = np.abs(f).min()
    return X, np.sign(f), W / scale, b / scale


def trained(X, y, loss, start, stopping, *, schedule=Constant(), **options):
    (solution,) = solve(X, y, loss, [start], stopping, schedule=schedule, **options)
    return solution


# --- The margin perceptron theorem


@pytest.mark.parametrize("share", [1.0, 0.5])
@pytest.mark.parametrize("seed", range(6))
def test_margin_perceptron_separates_after_finitely_many_updates(seed, share):
    """A constant rate small enough, and a margin parameter of at most the margin of the data."""
    X, y, W, b = separable(seed)
    xi = share * 1.0
    assert (y * (elastic_inner_product(X, W) + b)).min() == pytest.approx(1.0)
    assert set(y) == {-1.0, 1.0}
    start = Model(np.zeros((1, 8, 3, 1)), np.zeros(1), 0.01, loss_parameters=(xi,))
    stopping = Stopping(max_iter=2000, monitor="loss", perfect=False, patience=2000)
    found = trained(X, y, Margin(xi), start, stopping)
    assert found.history[0] > 0
    last = int(np.flatnonzero(found.history)[-1])
    assert last < 1999, "updates did not come to an end"
    values = y * (elastic_inner_product(X, found.W[0, ..., 0]) + found.b[0])
    assert values.min() >= xi
    again = Model(found.W, found.b, 0.01, loss_parameters=(xi,))
    on = trained(X, y, Margin(xi), again, stopping._replace(max_iter=20))
    assert on.W.tolist() == found.W.tolist()
    assert on.b.tolist() == found.b.tolist()


def test_updates_do_not_end_where_data_are_not_separable():
    X, y, _, _ = separable(0)
    X[1], y[1] = X[0], -y[0]
    start = Model(np.zeros((1, 8, 3, 1)), np.zeros(1), 0.01, loss_parameters=(1.0,))
    stopping = Stopping(max_iter=500, monitor="loss", perfect=False, patience=500)
    found = trained(X, y, Margin(1.0), start, stopping)
    assert found.history.min() >= 2 / 30 - 1e-12  # of a contradiction one half is always wrong
    assert found.mistakes >= 1


# --- The full batch


def risk_and_gradient(X, y, theta, shape, lam):
    """The mean logistic loss with an L2 penalty, and the generalized gradient."""
    W, b = theta[:-1].reshape(shape), theta[-1]
    f = elastic_inner_product(X, W) + b
    slopes = -y / (1 + np.exp(y * f)) / len(y)
    to_W = value_and_gradient(X, W, upstream=slopes).W + 2 * lam * W
    risk = np.logaddexp(0, -y * f).mean() + lam * (W**2).sum()
    return risk, np.append(to_W.ravel(), slopes.sum())


def descend(X, y, m, lam, eta, epochs, schedule=Constant()):
    start = Model(
        0.1 * np.random.default_rng(1).normal(size=(1, X.shape[1], m, 1)), np.zeros(1), eta, lam
    )
    stopping = Stopping(max_iter=epochs, monitor="loss", perfect=False, patience=epochs)
    found = trained(X, y, Logistic(), start, stopping, schedule=schedule, batch_size=len(X))
    first = np.append(start.W.ravel(), start.b)
    return found, first, np.append(found.W.ravel(), found.b)


def test_one_column_descends_to_the_minimum():
    """Smooth and convex: every step goes down, to the minimum that scikit-learn finds."""
    rng = np.random.default_rng(0)
    X, y, lam = rng.normal(size=(20, 6)), np.where(np.arange(20) % 3, 1.0, -1.0), 0.05
    found, _, theta = descend(X, y, 1, lam, 0.5, 1500)
    steps = np.diff(found.history)
    assert (steps <= 1e-15).all()
    assert (steps[:50] < 0).all()
    risk, gradient = risk_and_gradient(X, y, theta, (6, 1), lam)
    assert np.linalg.norm(gradient) < 1e-6
    assert risk == pytest.approx(found.risk, rel=1e-12)
    ref = LogisticRegression(C=1 / (2 * lam * 20), tol=1e-10, max_iter=1000).fit(X, y)
    assert found.W.ravel() == pytest.approx(ref.coef_.ravel(), abs=1e-5)
    assert found.b == pytest.approx(ref.intercept_, abs=1e-5)


def least_norm(gradients):
    """The norm of the shortest vector in the convex hull of the rows."""
    weight = 1e3
    rows = np.vstack([gradients.T, np.full(len(gradients), weight)])
    shares, _ = nnls(rows, np.append(np.zeros(gradients.shape[1]), weight))
    return np.linalg.norm(shares / shares.sum() @ gradients)


@pytest.mark.parametrize("seed", [0, 3])
def test_risk_decreases_to_a_stationary_point(seed):
    """Paths tie where the method comes to rest, and the gradient of a single one does not vanish.

    Stationary means that 0 is in the subdifferential: near enough, the convex hull of the
    gradients at points nearby.
    """
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(20, 6)), np.where(rng.random(20) > 0.5, 1.0, -1.0)
    found, first, theta = descend(X, y, 3, 0.01, 0.5, 3000, Decay(0.01))
    assert found.risk < found.history[0] - 0.05
    near = 1e-2 * rng.uniform(-1, 1, size=(300, theta.size))

    def hull(at):
        return np.array([risk_and_gradient(X, y, at + step, (6, 3), 0.01)[1] for step in near])

    assert least_norm(hull(theta)) < 0.03 * least_norm(hull(first))


@pytest.mark.parametrize("eta", [0.02, 0.2])
def test_risk_rises_by_no_more_than_a_constant_rate_allows(eta):
    """Across a kink a step may go up, by an amount in proportion to the rate."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 6)), np.where(rng.random(20) > 0.5, 1.0, -1.0)
    found, _, _ = descend(X, y, 3, 0.01, eta, 300)
    assert np.diff(found.history).max() < 0.02 * eta
    assert found.history[-1] < found.history[0]
    early = found.history[: int(0.4 / eta)]
    assert (np.diff(early) < 0).all()


# --- Rates too large


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "model",
    [
        ElasticAdaline(learning_rate_init=1.0, polarity="first"),
        ElasticLinearSVC(learning_rate_init=10.0, alpha=10.0, polarity="first"),
    ],
    ids=["square", "penalty"],
)
def test_diverging_rates_are_caught(model, dtype):
    X = np.random.default_rng(0).normal(size=(20, 8)).astype(dtype)
    model.set_params(elasticity=3, monitor="loss", random_state=0)
    with pytest.warns(ConvergenceWarning, match="diverged"):
        model.fit(X, np.arange(20) % 2)
    assert model.solutions_[0].reason == "diverged"
    assert model.n_iter_ < model.max_iter
    assert np.isfinite(model.coef_).all()
    assert np.isfinite(model.intercept_).all()
    assert np.isfinite(model.decision_function(X)).all()
