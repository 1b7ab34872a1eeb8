"""Ridge regression with leave-one-out predictions, with few cases or many.

The normal equations are solved for a penalty by a Cholesky factorization, of the size of the
number of cases or of the number of features, whichever costs less.  Leave-one-out predictions
follow from the same factor without refitting.  The penalty with the least squared leave-one-out
error is searched between penalties where the error falls and where it rises with the penalty, so
that few of them are tried, often two.  With very few cases all are tried, after a decomposition
into eigenvectors.

Let Z be the standardized features and T the centred targets, each row times the root of its
weight.  With penalty a, the fitted targets are H T, where H = Z (Z'Z + aI)^-1 Z', which is
I - a (ZZ' + aI)^-1.  The leverage of case i is H_ii, plus its share of the weights for the
intercept.  The leave-one-out residual is the residual divided by (1 - leverage).

The slope of the error needs a weighted sum of the derivatives of all leverages, which is the
squared norm of a large matrix.  It is estimated by products with a few random vectors
(Hutchinson).  Slopes only say where to look; errors that are compared are exact.

With few cases, a penalty may also be on what changes D of the features do to a prediction
(`invariance`): a (|b|^2 + s |D b|^2) for coefficients b.  That is a ridge regression with products
Z M Z' instead of ZZ', where M = (I + s D'D)^-1 = I - D' (I / s + D D')^-1 D.

Matrices of products are added up and factorized in float64.  A triangular factor has the root of
their condition number, so leverages are computed from it in float32.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.linalg import LinAlgError
from scipy.linalg import eigh
from scipy.linalg.blas import dsyr, ssyrk, strsm
from scipy.linalg.lapack import dpotrf, dpotrs, strtri
from scipy.optimize import nnls

from warplearn.features.representations import Array

_COLUMNS_PER_BLOCK = 512  # features whose products are added up in float32
_SMALL = 256  # equations, for which all penalties are tried: their errors may have several minima
_PROBES = 64  # random vectors for a slope
_STEPS_DOWN = 2  # penalties below the best that are tried with more equations
_EQUAL_FACTORS_PENALTY = 1 / 120  # for each regression, relative to the sum of squared targets


Result = TypeVar("Result")


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


class Attempt(NamedTuple):
    """What the equations give with a penalty.

    Attributes
    ----------
    solution : array
        Of the equations.
    loo : array (cases, targets)
        Leave-one-out residuals.
    error : float
        Their weighted sum of squares.
    slope : float
        The derivative of the error in the penalty, roughly; NaN where all penalties are tried.
    """

    solution: Array
    loo: Array
    error: float
    slope: float


class System(Protocol):
    """The normal equations of a regression."""

    size: int

    def attempt(self, alpha: float) -> Attempt:
        """Solve with a penalty; raises `LinAlgError` if it is too small."""

    def solution(self, alpha: float) -> Array:
        """What solves the equations with a penalty, without leave-one-out residuals."""

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


def _signs(size: int) -> Array:
    """Random vectors of signs, the same ones each time."""
    return np.random.default_rng(0).choice([-1.0, 1.0], (size, _PROBES))


def _factorized(products: Array, alpha: float) -> Array:
    """The upper triangular factor of products + alpha I, of which the upper triangle is given."""
    shifted = products.copy(order="F")
    shifted[np.diag_indices_from(shifted)] += alpha
    factor, failed = dpotrf(shifted, lower=0, clean=1, overwrite_a=1)
    if failed:
        raise LinAlgError(f"the penalty {alpha:g} is too small for the features")
    upper: Array = factor
    return upper


class Rows(NamedTuple):
    """Standardized features of few cases, weighted, and what changes of the cases do to them.

    Attributes
    ----------
    pieces : tuple of arrays (rows, features of the piece), float32
        A row for each case, and then for each change.
    products : array (rows, rows), stored by columns
        Of all features; only the upper triangle.
    """

    pieces: tuple[Array, ...]
    products: Array

    @classmethod
    def of(cls, features: Array, weights: Array, changes: Array | None = None) -> Rows:
        """Weight the features of cases; changes are weighted already."""
        rows = features * np.sqrt(weights)[:, None].astype(np.float32)
        if changes is not None:
            rows = np.vstack([rows, changes])
        products = np.zeros((len(rows), len(rows)), order="F")
        some = np.zeros(products.shape, np.float32, order="F")
        for columns in _blocks(rows.shape[1]):
            products += ssyrk(1, rows[:, columns].T, trans=1, c=some, overwrite_c=1)
        return cls((rows,), products)

    @classmethod
    def joined(cls, parts: Sequence[Rows]) -> Rows:
        """The features of several parts, one behind the other: products add up."""
        first, *others = parts
        products = first.products.copy(order="F")
        for each in others:
            products += each.products
        return cls(tuple(piece for each in parts for piece in each.pieces), products)

    def without_changes(self, size: int, strength: float) -> tuple[Array, Array]:
        """Products of the cases alone, and what a solution is multiplied by for the changes."""
        if not strength:
            return self.products[:size, :size].copy(order="F"), np.zeros((0, size))
        across, among = self.products[:size, size:], self.products[size:, size:].copy(order="F")
        relative = strength * len(among) / max(float(np.trace(among)), 1e-300)
        factors: Array = -dpotrs(_factorized(among, 1 / relative), across.T)[0]
        return np.asfortranarray(self.products[:size, :size] + across @ factors), factors


class FewCases:
    """The equations of the size of the cases, for few cases.

    Parameters
    ----------
    rows : Rows
    targets : array (cases, targets)
        Less their weighted mean.
    weights : array (cases,)
    strength : float, default=0
        Of the penalty on changes, relative to their mean square.
    """

    def __init__(self, rows: Rows, targets: Array, weights: Array, strength: float = 0.0) -> None:
        self.size = len(weights)
        self.root = np.sqrt(weights)[:, None]
        self.shares = weights[:, None] / weights.sum()
        self.T = self.root * targets
        self.pieces = rows.pieces
        self.products, self.for_changes = rows.without_changes(self.size, strength)
        # Features and targets are centred, so that this changes the intercept only.  Otherwise the
        # inverse would mostly consist of the intercept's share, which is taken off again.
        self.level = max(float(np.trace(self.products)) / len(weights), 1e-300)
        self.products = dsyr(self.level, np.sqrt(self.shares), a=self.products, overwrite_a=1)

    def solution(self, alpha: float) -> Array:
        """What solves the equations with a penalty."""
        dual: Array = dpotrs(_factorized(self.products, alpha), self.T)[0]
        return dual

    def attempt(self, alpha: float) -> Attempt:
        """Solve with a penalty."""
        factor = _factorized(self.products, alpha)
        inverse, _ = strtri(factor.astype(np.float32, order="F"), lower=0, overwrite_c=1)
        dual = dpotrs(factor, self.T)[0]
        # What residuals are divided by is the diagonal of the inverse, without the intercept.
        share = self.shares / (self.level + alpha)
        left = np.einsum("ij,ij->i", inverse, inverse)[:, None] - share
        squares = (dual**2).sum(axis=1, keepdims=True)
        strength = squares / left**3
        probes = np.sqrt(np.abs(strength)) * _signs(self.size)
        steps = dpotrs(factor, np.hstack([dual, probes]))[0]
        own, others = np.split(steps, [dual.shape[1]], axis=1)
        falling = (others**2).sum() / _PROBES - (strength * share).sum() / (self.level + alpha)
        slope = 2 * (falling - (dual * own / left**2).sum())
        return Attempt(dual, dual / self.root / left, float((squares / left**2).sum()), slope)

    def coef(self, solution: Array) -> Array:
        """The coefficients of a solution, of the size of the cases."""
        dual = np.vstack([solution, self.for_changes @ solution])
        blocks = (
            piece[: len(dual), columns].T @ dual
            for piece in self.pieces
            for columns in _blocks(piece.shape[1])
        )
        return np.concatenate(list(blocks))


class VeryFewCases(FewCases):
    """The equations of so few cases that all penalties are tried, with one decomposition for all.

    Parameters
    ----------
    rows, targets, weights, strength
        As for `FewCases`.
    """

    def __init__(self, rows: Rows, targets: Array, weights: Array, strength: float = 0.0) -> None:
        super().__init__(rows, targets, weights, strength)
        self.values, self.vectors = eigh(
            self.products, lower=False, check_finite=False, driver="evd"
        )
        self.squares, self.turned = self.vectors**2, self.vectors.T @ self.T

    def attempt(self, alpha: float) -> Attempt:
        """Solve with a penalty."""
        shifted = self.values[:, None] + alpha
        if shifted[0] <= np.finfo(np.float64).eps * shifted[-1]:
            raise LinAlgError(f"the penalty {alpha:g} is too small for the features")
        dual = self.vectors @ (self.turned / shifted)
        left = self.squares @ (1 / shifted) - self.shares / (self.level + alpha)
        residuals = dual / left
        return Attempt(dual, residuals / self.root, float((residuals**2).sum()), np.nan)


def few_cases(rows: Rows, targets: Array, weights: Array, strength: float = 0.0) -> FewCases:
    """The equations of cases, which should not be much more than features; as for `FewCases`."""
    kind = VeryFewCases if len(weights) <= _SMALL else FewCases
    return kind(rows, targets, weights, strength)


class ManyCases:
    """The equations of the size of the features, for many cases.

    Parameters
    ----------
    gram : array (features, features), stored by columns
        Weighted products of the standardized features over all cases, the upper triangle.
    products : array (features, targets)
        Of the standardized features with the targets.
    features : array (cases, features), float32
        Standardized, of the cases whose leave-one-out residuals are wanted.
    targets, weights
        Of these, as for `FewCases`.
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

    def solution(self, alpha: float) -> Array:
        """What solves the equations with a penalty."""
        coef: Array = dpotrs(_factorized(self.gram, alpha), self.products)[0]
        return coef

    def attempt(self, alpha: float) -> Attempt:
        """Solve with a penalty."""
        factor = _factorized(self.gram, alpha)
        coef = dpotrs(factor, self.products)[0]
        solved = strsm(1, factor.astype(np.float32, order="F"), self.Z.T, trans_a=1)
        norms = np.einsum("ij,ij->j", solved, solved)[:, None]
        leverage = self.weights * (norms + 1 / self.total_weight)
        residuals: Array = self.targets - self.Z @ coef.astype(np.float32)
        left = np.maximum(1 - leverage, np.finfo(leverage.dtype).eps)  # 1 by rounding
        squares = self.weights * (residuals**2).sum(axis=1, keepdims=True)
        probes = np.sqrt(self.weights * squares / left**3) * _signs(len(squares))
        steps = dpotrs(factor, np.hstack([coef, self.Z.T @ probes.astype(np.float32)]))[0]
        own, others = np.split(steps, [coef.shape[1]], axis=1)
        change = self.Z @ own.astype(np.float32)
        rising = (self.weights * residuals * change / left**2).sum()
        slope = 2 * (rising - (others**2).sum() / _PROBES)
        return Attempt(coef, residuals / left, float((squares / left**2).sum()), slope)

    def coef(self, solution: Array) -> Array:
        """The solution: it is of the size of the features."""
        return solution


