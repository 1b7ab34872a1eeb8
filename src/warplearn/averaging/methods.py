"""Methods that minimize variations, and the loop that repeats their steps.

Several means are stacked, as Y of shape (means, ...), and move together: a pass over the series
serves all of them.  Each goes its own way: no mean has an influence on another.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, NamedTuple, Protocol, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from warplearn._kernels.recursion.local import Squared
from warplearn.averaging.objective import Array, Objective, ValueAndForce, scaled
from warplearn.elastic.costs import COSTS
from warplearn.registry import choose
from warplearn.series.numbers import LARGEST

Variations: TypeAlias = NDArray[np.float64]


class Method(Protocol):
    """The interface of a method."""

    def sweep(
        self, objective: Objective, Y: Array, number: int, rng: np.random.RandomState
    ) -> tuple[Variations, Array]:
        """Go over the series once: the variation at each of the stacked means, and the next Y."""
        ...


class Stepper(Method, Protocol):
    """A method whose step is `force / visits`, times a size."""

    def sizes(self, objective: Objective, Y: Array, at: ValueAndForce) -> NDArray[np.float64]:
        """How far each mean is to go along `at.step()`."""
        ...


@final
@dataclass(frozen=True)
class Averaging:
    """Barycentre averaging (DBA, majorize-minimize), for the squared cost."""

    def sizes(self, objective: Objective, Y: Array, at: ValueAndForce) -> NDArray[np.float64]:
        """Full steps: each cell becomes the mean of the elements aligned with it."""
        return np.ones(len(Y))

    def sweep(
        self, objective: Objective, Y: Array, number: int, rng: np.random.RandomState
    ) -> tuple[Variations, Array]:
        """One DBA step."""
        at = objective.values_and_forces(Y)
        return at.variations, Y + at.step()


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

    def sizes(self, objective: Objective, Y: Array, at: ValueAndForce) -> NDArray[np.float64]:
        """For each mean, the size of the step with the least variation of those tried."""
        step = at.step()
        slopes = 2 * (at.force * step).reshape(len(Y), -1).sum(axis=1).astype(np.float64)
        searching = np.flatnonzero((slopes > 0) & (slopes < np.inf))
        tried, best, least = np.zeros(len(Y)), np.zeros(len(Y)), at.variations.copy()
        tried[searching] = at.variations[searching] / slopes[searching]
        for _ in range(self.max_halvings):
            if not len(searching):
                break
            there = Y[searching] + scaled(step[searching], tried[searching])
            variations = objective.among(searching).values(there)
            falls = variations < least[searching]
            fallen = searching[falls]
            least[fallen], best[fallen] = variations[falls], tried[fallen]
            searching = searching[falls | (best[searching] == 0)]
            tried /= 2
        return best

    def sweep(
        self, objective: Objective, Y: Array, number: int, rng: np.random.RandomState
    ) -> tuple[Variations, Array]:
        """One step along the generalized gradient."""
        at = objective.values_and_forces(Y)
        return at.variations, Y + scaled(at.step(), self.sizes(objective, Y, at))


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
    ) -> tuple[Variations, Array]:
        """One step along the generalized gradient."""
        at = objective.values_and_forces(Y)
        sums = objective.sums()
        rates = np.full(len(Y), self.rate) if self.rate is not None else 1 / np.where(sums, sums, 1)
        return at.variations, Y + scaled(at.force, rates)


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
    ) -> tuple[Variations, Array]:
        """One step for each series."""
        variations, Y = objective.values(Y), Y.copy()
        for mean, total in enumerate(objective.sums()):
            weights = objective.weights_in(mean)
            order = rng.permutation(np.flatnonzero(weights))
            for position, case in enumerate(order):
                one = Objective.of(
                    objective.X[[case]], weights[[case]] * (len(order) / total),
                    objective.cost, objective.band, objective.n_jobs,
                )  # fmt: skip
                rate = self.rate / (1 + number + position / len(order))
                at = one.values_and_forces(Y[mean, None])
                Y[mean] += Y.dtype.type(rate) * at.force[0]
        return variations, Y


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
    """The best Y of each mean, its variation, and the variations at all Y it went through."""

    Y: Array
    variations: Variations
    histories: list[list[float]]


def minimize(
    objective: Objective,
    Y: Array,
    method: Method,
    *,
    max_iter: int,
    tol: float,
    rng: np.random.RandomState,
    report: Callable[[int, Variations], None] = lambda number, variations: None,
) -> Minimum:
    """Sweep until the relative change of each variation is at most `tol`.

    A mean that has come to its end is left out of further sweeps.  A stochastic method may rise
    for a sweep before it falls, so only a small change in either direction is an end.
    """
    best = Minimum(Y.copy(), np.full(len(Y), np.inf), [[] for _ in Y])
    moving, before = np.arange(len(Y)), np.full(len(Y), np.inf)
    for number in range(max_iter + 1):
        some = objective.among(moving)
        if number < max_iter:
            variations, following = method.sweep(some, Y, number, rng)
        else:
            variations, following = some.values(Y), Y
        report(number, variations)
        for mean, variation in zip(moving, variations, strict=True):
            best.histories[mean].append(float(variation))
        better = variations < best.variations[moving]
        best.Y[moving[better]] = Y[better]
        best.variations[moving[better]] = variations[better]
        going = np.isfinite(variations)
        if number:
            going &= np.abs(before - variations) > tol * before
        if not going.any():
            break
        moving, Y, before = moving[going], following[going], variations[going]
    return best
