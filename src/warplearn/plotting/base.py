"""What displays share: where they are drawn, and in which colours."""

from __future__ import annotations

from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from warplearn.series.collection import SeriesCollection

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = NDArray[Any]

X_COLOUR, Y_COLOUR, PATH_COLOUR, FAINT = "tab:blue", "tab:orange", "black", "0.6"


class Display:
    """What displays share: where they were drawn."""

    ax_: Any
    figure_: Any

    def _start(self, ax: Axes | None, figsize: tuple[float, float] = (6.4, 3.6)) -> Axes:
        """The axes to draw into, new ones if there are none."""
        if ax is None:
            ax = new_axes(1, figsize)[0]
        self.ax_, self.figure_ = ax, ax.figure
        return ax


def new_axes(count: int, figsize: tuple[float, float]) -> list[Axes]:
    """Make axes side by side in a new figure of matplotlib."""
    try:
        import matplotlib.pyplot as plt
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "matplotlib is missing, which draws figures; run: pip install 'warplearn[plot]'"
        ) from error
    _, axes = plt.subplots(1, count, figsize=figsize, squeeze=False, layout="constrained")
    return list(axes[0])


def as_numbers(values: Any, name: str) -> Array:
    """An array of numbers, or a ValueError that calls it `name`."""
    try:
        return np.asarray(values, float)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{name} must be an array of numbers: {error}") from error


def check_channel(series: SeriesCollection, channel: Any) -> None:
    """A channel that the series have."""
    if not isinstance(channel, Integral) or not 0 <= int(channel) < series.n_channels:
        raise ValueError(
            f"channel must be from 0 to {series.n_channels - 1}, as the series have, got {channel}"
        )


def one_channel(series: SeriesCollection, channel: int) -> Array:
    """A channel of the only series in a collection."""
    check_channel(series, channel)
    return series.values[0, : int(series.lengths[0]), channel]
