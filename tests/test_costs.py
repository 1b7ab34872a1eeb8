"""Costs of the user's own: values, gradients, and a cache that is never stale."""

from types import ModuleType
from typing import NamedTuple

import naive
import numba
import numpy as np
import pytest

from warplearn import dtw, elastic_distance, pairwise_dtw, value_and_gradient
from warplearn._kernels.drivers.evaluate import run_serial
from warplearn.elastic import costs
from warplearn.elastic.costs import (
    Gaussian,
    absolute,
    like,
    maximum,
    register,
    register_induced,
    root,
    where,
)


class Huber(NamedTuple):
    """`-(x - w)^2 / 2` near 0, beyond `delta` linear."""

    delta: float = 1.0


def _huber(cost, x, w):
    distance = absolute(x - w)
    near = 0.5 * distance * distance
    return -where(distance <= cost.delta, near, cost.delta * (distance - 0.5 * cost.delta))


def _huber_gradient(cost, x, w):
    bound = like(x, cost.delta)
    slope = maximum(-bound, -maximum(-bound, w - x))
    return -slope, slope


register(Huber, _huber, _huber_gradient, symmetric=True)


def naive_huber(delta):
    def score(x, w):
        distance = abs(x - w)
        near = distance**2 / 2
        return -(near if distance <= delta else delta * (distance - delta / 2))

    return score


class Pinball(NamedTuple):
    """Three times as dear where x is the greater: not symmetric."""


def _pinball(cost, x, w):
    return -maximum(3.0 * (x - w), w - x)


def _pinball_gradient(cost, x, w):
    slope = where(x > w, like(x, -3.0), like(x, 1.0))
    return slope, -slope


register(Pinball, _pinball, _pinball_gradient)


class Linear(NamedTuple):
    """Induced by the similarity kernel `x w`: the squared difference once more."""


register_induced(Linear, lambda cost, x, w: x * w, lambda cost, x, w: (w, x))


class Root(NamedTuple):
    """`-sqrt(|x - w|)`, whose slope at x = w is infinite."""


def _root(cost, x, w):
    return -root(absolute(x - w))


def _root_gradient(cost, x, w):
    steep = 0.5 / root(absolute(x - w))
    slope = where(x > w, -steep, steep)
    return slope, -slope


register(Root, _root, _root_gradient)


# --- Values and gradients


@pytest.mark.parametrize("delta", [0.3, 1.0, 50.0])
def test_values_of_a_new_cost(delta, rng):
    X = [rng.normal(size=n) for n in (9, 4, 7)]
    ref = naive.pairwise(X, X, cost="absolute", score=naive_huber(delta))
    np.testing.assert_allclose(pairwise_dtw(X, cost=Huber(delta)), ref, atol=1e-12)
    assert dtw(X[0], X[1], cost=Huber(delta)) == pytest.approx(ref[0, 1])


def test_gradients_of_a_new_cost(rng):
    x, W = rng.normal(size=7), 2 * rng.normal(size=(8, 3))
    got = value_and_gradient([x], W, cost=Huber(0.7))

    def value(x, W):
        local = naive.local_scores(x[:, None], W[:, :, None], naive_huber(0.7))
        return -naive.best(local)[0]

    assert got.values[0] == pytest.approx(value(x, W))
    by_x = naive.finite_differences(lambda at: value(at, W), x)
    by_matrix = naive.finite_differences(lambda at: value(x, at), W)
    np.testing.assert_allclose(got.X[0], by_x, atol=1e-6)
    np.testing.assert_allclose(got.W, by_matrix, atol=1e-6)


def test_parameters_do_not_compile_anew(rng):
    x, y = rng.normal(size=(2, 6))
    dtw(x, y, cost=Gaussian())
    known = list(run_serial.signatures)
    for gamma in (2, 0.1, np.float32(3.0)):
        got = dtw(x, y, cost=Gaussian(gamma))
        assert got == pytest.approx(naive.dtw(x, y, cost="gaussian", score=naive.gaussian(gamma)))
    assert run_serial.signatures == known


