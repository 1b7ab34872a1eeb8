"""Elastic linear classifiers (section 3.4 of the paper) under scikit-learn's contract."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_expit, log_softmax, softmax

from warplearn.base import check_fitted_classes
from warplearn.documentation import with_parameters_of
from warplearn.linear_model.base import ElasticLinearModel
from warplearn.linear_model.polarity import Polarity
from warplearn.training.data import TrainingSet
from warplearn.training.losses import LeastSquares, Logistic, Margin, Softmax
from warplearn.training.supervised import TrainedClassifier


@dataclass(repr=False, eq=False, kw_only=True)
class ElasticLinearClassifier(TrainedClassifier, ElasticLinearModel):
    """What elastic linear classifiers share.

    Parameters
    ----------
    elasticity : int, float or str, default=0.1
        Columns m of the weight matrices: an integer, or a share of the length n such as 0.1 or
        "10%", rounded up; 1 (or 0.0) is the ordinary linear classifier.
    polarity : {"symmetric", "+", "-", "first"}, default="symmetric"
        "symmetric" gives each class a matrix.  The others have one matrix, whose high scores speak
        for the positive class: the second of `classes_`, the first of `classes_`, or the class of
        the first training case (as in the paper's experiments; the model then depends on the order
        of the training series).  Of more than two classes, each is held against the rest with "+"
        and "first", the rest against it with "-".
    band : int, float or str, optional
        Sakoe-Chiba band: a radius in cells, or a share of the longer side of the grid.
    learning_rate_init : float, default=0.1
        Initial learning rate (the paper's eta).
    learning_rate : {"constant", "decay", "invscaling"} or schedule, default="decay"
        How the rate changes from epoch to epoch (see `warplearn.training.schedules`).
    penalty : {"l2", "l1"} or penalty, default="l2"
    alpha : float, default=0.0
        Strength of the penalty (the paper's lambda), added to the loss of every example.
    batch_size : int, optional
        None is the incremental method of the paper, a step for each example.  Otherwise steps
        follow the mean gradient over so many examples.
    solver : {"sgd", "momentum", "adam"} or solver, default="sgd"
        How steps are made; those other than "sgd" need a `batch_size`.
    max_iter : int, default=500
        Epochs at most.
    monitor : {"accuracy", "loss"}, default="accuracy"
        "accuracy" stops when all series are classified correctly, or after `n_iter_no_change`
        epochs without fewer mistakes, and keeps the weights with the fewest.  "loss" stops when
        the risk has not fallen by more than `tol` for `n_iter_no_change` epochs, and keeps the
        weights with the lowest.
    early_stopping : bool, default=False
        Whether to hold out `validation_fraction` of the training series and judge by them instead
        of by those trained on.
    validation_fraction : float, default=0.1
    tol : float, optional, default=1e-4
        None never stops for lack of progress.
    n_iter_no_change : int, default=200
    average : bool, default=False
        Whether to use the mean of the weights over the epochs.
    max_norm : float, optional
        Project the parameters of a model onto the ball of this radius after each epoch.
    init_scale : float, default=0.01
        Initial weights are uniform in [-init_scale, init_scale].
    n_init : int, default=1
        Restarts from other initial weights; the best one is kept.
    shuffle : bool, default=True
        Whether examples come in a new order each epoch.
    class_weight : dict or "balanced", optional
    longer : {"error", "truncate", "resample"}, default="error"
        What to do with series to predict that are longer than those of `fit`: refuse them, cut
        them, or resample them to the longest length of `fit`.
    alphabet : Alphabet, optional
        For sequences of symbols; by default the symbols seen in `fit`.
    warm_start : bool, default=False
        Whether `fit` starts from the weights of the last one.
    random_state : int or RandomState, optional
    verbose : int, default=0
        1 shows progress.
    n_jobs : int, optional
        Threads; None is 1, as in scikit-learn, -1 all cores.  Results do not depend on it.

    Attributes
    ----------
    classes_ : array
    coef_ : array (matrices, n, m), or (matrices, n, m, channels)
        Weight matrices.
    intercept_ : array (matrices,)
    polarity_ : Polarity
        How scores of the matrices combine to decision values.
    n_iter_ : int
        Epochs, the most of any model.
    history_ : list of arrays
        The risk after each epoch, for each model.
    solutions_ : list of Solution
        For each model why training stopped, and more.
    n_features_in_ : int
        Length of the longest training series, the rows of the matrices.
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

    def _check_state(self, whole: bool = False) -> None:
        n_classes = check_fitted_classes(self)
        readout = getattr(getattr(self, "_context", None), "readout", None)
        if not isinstance(readout, Polarity) or readout.n_classes != n_classes:
            raise ValueError(f"polarity_ must be that of {n_classes} classes, got {readout!r}")
        readout.check()
        super()._check_state(whole)

    @property
    def polarity_(self) -> Polarity:
        """How scores of the matrices combine to decision values."""
        return self._context.readout

    def decision_function(self, X: Any) -> NDArray[Any]:
        """Decision values: positive for `classes_[1]`, or one column for each class."""
        return self._outputs(X)

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of each series."""
        decisions = self._outputs(X)
        return self.classes_[self.polarity_.classes_of(decisions)]

    def predict_from_scores(self, scores: NDArray[Any]) -> NDArray[Any]:
        """The classes that elastic inner products with `matrices_`, computed elsewhere, mean."""
        return self.classes_[self.polarity_.classes_of(self._combined(scores))]


@with_parameters_of(ElasticLinearClassifier)
@dataclass(repr=False, eq=False, kw_only=True)
class ElasticLogisticRegression(ElasticLinearClassifier):
    """Elastic logistic regression; softmax over the classes if there are more than two.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> time, y = np.linspace(0, 1, 60), np.arange(40) % 2
    >>> peak = rng.uniform(0.3, 0.5, 40) + 0.2 * y
    >>> X = np.exp(-100 * (time - peak[:, None]) ** 2)
    >>> model = ElasticLogisticRegression(random_state=0).fit(X[:20], y[:20])
    >>> model.score(X[20:], y[20:])
    1.0
    """

    def _binary_loss(self) -> Any:
        return Logistic()

    def _multiclass_loss(self) -> Any:
        return Softmax()

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
