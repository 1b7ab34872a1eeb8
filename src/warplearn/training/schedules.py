"""Learning rates: how the rate of epoch t follows from the initial rate eta.

The generalized gradient method converges if the rates tend to 0 and their sum does not converge
(the paper's two conditions).  The margin perceptron theorem is for a constant rate.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from warplearn._kernels.drivers import components
from warplearn._kernels.simd.records import record
from warplearn.registry import Registry

SCHEDULES = Registry("learning_rate", "warplearn.training.schedules.register")
resolve = SCHEDULES.resolve


def register(
    cls: type,
    function: Callable[..., float],
    *,
    name: str | None = None,
    limits: Mapping[str, tuple[float, float]] | None = None,
) -> None:
    """Make a `NamedTuple` class a schedule: `function(schedule, eta, t)` is the rate of epoch t.

    The class says with a method `converges()` whether the paper's two conditions hold, and `limits`
    are the least and the greatest value of its parameters.
    """
    record(cls, rate=(components.rate_at, function))
    SCHEDULES.register(cls, name=name, about=function, limits=limits)


def rate(schedule: Any, eta: float, t: int) -> float:
    """The learning rate of epoch t, from Python."""
    return SCHEDULES.about(schedule)(schedule, eta, t)


class Constant(NamedTuple):
    """`eta`: does not tend to 0."""

    def converges(self) -> bool:
        """Whether the rates tend to 0 while their sum diverges."""
        return False


def _constant(schedule, eta, t):
    return eta


class Decay(NamedTuple):
    """`eta / (1 + decay t)`: the default of the author's program is decay = 0.1."""

    decay: float = 0.1

    def converges(self) -> bool:
        """Whether the rates tend to 0 while their sum diverges."""
        return self.decay > 0


def _decay(schedule, eta, t):
    return eta / (1.0 + schedule.decay * t)


class InverseScaling(NamedTuple):
    """`eta / (1 + t)^power`: the sum converges for power > 1."""

    power: float = 0.5

    def converges(self) -> bool:
        """Whether the rates tend to 0 while their sum diverges."""
        return 0 < self.power <= 1


def _inverse_scaling(schedule, eta, t):
    return eta / (1.0 + t) ** schedule.power


register(Constant, _constant, name="constant")
register(Decay, _decay, name="decay", limits={"decay": (0, 1e15)})
register(InverseScaling, _inverse_scaling, name="invscaling", limits={"power": (0, 1e15)})
