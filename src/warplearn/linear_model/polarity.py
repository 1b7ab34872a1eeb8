"""Which class a high score of a weight matrix speaks for.

An elastic linear model is not symmetric in the labels: with one matrix, the series of the negative
class are those for which *no* path scores high.  So it matters which class is the positive one.
Everything that depends on it is decided here: the targets of training, how scores combine to
decision values, and the class of a decision value.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from warplearn.registry import check_choice

POLARITIES = ("symmetric", "+", "-", "first")


class Polarity(NamedTuple):
    """How the outputs of models stand for classes.

    There is a decision value for each class or, of two classes, one for the second class.  Each
    decision value has a model of its own, unless the model is joint.

    Attributes
    ----------
    n_classes : int
    sign : int
        1: a model's output speaks for the class of its decision value; -1: against it.
    n_matrices : int
        Matrices of a model: 1; 2, whose difference is the output; or, in a joint model of more
        than two classes, one for each class.
    """

    n_classes: int
    sign: int = 1
    n_matrices: int = 1

    @classmethod
    def of(cls, name: str, n_classes: int, first_code: int, joint: bool) -> Polarity:
        """The polarity that a parameter means.

        Parameters
        ----------
        name : one of `POLARITIES`
        first_code : int
            The class of the first training series.
        joint : bool
            Whether one model serves all classes, if there are more than two.
        """
        check_choice(name, POLARITIES, "polarity")
        if joint and n_classes > 2:
            return cls(n_classes, 1, n_classes)
        first_is_negative = name == "first" and n_classes == 2 and first_code == 0
        negative = name == "-" or first_is_negative
        return cls(n_classes, -1 if negative else 1, 2 if name == "symmetric" else 1)

    def check(self) -> None:
        """Raise a ValueError if it is none that `of` makes."""
        possible = {1, 2, self.n_classes}
        if self.n_classes < 2 or self.sign not in (1, -1) or self.n_matrices not in possible:
            raise ValueError(f"polarity_ must be one that fit can make, got {self!r}")

    @property
    def joint(self) -> bool:
        """Whether one model serves all classes."""
        return self.n_matrices > 2

    @property
    def n_models(self) -> int:
        """How many models there are."""
        return 1 if self.joint or self.n_classes == 2 else self.n_classes

    def targets(self, codes: NDArray[np.int64]) -> NDArray[np.float64]:
        """Targets of training, an array (rows, cases): 1 and -1, or 1 and 0 for a joint model."""
        positive = np.array([1]) if self.n_classes == 2 else np.arange(self.n_classes)
        member = positive[:, None] == codes
        return np.where(member, 1.0, 0.0) if self.joint else np.where(member, 1.0, -1.0) * self.sign

    def rows(self, model: int) -> tuple[int, ...]:
        """Which row of the targets each output of a model has."""
        return tuple(range(self.n_classes)) if self.joint else (model,) * self.n_matrices

    @property
    def mix(self) -> NDArray[np.float64]:
        """An array (matrices, decision values): decision values are `scores @ mix`."""
        return _mix_of(self)

    @property
    def offset(self) -> float:
        """What is added to decision values: nothing."""
        return 0.0

    def classes_of(self, decisions: NDArray[np.floating]) -> NDArray[np.intp]:
        """Codes of the classes; an output of 0 is of the positive class, as in training."""
        if decisions.ndim > 1:
            return decisions.argmax(axis=1)
        chosen = decisions >= 0 if self.sign > 0 else decisions > 0
        return chosen.astype(np.intp)


@lru_cache(maxsize=8)
def _mix_of(polarity: Polarity) -> NDArray[np.float64]:
    """See `Polarity.mix`; thousands of models of a search ask for the same one."""
    if polarity.joint:
        mix = np.eye(polarity.n_classes)
    else:
        column = polarity.sign * np.array([[1.0], [-1.0]])[: polarity.n_matrices]
        models = np.repeat(np.eye(polarity.n_models), polarity.n_matrices, axis=0)
        mix = models * np.tile(column, (polarity.n_models, 1))
    mix.flags.writeable = False
    return mix


class Ensemble(NamedTuple):
    """The mean of the decision values of several models, which may differ in polarity.

    It stands where a `Polarity` does: one model with the matrices of all members.

    Attributes
    ----------
    members : tuple of Polarity
        In the order of the matrices.
    """

    members: tuple[Polarity, ...]

    def check(self) -> None:
        """Raise a ValueError if the members cannot be those of one ensemble."""
        if not self.members or not all(isinstance(each, Polarity) for each in self.members):
            raise ValueError(f"polarity_ must have members of class Polarity, got {self.members!r}")
        for each in self.members:
            each.check()
        if len({(each.n_classes, each.n_models) for each in self.members}) > 1:
            raise ValueError(f"members of polarity_ must be of the same classes, got {self!r}")

    @property
    def n_classes(self) -> int:
        """How many classes there are."""
        return self.members[0].n_classes

    @property
    def mix(self) -> NDArray[np.float64]:
        """An array (matrices, decision values): decision values are `scores @ mix`."""
        return np.concatenate([each.mix for each in self.members]) / len(self.members)

    @property
    def offset(self) -> float:
        """What is added to decision values: nothing."""
        return 0.0

    def classes_of(self, decisions: NDArray[np.floating]) -> NDArray[np.intp]:
        """Codes of the classes; an output of 0 is as the first member has it."""
        return self.members[0].classes_of(decisions)