def solve(
    system: System, alphas: Array, guess: float | None = None, slack: float = 0.0
) -> RidgeFit:
    """Ridge regression with the penalty of least squared leave-one-out error, or a smaller one.

    Parameters
    ----------
    system : System
    alphas : array
        The penalties to choose from.
    guess : float, optional
        Where the search begins.
    slack : float, default=0
        Going down from the best penalty, the last one whose error is at most 1 + slack times the
        least is chosen.  Where penalties cost time, only two smaller ones are tried.
    """
    fit, alpha = _search(system, alphas, guess, slack)
    return RidgeFit(system.coef(fit.solution), alpha, fit.loo)


def solve_few(
    rows: Rows,
    targets: Array,
    weights: Array,
    alphas: Array,
    slack: float = 0.0,
    strengths: Sequence[float] = (0.0,),
) -> tuple[RidgeFit, float]:
    """The same for few cases, with the best of some strengths of the penalty on changes.

    Returns that strength, too.
    """
    systems = [few_cases(rows, targets, weights, strength) for strength in strengths]
    found = [_search(system, alphas, None, slack) for system in systems]
    best = min(range(len(found)), key=lambda place: found[place][0].error)
    fit, alpha = found[best]
    return RidgeFit(systems[best].coef(fit.solution), alpha, fit.loo), strengths[best]


