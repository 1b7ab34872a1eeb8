"""Series in one form, whatever form they came in.

Series arrive as arrays of two layouts, as lists of unequal length, as data frames, as strings.
Behind this module there is one form only, a `SeriesCollection`: an array of shape
(cases, time, channels), zero behind the end of each series, and the lengths. What comes in is
looked at here and nowhere else, so that everything else may take finite numbers for granted.

Arrays of float32 and float64 are viewed and never copied, a memory map included.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, final, overload

import numpy as np
from numpy.typing import DTypeLike, NDArray

__all__ = ["SeriesCollection", "common_dtype", "single"]

FloatArray: TypeAlias = NDArray[np.floating[Any]]
Selection: TypeAlias = slice | Sequence[int] | NDArray[np.integer[Any]] | NDArray[np.bool_]

# Elements looked at in one go: few enough for the cache, enough to hide the cost of a Python loop.
BLOCK = 1 << 17


class Encoder(Protocol):
    """What is asked of an alphabet."""

    def encode(self, sequences: Any, name: str = "X") -> SeriesCollection: ...


@final
@dataclass(frozen=True, eq=False, repr=False)
class SeriesCollection:
    """Series of one or more channels, of equal length or not.

    Make one with `SeriesCollection.of`, which accepts the usual containers and checks what is in
    them. The constructor checks shapes only: it trusts `values` to be finite, and zero behind
    the end of each series.

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
        values, lengths = np.asarray(self.values), np.asarray(self.lengths)
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
        object.__setattr__(self, "values", values[:, : lengths.max()])
        object.__setattr__(self, "lengths", lengths.astype(np.int64, copy=False))

    @classmethod
    def _trusted(cls, values: FloatArray, lengths: NDArray[np.int64]) -> SeriesCollection:
        """Build a collection of parts known to be sound; it may be empty, as a selection can be."""
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
            What encodes the symbols.
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
        if layout is not None and layout not in ("aeon", "tslearn"):
            raise ValueError(f"layout must be 'aeon' or 'tslearn', got {layout!r}")
        if isinstance(X, cls):
            if len(X) == 0:
                raise found_empty(name, "sample", X.shape)
            return X
        if alphabet is not None:
            return alphabet.encode(X, name=name)
        if isinstance(X, (list, tuple)):
            return _of_list(X, layout, name)
        return _of_array(X, layout, name)

    @property
    def n_channels(self) -> int:
        """How many channels each series has."""
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
        """The shape of the values, (cases, time, channels)."""
        # Also what makes scikit-learn index a collection as a whole. It would otherwise build a
        # list of cases, which would be read with time and channels exchanged.
        return self.values.shape

    def __len__(self) -> int:
        return len(self.lengths)

    def __iter__(self) -> Iterator[FloatArray]:
        return (case[:length] for case, length in zip(self.values, self.lengths, strict=True))

    @overload
    def __getitem__(self, index: int | np.integer[Any]) -> FloatArray: ...
    @overload
    def __getitem__(self, index: Selection) -> SeriesCollection: ...
    def __getitem__(self, index: Any) -> FloatArray | SeriesCollection:
        """One case, a view of shape (length, channels), or several, a collection."""
        if isinstance(index, tuple) and len(index) == 2 and index[1] is Ellipsis:
            index = index[0]  # scikit-learn asks for X[index, ...]
        if not isinstance(index, slice):
            # NumPy would take the empty list for floats.
            which = np.asarray(index, dtype=np.intp if np.size(index) == 0 else None)
            if which.ndim == 0 and which.dtype.kind in "iu":
                case = int(which)
                return self.values[case, : self.lengths[case]]
            if which.ndim != 1 or isinstance(index, tuple):
                raise IndexError(f"index must be an integer, a slice or 1D, got {index!r}")
            index = which
        return self._trusted(self.values[index], self.lengths[index])

    def __repr__(self) -> str:
        shortest = self.lengths.min(initial=self.max_length)
        length = f"{shortest} to {self.max_length}" if self.is_ragged else f"{self.max_length}"
        what = f"{len(self)} series, length {length}, channels {self.n_channels}, {self.dtype}"
        return f"<SeriesCollection: {what}>"

    def to_list(self) -> list[FloatArray]:
        """List the series as views of shape (channels, length), aeon's layout."""
        return [case.T for case in self]

    def astype(self, dtype: DTypeLike) -> SeriesCollection:
        """Cast the values to float32 or float64; the same collection if they are that already."""
        dtype = np.dtype(dtype)
        if dtype not in (np.float32, np.float64):
            raise TypeError(f"dtype must be float32 or float64, got {dtype}")
        if dtype == self.dtype:
            return self
        with np.errstate(over="ignore"):
            values = self.values.astype(dtype)
        return _checked(values, self.lengths, None, f"the collection as {dtype}")


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
        x = _floats(x, name)
        if x.ndim not in (1, 2):
            raise ValueError(f"{name} must be one series, got an array of shape {x.shape}")
        x = x[None]
    collection = SeriesCollection.of(x, layout=layout, name=name)
    if len(collection) != 1:
        raise ValueError(f"{name} must be one series, got a collection of {len(collection)}")
    return collection if dtype is None else collection.astype(dtype)


