"""What a fit needs of any number of series: sums over most of them, and a sample.

A *case* is a series with its targets and weight.  Each case is in one of two places:

- the *sample*: some thousand cases, kept as they are.  Leave-one-out predictions are computed for
  these.  Few cases are all in the sample;
- the *moments*: sums over all other cases, of the features of each family, of their
  products with each other (the Gram matrix) and with the targets.

Which cases are in the sample depends on their position among all cases only (`sampled`), so it is
the same for one array, for chunks of it, and for several machines.  The reduction is four
functions of plain values that can be pickled:

- ``Basis.of(transformers, sample)`` says which features are summed up; every machine needs it;
- ``accumulate(basis, cases) -> Moments``, the sums over some cases;
- ``combine(parts) -> Moments``, the sum of sums, in the order given;
- ``finish(basis, Total(sample, positions, moments), alphas) -> Solution``, in `solution`, solves
  for the coefficients.

On one machine, `fit` calls `reduce`, which goes through chunks of the cases, and `partial_fit`
keeps a `Total` and calls `extend`.  On several machines, the cases of `sampled(positions, size)`
are collected first, filters are drawn with them, each machine calls `accumulate` with the other
cases of its chunks, and the results are combined in a tree.  Memory does not grow with the number
of cases.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import ssyrk

from warplearn.features.representations import Array
from warplearn.features.sliding import Kind, SlidingFeatures
from warplearn.series.collection import SeriesCollection, common_dtype

SAMPLE_SIZE = 4096  # cases; more where a family has more features
_PENDING = 2048  # cases that `extend` collects before it adds them to the moments
_CHUNK_BYTES = 2**25  # of the features of a family
_CACHED = 256  # cases whose features stay in the cache until all is made of them
_SHIFTED_BY = 16  # cases whose mean features are subtracted from all features


class Cases(NamedTuple):
    """Some cases.

    Attributes
    ----------
    series : SeriesCollection
    Y : array (cases, targets)
    weights : array (cases,)
        Positive.
    """

    series: SeriesCollection
    Y: Array
    weights: Array

    def take(self, which: Array | slice) -> Cases:
        """Some of these cases."""
        return Cases(self.series[which], self.Y[which], self.weights[which])


def join(parts: Sequence[Cases]) -> Cases:
    """All cases of several parts."""
    collections = [part.series for part in parts]
    lengths = np.concatenate([each.lengths for each in collections])
    shape = (len(lengths), int(lengths.max()), collections[0].n_channels)
    values, start = np.zeros(shape, common_dtype(*collections)), 0
    for each in collections:
        values[start : start + len(each), : each.max_length] = each.values
        start += len(each)
    Y, weights = (np.concatenate(rows) for rows in zip(*(part[1:] for part in parts), strict=True))
    return Cases(SeriesCollection(values, lengths), Y, weights)


def _keys(positions: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Numbers that look random, all different: the finalizer of SplitMix64."""
    key = (positions.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    key = (key ^ (key >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    key = (key ^ (key >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return key ^ (key >> np.uint64(31))


def sampled(positions: NDArray[np.int64], size: int) -> NDArray[np.bool_]:
    """Which cases are in the sample.

    The sample of the first cases, less those that later ones displace, is part of the sample of
    all of them.

    Parameters
    ----------
    positions : array of int
        Places of the cases among all cases that there are.
    size : int
        Most cases of a sample.
    """
    if len(positions) <= size:
        return np.ones(len(positions), bool)
    keys = _keys(positions)
    chosen: NDArray[np.bool_] = keys <= np.partition(keys, size - 1)[size - 1]
    return chosen


class Family(NamedTuple):
    """Matrices of the same kind, which have a regression of their own.

    Attributes
    ----------
    kind : Kind
        What the matrices have in common.
    transformer : int
        Which of the transformers has them.
    groups : array of int
        Their groups, among those of the transformer.
    columns : array of int
        Their features, among those of all transformers.
    shift : array (features,)
        Subtracted from the features before they are multiplied, which saves digits.
    least_scale : float
        Deviation that is added to that of all features.
    """

    kind: Kind
    transformer: int
    groups: NDArray[np.int64]
    columns: NDArray[np.int64]
    shift: NDArray[np.float32]
    least_scale: float

    @property
    def source(self) -> tuple[int, Kind]:
        """What families that differ in elasticity only have in common."""
        return self.transformer, self.kind._replace(columns=0)


class Basis(NamedTuple):
    """The features that are summed up, family by family.

    Attributes
    ----------
    transformers : tuple of SlidingFeatures
        Fitted.  Their features, and their groups, are numbered one after the other.
    families : tuple of Family
    """

    transformers: tuple[SlidingFeatures, ...]
    families: tuple[Family, ...]

    @classmethod
    def of(cls, transformers: Sequence[SlidingFeatures], sample: Cases) -> Basis:
        """The families of fitted features; a sample of the cases says what they are near to."""
        basis, families = cls(tuple(transformers), ()), []
        for index, features in enumerate(transformers):
            for kind, groups in features.families():
                columns = basis.columns_of(index, groups)
                shift = np.zeros(len(columns), np.float32)
                families.append(Family(kind, index, groups, columns, shift, features.least_scale))
        basis, few = basis._replace(families=tuple(families)), sample.series[:_SHIFTED_BY]
        shifts = (each.mean(axis=0, dtype=np.float64) for each in basis.of_families(few))
        shifted = (
            family._replace(shift=shift.astype(np.float32))
            for family, shift in zip(families, shifts, strict=True)
        )
        return basis._replace(families=tuple(shifted))

    @property
    def first_groups(self) -> list[int]:
        """The number of the first group of each transformer, and of all groups."""
        return [0, *np.cumsum([len(each.groups_) for each in self.transformers]).tolist()]

    def numbers_of(self, family: Family) -> NDArray[np.int64]:
        """The groups of a family, among those of all transformers."""
        numbers: NDArray[np.int64] = self.first_groups[family.transformer] + family.groups
        return numbers

    @property
    def n_features(self) -> int:
        """Number of all features."""
        return sum(each.n_features for each in self.transformers)

    def width(self, groups: NDArray[np.int64]) -> int:
        """How many features some of the groups of all transformers have."""
        sizes = zip(self.transformers, self.split(groups), strict=True)
        return sum(each.features_per_group * len(own) for each, own in sizes)

    def columns_of(self, transformer: int, groups: NDArray[np.int64]) -> NDArray[np.int64]:
        """The features of groups of a transformer, among those of all transformers."""
        before = Basis(self.transformers[:transformer], ()).n_features
        per_group = self.transformers[transformer].features_per_group
        return before + (groups[:, None] * per_group + np.arange(per_group)).ravel()

    def split(self, groups: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        """Some of the groups of all transformers, as numbered by each transformer."""
        bounds = pairwise(self.first_groups)
        return [groups[(groups >= start) & (groups < end)] - start for start, end in bounds]

    def columns(self, groups: NDArray[np.int64]) -> NDArray[np.int64]:
        """The features of some of the groups of all transformers."""
        parts = enumerate(self.split(groups))
        return np.concatenate([self.columns_of(index, own) for index, own in parts])

    @property
    def sample_size(self) -> int:
        """Most cases of a sample: with as many cases as features, all are in the sample."""
        return max(SAMPLE_SIZE, *(len(family.shift) for family in self.families))

    def of_families(self, series: SeriesCollection) -> Iterator[Array]:
        """The features of each family, less its shift; those of the same draws at once."""
        standardized = [features.standardized(series) for features in self.transformers]
        for (index, _), alike in groupby(self.families, lambda family: family.source):
            families, transformer = list(alike), self.transformers[index]
            groups = np.concatenate([family.groups for family in families])
            features = transformer.pooled(standardized[index], transformer.sweeps(groups))
            ends = np.cumsum([len(family.shift) for family in families])[:-1]
            parts = np.split(features, ends, axis=1)
            shifted = [own - family.shift for own, family in zip(parts, families, strict=True)]
            del features, parts
            while shifted:  # what was used is not kept
                yield shifted.pop(0)


def sums_of(features: Array, Y: Array, weights: Array) -> list[Array]:
    """All of `FamilyMoments` but the matrix, for some cases; blocks are added up in float64."""
    n_features, n_targets = features.shape[1], Y.shape[1]
    sums = [np.zeros((n_features, n_targets)), *(np.zeros(n_features) for _ in range(3))]
    own, targets = weights.astype(np.float32), (weights[:, None] * Y).astype(np.float32)
    for start in range(0, len(features), _CACHED):
        some = slice(start, start + _CACHED)
        block = features[some]
        sums[0] += block.T @ targets[some]
        sums[1] += own[some] @ block
        sums[2] += block.sum(axis=0)
        sums[3] += np.einsum("ij,ij->j", block, block)
    return sums


class FamilyMoments(NamedTuple):
    """Sums over cases of the features d of a family, less their shift.

    Attributes
    ----------
    gram : array (features, features), stored by columns
        Weighted sum of d d'; only the upper triangle.
    products : array (features, targets)
        Weighted sum of d y'.
    weighted, plain : arrays (features,)
        Weighted and plain sums of d.
    squares : array (features,)
        Plain sum of the squares of d.
    """

    gram: Array
    products: Array
    weighted: Array
    plain: Array
    squares: Array

    @classmethod
    def zeros(cls, n_features: int, n_targets: int) -> FamilyMoments:
        """Sums over no cases."""
        vectors = (np.zeros(n_features) for _ in range(3))
        gram = np.zeros((n_features, n_features), order="F")
        return cls(gram, np.zeros((n_features, n_targets)), *vectors)

    def add(self, features: Array, Y: Array, weights: Array) -> None:
        """Add some cases; products are computed in float32 and added up in float64."""
        root = np.sqrt(weights).astype(np.float32)[:, None]
        self.gram[...] += ssyrk(1, (root * features).T)
        for mine, theirs in zip(self[1:], sums_of(features, Y, weights), strict=True):
            mine += theirs

    def merge(self, other: FamilyMoments) -> None:
        """Add the sums over other cases."""
        for mine, theirs in zip(self, other, strict=True):
            mine += theirs

    def select(self, columns: Array) -> FamilyMoments:
        """The sums of some features only."""
        gram = np.asfortranarray(self.gram[np.ix_(columns, columns)])
        return FamilyMoments(gram, *(sums[columns] for sums in self[1:]))


class Moments(NamedTuple):
    """Sums over cases.

    Attributes
    ----------
    n_cases : int
    weight : float
        Sum of their weights.
    targets : array (targets,)
        Weighted sum of the targets.
    families : tuple of FamilyMoments
    """

    n_cases: int
    weight: float
    targets: Array
    families: tuple[FamilyMoments, ...]


def accumulate(basis: Basis, cases: Cases) -> Moments:
    """Sums over some cases."""
    n_targets = cases.Y.shape[1]
    zeros = [FamilyMoments.zeros(len(family.shift), n_targets) for family in basis.families]
    return _add(basis, Moments(0, 0.0, np.zeros(n_targets), tuple(zeros)), cases)


def _add(basis: Basis, moments: Moments, cases: Cases) -> Moments:
    """Add cases to moments, whose arrays change."""
    widest = max(len(family.shift) for family in basis.families)
    step = max(1, _CHUNK_BYTES // (4 * widest))
    for start in range(0, len(cases.weights), step):
        chunk = cases.take(slice(start, start + step))
        features = basis.of_families(chunk.series)
        for family, columns in zip(moments.families, features, strict=True):
            family.add(columns, chunk.Y, chunk.weights)
    return Moments(
        moments.n_cases + len(cases.weights),
        moments.weight + float(cases.weights.sum()),
        moments.targets + cases.weights @ cases.Y,
        moments.families,
    )


def combine(parts: Iterable[Moments]) -> Moments:
    """The sum of sums, added up in the order given; at least one."""
    first, *others = parts
    families = [
        FamilyMoments(*(sums.copy(order="K") for sums in family)) for family in first.families
    ]
    n_cases, weight, targets = first.n_cases, first.weight, first.targets
    for part in others:
        n_cases, weight = n_cases + part.n_cases, weight + part.weight
        targets = targets + part.targets
        for mine, theirs in zip(families, part.families, strict=True):
            mine.merge(theirs)
    return Moments(n_cases, weight, targets, tuple(families))


class Total(NamedTuple):
    """All cases of a fit.

    Attributes
    ----------
    sample : Cases
    positions : array of int
        Of the cases of the sample, among all cases.
    moments : Moments, optional
        Of the other cases, if there are any.
    """

    sample: Cases
    positions: NDArray[np.int64]
    moments: Moments | None = None

    @classmethod
    def of(cls, cases: Cases) -> Total:
        """The first cases of all."""
        return cls(cases, np.arange(len(cases.weights)))

    def in_units(self, unit: Any) -> Total:
        """The same with targets divided by a unit."""
        sample, moments = self.sample._replace(Y=self.sample.Y / unit), self.moments
        if moments is not None:
            families = (each._replace(products=each.products / unit) for each in moments.families)
            moments = moments._replace(targets=moments.targets / unit, families=tuple(families))
        return self._replace(sample=sample, moments=moments)

    @property
    def n_cases(self) -> int:
        """Number of cases, in the sample or not."""
        return len(self.positions) + (self.moments.n_cases if self.moments else 0)


def extend(basis: Basis, total: Total, cases: Cases) -> Total:
    """Add cases that come after those of a total, whose moments change.

    The sample may become larger than its size by a few cases, so that the moments grow by many
    cases at a time.
    """
    new = total.n_cases + np.arange(len(cases.weights))
    joined = Total(join([total.sample, cases]), np.r_[total.positions, new], total.moments)
    if len(joined.positions) <= basis.sample_size + _PENDING:
        return joined
    return settle(basis, joined)


def settle(basis: Basis, total: Total) -> Total:
    """Move what is not in the sample to the moments, which change."""
    chosen = sampled(total.positions, basis.sample_size)
    if chosen.all():
        return total
    rest, moments = total.sample.take(~chosen), total.moments
    moments = accumulate(basis, rest) if moments is None else _add(basis, moments, rest)
    return Total(total.sample.take(chosen), total.positions[chosen], moments)


def reduce(basis: Basis, chunks: Iterable[Cases]) -> Total:
    """Reduce cases that come in chunks, at least one; memory does not grow with their number."""
    total = None
    for cases in chunks:
        total = Total.of(cases) if total is None else extend(basis, total, cases)
    if total is None:
        raise ValueError("chunks must hold at least one chunk, got none")
    return settle(basis, total)


def reduce_all(basis: Basis, cases: Cases, kept: NDArray[np.int64]) -> Total:
    """Reduce some of the cases, wherever their series are.

    Parameters
    ----------
    basis : Basis
    cases : Cases
        Of series in memory, on disk, or on a cluster.
    kept : array of int
        The cases that count, in ascending order.
    """
    if cases.series.engine is None:
        return reduce(
            basis,
            (cases.take(kept[i : i + SAMPLE_SIZE]) for i in range(0, len(kept), SAMPLE_SIZE)),
        )
    positions = np.arange(len(kept))
    chosen = sampled(positions, basis.sample_size)
    others = kept[~chosen]
    moments = None
    if len(others):
        moments = cases.series.engine.total(
            lambda some, Y, weights: accumulate(basis, Cases(some, Y, weights)),
            (cases.Y, cases.weights), others, lambda one, other: combine([one, other]), True,
        )  # fmt: skip
    return Total(cases.take(kept[chosen]), positions[chosen], moments)


def select(basis: Basis, total: Total, groups: NDArray[np.int64]) -> tuple[Basis, Total]:
    """The same with only some of the groups of all transformers, in ascending order."""
    places = basis.split(groups)
    kept = [index for index, chosen in enumerate(places) if len(chosen)]
    smaller = Basis(tuple(basis.transformers[index].select(places[index]) for index in kept), ())
    families, sums = [], []
    for number, family in enumerate(basis.families):
        chosen = places[family.transformer]
        rows = np.flatnonzero(np.isin(family.groups, chosen))
        if not len(rows):
            continue
        index, of = kept.index(family.transformer), np.searchsorted(chosen, family.groups[rows])
        per_group = len(family.columns) // len(family.groups)
        columns = (rows[:, None] * per_group + np.arange(per_group)).ravel()
        fewer = family._replace(transformer=index, groups=of, shift=family.shift[columns])
        families.append(fewer._replace(columns=smaller.columns_of(index, of)))
        if total.moments is not None:
            sums.append(total.moments.families[number].select(columns))
    moments = None if total.moments is None else total.moments._replace(families=tuple(sums))
    return smaller._replace(families=tuple(families)), total._replace(moments=moments)
