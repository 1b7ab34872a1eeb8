"""Candidates of a cross-validation, trained side by side and judged by series held out."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_expit, log_softmax
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from warplearn.elastic.extent import columns_for
from warplearn.linear_model.classifiers import ElasticLinearClassifier
from warplearn.linear_model.starts import start_from, without_warping
from warplearn.series.collection import SeriesCollection
from warplearn.training.data import TrainingSet
from warplearn.training.together import scores_together, train_together

Cases = NDArray[np.int64]
Plan = tuple[dict[str, Any], Cases, int]  # a candidate, its series, and its block of variants

_MOST_BYTES = 2**27  # of weights that are trained at a time
_CLEAR = 3.0  # standard errors; the lead of the best one is too large, since it was chosen


class Judged(NamedTuple):
    """Decision values of candidates for series that they were not trained on.

    Attributes
    ----------
    candidates : list of dict
    decisions : array (candidates, judged series, decision values)
    cases, codes, weights : arrays (judged series,)
        Which series it is, its class and its weight.  A series is judged as often as it is held
        out.
    split : array (judged series,)
        By which split it is held out.
    """

    candidates: list[dict[str, Any]]
    decisions: NDArray[np.float64]
    cases: Cases
    codes: NDArray[np.int64]
    weights: NDArray[np.float64]
    split: NDArray[np.int64]

    def some(self, places: NDArray[np.int64]) -> Judged:
        """Some of the candidates."""
        own = [self.candidates[place] for place in places]
        return self._replace(candidates=own, decisions=self.decisions[places])

    @classmethod
    def joined(cls, parts: Sequence[Judged]) -> Judged:
        """All candidates of several collections."""
        return parts[0]._replace(
            candidates=[params for part in parts for params in part.candidates],
            decisions=np.concatenate([part.decisions for part in parts]),
        )

    def mean(self) -> Judged:
        """The ensemble of all candidates, as one candidate."""
        return self._replace(candidates=[{}], decisions=self.decisions.mean(axis=0)[None])

    def not_worse(self) -> Cases:
        """Places of the candidates that are not clearly less accurate than the best one.

        A lead is clear beyond three standard errors.  Series are independent, but not the several
        times that one is held out.
        """
        right = self.right * self.weights
        lead = right[self.order[0]] - right
        error = [np.linalg.norm(np.bincount(self.cases, own)) for own in lead]
        return np.flatnonzero(lead.sum(axis=1) <= _CLEAR * np.array(error))

    @property
    def right(self) -> NDArray[np.bool_]:
        """Whether a decision is right, an array (candidates, judged series)."""
        if self.decisions.shape[2] == 1:
            return (self.decisions[..., 0] > 0) == (self.codes == 1)
        return self.decisions.argmax(axis=2) == self.codes

    @property
    def scores(self) -> NDArray[np.float64]:
        """Accuracies, an array (candidates, splits)."""
        return self._by_split(self.right)

    @property
    def losses(self) -> NDArray[np.float64]:
        """Log losses of decision values as logits, an array (candidates, splits)."""
        if self.decisions.shape[2] == 1:
            sign = np.where(self.codes == 1, 1.0, -1.0)
            return self._by_split(-log_expit(sign * self.decisions[..., 0]))
        logs = log_softmax(self.decisions, axis=2)
        return self._by_split(-logs[:, np.arange(len(self.codes)), self.codes])

    @property
    def order(self) -> NDArray[np.int64]:
        """Places of the candidates, the most accurate first; of equal ones, the lower loss."""
        return np.lexsort((self.losses.mean(axis=1), -self.scores.mean(axis=1)))

    def _by_split(self, values: NDArray[Any]) -> NDArray[np.float64]:
        """Weighted means over the series of each split."""
        totals = [np.bincount(self.split, own * self.weights) for own in values]
        return np.array(totals) / np.bincount(self.split, self.weights)


class Search(NamedTuple):
    """What candidates of one representation are trained and judged on.

    Attributes
    ----------
    estimator : ElasticLinearClassifier
        With the parameters that all candidates share.
    data : TrainingSet
        Represented series, and behind them their variants in blocks: each has `n_variants` of each
        series, in the same order.
    splits : list of (array, array)
        Series to train on, and series to judge by.
    n_variants : int
        Variants of each series in a block, which are trained on where the series is.
    start_scale : float
        Outputs of the model without warping that training begins at (see `starts`).
    verbose : int
    """

    estimator: ElasticLinearClassifier
    data: TrainingSet
    splits: list[tuple[Cases, Cases]]
    n_variants: int
    start_scale: float
    verbose: int

    def judge(self, candidates: list[dict[str, Any]]) -> Judged:
        """Train candidates with as many columns on all splits, and judge them by the rest."""
        data, held_out = self.data, [test for _, test in self.splits]
        judged = np.concatenate(held_out)
        split = np.repeat(np.arange(len(held_out)), [len(test) for test in held_out])
        n_outputs = 1 if len(np.asarray(data.classes)) == 2 else len(np.asarray(data.classes))
        decisions = np.empty((len(candidates), len(judged), n_outputs))
        for portion in self._portions(candidates):
            plans = [(each, self.splits[number][0], 0) for number in portion for each in candidates]
            with warnings.catch_warnings():  # what diverges is not chosen
                warnings.simplefilter("ignore", ConvergenceWarning)
                models = self.fit(plans)
            for place, number in enumerate(portion):
                own = models[place * len(candidates) : (place + 1) * len(candidates)]
                decisions[:, split == number] = self._decide(own, data.X[held_out[number]])
        return Judged(candidates, decisions, judged, data.y[judged], data.weights[judged], split)

    def fit(self, plans: Sequence[Plan]) -> list[ElasticLinearClassifier]:
        """Train candidates on some of the series and a block of variants each, side by side."""
        models = [clone(self.estimator).set_params(**_parameters(params)) for params, *_ in plans]
        linear: dict[Any, Any] = {}  # models without warping, one for all that begin at it
        sets, starts = [], []
        for model, (_, cases, block) in zip(models, plans, strict=True):
            plain, key = replace(self.data, cases=cases), (cases.tobytes(), model.polarity)
            rng = check_random_state(model.random_state)
            if key not in linear:
                linear[key] = without_warping(model, plain, rng, self.start_scale)
            starts.append(start_from(model, plain, rng, *linear[key]))
            sets.append(replace(self.data, cases=self._with_variants(cases, block)))
        n_jobs = self.estimator.n_jobs
        train_together(models, sets, starts=starts, n_jobs=n_jobs, verbose=self.verbose)
        return models

    def _with_variants(self, cases: Cases, block: int) -> Cases:
        first = 1 + block * self.n_variants
        numbers = [0, *range(first, first + self.n_variants)]
        return np.concatenate([cases + len(self.data.cases) * number for number in numbers])

    def _portions(self, candidates: Sequence[Mapping[str, Any]]) -> list[list[int]]:
        """Splits that are trained at a time: as many as memory allows."""
        X, count = self.data.X, len(self.splits)
        columns = columns_for(candidates[0]["elasticity"], X.max_length)
        matrix = X.max_length * columns * X.n_channels * X.dtype.itemsize
        at_once = max(1, _MOST_BYTES // (2 * len(candidates) * matrix))
        return [list(range(i, min(i + at_once, count))) for i in range(0, count, at_once)]

    def _decide(
        self, models: Sequence[ElasticLinearClassifier], X: SeriesCollection
    ) -> NDArray[np.float64]:
        """Decision values, an array (models, cases, decision values)."""
        longer = "resample" if self.estimator.longer == "error" else self.estimator.longer
        scores = scores_together(models, X, longer=longer, n_jobs=self.estimator.n_jobs)
        decisions = [
            model._combined(own.astype(np.float64))
            for model, own in zip(models, scores, strict=True)
        ]
        return np.stack(decisions).reshape(len(models), len(X), -1)


def _parameters(params: Mapping[str, Any]) -> dict[str, Any]:
    """Those parameters of a candidate that its estimator has."""
    return {name: value for name, value in params.items() if name != "representation"}