def test_an_asymmetric_cost_is_computed_both_ways(rng):
    X = [rng.normal(size=n) for n in (9, 4, 7)]
    Y = [rng.normal(size=n) for n in (5, 8, 3, 6, 6)]

    def score(x, w):
        return -max(3 * (x - w), w - x)

    ref = naive.pairwise(X, X, cost="absolute", score=score)
    assert abs(ref - ref.T).max() > 1
    np.testing.assert_allclose(pairwise_dtw(X, cost=Pinball()), ref, atol=1e-12)
    for A, B in [(X, Y), (Y, X)]:
        ref = naive.pairwise(A, B, cost="absolute", score=score)
        np.testing.assert_allclose(pairwise_dtw(A, B, cost=Pinball()), ref, atol=1e-12)


def test_the_linear_kernel_induces_the_squared_difference(rng):
    X, W = [rng.normal(size=n) for n in (9, 4, 7)], rng.normal(size=(9, 3))
    got, ref = (value_and_gradient(X, W, cost=cost) for cost in (Linear(), "squared"))
    for one, other in zip(got, ref, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)


def test_an_infinite_slope_off_the_path_does_no_harm():
    # Behind its end the first series is padded with zeros, and there W is 0 too; in the grid of
    # the second, cells off its path hold equal numbers.
    X = [np.array([1.0, 2.0]), np.array([3.0, 4.0, 5.0, 6.0])]
    W = np.array([[0.5, 3.0], [2.5, 2.2], [0.0, 0.0], [0.0, 0.0]])
    together = value_and_gradient(X, W, cost=Root())
    alone = [value_and_gradient([x], W, cost=Root()) for x in X]
    assert np.isfinite(together.W).all()
    np.testing.assert_allclose(together.W, alone[0].W + alone[1].W)
    np.testing.assert_array_equal(together.X[0], [*alone[0].X[0], 0, 0])
    np.testing.assert_array_equal(together.X[1], alone[1].X[0])
    np.testing.assert_allclose(together.values, [a.values[0] for a in alone])


# --- Errors


class Unknown(NamedTuple):
    pass


@pytest.mark.parametrize("cost", [Unknown(), Huber, Unknown, (1.0,), None, 3])
def test_what_is_no_cost(cost):
    for function in (lambda c: dtw([1.0], [2.0], cost=c), costs.resolve):
        with pytest.raises(TypeError, match=r"cost must be one of .*register, got"):
            function(cost)


def test_a_misspelt_name_is_told_the_names():
    with pytest.raises(ValueError, match=r"\['absolute', 'gaussian', .*\].* got 'sqared'"):
        elastic_distance([[1.0]], [[1.0]], cost="sqared")


class Steps(NamedTuple):
    """Costs 1 a unit of difference begun, and has no derivative but 0."""

    width: float = 1.0


def _steps(cost, x, w):
    u = absolute(x - w)
    return -where(u > cost.width, like(x, 1.0), like(x, 0.0))


register(Steps, _steps, None, name="steps", symmetric=True)


def test_a_registered_name_stands_for_the_defaults():
    x, y = [0.0, 0.5, 3.0], [0.0, 5.0]
    assert costs.resolve("steps") == (Steps(), costs.Traits(symmetric=True, differentiable=False))
    assert dtw(x, y, cost="steps") == dtw(x, y, cost=Steps()) == 1.0
    assert dtw(x, y, cost=Steps(9.0)) == 0.0
    with pytest.raises(ValueError, match="cost must be one of .*'squared', 'steps'"):
        dtw(x, y, cost="step")


def test_without_a_gradient_the_derivative_is_zero():
    found = value_and_gradient([[0.0, 2.0]], np.ones((2, 2)), cost="steps")
    assert not found.W.any()
    assert not found.X.any()


