"""What feature models share: features, ridge regressions, growing and shrinking.

Features are standardized.  A classifier is a ridge regression on targets +1 and -1, one column a
class.  There are two kinds of features, of filters and of shapelets.  Those of the same kind and
elasticity that slide along the same representation are a *family*.  Each family has a regression
of its own, and the model is the sum of these regressions with non-negative factors (`solution`).
The sum is still one linear model.

The leave-one-out predictions of the regressions have four uses.  They choose the penalties and the
factors, they give a score, and they calibrate probabilities: a softmax of the decision values
times the factor with the greatest likelihood.

A model may keep only some of the filters and shapelets: those with the largest coefficients, to
which the regressions are fitted again.
"""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_scalar
from sklearn.utils.validation import check_is_fitted

from warplearn._kernels.drivers.slide import GROUP
from warplearn._kernels.simd.threads import blas_threads
from warplearn.base import check_array_of, check_fitted_array, check_fitted_count, check_series
from warplearn.documentation import with_parameters_of
from warplearn.features.cascade import Predictor, Stage, fit_stages
from warplearn.features.reduction import (
    SAMPLE_SIZE,
    Basis,
    Cases,
    Total,
    extend,
    reduce_all,
    sampled,
    select,
    settle,
)
from warplearn.features.representations import Array
from warplearn.features.settings import FilterSettings
from warplearn.features.shapelets import ElasticShapelets
from warplearn.features.sliding import SlidingFeatures
from warplearn.features.solution import finish, reduced
from warplearn.features.transformer import ElasticFeatures
from warplearn.series.convert import to_floats

DEFAULT_ALPHAS = tuple(float(10.0**exponent) for exponent in np.arange(-5, 2.0, 0.5))
_MANY_FILTERS = 4000  # from which on there are shapelets beside them by default
_FEW = 640  # series, up to which there are more filters by default: equations stay small
_FILTERS, _FILTERS_FOR_FEW = 8000, 16000
_KEPT_SHARE = 0.7  # of the groups, in each round of `shrink`
# Fitted attributes that `partial_fit` leaves to be computed when one of them is asked for.
_SOLVED = frozenset(
    (
        "features_", "shapelets_", "coef_", "intercept_", "families_", "factors_", "alphas_",
        "loo_score_", "importances_", "sharpness_", "stages_",
    )
)  # fmt: skip

Model = TypeVar("Model", bound="FeatureModel")

Transformer = TypeVar("Transformer", bound=SlidingFeatures)


class Shrinkage(NamedTuple):
    """One round of `shrink`.

    Attributes
    ----------
    n_filters : int
        Number of filters and shapelets that are left.
    loo_score : float
        Leave-one-out score with these.
    """

    n_filters: int
    loo_score: float


class Growth(NamedTuple):
    """What `partial_fit` goes on from."""

    basis: Basis
    total: Total


def _positive(cases: Cases) -> NDArray[np.int64]:
    """The cases whose weight is not 0."""
    kept = np.flatnonzero(cases.weights)
    if not len(kept):
        raise ValueError("weights must be positive for at least one series of X, got zeros")
    return kept


def _sample(cases: Cases, kept: NDArray[np.int64]) -> Cases:
    """The cases that filters and shapelets are drawn with."""
    chosen = sampled(np.arange(len(kept)), SAMPLE_SIZE)
    return cases.take(kept[chosen])


def _only(kind: type[Transformer], basis: Basis) -> Transformer | None:
    """The transformer of a kind, if there is one."""
    return next((each for each in basis.transformers if isinstance(each, kind)), None)


