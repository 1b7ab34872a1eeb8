"""What is minimized, by which models, on which examples, until when, and what comes out.

The vocabulary of the generalized gradient method; `incremental` and `batches` act on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from warplearn._kernels.drivers.train import DIVERGED, PERFECT, STALE
from warplearn._kernels.recursion.grid import Band
from warplearn._kernels.recursion.local import Product
from warplearn.series.collection import SeriesCollection
from warplearn.training.penalties import L2

_REASONS = {
    PERFECT: "perfect training accuracy",
    STALE: "no improvement",
    DIVERGED: "diverged",
}


class Problem(NamedTuple):
    """What is minimized.

    Attributes
    ----------
    X : SeriesCollection
    targets : array (rows, cases)
        Each output of a model has one row for its targets.
    loss : loss
    size : int
        Outputs of a model, each with a weight matrix and a bias.
    cost : local score
        The elastic function of a weight matrix; the product gives the elastic inner product.
    radius : Band, optional
    penalty : penalty
    """

    X: SeriesCollection
    targets: NDArray[Any]
    loss: Any
    size: int = 1
    cost: Any = Product()
    radius: Band | None = None
    penalty: Any = L2()


@dataclass
class Model:
    """One model to train: where it starts, and the numbers in which it differs from others.

    Attributes
    ----------
    W : array (size, n, m, channels)
    b : array (size,)
    eta, lam : float
    loss_parameters : sequence of float
        The numbers of the loss, in the order of its fields; none are those of the problem's loss.
    rows : sequence of int
        Which row of the targets each output has.
    signs : sequence of float
        -1 turns the targets of an output round.
    split : int
        Which of the splits it is trained on.
    head : sequence of arrays
        Parameters of what stands behind the matrices, if anything does.
    memory : list, optional
        What the steps of an optimizer so far left behind.
    """

    W: NDArray[Any]
    b: NDArray[Any]
    eta: float
    lam: float = 0.0
    loss_parameters: Sequence[float] = ()
    rows: Sequence[int] = (0,)
    signs: Sequence[float] = (1.0,)
    split: int = 0
    head: Sequence[NDArray[Any]] = ()
    memory: list[Any] | None = None


@dataclass
class Split:
    """Training examples: their weights, which of them, and the source of their order.

    Examples that are held out are not trained on; in batches, the risk is theirs.
    """

    weights: NDArray[np.float64]
    random_state: np.random.RandomState
    shuffle: bool = True
    held_out: Sequence[int] | NDArray[np.int64] = ()
    cases: NDArray[np.int64] = field(init=False)

    def __post_init__(self) -> None:
        self.cases = np.setdiff1d(np.flatnonzero(self.weights), self.held_out)

    @property
    def judged(self) -> NDArray[np.int64]:
        """The examples whose risk is computed."""
        return np.asarray(self.held_out) if len(self.held_out) else self.cases

    def order(self) -> NDArray[np.int64]:
        """The training examples in the order of one epoch."""
        return self.random_state.permutation(self.cases) if self.shuffle else self.cases


class Stopping(NamedTuple):
    """When a model's training ends, and which of its parameters are kept.

    Attributes
    ----------
    max_iter : int
        Epochs at most.
    monitor : {"accuracy", "risk"}
        What the best parameters are best in; of equal accuracy, those with the lower risk.
    perfect : bool
        Whether to stop when no training example is misclassified.
    patience : int
        Epochs without progress: fewer mistakes, or a risk lower by more than `tol`.
    tol : float
    radius : float, optional
        Radius of the ball Z that the parameters are projected onto after each epoch.
    """

    max_iter: int = 1000
    monitor: str = "accuracy"
    perfect: bool = True
    patience: int = 200
    tol: float = 1e-4
    radius: float | None = None

    def rules(self) -> tuple[bool, bool, int, float, float]:
        """The numbers that kernels need."""
        return (
            self.monitor == "risk", self.perfect, self.patience, float(self.tol),
            float(self.radius or 0),
        )  # fmt: skip


class Solution(NamedTuple):
    """The best parameters of a model, and how they came about.

    Attributes
    ----------
    W, b : arrays (size, n, m, channels) and (size,)
    reason : str
        Why training ended.
    n_epochs : int
    risk : float
        The risk of W, b on the training examples.
    mistakes : int
    history : array (n_epochs,)
        The risk after each epoch.
    mistakes_history : array (n_epochs,)
    head : tuple of arrays
        Parameters of what stands behind the matrices.
    memory : list, optional
        What the steps of an optimizer left behind, for those that follow.
    """

    W: NDArray[Any]
    b: NDArray[Any]
    reason: str
    n_epochs: int
    risk: float
    mistakes: int
    history: NDArray[np.float64]
    mistakes_history: NDArray[np.float64]
    head: tuple[NDArray[Any], ...] = ()
    memory: list[Any] | None = None


def reason_of(status: int, interrupted: bool) -> str:
    """Why a model's training ended."""
    return _REASONS.get(int(status), "interrupted" if interrupted else "max_iter epochs")


def mistakes_as_int(mistakes: float) -> int:
    """-1 if no epoch was finished."""
    return int(mistakes) if np.isfinite(mistakes) else -1
