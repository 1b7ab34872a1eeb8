"""The traversals of the grid (see `_kernels/recursion`) against each other and the reference.

Whole numbers make every sum exact, so all of them must agree to the last bit.
"""

import naive
import numpy as np
import pytest
from numba import njit

from warplearn._kernels.drivers import windows
from warplearn._kernels.drivers.evaluate import evaluate
from warplearn._kernels.recursion.local import Product
from warplearn._kernels.recursion.lone import (
    Lone,
    all_rows,
    lone_backward,
    lone_forward,
    reverse,
    reversed_size,
    room_for_grid,
    skew,
    skewed_size,
    steps_of_stripe,
    unskew,
)
from warplearn._kernels.simd.constants import NO, YES, Static

LANES = 16
SHAPES = [(1, 1), (1, 4), (5, 1), (3, 3), (9, 4), (16, 4), (17, 2), (40, 7), (5, 40)]


@njit
def _lone(config, cost, x, skewed, m, steps, changed):
    k, length = len(x), steps_of_stripe(LANES, skewed, m)
    reversed_x = np.empty(reversed_size(LANES, k), x.dtype)
    reverse(LANES, x, 0, 1, k, 1, reversed_x)
    stripes, room = all_rows(LANES, k, m, length), room_for_grid(config.lanes, k, x)
    value = lone_forward(config, cost, reversed_x, k, skewed, m, stripes, room, steps)
    one = x.dtype.type(1)
    lone_backward(config.lanes, reversed_x, k, m, stripes.begins, steps, one, changed)
    return value


def of_forward(x, W):
    """Scores and gradients with respect to the matrices, by the traversal in lanes."""
    got = evaluate(
        Product(), x[None, :, None], np.array([len(x)]), W[..., None], want_matrix=True, n_jobs=1
    )
    return got.values[0], got.matrix_gradient[..., 0]


def of_lone(x, w):
    """The same for one matrix, by stripes of columns, in room for more rows than it has."""
    k, m = w.shape
    size = skewed_size(LANES, k + 2, m)
    skewed, changed = np.zeros(size, x.dtype), np.zeros(size, x.dtype)
    skew(LANES, w.ravel(), k, m, skewed)
    steps = np.empty(LANES * (size // LANES), np.uint8)  # at most a byte a lane and step
    config = Lone(Static(LANES), Static(1), YES, YES, NO)
    value = _lone(config, Product(), x, skewed, m, steps, changed)
    gradient = np.empty(k * m, x.dtype)
    unskew(LANES, changed, k, m, gradient)
    return value, gradient.reshape(k, m)


def of_windows(series, W, dilation, shapelets=False):
    """Scores (matrices, positions) of the windows of a series, by consecutive positions."""
    count, k, m = W.shape
    group = np.zeros((1, windows.COLUMNS), np.int64)
    group[0, windows.ROWS], group[0, windows.DILATION] = k, dilation
    group[0, windows.CHANNELS_TO] = 1
    weights = W.reshape(2, count // 2, k, m).transpose(0, 2, 3, 1).ravel()
    one, none = np.zeros(1, np.int64), np.zeros((0, count), np.float32)
    places = np.where(np.arange(m) == m - 1, 0, -1)[None]
    matrices = windows.Matrices(shapelets, group, places, (m - 1,), one, weights, none, poolings=0)
    outputs, positions = windows.window_outputs(
        matrices, series[None, None, None], np.array([[len(series)]]), np.zeros((1, 8), np.int64)
    )
    return outputs[0, :, : positions[0, 0]]


def whole(rng, shape, dtype=np.float64):
    return rng.integers(-4, 5, size=shape).astype(dtype)


@pytest.mark.parametrize(("k", "m"), SHAPES)
def test_lanes_and_stripes_agree_with_the_definition(k, m, rng):
    for _ in range(5):
        x, w = whole(rng, k), whole(rng, (k, m))
        local = naive.local_scores(x[:, None], w[..., None], naive.SCORES["product"])
        ref, path, _ = naive.best(local)
        _, slopes = naive.gradient_along(path, x[:, None], w[..., None], naive.SLOPES["product"])
        (in_lanes,), (gradient,) = of_forward(x, w[None])
        alone, own_gradient = of_lone(x, w)
        assert in_lanes == alone == ref
        np.testing.assert_array_equal(gradient, slopes[..., 0])
        np.testing.assert_array_equal(own_gradient, slopes[..., 0])


@pytest.mark.parametrize(("k", "m", "dilation"), [(1, 1, 1), (3, 3, 1), (9, 4, 2), (16, 2, 3)])
def test_windows_agree_with_lanes_and_the_definition(k, m, dilation, rng):
    series = whole(rng, 3 * k + (k - 1) * dilation, np.float32)
    W = whole(rng, (windows.GROUP, k, m), np.float32)
    outputs = of_windows(series, W, dilation)
    assert outputs.shape[1] == len(series) - (k - 1) * dilation
    for position, scores in enumerate(outputs.T):
        window = series[position : position + (k - 1) * dilation + 1 : dilation]
        np.testing.assert_array_equal(scores, of_forward(window, W)[0])
        ref = [naive.elastic(window[:, None], w[..., None], "product") for w in W]
        np.testing.assert_array_equal(scores, ref)
    for position, scores in enumerate(of_windows(series, W, dilation, shapelets=True).T):
        window = series[position : position + (k - 1) * dilation + 1 : dilation]
        local = [
            naive.local_scores(window[:, None], w[..., None], naive.SCORES["squared"]) for w in W
        ]
        np.testing.assert_array_equal(scores, [naive.best(each)[0] for each in local])


@pytest.mark.parametrize(("k", "m"), SHAPES)
def test_anti_diagonals_agree_with_lanes_and_the_definition(k, m, rng):
    torch = pytest.importorskip("torch")
    from warplearn.torch import diagonal

    x, W = whole(rng, k), whole(rng, (3, k, m))
    tensors = torch.from_numpy(x[None, :, None]), torch.from_numpy(W[..., None])
    got = diagonal.scores(Product(), *tensors, np.array([k])).numpy()[0]
    np.testing.assert_array_equal(got, of_forward(x, W)[0])
    ref = [naive.elastic(x[:, None], w[..., None], "product") for w in W]
    np.testing.assert_array_equal(got, ref)
