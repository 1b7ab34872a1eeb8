"""Solvers: how a step is made from a gradient.

A solver is a `NamedTuple` of numbers with two methods.  `start(shape)` makes what it remembers of
its steps, `step(memory, gradient, rate)` is what to subtract from the parameters.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from warplearn.registry import Registry

SOLVERS = Registry("solver", "warplearn.training.optimizers.register")
register, resolve = SOLVERS.register, SOLVERS.resolve


class SGD(NamedTuple):
    """Steps straight down the gradient."""

    def start(self, shape: tuple[int, ...]) -> Any:
        """Nothing is remembered."""
        return None

    def step(self, memory: Any, gradient: NDArray[Any], rate: float) -> NDArray[Any]:
        """What to subtract from the parameters."""
        return np.float64(rate) * gradient


class Momentum(NamedTuple):
    """Heavy-ball momentum: a step keeps a share `beta` of the last one."""

    beta: float = 0.9

    def start(self, shape: tuple[int, ...]) -> Any:
        """The last step, before it is multiplied by the rate."""
        return np.zeros(shape)

    def step(self, memory: Any, gradient: NDArray[Any], rate: float) -> NDArray[Any]:
        """What to subtract from the parameters."""
        memory *= self.beta
        memory += gradient
        return rate * memory


class Adam(NamedTuple):
    """Adam: steps scaled by running moments of the gradient."""

    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8

    def start(self, shape: tuple[int, ...]) -> Any:
        """Both moments, and how often they were updated."""
        return [np.zeros(shape), np.zeros(shape), 0]

    def step(self, memory: Any, gradient: NDArray[Any], rate: float) -> NDArray[Any]:
        """What to subtract from the parameters."""
        first, second, _ = memory
        memory[2] += 1
        first += (1 - self.beta1) * (gradient - first)
        second += (1 - self.beta2) * (gradient**2 - second)
        mean = first / (1 - self.beta1 ** memory[2])
        spread = np.sqrt(second / (1 - self.beta2 ** memory[2]))
        return rate * mean / (spread + self.epsilon)


register(SGD, name="sgd")
# A share of 1 would keep all of the past; Adam divides by what is forgotten.
_SHARE = (0.0, 1 - 1e-9)
register(Momentum, name="momentum", limits={"beta": _SHARE})
register(Adam, name="adam", limits={"beta1": _SHARE, "beta2": _SHARE, "epsilon": (1e-30, 1e15)})
