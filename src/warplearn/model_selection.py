"""Grid search in lanes: candidates and folds are trained side by side.

Candidates that differ in numbers only (`eta`, `lam`, `xi`) and have their weight matrices of one
shape go into the lanes of one bank, a task for each fold; other parameters (elasticity, polarity,
...) make further banks.  A model so trained is the one that a fit of its own would give: same
initial weights, same order of examples, same end.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.metrics import check_scoring
from sklearn.model_selection import ParameterGrid, check_cv
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from warplearn._kernels.drivers.evaluate import evaluate
from warplearn.base import check_labels, check_series, check_weights
from warplearn.linear_model.classifiers import Assembly, ElasticLinearClassifier
from warplearn.series.collection import SeriesCollection
from warplearn.training.train import Solution, Split, solve


class Fit(NamedTuple):
    """An estimator on some of the series, taken apart but not trained."""

    estimator: ElasticLinearClassifier
    train: NDArray[np.int64]
    assembly: Assembly


def _bank_key(fit: Fit) -> Any:
    """What models must have in common to stand in one bank."""
    problem, models, schedule, stopping, mix = fit.assembly
    return (
        type(problem.loss), problem.size, problem.radius,
        type(problem.penalty), tuple(problem.penalty),
        type(schedule), tuple(schedule), tuple(stopping),
        models[0].W.shape, len(models), mix.shape, tuple(fit.estimator.classes_),
        fit.estimator.average, fit.estimator.batch_size, repr(fit.estimator.optimizer),
    )  # fmt: skip


def _split_key(fit: Fit) -> Any:
    """What models must have in common to see the same examples in the same order."""
    estimator = fit.estimator
    return (
        id(fit.train), estimator.shuffle, repr(estimator.class_weight),
        repr(estimator.random_state), len(fit.assembly.models),
    )  # fmt: skip


def take_apart(
    estimator: ElasticLinearClassifier,
    train: NDArray[np.int64],
    X: SeriesCollection,
    labels: NDArray[Any],
    weights: NDArray[np.float64],
) -> Fit:
    """Prepare an estimator to be trained on the series `train` of X."""
    cases = train[weights[train] > 0]
    estimator.classes_ = np.unique(labels[train])
    estimator.n_features_in_ = int(X.lengths[cases].max())
    estimator.n_channels_in_ = X.n_channels
    codes = np.searchsorted(estimator.classes_, labels).clip(max=len(estimator.classes_) - 1)
    random_state = check_random_state(estimator.random_state)
    assembly = estimator.assemble(X, codes, cases, random_state)
    estimator._after_init = random_state
    return Fit(estimator, train, assembly)


def train_together(
    fits: Sequence[Fit],
    X: SeriesCollection,
    labels: NDArray[Any],
    weights: NDArray[np.float64],
    *,
    verbose: int = 0,
    n_jobs: int | None = None,
) -> None:
    """Train estimators bank by bank; each is then fitted as if it had been alone."""
    banks: dict[Any, list[Fit]] = {}
    for fit in fits:
        banks.setdefault(_bank_key(fit), []).append(fit)
    for number, bank in enumerate(banks.values()):
        if verbose:
            print(f"bank {number + 1} of {len(banks)}: {len(bank)} fits")
        splits: dict[Any, int] = {}
        made: list[Split] = []
        for fit in bank:
            key = _split_key(fit)
            if key not in splits:
                train, classes = fit.train, fit.estimator.classes_
                codes = np.searchsorted(classes, labels[train])
                split = fit.estimator.split(codes, weights[train], fit.estimator._after_init)
                # The order of the fold is that of a fit of its own.
                inside = np.zeros(len(X))
                inside[train] = split.weights
                split.weights, split.cases = inside, train[split.cases]
                splits[key] = len(made)
                made.append(split)
            for model in fit.assembly.models:
                model.split = splits[key]
        first = bank[0]
        solutions = solve(
            first.assembly.problem,
            [model for fit in bank for model in fit.assembly.models],
            made,
            batch_size=first.estimator.batch_size,
            optimizer=first.estimator.optimizer,
            schedule=first.assembly.schedule,
            stopping=first.assembly.stopping,
            average=first.estimator.average,
            verbose=verbose,
            n_jobs=n_jobs,
        )
        if any(solution.reason == "interrupted" for solution in solutions):
            raise KeyboardInterrupt
        _hand_out(bank, solutions)


def _hand_out(bank: Sequence[Fit], solutions: Sequence[Solution]) -> None:
    """Let the estimators take over their solutions."""
    count = len(bank[0].assembly.models)
    for index, fit in enumerate(bank):
        rows = fit.estimator.n_features_in_
        own = [
            solution._replace(W=solution.W[:, :rows])
            for solution in solutions[index * count : (index + 1) * count]
        ]
        del fit.estimator._after_init
        fit.estimator.adopt(fit.assembly, own)


def predict_together(
    fits: Sequence[Fit], X: SeriesCollection, n_jobs: int | None = None
) -> list[NDArray[Any]]:
    """Predictions of trained estimators for the same series, those of one shape in one bank."""
    banks: dict[Any, list[int]] = {}
    for index, fit in enumerate(fits):
        shape = fit.estimator._matrices().shape
        banks.setdefault((shape, fit.assembly.problem.radius), []).append(index)
    found: dict[int, NDArray[Any]] = {}
    for (shape, radius), bank in banks.items():
        if X.max_length > shape[1]:
            found |= {
                index: fits[index].estimator.predict(X) for index in bank
            }  # says what is wrong
            continue
        W = np.concatenate([fits[index].estimator._matrices() for index in bank])
        cost = fits[bank[0]].assembly.problem.cost
        scores = evaluate(cost, X.values, X.lengths, W, band=radius, n_jobs=n_jobs).values
        for place, index in enumerate(bank):
            own = scores[:, place * shape[0] : (place + 1) * shape[0]]
            found[index] = fits[index].estimator.classify(own)
    return [found[index] for index in range(len(fits))]


class ElasticGridSearchCV(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """Exhaustive search over the parameters of an elastic linear classifier, in lanes.

    Finds what scikit-learn's `GridSearchCV` finds with the same estimator, splits and
    `random_state`, many times faster.

    Parameters
    ----------
    estimator : elastic linear classifier
    param_grid : dict or list of dicts
    scoring : str or callable, optional
        By default accuracy.
    refit : bool, default=True
        Whether to train the best candidate on all data.
    cv : int, splitter or iterable, optional
        By default five stratified folds.
    return_train_score : bool, default=False
    verbose : int, default=0
        1 shows progress.
    n_jobs : int, optional
        Threads; None is Numba's current setting, -1 all cores.

    Attributes
    ----------
    cv_results_ : dict
    best_params_ : dict
    best_score_ : float
    best_index_ : int
    best_estimator_ : fitted estimator, if `refit`
    n_splits_ : int
    refit_time_ : float, if `refit`
    """

    def __init__(
        self,
        estimator: Any,
        param_grid: Any,
        *,
        scoring: Any = None,
        refit: bool = True,
        cv: Any = None,
        return_train_score: bool = False,
        verbose: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.param_grid = param_grid
        self.scoring = scoring
        self.refit = refit
        self.cv = cv
        self.return_train_score = return_train_score
        self.verbose = verbose
        self.n_jobs = n_jobs

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None
    ) -> ElasticGridSearchCV:
        """Try all candidates on all folds; interrupted, nothing is kept.

        Parameters
        ----------
        X, y, sample_weight
            As for the estimator.
        groups : array, optional
            Passed on to the splitter.
        """
        if not isinstance(self.estimator, ElasticLinearClassifier):
            raise TypeError(
                f"estimator must be an elastic linear classifier, got {self.estimator!r}"
            )
        series = check_series(self, X, reset=True)
        labels = check_labels(series, y)
        weights = check_weights(series, sample_weight)
        candidates = list(ParameterGrid(self.param_grid))
        splitter = check_cv(self.cv, labels, classifier=True)
        folds = list(splitter.split(np.zeros(len(series)), labels, groups))
        self.n_splits_ = len(folds)
        self.classes_ = np.unique(labels)

        for fold, (train, _) in enumerate(folds):
            if len(np.unique(labels[train])) < 2:
                raise ValueError(f"fold {fold} has training series of one class only")
        start = time.perf_counter()
        fits = []
        for params in candidates:
            candidate = clone(self.estimator).set_params(**params)
            for train, _ in folds:  # a copy is what a clone would be, and is made sooner
                fits.append(take_apart(deepcopy(candidate), train, series, labels, weights))
        train_together(fits, series, labels, weights, verbose=self.verbose, n_jobs=self.n_jobs)
        seconds = (time.perf_counter() - start) / len(fits)
        self.cv_results_ = self._results(candidates, folds, fits, series, labels, seconds)
        self.best_index_ = int(self.cv_results_["rank_test_score"].argmin())
        self.best_params_ = candidates[self.best_index_]
        self.best_score_ = float(self.cv_results_["mean_test_score"][self.best_index_])
        if self.refit:
            start = time.perf_counter()
            self.best_estimator_ = clone(self.estimator).set_params(**self.best_params_)
            if self.n_jobs is not None:
                self.best_estimator_.set_params(n_jobs=self.n_jobs)
            self.best_estimator_.fit(X, y, sample_weight)
            self.refit_time_ = time.perf_counter() - start
        return self

    def _results(
        self,
        candidates: Sequence[Mapping[str, Any]],
        folds: Sequence[tuple[NDArray[np.int64], NDArray[np.int64]]],
        fits: Sequence[Fit],
        X: SeriesCollection,
        labels: NDArray[Any],
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
            scores = self._scores(fits, [fold[side] for fold in folds], X, labels, shape)
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

    def _scores(
        self,
        fits: Sequence[Fit],
        parts: Sequence[NDArray[np.int64]],
        X: SeriesCollection,
        labels: NDArray[Any],
        shape: tuple[int, int],
    ) -> NDArray[np.float64]:
        scores = np.empty(shape)
        if self.scoring in (None, "accuracy"):
            for fold, part in enumerate(parts):
                predicted = predict_together(fits[fold :: shape[1]], X[part], self.n_jobs)
                scores[:, fold] = [np.mean(classes == labels[part]) for classes in predicted]
            return scores
        scorer = check_scoring(self.estimator, self.scoring)
        for index, fit in enumerate(fits):
            part = parts[index % shape[1]]
            scores[index // shape[1], index % shape[1]] = scorer(
                fit.estimator, X[part], labels[part]
            )
        return scores

    @property
    def alphabet(self) -> Any:
        """The alphabet of the estimator, if it has one."""
        return self.estimator.alphabet

    # What the best estimator can do.

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict with the best estimator."""
        return self._best().predict(X)

    def decision_function(self, X: Any) -> NDArray[Any]:
        """Decision values of the best estimator."""
        return self._best().decision_function(X)

    @available_if(lambda self: hasattr(self.estimator, "predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> NDArray[Any]:
        """Probabilities of the best estimator."""
        return self._best().predict_proba(X)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The score of the best estimator, by `scoring`."""
        if self.scoring is None:
            return float(self._best().score(X, y, sample_weight))
        return float(check_scoring(self.estimator, self.scoring)(self._best(), X, y))

    def _best(self) -> Any:
        check_is_fitted(self)
        if not self.refit:
            raise AttributeError("refit must be True to predict with the best estimator")
        return self.best_estimator_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        return tags
