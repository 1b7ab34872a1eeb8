"""The last step of a fit: a regression for each family of features, and their sum.

Each family has a ridge regression of its own, and the model is the sum of these regressions with
non-negative factors.  A family that says little about the targets gets a small factor.

With few cases there are also regressions on parts of a family: on filters of similar dilations, and
on features of one pooling.  Few cases tell which of many features matter only if these are few, or
alike.  And regressions are told which changes of the features do not matter (`invariance`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby, repeat
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from warplearn._kernels.drivers import windows
from warplearn.features.invariance import Variants
from warplearn.features.reduction import (
    Basis,
    Cases,
    Family,
    FamilyMoments,
    Moments,
    Total,
    select,
    sums_of,
)
from warplearn.features.representations import Array
from warplearn.features.ridge import (
    FewCases,
    ManyCases,
    RidgeFit,
    Rows,
    Standards,
    System,
    combine_factors,
    few_cases,
    solve,
    solve_few,
    solve_once,
    solve_with,
)
from warplearn.series.numbers import unit_of

_FEW = 1.15  # cases for each feature, up to which equations of the size of the cases cost less
# Cases, up to which there are regressions on parts of families: of small families, and of families
# that have more features than cases.
MOST_FOR_PARTS = 256, 400
_SCALES = 4  # parts of similar dilations
STRENGTHS = 0.0, 0.5, 2.0, 8.0  # of the penalty on changes, relative to their mean square


class Term(NamedTuple):
    """One of the regressions of the sum.

    Attributes
    ----------
    name : str
        What it is on.
    family : int
        Where its features are.
    columns : array of int
        Which of those of the family they are.
    factor, alpha : float
        Its factor and its penalty.
    whole : bool, default=False
        Whether these are all features of the family.
    strength : float, default=0
        Of the penalty on changes.
    """

    name: str
    family: int
    columns: NDArray[np.int64]
    factor: float
    alpha: float
    whole: bool = False
    strength: float = 0.0


class Solution(NamedTuple):
    """A sum of ridge regressions.

    Attributes
    ----------
    coef : array (targets, features)
        Coefficients of the features as the transformers return them, one after the other.
    intercept : array (targets,)
    importances : array (groups,)
        Sums of squared coefficients of the standardized features.
    terms : list of Term
    loo : array (cases, targets)
        Leave-one-out predictions for the sample.
    """

    coef: Array
    intercept: Array
    importances: Array
    terms: list[Term]
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


class Features(NamedTuple):
    """Features of a family.

    Attributes
    ----------
    values : array (cases, features), float32
        Of the cases of the sample, standardized.
    many : ManyCases, optional
        The equations of the size of the features, if these are to be solved.
    changes : array (changes, features), float32, optional
        Changes of the features that should not matter, weighted.
    """

    values: Array
    many: ManyCases | None
    changes: Array | None = None

    def rows(self, weights: Array, columns: NDArray[np.int64] | slice = slice(None)) -> Rows:
        """Some of the features, as equations of the size of the cases need them."""
        changes = None if self.changes is None else self.changes[:, columns]
        return Rows.of(self.values[:, columns], weights, changes)


class Problem:
    """The regressions of all cases, each family at a time.

    Parameters
    ----------
    basis : Basis
    total : Total
    """

    def __init__(self, basis: Basis, total: Total) -> None:
        self.basis = basis
        self.unit = unit_of(total.sample.Y)  # regressions are solved in float32 in part
        self.sample, _, self.moments = total.in_units(self.unit)
        self.everything = Everything.of(self.sample, self.moments)
        self.mean = self.everything.targets / self.everything.weight
        self.targets = self.sample.Y - self.mean
        self.scaled: list[Array] = []  # of each family, coefficients of its standardized features
        self.standards: list[Standards] = []
        self.variants: Variants | None = None

    @property
    def has_few_cases(self) -> bool:
        """Whether there are also regressions on parts of families."""
        n_features = min(len(family.columns) for family in self.basis.families)
        most = MOST_FOR_PARTS[self.everything.n_cases <= n_features]
        return self.moments is None and self.everything.n_cases <= most

    def vary(self) -> None:
        """Let features have changes."""
        self.variants = Variants.of(self.sample.series)

    def families(self) -> Iterator[tuple[Family, Features]]:
        """Each family with its features."""
        variants, series = self.variants, self.sample.series
        varied = repeat(None) if variants is None else self.basis.of_families(variants.series)
        own = zip(self.basis.families, self.basis.of_families(series), varied, strict=False)
        for place, (family, values, mine) in enumerate(own):
            features = self._equations(place, family, values)
            if variants is not None and mine is not None:
                weights, standards = self.sample.weights, self.standards[-1]
                changes = variants.changes(mine, values, standards, weights)
                features = features._replace(changes=changes)
            self.scaled.append(np.zeros((values.shape[1], self.targets.shape[1])))
            yield family, features

    def _equations(self, place: int, family: Family, values: Array) -> Features:
        """Standardize the features of a family, and decide which equations are solved."""
        few = len(values) <= _FEW * values.shape[1] or self.has_few_cases
        if self.moments is None and few:
            weights, least = self.sample.weights, family.least_scale
            self.standards.append(standardize(values, self.targets, weights, least))
            return Features(values, None)
        others = None if self.moments is None else self.moments.families[place]
        many, standards = many_cases(
            values, self.sample, others, self.everything, family.least_scale
        )
        self.standards.append(standards)
        return Features(values, many)

    def few(
        self, features: Features, columns: NDArray[np.int64] | slice, strength: float = 0.0
    ) -> FewCases:
        """The equations of the size of the cases, for some features and a known penalty."""
        weights = self.sample.weights
        return FewCases(features.rows(weights, columns), self.targets, weights, strength)

    def sum_of(self, terms: list[Term], fits: list[RidgeFit]) -> Solution:
        """The sum of regressions, with the factors that suit their leave-one-out predictions."""
        predictions = np.stack([self.targets - fit.loo for fit in fits], axis=-1)
        factors = combine_factors(predictions, self.targets, self.sample.weights)
        for index, (factor, fit) in enumerate(zip(factors.tolist(), fits, strict=True)):
            terms[index] = term = terms[index]._replace(factor=factor)
            self.scaled[term.family][term.columns] += factor * fit.coef
        return self.solution(terms, self.unit * (self.mean + predictions @ factors))

    def solution(self, terms: list[Term], loo: Array) -> Solution:
        """The sum of the regressions, whose coefficients are in `scaled`."""
        basis, unit = self.basis, self.unit
        coef = np.empty((len(self.mean), basis.n_features))
        intercept = self.mean.copy()
        importances = np.empty(basis.first_groups[-1])
        for family, scaled, standard in zip(
            basis.families, self.scaled, self.standards, strict=True
        ):
            raw = scaled / standard.scale[:, None]
            coef[:, family.columns] = raw.T
            intercept -= (family.shift + standard.mean) @ raw
            squares = (scaled**2).reshape(len(family.groups), -1).sum(axis=1)
            importances[basis.numbers_of(family)] = squares
        return Solution(unit * coef, unit * intercept, unit**2 * importances, terms, loo)


def finish(basis: Basis, total: Total, alphas: Array, slack: float = 0.0) -> Solution:
    """Fit a ridge regression to each family of features, and add them up.

    With few cases there are further ones for parts of families.

    Parameters
    ----------
    basis : Basis
    total : Total
    alphas : array
        Penalties to choose from, relative to the number of features.
    slack : float, default=0
        As for `solve`.
    """
    problem = Problem(basis, total)
    if problem.has_few_cases and any(STRENGTHS):
        problem.vary()
    solved: list[tuple[Term, RidgeFit]] = []
    for place, (family, features) in enumerate(problem.families()):
        if problem.has_few_cases:
            solved.extend(_solved_in_parts(problem, place, features, alphas, slack))
        else:
            # The penalty is much the same for all elasticities.
            like = [t for t, _ in solved if basis.families[t.family].source == family.source]
            guess = like[-1].alpha if like else solved[-1][0].alpha if solved else None
            solved.append(_solved(problem, place, features, alphas, guess, slack))
    terms, fits = zip(*solved, strict=True)
    return problem.sum_of(list(terms), list(fits))


def _solved(
    problem: Problem,
    place: int,
    features: Features,
    alphas: Array,
    guess: float | None,
    slack: float,
) -> tuple[Term, RidgeFit]:
    """The regression on a family."""
    system: System
    if features.many:
        # Smaller penalties would enlarge the rounding errors of sums over many cases.
        system, slack = features.many, 0.0
    else:
        weights = problem.sample.weights
        system = few_cases(features.rows(weights), problem.targets, weights)
    columns = np.arange(features.values.shape[1])
    fit = solve(system, alphas * len(columns), guess, slack)
    name = str(problem.basis.families[place].kind)
    return Term(name, place, columns, 1.0, fit.alpha, True), fit


def _solved_in_parts(
    problem: Problem, place: int, features: Features, alphas: Array, slack: float
) -> Iterator[tuple[Term, RidgeFit]]:
    """The regressions of few cases on a family and on its parts."""
    family, weights = problem.basis.families[place], problem.sample.weights
    strengths: Sequence[float] = STRENGTHS
    for part, columns, rows in _parts(problem.basis, family, features, weights):
        penalties = alphas * len(columns)
        fit, strength = solve_few(rows, problem.targets, weights, penalties, slack, strengths)
        strengths = (strength,)  # the family comes first, its parts have the same
        name = f"{family.kind}, {part}" if part else str(family.kind)
        yield Term(name, place, columns, 1.0, fit.alpha, not part, strength), fit


def finish_again(basis: Basis, total: Total, solution: Solution) -> Solution:
    """The same with fewer groups of all families, and the penalties that all groups had.

    There are no regressions on parts of families, and no penalties on changes.

    Parameters
    ----------
    basis, total
        As for `finish`, what `select` gave.
    solution : Solution
        What `finish` returned for all groups.
    """
    problem, fits, terms = Problem(basis, total), [], []
    wholes = [term for term in solution.terms if term.whole]
    for place, (family, features) in enumerate(problem.families()):
        columns = np.arange(features.values.shape[1])
        alpha = wholes[place].alpha * len(columns) / len(wholes[place].columns)
        fits.append(solve_with(features.many or problem.few(features, slice(None)), alpha))
        terms.append(Term(str(family.kind), place, columns, 1.0, fits[-1].alpha, True))
    return problem.sum_of(terms, fits)


def reduced(basis: Basis, total: Total, solution: Solution, share: float) -> tuple[Basis, Solution]:
    """The same sum of regressions with fewer features.

    Of each family that counts, the groups of the greatest importance for their work are kept.  The
    regressions are fitted again to these, with the penalties and factors that all features had:
    leave-one-out predictions with features that were chosen on the same cases are too good to
    choose by.

    Parameters
    ----------
    basis, total
        As for `finish`.
    solution : Solution
        What `finish` returned.
    share : float
        Of the work of a prediction that is kept.
    """
    rows = list(_most_important(basis, solution, share))
    counted = [place for place, kept in enumerate(rows) if len(kept)]
    if not counted:  # all coefficients are 0
        return basis, solution
    groups = [basis.numbers_of(basis.families[place])[rows[place]] for place in counted]
    smaller, fewer = select(basis, total, np.sort(np.concatenate(groups)))
    problem, terms = Problem(smaller, fewer), []
    if any(term.strength for term in solution.terms):
        problem.vary()
    for index, (family, features) in enumerate(problem.families()):
        per_group = len(family.columns) // len(family.groups)
        left = (rows[counted[index]][:, None] * per_group + np.arange(per_group)).ravel()
        for term in solution.terms:
            columns = np.flatnonzero(np.isin(left, term.columns))
            if term.family != counted[index] or not term.factor or not len(columns):
                continue
            whole = len(columns) == len(left) and not term.strength
            system = (whole and features.many) or problem.few(features, columns, term.strength)
            alpha = term.alpha * len(columns) / len(term.columns)
            problem.scaled[index][columns] += term.factor * solve_once(system, alpha)
            terms.append(term._replace(family=index, columns=columns, alpha=alpha))
    return smaller, problem.solution(terms, solution.loo)


def _most_important(basis: Basis, solution: Solution, share: float) -> Iterator[NDArray[np.int64]]:
    """For each family the places of the groups that are kept, in ascending order.

    Groups of one draw come out of one recursion, so they are kept together.  Draws are kept in
    the order of their importance for the work that they make, those without any are not.
    """
    for (index, _), alike in groupby(basis.families, lambda family: family.source):
        families, transformer = list(alike), basis.transformers[index]
        importances = [solution.importances[basis.numbers_of(family)] for family in families]
        draws = [transformer.draws_[family.groups] for family in families]
        distinct = np.unique(np.concatenate(draws))
        importance, work = np.zeros((2, len(distinct)))
        for family, own, numbers in zip(families, importances, draws, strict=True):
            at = np.searchsorted(distinct, numbers)
            importance[at] += own
            work[at] = transformer.work[family.groups]
        order = np.argsort(-importance / work, kind="stable")
        before = work[order].cumsum() - work[order]
        kept = distinct[order[before < share * work.sum()]]
        for own, numbers in zip(importances, draws, strict=True):
            yield np.flatnonzero(np.isin(numbers, kept) & (own > 0))


def _parts(
    basis: Basis, family: Family, features: Features, weights: Array
) -> Iterator[tuple[str, NDArray[np.int64], Rows]]:
    """The features of a family, without a name, and parts of them that are alike.

    Features are cut into pieces by dilation and pooling, whose products add up to those of parts.
    """
    scales, scale_of = _similar_dilations(basis, family)
    poolings, pooling_of = _same_pooling(basis, family)
    numbers = np.arange(len(scales) * len(poolings)).reshape(len(scales), len(poolings))
    piece_of = numbers[scale_of, pooling_of]
    pieces = [np.flatnonzero(piece_of == number) for number in numbers.flat]
    rows = [features.rows(weights, columns) for columns in pieces]

    def joined(chosen: NDArray[np.int64]) -> tuple[NDArray[np.int64], Rows]:
        return np.concatenate([pieces[i] for i in chosen]), Rows.joined([rows[i] for i in chosen])

    yield "", *joined(numbers.ravel())
    for names, members in ((scales, numbers), (poolings, numbers.T)):
        if len(names) > 1:
            yield from ((name, *joined(own)) for name, own in zip(names, members, strict=True))


def _same_pooling(basis: Basis, family: Family) -> tuple[list[str], NDArray[np.int64]]:
    """The poolings of a family, and the pooling of each feature."""
    names = basis.transformers[family.transformer].pooling_names
    return names, np.arange(len(family.columns)) % len(names)


def _similar_dilations(basis: Basis, family: Family) -> tuple[list[str], NDArray[np.int64]]:
    """Up to four ranges of dilations with about as many features each, and that of each feature."""
    table = basis.transformers[family.transformer].groups_
    dilations = table[family.groups, windows.DILATION]
    _, of, counts = np.unique(dilations, return_inverse=True, return_counts=True)
    middle = (counts.cumsum() - counts / 2) / len(dilations)
    quarters = (_SCALES * middle).astype(np.int64)[of]
    found, labels = np.unique(quarters, return_inverse=True)
    names = []
    for quarter in found:
        own = dilations[quarters == quarter]
        least, most = int(own.min()), int(own.max())
        names.append(f"dilation {least}" + f" to {most}" * (most > least))
    return names, np.repeat(labels, len(family.columns) // len(family.groups))


def standardize(
    features: Array, targets: Array, weights: Array, least_scale: float = 0.0
) -> Standards:
    """Standardize the features of cases that are all at hand, in place."""
    _, weighted, plain, squares = sums_of(features, targets, weights)
    mean, variance = weighted / weights.sum(), squares / len(weights) - (plain / len(weights)) ** 2
    standards = Standards.of(mean, variance, least_scale)
    standards.standardize(features)
    return standards


def many_cases(
    features: Array,
    sample: Cases,
    others: FamilyMoments | None,
    everything: Everything,
    least_scale: float = 0.0,
) -> tuple[ManyCases, Standards]:
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
