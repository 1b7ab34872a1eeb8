"""Ridge classification and regression on random elastic features.

Features are standardized, and a ridge regression on targets +1 and -1, one column a class, makes a
classifier.  Each family of kernels, those of the same elasticity that slide along the same
representation of a series, has a regression of its own, and the model is a sum of these with
non-negative factors: so differences, say, do little harm where the series themselves say it all.

Leave-one-out predictions choose the penalties and factors (`ridge`), tell how good the model is,
and calibrate probabilities: these are a softmax of the decision values times a number, the one with
the greatest likelihood on the leave-one-out decisions.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any, NamedTuple, TypeVar

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils import check_scalar, compute_sample_weight
from sklearn.utils.validation import assert_all_finite, check_is_fitted, column_or_1d

from warplearn._kernels.drivers.windows import GROUP, REPRESENTATION
from warplearn.averaging.objective import Array
from warplearn.base import check_labels, check_series, check_weights
from warplearn.features.ridge import Standardized, mix, ridge
from warplearn.features.transformer import ElasticFeatures
from warplearn.series.collection import SeriesCollection

__all__ = ["ElasticFeatureClassifier", "ElasticFeatureRegressor", "Shrinkage"]

ALPHAS = tuple(10.0**exponent for exponent in np.arange(-5, 2.0, 0.5))
_CACHE_BYTES = 2**22  # features that are computed and used before the next are
_KEEP = 0.7  # of the groups, in each round of shrinking

Model = TypeVar("Model", bound="_ElasticFeatureModel")


class Shrinkage(NamedTuple):
    """One round of `shrink`: how many kernels were left, and the leave-one-out score with them."""

    n_kernels: int
    loo_score: float


class _ElasticFeatureModel(BaseEstimator):
    """What both estimators share: features, ridge regression, shrinking.

    Subclasses check targets, turn them into columns of numbers (`_encode`), and leave-one-out
    predictions of these into a score (`_quality`).
    """

    n_channels_in_: int

    def __init__(
        self,
        n_kernels: int = 8000,
        *,
        elasticities: Sequence[int] = (1, 2),
        lengths: Sequence[int] = (7, 9, 11),
        dilations: Sequence[int] | None = None,
        poolings: Sequence[str] = ("share", "wins", "losses"),
        representations: Sequence[str] = ("raw", "differences", "second_differences", "smooth"),
        alphas: Sequence[float] = ALPHAS,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_kernels = n_kernels
        self.elasticities = elasticities
        self.lengths = lengths
        self.dilations = dilations
        self.poolings = poolings
        self.representations = representations
        self.alphas = alphas
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _check_targets(self, y: Any, X: SeriesCollection) -> Array:
        raise NotImplementedError

    def _encode(self, targets: Array, weights: Array) -> tuple[Array, Array]:
        """Targets as columns of numbers, and the weights of the series."""
        raise NotImplementedError

    def _quality(self, Y: Array, loo: Array, weights: Array) -> float:
        raise NotImplementedError

    def _calibrate(self, Y: Array, loo: Array, weights: Array) -> None:
        """Learn from leave-one-out predictions."""

    def _prepare(
        self, X: SeriesCollection, y: Any, sample_weight: Any
    ) -> tuple[Array, Array, SeriesCollection]:
        """Targets, weights and series; without series of weight 0."""
        targets, weights = self._check_targets(y, X), check_weights(X, sample_weight)
        counts = weights > 0
        if counts.sum() < 2:
            raise ValueError(f"X must have at least two series, got n_samples={counts.sum()}")
        X = X if counts.all() else X[counts]
        return *self._encode(targets[counts], weights[counts]), X

    def fit(self: Model, X: Any, y: Any, sample_weight: Any = None) -> Model:
        """Draw features, and fit ridge regressions to them.

        Parameters
        ----------
        X : series collection
        y : array of shape (cases,)
        sample_weight : array of shape (cases,), optional
        """
        collection = check_series(self, X, reset=True)
        Y, weights, collection = self._prepare(collection, y, sample_weight)
        shared = ElasticFeatures().get_params()
        self.features_ = ElasticFeatures(**{name: getattr(self, name) for name in shared})
        self.features_.fit(collection)
        self._solve(self.features_.transform(collection), Y, weights)
        return self

    def _solve(self, features: Array, Y: Array, weights: Array) -> None:
        """A ridge regression for each family of kernels, and the best sum of them."""
        groups, alphas = self.features_.groups_, self._checked_alphas()
        elasticities = np.unique(self.elasticities)
        shape = len(elasticities), len(self.features_.means_)
        rows = np.searchsorted(elasticities, self.features_.elasticities_)
        family_of = np.ravel_multi_index((rows, groups[:, REPRESENTATION]), shape)
        X = Standardized.of(features, weights)
        families, family_of = np.unique(family_of, return_inverse=True)
        family_of = np.repeat(family_of, len(X.mean) // len(groups))
        columns = [np.flatnonzero(family_of == family) for family in range(len(families))]
        solutions = [ridge(X.some(of), Y, weights, alphas * len(of)) for of in columns]
        mean = np.average(Y, axis=0, weights=weights)
        left_out = np.stack([solution.loo for solution in solutions], axis=-1) - mean[:, None]
        factors = mix(left_out, Y - mean, weights)
        coef = np.empty((len(X.mean), Y.shape[1]))
        for of, factor, solution in zip(columns, factors, solutions, strict=True):
            coef[of] = factor * solution.coef
        self.factors_, self.alphas_ = np.zeros(shape), np.full(shape, np.nan)
        self.factors_.flat[families] = factors
        self.alphas_.flat[families] = [s.alpha / len(s.coef) for s in solutions]
        self.coef_ = (coef / X.scale[:, None]).T
        self.intercept_ = mean - self.coef_ @ X.mean
        # What a group of kernels contributes: the sum of squares over its features and targets.
        self.importances_ = (coef**2).reshape(len(groups), -1).sum(axis=1)
        loo = mean + left_out @ factors
        self.loo_score_ = self._quality(Y, loo, weights)
        self._calibrate(Y, loo, weights)

    def _checked_alphas(self) -> Array:
        alphas = np.asarray(self.alphas, np.float64)
        if alphas.ndim != 1 or not len(alphas) or not (alphas > 0).all():
            raise ValueError(f"alphas must be positive numbers, at least one, got {self.alphas!r}")
        return alphas

    def _decide(self, X: Any) -> Array:
        """Predictions (cases, targets)."""
        check_is_fitted(self)
        collection = check_series(self, X, reset=False)
        step = max(1, _CACHE_BYTES // (self.coef_.shape[1] * self.coef_.itemsize))
        parts = (collection[start : start + step] for start in range(0, len(collection), step))
        features = map(self.features_.transform, parts)
        decisions = [block.astype(np.float64) @ self.coef_.T for block in features]
        return np.concatenate(decisions) + self.intercept_

    def shrink(self: Model, X: Any, y: Any, n_kernels: int, sample_weight: Any = None) -> Model:
        """A smaller model, without the kernels that the ridge regression makes least use of.

        In several rounds, the groups of kernels with the smallest coefficients are dropped, and
        the regression is fitted again to what is left.

        Parameters
        ----------
        X, y, sample_weight
            The training series again.
        n_kernels : int
            How many kernels to keep; rounded up to a multiple of eight.

        Returns
        -------
        estimator
            A new one; its `shrinkage_` lists the leave-one-out score after each round.  As the
            kernels were chosen on the same series these scores are too good: the loss in accuracy
            is that on series of one's own that were not used.
        """
        check_is_fitted(self)
        check_scalar(n_kernels, "n_kernels", (int, np.integer), min_val=1)
        collection = check_series(self, X, reset=False)
        smaller = copy(self)
        Y, weights, collection = smaller._prepare(collection, y, sample_weight)
        features = self.features_.transform(collection)
        per_group = features.shape[1] // len(self.features_.groups_)
        smaller.shrinkage_ = [Shrinkage(self.features_.n_kernels_, self.loo_score_)]
        fewest = -(-n_kernels // GROUP)
        while (count := len(smaller.features_.groups_)) > fewest:
            wanted = max(fewest, int(_KEEP * count))
            kept = np.sort(np.argsort(-smaller.importances_, kind="stable")[:wanted])
            smaller.features_ = smaller.features_.select(kept)
            features = features.reshape(len(features), count, per_group)[:, kept]
            features = features.reshape(len(features), -1)
            smaller._solve(features, Y, weights)
            smaller.shrinkage_.append(Shrinkage(wanted * GROUP, smaller.loo_score_))
            if self.verbose:
                print(f"shrink: {wanted * GROUP} kernels, loo score {smaller.loo_score_:.4f}")
        return smaller


class ElasticFeatureClassifier(ClassifierMixin, _ElasticFeatureModel):
    """Ridge classifier on random elastic features.

    Parameters
    ----------
    n_kernels, elasticities, lengths, dilations, poolings, representations
        As for `ElasticFeatures`.
    alphas : sequence of float
        Penalties to choose from, in units of the number of features.
    class_weight : dict, "balanced" or None
        Weights of the classes, by default 1.
    random_state : int, RandomState or None
    n_jobs : int, optional
        Threads; None is Numba's current setting, -1 all cores.  Results do not depend on it.
    verbose : int, default=0

    Attributes
    ----------
    classes_ : array
    features_ : ElasticFeatures
    coef_ : array of shape (1 or classes, features)
        Coefficients of the features as they are, not standardized.
    intercept_ : array of shape (1 or classes,)
    factors_, alphas_ : array of shape (different elasticities, different representations)
        Factors and penalties of the regressions that the model is the sum of, one for each family
        of kernels; 0 and NaN if the family is empty.
    loo_score_ : float
        Weighted share of the training series that are right when left out.  Penalties and factors
        were chosen with the same predictions, so it is a little too good.
    sharpness_ : float
        The factor of decision values in probabilities.
    importances_ : array of shape (groups,)
        Sums of squared coefficients, for each group of kernels.
    shrinkage_ : list of Shrinkage
        Of a model that `shrink` made.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(40) % 2
    >>> X = rng.normal(size=(40, 60)).cumsum(axis=1) * np.where(y, 1, 0.2)[:, None]
    >>> X += rng.normal(size=(40, 60))
    >>> model = ElasticFeatureClassifier(400, random_state=0).fit(X[:20], y[:20])
    >>> model.score(X[20:], y[20:])
    1.0
    """

    def __init__(
        self,
        n_kernels: int = 8000,
        *,
        elasticities: Sequence[int] = (1, 2),
        lengths: Sequence[int] = (7, 9, 11),
        dilations: Sequence[int] | None = None,
        poolings: Sequence[str] = ("share", "wins", "losses"),
        representations: Sequence[str] = ("raw", "differences", "second_differences", "smooth"),
        alphas: Sequence[float] = ALPHAS,
        class_weight: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            n_kernels,
            elasticities=elasticities,
            lengths=lengths,
            dilations=dilations,
            poolings=poolings,
            representations=representations,
            alphas=alphas,
            random_state=random_state,
            n_jobs=n_jobs,
            verbose=verbose,
        )
        self.class_weight = class_weight

    def _check_targets(self, y: Any, X: SeriesCollection) -> Array:
        return check_labels(X, y)

    def _encode(self, targets: Array, weights: Array) -> tuple[Array, Array]:
        self.classes_, codes = np.unique(targets, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"y must have at least two classes, got one class: {self.classes_}")
        Y = np.where(codes[:, None] == np.arange(len(self.classes_)), 1.0, -1.0)
        weights = weights * compute_sample_weight(self.class_weight, targets)
        return Y[:, 1:] if len(self.classes_) == 2 else Y, weights

    def _both(self, decisions: Array) -> Array:
        """One column for each class, also for two."""
        return np.hstack([-decisions, decisions]) if decisions.shape[1] == 1 else decisions

    def _quality(self, Y: Array, loo: Array, weights: Array) -> float:
        right = self._both(loo).argmax(axis=1) == self._both(Y).argmax(axis=1)
        return float(np.average(right, weights=weights))

    def _calibrate(self, Y: Array, loo: Array, weights: Array) -> None:
        codes, decisions = self._both(Y).argmax(axis=1), self._both(loo)
        # Targets a little short of 1, as in Platt's method: else perfect predictions on few
        # series would make every later one certain.
        members = np.bincount(codes, minlength=len(self.classes_))[codes, None]
        own = np.arange(len(self.classes_)) == codes[:, None]
        others = 1 / ((members + 2) * (len(self.classes_) - 1))
        targets = np.where(own, (members + 1) / (members + 2), others)

        def loss(log_factor: float) -> float:
            likelihood = (targets * log_softmax(np.exp(log_factor) * decisions, axis=1)).sum(axis=1)
            return -float(weights @ likelihood)

        self.sharpness_ = float(np.exp(minimize_scalar(loss, bounds=(-4, 4), method="bounded").x))

    def decision_function(self, X: Any) -> Array:
        """Predictions of the ridge regression: near 1 for a class, near -1 against it.

        Returns
        -------
        array of shape (cases,) for two classes, where it speaks for the second, else
        (cases, classes)
        """
        decisions = self._decide(X)
        return decisions[:, 0] if len(self.classes_) == 2 else decisions

    def predict(self, X: Any) -> Array:
        """The class of each series."""
        codes = self._both(self._decide(X)).argmax(axis=1)
        labels: Array = self.classes_[codes]
        return labels

    def predict_proba(self, X: Any) -> Array:
        """Probabilities, an array of shape (cases, classes); the largest is that of `predict`."""
        decisions = self._both(self._decide(X))
        probabilities: Array = softmax(self.sharpness_ * decisions, axis=1)
        return probabilities


class ElasticFeatureRegressor(RegressorMixin, _ElasticFeatureModel):
    """Ridge regression on random elastic features.

    Parameters
    ----------
    n_kernels, elasticities, lengths, dilations, poolings, representations
        As for `ElasticFeatures`.
    alphas : sequence of float
        Penalties to choose from, in units of the number of features.
    random_state : int, RandomState or None
    n_jobs : int, optional
        Threads; None is Numba's current setting, -1 all cores.  Results do not depend on it.
    verbose : int, default=0

    Attributes
    ----------
    features_, coef_, intercept_, factors_, alphas_, importances_, shrinkage_
        As for `ElasticFeatureClassifier`; there is one target.
    loo_score_ : float
        Weighted R^2 of the leave-one-out predictions.
    """

    def _check_targets(self, y: Any, X: SeriesCollection) -> Array:
        if y is None:
            raise ValueError("This estimator requires y to be passed, but the target y is None")
        targets = column_or_1d(y, dtype=np.float64, warn=True)
        assert_all_finite(targets, input_name="y")
        if len(targets) != len(X):
            raise ValueError(
                "X and y must have as many cases: Found input variables with inconsistent numbers "
                f"of samples: [{len(X)}, {len(targets)}]"
            )
        return targets

    def _encode(self, targets: Array, weights: Array) -> tuple[Array, Array]:
        return targets[:, None], weights

    def _quality(self, Y: Array, loo: Array, weights: Array) -> float:
        return float(r2_score(Y, loo, sample_weight=weights))

    def predict(self, X: Any) -> Array:
        """The target of each series."""
        return self._decide(X)[:, 0]
