"""Figures in scikit-learn's shape: a display holds what is shown, and `plot` shows it.

Displays are made by `from_series`, `from_estimator` or `from_errors`, which compute; constructors
take what is computed already.  `plot` draws into the given axes or into new ones, and leaves them
in `ax_` and `figure_`.  matplotlib is needed only there: `pip install 'warplearn[plot]'`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import friedmanchisquare, rankdata, wilcoxon
from sklearn.utils.validation import check_is_fitted

from warplearn.base import check_series
from warplearn.elastic.bands import BandLike, band_mask
from warplearn.elastic.functions import active_path
from warplearn.elastic.warping import warping_path
from warplearn.series.collection import SeriesCollection, single

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = NDArray[Any]

X_COLOUR, Y_COLOUR, PATH_COLOUR, FAINT = "tab:blue", "tab:orange", "black", "0.6"
DIVERGING = "RdBu_r"


class _Display:
    """What displays share: where they were drawn."""

    ax_: Any
    figure_: Any

    def _start(self, ax: Axes | None, figsize: tuple[float, float] = (6.4, 3.6)) -> Axes:
        """The axes to draw into, new ones if there are none."""
        if ax is None:
            ax = _new_axes(1, figsize)[0]
        self.ax_, self.figure_ = ax, ax.figure
        return ax


def _new_axes(count: int, figsize: tuple[float, float]) -> list[Axes]:
    try:
        import matplotlib.pyplot as plt
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "matplotlib is missing, which draws figures; run: pip install 'warplearn[plot]'"
        ) from error
    _, axes = plt.subplots(1, count, figsize=figsize, squeeze=False, layout="constrained")
    return list(axes[0])


def _one_channel(series: SeriesCollection, channel: int) -> Array:
    """A channel of the only series in a collection."""
    if not 0 <= channel < series.n_channels:
        raise ValueError(
            f"channel must be from 0 to {series.n_channels - 1}, as the series have, got {channel}"
        )
    return series.elements(0)[:, channel]


def _limit(values: Array) -> float:
    """The end of a colour scale that has 0 in the middle."""
    return float(np.abs(values).max()) or 1.0


class AlignmentDisplay(_Display):
    """Two series, and which elements a warping path brings together.

    Parameters
    ----------
    x, y : array (time,)
    path : array (steps, 2)
    distance : float, optional
    """

    def __init__(self, x: Any, y: Any, path: Any, distance: float | None = None) -> None:
        self.x, self.y, self.path, self.distance = x, y, path, distance

    @classmethod
    def from_series(
        cls, x: Any, y: Any, *, band: BandLike = None, cost: Any = "squared", channel: int = 0
    ) -> AlignmentDisplay:
        """Align two series as `warplearn.warping_path` does, and show one channel of them."""
        path, distance = warping_path(x, y, band, cost)
        one, other = single(x, "x"), single(y, "y")
        return cls(_one_channel(one, channel), _one_channel(other, channel), path, distance)

    def plot(
        self, ax: Axes | None = None, *, gap: float | None = None, **line: Any
    ) -> AlignmentDisplay:
        """Draw y, x above it by `gap`, and a line for each step; `line` goes to these lines."""
        ax = self._start(ax)
        x, y = np.asarray(self.x, float), np.asarray(self.y, float)
        height = max(np.ptp(x), np.ptp(y)) or 1.0
        shift = 1.2 * height + max(0.0, y.max() - x.min() - height) if gap is None else gap
        pairs = np.asarray(self.path)
        style = {"color": FAINT, "linewidth": 0.6, "alpha": 0.7, **line}
        ends = np.stack([x[pairs[:, 0]] + shift, y[pairs[:, 1]]])
        ax.plot(pairs.T, ends, **style)
        ax.plot(np.arange(len(x)), x + shift, color=X_COLOUR, label="x")
        ax.plot(np.arange(len(y)), y, color=Y_COLOUR, label="y")
        ax.set(xlabel="time", yticks=[])
        ax.legend(frameon=False, ncols=2, loc="lower right", bbox_to_anchor=(1.0, 0.97))
        if self.distance is not None:
            ax.set_title(f"distance {self.distance:.4g}", loc="left")
        return self


class WarpingPathDisplay(_Display):
    """A warping path on its grid.

    Parameters
    ----------
    path : array (steps, 2)
    costs : array (len(x), len(y))
        What each cell costs; NaN outside the band.
    distance : float, optional
    """

    def __init__(self, path: Any, costs: Any, distance: float | None = None) -> None:
        self.path, self.costs, self.distance = path, costs, distance

    @classmethod
    def from_series(cls, x: Any, y: Any, *, band: BandLike = None) -> WarpingPathDisplay:
        """Align two series under the squared cost, as `warplearn.warping_path` does."""
        path, distance = warping_path(x, y, band)
        one, other = single(x, "x").elements(0), single(y, "y").elements(0)
        costs = ((one[:, None] - other[None]) ** 2).sum(axis=2, dtype=float)
        costs[~band_mask(len(one), len(other), band)] = np.nan
        return cls(path, costs, distance)

    def plot(
        self, ax: Axes | None = None, *, cmap: Any = "Blues", **line: Any
    ) -> WarpingPathDisplay:
        """Draw the costs as shades, and the path; `line` goes to the path."""
        ax = self._start(ax, (4.8, 4.4))
        # Costs grow with the square: their roots show more.
        shown = np.sqrt(np.asarray(self.costs, float)).T
        self.image_ = ax.imshow(shown, origin="lower", aspect="auto", cmap=cmap)
        i, j = np.asarray(self.path).T
        ax.plot(i, j, **{"color": "tab:red", "linewidth": 1.5, **line})
        ax.set(xlabel="time in x", ylabel="time in y")
        if self.distance is not None:
            ax.set_title(f"distance {self.distance:.4g}")
        return self


class WeightMatrixDisplay(_Display):
    """A weight matrix, and how a series threads it.

    Parameters
    ----------
    W : array (n, m)
    path : array (steps, 2), optional
        The active path of a series.
    title : str, optional
    """

    def __init__(self, W: Any, path: Any = None, title: str = "") -> None:
        self.W, self.path, self.title = W, path, title

    @classmethod
    def from_estimator(
        cls, estimator: Any, x: Any = None, *, unit: int = 0, channel: int = 0
    ) -> WeightMatrixDisplay:
        """Take a matrix of a fitted elastic linear classifier.

        Parameters
        ----------
        estimator : elastic linear classifier
        x : array (time,) or (channels, time), or sequence of symbols, optional
            The series whose active path is shown.
        unit, channel : int
            Which of the matrices `coef_`, and which channel of it.
        """
        check_is_fitted(estimator, "coef_")
        coef = np.asarray(estimator.coef_)
        if not 0 <= unit < len(coef):
            raise ValueError(f"unit must be from 0 to {len(coef) - 1}, got {unit}")
        W = coef[unit]
        shown = W if W.ndim == 2 else W[..., channel]
        path = None
        if x is not None:
            series = _checked(estimator, x)
            path = active_path(series, W, band=estimator.band)
        return cls(shown, path, f"weights of unit {unit}" if len(coef) > 1 else "weights")

    def plot(
        self, ax: Axes | None = None, *, cmap: Any = DIVERGING, colorbar: bool = True, **line: Any
    ) -> WeightMatrixDisplay:
        """Draw weights as colours, time from left to right; `line` goes to the path."""
        ax = self._start(ax)
        limit = _limit(np.asarray(self.W))
        self.image_ = ax.imshow(
            np.asarray(self.W).T, origin="lower", aspect="auto", cmap=cmap,
            vmin=-limit, vmax=limit, interpolation="nearest",
        )  # fmt: skip
        if self.path is not None:
            i, j = np.asarray(self.path).T
            ax.plot(i, j, **{"color": PATH_COLOUR, "linewidth": 1.5, **line})
        ax.set(xlabel="time", ylabel="column", title=self.title)
        if colorbar:
            ax.figure.colorbar(self.image_, ax=ax)
        return self


class ContributionsDisplay(_Display):
    """A series, and what each of its elements adds to the decision value.

    Parameters
    ----------
    x, contributions : array (time,)
    bias, decision : float
    title : str, optional
    """

    def __init__(
        self, x: Any, contributions: Any, bias: float, decision: float, title: str = ""
    ) -> None:
        self.x, self.contributions = x, contributions
        self.bias, self.decision, self.title = bias, decision, title

    @classmethod
    def from_estimator(
        cls, estimator: Any, x: Any, *, target: Any = None, channel: int = 0
    ) -> ContributionsDisplay:
        """Explain the decision of a fitted elastic linear classifier.

        Parameters
        ----------
        estimator : elastic linear classifier
        x : array (time,) or (channels, time), or sequence of symbols
        target : label, optional
            Of more than two classes, the one whose decision value is explained; by default the
            predicted one.
        channel : int
            What is shown of `x`; contributions are summed over channels.
        """
        check_is_fitted(estimator, "coef_")
        series = _checked(estimator, x)
        parts, bias = estimator.explain(series)
        decisions = np.atleast_2d(estimator.decision_function(series))[0]
        predicted = estimator.predict(series)[0]
        code = 0
        if len(decisions) > 1:
            wanted = predicted if target is None else target
            codes = np.flatnonzero(estimator.classes_ == wanted)
            if not len(codes):
                raise ValueError(
                    f"target must be one of {estimator.classes_.tolist()}, got {target!r}"
                )
            code = int(codes[0])
            parts, bias = parts[code], bias[code]
        own = parts[0] if parts.ndim == 2 else parts[0].sum(axis=0)
        title = f"predicted {predicted}, decision value {decisions[code]:.3g}"
        return cls(_one_channel(series, channel), own, float(bias), float(decisions[code]), title)

    def plot(self, ax: Axes | None = None, *, cmap: Any = DIVERGING) -> ContributionsDisplay:
        """Draw the series over its contributions, shown as colours and as bars on the right."""
        ax = self._start(ax)
        x, parts = np.asarray(self.x, float), np.asarray(self.contributions, float)[: len(self.x)]
        time, limit = np.arange(len(x)), _limit(parts)
        bars = ax.twinx()
        self.bars_ = bars.bar(time, parts, width=1.0, color=_colours(cmap, parts / limit), zorder=0)
        bars.set(ylabel="contribution", ylim=(-1.1 * limit, 1.1 * limit))
        ax.set_zorder(bars.get_zorder() + 1)
        ax.patch.set_visible(False)
        ax.plot(time, x, color=ax.xaxis.label.get_color(), linewidth=1.2)
        ax.set(xlabel="time", ylabel="series", title=self.title)
        return self


def _colours(cmap: Any, shares: Array) -> Array:
    """Colours of numbers from -1 to 1."""
    import matplotlib as mpl

    return mpl.colormaps[cmap]((shares + 1) / 2) if isinstance(cmap, str) else cmap(shares)


def _checked(estimator: Any, x: Any) -> SeriesCollection:
    """One series, in the form that an estimator takes."""
    if isinstance(x, SeriesCollection):
        return single(x)
    if getattr(estimator, "alphabet_", None) is not None:
        return check_series(estimator, [x], reset=False)
    return single(x)


class ElasticityCurveDisplay(_Display):
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
        ratios, table = np.asarray(elasticities, float), np.asarray(errors, float)
        if len(table) != len(ratios):
            raise ValueError(
                f"errors must have {len(ratios)} rows, one for each of elasticities, "
                f"got shape {table.shape}"
            )
        return cls({name: dict(zip(ratios.tolist(), table, strict=True))})

    def plot(self, ax: Axes | None = None, **line: Any) -> ElasticityCurveDisplay:
        """Draw means with two standard errors; `line` goes to the curves.

        The values of w are a grid of any kind, often denser at 0: each has a place of its own.
        """
        ax = self._start(ax)
        ratios = sorted({ratio for curve in self.curves.values() for ratio in curve})
        place = {ratio: index for index, ratio in enumerate(ratios)}
        for name, curve in self.curves.items():
            found = {r: np.atleast_1d(curve[r]) for r in sorted(curve)}
            means = [e.mean() for e in found.values()]
            spread = [
                2 * e.std(ddof=1) / len(e) ** 0.5 if len(e) > 1 else 0 for e in found.values()
            ]
            style = {"marker": "o", "markersize": 4, "capsize": 2, "label": name, **line}
            ax.errorbar([place[r] for r in found], means, spread, **style)
        ax.set_xticks(range(len(ratios)), [f"{ratio:g}" for ratio in ratios])
        ax.set(xlabel="elasticity w = m / n", ylabel="mean error, %")
        ax.set_ylim(0, 1.05 * ax.get_ylim()[1])
        ax.grid(alpha=0.3)
        if len(self.curves) > 1:
            ax.legend(frameon=False)
        return self


class LearningCurveDisplay(_Display):
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
        if np.ndim(histories[0]) == 0:  # of a single model, as a mean is
            histories = [np.asarray(histories)]
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


class ClustersDisplay(_Display):
    """Series, each with those of its cluster and their mean.

    Parameters
    ----------
    series : list of list of array (time,)
        The series of each cluster.
    means : list of array (m,)

    Attributes
    ----------
    ax_ : list of axes, one for each cluster
    """

    def __init__(self, series: Sequence[Sequence[Any]], means: Sequence[Any]) -> None:
        self.series, self.means = series, means

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, *, channel: int = 0) -> ClustersDisplay:
        """Take the clusters of a fitted estimator, or the mean of one that has only that.

        Parameters
        ----------
        estimator : estimator with `cluster_centers_` and `labels_`, or with `mean_`
        X : series collection
            What it was fitted to.
        channel : int
            What is shown of the series.
        """
        collection = SeriesCollection.of(X)
        if hasattr(estimator, "mean_"):
            means, labels = [estimator.mean_], np.zeros(len(collection), dtype=int)
        else:
            check_is_fitted(estimator, ["cluster_centers_", "labels_"])
            means, labels = list(estimator.cluster_centers_), np.asarray(estimator.labels_)
        if len(labels) != len(collection):
            raise ValueError(f"X must have {len(labels)} series, as fitted, got {len(collection)}")
        series: list[list[Array]] = [[] for _ in means]
        for c, x in zip(labels, collection, strict=True):
            series[c].append(np.atleast_2d(x)[channel])
        return cls(series, [mean if np.ndim(mean) == 1 else mean[channel] for mean in means])

    def plot(self, ax: Any = None, **line: Any) -> ClustersDisplay:
        """Draw a panel for each cluster; `line` goes to the means.

        Parameters
        ----------
        ax : sequence of axes, optional
            As many as there are clusters.
        **line
        """
        count = len(self.means)
        axes = _new_axes(count, (3.2 * count, 2.8)) if ax is None else list(np.ravel(ax))
        if len(axes) != count:
            raise ValueError(f"ax must be {count} axes, one for each cluster, got {len(axes)}")
        self.ax_, self.figure_ = axes, axes[0].figure
        for index, (one, mean) in enumerate(zip(self.series, self.means, strict=True)):
            for x in one:
                axes[index].plot(x, color=FAINT, linewidth=0.5, alpha=0.5)
            style = {"color": f"C{index}", "linewidth": 2, **line}
            axes[index].plot(np.linspace(0, _longest(one, mean) - 1, len(mean)), mean, **style)
            axes[index].set(xlabel="time", title=f"{len(one)} series")
        return self


def _longest(series: Sequence[Any], mean: Any) -> int:
    return max((len(x) for x in series), default=len(mean))


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
    table = np.asarray(errors, float)
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


class CriticalDifferenceDisplay(_Display):
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


__all__ = [
    "AlignmentDisplay",
    "ClustersDisplay",
    "ContributionsDisplay",
    "CriticalDifferenceDisplay",
    "ElasticityCurveDisplay",
    "LearningCurveDisplay",
    "Ranking",
    "WarpingPathDisplay",
    "WeightMatrixDisplay",
    "rank_methods",
]