def common_dtype(*collections: SeriesCollection) -> np.dtype[np.floating[Any]]:
    """Return float32 if all collections are, else float64."""
    return np.result_type(np.float32, *(collection.dtype for collection in collections))


def found_empty(name: str, what: str, shape: tuple[int, ...]) -> ValueError:
    """Say that there is none of `what`, in scikit-learn's words, which its users know."""
    return ValueError(
        f"{name}: Found array with 0 {what}(s) (shape={shape}) while a minimum of 1 is required."
    )


def _of_array(X: Any, layout: str | None, name: str) -> SeriesCollection:
    array = _floats(X, name)
    if array.ndim < 2:
        raise _not_2d(name, f"{array.ndim}D array instead, of shape {array.shape}")
    values = _oriented(array, layout, name, ("cases",))
    return _checked(values, np.full(len(values), values.shape[1], dtype=np.int64), layout, name)


def _of_list(X: Sequence[Any], layout: str | None, name: str) -> SeriesCollection:
    series: list[FloatArray] = []
    for case, x in enumerate(X):
        array = _floats(x, f"{name}[{case}]")
        if array.ndim == 0:
            raise _not_2d(name, f"1D array instead: {name}[{case}] is the number {array}")
        series.append(_oriented(array, layout, f"{name}[{case}]"))
        if series[case].shape[1] != series[0].shape[1]:
            raise ValueError(
                "all series must have the same number of channels, but "
                f"{name}[{case}] has {series[case].shape[1]} and {name}[0] {series[0].shape[1]}"
            )
    if not series:
        raise found_empty(name, "sample", (0,))
    lengths = np.array([len(x) for x in series], dtype=np.int64)
    shape = (len(series), int(lengths.max()), series[0].shape[1])
    padding = np.nan if layout == "tslearn" else 0.0
    values = np.full(shape, padding, dtype=np.result_type(*{x.dtype for x in series}))
    for x, padded in zip(series, values, strict=True):
        padded[: len(x)] = x
    return _checked(values, lengths, layout, name)


