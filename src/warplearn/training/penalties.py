"""Penalties on the weights: `lam` times one of these is added to the loss of every example."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from warplearn._kernels.drivers import components
from warplearn._kernels.simd.records import record
from warplearn._kernels.simd.vector import absolute, like, where
from warplearn.registry import Registry

PENALTIES = Registry("penalty", "warplearn.training.penalties.register")
resolve = PENALTIES.resolve


def register(
    cls: type, value: Callable[..., Any], slope: Callable[..., Any], *, name: str | None = None
) -> None:
    """Make a `NamedTuple` class a penalty.

    `value(penalty, w)` and `slope(penalty, w)`, the derivative, are functions of a vector of
    weights, written as in `warplearn.elastic.costs`; the penalty of a matrix is the sum over its
    weights.
    """
    record(cls, value=(components.penalty_value, value), slope=(components.penalty_slope, slope))
    PENALTIES.register(cls, name=name)


class L2(NamedTuple):
    """`||W||^2`, with the derivative 2 W (which the paper's table leaves out)."""


def _l2(penalty, w):
    return w * w


def _l2_slope(penalty, w):
    return 2.0 * w


class L1(NamedTuple):
    """`sum |w|`; derivative 0 at the kink, a weight of 0."""


def _l1(penalty, w):
    return absolute(w)


def _l1_slope(penalty, w):
    one, zero = like(w, 1.0), like(w, 0.0)
    return where(w > 0.0, one, where(w < 0.0, -one, zero))


register(L2, _l2, _l2_slope, name="l2")
register(L1, _l1, _l1_slope, name="l1")
