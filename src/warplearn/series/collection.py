"""Series in one form, whatever form they came in.

Series arrive as arrays of two layouts, as lists of unequal length, as data frames, as strings.
All of them become a `SeriesCollection`: an array of shape (cases, time, channels), zero behind
the end of each series, and the lengths.

Users see one layout of a single series only, that of the arrays that go in: (time,) for one
channel and (channels, time) for several.  Indexing and iterating over a collection give just that.
The array (cases, time, channels) is the kernels' form; see `SeriesCollection.values` and
`SeriesCollection.elements`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, final, overload

import numpy as np
from numpy.typing import DTypeLike, NDArray

from warplearn.registry import check_choice
from warplearn.series.convert import (
    LAYOUTS,
    FloatArray,
    check_values,
    convert,
    empty_error,
    to_floats,
)

__all__ = ["SeriesCollection", "common_dtype", "single"]

Selection: TypeAlias = slice | Sequence[int] | NDArray[np.integer[Any]] | NDArray[np.bool_]


class Encoder(Protocol):
    """The interface of an alphabet."""

    def encode(self, sequences: Any, name: str = "X") -> SeriesCollection: ...


@final
@dataclass(frozen=True, eq=False, repr=False)
class SeriesCollection:
    """Series of one or more channels, of equal length or not.

    Make one with `SeriesCollection.of`, which accepts the usual containers. The constructor checks
    shapes and numbers, but trusts `values` to be zero behind the end of each series.

    Parameters
    ----------
    values : array of shape (cases, time, channels), float32 or float64
        The series. The time axis is cut to the longest of them.
    lengths : int array of shape (cases,)
        How many time points of each case are its series.
    """

    values: FloatArray
    lengths: NDArray[np.int64]

    def __post_init__(self) -> None:
        try:
            values, lengths = np.asarray(self.values), np.asarray(self.lengths)
        except ValueError as error:  # sequences of different lengths
            raise ValueError(f"values and lengths must be arrays: {error}") from error
        if values.ndim != 3 or 0 in values.shape:
            raise ValueError(f"values must be (cases, time, channels), got shape {values.shape}")
        if values.dtype not in (np.float32, np.float64):
            raise TypeError(f"values must be float32 or float64, got {values.dtype}")
        if lengths.shape != values.shape[:1] or lengths.dtype.kind not in "iu":
            raise ValueError(f"lengths must be {len(values)} integers, got {lengths!r}")
        if lengths.min() < 1 or lengths.max() > values.shape[1]:
            raise ValueError(
                f"lengths must be between 1 and {values.shape[1]}, the length of the time axis, "
                f"got {lengths.min()} to {lengths.max()}"
            )
        check_values(values, lengths, None, "values")
        object.__setattr__(self, "values", values[:, : lengths.max()])
        object.__setattr__(self, "lengths", lengths.astype(np.int64, copy=False))

    @classmethod
    def _trusted(cls, values: FloatArray, lengths: NDArray[np.int64]) -> SeriesCollection:
        """Build a collection of checked arrays; it may be empty, as a selection can be."""
        collection = object.__new__(cls)
        object.__setattr__(collection, "values", values[:, : lengths.max(initial=0)])
        object.__setattr__(collection, "lengths", lengths)
        return collection

    @classmethod
    def of(
        cls,
        X: Any,
        *,
        layout: str | None = None,
        alphabet: Encoder | None = None,
        name: str = "X",
    ) -> SeriesCollection:
        """Take series in whatever form they come.

        Parameters
        ----------
        X : array, data frame or list
            One of

            - an array of shape (cases, time), or (cases, channels, time) as in aeon;
            - a list of arrays of shape (time,) or (channels, time), of any lengths;
            - a pandas or polars data frame, each row a series;
            - with `alphabet`, a list of strings or of other sequences of symbols;
            - a `SeriesCollection`, returned as it is.
        layout : {"aeon", "tslearn"}, default="aeon"
            With "tslearn", arrays have shape (cases, time, channels), those in a list
            (time, channels), and time points at the end where all channels are NaN are padding.
        alphabet : Alphabet, optional
            Encodes the symbols.
        name : str, default="X"
            What error messages call `X`.

        Returns
        -------
        SeriesCollection
            A view of `X` where `X` is an array of float32 or float64. float16 becomes float32,
            integers and booleans float64; a list is float32 if all its series are.

        Examples
        --------
        >>> SeriesCollection.of([[1.0, 2.0, 3.0], [4.0, 5.0]])
        <SeriesCollection: 2 series, length 2 to 3, channels 1, float64>
        """
        if layout is not None:
            check_choice(layout, LAYOUTS, "layout")
        if isinstance(X, cls):
            if len(X) == 0:
                raise empty_error(name, "sample", X.shape)
            return X
        if alphabet is not None:
            return alphabet.encode(X, name=name)
        return cls._trusted(*convert(X, layout, name))

    @property
    def n_channels(self) -> int:
        """The number of channels of each series."""
        return int(self.values.shape[2])

    @property
    def max_length(self) -> int:
        """Length of the longest series, which is that of the time axis."""
        return int(self.values.shape[1])

    @property
    def dtype(self) -> np.dtype[np.floating[Any]]:
        """The dtype of the values, float32 or float64."""
        return self.values.dtype

    @property
    def is_ragged(self) -> bool:
        """Whether some series is shorter than the longest."""
        return bool((self.lengths != self.max_length).any())

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of `values`, (cases, time, channels)."""
        # With a shape, scikit-learn indexes a collection as a whole, and builds no list of cases.
        return self.values.shape

    def __len__(self) -> int:
        return len(self.lengths)

    def __iter__(self) -> Iterator[FloatArray]:
        return (self[case] for case in range(len(self)))

    @overload
    def __getitem__(self, index: int | np.integer[Any]) -> FloatArray: ...
    @overload
    def __getitem__(self, index: Selection) -> SeriesCollection: ...
    def __getitem__(self, index: Any) -> FloatArray | SeriesCollection:
        """One series, a view of shape (time,) or (channels, time), or several, a collection."""
        if isinstance(index, tuple) and len(index) == 2 and index[1] is Ellipsis:
            index = index[0]  # scikit-learn asks for X[index, ...]
        if not isinstance(index, slice):
            # NumPy would take the empty list for floats.
            which = np.asarray(index, dtype=np.intp if np.size(index) == 0 else None)
            if which.ndim == 0 and which.dtype.kind in "iu":
                elements = self.elements(int(which))
                return elements[:, 0] if self.n_channels == 1 else elements.T
            if which.ndim != 1 or isinstance(index, tuple):
                raise IndexError(f"index must be an integer, a slice or 1D, got {index!r}")
            index = which
        return self._trusted(self.values[index], self.lengths[index])

    def __repr__(self) -> str:
        shortest = self.lengths.min(initial=self.max_length)
        length = f"{shortest} to {self.max_length}" if self.is_ragged else f"{self.max_length}"
        what = f"{len(self)} series, length {length}, channels {self.n_channels}, {self.dtype}"
        return f"<SeriesCollection: {what}>"

    def elements(self, case: int) -> FloatArray:
        """One series in the kernels' form, a view of shape (time, channels)."""
        return self.values[case, : self.lengths[case]]

    def astype(self, dtype: DTypeLike) -> SeriesCollection:
        """Cast the values to float32 or float64; the same collection if they are that already."""
        dtype = np.dtype(dtype)
        if dtype not in (np.float32, np.float64):
            raise TypeError(f"dtype must be float32 or float64, got {dtype}")
        if dtype == self.dtype:
            return self
        with np.errstate(over="ignore"):
            values = self.values.astype(dtype)
        if dtype == np.float32:
            check_values(values, self.lengths, None, f"the collection as {dtype}")
        return self._trusted(values, self.lengths)


