"""Penalties: values, derivatives, kinks, a penalty of one's own, and what they do to weights."""

from typing import NamedTuple

import naive
import numpy as np
import pytest
from plans import solve

from warplearn._kernels.drivers.weights import penalty_of
from warplearn._kernels.simd.constants import Static
from warplearn.elastic.costs import absolute, where
from warplearn.linear_model.classifiers import ElasticLinearSVC, ElasticLogisticRegression
from warplearn.training import penalties
from warplearn.training.losses import Margin
from warplearn.training.penalties import L1, L2
from warplearn.training.plan import Model, Stopping


class ElasticNet(NamedTuple):
    """A user's penalty: a mixture of both."""

    share: float = 0.5


def net(penalty, w):
    return penalty.share * absolute(w) + (1.0 - penalty.share) * w * w


def net_slope(penalty, w):
    one = where(w > 0.0, w * 0.0 + 1.0, w * 0.0 - 1.0)
    return penalty.share * one + (2.0 - 2.0 * penalty.share) * w


penalties.register(ElasticNet, net, net_slope)


def compiled(penalty, w):
    slopes = np.empty_like(w)
    return penalty_of(Static(8), penalty, w, slopes), slopes


@pytest.mark.parametrize(
    ("penalty", "reference"),
    [
        (L2(), lambda w: (w**2).sum()),
        (L1(), lambda w: np.abs(w).sum()),
        (ElasticNet(0.25), lambda w: (0.25 * np.abs(w) + 0.75 * w**2).sum()),
    ],
    ids=["L2", "L1", "ElasticNet"],
)
def test_value_and_derivative(penalty, reference, rng):
    w = rng.normal(size=24)
    value, slopes = compiled(penalty, w)
    assert value == pytest.approx(reference(w))
    assert slopes == pytest.approx(naive.finite_differences(reference, w), abs=1e-7)


@pytest.mark.parametrize("penalty", [L1(), L2()], ids=repr)
def test_slope_at_zero_is_zero(penalty):
    """The rule at L1's kink: a weight of 0 stays where it is."""
    value, slopes = compiled(penalty, np.array([0.0, -0.0] * 4))
    assert value == 0
    assert slopes.tolist() == [0.0] * 8


def test_names():
    assert isinstance(penalties.resolve("l1"), L1)
    assert isinstance(penalties.resolve("l2"), L2)
    assert penalties.resolve(ElasticNet(0.1)) == ElasticNet(0.1)


@pytest.mark.parametrize("wrong", ["l3", None, 2, L2])
def test_wrong_penalties_are_named(wrong):
    with pytest.raises((TypeError, ValueError), match="penalty must be one of .* got"):
        penalties.resolve(wrong)


def test_a_penalty_of_ones_own_counts_in_the_risk_and_in_the_step(rng):
    """Where the loss is flat, the step is the penalty's alone."""
    X, penalty = rng.normal(size=(4, 5)), ElasticNet(0.25)
    W, b = rng.normal(size=(1, 5, 2, 1)), np.full(1, 1e3)
    stopping = Stopping(max_iter=1, monitor="loss", perfect=False)
    models = [Model(W, b, 0.1, lam=0.5)]
    (got,) = solve(X, np.ones(4), Margin(1.0), models, stopping, penalty=penalty, batch_size=4)
    assert got.b == b
    assert pytest.approx(W - 0.1 * 0.5 * (0.25 * np.sign(W) + 1.5 * W)) == got.W
    assert got.risk == pytest.approx(0.5 * (0.25 * np.abs(got.W) + 0.75 * got.W**2).sum())


@pytest.mark.parametrize("penalty", ["l1", "l2"])
def test_stronger_penalties_make_smaller_weights(penalty, rng):
    X = rng.normal(size=(20, 6))
    y = X[:, 2] > 0
    # Those of the naive epoch in test_losses are compiled already.
    classifier = {"l1": ElasticLogisticRegression, "l2": ElasticLinearSVC}[penalty]
    sizes = [
        np.abs(
            classifier(
                elasticity=2, penalty=penalty, alpha=lam, max_iter=50, random_state=0,
                monitor="loss", tol=None, polarity="first",
            ).fit(X, y).coef_
        ).sum()
        for lam in (0.001, 0.05, 0.5)
    ]  # fmt: skip
    assert sizes[0] > 1.5 * sizes[1] > 3 * sizes[2]
