"""Elastic linear classifiers (section 3.4 of the paper) under scikit-learn's contract."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_expit, log_softmax, softmax
from sklearn.utils.validation import check_is_fitted

from warplearn._kernels.simd.threads import thread_count
from warplearn.base import check_fitted_classes
from warplearn.documentation import with_parameters_of
from warplearn.elastic.bands import resolve_band
from warplearn.linear_model.base import ElasticLinearModel, LinearModel
from warplearn.linear_model.polarity import Ensemble, Polarity
from warplearn.series.collection import SeriesCollection
from warplearn.series.lengths import fitting_lengths
from warplearn.sliding import Slides
from warplearn.training.data import TrainingSet
from warplearn.training.estimator import GradientEstimator
from warplearn.training.losses import LeastSquares, Logistic, Margin, Softmax
from warplearn.training.matrices import Operands
from warplearn.training.supervised import TrainedClassifier


class LinearClassifier(Slides, LinearModel):
    """Decisions of elastic linear classifiers."""

    classes_: NDArray[Any]

    def _check_state(self, whole: bool = False) -> None:
        n_classes = check_fitted_classes(self)
        readout = getattr(getattr(self, "_context", None), "readout", None)
        if not isinstance(readout, (Polarity, Ensemble)):
            raise ValueError(f"polarity_ must be a Polarity or an Ensemble, got {readout!r}")
        readout.check()
        if readout.n_classes != n_classes:
            raise ValueError(f"polarity_ must be that of {n_classes} classes, got {readout!r}")
        super()._check_state(whole)

    @property
    def polarity_(self) -> Polarity | Ensemble:
        """How scores of the matrices combine to decision values."""
        return self._context.readout

    def decision_function(self, X: Any) -> NDArray[Any]:
        """Decision values: positive for `classes_[1]`, or one column for each class."""
        return self._from_scores(self._combined, X)

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of each series."""
        return self._from_scores(self.predict_from_scores, X)

    def decider(self, length: int) -> Callable[[SeriesCollection], NDArray[Any]]:
        """What gives decision values of series of one length; checks of the model are done."""
        check_is_fitted(self)
        self._check_state()
        rows = fitting_lengths(np.array([length]), self.matrices_.shape[1], self.longer)
        band = resolve_band(self.band, rows, np.array(self.matrices_.shape[2:3]))
        threads = thread_count(self.n_jobs)
        channels = self._derived_channels()
        operands = Operands(self.matrices_, band, self.longer, self._scales(), threads, channels)
        intercept, mix = self.intercept_, self.polarity_.mix

        def decide(X: SeriesCollection) -> NDArray[Any]:
            decisions = (operands.scores(X) + intercept) @ mix
            return decisions[:, 0] if decisions.shape[1] == 1 else decisions

        return decide

    def predict_from_scores(self, scores: NDArray[Any]) -> NDArray[Any]:
        """The classes that elastic inner products with `matrices_`, computed elsewhere, mean."""
        return self.classes_[self.polarity_.classes_of(self._combined(scores))]


class Probabilities(LinearClassifier):
    """Probabilities of models whose decision values are logits."""

    def predict_proba(self, X: Any) -> NDArray[Any]:
        """Probabilities of the classes."""
        decisions = self.decision_function(X).astype(np.float64)
        if decisions.ndim == 1:
            return expit(np.column_stack([-decisions, decisions]))
        return softmax(decisions, axis=1)

    def predict_log_proba(self, X: Any) -> NDArray[Any]:
        """Logarithms of the probabilities."""
        decisions = self.decision_function(X).astype(np.float64)
        if decisions.ndim == 1:
            return log_expit(np.column_stack([-decisions, decisions]))
        return log_softmax(decisions, axis=1)