def _search(
    system: System, alphas: Array, guess: float | None, slack: float
) -> tuple[Attempt, float]:
    """What the chosen penalty gives, and this penalty, as for `solve`."""
    alphas = np.unique(alphas)
    tried: dict[int, Attempt] = {}

    def error(place: int) -> float:
        if place not in tried:
            try:
                tried[place] = system.attempt(float(alphas[place]))
            except LinAlgError:
                return np.inf
        return tried[place].error

    def slope(place: int) -> float:
        """The relative change of the error with the logarithm of the penalty."""
        if error(place) == np.inf:
            return -np.inf
        return float(alphas[place]) * tried[place].slope / max(error(place), 1e-300)

    small = system.size <= _SMALL
    if small:
        for place in range(len(alphas)):
            error(place)
    else:
        near = len(alphas) // 2 if guess is None else int(np.abs(np.log(alphas / guess)).argmin())
        descend(slope, len(alphas), near)
    if not tried:
        raise ValueError(f"alphas must be larger for these series, got {alphas.max():g} at most")
    best = min(tried, key=error)
    chosen, most = best, (1 + slack) * error(best)
    lowest = 0 if small else best - _STEPS_DOWN
    while slack and chosen > max(lowest, 0) and error(chosen - 1) <= most:
        chosen -= 1
    return tried[chosen], float(alphas[chosen])


