"""Methods that minimize the variation, and the loop that repeats their steps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, NamedTuple, Protocol, final

import numpy as np

from warplearn._kernels.recursion.local import Squared
from warplearn.averaging.objective import Array, Objective, ValueAndForce
from warplearn.elastic.costs import COSTS
from warplearn.registry import choose
from warplearn.series.numbers import LARGEST


class Method(Protocol):
    """The interface of a method."""

    def sweep(
        self, objective: Objective, Y: Array, number: int, rng: np.random.RandomState
    ) -> tuple[float, Array]:
        """Go over the series once: the variation at Y, and the next Y."""
        ...


class Stepper(Method, Protocol):
    """A method whose step is `force / visits`, times a size."""

    def size(self, objective: Objective, Y: Array, at: ValueAndForce) -> float:
        """How far to go along `at.step()`."""
        ...


@final
@dataclass(frozen=True)
class Averaging:
    """Barycentre averaging (DBA, majorize-minimize), for the squared cost."""

    def size(self, objective: Objective, Y: Array, at: ValueAndForce) -> float:
        """A full step: each cell becomes the mean of the elements aligned with it."""
        return 1.0

    def sweep(
        self, objective: Objective, Y: Array, number: int, rng: np.random.RandomState
    ) -> tuple[float, Array]:
        """One DBA step."""
        at = objective.value_and_force(Y)
        return at.variation, Y + at.step()


@final
@dataclass(frozen=True)
class Descent:
    """Generalized gradient descent with a line search, for any cost that has a derivative.

    The step is `s force / visits`.  The first s tried is Polyak's for a variation that could fall
    to 0; it is halved as long as that makes the variation smaller.  If no s makes the variation
    fall, Y stays where it is.

    Parameters
    ----------
    max_halvings : int
        How often s is halved at most.
    """

    max_halvings: int = 30

    def __post_init__(self) -> None:
        """Refuse what is no number of times; after 1100 there is nothing left of s."""
        times = self.max_halvings
        if not isinstance(times, Integral) or not 1 <= int(times) <= 1100:
            raise ValueError(f"max_halvings must be an integer from 1 to 1100, got {times!r}")

    def size(self, objective: Objective, Y: Array, at: ValueAndForce) -> float:
        """The size of the step with the least variation of those tried."""
        step = at.step()
        slope = 2 * float((at.force * step).sum())
        if not 0 < slope < np.inf:
            return 0.0
        size, least, best = at.variation / slope, at.variation, 0.0
        for _ in range(self.max_halvings):
            variation = objective.value(Y + Y.dtype.type(size) * step)
            if variation < least:
                least, best = variation, size
            elif best > 0:
                break
            size /= 2
        return best

    def sweep(
        self, objective: Objective, Y: Array, number: int, rng: np.random.RandomState
    ) -> tuple[float, Array]:
        """One step along the generalized gradient."""
        at = objective.value_and_force(Y)
        size = self.size(objective, Y, at)
        return at.variation, Y + Y.dtype.type(size) * at.step()


@final
@dataclass(frozen=True)
class Gradient:
    """Generalized gradient steps of a fixed rate: `Y + rate force`.

    Parameters
    ----------
    rate : float, optional
        The paper's eta; by default one over the sum of the weights.
    """

    rate: float | None = None

    def __post_init__(self) -> None:
        """Refuse what is no rate."""
        if self.rate is not None:
            _check_rate(self.rate)

    def sweep(
        self, objective: Objective, Y: Array, number: int, rng: np.random.RandomState
    ) -> tuple[float, Array]:
        """One step along the generalized gradient."""
        at = objective.value_and_force(Y)
        rate = 1 / objective.weights.sum() if self.rate is None else self.rate
        return at.variation, Y + Y.dtype.type(rate) * at.force


@final
@dataclass(frozen=True)
class Stochastic:
    """Stochastic generalized gradient steps, one series at a time in a new order each sweep.

    Parameters
    ----------
    rate : float
        Of the first step; after t sweeps it is `rate / (1 + t)`, also within a sweep.
    """

    rate: float = 0.05

    def __post_init__(self) -> None:
        """Refuse what is no rate."""
        _check_rate(self.rate)

    def sweep(
        self, objective: Objective, Y: Array, number: int, rng: np.random.RandomState
    ) -> tuple[float, Array]:
        """One step for each series."""
        variation = objective.value(Y)
        order = rng.permutation(np.flatnonzero(objective.weights))
        weights = objective.weights * (len(order) / objective.weights.sum())
        for position, case in enumerate(order):
            one = objective._replace(X=objective.X[[case]], weights=weights[[case]])
            rate = self.rate / (1 + number + position / len(order))
            Y = Y + Y.dtype.type(rate) * one.value_and_force(Y).force
        return variation, Y


def _check_rate(rate: Any) -> None:
    real = isinstance(rate, Real)
    if not real or not 0 <= rate <= LARGEST[4]:
        raise ValueError(f"rate must be a number from 0 to {LARGEST[4]:.0e}, got {rate!r}")


METHODS: dict[str, Method] = {
    "dba": Averaging(),
    "descent": Descent(),
    "gradient": Gradient(),
    "stochastic": Stochastic(),
}


def stepper(cost: Any) -> Stepper:
    """The method for steps along `force / visits`: averaging where that is exact, else descent."""
    return Averaging() if isinstance(cost, Squared) else Descent()


def check_has_mean(cost: Any) -> None:
    """Refuse costs whose derivative is 0 everywhere."""
    if not COSTS.about(cost).differentiable:
        raise ValueError(
            f"cost={cost!r} has the derivative 0 everywhere, so no mean can be found: use a cost "
            "with a derivative, such as 'squared' on symbols encoded one-hot"
        )


def resolve_method(method: Any, cost: Any, max_iter: int = 1) -> Method:
    """The method that a user means, once it is known to suit the cost.

    "auto" is "dba" for the squared cost and "descent" for others.  If `max_iter` is 0 the method
    is never used, and suits any cost.
    """
    chosen = choose({"auto": stepper(cost), **METHODS}, method, "method", "sweep")
    if max_iter == 0:
        return chosen
    check_has_mean(cost)
    if isinstance(chosen, Averaging) and not isinstance(cost, Squared):
        raise ValueError(
            "method='dba' minimizes the squared cost only: use method='auto', 'descent', "
            f"'gradient' or 'stochastic' with cost={cost!r}"
        )
    return chosen


class Minimum(NamedTuple):
    """The best Y of a run, its variation, and the variations at all Y it went through."""

    Y: Array
    variation: float
    history: list[float]


def minimize(
    objective: Objective,
    Y: Array,
    method: Method,
    *,
    max_iter: int,
    tol: float,
    rng: np.random.RandomState,
    report: Callable[[int, float], None] = lambda number, variation: None,
) -> Minimum:
    """Sweep until the relative change of the variation is at most `tol`.

    A stochastic method may rise for a sweep before it falls, so only a small change in either
    direction ends the run.
    """
    best = Minimum(Y, np.inf, [])
    for number in range(max_iter + 1):
        if number < max_iter:
            variation, following = method.sweep(objective, Y, number, rng)
        else:
            variation, following = objective.value(Y), Y
        best.history.append(variation)
        report(number, variation)
        if variation < best.variation:
            best = best._replace(Y=Y, variation=variation)
        if not np.isfinite(variation):
            break
        if number and abs(best.history[-2] - variation) <= tol * best.history[-2]:
            break
        Y = following
    return best