@with_parameters_of(FilterSettings)
@dataclass(repr=False, eq=False, kw_only=True)
class FeatureModel(FilterSettings, metaclass=ABCMeta):
    """Features, ridge regressions and shrinking, for classification and regression.

    A subclass checks the targets and encodes them as columns of numbers (`_check`), and says how
    good leave-one-out predictions of these are (`_loo_score`).

    Parameters
    ----------
    n_shapelets : int, optional
        Number of shapelets (`ElasticShapelets`, with its other parameters by default), rounded up
        to a multiple of eight for each elasticity; 0 for none.  By default half as many as filters,
        if there are at least 4,000 filters, else none.
    n_jobs : int, optional
        Number of threads, also of linear algebra; None means 1, -1 all cores.  Features do not
        depend on it; coefficients may differ by rounding errors.
    verbose : int, default=0
        1 prints the progress of `transform` and `shrink`.
    alphas : sequence of float
        Ridge penalties to choose from, relative to the number of features.  By default
        10**-5, 10**-4.5, ..., 10**1.5.
    keep : float, default=1.0
        Share of the work of a prediction that is kept, above 0 and at most 1: of each family the
        filters and shapelets whose coefficients are largest for the work they make.  The
        regressions are fitted again to these.

    Attributes
    ----------
    features_ : ElasticFeatures or None
        The filters that are kept; None if there are none.
    shapelets_ : ElasticShapelets or None
        The shapelets that are kept, if there are any.
    coef_ : array of shape (targets, features)
        Coefficients of the features as `features_` and `shapelets_` return them, one after the
        other, not standardized.
    intercept_ : array of shape (targets,)
        The constant of each regression.
    families_ : list of str
        The families that have a regression.  With at most 400 series there are also regressions
        on those filters of a family that have similar dilations, and on the features of one
        pooling; with small families up to 256 series.
    factors_ : array of shape (families,)
        Factor of the regression of each family.
    alphas_ : array of shape (families,)
        Penalty that was chosen for each family.
    loo_score_ : float
        Score of the leave-one-out predictions, before filters are left out; with more than 4,096
        series, those of a sample.
    importances_ : array of shape (groups,)
        Importance of each group of filters, and then of shapelets: the sum of its squared
        standardized coefficients.
    stages_ : list of Stage
        What decides clear series before the whole model: regressions on a part of the features.
        Regressors have none.
    shrinkage_ : list of Shrinkage
        The rounds of `shrink`; only of a model that `shrink` made.
    n_features_in_, n_channels_in_ : int
        Length of the longest training series, and number of channels.
    """

    n_shapelets: int | None = None
    alphas: Sequence[float] = DEFAULT_ALPHAS
    keep: float = 1.0

    # How much greater than the least the squared leave-one-out error may be with a smaller penalty.
    _slack: ClassVar[float] = 0.0

    @abstractmethod
    def _check(self, X: Any, y: Any, sample_weight: Any, *, reset: bool) -> Cases:
        """Check what `fit` (`reset`) or a fitted model is given."""

    @abstractmethod
    def _loo_score(self, Y: Array, loo: Array, weights: Array) -> float:
        """Score of leave-one-out predictions."""

    @abstractmethod
    def _labels(self, Y: Array) -> Array | None:
        """The classes of cases, if they have any, for the thresholds of shapelets."""

    def _calibrate(self, Y: Array, loo: Array, weights: Array) -> None:
        """Learn from leave-one-out predictions what else `predict` needs; by default nothing."""

    def fit(self: Model, X: Any, y: Any, sample_weight: Any = None) -> Model:
        """Draw filters and shapelets, and fit ridge regressions to their features.

        Parameters
        ----------
        X : series collection
        y : array of shape (cases,)
        sample_weight : array of shape (cases,), optional
            Non-negative.  Series of weight 0 are left out.
        """
        self.__dict__.pop("_growth", None)
        cases = self._check(X, y, sample_weight, reset=True)
        kept = _positive(cases)
        sizes = self._checked_sizes()
        with blas_threads(self.n_jobs):
            basis = self._draw(_sample(cases, kept), few=len(kept) <= _FEW)
            self._adopt(basis, reduce_all(basis, cases, kept), *sizes)
        return self

    def _draw(self, sample: Cases, *, few: bool) -> Basis:
        """Draw filters and shapelets, with a sample of the cases; `few` if these are all."""
        n_filters, n_shapelets = self.n_filters, self.n_shapelets
        if n_filters is None:
            n_filters = _FILTERS_FOR_FEW if few else _FILTERS
        settings = {name: getattr(self, name) for name in ElasticFeatures().get_params()}
        filters = ElasticFeatures(**{**settings, "n_filters": n_filters})
        transformers: list[SlidingFeatures] = [filters.fit(sample.series)]
        if n_shapelets is None:
            n_shapelets = n_filters // 2 if n_filters >= _MANY_FILTERS else 0
        check_scalar(n_shapelets, "n_shapelets", (int, np.integer), min_val=0, max_val=2**31)
        if n_shapelets:
            rest = {name: getattr(self, name) for name in ("random_state", "n_jobs", "verbose")}
            shapelets = ElasticShapelets(n_shapelets, **rest)
            transformers.append(shapelets.fit(sample.series, self._labels(sample.Y)))
        for transformer in transformers:
            transformer.n_features_in_ = self.n_features_in_
        return Basis.of(transformers, sample)

    def _transformers(self) -> list[SlidingFeatures]:
        """The fitted transformers, in the order of their features in `coef_`."""
        both = (getattr(self, "features_", None), getattr(self, "shapelets_", None))
        return [transformer for transformer in both if transformer is not None]

    def _adopt(
        self, basis: Basis, total: Total, share: float = 1.0, stages: Sequence[int] = ()
    ) -> None:
        """Solve for the regressions, keep a share of the groups, and set the fitted attributes."""
        if total.n_cases < 2:
            raise ValueError(
                f"X must have at least two series of positive weight, got n_samples={total.n_cases}"
            )
        solution = finish(basis, total, self._checked_alphas(), self._slack)
        self.stages_ = fit_stages(basis, total, solution, stages)
        self.families_ = [term.name for term in solution.terms]
        self.factors_ = np.array([term.factor for term in solution.terms])
        self.alphas_ = np.array([term.alpha / len(term.columns) for term in solution.terms])
        if share < 1:
            basis, solution = reduced(basis, total, solution, share)
        self.features_ = _only(ElasticFeatures, basis)
        self.shapelets_ = _only(ElasticShapelets, basis)
        self.coef_, self.intercept_ = solution.coef, solution.intercept
        self.importances_ = solution.importances
        Y, weights = total.sample.Y, total.sample.weights
        self.loo_score_ = self._loo_score(Y, solution.loo, weights)
        self._calibrate(Y, solution.loo, weights)

    def _grow(self: Model, X: Any, y: Any, sample_weight: Any, **options: Any) -> Model:
        """`partial_fit`: add series; `options` go to the check of the first ones."""
        growth: Growth | None = vars(self).get("_growth")
        if growth is None and {"_growth", "coef_"} & set(vars(self)):
            raise ValueError(
                "partial_fit can only go on from partial_fit: what fit or a file has learnt is not "
                "kept in the form that could grow; use sklearn.base.clone(model).partial_fit"
            )
        cases = self._check(X, y, sample_weight, reset=growth is None, **options)
        kept = _positive(cases)
        self._checked_alphas()
        self._checked_sizes()
        if growth is not None:
            self._growth: Growth | None = None  # sums that are left half added up cannot grow again
        with blas_threads(self.n_jobs):
            basis = growth.basis if growth else self._draw(_sample(cases, kept), few=False)
            total = None if growth is None else growth.total
            for start in range(0, len(kept), SAMPLE_SIZE):
                part = cases.take(kept[start : start + SAMPLE_SIZE])  # a copy: X may be filled anew
                total = Total.of(part) if total is None else extend(basis, total, part)
        assert total is not None
        longest = int(cases.series.lengths[kept].max())
        self.n_features_in_: int = max(self.n_features_in_, longest)
        for name in _SOLVED & set(vars(self)):
            delattr(self, name)
        self._growth = Growth(basis, total)
        return self

    def __getattr__(self, name: str) -> Any:
        """A fitted attribute that is not yet computed after `partial_fit`."""
        growth: Growth | None = vars(self).get("_growth")
        if growth is not None and name in _SOLVED and "coef_" not in vars(self):
            with blas_threads(self.n_jobs):
                self._growth = None  # as in `_grow`
                total = settle(growth.basis, growth.total)
                self._growth = Growth(growth.basis, total)
                self._adopt(growth.basis, total, *self._checked_sizes())
            if name in vars(self):
                return vars(self)[name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _fitted_attributes(self) -> dict[str, Any]:
        """All but what `partial_fit` would go on from, which is large."""
        if vars(self).get("_growth") is not None:
            _ = self.coef_  # computed when it is asked for
        return {name: value for name, value in vars(self).items() if name != "_growth"}

    def _checked_alphas(self) -> Array:
        alphas = to_floats(self.alphas, "alphas").astype(np.float64)
        if alphas.ndim != 1 or not len(alphas) or not (alphas > 0).all():
            raise ValueError(f"alphas must be positive numbers, at least one, got {self.alphas!r}")
        return alphas

    def _checked_sizes(self) -> tuple[float, Sequence[int]]:
        """The share of the work that is kept, and the filters of the stages."""
        number = isinstance(self.keep, Real) and not isinstance(self.keep, bool)
        if not number or not 0 < self.keep <= 1:
            raise ValueError(f"keep must be a number above 0 and at most 1, got {self.keep!r}")
        return float(self.keep), ()

    def _predict_targets(self, X: Any) -> Array:
        """Predictions (cases, targets) with all features."""
        return np.concatenate(list(self._predicted_blocks(X)))

    def _predicted_blocks(self, X: Any, *, in_stages: bool = False) -> Iterator[Array]:
        """Predictions (cases, targets) of a block of series at a time."""
        predictor = self._predictor(in_stages=in_stages)
        return predictor.blocks(check_series(self, X, reset=False))

    def _predictor(self, *, in_stages: bool = False) -> Predictor:
        """What predicts, of a fitted model, which is checked."""
        check_is_fitted(self)
        self._check_state()
        stages = self.stages_ if in_stages else ()
        transformers = self._transformers()
        return Predictor(transformers, self.coef_, self.intercept_, stages, self.n_jobs)

    @abstractmethod
    def _n_targets(self) -> int:
        """Columns of the targets of a fitted model."""

    def _check_state(self, whole: bool = False) -> None:
        kinds = {"features_": ElasticFeatures, "shapelets_": ElasticShapelets}
        for name, kind in kinds.items():
            transformer = getattr(self, name, None)
            if transformer is None:
                continue
            if not isinstance(transformer, kind) or not hasattr(transformer, "groups_"):
                raise ValueError(f"{name} must be a fitted {kind.__name__}, got {transformer!r}")
            transformer._check_state(whole)
            if transformer.n_channels_in_ != getattr(self, "n_channels_in_", None):
                raise ValueError(f"{name} must have n_channels_in_ channels")
        if not self._transformers():
            raise ValueError("features_ must be a fitted ElasticFeatures, got None")
        check_fitted_count(self, "n_features_in_")
        count, width = self._n_targets(), Basis(tuple(self._transformers()), ()).n_features
        check_fitted_array(self, "coef_", (count, width))
        check_fitted_array(self, "intercept_", (count,))
        self._check_stages(count)

    def _check_stages(self, n_targets: int) -> None:
        """Check that each stage has a part of the groups, and those of the stage before it."""
        stages, basis = getattr(self, "stages_", None), Basis(tuple(self._transformers()), ())
        if not isinstance(stages, list) or not all(isinstance(each, Stage) for each in stages):
            raise ValueError(f"stages_ must be a list of Stage, got {stages!r}")
        before, count = np.empty(0, np.int64), basis.first_groups[-1]
        for groups, coef, intercept, threshold in stages:
            check_array_of(groups, "groups of a Stage", (None,), "i")
            if groups.dtype != np.int64 or (np.diff(groups) <= 0).any():
                raise ValueError("groups of a Stage must ascend, and be of type int64")
            if not len(groups) or groups[0] < 0 or groups[-1] >= count:
                raise ValueError(f"groups of a Stage must be between 0 and {count - 1}")
            if not np.isin(before, groups).all():
                raise ValueError("groups of a Stage must contain those of the stage before")
            before, width = groups, basis.width(groups)
            check_array_of(coef, "coef of a Stage", (n_targets, width))
            check_array_of(intercept, "intercept of a Stage", (n_targets,))
            if not isinstance(threshold, float) or not 0 <= threshold < np.inf:
                raise ValueError(f"threshold of a Stage must be at least 0, got {threshold!r}")

    def shrink(self: Model, X: Any, y: Any, n_filters: int, sample_weight: Any = None) -> Model:
        """A smaller model, without the filters and shapelets that matter least.

        In several rounds, the groups with the smallest coefficients are dropped, and
        the regressions are fitted again to the remaining features.

        Parameters
        ----------
        X, y, sample_weight
            The training series again, as given to `fit`.
        n_filters : int
            Number of filters and shapelets to keep, rounded up to a multiple of eight.

        Returns
        -------
        estimator
            A new one.  Its `shrinkage_` lists the leave-one-out score after each round.  These
            scores are optimistic, because what is kept was chosen on the same series: judge the
            loss in accuracy on series that were not used.
        """
        check_is_fitted(self)
        check_scalar(n_filters, "n_filters", (int, np.integer), min_val=1)
        cases = self._check(X, y, sample_weight, reset=False)
        kept_cases = _positive(cases)
        smaller = copy(self)
        smaller.__dict__.pop("_growth", None)
        count, fewest = len(self.importances_), -(-n_filters // GROUP)
        smaller.shrinkage_ = [Shrinkage(count * GROUP, self.loo_score_)]
        with blas_threads(self.n_jobs):
            basis = Basis.of(self._transformers(), _sample(cases, kept_cases))
            total = reduce_all(basis, cases, kept_cases)
            while count > fewest:
                count = max(fewest, int(_KEPT_SHARE * count))
                kept = np.sort(np.argsort(-smaller.importances_, kind="stable")[:count])
                basis, total = select(basis, total, kept)
                smaller._adopt(basis, total)
                smaller.shrinkage_.append(Shrinkage(count * GROUP, smaller.loo_score_))
                if self.verbose:
                    print(f"shrink: {count * GROUP} filters, loo score {smaller.loo_score_:.4f}")
        return smaller
