"""Elastic linear classifiers that choose their parameters by cross-validation.

Candidates differ in representation, elasticity, polarity, learning rate and penalty.  All of them
are trained on all folds, side by side in lanes, on the series and on warped variants of them, from
a start at the best model without warping.  The best ones of one elasticity, of all representations
that are not clearly worse than the best, are trained again on all series, from several starts with
variants of their own, and their decision values are averaged.  Their matrices have one shape, so
the mean is an elastic linear model with more matrices: it is explained and streamed as any.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.model_selection import ParameterGrid, RepeatedStratifiedKFold, check_cv
from sklearn.utils import check_random_state

from warplearn.base import check_counts, check_labelled
from warplearn.documentation import with_parameters_of
from warplearn.elastic.bands import BandLike
from warplearn.elastic.extent import ExtentLike, columns_for
from warplearn.linear_model.candidates import Cases, Judged, Search
from warplearn.linear_model.classifiers import (
    ElasticLinearClassifier,
    ElasticLinearSVC,
    ElasticLogisticRegression,
    LinearClassifier,
    Probabilities,
)
from warplearn.linear_model.polarity import Ensemble
from warplearn.registry import check_choice
from warplearn.series.augmentation import warped
from warplearn.series.collection import SeriesCollection
from warplearn.series.derived import DERIVED, RAW, derived
from warplearn.series.lengths import LONGER
from warplearn.series.numbers import check_count
from warplearn.series.scaling import element_scales, standardized
from warplearn.training.data import TrainingSet

_PATIENCE = 20  # epochs without fewer mistakes
_MOST_TRAINED = 500  # series that a candidate is trained on while it is judged
_MOST_SAMPLES = 300_000  # of series and their variants, unless the series alone have more
_SPLITS = (5, 20)  # at least and at most
_CELLS = 4e10  # of all grids, which limit the number of splits
_SINGLE = ("raw", "differences", "deviations")


Names: TypeAlias = tuple[str, ...]


@dataclass(repr=False, eq=False, kw_only=True)
class ElasticLinearClassifierCV(ClassifierMixin, LinearClassifier):
    """What elastic linear classifiers share that choose their parameters.

    Parameters
    ----------
    representations : sequence of str, default: three single ones, and the three side by side
        What of a series a matrix sees: its values ("raw"), their "differences", the "sums" of the
        values so far, the "deviations" of the last nine values, or several of them side by side,
        such as "raw+sums".  By default "raw", "differences", "deviations" and
        "raw+differences+deviations".  The model is made of all that are not clearly worse than the
        best one: by more than three standard errors of the difference in accuracy.
    elasticities : sequence, default=(3, 0.05)
        Columns of the weight matrices to choose from, each as `elasticity` of
        `ElasticLogisticRegression`.
    polarities : sequence, default=("symmetric",)
        Polarities to choose from, each as `polarity` of `ElasticLogisticRegression`.
    learning_rates : sequence of float, default=(0.2, 0.05)
        Initial learning rates to choose from.  While the model is trained, each representation of
        each channel is divided by its root mean square, so rates do not depend on the unit.
    alphas : sequence of float, default=(2**-10,)
        Strengths of the penalty to choose from.
    cv : int, splitter or iterable, optional
        As in scikit-learn.  By default 10 stratified folds, twice, of a small training set, and 5
        folds of a large one.  Candidates are trained on at most 500 series of a split.
    n_best : int, default=2
        How many candidates of each chosen representation the model is made of.
    n_starts : int, default=2
        From how many starts each of them is trained, each start with warped variants of its own.
    n_warped : int, default=12
        Variants of each training series, with a time axis warped at random, that are trained on as
        well; fewer if there were more than 300,000 samples with them.  Symbols have none.
    max_iter : int, default=100
        Epochs at most.  Training ends after 20 epochs in which the loss has not fallen.
    band : int, float or str, optional
        Sakoe-Chiba band: a radius in cells, or a share of the longer side of the grid.
    class_weight : dict or "balanced", optional
        Weights of the classes, by default 1; "balanced" makes them inverse to the frequencies.
    longer : {"error", "truncate", "resample"}, default="error"
        What to do with series to predict that are longer than those of `fit`: refuse them, cut
        them, or resample them to the longest length of `fit`.
    alphabet : Alphabet, optional
        For sequences of symbols; by default the symbols seen in `fit`.
    random_state : int or RandomState, optional
        Source of folds, variants, initial weights and the order of examples.
    verbose : int, default=0
        1 shows progress.
    n_jobs : int, optional
        Threads; None is 1, as in scikit-learn, -1 all cores.  Results do not depend on it.

    Attributes
    ----------
    best_params_ : dict
        The best member: `representation`, `elasticity`, `polarity`, `learning_rate_init` and
        `alpha`.
    best_score_ : float
        Accuracy of the ensemble of the best candidates on series held out.  They were chosen by
        the same series, so it is a little too high.
    members_ : list of dict
        The candidates that the model is made of, the best one first.
    cv_results_ : dict of arrays
        For each candidate its `params`, the `mean_test_score` and `std_test_score` of its accuracy
        over the splits, its `mean_test_loss` and its `rank_test_score`.
    scores_ : array (candidates, splits)
        Accuracies on series held out.
    n_splits_ : int
        How many splits there were.
    representations_ : tuple of str
        What the matrices of the model see of a series, each once.
    coef_ : array (matrices, n, m), or (matrices, n, m, channels)
        Weight matrices of all members, in the dtype of the series.  They are trained in float32.
        Channels are those of all `representations_`; a matrix is 0 in those of other members.
    intercept_ : array (matrices,)
        The bias of each matrix.
    classes_ : array
        The labels, sorted.
    polarity_ : Ensemble
        How scores of the matrices combine to decision values.
    n_features_in_ : int
        Length of the longest training series, the rows of the matrices.
    """

    representations: Sequence[str] = (*_SINGLE, "+".join(_SINGLE))
    elasticities: Sequence[ExtentLike] = (3, 0.05)
    polarities: Sequence[str] = ("symmetric",)
    learning_rates: Sequence[float] = (0.2, 0.05)
    alphas: Sequence[float] = (2**-10,)
    cv: Any = None
    n_best: int = 2
    n_starts: int = 2
    n_warped: int = 12
    max_iter: int = 100
    band: BandLike = None
    class_weight: Any = None
    longer: str = "error"
    alphabet: Any = None
    random_state: Any = None
    verbose: int = 0
    n_jobs: int | None = None

    _estimator: ClassVar[type[ElasticLinearClassifier]]
    _start_scale: ClassVar[float]

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Choose parameters by cross-validation on series X with labels y, and train the model.

        Parameters
        ----------
        X : series collection
            Anything `SeriesCollection.of` takes, or a list of strings or lists of symbols.
        y : array (cases,)
        sample_weight : array (cases,), optional
        """
        self._check_parameters()
        series, codes, weights = check_labelled(self, X, y, sample_weight)
        if not series.in_memory:
            raise ValueError("X must be in memory, got series that are read in chunks")
        rng = check_random_state(self.random_state)
        alphabet, kept = getattr(self, "alphabet_", None), np.flatnonzero(weights)
        cases, series = np.arange(len(kept)), series[kept]
        self.n_features_in_ = series.max_length
        data = TrainingSet(series, codes[kept], weights[kept], cases, self.classes_, alphabet)
        shared = self._shared(int(rng.randint(np.iinfo(np.int32).max)))
        # Symbols are neither warped nor summed.
        names = RAW if alphabet is not None else tuple(self.representations)
        n_variants = 0 if alphabet is not None else _variants(self.n_warped, series)
        splits = self._splits(data, names, n_variants, rng)
        data = _with_variants(data, n_variants * self.n_starts, rng)
        represented = [_represented(data, name) for name in names]
        # Training in float32 takes about two thirds of the time.
        quick = [replace(own, X=own.X.astype(np.float32)) for own, _ in represented]
        searches = [
            Search(shared, own, splits, n_variants, self._start_scale, self.verbose)
            for own in quick
        ]
        judged = [
            [each.judge(own) for each, own in zip(searches, by_name, strict=True)]
            for by_name in self._candidates(data, names)
        ]
        members = self._choose(judged)
        seeds = rng.randint(np.iinfo(np.int32).max, size=self.n_starts).tolist()
        self.representations_ = _channels("+".join(each["representation"] for each in members))
        models, units = [], []
        for name, search, (_, unit) in zip(names, searches, represented, strict=True):
            own = [each for each in members if each["representation"] == name]
            # Candidates of one start share its variants: on series of their own each takes twice
            # as long.
            plans = [
                (each | {"random_state": seed}, cases, block)
                for each in own for block, seed in enumerate(seeds)
            ]  # fmt: skip
            models.append(search.fit(plans))
            units.append(unit)
        self._adopt(names, models, units, data.X.dtype)
        return self

    def _shared(self, seed: int) -> ElasticLinearClassifier:
        """An estimator with the parameters that all candidates share."""
        return self._estimator(
            band=self.band, class_weight=self.class_weight, longer=self.longer, monitor="loss",
            max_iter=self.max_iter, n_iter_no_change=_PATIENCE, random_state=seed,
            n_jobs=self.n_jobs,
        )  # fmt: skip

    def _splits(
        self, data: TrainingSet, names: Names, n_variants: int, rng: np.random.RandomState
    ) -> list[tuple[Cases, Cases]]:
        """Series to train on and to judge by."""
        cases, codes = data.cases, data.y[data.cases]
        cv = self._folds(data, names, n_variants, rng) if self.cv is None else self.cv
        try:
            splits = check_cv(cv, codes, classifier=True).split(np.zeros(len(cases)), codes)
            found = [
                (np.sort(rng.permutation(cases[train])[:_MOST_TRAINED]), cases[test])
                for train, test in splits
            ]
        except (ValueError, TypeError, IndexError) as error:
            raise ValueError(f"cv must be a number of folds, or divide X: {error}") from error
        if not found or not all(len(train) and len(test) for train, test in found):
            raise ValueError(f"cv must leave series to train on and to judge by, got {self.cv!r}")
        return found

    def _folds(
        self, data: TrainingSet, names: Names, n_variants: int, rng: np.random.RandomState
    ) -> RepeatedStratifiedKFold:
        """Ten folds, repeated, of a small training set; five of a large one."""
        elements = data.X.lengths[data.cases].sum() * (1 + n_variants) * self.max_iter
        columns = [
            columns_for(params["elasticity"], data.max_length) * len(np.asarray(data.classes))
            for by_name in self._candidates(data, names) for own in by_name for params in own
        ]  # fmt: skip
        splits = int(np.clip(_CELLS / (float(elements) * sum(columns)), *_SPLITS))
        largest = int(np.bincount(data.y[data.cases]).max())
        folds = min(10 if splits >= 10 else 5, max(2, largest))
        return RepeatedStratifiedKFold(
            n_splits=folds, n_repeats=max(1, splits // folds), random_state=rng
        )

    def _candidates(self, data: TrainingSet, names: Names) -> list[list[list[dict[str, Any]]]]:
        """Candidates by number of columns and by representation."""
        by_columns = {columns_for(each, data.max_length): each for each in self.elasticities}
        joint = len(self.classes_) > 2 and self._estimator()._multiclass_loss() is not None
        polarities = list(self.polarities)
        grids = [
            {
                "elasticity": [elasticity],
                # Without warping, or with a matrix for each class, all polarities are the same.
                "polarity": polarities[:1] if columns == 1 or joint else polarities,
                "learning_rate_init": list(self.learning_rates),
                "alpha": list(self.alphas),
            }
            for columns, elasticity in by_columns.items()
        ]
        return [
            [list(ParameterGrid(grid | {"representation": [name]})) for name in names]
            for grid in grids
        ]

    def _choose(self, judged: Sequence[Sequence[Judged]]) -> list[dict[str, Any]]:
        """The members of the best ensemble; sets the attributes that tell of the choice."""
        ensembles = [_best_of(by_name, self.n_best) for by_name in judged]
        means = Judged.joined([mean for mean, _ in ensembles])
        members = ensembles[means.order[0]][1]
        everyone = Judged.joined([own for by_name in judged for own in by_name])
        self.scores_ = everyone.scores
        self.cv_results_ = {
            "params": everyone.candidates,
            "mean_test_score": self.scores_.mean(axis=1),
            "std_test_score": self.scores_.std(axis=1),
            "mean_test_loss": everyone.losses.mean(axis=1),
            "rank_test_score": (1 + np.argsort(everyone.order)).astype(np.int32),
        }
        self.n_splits_ = self.scores_.shape[1]
        rank = dict(zip(map(str, everyone.candidates), np.argsort(everyone.order), strict=True))
        self.members_ = sorted(members, key=lambda each: rank[str(each)])
        self.best_params_ = self.members_[0]
        self.best_score_ = float(means.scores[means.order[0]].mean())
        return self.members_

    def _adopt(
        self,
        names: Names,
        models: Sequence[Sequence[ElasticLinearClassifier]],
        units: Sequence[NDArray[np.float64]],
        dtype: np.dtype[Any],
    ) -> None:
        """Make one model of the members: matrices that are 0 for representations of others."""
        chosen = self.representations_
        blocks = []
        for name, own, unit in zip(names, models, units, strict=True):
            for W in (model.matrices_ / unit for model in own):
                places = [chosen.index(each) for each in _channels(name)]
                parts = W.reshape(*W.shape[:3], len(places), -1)
                block = np.zeros((*W.shape[:3], len(chosen), parts.shape[4]))
                block[:, :, :, places] = parts
                blocks.append(block.reshape(*W.shape[:3], -1))
        everyone = [model for own in models for model in own]
        W = np.concatenate(blocks).astype(dtype)
        self.coef_ = W[..., 0] if W.shape[-1] == 1 else W
        self.intercept_ = np.concatenate([model.intercept_ for model in everyone])
        self.n_iter_ = max(model.n_iter_ for model in everyone)
        readout = Ensemble(tuple(model._context.readout for model in everyone))
        self._context = everyone[0]._context._replace(readout=readout)

    def _derived_channels(self) -> Names:
        names = getattr(self, "representations_", None)
        if not isinstance(names, tuple) or not names or not set(names) <= set(DERIVED):
            raise ValueError(
                f"representations_ must be a tuple of names of {', '.join(DERIVED)}, got {names!r}"
            )
        return names

    def _check_parameters(self) -> None:
        check_counts(self, "n_best", "n_starts", "max_iter")
        check_count(self.n_warped, "n_warped", 0)
        check_choice(self.longer, LONGER, "longer")
        for name in ("representations", "elasticities", "polarities", "learning_rates", "alphas"):
            values = getattr(self, name)
            if isinstance(values, str) or not isinstance(values, (Sequence, np.ndarray)):
                raise ValueError(f"{name} must be a sequence of values to try, got {values!r}")
            if len(values) == 0:
                raise ValueError(f"{name} must have at least one value to try, got {values!r}")
            if any(isinstance(each, (list, tuple, dict, set, np.ndarray)) for each in values):
                raise ValueError(f"{name} must be single values to try, got {values!r}")
        for name in self.representations:
            channels = str(name).split("+")
            for channel in channels:
                check_choice(channel, DERIVED, "representations")
            if len(set(channels)) < len(channels):
                raise ValueError(
                    f"representations must have nothing twice side by side, got {name!r}"
                )


def _channels(representation: str) -> Names:
    """What a matrix sees side by side: "raw+sums" is the values and their sums."""
    return tuple(dict.fromkeys(representation.split("+")))


def _variants(most: int, X: SeriesCollection) -> int:
    """How many warped variants of each series there are: few of many or long series."""
    return int(np.clip(_MOST_SAMPLES // X.lengths.sum() - 1, 0, most))


def _with_variants(data: TrainingSet, count: int, rng: np.random.RandomState) -> TrainingSet:
    """The series, and behind them their warped variants."""
    parts = [data.X, *(warped(data.X, rng) for _ in range(count))]
    X = SeriesCollection(
        np.concatenate([part.values for part in parts]), np.tile(data.X.lengths, 1 + count)
    )
    return replace(
        data, X=X, y=np.tile(data.y, 1 + count), weights=np.tile(data.weights, 1 + count)
    )


def _represented(data: TrainingSet, name: str) -> tuple[TrainingSet, NDArray[np.float64]]:
    """The series in one representation, in units in which the mean square of all channels is 1.

    Each channel of a series has the same share of it.
    """
    names = _channels(name)
    X = derived(data.X, names)
    mean, deviation = element_scales(X, data.cases)
    unit = np.hypot(mean, deviation) * np.sqrt(len(names))
    return replace(data, X=standardized(X, np.zeros_like(unit), unit)), unit


def _best_of(by_name: Sequence[Judged], n_best: int) -> tuple[Judged, list[dict[str, Any]]]:
    """The ensemble of one elasticity, as one candidate, and its members.

    The best candidates of each representation are averaged, then all representations are averaged
    whose mean is not clearly worse than the best one.
    """
    best = [each.some(each.order[:n_best]) for each in by_name]
    means = Judged.joined([each.mean() for each in best])
    places = means.not_worse()
    members = [params for place in places for params in best[place].candidates]
    return means.some(places).mean(), members


@with_parameters_of(ElasticLinearClassifierCV)
@dataclass(repr=False, eq=False, kw_only=True)
class ElasticLogisticRegressionCV(Probabilities, ElasticLinearClassifierCV):
    """Elastic logistic regression whose parameters are chosen by cross-validation.

    See Also
    --------
    ElasticLogisticRegression : With given parameters.
    ElasticGridSearchCV : A search over any parameters of any estimator.

    Examples
    --------
    >>> from warplearn import datasets
    >>> train = datasets.load("ItalyPowerDemand", "train")
    >>> test = datasets.load("ItalyPowerDemand", "test")
    >>> model = ElasticLogisticRegressionCV(random_state=0).fit(train.X, train.y)
    >>> model.score(test.X, test.y) > 0.95
    True
    """

    _estimator = ElasticLogisticRegression
    _start_scale = 3.0


@with_parameters_of(ElasticLinearClassifierCV)
@dataclass(repr=False, eq=False, kw_only=True)
class ElasticLinearSVCCV(ElasticLinearClassifierCV):
    """Elastic linear support vector machine whose parameters are chosen by cross-validation.

    See Also
    --------
    ElasticLinearSVC : With given parameters.
    ElasticGridSearchCV : A search over any parameters of any estimator.
    """

    _estimator = ElasticLinearSVC
    _start_scale = 1.5
