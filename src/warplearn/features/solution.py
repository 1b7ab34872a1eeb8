"""The last step of a fit: a regression for each family of features, and their sum.

Each family has a ridge regression of its own, and the model is the sum of these regressions with
non-negative factors.  A family that says little about the targets gets a small factor.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from warplearn.features.reduction import Basis, Cases, FamilyMoments, Moments, Total, sums_of
from warplearn.features.representations import Array
from warplearn.features.ridge import (
    FewCases,
    ManyCases,
    Standards,
    System,
    combine_factors,
    solve,
)
from warplearn.features.sliding import Kind

_FEW = 1.15  # cases for each feature, up to which equations of the size of the cases cost less


class Solution(NamedTuple):
    """A sum of ridge regressions.

    Attributes
    ----------
    coef : array (targets, features)
        Coefficients of the features as the transformers return them, one after the other.
    intercept : array (targets,)
    importances : array (groups,)
        Sums of squared coefficients of the standardized features.
    factors, alphas : arrays (families,)
        The factor of each regression; its penalty, relative to the number of features.
    loo : array (cases, targets)
        Leave-one-out predictions for the sample.
    """

    coef: Array
    intercept: Array
    importances: Array
    factors: Array
    alphas: Array
    loo: Array


class Everything(NamedTuple):
    """Number of all cases, the sum of their weights, and the weighted sum of their targets."""

    n_cases: int
    weight: float
    targets: Array

    @classmethod
    def of(cls, sample: Cases, moments: Moments | None) -> Everything:
        """Add up the cases of the sample and those of the moments."""
        others = (0, 0.0, 0.0) if moments is None else moments[:3]
        mine = len(sample.weights), sample.weights.sum(), sample.weights @ sample.Y
        return cls(*(a + b for a, b in zip(mine, others, strict=True)))


def finish(basis: Basis, total: Total, alphas: Array) -> Solution:
    """Fit a ridge regression to each family of features, and add them up.

    Parameters
    ----------
    basis : Basis
    total : Total
    alphas : array
        Penalties to choose from, relative to the number of features.
    """
    sample, moments = total.sample, total.moments
    everything = Everything.of(sample, moments)
    mean = everything.targets / everything.weight
    targets, fits, standards = sample.Y - mean, [], []
    guesses: dict[Kind, float] = {}  # penalties of families that differ in elasticity only
    for place, features in enumerate(basis.of_families(sample.series)):
        family, n_features = basis.families[place], features.shape[1]
        least, like = family.least_scale, family.kind._replace(columns=0)
        if moments is None and len(features) <= _FEW * n_features:
            system, standard = few_cases(features, targets, sample.weights, least)
        else:
            others = None if moments is None else moments.families[place]
            system, standard = many_cases(features, sample, others, everything, least)
        guess = guesses.get(like, fits[-1].alpha if fits else None)
        fits.append(solve(system, alphas * n_features, guess))
        standards.append(standard)
        guesses[like] = fits[-1].alpha
    predictions = np.stack([targets - fit.loo for fit in fits], axis=-1)
    factors = combine_factors(predictions, targets, sample.weights)
    scaled = [factor * fit.coef for factor, fit in zip(factors, fits, strict=True)]
    coef, intercept = _sum_of(basis, scaled, standards)
    return Solution(
        coef,
        mean + intercept,
        _importances(basis, scaled),
        factors,
        np.array([fit.alpha / len(fit.coef) for fit in fits]),
        mean + predictions @ factors,
    )


def few_cases(
    features: Array, targets: Array, weights: Array, least_scale: float = 0.0
) -> tuple[System, Standards]:
    """The equations of cases that are all at hand; standardizes the features in place."""
    _, weighted, plain, squares = sums_of(features, targets, weights)
    mean, variance = weighted / weights.sum(), squares / len(weights) - (plain / len(weights)) ** 2
    standards = Standards.of(mean, variance, least_scale)
    standards.standardize(features)
    return FewCases(features, targets, weights), standards


def many_cases(
    features: Array,
    sample: Cases,
    others: FamilyMoments | None,
    everything: Everything,
    least_scale: float = 0.0,
) -> tuple[System, Standards]:
    """The equations of all cases, from sums; standardizes the features of the sample in place."""
    sums = FamilyMoments.zeros(features.shape[1], sample.Y.shape[1])
    sums.add(features, sample.Y, sample.weights)
    if others is not None:
        sums.merge(others)
    mean, plain = sums.weighted / everything.weight, sums.plain / everything.n_cases
    standards = Standards.of(mean, sums.squares / everything.n_cases - plain**2, least_scale)
    standards.standardize(features)
    gram, inverse = sums.gram, 1 / standards.scale
    gram -= np.outer(sums.weighted, mean).T
    gram *= inverse
    gram *= inverse[:, None]
    products = (sums.products - np.outer(mean, everything.targets)) * inverse[:, None]
    targets = sample.Y - everything.targets / everything.weight
    return ManyCases(
        gram, products, features, targets, sample.weights, everything.weight
    ), standards


def _sum_of(basis: Basis, scaled: list[Array], standards: list[Standards]) -> tuple[Array, Array]:
    """Coefficients and intercept for the features as they are."""
    coef = np.empty((scaled[0].shape[1], basis.n_features))
    intercept = np.zeros(len(coef))
    for family, coefficients, standard in zip(basis.families, scaled, standards, strict=True):
        raw = coefficients / standard.scale[:, None]
        coef[:, family.columns] = raw.T
        intercept -= (family.shift + standard.mean) @ raw
    return coef, intercept


def _importances(basis: Basis, scaled: list[Array]) -> Array:
    first = basis.first_groups
    importances = np.empty(first[-1])
    for family, coefficients in zip(basis.families, scaled, strict=True):
        squares = (coefficients**2).reshape(len(family.groups), -1)
        importances[first[family.transformer] + family.groups] = squares.sum(axis=1)
    return importances
