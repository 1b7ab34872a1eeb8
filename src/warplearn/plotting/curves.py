"""Curves: the error over elasticity, and the risk over epochs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from warplearn.plotting.base import Display, as_numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class ElasticityCurveDisplay(Display):
    """Errors over elasticity, a curve for each data set or method.

    Parameters
    ----------
    curves : dict
        Names, and for each a mapping of the elasticity w = m / n to errors of trials in percent.
    """

    def __init__(self, curves: Mapping[str, Mapping[float, Any]]) -> None:
        self.curves = curves

    @classmethod
    def from_errors(
        cls, elasticities: Any, errors: Any, *, name: str = "error"
    ) -> ElasticityCurveDisplay:
        """Take one curve: `errors` has shape (elasticities,) or (elasticities, trials)."""
        ratios, table = as_numbers(elasticities, "elasticities"), as_numbers(errors, "errors")
        if ratios.ndim != 1 or table.ndim not in (1, 2) or len(table) != len(ratios):
            raise ValueError(
                "elasticities must be a list of numbers, and errors must have a row for each of "
                f"them, got shapes {ratios.shape} and {table.shape}"
            )
        return cls({str(name): dict(zip(ratios.tolist(), table, strict=True))})

    def plot(self, ax: Axes | None = None, **line: Any) -> ElasticityCurveDisplay:
        """Draw means with two standard errors; `line` goes to the curves.

        The values of w are a grid of any kind, often denser at 0: each has a place of its own.
        """
        ax = self._start(ax)
        ratios = sorted({ratio for curve in self.curves.values() for ratio in curve})
        place = {ratio: index for index, ratio in enumerate(ratios)}
        for name, curve in self.curves.items():
            errors = {r: np.atleast_1d(curve[r]) for r in sorted(curve)}
            means = [e.mean() for e in errors.values()]
            spread = [
                2 * e.std(ddof=1) / len(e) ** 0.5 if len(e) > 1 else 0 for e in errors.values()
            ]
            style = {"marker": "o", "markersize": 4, "capsize": 2, "label": name, **line}
            ax.errorbar([place[r] for r in errors], means, spread, **style)
        ax.set_xticks(range(len(ratios)), [f"{ratio:g}" for ratio in ratios])
        ax.set(xlabel="elasticity w = m / n", ylabel="mean error, %")
        ax.set_ylim(0, 1.05 * ax.get_ylim()[1])
        ax.grid(alpha=0.3)
        if len(self.curves) > 1:
            ax.legend(frameon=False)
        return self


class LearningCurveDisplay(Display):
    """The risk after each epoch of training.

    Parameters
    ----------
    histories : sequence of array (epochs,)
        One for each model.
    names : sequence of str, optional
    """

    def __init__(self, histories: Sequence[Any], names: Sequence[str] = ()) -> None:
        self.histories, self.names = histories, names

    @classmethod
    def from_estimator(cls, estimator: Any) -> LearningCurveDisplay:
        """Take `history_` of a fitted estimator."""
        check_is_fitted(estimator, "history_")
        histories = list(estimator.history_)
        names = []
        if len(histories) > 1 and len(histories) == len(getattr(estimator, "classes_", ())):
            names = [str(label) for label in estimator.classes_]
        return cls(histories, names)

    def plot(self, ax: Axes | None = None, **line: Any) -> LearningCurveDisplay:
        """Draw a curve for each model; `line` goes to the curves."""
        ax = self._start(ax)
        for index, history in enumerate(self.histories):
            label = {"label": self.names[index]} if self.names else {}
            ax.plot(np.arange(1, len(history) + 1), history, **{**label, **line})
        ax.set(xlabel="epoch", ylabel="risk")
        ax.grid(alpha=0.3)
        if self.names:
            ax.legend(frameon=False)
        return self
