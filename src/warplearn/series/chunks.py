"""Series a few at a time, so that what a pass allocates does not grow with their number."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warplearn.series.collection import SeriesCollection

CHUNK_BYTES = 2**21


def chunks(X: SeriesCollection, cases: NDArray[np.int64] | None = None) -> Iterator[Any]:
    """Indices of all series, or of some given in ascending order, a few at a time."""
    size = max(1, CHUNK_BYTES // (X.max_length * X.n_channels * X.dtype.itemsize))
    if cases is not None and len(cases) == len(X):
        cases = None  # slices do not copy
    count = len(X) if cases is None else len(cases)
    for start in range(0, count, size):
        chunk = slice(start, min(start + size, count))
        yield chunk if cases is None else cases[chunk]
