"""Local scores by name, and how to add one.

A *cost* names what it is worth to align an element of a series with a cell of a matrix.  Wherever
the library takes a `cost`, it takes one of the names below or an instance of a class of scores,
such as `Gaussian(gamma=0.5)`, including those a user makes with `define` (or, from a kernel, with
`define_induced`).

==============  ====================================  ==========================================
name            local score                           value on a path
==============  ====================================  ==========================================
``"product"``   `x w`                                 the sum: an inner product
``"squared"``   `-(x - w)^2`                          root of the summed costs: Euclidean
``"absolute"``  `-|x - w|`                            the summed costs
``"mismatch"``  -1 where symbol codes differ          the summed costs
``"gaussian"``  induced by `exp(-gamma (x - w)^2)`    root of the summed costs
==============  ====================================  ==========================================
"""

from __future__ import annotations

from typing import Any

from warplearn._kernels.recursion.local import (
    TRAITS,
    Absolute,
    Gaussian,
    Mismatch,
    Product,
    Squared,
    Traits,
    define,
    define_induced,
)
from warplearn._kernels.simd.vector import absolute, exponential, like, maximum, root, where

__all__ = [
    "Absolute",
    "Gaussian",
    "Mismatch",
    "Product",
    "Squared",
    "absolute",
    "define",
    "define_induced",
    "exponential",
    "like",
    "maximum",
    "root",
    "where",
]

NAMES: dict[str, Any] = {
    "product": Product(),
    "squared": Squared(),
    "absolute": Absolute(),
    "mismatch": Mismatch(),
    "gaussian": Gaussian(),
}


def resolve(cost: Any) -> tuple[Any, Traits]:
    """The local score that `cost` means, and its traits."""
    if isinstance(cost, str):
        if cost not in NAMES:
            raise ValueError(f"cost must be one of {sorted(NAMES)} or a local score, got {cost!r}")
        cost = NAMES[cost]
    if isinstance(cost, type) or type(cost) not in TRAITS:
        raise TypeError(
            f"cost must be one of {sorted(NAMES)} or an instance of a class made known with "
            f"warplearn.elastic.costs.define, got {cost!r}"
        )
    return cost, TRAITS[type(cost)]


def resolve_distance(cost: Any) -> tuple[Any, Traits]:
    """Like `resolve`, for places where only a distance makes sense."""
    local, traits = resolve(cost)
    if traits.similarity:
        raise ValueError(f"cost must be a distance, got the similarity {cost!r}")
    return local, traits
