"""Losses (section 3.4 of the paper), and how to add one.

A loss is a `NamedTuple` of its parameters with functions that Numba compiles.

- A loss of one output has two functions of scalars, the value `l(y, f)` and its derivative with
  respect to the output f (`register`).  Targets are -1 and +1.  The model may also have two
  outputs, whose difference is f: one weight matrix for each class.
- A loss of several outputs has functions of arrays: the value, the derivatives, and whether a
  classifier with these outputs is wrong (`register_joint`).

Where the derivative does not exist, the rule stands beside the loss.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from warplearn._kernels.drivers import components
from warplearn._kernels.simd.compiling import compilable
from warplearn._kernels.simd.records import record
from warplearn.registry import Registry


class _Functions(NamedTuple):
    """What a loss of one output was registered with, for use from Python."""

    value: Callable[..., float]
    slope: Callable[..., float]


_LOSSES = Registry("loss", "warplearn.training.losses.register")
resolve = _LOSSES.resolve


def register(
    cls: type, value: Callable[..., float], slope: Callable[..., float], *, name: str | None = None
) -> None:
    """Make a `NamedTuple` class of parameters a loss of one output.

    Parameters
    ----------
    cls : NamedTuple class
        Its fields are the parameters, all numbers.
    value, slope : functions (loss, y, f) -> float
        The loss and its derivative with respect to f, in the Python that Numba compiles.
    name : str, optional
        Stands for the loss with its default parameters.
    """
    own_value, own_slope = compilable(value), compilable(slope)

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
        model_value=(components.model_value, model_value),
        model_slopes=(components.model_slopes, model_slopes),
        model_mistake=(components.model_mistake, model_mistake),
    )
    _LOSSES.register(cls, name=name, about=_Functions(value, slope))


def never_wrong(loss, y, f):
    """There are no mistakes in regression."""
    return False


def register_joint(
    cls: type,
    value: Callable[..., float],
    slopes: Callable[..., None],
    mistake: Callable[..., bool] = never_wrong,
    *,
    name: str | None = None,
) -> None:
    """Make a `NamedTuple` class of parameters a loss of several outputs.

    Parameters
    ----------
    cls : NamedTuple class
    value : function (loss, y, f) -> float
        The loss of the outputs f, an array, at the targets y.
    slopes : function (loss, y, f, out)
        Writes the derivatives with respect to each output to the array `out`.
    mistake : function (loss, y, f) -> bool, optional
        Whether a classifier with these outputs is wrong; never, by default.
    name : str, optional
        Stands for the loss with its default parameters.
    """
    own_value, own_slopes, own_mistake = compilable(value), compilable(slopes), compilable(mistake)

    def model_value(loss, y, f, first, size):
        return own_value(loss, y[first : first + size], f[first : first + size])

    def model_slopes(loss, y, f, slopes, first, size):
        last = first + size
        own_slopes(loss, y[first:last], f[first:last], slopes[first:last])

    def model_mistake(loss, y, f, first, size):
        return own_mistake(loss, y[first : first + size], f[first : first + size])

    record(
        cls,
        model_value=(components.model_value, model_value),
        model_slopes=(components.model_slopes, model_slopes),
        model_mistake=(components.model_mistake, model_mistake),
    )
    _LOSSES.register(cls, name=name)


def value(loss: Any, y: float, f: float) -> float:
    """The value of a loss of one output, from Python."""
    return _LOSSES.about(loss).value(loss, y, f)


def slope(loss: Any, y: float, f: float) -> float:
    """The derivative of a loss of one output, from Python."""
    return _LOSSES.about(loss).slope(loss, y, f)


# Two classes: one output, targets -1 and +1.


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


class LeastSquares(NamedTuple):
    """`(y - f)^2 / 2` on targets -1 and +1: elastic Adaline."""


def _least_squares(loss, y, f):
    return 0.5 * (y - f) * (y - f)


def _least_squares_slope(loss, y, f):
    return f - y


# Several classes: an output for each, targets 1 for the class of the example and 0 for others.


class Softmax(NamedTuple):
    """Cross-entropy of the softmax over the outputs."""


def _softmax(loss, y, f):
    top = f[0]
    for c in range(1, len(f)):
        top = max(top, f[c])
    total, value = 0.0, 0.0
    for c in range(len(f)):
        total += math.exp(f[c] - top)
        value -= y[c] * (f[c] - top)
    return value + math.log(total)


def _softmax_slopes(loss, y, f, out):
    top = f[0]
    for c in range(1, len(f)):
        top = max(top, f[c])
    total = 0.0
    for c in range(len(f)):
        out[c] = math.exp(f[c] - top)
        total += out[c]
    for c in range(len(f)):
        out[c] = out[c] / total - y[c]


def _softmax_mistake(loss, y, f):
    best = 0
    for c in range(1, len(f)):
        if f[c] > f[best]:
            best = c
    return y[best] <= 0.0


# Regression: an output for each target.


class SquaredError(NamedTuple):
    """`||y - f||^2 / 2`."""


def _squared_error(loss, y, f):
    total = 0.0
    for c in range(len(f)):
        total += 0.5 * (y[c] - f[c]) * (y[c] - f[c])
    return total


def _squared_error_slopes(loss, y, f, out):
    for c in range(len(f)):
        out[c] = f[c] - y[c]


class AbsoluteError(NamedTuple):
    """`sum |y - f|`; derivative 0 at the kink y = f."""


def _absolute_error(loss, y, f):
    total = 0.0
    for c in range(len(f)):
        total += abs(y[c] - f[c])
    return total


def _absolute_error_slopes(loss, y, f, out):
    for c in range(len(f)):
        out[c] = 1.0 if f[c] > y[c] else (-1.0 if f[c] < y[c] else 0.0)


class Huber(NamedTuple):
    """Squared for errors up to `epsilon`, absolute beyond: smooth."""

    epsilon: float = 1.35


def _huber(loss, y, f):
    total = 0.0
    for c in range(len(f)):
        error = abs(y[c] - f[c])
        inside = min(error, loss.epsilon)
        total += 0.5 * inside * inside + loss.epsilon * (error - inside)
    return total


def _huber_slopes(loss, y, f, out):
    for c in range(len(f)):
        out[c] = min(max(f[c] - y[c], -loss.epsilon), loss.epsilon)


register(Logistic, _logistic, _logistic_slope, name="logistic")
register(Margin, _margin, _margin_slope, name="hinge")
register(LeastSquares, _least_squares, _least_squares_slope, name="least_squares")
register_joint(Softmax, _softmax, _softmax_slopes, _softmax_mistake, name="softmax")
register_joint(SquaredError, _squared_error, _squared_error_slopes, name="squared_error")
register_joint(AbsoluteError, _absolute_error, _absolute_error_slopes, name="absolute_error")
register_joint(Huber, _huber, _huber_slopes, name="huber")
