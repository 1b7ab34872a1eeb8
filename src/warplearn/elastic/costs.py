"""Local scores by name, and how to add one.

A *cost* says what it costs to align an element of a series with a cell of a matrix.  Wherever the
library takes a `cost`, it takes one of the names below or an instance of a class of costs, such as
`Gaussian(gamma=0.5)`.  Users add classes with `register` or, for the distance that a similarity
kernel induces, with `register_induced`.

==============  =============================================  ===============================
name            local score                                    value on a path
==============  =============================================  ===============================
``"product"``   `x w`                                          the sum: an inner product
``"squared"``   `-(x - w)^2`                                   root of the summed costs
``"absolute"``  `-|x - w|`                                     the summed costs
``"mismatch"``  -1 where symbol codes differ                   the summed costs
``"gaussian"``  induced by `exp(-gamma (x - w)^2)`             root of the summed costs
==============  =============================================  ===============================

Here a *similarity kernel* is a positive-definite function of two numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from warplearn._kernels.recursion.local import (
    Absolute,
    Gaussian,
    Mismatch,
    Product,
    Squared,
    define,
    define_induced,
)
from warplearn._kernels.simd.vector import absolute, exponential, like, maximum, root, where
from warplearn.registry import Registry

__all__ = [
    "COSTS",
    "Absolute",
    "Gaussian",
    "Mismatch",
    "Product",
    "Squared",
    "Traits",
    "absolute",
    "exponential",
    "like",
    "maximum",
    "register",
    "register_induced",
    "resolve",
    "resolve_distance",
    "root",
    "where",
]

COSTS = Registry("cost", "warplearn.elastic.costs.register")


class Traits(NamedTuple):
    """Properties of a cost beyond its value at one cell.

    Attributes
    ----------
    similarity : bool
        The score itself is the value, not the cost that it negates.
    root : bool
        The distance is the root of the summed costs.
    symmetric : bool
        x and w can change places.
    differentiable : bool
        It has a derivative that is not 0 everywhere.
    """

    similarity: bool = False
    root: bool = False
    symmetric: bool = False
    differentiable: bool = True


def _no_gradient(cost: Any, x: Any, w: Any) -> Any:
    zero = like(x, 0.0)
    return zero, zero


def register(
    cls: type,
    score: Callable[..., Any],
    gradient: Callable[..., Any] | None,
    *,
    name: str | None = None,
    similarity: bool = False,
    root: bool = False,
    symmetric: bool = False,
) -> None:
    """Add a class of costs.

    Parameters
    ----------
    cls : type
        A `NamedTuple` of the cost's parameters, which are numbers.
    score : callable
        `score(cost, x, w)`, the negated cost of aligning x with w; of several channels the scores
        are added.
    gradient : callable or None
        `gradient(cost, x, w)`, the pair of the derivatives of the score with respect to x and w.
        None for a score that is piecewise constant: its derivative is 0, and means are refused.
    name : str, optional
        A name that stands for `cls()`.
    similarity, root, symmetric : bool, default=False
        See `Traits`.
    """
    define(cls, score, _no_gradient if gradient is None else gradient)
    traits = Traits(similarity, root, symmetric, gradient is not None)
    COSTS.register(cls, name=name, about=traits)


def register_induced(
    cls: type,
    similarity_kernel: Callable[..., Any],
    slopes: Callable[..., Any],
    *,
    name: str | None = None,
) -> None:
    """Add the class of costs that a similarity kernel k induces.

    The cost is `k(x, x) - 2 k(x, w) + k(w, w)`, the squared distance of x and w in the feature
    space of k, and the distance of two series the root of the summed costs.

    Parameters
    ----------
    cls : type
        A `NamedTuple` of the kernel's parameters, which are numbers.
    similarity_kernel : callable
        `similarity_kernel(cost, x, w)`, a positive-definite function.
    slopes : callable
        `slopes(cost, x, w)`, the pair of its derivatives with respect to x and w.
    name : str, optional
        A name that stands for `cls()`.
    """
    define_induced(cls, similarity_kernel, slopes)
    COSTS.register(cls, name=name, about=Traits(root=True, symmetric=True))


def resolve(cost: Any) -> tuple[Any, Traits]:
    """The local score that `cost` means, and its traits."""
    local = COSTS.resolve(cost)
    return local, COSTS.about(local)


def resolve_distance(cost: Any) -> tuple[Any, Traits]:
    """Like `resolve`, for places where only a distance makes sense."""
    local, traits = resolve(cost)
    if traits.similarity:
        raise ValueError(f"cost must be a distance, got the similarity {cost!r}")
    return local, traits


# The kernels define the built-in costs themselves.
COSTS.register(Product, name="product", about=Traits(similarity=True, symmetric=True))
COSTS.register(Squared, name="squared", about=Traits(root=True, symmetric=True))
COSTS.register(Absolute, name="absolute", about=Traits(symmetric=True))
COSTS.register(Mismatch, name="mismatch", about=Traits(symmetric=True, differentiable=False))
COSTS.register(
    Gaussian, name="gaussian", about=Traits(root=True, symmetric=True), limits={"gamma": (0, 1e15)}
)
