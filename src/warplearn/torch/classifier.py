"""The deep elastic network under scikit-learn's contract."""

from __future__ import annotations

import copy
import sys
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

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
    check_counts,
    check_labelled,
    check_not_negative,
    check_series,
    hold_out,
    weigh_classes,
)
from warplearn.series.collection import SeriesCollection
from warplearn.series.scaling import element_scales, standardized
from warplearn.torch.net import ElasticNet

__all__ = ["ElasticNetClassifier"]

Array = NDArray[Any]

_PREDICTED_AT_ONCE = 256
_DRAWING = threading.Lock()  # torch draws initial weights from one source for all threads


@contextmanager
def _threads_of(n_jobs: int | None) -> Iterator[None]:
    before = torch.get_num_threads()
    if n_jobs is not None:
        torch.set_num_threads(thread_count(n_jobs))
    try:
        yield
    finally:
        torch.set_num_threads(before)


@dataclass(repr=False, eq=False, kw_only=True)
class ElasticNetClassifier(ClassifierMixin, BaseEstimator):
    """A deep network that is elastic in its first layer (see `ElasticNet`).

    Parameters
    ----------
    units, length, elasticity, dilations, widths, kernel_sizes
        As for `ElasticNet`.
    eta : float, default=0.002
        The highest learning rate of AdamW; it falls to 0 along half a cosine.
    weight_decay : float, default=0.01
    batch_size : int, optional
        By default an eighth of the training series, at least 4 and at most 32.
    max_iter : int, default=150
        Epochs at most.
    validation_share : float, default=0.0
        Share of the training series that is held out to tell when to stop; the weights with the
        lowest loss on them are kept.  Without, the loss is that of the training series.
    tol : float, default=1e-4
    n_iter_no_change : int, default=50
        Training ends after so many epochs without a loss lower by more than `tol`.
    class_weight : dict or "balanced", optional
    random_state : int or RandomState, optional
    device : str, default="cpu"
    verbose : int, default=0
        1 shows progress.
    n_jobs : int, optional
        Threads of torch while this estimator works; None leaves them as they are.

    Attributes
    ----------
    classes_ : array
    state_ : dict of arrays
        The parameters of the network; `net()` makes it.
    mean_, scale_ : arrays (channels,)
        What series are standardized with.
    n_iter_ : int
    history_ : array (n_iter_,)
        The loss after each epoch.
    """

    units: int = 16
    length: int = 9
    elasticity: float = 3
    dilations: Sequence[int] = (1, 2, 4)
    widths: Sequence[int] = (64, 64)
    kernel_sizes: Sequence[int] = (5, 3)
    eta: float = 0.002
    weight_decay: float = 0.01
    batch_size: int | None = None
    max_iter: int = 150
    validation_share: float = 0.0
    tol: float = 1e-4
    n_iter_no_change: int = 50
    class_weight: Any = None
    random_state: Any = None
    device: str = "cpu"
    verbose: int = 0
    n_jobs: int | None = None

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> ElasticNetClassifier:
        """Train on series X with labels y.

        Interrupted from the keyboard, it warns and keeps the best weights so far.

        Parameters
        ----------
        X : series collection
        y : array (cases,)
        sample_weight : array (cases,), optional
        """
        series, codes, weights = check_labelled(self, X, y, sample_weight)
        self._check_parameters()
        weights = weigh_classes(self.class_weight, self.classes_, codes, weights)
        rng = check_random_state(self.random_state)
        held_out = np.empty(0, np.int64)
        if self.validation_share:
            held_out = hold_out(self.validation_share, np.flatnonzero(weights), codes, rng)
        train = np.setdiff1d(np.flatnonzero(weights), held_out)
        self.mean_, self.scale_ = element_scales(series)
        with _DRAWING, torch.random.fork_rng(devices=[]):
            torch.manual_seed(rng.randint(np.iinfo(np.int32).max))
            net = self._new_net()
        with _threads_of(self.n_jobs):
            self._train(net, self._tensors(series), codes, weights, train, held_out, rng)
        return self

    def _train(
        self,
        net: ElasticNet,
        data: tuple[Tensor, Tensor],
        codes: Array,
        weights: Array,
        train: Array,
        held_out: Array,
        rng: np.random.RandomState,
    ) -> None:
        x, lengths = data
        targets = torch.as_tensor(codes, device=self.device)
        # Weights of mean 1, so that rates mean the same whatever their unit.
        w = torch.as_tensor(weights / weights[train].mean(), dtype=x.dtype, device=self.device)

        def loss_of(cases: Tensor) -> Tensor:
            outputs = net(x[cases], lengths[cases])
            each = functional.cross_entropy(outputs, targets[cases], reduction="none")
            return (w[cases] * each).mean()

        size = self.batch_size or int(np.clip(len(train) // 8, 4, 32))
        batches = -(-len(train) // size)
        steps = torch.optim.AdamW(net.parameters(), self.eta, weight_decay=self.weight_decay)
        falling = torch.optim.lr_scheduler.CosineAnnealingLR(steps, self.max_iter * batches)
        lowest, stale, history = np.inf, 0, []
        best = copy.deepcopy(net.state_dict())
        try:
            for epoch in range(self.max_iter):
                net.train()
                seen = 0.0
                for some in np.array_split(rng.permutation(train), batches):
                    steps.zero_grad()
                    loss = loss_of(torch.as_tensor(some, device=self.device))
                    torch.autograd.backward(loss)
                    steps.step()
                    falling.step()
                    seen += float(loss.detach()) * len(some) / len(train)
                if len(held_out):
                    net.eval()
                    with torch.no_grad():
                        seen = float(loss_of(torch.as_tensor(held_out, device=self.device)))
                history.append(seen)
                stale = 0 if seen < lowest - self.tol else stale + 1
                if seen < lowest:
                    lowest, best = seen, copy.deepcopy(net.state_dict())
                if self.verbose:
                    print(
                        f"\repoch {epoch + 1} of at most {self.max_iter}, loss {seen:.4g}   ",
                        end="", file=sys.stderr, flush=True,
                    )  # fmt: skip
                if stale >= self.n_iter_no_change:
                    break
        except KeyboardInterrupt:
            warnings.warn(
                "training was interrupted; the best weights so far are kept",
                ConvergenceWarning,
                stacklevel=3,
            )
        if self.verbose:
            print(file=sys.stderr)
        self.state_ = {name: value.cpu().numpy() for name, value in best.items()}
        self.history_, self.n_iter_ = np.array(history), len(history)

    def _check_parameters(self) -> None:
        check_not_negative(self, "eta", "weight_decay", "tol")
        check_counts(self, "max_iter", "n_iter_no_change")
        if self.batch_size is not None:
            check_counts(self, "batch_size")

    def _new_net(self) -> ElasticNet:
        net = ElasticNet(
            self.n_channels_in_, len(self.classes_),
            units=self.units, length=self.length, elasticity=self.elasticity,
            dilations=self.dilations, widths=self.widths, kernel_sizes=self.kernel_sizes,
        )  # fmt: skip
        return net.to(self.device)

    def net(self) -> ElasticNet:
        """The trained network, ready to evaluate; it takes standardized series."""
        check_is_fitted(self)
        with _DRAWING, torch.random.fork_rng(devices=[]):
            net = self._new_net()
        net.load_state_dict({name: torch.as_tensor(value) for name, value in self.state_.items()})
        return net.eval()

    def _tensors(self, X: SeriesCollection) -> tuple[Tensor, Tensor]:
        """Standardized series (cases, channels, time), and lengths."""
        scaled = standardized(X, self.mean_, self.scale_)
        values = scaled.values.astype(np.float32).transpose(0, 2, 1)
        x = torch.as_tensor(np.ascontiguousarray(values), device=self.device)
        return x, torch.as_tensor(X.lengths, device=self.device)

    def decision_function(self, X: Any) -> Array:
        """Outputs before the softmax, one column for each class; of two classes, the difference."""
        outputs = self._outputs(X)
        return outputs[:, 1] - outputs[:, 0] if len(self.classes_) == 2 else outputs

    def _outputs(self, X: Any) -> Array:
        check_is_fitted(self)
        series = check_series(self, X, reset=False)
        net, (x, lengths) = self.net(), self._tensors(series)
        with _threads_of(self.n_jobs), torch.no_grad():
            found = [
                net(x[i : i + _PREDICTED_AT_ONCE], lengths[i : i + _PREDICTED_AT_ONCE])
                for i in range(0, len(x), _PREDICTED_AT_ONCE)
            ]
        outputs: Array = torch.cat(found).cpu().numpy().astype(np.float64)
        return outputs

    def predict(self, X: Any) -> Array:
        """The class of each series."""
        codes = self._outputs(X).argmax(axis=1)
        labels: Array = self.classes_[codes]
        return labels

    def predict_proba(self, X: Any) -> Array:
        """Probabilities of the classes."""
        probabilities: Array = softmax(self._outputs(X), axis=1)
        return probabilities

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        return tags
