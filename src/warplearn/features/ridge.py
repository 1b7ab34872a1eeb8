"""Ridge regression of few cases with many features, and the best sum of several regressions.

There are many more features than cases, so a regression is solved in the space that the cases span,
at the price of one matrix of their inner products.  Leave-one-out predictions, which it gives away,
choose the penalty, and the factors of regressions on different features in their sum.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh, svd
from scipy.optimize import nnls

from warplearn.averaging.objective import Array

_CHUNK = 4096  # features that are standardized at once
_TOWARDS_EQUAL = 0.1  # how much factors are held to be equal


class Solution(NamedTuple):
    """Coefficients (features, targets) of standardized features, and what led to them."""

    coef: Array
    alpha: float
    loo: Array


class Standardized(NamedTuple):
    """Features as a ridge regression wants them, a few columns at a time."""

    features: Array
    mean: Array
    scale: Array

    @classmethod
    def of(cls, features: Array, weights: Array) -> Standardized:
        """Scales are those of the cases as they are, the mean is the weighted one."""
        parts = (
            features[:, start : start + _CHUNK] for start in range(0, features.shape[1], _CHUNK)
        )
        mean = np.concatenate([weights @ part for part in parts]) / weights.sum()
        scale = features.std(axis=0, dtype=np.float64)
        return cls(features, mean, np.where(scale > 1e-7 * (1 + np.abs(mean)), scale, np.inf))

    def some(self, columns: Array) -> Standardized:
        """Some of the features."""
        return Standardized(self.features[:, columns], self.mean[columns], self.scale[columns])

    def columns(self) -> Iterator[Array]:
        """Blocks of columns in float64; a feature that is constant is 0."""
        for start in range(0, len(self.mean), _CHUNK):
            part = slice(start, start + _CHUNK)
            yield (self.features[:, part] - self.mean[part]) / self.scale[part]


def ridge(X: Standardized, Y: Array, weights: Array, alphas: Array) -> Solution:
    """Ridge regression with the penalty that has the least leave-one-out error.

    With Z = U diag(s) V' the features of the cases, each case times the root r of its weight, what
    a penalty a predicts of the targets r Y is U diag(s^2 / (s^2 + a)) U' r Y, and what it misses
    of a case that is left out is what it misses of it, divided by 1 - the case's leverage.
    """
    root = np.sqrt(weights)[:, None]
    T = root * (Y - np.average(Y, axis=0, weights=weights))
    if len(Y) < len(X.mean):
        products = sum(Z @ Z.T for Z in (root * block for block in X.columns()))
        squares, U = eigh(products, driver="evd")
    else:
        U, singular, _ = svd(root * np.hstack(list(X.columns())), full_matrices=False)
        squares = singular**2
    kept = squares > 1e-10 * squares.max()
    U, squares = U[:, kept], squares[kept]
    along = U.T @ T
    missed = []
    for alpha in alphas:
        fitted = squares / (squares + alpha)
        leverage = U**2 @ fitted + weights / weights.sum()  # the latter of the intercept
        missed.append((T - U @ (fitted[:, None] * along)) / root / (1 - leverage)[:, None])
    best = int(np.argmin([weights @ (misses**2).sum(axis=1) for misses in missed]))
    dual = root * (U @ (along / (squares + alphas[best])[:, None]))
    coef = np.concatenate([block.T @ dual for block in X.columns()])
    return Solution(coef, alphas[best], Y - missed[best])


def mix(predictions: Array, targets: Array, weights: Array) -> Array:
    """Non-negative factors of several predictions whose sum is nearest to the targets.

    Parameters
    ----------
    predictions : array (cases, targets, kinds)
        Leave-one-out predictions, which know as little of a case as predictions of a new one.
    targets : array (cases, targets)
        Both less the mean of the targets.
    weights : array (cases,)

    Notes
    -----
    A ridge regression again, towards equal factors, as the cases may be few.
    """
    kinds = predictions.shape[-1]
    root = np.sqrt(weights)[:, None]
    pull = np.sqrt(_TOWARDS_EQUAL) * np.linalg.norm(root * targets)
    A = np.vstack([(root[..., None] * predictions).reshape(-1, kinds), pull * np.eye(kinds)])
    b = np.concatenate([(root * targets).ravel(), np.full(kinds, pull / kinds)])
    factors: Array = nnls(A, b)[0]
    return factors if factors.any() else np.full(kinds, 1 / kinds)