def _floats(X: Any, name: str) -> FloatArray:
    """`X` as an array of float32 or float64, and `X` itself where it is one."""
    if type(X) is np.ndarray and X.dtype in (np.float32, np.float64):
        return X  # what follows would too, but a list may hold very many series
    if hasattr(X, "toarray") and hasattr(X, "nnz"):
        raise TypeError(f"{name} must be dense, got a sparse {type(X).__name__}: pass .toarray()")
    if np.ma.is_masked(X):
        raise ValueError(f"{name} must have no masked values, which NumPy would uncover")
    try:
        array = np.asarray(X.to_numpy() if hasattr(X, "to_numpy") else X)
    except ValueError as error:
        raise ValueError(f"{name} must be an array or convert to one: {error}") from error
    kind = array.dtype.kind
    if kind == "c":
        raise ValueError(f"{name}: Complex data not supported, got {array.dtype}")
    if kind == "O" and array.ndim == 0:
        raise TypeError(f"{name} must be an array, a list or a data frame, got {type(X).__name__}")
    if kind not in "fiub":
        raise TypeError(
            f"{name} must hold real numbers, got dtype {array.dtype}; "
            "to use strings or other symbols, pass alphabet="
        )
    small = kind == "f" and array.dtype.itemsize <= 4
    with np.errstate(over="ignore"):  # of long doubles; infinity is refused later, with its place
        return array.astype(np.float32 if small else np.float64, copy=False)


def _oriented(
    array: FloatArray, layout: str | None, name: str, cases: tuple[str, ...] = ()
) -> FloatArray:
    """View an array as ([cases,] time, channels)."""
    axes = ("time", "channels") if layout == "tslearn" else ("channels", "time")
    if array.ndim > len(cases + axes):
        raise ValueError(
            f"{name} must have no more axes than ({', '.join(cases + axes)}), "
            f"got shape {array.shape}"
        )
    if 0 in array.shape:
        raise found_empty(name, "sample" if cases and not len(array) else "feature", array.shape)
    if array.ndim < len(cases + axes):
        return array[..., None]
    return array if layout == "tslearn" else array.swapaxes(-1, -2)


def _checked(
    values: FloatArray, lengths: NDArray[np.int64], layout: str | None, name: str
) -> SeriesCollection:
    """Make a collection of finite values, tslearn's padding cut off."""
    if not _is_finite(values):
        if layout == "tslearn":
            values, lengths = _cut_padding(values, name)
        _refuse_nonfinite(values, name)
    return SeriesCollection._trusted(values, lengths)


def _cut_padding(values: FloatArray, name: str) -> tuple[FloatArray, NDArray[np.int64]]:
    """Replace NaN behind the end of each series by zeros, and find the ends."""
    time = np.arange(values.shape[1], dtype=np.int64)
    lengths = np.max((time + 1) * ~np.isnan(values).all(axis=2), axis=1)
    if not lengths.all():
        raise found_empty(f"{name}[{lengths.argmin()}]", "feature", (0, values.shape[2]))
    values = values[:, : lengths.max()]
    if lengths.min() < lengths.max():
        inside = time[: lengths.max()] < lengths[:, None]
        values = np.where(inside[:, :, None], values, values.dtype.type(0))
    return values, lengths


def _is_finite(values: FloatArray) -> bool:
    """Whether all values are finite."""
    # Blocks, in memory order, bound what this allocates and stay in the cache from `isfinite` to
    # `all`. So it takes little longer than reading the memory, and large finite values raise no
    # false alarm, as they would in a sum.
    blocks = np.nditer(values, flags=["external_loop", "buffered", "zerosize_ok"], buffersize=BLOCK)
    return all(np.isfinite(block).all() for block in blocks)


def _refuse_nonfinite(values: FloatArray, name: str) -> None:
    """Raise if any value is not finite, and say where."""
    step = max(1, BLOCK // values[0].size)
    for start in range(0, len(values), step):
        block = values[start : start + step]
        wrong = ~np.isfinite(block)
        if wrong.any():
            case, position, channel = where = np.unravel_index(wrong.argmax(), wrong.shape)
            what = "NaN" if np.isnan(block[where]) else "infinity"
            place = f"case {start + case}, position {position}"
            place += f", channel {channel}" if values.shape[2] > 1 else ""
            raise ValueError(f"{name} must be finite, but contains {what} at {place}")


def _not_2d(name: str, what: str) -> ValueError:
    return ValueError(
        f"{name}: Expected 2D array, got {what}. "
        f"Reshape your data: one series is a collection of one, {name}[None, :] or [{name}]."
    )