def test_parameters_must_be_numbers():
    with pytest.raises(ValueError, match="delta of cost=Huber must be a number .*, got 'wide'"):
        dtw([1.0], [2.0], cost=Huber("wide"))


# --- The cache on disk

MODULE = """
from typing import NamedTuple
from numba import njit
from warplearn.elastic.costs import absolute, maximum, register, root, where
FACTOR = 2.0
TABLE = (1.0, 5.0)
@njit
def compiled(x):
    return x * 1.0
def helper(x):
    return x + 1.0
class Cost(NamedTuple):
    a: float = 3.0
    b: float = 4.0
def score(cost, x, w, power=1.0):
    inner = absolute(root(x - w))
    return -(cost.a * FACTOR * TABLE[1] * power * inner + 0.5 * compiled(helper(x)))
def gradient(cost, x, w):
    return x, w
register(Cost, score, gradient)
"""
EDITS = {
    "a constant": ("0.5 *", "0.25 *"),
    "an operator": ("+ 0.5", "- 0.5"),
    "a global number": ("FACTOR = 2.0", "FACTOR = 3.0"),
    "a global tuple": ("5.0)", "6.0)"),
    "a function it calls": ("x + 1.0", "x + 2.0"),
    "a compiled function it calls": ("x * 1.0", "x * 2.0"),
    "the order of two functions": ("absolute(root(x", "root(absolute(x"),
    "the parameter it uses": ("cost.a", "cost.b"),
    "a default": ("power=1.0", "power=2.0"),
    "the gradient": ("return x, w", "return w, x"),
    "the parameters": ("b: float = 4.0", "c: float = 4.0"),
}


def type_of_cost(source):
    """Run a module that defines a cost; kernels and their cache know the cost by this type."""
    module = ModuleType("users_module")
    exec(source, module.__dict__)
    module.Cost.__module__ = module.__name__
    return numba.typeof(module.Cost())


@pytest.mark.parametrize("edit", EDITS)
def test_a_changed_cost_is_another_cost(edit):
    old, new = EDITS[edit]
    assert MODULE.count(old) == 1
    assert type_of_cost(MODULE) != type_of_cost(MODULE.replace(old, new))


def test_an_unchanged_cost_is_the_same():
    assert type_of_cost(MODULE) == type_of_cost("# moved by a line\n" + MODULE)


RUN = """
import json
from warplearn import dtw
from warplearn._kernels.drivers.pair import _score_pair
{where}
found = dtw([0.0, 1.0, 5.0], [0.0, 3.0, 5.0], cost=Cost())
stats = _score_pair.stats
hits, misses = sum(stats.cache_hits.values()), sum(stats.cache_misses.values())
print(json.dumps([found, hits, misses]))
"""
COST = """
from typing import NamedTuple
from warplearn.elastic.costs import absolute, register
class Cost(NamedTuple):
    factor: float = 1.0
def score(cost, x, w):
    return -cost.factor * SCALE * absolute(x - w)
def gradient(cost, x, w):
    return x, w
register(Cost, score, gradient)
"""


@pytest.mark.slow
def test_a_cost_of_a_script_is_cached(run_python):
    script = RUN.format(where="SCALE = 3.0" + COST)
    assert run_python(script) == [6.0, 0, 1]
    assert run_python(script) == [6.0, 1, 0]


@pytest.mark.slow
def test_a_cost_of_a_module_may_change(run_python, tmp_path):
    script = RUN.format(where="from users_costs import Cost")
    for scale, (hits, misses) in [(3.0, (0, 1)), (7.0, (0, 1)), (3.0, (1, 0))]:
        (tmp_path / "users_costs.py").write_text(f"SCALE = {scale}" + COST)
        assert run_python(script) == [2 * scale, hits, misses]


def test_a_name_is_taken_once():
    class Other(NamedTuple):
        scale: float = 1.0

    with pytest.raises(ValueError, match=r"name 'squared' is taken by .*\.Squared"):
        costs.COSTS.register(Other, name="squared")
