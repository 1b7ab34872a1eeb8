"""Fitted models: weights, contributions of the elements of a series, clusters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from warplearn.base import check_series
from warplearn.elastic.functions import active_path
from warplearn.explanation import decision_values, explain
from warplearn.plotting.base import (
    FAINT,
    PATH_COLOUR,
    Array,
    Display,
    check_channel,
    new_axes,
    one_channel,
)
from warplearn.series.collection import SeriesCollection, single
from warplearn.series.derived import derived

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DIVERGING = "RdBu_r"


def _limit(values: Array) -> float:
    """The end of a colour scale that has 0 in the middle."""
    return float(np.abs(values).max()) or 1.0


class WeightMatrixDisplay(Display):
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
        weights = W if W.ndim == 2 else W[..., channel]
        path = None
        if x is not None:
            series = derived(_checked(estimator, x), estimator._derived_channels())
            path = active_path(series, W, band=estimator.band)
        return cls(weights, path, f"weights of unit {unit}" if len(coef) > 1 else "weights")

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


class ContributionsDisplay(Display):
    """A series, and what each of its elements adds to the decision value.

    Parameters
    ----------
    x, contributions : array (time,)
    bias : float or None
        None if contributions do not add up to the decision value.
    decision : float
    title : str, optional
    climbing : array (time,), optional
        The part of `contributions` where the path climbs columns at a time step; drawn apart.
    """

    def __init__(
        self,
        x: Any,
        contributions: Any,
        bias: float | None,
        decision: float,
        title: str = "",
        climbing: Any = None,
    ) -> None:
        self.x, self.contributions, self.climbing = x, contributions, climbing
        self.bias, self.decision, self.title = bias, decision, title

    @classmethod
    def from_estimator(
        cls, estimator: Any, x: Any, *, target: Any = None, channel: int = 0
    ) -> ContributionsDisplay:
        """Explain the decision of a fitted classifier.

        Parameters
        ----------
        estimator : classifier
            Of elastic linear classifiers contributions are exact; of others they are measured by
            occlusion (see `warplearn.explain`).
        x : array (time,) or (channels, time), or sequence of symbols
        target : label, optional
            Of more than two classes, the one whose decision value is explained; by default the
            predicted one.
        channel : int
            What is shown of `x`; contributions are summed over channels.
        """
        check_is_fitted(estimator)
        series = _checked(estimator, x)
        explanation = explain(estimator, series)
        decisions = decision_values(estimator, series).reshape(-1)
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

        def of_series(parts: Any) -> Any:
            own = parts[code][0] if len(decisions) > 1 else parts[0]
            return own if own.ndim == 1 else own.sum(axis=0)

        bias = None if explanation.bias is None else float(np.ravel(explanation.bias)[code])
        climbing = None if explanation.climbing is None else of_series(explanation.climbing)
        title = f"predicted {predicted}, decision value {decisions[code]:.3g}"
        return cls(
            one_channel(series, channel), of_series(explanation.contributions), bias,
            float(decisions[code]), title, climbing,
        )  # fmt: skip

    def plot(self, ax: Axes | None = None, *, cmap: Any = DIVERGING) -> ContributionsDisplay:
        """Draw the series over its contributions, shown as colours and as bars on the right.

        Bars without filling are what climbing adds to a contribution.
        """
        ax = self._start(ax)
        x = np.asarray(self.x, float)
        contributions = np.asarray(self.contributions, float)[: len(x)]
        climbing = np.zeros(len(x))
        if self.climbing is not None:
            climbing = np.asarray(self.climbing, float)[: len(x)]
        along = contributions - climbing
        time, limit = np.arange(len(x)), _limit(contributions)
        bars = ax.twinx()
        self.bars_ = bars.bar(time, along, width=1.0, color=_colours(cmap, along / limit), zorder=0)
        if climbing.any():
            self.climbing_ = bars.bar(
                time, climbing, bottom=along, width=1.0, facecolor="none", edgecolor=FAINT,
                linewidth=0.6, zorder=0, label="climbing columns",
            )  # fmt: skip
            bars.legend(loc="best", fontsize="small", frameon=False)
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
    if not isinstance(x, SeriesCollection) and getattr(estimator, "alphabet_", None) is not None:
        return check_series(estimator, [x], reset=False)
    series = single(x)
    if series.n_channels != estimator.n_channels_in_:
        raise ValueError(
            f"x has {series.n_channels} channel(s), but {type(estimator).__name__} was fitted on "
            f"series of {estimator.n_channels_in_}"
        )
    return series


class ClustersDisplay(Display):
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
        check_channel(collection, channel)
        if len(labels) != len(collection):
            raise ValueError(f"X must have {len(labels)} series, as fitted, got {len(collection)}")
        series = [
            [collection.values[i, : collection.lengths[i], channel] for i in np.flatnonzero(own)]
            for own in (labels == c for c in range(len(means)))
        ]
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
        axes = new_axes(count, (3.2 * count, 2.8)) if ax is None else list(np.ravel(ax))
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