def single(
    x: Any,
    name: str = "x",
    *,
    layout: str | None = None,
    alphabet: Encoder | None = None,
    dtype: DTypeLike | None = None,
) -> SeriesCollection:
    """Take one series, as a collection of one case.

    Parameters
    ----------
    x : array of shape (time,) or (channels, time), or sequence of symbols
        The series. A `SeriesCollection` of one case is one too.
    name : str, default="x"
        What error messages call `x`.
    layout, alphabet
        As for `SeriesCollection.of`; with layout "tslearn", `x` has shape (time, channels).
    dtype : {float32, float64}, optional
        What to cast the values to, by default nothing.
    """
    if alphabet is not None and not isinstance(x, SeriesCollection):
        x = alphabet.encode([x], name=name)
    elif not isinstance(x, SeriesCollection):
        x = to_floats(x, name)
        if x.ndim not in (1, 2):
            raise ValueError(f"{name} must be one series, got an array of shape {x.shape}")
        x = x[None]
    collection = SeriesCollection.of(x, layout=layout, name=name)
    if len(collection) != 1:
        raise ValueError(f"{name} must be one series, got a collection of {len(collection)}")
    return collection if dtype is None else collection.astype(dtype)


def common_dtype(*collections: SeriesCollection) -> np.dtype[np.floating[Any]]:
    """Return float32 if all collections are, else float64."""
    dtypes = {collection.dtype for collection in collections}
    return dtypes.pop() if len(dtypes) == 1 else np.dtype(np.float64)
