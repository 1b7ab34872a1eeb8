"""Local scores: what aligning one element of a series with one cell of a matrix is worth.

A cost is a negated score, so that one recursion (a maximum) serves similarities and distances
alike.  A local score is a `NamedTuple` of its parameters and two functions of vectors:

`score(self, x, w)`
    the value; of several channels the values are added,
`gradient(self, x, w)`
    its derivatives with respect to x and to w, as a pair.  At a kink any element of the
    subdifferential will do; the rule for each score is written beside it.

`define` makes such a class known to the kernels.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from warplearn._kernels.simd.compiling import compilable
from warplearn._kernels.simd.records import record
from warplearn._kernels.simd.vector import absolute, exponential, like, where


def score(cost, x, w):
    """The local score of x at w; implemented by `define` for each class of scores."""
    raise NotImplementedError


def gradient(cost, x, w):
    """The derivatives of the local score with respect to x and w."""
    raise NotImplementedError


def define(cls: type, score_of: Callable[..., Any], gradient_of: Callable[..., Any]) -> None:
    """Make a `NamedTuple` class of parameters a local score; names are given in `elastic.costs`."""
    record(cls, score=(score, score_of), gradient=(gradient, gradient_of))


def define_induced(cls: type, kernel: Callable[..., Any], slopes: Callable[..., Any]) -> None:
    """Make a class the local score `2 k(x, w) - k(x, x) - k(w, w)` of a similarity kernel.

    A similarity kernel is a positive-definite function.  The distance is the root: that of the
    elements' images in the feature space of the kernel.  `kernel(self, x, w)` is k,
    `slopes(self, x, w)` the pair of its derivatives.
    """
    k, dk = compilable(kernel), compilable(slopes)

    def score_of(cost, x, w):
        return 2.0 * k(cost, x, w) - k(cost, x, x) - k(cost, w, w)

    def gradient_of(cost, x, w):
        to_x, to_w = dk(cost, x, w)
        x_first, x_second = dk(cost, x, x)
        w_first, w_second = dk(cost, w, w)
        return 2.0 * to_x - (x_first + x_second), 2.0 * to_w - (w_first + w_second)

    define(cls, score_of, gradient_of)


class Product(NamedTuple):
    """`x w`: the elastic inner product."""


def _product(cost, x, w):
    return x * w


def _product_gradient(cost, x, w):
    return w, x


class Squared(NamedTuple):
    """`-(x - w)^2`: the elastic Euclidean distance, dynamic time warping."""


def _squared(cost, x, w):
    difference = w - x  # a subtraction can read x, which is laned mostly, from memory
    return -(difference * difference)


def _squared_gradient(cost, x, w):
    slope = 2.0 * (w - x)
    return slope, -slope


class Absolute(NamedTuple):
    """`-|x - w|`; derivative 0 at the kink x = w."""


def _absolute(cost, x, w):
    return -absolute(w - x)


def _absolute_gradient(cost, x, w):
    one, zero = like(x, 1.0), like(x, 0.0)
    slope = where(x > w, -one, where(x < w, one, zero))
    return slope, -slope


class Mismatch(NamedTuple):
    """`-1` where two symbol codes differ, else 0; piecewise constant, derivative 0 throughout."""


def _mismatch(cost, x, w):
    return where(x == w, like(x, 0.0), like(x, -1.0))


def _mismatch_gradient(cost, x, w):
    zero = like(x, 0.0)
    return zero, zero


class Gaussian(NamedTuple):
    """Induced by the similarity kernel `k(x, w) = exp(-gamma (x - w)^2)`."""

    gamma: float = 1.0


def _gaussian(cost, x, w):
    difference = x - w
    return exponential(-cost.gamma * (difference * difference))


def _gaussian_gradient(cost, x, w):
    difference = x - w
    slope = (-2.0 * cost.gamma) * difference * exponential(-cost.gamma * (difference * difference))
    return slope, -slope


define(Product, _product, _product_gradient)
define(Squared, _squared, _squared_gradient)
define(Absolute, _absolute, _absolute_gradient)
define(Mismatch, _mismatch, _mismatch_gradient)
define_induced(Gaussian, _gaussian, _gaussian_gradient)
