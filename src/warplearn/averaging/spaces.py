"""The two spaces of means, and the two forms of a mean.

In the kernels' form a mean of the space "series" has shape (m, channels) and one of the space
"matrix" (n, m, channels).  Users see (m,) or (channels, m), and (n, m) or (n, m, channels).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from warplearn.averaging.objective import Array
from warplearn.base import check_array_of, check_fitted_count
from warplearn.registry import choose
from warplearn.series.collection import SeriesCollection


def _as_series(z: Array, rows: int) -> Array:
    return z


def _as_matrix(z: Array, rows: int) -> Array:
    return np.repeat(z[None], rows, axis=0)


# How a series (m, channels) becomes a point of the space; `rows` is the length of the longest.
SPACES: dict[str, Callable[[Array, int], Array]] = {"series": _as_series, "matrix": _as_matrix}


def to_public(Y: Array) -> Array:
    """A mean in the form that users see."""
    if Y.shape[-1] == 1:
        return Y[..., 0]
    return Y.T if Y.ndim == 2 else Y


def to_kernel(means: Array, space: str, n_channels: int) -> Array:
    """Several stacked means in the kernels' form: the inverse of `to_public` for each."""
    if n_channels == 1:
        return means[..., None]
    return means.swapaxes(1, 2) if space == "series" else means


def check_rows(X: SeriesCollection, space: str, rows: int) -> None:
    """In the matrix space a series has no more elements than the matrix has rows."""
    if space == "matrix" and X.max_length > rows:
        case = int(X.lengths.argmax())
        raise ValueError(
            f"X[{case}] has length {X.max_length}, but the matrices of space='matrix' have {rows} "
            "rows, the length of the longest series seen in fit"
        )


def check_centres(
    estimator: Any, centres: Any, name: str = "the centres", *, one: bool = False
) -> None:
    """Centres (or one mean) in the form that users see fit the estimator, and are finite."""
    channels = check_fitted_count(estimator, "n_channels_in_")
    choose(SPACES, estimator.space, "space")
    rows: tuple[int | None, ...] = (None,) if estimator.space == "matrix" else ()
    shape: tuple[int | None, ...] = (*rows, None)
    if channels > 1:
        shape = (*rows, None, channels) if rows else (channels, None)
    check_array_of(centres, name, shape if one else (None, *shape))