def solve_once(system: System, alpha: float) -> Array:
    """Coefficients with a given penalty, or with the next larger one that rounding errors allow."""
    return system.coef(_with_penalty(system.solution, alpha)[0])


def solve_with(system: System, alpha: float) -> RidgeFit:
    """The same with leave-one-out residuals."""
    fit, alpha = _with_penalty(system.attempt, alpha)
    return RidgeFit(system.coef(fit.solution), alpha, fit.loo)


def _with_penalty(function: Callable[[float], Result], alpha: float) -> tuple[Result, float]:
    """What a function gives for a penalty, or the next larger one that it can do with."""
    while np.isfinite(alpha):
        try:
            return function(alpha), alpha
        except LinAlgError:
            alpha *= 10
    raise ValueError("X must have finite features")


def descend(slope: Callable[[int], float], count: int, start: int) -> None:
    """Ask for slopes at some of the places 0, ..., count - 1 until the minimum is between two.

    The next place is where a line through the last two slopes is zero, but at most two steps away.
    It is between a place where the function falls and one where it rises, if there are such places.
    """
    low, high, place = -1, count, start  # it falls at `low`, and rises at `high`
    last: tuple[int, float] | None = None
    while True:
        here = slope(place)
        low, high = (place, high) if here < 0 else (low, place)
        if high - low == 1:
            return
        step = 1.0 if here < 0 else -1.0
        if last is not None and np.isfinite(here - last[1]) and here != last[1]:
            step = np.clip(here * (last[0] - place) / (here - last[1]), -2, 2)
        last = place, here
        place = int(np.clip(np.rint(place + step), low + 1, high - 1))


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
    few.  The more regressions, the smaller are equal factors, and the stronger is the penalty.
    """
    count = predictions.shape[-1]
    root = np.sqrt(weights)[:, None]
    strength = np.sqrt(_EQUAL_FACTORS_PENALTY * count) * np.linalg.norm(root * targets)
    A = np.vstack([(root[..., None] * predictions).reshape(-1, count), strength * np.eye(count)])
    b = np.concatenate([(root * targets).ravel(), np.full(count, strength / count)])
    factors: Array = nnls(A, b)[0]
    return factors if factors.any() else np.full(count, 1 / count)
