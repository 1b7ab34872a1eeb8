"""Losses of elastic linear classifiers (section 3.4 of the paper), and how to add one.

A loss is a `NamedTuple` of its parameters with two functions of scalars, the value `l(y, f)` and
its derivative with respect to the output f.  Targets y are -1 and +1, or any number in regression.
Where the derivative does not exist, the rule stands beside the loss.

A model usually has one output.  It may have two, whose difference is f (one weight matrix for
each class, so that the labels can be exchanged); `Softmax` has one for each class, `SquaredNorm`
one for each target.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from warplearn._kernels.drivers import parts
from warplearn._kernels.simd.records import part, record


class _Functions(NamedTuple):
    """What `define` was given, for use from Python."""

    value: Callable[..., float]
    slope: Callable[..., float]


_DEFINED: dict[type, _Functions] = {}


def define(cls: type, value: Callable[..., float], slope: Callable[..., float]) -> None:
    """Make a `NamedTuple` class of parameters a loss.

    Parameters
    ----------
    cls : NamedTuple class
        Its fields are the parameters, all numbers.
    value, slope : functions (loss, y, f) -> float
        The loss and its derivative with respect to f, in the Python that Numba compiles.
    """
    own_value, own_slope = part(value), part(slope)

    def model_value(loss, y, f, first, size):
        output = f[first] if size == 1 else f[first] - f[first + 1]
        return own_value(loss, y[first], output)

    def model_slopes(loss, y, f, slopes, first, size):
        output = f[first] if size == 1 else f[first] - f[first + 1]
        slope = own_slope(loss, y[first], output)
        slopes[first] = slope
        if size == 2:
            slopes[first + 1] = -slope

    def model_mistake(loss, y, f, first, size):
        output = f[first] if size == 1 else f[first] - f[first + 1]
        return (output >= 0.0) != (y[first] > 0.0)

    record(
        cls,
        value=(parts.loss_value, value),
        slope=(parts.loss_slope, slope),
        model_value=(parts.model_value, model_value),
        model_slopes=(parts.model_slopes, model_slopes),
        model_mistake=(parts.model_mistake, model_mistake),
    )
    _DEFINED[cls] = _Functions(value, slope)


class Logistic(NamedTuple):
    """`log(1 + exp(-y f))`: smooth."""


def _logistic(loss, y, f):
    z = y * f
    return math.log1p(math.exp(-abs(z))) + max(-z, 0.0)


def _logistic_slope(loss, y, f):
    z = y * f
    e = math.exp(-abs(z))
    return -y * (e if z > 0 else 1.0) / (1.0 + e)


class Margin(NamedTuple):
    """`max(0, xi - y f)`: margin perceptron; at the kink, `y f = xi`, the step is taken.

    With xi = 0 it is the perceptron (which so moves from zero weights), with xi = 1 the hinge.
    """

    xi: float = 1.0


def _margin(loss, y, f):
    return 0.0 if y * f >= loss.xi else loss.xi - y * f  # NaN stays NaN


def _margin_slope(loss, y, f):
    return -y if y * f <= loss.xi else 0.0


class Squared(NamedTuple):
    """`(y - f)^2 / 2`: elastic Adaline, least squares."""


def _squared(loss, y, f):
    return 0.5 * (y - f) * (y - f)


def _squared_slope(loss, y, f):
    return f - y


class Softmax(NamedTuple):
    """Cross-entropy of the softmax over a model's outputs; targets are 1 for the class, else 0."""


def _softmax(loss, y, f, first, size):
    top = f[first]
    for c in range(first + 1, first + size):
        top = max(top, f[c])
    total, value = 0.0, 0.0
    for c in range(first, first + size):
        total += math.exp(f[c] - top)
        value -= y[c] * (f[c] - top)
    return value + math.log(total)


def _softmax_slopes(loss, y, f, slopes, first, size):
    top = f[first]
    for c in range(first + 1, first + size):
        top = max(top, f[c])
    total = 0.0
    for c in range(first, first + size):
        slopes[c] = math.exp(f[c] - top)
        total += slopes[c]
    for c in range(first, first + size):
        slopes[c] = slopes[c] / total - y[c]


def _softmax_mistake(loss, y, f, first, size):
    best = first
    for c in range(first + 1, first + size):
        if f[c] > f[best]:
            best = c
    return y[best] <= 0.0


class SquaredNorm(NamedTuple):
    """`||y - f||^2 / 2` over all outputs of a model: regression, with any number of targets."""


def _squared_norm(loss, y, f, first, size):
    total = 0.0
    for c in range(first, first + size):
        total += 0.5 * (y[c] - f[c]) * (y[c] - f[c])
    return total


def _squared_norm_slopes(loss, y, f, slopes, first, size):
    for c in range(first, first + size):
        slopes[c] = f[c] - y[c]


def _no_mistake(loss, y, f, first, size):
    return False


define(Logistic, _logistic, _logistic_slope)
define(Margin, _margin, _margin_slope)
define(Squared, _squared, _squared_slope)
record(
    Softmax,
    model_value=(parts.model_value, _softmax),
    model_slopes=(parts.model_slopes, _softmax_slopes),
    model_mistake=(parts.model_mistake, _softmax_mistake),
)
record(
    SquaredNorm,
    model_value=(parts.model_value, _squared_norm),
    model_slopes=(parts.model_slopes, _squared_norm_slopes),
    model_mistake=(parts.model_mistake, _no_mistake),
)


def value(loss: Any, y: float, f: float) -> float:
    """The value of a loss with a scalar output, from Python."""
    return _DEFINED[type(loss)].value(loss, y, f)


def slope(loss: Any, y: float, f: float) -> float:
    """The derivative of a loss with a scalar output, from Python."""
    return _DEFINED[type(loss)].slope(loss, y, f)


def is_loss(loss: Any) -> bool:
    """Whether `loss` is one that kernels know."""
    return type(loss) in _DEFINED or isinstance(loss, Softmax | SquaredNorm)


def softmax(scores: NDArray[Any]) -> NDArray[Any]:
    """Probabilities of the classes, row by row."""
    shifted = np.exp(scores - scores.max(axis=1, keepdims=True))
    return shifted / shifted.sum(axis=1, keepdims=True)