@with_parameters_of(GradientEstimator)
@dataclass(repr=False, eq=False, kw_only=True)
class ElasticLinearClassifier(LinearClassifier, TrainedClassifier, ElasticLinearModel):
    """What elastic linear classifiers share.

    Parameters
    ----------
    polarity : {"symmetric", "+", "-", "first"}, default="symmetric"
        "symmetric" gives each class a matrix.  The others have one matrix, whose high scores speak
        for the positive class: the second of `classes_`, the first of `classes_`, or the class of
        the first training case (as in the paper's experiments; the model then depends on the order
        of the training series).  Of more than two classes, each is held against the rest with "+"
        and "first", the rest against it with "-".
    monitor : {"accuracy", "loss"}, default="accuracy"
        "accuracy" stops when all series are classified correctly, or after `n_iter_no_change`
        epochs without fewer mistakes, and keeps the weights with the fewest.  "loss" stops when
        the risk has not fallen by more than `tol` for `n_iter_no_change` epochs, and keeps the
        weights with the lowest.
    init_scale : float, default=0.01
        Initial weights are uniform in [-init_scale, init_scale].
    class_weight : dict or "balanced", optional
        Weights of the classes, by default 1; "balanced" makes them inverse to the frequencies.

    Attributes
    ----------
    classes_ : array
        The labels, sorted.
    polarity_ : Polarity
        How scores of the matrices combine to decision values.
    """

    polarity: str = "symmetric"
    monitor: str = "accuracy"
    class_weight: Any = None

    def _readout(self, data: TrainingSet) -> Polarity:
        assert data.classes is not None
        first_code = int(data.y[data.weighted[0]])
        joint = self._multiclass_loss() is not None
        return Polarity.of(self.polarity, len(data.classes), first_code, joint)

    def _binary_loss(self) -> Any:
        """The loss of a model that tells two classes apart."""
        raise NotImplementedError

    def _multiclass_loss(self) -> Any:
        """The loss of one model for all of more than two classes, or None: one against the rest."""
        return None

    def _loss(self, readout: Polarity) -> Any:
        return self._multiclass_loss() if readout.joint else self._binary_loss()

    def _targets(self, data: TrainingSet, readout: Polarity) -> NDArray[np.float64]:
        return readout.targets(data.y)


@with_parameters_of(ElasticLinearClassifier)
@dataclass(repr=False, eq=False, kw_only=True)
class ElasticLogisticRegression(Probabilities, ElasticLinearClassifier):
    """Elastic logistic regression; softmax over the classes if there are more than two.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> time, y = np.linspace(0, 1, 60), np.arange(40) % 2
    >>> peak = rng.uniform(0.3, 0.5, 40) + 0.2 * y
    >>> X = np.exp(-100 * (time - peak[:, None]) ** 2)
    >>> model = ElasticLogisticRegression(random_state=0).fit(X[:20], y[:20])
    >>> model.score(X[20:], y[20:]) > 0.9
    True
    """

    def _binary_loss(self) -> Any:
        return Logistic()

    def _multiclass_loss(self) -> Any:
        return Softmax()


@with_parameters_of(ElasticLinearClassifier)
@dataclass(repr=False, eq=False, kw_only=True)
class ElasticPerceptron(ElasticLinearClassifier):
    """Elastic perceptron: a step for every misclassified example."""

    def _binary_loss(self) -> Any:
        return Margin(0.0)


@with_parameters_of(ElasticLinearClassifier)
@dataclass(repr=False, eq=False, kw_only=True)
class ElasticMarginPerceptron(ElasticLinearClassifier):
    """Elastic perceptron with a margin: a step for every example inside the margin.

    Parameters
    ----------
    margin : float, default=0.1
        Width of the margin (the paper's xi).
    """

    margin: float = 0.1

    def _binary_loss(self) -> Any:
        if not isinstance(self.margin, Real) or not 0 <= float(self.margin) < np.inf:
            raise ValueError(f"margin must be a number of at least 0, got {self.margin!r}")
        return Margin(float(self.margin))


@with_parameters_of(ElasticLinearClassifier)
@dataclass(repr=False, eq=False, kw_only=True)
class ElasticLinearSVC(ElasticLinearClassifier):
    """Elastic linear support vector machine: the hinge loss and the penalty `alpha ||W||^2`.

    Parameters
    ----------
    alpha : float, default=2**-10
        Strength of the penalty (the paper's lambda), added to the loss of every example.
    """

    alpha: float = 2**-10

    def _binary_loss(self) -> Any:
        return Margin(1.0)


@with_parameters_of(ElasticLinearClassifier)
@dataclass(repr=False, eq=False, kw_only=True)
class ElasticAdaline(ElasticLinearClassifier):
    """Elastic Adaline: least squares on targets -1 and +1.

    Parameters
    ----------
    learning_rate_init : float, default=0.003
        Initial learning rate (the paper's eta).
    """

    learning_rate_init: float = 0.003

    def _binary_loss(self) -> Any:
        return LeastSquares()
