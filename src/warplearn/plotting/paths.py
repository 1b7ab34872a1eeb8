"""Two series and the warping path between them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from warplearn.elastic.bands import BandLike, band_mask
from warplearn.elastic.warping import warping_path
from warplearn.plotting.base import FAINT, X_COLOUR, Y_COLOUR, Display, one_channel
from warplearn.series.collection import single

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class AlignmentDisplay(Display):
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
        return cls(one_channel(one, channel), one_channel(other, channel), path, distance)

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


class WarpingPathDisplay(Display):
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
        one, other = (single(s, n).values[0] for s, n in ((x, "x"), (y, "y")))
        costs = ((one[:, None] - other[None]) ** 2).sum(axis=2, dtype=float)
        costs[~band_mask(len(one), len(other), band)] = np.nan
        return cls(path, costs, distance)

    def plot(
        self, ax: Axes | None = None, *, cmap: Any = "Blues", **line: Any
    ) -> WarpingPathDisplay:
        """Draw the costs as shades, and the path; `line` goes to the path."""
        ax = self._start(ax, (4.8, 4.4))
        # Costs grow with the square: their roots show more.
        roots = np.sqrt(np.asarray(self.costs, float)).T
        self.image_ = ax.imshow(roots, origin="lower", aspect="auto", cmap=cmap)
        i, j = np.asarray(self.path).T
        ax.plot(i, j, **{"color": "tab:red", "linewidth": 1.5, **line})
        ax.set(xlabel="time in x", ylabel="time in y")
        if self.distance is not None:
            ax.set_title(f"distance {self.distance:.4g}")
        return self
