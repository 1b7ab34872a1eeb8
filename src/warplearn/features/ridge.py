"""Ridge regression with leave-one-out predictions, with few cases or many.

The normal equations are solved for a penalty by a Cholesky factorization, of the size of the
number of cases or of the number of features, whichever is smaller.  Leave-one-out predictions
follow from the same factor without refitting.  The penalty with the least squared leave-one-out
error is searched downhill, so that few of the penalties are tried.

Let Z be the standardized features and T the centred targets, each row times the root of its
weight.  With penalty a, the fitted targets are H T, where H = Z (Z'Z + aI)^-1 Z', which is
I - a (ZZ' + aI)^-1.  The leverage of case i is H_ii, plus its share of the weights for the
intercept.  The leave-one-out residual is the residual divided by (1 - leverage).

Matrices of products are added up and factorized in float64.  A triangular factor has the root of
their condition number, so leverages are computed from it in float32.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple, Protocol

import numpy as np
from numpy.linalg import LinAlgError
from scipy.linalg.blas import ssyrk, strsm
from scipy.linalg.lapack import dpotrf, dpotrs, strtri
from scipy.optimize import nnls

from warplearn.features.representations import Array

_COLUMNS_PER_BLOCK = 512  # features whose products are added up in float32
_SMALL = 256  # equations, for which all penalties are tried: their errors may have several minima
_EQUAL_FACTORS_PENALTY = 0.1  # relative to the sum of squared targets


class RidgeFit(NamedTuple):
    """A fitted ridge regression.

    Attributes
    ----------
    coef : array (features, targets)
        Coefficients of the standardized features.
    alpha : float
        The chosen penalty.
    loo : array (cases, targets)
        Leave-one-out residuals.
    """

    coef: Array
    alpha: float
    loo: Array


class System(Protocol):
    """The normal equations of a regression."""

    size: int

    def attempt(self, alpha: float) -> tuple[Array, Array]:
        """Leave-one-out residuals (cases, targets) with a penalty, and the solution."""

    def coef(self, solution: Array) -> Array:
        """The coefficients (features, targets) of a solution."""


class Standards(NamedTuple):
    """Means and scales that standardize features; those of a constant feature are 0 then."""

    mean: Array
    scale: Array

    @classmethod
    def of(cls, mean: Array, variance: Array, least: float = 0.0) -> Standards:
        """Weighted means, and plain variances; `least` is a deviation that is added to all."""
        scale = np.sqrt(np.maximum(variance, 0) + least**2)
        return cls(mean, np.where(scale > 1e-7 * (1 + np.abs(mean)), scale, np.inf))

    def standardize(self, features: Array) -> None:
        """Standardize float32 features in place."""
        features -= self.mean.astype(np.float32)
        features *= (1 / self.scale).astype(np.float32)


def _blocks(n_columns: int) -> Iterator[slice]:
    for start in range(0, n_columns, _COLUMNS_PER_BLOCK):
        yield slice(start, start + _COLUMNS_PER_BLOCK)


def _factorized(products: Array, alpha: float) -> Array:
    """The upper triangular factor of products + alpha I, of which the upper triangle is given."""
    shifted = products.copy(order="F")
    shifted[np.diag_indices_from(shifted)] += alpha
    factor, failed = dpotrf(shifted, lower=0, clean=1, overwrite_a=1)
    if failed:
        raise LinAlgError(f"the penalty {alpha:g} is too small for the features")
    upper: Array = factor
    return upper


class FewCases:
    """The equations of at most as many cases as features, of the size of the cases.

    Parameters
    ----------
    features : array (cases, features), float32
        Standardized.
    targets : array (cases, targets)
        Less their weighted mean.
    weights : array (cases,)
    """

    def __init__(self, features: Array, targets: Array, weights: Array) -> None:
        self.size = len(weights)
        self.root = np.sqrt(weights)[:, None]
        self.shares = weights[:, None] / weights.sum()
        self.T = self.root * targets
        self.Z = features * self.root.astype(np.float32)
        self.products = np.zeros((len(weights), len(weights)), order="F")
        for columns in _blocks(features.shape[1]):
            self.products += ssyrk(1, self.Z[:, columns].T, trans=1)
        # Features and targets are centred, so that this changes the intercept only.  Otherwise the
        # inverse would mostly consist of the intercept's share, which is taken off again.
        self.level = max(float(np.trace(self.products)) / len(weights), 1e-300)
        self.products += self.level * np.sqrt(self.shares) * np.sqrt(self.shares.T)

    def attempt(self, alpha: float) -> tuple[Array, Array]:
        """Leave-one-out residuals with a penalty, and the solution."""
        factor = _factorized(self.products, alpha)
        inverse, _ = strtri(factor.astype(np.float32, order="F"), lower=0, overwrite_c=1)
        diagonal = np.einsum("ij,ij->i", inverse, inverse)[:, None]
        dual = dpotrs(factor, self.T)[0]
        return dual / self.root / (diagonal - self.shares / (self.level + alpha)), dual

    def coef(self, solution: Array) -> Array:
        """The coefficients of a solution, of the size of the cases."""
        blocks = (self.Z[:, columns].T @ solution for columns in _blocks(self.Z.shape[1]))
        return np.concatenate(list(blocks))


class ManyCases:
    """The equations of more cases than features, of the size of the features.

    Parameters
    ----------
    gram : array (features, features), stored by columns
        Weighted products of the standardized features over all cases, the upper triangle.
    products : array (features, targets)
        Of the standardized features with the targets.
    features, targets, weights
        As for `FewCases`, of the cases whose leave-one-out residuals are wanted.
    total_weight : float
        Of all cases.
    """

    def __init__(
        self,
        gram: Array,
        products: Array,
        features: Array,
        targets: Array,
        weights: Array,
        total_weight: float,
    ) -> None:
        self.size = len(gram)
        self.gram, self.products, self.targets = gram, products, targets
        self.Z, self.weights = features, weights[:, None]
        self.total_weight = total_weight

    def attempt(self, alpha: float) -> tuple[Array, Array]:
        """Leave-one-out residuals with a penalty, and the solution."""
        factor = _factorized(self.gram, alpha)
        coef = dpotrs(factor, self.products)[0]
        solved = strsm(1, factor.astype(np.float32, order="F"), self.Z.T, trans_a=1)
        norms = np.einsum("ij,ij->j", solved, solved)[:, None]
        leverage = self.weights * (norms + 1 / self.total_weight)
        residuals: Array = self.targets - self.Z @ coef.astype(np.float32)
        left = np.maximum(1 - leverage, np.finfo(leverage.dtype).eps)  # 1 by rounding
        return residuals / left, coef

    def coef(self, solution: Array) -> Array:
        """The solution: it is of the size of the features."""
        return solution


def solve(system: System, weights: Array, alphas: Array, guess: float | None = None) -> RidgeFit:
    """Ridge regression with the penalty of least squared leave-one-out error.

    Parameters
    ----------
    system : FewCases or ManyCases
    weights : array (cases,)
        Of the cases with leave-one-out residuals.
    alphas : array
        The penalties to choose from.
    guess : float, optional
        Where the search begins.
    """
    alphas = np.unique(alphas)
    best: tuple[float, RidgeFit] | None = None

    def error(place: int) -> float:
        nonlocal best
        try:
            residuals, solution = system.attempt(float(alphas[place]))
        except LinAlgError:
            return np.inf
        squared = float(weights @ (residuals**2).sum(axis=1))
        if best is None or squared < best[0]:
            best = squared, RidgeFit(solution, float(alphas[place]), residuals)
        return squared

    if system.size <= _SMALL:
        for place in range(len(alphas)):
            error(place)
    else:
        near = len(alphas) // 2 if guess is None else int(np.abs(np.log(alphas / guess)).argmin())
        descend(error, len(alphas), near)
    if best is None:
        raise ValueError(f"alphas must be larger for these series, got {alphas.max():g} at most")
    return best[1]._replace(coef=system.coef(best[1].coef))


def descend(error: Callable[[int], float], count: int, start: int) -> int:
    """The place among 0, ..., count - 1 where an error has a minimum, step by step from a start.

    Among equal errors, as those of penalties that are too small to solve with, it goes up.
    """
    errors = {place: error(place) for place in range(max(0, start - 1), min(start + 2, count))}
    while True:
        place = min(errors, key=lambda place: (errors[place], -place))
        unknown = {place - 1, place + 1} & set(range(count)) - set(errors)
        if not unknown:
            return place
        errors |= {near: error(near) for near in unknown}


def combine_factors(predictions: Array, targets: Array, weights: Array) -> Array:
    """Non-negative factors whose weighted sum of several predictions is nearest to the targets.

    Parameters
    ----------
    predictions : array (cases, targets, regressions)
        Leave-one-out predictions, less the mean of the targets.
    targets : array (cases, targets)
        Less their mean.
    weights : array (cases,)

    Returns
    -------
    array (regressions,)

    Notes
    -----
    Least squares with a ridge penalty on the distance to equal factors, because the cases may be
    few.
    """
    count = predictions.shape[-1]
    root = np.sqrt(weights)[:, None]
    strength = np.sqrt(_EQUAL_FACTORS_PENALTY) * np.linalg.norm(root * targets)
    A = np.vstack([(root[..., None] * predictions).reshape(-1, count), strength * np.eye(count)])
    b = np.concatenate([(root * targets).ravel(), np.full(count, strength / count)])
    factors: Array = nnls(A, b)[0]
    return factors if factors.any() else np.full(count, 1 / count)
