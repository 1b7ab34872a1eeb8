"""Ridge regression with few cases and many features, and weighted sums of several regressions.

There are usually more features than cases.  A regression is then solved through the cases x cases
matrix of inner products, whose eigenvalues serve all penalties.  The leave-one-out predictions
follow from the same eigenvalues without refitting.  They choose the penalty, and the factors with
which regressions on different features are added.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh, svd
from scipy.optimize import nnls

from warplearn.features.representations import Array

_COLUMNS_PER_BLOCK = 4096  # features that are standardized at once
_EQUAL_FACTORS_PENALTY = 0.1  # relative to the sum of squared targets
_SMALLEST_EIGENVALUE = 1e-10  # relative to the largest; smaller ones are rounding errors


class RidgeFit(NamedTuple):
    """A fitted ridge regression.

    Attributes
    ----------
    coef : array (features, targets)
        Coefficients of the standardized features.
    alpha : float
        The chosen penalty.
    loo : array (cases, targets)
        Leave-one-out predictions.
    """

    coef: Array
    alpha: float
    loo: Array


class Standardized(NamedTuple):
    """Features, and the means and scales that standardize them.

    The standardized features are made in blocks of columns, so that they need little memory.
    """

    features: Array
    mean: Array
    scale: Array

    @classmethod
    def of(cls, features: Array, weights: Array) -> Standardized:
        """Take the weighted mean and the unweighted standard deviation of each feature."""
        blocks = (features[:, columns] for columns in _blocks(features.shape[1]))
        mean = np.concatenate([weights @ block for block in blocks]) / weights.sum()
        scale = features.std(axis=0, dtype=np.float64)
        return cls(features, mean, np.where(scale > 1e-7 * (1 + np.abs(mean)), scale, np.inf))

    def select(self, columns: Array) -> Standardized:
        """Some of the features."""
        return Standardized(self.features[:, columns], self.mean[columns], self.scale[columns])

    def blocks(self) -> Iterator[Array]:
        """Standardized columns in float64, a block at a time; a constant feature is 0."""
        for columns in _blocks(len(self.mean)):
            yield (self.features[:, columns] - self.mean[columns]) / self.scale[columns]


def _blocks(n_columns: int) -> Iterator[slice]:
    for start in range(0, n_columns, _COLUMNS_PER_BLOCK):
        yield slice(start, start + _COLUMNS_PER_BLOCK)


def ridge(X: Standardized, Y: Array, weights: Array, alphas: Array) -> RidgeFit:
    """Ridge regression with the penalty of least squared leave-one-out error.

    Parameters
    ----------
    X : Standardized
    Y : array (cases, targets)
    weights : array (cases,)
        Positive.
    alphas : array
        The penalties to choose from.

    Notes
    -----
    Let Z be the features and T the centred targets, each row times the root of its weight, and
    Z = U diag(s) V' the singular value decomposition.  With penalty a, the fitted targets are
    H T, where H = U diag(s^2 / (s^2 + a)) U'.  The leverage of case i is H_ii, plus its share of
    the weights for the intercept.  The leave-one-out residual is the residual divided by
    (1 - leverage).
    """
    root = np.sqrt(weights)[:, None]
    T = root * (Y - np.average(Y, axis=0, weights=weights))
    U, squares = _left_singular_vectors(X, root)
    projected = U.T @ T
    loo_residuals = []
    for alpha in alphas:
        shrunk = squares / (squares + alpha)
        leverage = U**2 @ shrunk + weights / weights.sum()
        residuals = (T - U @ (shrunk[:, None] * projected)) / root
        left = np.maximum(1 - leverage, np.finfo(np.float64).eps)  # 1 by rounding: fitted exactly
        loo_residuals.append(residuals / left[:, None])
    best = int(np.argmin([weights @ (errors**2).sum(axis=1) for errors in loo_residuals]))
    dual = root * (U @ (projected / (squares + alphas[best])[:, None]))
    coef = np.concatenate([block.T @ dual for block in X.blocks()])
    return RidgeFit(coef, alphas[best], Y - loo_residuals[best])


def _left_singular_vectors(X: Standardized, root: Array) -> tuple[Array, Array]:
    """U and the squared singular values of the features, each case times `root`."""
    if len(root) < len(X.mean):
        products = sum(Z @ Z.T for Z in (root * block for block in X.blocks()))
        squares, U = eigh(products, driver="evd")
    else:
        U, singular_values, _ = svd(root * np.hstack(list(X.blocks())), full_matrices=False)
        squares = singular_values**2
    kept = squares > _SMALLEST_EIGENVALUE * squares.max()
    return U[:, kept], squares[kept]


def combine(predictions: Array, targets: Array, weights: Array) -> Array:
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
