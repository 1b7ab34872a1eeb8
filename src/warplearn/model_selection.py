"""Grid search in lanes, and many fits at a time.

Candidates that differ in numbers only (`learning_rate_init`, `alpha`, `margin`) and have weight
matrices of one shape are trained side by side in lanes, fold by fold; other parameters
(elasticity, polarity, ...) make further groups.  A model trained this way is the one that a fit of
its own would give: same initial weights, same order of examples, same end.  Estimators that make no
plans are fitted one after the other, as in scikit-learn.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.base import clone, is_classifier
from sklearn.metrics import check_scoring
from sklearn.model_selection import GridSearchCV, ParameterGrid, check_cv
from sklearn.utils import check_random_state

from warplearn.base import check_labels, check_targets, check_weights, read_series
from warplearn.series.collection import SeriesCollection
from warplearn.training.together import scores_together, train_together

Indices = NDArray[np.int64]


def makes_plans(estimator: Any) -> bool:
    """Whether an estimator can be trained in lanes beside others."""
    return hasattr(estimator, "plan") and hasattr(estimator, "adopt")


def fit_many(
    estimators: Sequence[Any],
    X: SeriesCollection,
    y: NDArray[Any],
    trains: Sequence[Indices],
    *,
    sample_weight: NDArray[np.float64] | None = None,
    alphabet: Any = None,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> list[Any]:
    """Fit each estimator on some of the series, side by side where that is possible.

    Parameters
    ----------
    estimators : sequence of estimators
        They are fitted in place.
    X : SeriesCollection
    y : array
        Labels or targets of all series.
    trains : sequence of arrays of int
        The series that each estimator is fitted on.
    sample_weight : array, optional
        Of all series.
    alphabet : Alphabet, optional
        What X was encoded with.
    n_jobs : int, optional
        Threads; None is 1, as in scikit-learn, -1 all cores.
    verbose : int

    Returns
    -------
    list of the fitted estimators
    """
    weights = np.ones(len(X)) if sample_weight is None else sample_weight
    sets: dict[Any, Any] = {}
    planned = []
    for estimator, cases in zip(estimators, trains, strict=True):
        if not makes_plans(estimator):
            _fit_alone(estimator, X, y, cases, sample_weight, n_jobs)
            continue
        key = (type(estimator).training_set, id(cases))
        if key not in sets:  # shared, so that what is computed from the data is computed once
            sets[key] = estimator.training_set(X, y, weights, cases, alphabet)
        planned.append((estimator, sets[key]))
    train_together(
        [estimator for estimator, _ in planned], [data for _, data in planned],
        n_jobs=n_jobs, verbose=verbose,
    )  # fmt: skip
    return list(estimators)


def _fit_alone(
    estimator: Any,
    X: SeriesCollection,
    y: NDArray[Any],
    cases: Indices,
    sample_weight: NDArray[np.float64] | None,
    n_jobs: int | None,
) -> None:
    if n_jobs is not None and "n_jobs" in estimator.get_params():
        estimator.set_params(n_jobs=n_jobs)
    if sample_weight is None:
        estimator.fit(X[cases], y[cases])
    else:
        estimator.fit(X[cases], y[cases], sample_weight=sample_weight[cases])


def predict_many(
    estimators: Sequence[Any], X: SeriesCollection, *, n_jobs: int | None = None
) -> list[NDArray[Any]]:
    """Predictions of fitted estimators for the same series, matrices of one shape in one go."""
    banks: dict[Any, list[int]] = {}
    predictions: dict[int, NDArray[Any]] = {}
    for index, estimator in enumerate(estimators):
        if hasattr(estimator, "predict_from_scores") and X.max_length <= estimator.n_features_in_:
            W, channels = estimator.matrices_, estimator._derived_channels()
            banks.setdefault((W.shape, W.dtype, estimator.band, channels), []).append(index)
        else:
            predictions[index] = estimator.predict(X)
    for bank in banks.values():
        scores = scores_together([estimators[index] for index in bank], X, n_jobs=n_jobs)
        for index, own in zip(bank, scores, strict=True):
            predictions[index] = estimators[index].predict_from_scores(own)
    return [predictions[index] for index in range(len(estimators))]


class ElasticGridSearchCV(GridSearchCV):
    """Exhaustive search over the parameters of an estimator, in lanes where that is possible.

    For elastic linear models and networks all candidates and folds are trained side by side, and
    the results are those of scikit-learn's `GridSearchCV`, sooner.  Other estimators are searched
    as in scikit-learn.

    Parameters
    ----------
    estimator : estimator
        Any estimator of the library.
    param_grid : dict of lists, or list of such dicts
        The values to try of each parameter.
    scoring : str, callable, list or dict, optional
        As in scikit-learn; several metrics are computed as in scikit-learn, one fit at a time.
    n_jobs : int, optional
        Threads; None is 1, as in scikit-learn, -1 all cores.
    refit : bool, str or callable, default=True
        Whether to fit the best candidate on all series.
    cv : int, splitter or iterable, optional
        5 folds by default, stratified for classifiers.
    verbose : int, default=0
        1 shows progress.
    pre_dispatch, error_score : as in scikit-learn
        For estimators that make no plans.
    return_train_score : bool, default=False
        Whether `cv_results_` has scores on the training series too.

    Attributes
    ----------
    cv_results_ : dict of arrays
        As in scikit-learn.  Fits in lanes share their time equally.
    best_estimator_, best_params_, best_score_, best_index_, n_splits_, refit_time_, scorer_
        As in scikit-learn.

    Notes
    -----
    Candidates are compared with the same seed: if the estimator has `random_state=None`, one is
    drawn for all of them.

    Examples
    --------
    >>> from warplearn import ElasticPerceptron, datasets
    >>> train = datasets.load("WarpedBumps", "train")
    >>> grid = {"learning_rate_init": [1.0, 0.1, 0.01]}
    >>> search = ElasticGridSearchCV(ElasticPerceptron(max_iter=20, random_state=0), grid, cv=3)
    >>> sorted(search.fit(train.X, train.y).best_params_)
    ['learning_rate_init']
    """

    def fit(self, X: Any, y: Any = None, **params: Any) -> ElasticGridSearchCV:
        """Train all candidates on all folds, and the best one on all series.

        Parameters
        ----------
        X, y
            As for the estimator.
        **params
            `sample_weight` and `groups`, or whatever else the estimator's `fit` takes.
        """
        if not self.in_lanes(params):
            super().fit(X, y, **params)
            return self
        return self.fit_in_lanes(X, y, **params)

    def in_lanes(self, params: Mapping[str, Any]) -> bool:
        """Whether `fit` with these parameters trains candidates side by side."""
        return (
            makes_plans(self.estimator)
            and isinstance(self.refit, (bool, np.bool_))
            and (self.scoring is None or isinstance(self.scoring, str) or callable(self.scoring))
            and set(params) <= {"sample_weight", "groups"}
        )

    def fit_in_lanes(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        groups: Any = None,
        run: Callable[..., list[Any]] = fit_many,
    ) -> ElasticGridSearchCV:
        """`fit` of candidates side by side; `run` does what `fit_many` does, here or elsewhere."""
        series, alphabet = read_series(X, getattr(self.estimator, "alphabet", None))
        classifies = is_classifier(self.estimator)
        labels = check_labels(series, y) if classifies else check_targets(series, y)
        weights = check_weights(series, sample_weight)
        candidates = list(ParameterGrid(self.param_grid))
        splitter = check_cv(self.cv, labels, classifier=classifies)
        folds = list(splitter.split(np.zeros(len(series)), labels, groups))
        self.n_splits_, self.multimetric_ = len(folds), False
        self.scorer_ = check_scoring(self.estimator, self.scoring)
        for fold, (cases, _) in enumerate(folds if classifies else []):
            if len(np.unique(labels[cases])) < 2:
                raise ValueError(f"fold {fold} has training series of one class only")
        self._seed = int(check_random_state(None).randint(np.iinfo(np.int32).max))
        start = time.perf_counter()
        fits = [model for params in candidates for model in self._copies(params, len(folds))]
        trains = [cases for _ in candidates for cases, _ in folds]
        fits = run(
            fits, series, labels, trains, sample_weight=weights, alphabet=alphabet,
            n_jobs=self.n_jobs, verbose=self.verbose,
        )  # fmt: skip
        seconds = (time.perf_counter() - start) / len(fits)
        self.cv_results_ = self._results(candidates, folds, fits, series, labels, seconds)
        self.best_index_ = int(self.cv_results_["rank_test_score"].argmin())
        self.best_params_ = candidates[self.best_index_]
        self.best_score_ = float(self.cv_results_["mean_test_score"][self.best_index_])
        if self.refit:
            start = time.perf_counter()
            (self.best_estimator_,) = self._copies(self.best_params_, 1)
            if self.n_jobs is not None:
                self.best_estimator_.set_params(n_jobs=self.n_jobs)
            self.best_estimator_.fit(X, y, sample_weight)
            self.refit_time_ = time.perf_counter() - start
        return self

    def _copies(self, params: Mapping[str, Any], count: int) -> list[Any]:
        """Candidates with these parameters, and the seed that all candidates share."""
        candidate = clone(self.estimator).set_params(**params)
        if candidate.random_state is None:
            candidate.set_params(random_state=self._seed)
        # A clone takes long; copies share their parameters, of which a fit changes generators only.
        duplicate = copy if isinstance(candidate.random_state, Integral) else clone
        return [duplicate(candidate) for _ in range(count)]

    def _results(
        self,
        candidates: Sequence[Mapping[str, Any]],
        folds: Sequence[tuple[Indices, Indices]],
        fits: Sequence[Any],
        X: SeriesCollection,
        y: NDArray[Any],
        seconds: float,
    ) -> dict[str, Any]:
        """scikit-learn's table of results."""
        results: dict[str, Any] = {}
        shape = (len(candidates), len(folds))
        results["mean_fit_time"] = np.full(shape[0], seconds)
        results["std_fit_time"] = np.zeros(shape[0])
        for name in sorted({name for params in candidates for name in params}):
            column = np.ma.MaskedArray(np.empty(shape[0], dtype=object), mask=True)
            for index, params in enumerate(candidates):
                if name in params:
                    column[index] = params[name]
            results[f"param_{name}"] = column
        results["params"] = list(candidates)
        kinds = {"test": 1, "train": 0} if self.return_train_score else {"test": 1}
        for kind, side in kinds.items():
            start = time.perf_counter()
            scores = self._scores_of(fits, [fold[side] for fold in folds], X, y, shape)
            if kind == "test":
                spent = (time.perf_counter() - start) / len(fits)
                results["mean_score_time"] = np.full(shape[0], spent)
                results["std_score_time"] = np.zeros(shape[0])
            for fold in range(shape[1]):
                results[f"split{fold}_{kind}_score"] = scores[:, fold]
            results[f"mean_{kind}_score"] = scores.mean(axis=1)
            results[f"std_{kind}_score"] = scores.std(axis=1)
        ranks = rankdata(-np.nan_to_num(results["mean_test_score"], nan=-np.inf), method="min")
        results["rank_test_score"] = ranks.astype(np.int32)
        return results

    def _scores_of(
        self,
        fits: Sequence[Any],
        sides: Sequence[Indices],
        X: SeriesCollection,
        y: NDArray[Any],
        shape: tuple[int, int],
    ) -> NDArray[np.float64]:
        """The score of each candidate on one side (training or test) of each fold."""
        scores = np.empty(shape)
        by_accuracy = is_classifier(self.estimator) and self.scoring in (None, "accuracy")
        for fold, cases in enumerate(sides):
            models = fits[fold :: shape[1]]
            if by_accuracy:
                predicted = predict_many(models, X[cases], n_jobs=self.n_jobs)
                scores[:, fold] = (np.array(predicted) == y[cases]).mean(axis=1)
            else:
                scores[:, fold] = [self.scorer_(model, X[cases], y[cases]) for model in models]
        return scores

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        return tags
