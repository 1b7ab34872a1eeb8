"""What is convex about elastic linear classifiers, and what is not (section 3.4 and appendix).

The elastic inner product is a maximum of linear functions, so convex in the matrix and in the
series.  A loss that falls with the output, that of an example of the positive class, is not.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from warplearn import elastic_inner_product, value_and_gradient

SEEDS = st.integers(0, 10**6)
SHARES = st.floats(0, 1)


def draw(seed, n=6, m=3):
    """A series and two matrices, of whole numbers now and then so that paths tie."""
    rng = np.random.default_rng(seed)
    make = rng.normal if seed % 2 else (lambda size: rng.integers(-2, 3, size=size).astype(float))
    return make(size=n), make(size=(n, m)), make(size=(n, m))


def sigma(x, W):
    return elastic_inner_product([x], W)[0]


@given(seed=SEEDS, share=SHARES)
def test_convex_in_the_matrix(seed, share):
    x, U, V = draw(seed)
    between = sigma(x, share * U + (1 - share) * V)
    assert between <= share * sigma(x, U) + (1 - share) * sigma(x, V) + 1e-12


@given(seed=SEEDS, share=SHARES)
def test_convex_in_the_series(seed, share):
    """So the series of the negative class lie in a convex set."""
    x, W, V = draw(seed)
    z = V[:, 0]
    between = sigma(share * x + (1 - share) * z, W)
    assert between <= share * sigma(x, W) + (1 - share) * sigma(z, W) + 1e-12
    b = -max(sigma(x, W), sigma(z, W)) - 1e-9
    assert between + b < 0


@given(seed=SEEDS, factor=st.floats(0, 100))
def test_positive_homogeneity(seed, factor):
    x, W, _ = draw(seed)
    ref = pytest.approx(factor * sigma(x, W), rel=1e-12, abs=1e-11)
    assert sigma(x, factor * W) == ref
    assert sigma(factor * x, W) == ref


def test_no_homogeneity_in_negative_factors():
    x, W = np.ones(2), np.array([[1.0, 5.0], [0.0, 1.0]])
    assert sigma(x, W) == 7
    assert sigma(x, -W) == -2  # not -7: the least sum of all paths, negated


@given(seed=SEEDS)
def test_generalized_gradients_are_subgradients(seed):
    """The gradient along the active path supports the function from below, ties or not."""
    x, W, V = draw(seed)
    found = value_and_gradient([x], W)
    assert sigma(x, V) >= found.values[0] + np.sum(found.W * (V - W)) - 1e-12


@given(seed=SEEDS, share=SHARES)
def test_losses_of_the_negative_class_are_convex(seed, share):
    x, U, V = draw(seed)

    def hinge(W):
        return max(0.0, 1 + sigma(x, W))

    def logistic(W):
        return np.logaddexp(0, sigma(x, W))

    for loss in (hinge, logistic):
        between = loss(share * U + (1 - share) * V)
        assert between <= share * loss(U) + (1 - share) * loss(V) + 1e-12


def test_losses_of_the_positive_class_are_not():
    """Two matrices without loss, each by a path of its own; halfway between, neither path is good."""
    x = np.ones(2)
    U, V = np.array([[0.0, 1.0], [0.0, 0.0]]), np.array([[0.0, 0.0], [1.0, 0.0]])

    def hinge(W):
        return max(0.0, 1 - sigma(x, W))

    assert (hinge(U), hinge(V)) == (0, 0)
    assert hinge((U + V) / 2) == 0.5
    logistic = [np.logaddexp(0, -9 * sigma(x, W)) for W in (U, V, (U + V) / 2)]
    assert logistic[2] > 50 * max(logistic[:2])
