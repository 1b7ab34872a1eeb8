"""`ElasticConvNet` as a scikit-learn classifier."""

from __future__ import annotations

import copy
import sys
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted
from torch import Tensor
from torch.nn import functional

from warplearn._kernels.simd.threads import thread_count
from warplearn.base import (
    CheckedState,
    check_array_of,
    check_counts,
    check_fitted_array,
    check_fitted_classes,
    check_fitted_count,
    check_labelled,
    check_not_negative,
    check_series,
    hold_out,
    weigh_classes,
)
from warplearn.elastic.extent import ExtentLike
from warplearn.series.collection import SeriesCollection
from warplearn.series.numbers import check_flag
from warplearn.series.scaling import element_scales, standardized
from warplearn.torch.net import ElasticConvNet

__all__ = ["ElasticConvNetClassifier"]

Array = NDArray[Any]

_PREDICTION_BATCH = 256
_MAX_SIZE = 2**20  # of a layer or a window
_RANDOM_SOURCE = threading.Lock()  # torch draws initial weights from one source for all threads


@contextmanager
def _torch_threads(n_jobs: int | None) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(thread_count(n_jobs))
    try:
        yield
    finally:
        torch.set_num_threads(before)


class _Examples(NamedTuple):
    """Standardized series (cases, channels, time), their lengths, classes and weights."""

    x: Tensor
    lengths: Tensor
    codes: Tensor
    weights: Tensor

    def loss(self, net: ElasticConvNet, cases: Array) -> Tensor:
        """Weighted mean cross-entropy of the network on some of the cases."""
        at = torch.as_tensor(cases, device=self.x.device)
        outputs = net(self.x[at], self.lengths[at])
        losses = functional.cross_entropy(outputs, self.codes[at], reduction="none")
        return (self.weights[at] * losses).mean()


class _BestState:
    """The parameters with the lowest loss so far, and how long ago the last progress was."""

    def __init__(self, net: ElasticConvNet, tol: float) -> None:
        self.state, self.tol = copy.deepcopy(net.state_dict()), tol
        self.loss, self.epochs_without_progress = np.inf, 0

    def update(self, net: ElasticConvNet, loss: float) -> None:
        """Take the loss of an epoch."""
        progress = loss < self.loss - self.tol
        self.epochs_without_progress = 0 if progress else self.epochs_without_progress + 1
        if loss < self.loss:
            self.loss, self.state = loss, copy.deepcopy(net.state_dict())


