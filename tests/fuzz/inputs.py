"""Random series, in all forms in which they may come, and things that are none."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse

from .contract import choice

# Data types, channels and costs that go together: each combination has kernels to compile.
KINDS = ((np.float64, 1, "squared"), (np.float32, 1, "squared"), (np.float64, 2, "absolute"))


def kind_of(rng: np.random.Generator) -> Any:
    """One of the kinds."""
    return choice(rng, KINDS)


def values(rng: np.random.Generator, shape: tuple[int, ...], dtype: Any) -> np.ndarray[Any, Any]:
    """Numbers of any size, some with ties, some constant."""
    kind = rng.integers(6)
    if kind == 0:
        found = rng.integers(-2, 3, shape).astype(float)
    elif kind == 1:
        found = np.full(shape, rng.normal())
    elif kind == 2:
        found = rng.normal(size=shape) * 10.0 ** rng.integers(-3, 10)
    elif kind == 3:  # near the limits
        found = rng.uniform(-1, 1, shape) * (1e15 if dtype == np.float32 else 1e100)
    else:
        found = rng.normal(size=shape)
    return found.astype(dtype)


def collection(
    rng: np.random.Generator, dtype: Any, channels: int, cases: int, longest: int = 9
) -> list[np.ndarray[Any, Any]]:
    """Series (time,) or (channels, time), of one length or of several."""
    lengths = rng.integers(1, longest + 1, cases)
    if rng.random() < 0.5:
        lengths[:] = lengths[0]
    size = values(rng, (cases, channels, longest), dtype)
    series = [x[:, :k] for x, k in zip(size, lengths, strict=True)]
    return [x[0] for x in series] if channels == 1 else series


def in_some_form(rng: np.random.Generator, series: list[np.ndarray[Any, Any]]) -> Any:
    """The same series as a list, an array of some layout, a data frame, or read-only."""
    if len({x.shape for x in series}) > 1:
        return series if rng.random() < 0.8 else tuple(series)
    array = np.stack(series)
    form = rng.integers(6)
    if form == 0:
        return series
    if form == 1:
        return np.asfortranarray(array)
    if form == 2:
        wide = np.zeros((*array.shape[:-1], 2 * array.shape[-1]), array.dtype)
        wide[..., ::2] = array
        return wide[..., ::2]
    if form == 3 and array.ndim == 2:
        return pd.DataFrame(array)
    if form == 4:
        array.flags.writeable = False
    return array


def hostile(rng: np.random.Generator) -> Any:
    """Something that is hardly what a function expects."""
    return choice(rng, _HOSTILE)()


class _Odd:
    """An object that is nothing in particular."""


_RAGGED: Any = [[1.0, 2.0], [3.0]]
_HOSTILE = [
    lambda: None, lambda: True, lambda: "", lambda: "abc", lambda: b"ab", lambda: "nan",
    lambda: "50%", lambda: "-1%", lambda: "1e9%", lambda: 0, lambda: -1, lambda: 1, lambda: 7,
    lambda: sys.maxsize, lambda: 2**56, lambda: 2**64, lambda: 10**400, lambda: -(10**400),
    lambda: 0.0, lambda: 0.5, lambda: 1.0, lambda: -0.1, lambda: 1e15, lambda: 1e30, lambda: 1e300,
    lambda: float("nan"), lambda: float("inf"), lambda: -float("inf"), lambda: 1j, lambda: _Odd(),
    lambda: _Odd, lambda: np.float32(2.5), lambda: np.int8(3), lambda: np.bool_(True),
    lambda: [], lambda: (), lambda: {}, lambda: {"a": 1}, lambda: set(), lambda: {1, 2},
    lambda: [[]], lambda: [[], [1.0]], lambda: _RAGGED, lambda: [[["x"]]], lambda: ["ab", "ba"],
    lambda: [["a", "b"], ["b"]], lambda: [None, None], lambda: iter([1.0, 2.0]),
    lambda: np.empty((0, 3)), lambda: np.empty((3, 0)), lambda: np.array(3.0),
    lambda: np.full((3, 4), np.nan), lambda: np.full((3, 4), np.inf), lambda: np.full((3, 4), 1e200),
    lambda: np.full((3, 4), 1e30, np.float32), lambda: np.ones((2, 2, 2, 2)),
    lambda: np.ones((3, 4), complex), lambda: np.ones((3, 4), np.float16),
    lambda: np.ones((3, 4), np.longdouble), lambda: np.ones((3, 4), ">f8"),
    lambda: np.ones((3, 4), np.uint64) * 2**63, lambda: np.ones((3, 4), bool),
    lambda: np.array([["a", "b"]]), lambda: np.array([[None, 1.0]]), lambda: np.array([_RAGGED], object),
    lambda: np.zeros((3, 4), "M8[s]"), lambda: np.zeros(3, [("a", "f8")]),
    lambda: np.ma.masked_array(np.ones((3, 4)), True), lambda: scipy.sparse.eye(3).tocsr(),
    lambda: pd.DataFrame({"a": ["x", "y"], "b": [1.0, None]}), lambda: pd.Series([1.0, 2.0]),
    lambda: np.arange(12.0), lambda: np.arange(3), lambda: [1, 2, 3], lambda: [0.1, 0.2],
]  # fmt: skip
