"""Elastic linear classifiers (section 3.4 of the paper) under scikit-learn's contract.

The decision value of a series x is `b + sigma_W(x)`, a bias and the elastic inner product with a
weight matrix W of n rows (the longest training series) and m columns (the elasticity).  Each
classifier is a loss with defaults; everything else is shared.

The model is not symmetric in the labels: with one matrix, the series of the negative class are
those for which *no* path scores high.  `polarity` says which class is the positive one; with
"symmetric" there is a matrix for each class, and the decision value is the difference.
"""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_expit, log_softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from warplearn._kernels.drivers.evaluate import evaluate
from warplearn._kernels.recursion.local import Product
from warplearn.base import (
    check_classes,
    check_counts,
    check_labelled,
    check_labels,
    check_length,
    check_not_negative,
    check_series,
    check_weights,
    weigh_classes,
)
from warplearn.elastic.bands import Band, BandLike, resolve_band
from warplearn.elastic.extent import columns_for
from warplearn.elastic.streaming import ElasticStream
from warplearn.series.collection import SeriesCollection
from warplearn.training import penalties, schedules
from warplearn.training.losses import Logistic, Margin, Softmax, Squared, softmax
from warplearn.training.train import Model, Problem, Solution, Split, Stopping, best_restarts, solve

_POLARITIES = ("first", "+", "-", "symmetric")


class Assembly(NamedTuple):
    """A fit taken apart: what is minimized, from where, and how the solutions are put together.

    Attributes
    ----------
    problem : Problem
    models : list of Model
        All restarts of the first model, then of the second, and so on.
    schedule : schedule
    stopping : Stopping
    mix : array (units, outputs)
        Decision values are `scores @ mix`.
    """

    problem: Problem
    models: list[Model]
    schedule: Any
    stopping: Stopping
    mix: NDArray[np.float64]