@dataclass(repr=False, eq=False, kw_only=True)
class ElasticConvNetClassifier(CheckedState, ClassifierMixin, BaseEstimator):
    """A deep convolutional network whose first layer is elastic (see `ElasticConvNet`).

    Series are standardized with the mean and deviation of all training elements of a channel.  The
    network is trained with AdamW, at a learning rate that falls to 0 along half a cosine.

    Parameters
    ----------
    units : int, default=16
        Elastic filters for each dilation.
    length : int, default=9
        Rows of an elastic filter, which are the elements of a window.
    elasticity : int, float or str, default=3
        Columns of an elastic filter: an integer counts them, a float below 1 or a text such as
        "50%" is a share of `length`.  1 makes the network an ordinary convolutional one.
    dilations : sequence of int, default=(1, 2, 4)
        Distances of neighbouring elements of a window.
    widths : sequence of int, default=(64, 64)
        Numbers of filters of the ordinary convolutions behind the elastic layer.
    filter_lengths : sequence of int, default=(5, 3)
        Lengths of the filters of the ordinary convolutions, which must be odd.
    learning_rate_init : float, default=0.002
        Learning rate at the start.
    alpha : float, default=0.01
        Strength of the weight decay of AdamW.
    batch_size : int, optional
        By default an eighth of the training series, at least 4 and at most 32.
    max_iter : int, default=150
        Largest number of epochs.
    early_stopping : bool, default=False
        Whether to hold out `validation_fraction` of the training series, and to judge the network
        by its loss on them.  Otherwise the network is judged by the training loss.
    validation_fraction : float, default=0.1
        Share of the training series that `early_stopping` holds out, stratified by class.
    tol : float or None, default=1e-4
        Training stops when the loss has not fallen by more than `tol` for `n_iter_no_change`
        epochs; None never stops for lack of progress.
    n_iter_no_change : int, default=50
        Epochs without progress before training stops.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, by default 1.
    random_state : int, RandomState or None, default=None
        Source of the initial weights, the batches and the series that are held out.
    device : str, default="cpu"
        The torch device to train and predict on.
    verbose : int, default=0
        1 shows progress.
    n_jobs : int, optional
        Number of threads of torch while this estimator works; None means 1, -1 all cores.

    Attributes
    ----------
    classes_ : array
        The labels, sorted.
    state_ : dict of arrays
        Parameters of the network with the lowest loss; `net()` makes a network of them.
    mean_, scale_ : arrays of shape (channels,)
        What series are standardized with.
    n_iter_ : int
        Number of epochs.
    history_ : list of one array of shape ``(n_iter_,)``
        The loss after each epoch: on the series held out if there are any, otherwise the mean
        training loss during the epoch.
    n_features_in_, n_channels_in_ : int
        Length of the longest training series, and number of channels.

    Examples
    --------
    >>> from warplearn import datasets
    >>> train, test = (datasets.load("WarpedBumps", split) for split in ("train", "test"))
    >>> model = ElasticConvNetClassifier(units=4, widths=(8,), filter_lengths=(3,), max_iter=10,
    ...                                  learning_rate_init=0.01, random_state=0)
    >>> bool(model.fit(train.X, train.y).score(test.X, test.y) > 0.9)
    True
    """

    units: int = 16
    length: int = 9
    elasticity: ExtentLike = 3
    dilations: Sequence[int] = (1, 2, 4)
    widths: Sequence[int] = (64, 64)
    filter_lengths: Sequence[int] = (5, 3)
    learning_rate_init: float = 0.002
    alpha: float = 0.01
    batch_size: int | None = None
    max_iter: int = 150
    early_stopping: bool = False
    validation_fraction: float = 0.1
    tol: float | None = 1e-4
    n_iter_no_change: int = 50
    class_weight: Any = None
    random_state: Any = None
    device: str = "cpu"
    verbose: int = 0
    n_jobs: int | None = None

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> ElasticConvNetClassifier:
        """Train on series X with labels y.

        A keyboard interrupt ends training with a warning; the best weights so far are kept.

        Parameters
        ----------
        X : series collection
        y : array of shape (cases,)
        sample_weight : array of shape (cases,), optional
            Non-negative.
        """
        series, codes, weights = check_labelled(self, X, y, sample_weight)
        self._check_parameters()
        weights = weigh_classes(self.class_weight, self.classes_, codes, weights)
        rng = check_random_state(self.random_state)
        weighted = np.flatnonzero(weights)
        if not len(weighted):
            raise ValueError(f"class_weight must be positive for some, got {self.class_weight!r}")
        held_out = np.empty(0, np.int64)
        if self.early_stopping:
            held_out = hold_out(self.validation_fraction, weighted, codes, rng)
        train = np.setdiff1d(weighted, held_out)
        self.mean_, self.scale_ = element_scales(series)
        with _RANDOM_SOURCE, torch.random.fork_rng(devices=[]):
            torch.manual_seed(rng.randint(np.iinfo(np.int32).max))
            net = self._new_net()
        x, lengths = self._tensors(series)
        # Weights of mean 1, so that learning rates do not depend on their unit.
        relative = torch.as_tensor(weights / weights[train].mean(), dtype=x.dtype)
        examples = _Examples(
            x, lengths, torch.as_tensor(codes, device=x.device), relative.to(x.device)
        )
        with _torch_threads(self.n_jobs):
            state, history = self._train(net, examples, train, held_out, rng)
        self.state_ = {name: value.cpu().numpy() for name, value in state.items()}
        self.history_, self.n_iter_ = [np.array(history)], len(history)
        return self

    def _check_parameters(self) -> None:
        check_not_negative(self, "learning_rate_init", "alpha")
        check_counts(self, "max_iter", "n_iter_no_change")
        if self.tol is not None:
            check_not_negative(self, "tol")
        if self.batch_size is not None:
            check_counts(self, "batch_size")
        check_flag(self.early_stopping, "early_stopping")

    def _train(
        self,
        net: ElasticConvNet,
        examples: _Examples,
        train: Array,
        held_out: Array,
        rng: np.random.RandomState,
    ) -> tuple[dict[str, Tensor], list[float]]:
        """The parameters with the lowest loss, and the loss after each epoch."""
        size = self.batch_size or int(np.clip(len(train) // 8, 4, 32))
        n_batches = -(-len(train) // size)
        optimizer = torch.optim.AdamW(
            net.parameters(), self.learning_rate_init, weight_decay=self.alpha
        )
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, self.max_iter * n_batches)
        best = _BestState(net, self.tol or 0.0)
        patience = self.max_iter if self.tol is None else self.n_iter_no_change
        history: list[float] = []
        try:
            while len(history) < self.max_iter and best.epochs_without_progress < patience:
                net.train()
                loss = 0.0
                for batch in np.array_split(rng.permutation(train), n_batches):
                    optimizer.zero_grad()
                    batch_loss = examples.loss(net, batch)
                    torch.autograd.backward(batch_loss)
                    optimizer.step()
                    schedule.step()
                    loss += float(batch_loss.detach()) * len(batch) / len(train)
                if len(held_out):
                    net.eval()
                    with torch.no_grad():
                        loss = float(examples.loss(net, held_out))
                history.append(loss)
                best.update(net, loss)
                self._show_progress(history)
                if not np.isfinite(loss):
                    _warn("training diverged: the loss is not finite, try a lower learning rate")
                    break
        except KeyboardInterrupt:
            _warn("training was interrupted; the best weights so far are kept")
        if self.verbose:
            print(file=sys.stderr)
        return best.state, history

    def _show_progress(self, history: list[float]) -> None:
        if self.verbose:
            print(
                f"\repoch {len(history)} of at most {self.max_iter}, loss {history[-1]:.4g}   ",
                end="", file=sys.stderr, flush=True,
            )  # fmt: skip

    def _new_net(self, device: str | None = None) -> ElasticConvNet:
        net = ElasticConvNet(
            self.n_channels_in_, len(self.classes_),
            units=self.units, length=self.length, elasticity=self.elasticity,
            dilations=self.dilations, widths=self.widths, filter_lengths=self.filter_lengths,
        )  # fmt: skip
        return net.to(self._torch_device() if device is None else device)

    def _torch_device(self) -> torch.device:
        """The device to compute on, which must be there."""
        try:
            device = torch.empty(0, device=self.device).device
        except (AssertionError, NotImplementedError, RuntimeError, TypeError) as error:
            raise ValueError(f"device must be one that torch has, got {self.device!r}") from error
        if device.type == "meta":
            raise ValueError(f"device must hold numbers, got {self.device!r}")
        return device

    _fitted_by = "state_"

    def _check_state(self, whole: bool = False) -> None:
        channels = check_fitted_count(self, "n_channels_in_")
        check_fitted_classes(self)
        check_fitted_array(self, "mean_", (channels,))
        if not (check_fitted_array(self, "scale_", (channels,)) > 0).all():
            raise ValueError("scale_ must be positive")
        if not isinstance(getattr(self, "state_", None), dict):
            raise ValueError("state_ must be a dict of arrays")
        sizes = [self.units, self.length, *self.dilations, *self.widths, *self.filter_lengths]
        whole_numbers = all(isinstance(size, (int, np.integer)) for size in sizes)
        if not whole_numbers or not all(1 <= size <= _MAX_SIZE for size in sizes):
            raise ValueError(f"the sizes of the network must be from 1 to {_MAX_SIZE}")
        # Shapes, without memory and without random numbers of the caller.
        with _RANDOM_SOURCE, torch.random.fork_rng(devices=[]), torch.device("meta"):
            expected = self._new_net("meta").state_dict()
        if set(expected) != set(self.state_):
            raise ValueError("state_ must have the parameters of the network")
        for name, value in expected.items():
            shape = tuple(value.shape)
            own = check_array_of(self.state_[name], f"state_[{name!r}]", shape, "fi")
            if name.endswith("running_var") and not (own >= 0).all():
                raise ValueError(f"state_[{name!r}] must not be negative")

    def net(self) -> ElasticConvNet:
        """The trained network in evaluation mode; it takes standardized series.

        Returns
        -------
        ElasticConvNet
        """
        check_is_fitted(self)
        with _RANDOM_SOURCE, torch.random.fork_rng(devices=[]):
            net = self._new_net()
        net.load_state_dict({name: torch.as_tensor(value) for name, value in self.state_.items()})
        return net.eval()

    def _tensors(self, X: SeriesCollection) -> tuple[Tensor, Tensor]:
        """Standardized series (cases, channels, time), and lengths."""
        scaled = standardized(X, self.mean_, self.scale_)
        values = scaled.values.astype(np.float32).transpose(0, 2, 1)
        device = self._torch_device()
        x = torch.as_tensor(np.ascontiguousarray(values), device=device)
        return x, torch.as_tensor(X.lengths, device=device)

    def _outputs(self, X: Any) -> Array:
        """Outputs (cases, classes) of the network."""
        check_is_fitted(self)
        self._check_state()
        series = check_series(self, X, reset=False)
        net, (x, lengths) = self.net(), self._tensors(series)
        with _torch_threads(self.n_jobs), torch.no_grad():
            batches = [
                net(x[i : i + _PREDICTION_BATCH], lengths[i : i + _PREDICTION_BATCH])
                for i in range(0, len(x), _PREDICTION_BATCH)
            ]
        outputs: Array = torch.cat(batches).cpu().numpy().astype(np.float64)
        if not np.isfinite(outputs).all():
            raise ValueError("state_ must have weights that give finite outputs")
        return outputs

    def decision_function(self, X: Any) -> Array:
        """Outputs of the network before the softmax.

        Parameters
        ----------
        X : series collection

        Returns
        -------
        array of shape (cases,) or (cases, classes)
            With two classes, the output for the second class less that for the first.
        """
        outputs = self._outputs(X)
        return outputs[:, 1] - outputs[:, 0] if len(self.classes_) == 2 else outputs

    def predict(self, X: Any) -> Array:
        """The class of each series.

        Parameters
        ----------
        X : series collection

        Returns
        -------
        array of shape (cases,)
        """
        codes = self._outputs(X).argmax(axis=1)
        labels: Array = self.classes_[codes]
        return labels

    def predict_proba(self, X: Any) -> Array:
        """Probabilities of the classes, a softmax of the outputs.

        Parameters
        ----------
        X : series collection

        Returns
        -------
        array of shape (cases, classes)
        """
        probabilities: Array = softmax(self._outputs(X), axis=1)
        return probabilities

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        return tags


def _warn(message: str) -> None:
    warnings.warn(message, ConvergenceWarning, stacklevel=4)
