"""The last step of a fit: a regression for each family of features, and their sum.

Each family has a ridge regression of its own, and the model is the sum of these regressions with
non-negative factors.  A family that says little about the targets gets a small factor.

With few cases there are also regressions on the filters of a family that have similar dilations.
Few cases tell which of many features matter only if these are few, or of one scale.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from warplearn._kernels.drivers import windows
from warplearn.features.reduction import (
    Basis,
    Cases,
    Family,
    FamilyMoments,
    Moments,
    Total,
    sums_of,
)
from warplearn.features.representations import Array
from warplearn.features.ridge import (
    ManyCases,
    RidgeFit,
    Standards,
    System,
    combine_factors,
    few_cases,
    solve,
)
from warplearn.features.sliding import Kind
from warplearn.series.numbers import unit_of

_FEW = 1.15  # cases for each feature, up to which equations of the size of the cases cost less
_MOST_FOR_SCALES = 256  # cases, up to which there are regressions on similar dilations
_SCALES = 4  # how many of these, for a family


class Solution(NamedTuple):
    """A sum of ridge regressions.

    Attributes
    ----------
    coef : array (targets, features)
        Coefficients of the features as the transformers return them, one after the other.
    intercept : array (targets,)
    importances : array (groups,)
        Sums of squared coefficients of the standardized features.
    names : list of str
        What each regression is on.
    factors, alphas : arrays (regressions,)
        The factor of each regression; its penalty, relative to the number of features.
    loo : array (cases, targets)
        Leave-one-out predictions for the sample.
    """

    coef: Array
    intercept: Array
    importances: Array
    names: list[str]
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


class Regression(NamedTuple):
    """One of the regressions of the sum.

    Attributes
    ----------
    name : str
    family : int
        Where its features are.
    columns : array of int
        Which of those of the family they are.
    fit : RidgeFit
    """

    name: str
    family: int
    columns: NDArray[np.int64]
    fit: RidgeFit


def finish(basis: Basis, total: Total, alphas: Array, slack: float = 0.0) -> Solution:
    """Fit a ridge regression to each family of features, and add them up.

    With few cases there are further ones for filters of similar dilations.

    Parameters
    ----------
    basis : Basis
    total : Total
    alphas : array
        Penalties to choose from, relative to the number of features.
    slack : float, default=0
        As for `solve`.
    """
    unit = unit_of(total.sample.Y)  # regressions are solved in float32 in part
    sample, _, moments = total.in_units(unit)
    everything = Everything.of(sample, moments)
    mean = everything.targets / everything.weight
    targets, standards = sample.Y - mean, []
    regressions: list[Regression] = []
    guesses: dict[Kind, float] = {}  # penalties of families that differ in elasticity only
    for place, features in enumerate(basis.of_families(sample.series)):
        family, n_features = basis.families[place], features.shape[1]
        least, like = family.least_scale, family.kind._replace(columns=0)
        few = moments is None and len(features) <= _FEW * n_features
        if few:
            system, standard = all_at_hand(features, targets, sample.weights, least)
        else:
            others = None if moments is None else moments.families[place]
            system, standard = many_cases(features, sample, others, everything, least)
        guess = guesses.get(like, regressions[-1].fit.alpha if regressions else None)
        # Smaller penalties would enlarge the rounding errors of sums over many cases.
        fit = solve(system, alphas * n_features, guess, slack if few else 0.0)
        regressions.append(Regression(str(family.kind), place, np.arange(n_features), fit))
        standards.append(standard)
        guesses[like] = fit.alpha
        if moments is not None or everything.n_cases > _MOST_FOR_SCALES:
            continue
        for name, columns in _similar_dilations(basis, family):
            part = few_cases(features[:, columns], targets, sample.weights)
            fit = solve(part, alphas * len(columns), None, slack)
            regressions.append(Regression(f"{family.kind}, {name}", place, columns, fit))
    predictions = np.stack([targets - each.fit.loo for each in regressions], axis=-1)
    factors = combine_factors(predictions, targets, sample.weights)
    scaled = [np.zeros((len(family.shift), targets.shape[1])) for family in basis.families]
    for factor, (_, place, columns, fit) in zip(factors, regressions, strict=True):
        scaled[place][columns] += factor * fit.coef
    coef, intercept = _sum_of(basis, scaled, standards)
    return Solution(
        unit * coef,
        unit * (mean + intercept),
        unit**2 * _importances(basis, scaled),
        [each.name for each in regressions],
        factors,
        np.array([each.fit.alpha / len(each.columns) for each in regressions]),
        unit * (mean + predictions @ factors),
    )


def _similar_dilations(basis: Basis, family: Family) -> Iterator[tuple[str, NDArray[np.int64]]]:
    """Features of a family by dilation, in up to four parts of about the same size."""
    table = basis.transformers[family.transformer].groups_
    dilations = table[family.groups, windows.DILATION]
    _, of, counts = np.unique(dilations, return_inverse=True, return_counts=True)
    middle = (counts.cumsum() - counts / 2) / len(dilations)
    parts = (_SCALES * middle).astype(np.int64)[of]
    if len(np.unique(parts)) == 1:
        return
    per_group = len(family.columns) // len(family.groups)
    for part in np.unique(parts):
        members = np.flatnonzero(parts == part)
        columns = (members[:, None] * per_group + np.arange(per_group)).ravel()
        least, most = int(dilations[members].min()), int(dilations[members].max())
        yield f"dilation {least}" + f" to {most}" * (most > least), columns


def all_at_hand(
    features: Array, targets: Array, weights: Array, least_scale: float = 0.0
) -> tuple[System, Standards]:
    """The equations of cases that are all at hand; standardizes the features in place."""
    _, weighted, plain, squares = sums_of(features, targets, weights)
    mean, variance = weighted / weights.sum(), squares / len(weights) - (plain / len(weights)) ** 2
    standards = Standards.of(mean, variance, least_scale)
    standards.standardize(features)
    return few_cases(features, targets, weights), standards


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
