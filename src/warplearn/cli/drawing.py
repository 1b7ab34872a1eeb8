"""Drawings made of characters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def draw_series(
    x: NDArray[np.floating[Any]],
    low: float,
    high: float,
    *,
    ascii_only: bool,
    width: int | None = None,
) -> str:
    """A series as a row of bars between `low` and `high`; means, if it is longer than `width`."""
    import numpy as np

    bars = np.array(list("_.-:=+*#" if ascii_only else "▁▂▃▄▅▆▇█"))
    if width is not None and len(x) > width:
        x = np.array([part.mean() for part in np.array_split(x, width)])
    heights = (x - low) / (high - low or 1.0) * (len(bars) - 1)
    return "".join(bars[heights.round().astype(int)])
