"""How much of a grid: a number of cells, or a share of a length.

Elasticity (columns of a matrix) and bands are given in one of three ways:

- an integer counts cells: `elasticity=15`, `band=10`;
- a float below 1 is a share of the length: `elasticity=0.1`, `band=0.05`;
- a text is a percentage, and may go beyond 100: `elasticity="10%"`, `elasticity="200%"`.

The float 1.0 is refused.  It looks like the integer 1, one cell, but would mean the whole length.
"""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any, NamedTuple, TypeAlias

ExtentLike: TypeAlias = int | float | str
MOST_COLUMNS = 2**31


class Extent(NamedTuple):
    """A number of cells, or a share of a length; the other one of the two is 0."""

    cells: int
    share: float

    @classmethod
    def of(cls, value: Any, name: str) -> Extent:
        """Read what a user gave for the parameter `name`."""
        if isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= 0:
            return cls(int(value), 0.0)
        if isinstance(value, str) and value.endswith("%"):
            try:
                percent = float(value[:-1])
            except ValueError:
                percent = math.nan
            if 0 <= percent < math.inf:
                return cls(0, percent / 100)
        if isinstance(value, Real) and not isinstance(value, Integral):
            share = float(value)
            if 0 <= share < 1:
                return cls(0, share)
            if 1 <= share < MOST_COLUMNS:
                raise ValueError(
                    f"{name}={value!r} is ambiguous: write {name}={share:.0f} for a number of "
                    f"cells, or {name}='{100 * share:g}%' for a share of the length"
                )
        raise ValueError(
            f"{name} must be an integer of at least 0 (cells), a float from 0.0 to below 1.0 (a "
            f"share of the length) or a text such as '10%', got {value!r}"
        )


def columns_for(elasticity: ExtentLike, n: int) -> int:
    """The number of columns m that an elasticity means for n rows, a share rounded up.

    A share of 0 is m = 1, as in the paper.
    """
    extent = Extent.of(elasticity, "elasticity")
    if extent.cells == 0 and isinstance(elasticity, Integral):
        raise ValueError(f"elasticity must be at least 1 column, got {elasticity!r}")
    if extent.share > 3:
        raise ValueError(f"elasticity must be at most '300%' of the length, got {elasticity!r}")
    if extent.cells > MOST_COLUMNS:
        raise ValueError(f"elasticity must be at most {MOST_COLUMNS} columns, got {elasticity!r}")
    return extent.cells or max(1, math.ceil(extent.share * n - 1e-9))
