"""Methods compared over data sets: mean ranks and their significance."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from numbers import Real
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.stats import friedmanchisquare, rankdata, wilcoxon

from warplearn.plotting.base import FAINT, Array, Display, as_numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Ranking(NamedTuple):
    """Methods by their mean rank over data sets, and which of them are alike.

    Attributes
    ----------
    names : list of str
        From the best.
    ranks : array (methods,)
        The mean rank of each, 1 is best.
    cliques : list of (int, int)
        First and last of methods of which no two differ significantly.
    p_values : array (methods, methods)
        Of each two, by Wilcoxon's signed-rank test, corrected by Holm's method.
    friedman : float
        The p-value of Friedman's test that all are alike; NaN for two methods.
    """

    names: list[str]
    ranks: Array
    cliques: list[tuple[int, int]]
    p_values: Array
    friedman: float


def rank_methods(errors: Any, names: Sequence[str], alpha: float = 0.05) -> Ranking:
    """Rank methods by their errors on several data sets (Demšar, 2006; Benavoli et al., 2016).

    Parameters
    ----------
    errors : array (data sets, methods)
    names : sequence of str
        Of the methods.
    alpha : float, default=0.05
        Level of significance.
    """
    table, names = as_numbers(errors, "errors"), _names(names)
    if not isinstance(alpha, Real) or not 0 <= alpha <= 1:
        raise ValueError(f"alpha must be a number from 0 to 1, got {alpha!r}")
    if table.ndim != 2 or table.shape[1] != len(names) or min(table.shape) < 2:
        raise ValueError(
            f"errors must be at least two data sets by {len(names)} methods, of which there are at "
            f"least two, got shape {table.shape}"
        )
    if not np.isfinite(table).all():
        raise ValueError("errors must be finite: every method needs an error on every data set")
    ranks = rankdata(table, axis=1).mean(axis=0)
    order = np.argsort(ranks, kind="stable")
    table, ranks, k = table[:, order], ranks[order], len(names)
    pairs = list(combinations(range(k), 2))
    # Equal columns leave Wilcoxon's test nothing to rank: they do not differ.
    raw = np.array([
        wilcoxon(table[:, a], table[:, b]).pvalue if (table[:, a] != table[:, b]).any() else 1.0
        for a, b in pairs
    ])  # fmt: skip
    p_values = np.ones((k, k))
    greatest = 0.0
    for step, index in enumerate(np.argsort(raw, kind="stable")):  # Holm
        greatest = max(greatest, min(1.0, raw[index] * (len(raw) - step)))
        a, b = pairs[index]
        p_values[a, b] = p_values[b, a] = greatest
    cliques: list[tuple[int, int]] = []
    for first in range(k):
        last = first
        while last + 1 < k and (p_values[first : last + 2, first : last + 2] >= alpha).all():
            last += 1
        if last > first and (not cliques or last > cliques[-1][1]):
            cliques.append((first, last))
    friedman = np.nan if k == 2 else 1.0
    if k > 2 and (table != table[:, :1]).any():
        friedman = float(friedmanchisquare(*table.T).pvalue)
    return Ranking([names[i] for i in order], ranks, cliques, p_values, friedman)


def _names(names: Sequence[str]) -> list[str]:
    try:
        return [str(name) for name in names]
    except TypeError as error:
        raise TypeError(f"names must be a list of names, got {names!r}") from error


class CriticalDifferenceDisplay(Display):
    """Mean ranks of methods; a bar joins those that do not differ significantly.

    Parameters
    ----------
    ranking : Ranking
    """

    def __init__(self, ranking: Ranking) -> None:
        self.ranking = ranking

    @classmethod
    def from_errors(
        cls, errors: Any, names: Sequence[str], *, alpha: float = 0.05
    ) -> CriticalDifferenceDisplay:
        """Rank methods by errors of shape (data sets, methods), see `rank_methods`."""
        return cls(rank_methods(errors, names, alpha))

    def plot(self, ax: Axes | None = None) -> CriticalDifferenceDisplay:
        """Draw the best on the right, as is the custom."""
        names, ranks, cliques = self.ranking[:3]
        count = len(names)
        half = (count + 1) // 2
        ax = self._start(ax, (6.4, 1.2 + 0.3 * half + 0.15 * len(cliques)))
        ink = ax.xaxis.label.get_color()
        ax.set(xlim=(count + 0.02, 0.98), ylim=(0.3 - 0.25 * len(cliques) - half, 0.8), yticks=[])
        ax.xaxis.tick_top()
        ax.spines[["left", "right", "bottom"]].set_visible(False)
        ax.set_xticks(range(1, count + 1))
        low = 0.5 - 0.25 * (len(cliques) + 1)  # where the bars end and the names begin
        for index, (name, rank) in enumerate(zip(names, ranks, strict=True)):
            right = index < half
            level = low - 0.6 - (index if right else count - 1 - index)
            end = 0.98 if right else count + 0.02
            ax.plot([rank, rank, end], [0.8, level, level], color=ink, linewidth=0.8)
            ax.annotate(
                f"{name}  {rank:.2f}" if right else f"{rank:.2f}  {name}", (end, level),
                (4 if right else -4, 0), textcoords="offset points", va="center",
                ha="left" if right else "right", annotation_clip=False,
            )  # fmt: skip
        for index, (first, last) in enumerate(cliques):
            height = 0.5 - 0.25 * index
            ends = [ranks[first] - 0.03, ranks[last] + 0.03]
            ax.plot(ends, [height, height], color="tab:red", linewidth=3, solid_capstyle="round")
        return self


class TradeOffDisplay(Display):
    """Errors of methods against what they cost, on a logarithmic scale.

    A line joins the methods that no other one beats in both.

    Parameters
    ----------
    names : sequence of str
    errors, costs : arrays (methods,)
        Costs are positive: seconds, bytes, or any other quantity that is better if it is less.
    label : str
        What the costs are.
    """

    def __init__(self, names: Sequence[str], errors: Any, costs: Any, label: str = "cost") -> None:
        self.names, self.label = _names(names), label
        self.errors, self.costs = as_numbers(errors, "errors"), as_numbers(costs, "costs")
        if not self.errors.shape == self.costs.shape == (len(self.names),):
            raise ValueError(
                f"errors and costs must be arrays of {len(self.names)} numbers, one for each name, "
                f"got shapes {self.errors.shape} and {self.costs.shape}"
            )
        if not (self.costs > 0).all():
            raise ValueError(f"costs must be positive, got {self.costs.min():g}")
        if not np.isfinite([self.errors, self.costs]).all():
            raise ValueError("errors and costs must be finite")

    @property
    def best(self) -> list[int]:
        """The methods that no other one beats in both, the cheapest first."""
        found: list[int] = []
        for index in np.lexsort((self.errors, self.costs)):
            if not found or self.errors[index] < self.errors[found[-1]]:
                found.append(int(index))
        return found

    def plot(self, ax: Axes | None = None) -> TradeOffDisplay:
        """Draw a point for each method; further left is cheaper, further down more accurate."""
        ax = self._start(ax, (4.2, 3.8))
        best = self.best
        ax.plot(self.costs[best], self.errors[best], color=FAINT, linewidth=1, zorder=0)
        for index, name in enumerate(self.names):
            marker = "osD^vPX*<>"[index % 10]
            ax.plot(self.costs[index], self.errors[index], marker, label=name, markersize=7)
        ax.set(xscale="log", xlabel=self.label, ylabel="error, %")
        ax.margins(0.12)
        ax.set_ylim(bottom=min(0.0, float(self.errors.min())) - 0.04 * float(np.ptp(self.errors)))
        ax.legend(
            loc="upper center", bbox_to_anchor=(0.5, -0.2), ncol=2, fontsize="small", frameon=False
        )
        return self