@dataclass(repr=False, eq=False, kw_only=True)
class ElasticLinearClassifier(ClassifierMixin, BaseEstimator, metaclass=ABCMeta):
    """What elastic linear classifiers share.

    Parameters
    ----------
    elasticity : int or float, default=0.1
        Columns m of the weight matrices: an integer, or a ratio to the length n, rounded up; 0.0
        is m = 1, the ordinary linear classifier.
    band : int or float, optional
        Sakoe-Chiba band: a radius in cells, or a fraction of the longer side of the grid.
    eta : float, default=0.1
        Initial learning rate.
    schedule : {"constant", "decay", "invscaling"} or schedule, default="decay"
        How the rate changes from epoch to epoch (see `warplearn.training.schedules`).
    penalty : {"l2", "l1"} or penalty, default="l2"
    lam : float
        Strength of the penalty, added to the loss of every example.
    polarity : {"first", "+", "-", "symmetric"}, default="first"
        Which class is the positive one: that of the first training case (as in the paper's
        experiments), the second of `classes_`, or the first of `classes_`.  "symmetric" gives
        each class a matrix.  Of more than two classes, each is held against the rest with "+" and
        "first", the rest against it with "-".
    batch_size : int, optional
        None is the incremental method of the paper, a step for each example.  Otherwise steps
        follow the mean gradient over so many examples.
    optimizer : {"sgd", "momentum", "adam"} or optimizer, default="sgd"
        How steps are made; those other than "sgd" need a `batch_size`.
    max_iter : int, default=500
        Epochs at most.
    early_stopping : {"perfect", "risk", "none"}, default="perfect"
        "perfect" stops when all training series are classified correctly, or after
        `n_iter_no_change` epochs without fewer mistakes, and keeps the weights with the fewest.
        "risk" stops when the risk has not fallen by more than `tol` for `n_iter_no_change`
        epochs, and keeps the weights with the lowest.  "none" always runs `max_iter` epochs and
        keeps those with the lowest risk.
    tol : float, default=1e-4
    n_iter_no_change : int, default=200
    average : bool, default=False
        Whether to use the mean of the weights over the epochs.
    radius : float, optional
        Project the parameters of a model onto the ball of this radius after each epoch.
    init_scale : float, default=0.01
        Initial weights are uniform in [-init_scale, init_scale].
    n_init : int, default=1
        Restarts from other initial weights; the best one is kept.
    shuffle : bool, default=True
        Whether examples come in a new order each epoch.
    class_weight : dict or "balanced", optional
    alphabet : Alphabet, optional
        For sequences of symbols; by default the symbols seen in `fit`.
    warm_start : bool, default=False
        Whether `fit` starts from the weights of the last one.
    random_state : int or RandomState, optional
    verbose : int, default=0
        1 shows progress.
    n_jobs : int, optional
        Threads; None is Numba's current setting, -1 all cores.

    Attributes
    ----------
    classes_ : array
    coef_ : array (units, n, m), or (units, n, m, channels)
        Weight matrices.
    intercept_ : array (units,)
    mix_ : array (units, outputs)
        How units combine to decision values, `(scores + intercept_) @ mix_`.
    n_iter_ : int
        Epochs, the most of any unit.
    history_ : list of arrays
        The risk after each epoch, for each model.
    solutions_ : list of Solution
        Why training stopped, and more.
    n_features_in_ : int
        Length of the longest training series, the rows of the matrices.
    """

    elasticity: float = 0.1
    band: BandLike = None
    eta: float = 0.1
    schedule: Any = "decay"
    penalty: Any = "l2"
    lam: float = 0.0
    polarity: str = "first"
    batch_size: int | None = None
    optimizer: Any = "sgd"
    max_iter: int = 500
    early_stopping: str = "perfect"
    tol: float = 1e-4
    n_iter_no_change: int = 200
    average: bool = False
    radius: float | None = None
    init_scale: float = 0.01
    n_init: int = 1
    shuffle: bool = True
    class_weight: Any = None
    alphabet: Any = None
    warm_start: bool = False
    random_state: Any = None
    verbose: int = 0
    n_jobs: int | None = None

    @abstractmethod
    def _loss(self) -> Any:
        """The loss of a model that tells two classes apart."""

    def _multiclass_loss(self) -> Any:
        """The loss of one model for all of more than two classes, or None: one against the rest."""
        return None

    # Training.

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> ElasticLinearClassifier:
        """Train on series X with labels y.

        Parameters
        ----------
        X : series collection
            Anything `SeriesCollection.of` takes, or a list of strings or lists of symbols.
        y : array (cases,)
        sample_weight : array (cases,), optional
        """
        series, codes, weights = check_labelled(self, X, y, sample_weight)
        self._random_state = check_random_state(self.random_state)
        cases = np.flatnonzero(weights)
        warm = self.warm_start and hasattr(self, "coef_")
        if not warm:
            self._first_code = int(codes[cases[0]])
        assembly = self.assemble(
            series, codes, cases, self._random_state, first_code=self._first_code
        )
        if warm:
            self._restart_from_coef(assembly)
        split = self.split(codes, weights, self._random_state)
        solutions = solve(
            assembly.problem, assembly.models, [split],
            batch_size=self.batch_size, optimizer=self.optimizer, schedule=assembly.schedule,
            stopping=assembly.stopping, average=self.average,
            verbose=self.verbose, n_jobs=self.n_jobs,
        )  # fmt: skip
        self.adopt(assembly, solutions)
        self.t_ = self.n_iter_
        return self

    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None
    ) -> ElasticLinearClassifier:
        """Train for one epoch on more series.

        Series longer than any before give the weight matrices more rows, which start at 0.

        Parameters
        ----------
        X, y, sample_weight
            As for `fit`.
        classes : array, optional
            All classes there will be; needed in the first call.
        """
        first = not hasattr(self, "coef_")
        series = check_series(self, X, reset=first)
        labels = check_labels(series, y)
        codes = check_classes(self, labels, classes, reset=first)
        weights = check_weights(series, sample_weight)
        if first:
            self.t_ = 0
            self._random_state = check_random_state(self.random_state)
            self._first_code = int(codes[0])
        n = max(int(getattr(self, "n_features_in_", 0)), series.max_length)
        assembly = self.assemble(
            series, codes, np.arange(len(series)), self._random_state,
            n=n, m=None if first else self.coef_.shape[2], first_code=self._first_code,
        )  # fmt: skip
        if not first:
            self.n_features_in_ = n
            self._restart_from_coef(assembly)
        split = self.split(codes, weights, self._random_state)
        solutions = solve(
            assembly.problem, assembly.models, [split],
            batch_size=self.batch_size, optimizer=self.optimizer, schedule=assembly.schedule,
            n_jobs=self.n_jobs, first_epoch=self.t_,
            stopping=assembly.stopping._replace(max_iter=self.t_ + 1),
        )  # fmt: skip
        self.t_ += 1
        return self.adopt(assembly, solutions)

    def assemble(
        self,
        X: SeriesCollection,
        codes: NDArray[np.int64],
        cases: NDArray[np.int64],
        random_state: np.random.RandomState,
        *,
        n: int | None = None,
        m: int | None = None,
        first_code: int | None = None,
        split: int = 0,
    ) -> Assembly:
        """Take a fit on the given cases apart (see `Assembly`), without running it."""
        self._check_parameters()
        trained = int(X.lengths[cases].max())
        rows = trained if n is None else n
        columns = columns_for(self.elasticity, rows) if m is None else m
        radius = resolve_band(self.band, X.lengths[cases], np.array([columns]))
        n_classes = len(self.classes_)
        symmetric = self.polarity == "symmetric"
        joint = self._multiclass_loss() if n_classes > 2 else None
        if joint is not None:
            loss, size = joint, n_classes
            outputs = [(tuple(range(n_classes)), (1.0,) * n_classes)]
            mix: NDArray[Any] = np.eye(n_classes)
        else:
            loss, size = self._loss(), 2 if symmetric else 1
            positives = list(range(n_classes))
            if n_classes == 2:
                first = int(codes[cases[0]]) if first_code is None else int(first_code)
                positives = [{"first": first, "+": 1, "-": 0, "symmetric": 1}[self.polarity]]
            sign = -1.0 if n_classes > 2 and self.polarity == "-" else 1.0
            outputs = [((c,) * size, (sign,) * size) for c in positives]
            flip = -1.0 if n_classes == 2 and positives[0] == 0 else sign
            mix = np.kron(np.eye(len(outputs)), flip * np.array([[1.0], [-1.0]])[:size])
        targets = np.where(
            np.arange(n_classes)[:, None] == codes, 1.0, -1.0 if joint is None else 0.0
        )
        models = []
        for targets_of, signs in outputs:
            for _ in range(self.n_init):
                W = np.zeros((size, max(rows, X.max_length), columns, X.n_channels), X.dtype)
                drawn = (size, rows, columns, X.n_channels)
                W[:, :rows] = random_state.uniform(-self.init_scale, self.init_scale, drawn)
                b = random_state.uniform(-self.init_scale, self.init_scale, size)
                models.append(
                    Model(W, b, self.eta, self.lam, tuple(loss), targets_of, signs, split)
                )
        problem = Problem(
            X, targets, loss, size, Product(), radius, penalties.resolve(self.penalty)
        )
        stopping = Stopping(
            max_iter=self.max_iter,
            monitor="accuracy" if self.early_stopping == "perfect" else "risk",
            perfect=self.early_stopping == "perfect",
            patience=self.max_iter + 1 if self.early_stopping == "none" else self.n_iter_no_change,
            tol=self.tol,
            radius=self.radius,
        )
        return Assembly(problem, models, schedules.resolve(self.schedule), stopping, mix)

    def split(
        self,
        codes: NDArray[np.int64],
        weights: NDArray[np.float64],
        random_state: np.random.RandomState,
    ) -> Split:
        """The training examples with their weights, those of classes included."""
        weights = weigh_classes(self.class_weight, self.classes_, codes, weights)
        # Orders are drawn ahead, how far is a matter of time: so from a source of their own.
        own = np.random.RandomState(random_state.randint(np.iinfo(np.int32).max))
        return Split(weights, own, self.shuffle)

    def adopt(self, assembly: Assembly, solutions: Sequence[Solution]) -> ElasticLinearClassifier:
        """Take over the best of the restarts as the fitted model."""
        best = best_restarts(solutions, self.n_init, assembly.stopping)
        coef = np.concatenate([solution.W for solution in best])
        self.coef_ = coef[..., 0] if coef.shape[-1] == 1 else coef
        self.intercept_ = np.concatenate([solution.b for solution in best])
        self.mix_ = assembly.mix
        self.solutions_ = best
        self.history_ = [solution.history for solution in best]
        self.n_iter_ = max(solution.n_epochs for solution in best)
        return self

    def _restart_from_coef(self, assembly: Assembly) -> None:
        """Let the models start from the fitted weights, rows that are new from 0."""
        W = self._matrices()
        size = assembly.problem.size
        expected = assembly.models[0].W.shape
        if W.shape[2:] != expected[2:] or len(W) * self.n_init != len(assembly.models) * size:
            raise ValueError(
                "the fitted weights do not fit the data and parameters: elasticity, channels and "
                "classes must stay the same"
            )
        for index, model in enumerate(assembly.models):
            units = slice(index // self.n_init * size, (index // self.n_init + 1) * size)
            rows = min(W.shape[1], model.W.shape[1])
            model.W[:] = 0
            model.W[:, :rows] = W[units, :rows]
            model.b = self.intercept_[units].copy()

    def _check_parameters(self) -> None:
        if self.polarity not in _POLARITIES:
            raise ValueError(f"polarity must be one of {_POLARITIES}, got {self.polarity!r}")
        if self.early_stopping not in ("perfect", "risk", "none"):
            raise ValueError(
                f"early_stopping must be 'perfect', 'risk' or 'none', got {self.early_stopping!r}"
            )
        check_not_negative(self, "eta", "init_scale", "lam", "tol")
        check_counts(self, "max_iter", "n_init", "n_iter_no_change")
        if self.batch_size is not None:
            check_counts(self, "batch_size")
        if self.radius is not None and not (isinstance(self.radius, Real) and self.radius > 0):
            raise ValueError(f"radius must be None or a positive number, got {self.radius!r}")

    # Prediction.

    def _matrices(self) -> NDArray[Any]:
        return self.coef_ if self.coef_.ndim == 4 else self.coef_[..., None]

    def _checked(self, X: Any) -> tuple[SeriesCollection, NDArray[Any], Band | None]:
        """Series, matrices in the same dtype, and the band."""
        check_is_fitted(self)
        series = check_series(self, X, reset=False)
        W = self._matrices()
        check_length(series, W.shape[1])
        dtype = np.result_type(series.dtype, W.dtype)
        radius = resolve_band(self.band, series.lengths, np.array([W.shape[2]]))
        return series.astype(dtype), W.astype(dtype, copy=False), radius

    def decision_function(self, X: Any) -> NDArray[Any]:
        """Decision values: positive for `classes_[1]`, or one column for each class."""
        series, W, radius = self._checked(X)
        scores = evaluate(
            Product(), series.values, series.lengths, W, band=radius, n_jobs=self.n_jobs
        ).values
        return self._decisions(scores)

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of each series."""
        return self._classes_of(self.decision_function(X))

    def _decisions(self, scores: NDArray[Any]) -> NDArray[Any]:
        decisions = (scores + self.intercept_) @ self.mix_
        return decisions[:, 0] if decisions.shape[1] == 1 else decisions

    def _classes_of(self, decisions: NDArray[Any]) -> NDArray[Any]:
        if decisions.ndim > 1:
            chosen = decisions.argmax(axis=1)
        else:  # an output of 0 is of the positive class, as in training
            chosen = decisions >= 0 if self.mix_[0, 0] > 0 else decisions > 0
        return self.classes_[chosen.astype(np.intp)]

    def classify(self, scores: NDArray[Any]) -> NDArray[Any]:
        """The classes that elastic inner products with `coef_`, computed elsewhere, mean."""
        return self._classes_of(self._decisions(scores))

    def explain(self, X: Any) -> Explanation:
        """How much each time step (and channel) contributes to the decision values.

        The contribution of a time step is the sum of `x_i w_ij` over the cells (i, j) of its row
        on the active path.  Contributions and `bias` add up to the decision value.

        Returns
        -------
        Explanation
            `contributions`, an array (cases, time) or (cases, channels, time), 0 behind the end of
            a series, and `bias`, a number; for more than two classes a list of such pairs in one:
            (classes, cases, ...) and (classes,).
        """
        series, W, radius = self._checked(X)
        found = []
        for column in self.mix_.T:
            upstream = np.broadcast_to(column, (len(series), len(column)))
            slopes = evaluate(
                Product(), series.values, series.lengths, W,
                band=radius, upstream=upstream, want_series=True, n_jobs=self.n_jobs,
            ).series_gradient  # fmt: skip
            parts = (slopes * series.values).swapaxes(1, 2)
            found.append(parts[:, 0] if series.n_channels == 1 else parts)
        bias = self.intercept_ @ self.mix_
        if len(found) == 1:
            return Explanation(found[0], float(bias[0]))
        return Explanation(np.stack(found), bias)

    def stream(self, n_streams: int = 1) -> ElasticStream:
        """An online scorer that takes one sample at a time (see `ElasticStream`)."""
        check_is_fitted(self)
        if self.band is not None:
            raise ValueError(
                f"stream needs band=None, got band={self.band!r}: where a band lies depends on the "
                "length of the series, which a stream does not know"
            )
        alphabet = getattr(self, "alphabet_", None)
        return ElasticStream(self._matrices(), self.intercept_, self.mix_, n_streams, alphabet)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        return tags


class Explanation(NamedTuple):
    """Contributions of time steps to decision values, and the bias that completes them."""

    contributions: NDArray[Any]
    bias: Any


@dataclass(repr=False, eq=False, kw_only=True)
class ElasticLogisticRegression(ElasticLinearClassifier):
    """Elastic logistic regression; softmax over the classes if there are more than two."""

    def _loss(self) -> Any:
        return Logistic()

    def _multiclass_loss(self) -> Any:
        return Softmax()

    def predict_proba(self, X: Any) -> NDArray[Any]:
        """Probabilities of the classes."""
        decisions = self.decision_function(X).astype(np.float64)
        if decisions.ndim == 1:
            return expit(np.column_stack([-decisions, decisions]))
        return softmax(decisions)

    def predict_log_proba(self, X: Any) -> NDArray[Any]:
        """Logarithms of the probabilities."""
        decisions = self.decision_function(X).astype(np.float64)
        if decisions.ndim == 1:
            return log_expit(np.column_stack([-decisions, decisions]))
        return log_softmax(decisions, axis=1)


@dataclass(repr=False, eq=False, kw_only=True)
class ElasticPerceptron(ElasticLinearClassifier):
    """Elastic perceptron: a step for every misclassified example."""

    def _loss(self) -> Any:
        return Margin(0.0)


@dataclass(repr=False, eq=False, kw_only=True)
class ElasticMarginPerceptron(ElasticLinearClassifier):
    """Elastic perceptron with margin `xi`: a step for every example inside the margin."""

    xi: float = 0.1

    def _loss(self) -> Any:
        if not isinstance(self.xi, Real) or not 0 <= float(self.xi) < np.inf:
            raise ValueError(f"xi must be a number of at least 0, got {self.xi!r}")
        return Margin(float(self.xi))


@dataclass(repr=False, eq=False, kw_only=True)
class ElasticLinearSVC(ElasticLinearClassifier):
    """Elastic linear support vector machine: the hinge loss and the penalty `lam ||W||^2`."""

    lam: float = 2**-10

    def _loss(self) -> Any:
        return Margin(1.0)


@dataclass(repr=False, eq=False, kw_only=True)
class ElasticAdaline(ElasticLinearClassifier):
    """Elastic Adaline: least squares on targets -1 and +1."""

    eta: float = 0.003

    def _loss(self) -> Any:
        return Squared()
