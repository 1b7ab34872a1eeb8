"""Penalties on the weights: `lam` times one of these is added to the loss of every example."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from warplearn._kernels.drivers import parts
from warplearn._kernels.simd.records import record
from warplearn._kernels.simd.vector import absolute, like, where


def define(cls: type, value: Callable[..., Any], slope: Callable[..., Any]) -> None:
    """Make a `NamedTuple` class a penalty.

    `value(penalty, w)` and `slope(penalty, w)`, the derivative, are functions of a vector of
    weights, written as in `warplearn.elastic.costs`; the penalty of a matrix is the sum over its
    weights.
    """
    record(cls, value=(parts.penalty_value, value), slope=(parts.penalty_slope, slope))
    _DEFINED.add(cls)


_DEFINED: set[type] = set()


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


define(L2, _l2, _l2_slope)
define(L1, _l1, _l1_slope)

NAMES: dict[str, Any] = {"l1": L1(), "l2": L2()}


def resolve(penalty: Any) -> Any:
    """The penalty that a name or an instance means."""
    if isinstance(penalty, str) and penalty in NAMES:
        return NAMES[penalty]
    if type(penalty) not in _DEFINED:
        raise ValueError(f"penalty must be one of {sorted(NAMES)} or a penalty, got {penalty!r}")
    return penalty
