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

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Protocol, TypeAlias, final, overload

import numpy as np
from numpy.typing import DTypeLike, NDArray

from warplearn.registry import check_choice
from warplearn.series.convert import (
    LAYOUTS,
    FloatArray,
    check_finite,
    convert,
    empty_error,
    to_floats,
)
from warplearn.series.long import from_frame
from warplearn.series.numbers import check_count
from warplearn.series.reading import blocks_of
from warplearn.series.sources import ArraySource, Index, Source
from warplearn.series.windows import WindowSource, check_normalize, read_recording

__all__ = ["SeriesCollection", "common_dtype", "single"]

Selection: TypeAlias = slice | Sequence[int] | NDArray[np.integer[Any]] | NDArray[np.bool_]


class Engine(Protocol):
    """Runs functions where the series are (see `warplearn.series.chunks`)."""

    def each(self, function: Any, columns: tuple[Any, ...], cases: Any) -> Iterator[Any]: ...

    def total(
        self, function: Any, columns: tuple[Any, ...], cases: Any, plus: Any, whole: bool = False
    ) -> Any: ...

    def changed(self, change: Any) -> Engine: ...

    def placed(self, column: Any) -> Any: ...


class Encoder(Protocol):
    """The interface of an alphabet."""

    def encode(self, sequences: Any, name: str = "X") -> SeriesCollection: ...


@final
class SeriesCollection:
    """Series of one or more channels, of equal length or not.

    Make one with `SeriesCollection.of`, which accepts the usual containers and checks what is in
    them, with `SeriesCollection.chunks` of series that do not fit in memory, or with
    `SeriesCollection.windows` of one long recording. The constructor
    checks shapes and numbers: it trusts `values` to be zero behind the end of each series.

    Parameters
    ----------
    values : array of shape (cases, time, channels), float32 or float64
        The series. The time axis is cut to the longest of them.
    lengths : int array of shape (cases,)
        How many time points of each case are its series.
    """

    __slots__ = ("_engine", "_lengths", "_source")

    def __init__(self, values: FloatArray, lengths: NDArray[np.int64]) -> None:
        try:
            values, lengths = np.asarray(values), np.asarray(lengths)
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
        check_finite(values, "values")
        self._source: Source = ArraySource(values[:, : lengths.max()])
        self._lengths = lengths.astype(np.int64, copy=False)
        self._engine: Engine | None = None

    @classmethod
    def _trusted(
        cls, values: FloatArray, lengths: NDArray[np.int64], *, mapped: bool = False
    ) -> SeriesCollection:
        """Build a collection of checked arrays; it may be empty, as a selection can be."""
        return cls._of_source(
            ArraySource(values[:, : lengths.max(initial=0)], mapped=mapped), lengths
        )

    @classmethod
    def _of_source(
        cls, source: Source, lengths: NDArray[np.int64], engine: Engine | None = None
    ) -> SeriesCollection:
        """Build a collection of a source of checked values."""
        collection = object.__new__(cls)
        collection._source, collection._lengths, collection._engine = source, lengths, engine
        return collection

    @classmethod
    def of(
        cls,
        X: Any,
        *,
        layout: str | None = None,
        alphabet: Encoder | None = None,
        missing: str = "error",
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
        missing : {"error", "interpolate"}, default="error"
            What to do with NaN inside a series: refuse it, or interpolate linearly between the
            neighbours in time.  NaN in all channels at the end of rows of an array or a data frame
            is taken as padding, with a warning that says so.
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
        values, lengths = convert(X, layout, name, missing)
        return cls._trusted(values, lengths, mapped=isinstance(X, np.memmap))

    @classmethod
    def from_long(
        cls,
        frame: Any,
        *,
        id: Any,
        value: Any,
        time: Any = None,
        resample: str | None = None,
        step: float | None = None,
        missing: str = "error",
    ) -> SeriesCollection:
        """Take series from a table in long form, with a row for each time point.

        Parameters
        ----------
        frame : pandas or polars data frame, or mapping of names to arrays
        id : str
            The column that says which series a row belongs to.  Series are in the order in which
            they first appear.
        value : str or list of str
            The columns of the channels.
        time : str, optional
            The column of time stamps, numbers or dates; rows are sorted by it.  By default the rows
            of a series are in order, at equal steps.
        resample : {"linear", "nearest", "previous"}, optional
            Interpolate at equal steps.  By default uneven steps and gaps are refused.
        step : float, optional
            The step to resample at, in seconds for dates; by default the median of all steps.
        missing : {"error", "interpolate"}, default="error"
            What to do with values that are missing inside a series.

        Returns
        -------
        SeriesCollection

        See Also
        --------
        warplearn.datasets.from_frame : The same with labels.

        Examples
        --------
        >>> frame = {"id": [7, 7, 7, 8, 8], "t": [0, 2, 1, 0, 1], "v": [1.0, 3.0, 2.0, 5.0, 6.0]}
        >>> X = SeriesCollection.from_long(frame, id="id", time="t", value="v")
        >>> X[0], X[1]
        (array([1., 2., 3.]), array([5., 6.]))
        """
        found = from_frame(frame, id, time, value, resample=resample, step=step, missing=missing)
        return cls.of(found.series)

    @classmethod
    def chunks(cls, parts: Iterable[Any], *, layout: str | None = None) -> SeriesCollection:
        """Take series a chunk at a time, of which only a few are in memory at any time.

        Parameters
        ----------
        parts : sequence or iterator
            Each part is a chunk of series, anything that `SeriesCollection.of` takes, or a function
            without arguments that reads one.  All are read once to check them and to learn their
            lengths.  The parts of a sequence are read again whenever they are needed.  Those of an
            iterator are written to a temporary folder, which lives as long as the collection.
        layout : {"aeon", "tslearn"}, default="aeon"
            As for `of`.

        Returns
        -------
        SeriesCollection
            Errors name the chunk, counted from 0.

        Examples
        --------
        >>> SeriesCollection.chunks([lambda: np.zeros((3, 8)), lambda: [[1.0, 2.0], [3.0]]])
        <SeriesCollection: 5 series, length 1 to 8, channels 1, float64>
        """
        return cls._of_source(*blocks_of(parts, layout))

    @classmethod
    def windows(
        cls, signal: Any, length: int, *, stride: int = 1, normalize: str = "window"
    ) -> SeriesCollection:
        """The windows of a recording, series that are cut only when they are needed.

        Parameters
        ----------
        signal : array of shape (time,) or (channels, time)
            The recording.
        length : int
            Samples of a window.
        stride : int, default=1
            Samples from the start of a window to that of the next.
        normalize : {"window", "none"}, default="window"
            "window" gives each channel of each window mean 0 and deviation 1; a constant channel
            becomes 0.

        Returns
        -------
        SeriesCollection
            Takes the memory of the recording.

        Examples
        --------
        >>> SeriesCollection.windows(np.arange(10.0), 4, stride=2, normalize="none")
        <SeriesCollection: 4 series, length 4, channels 1, float64>
        """
        length, stride = check_count(length, "length"), check_count(stride, "stride")
        check_normalize(normalize)
        samples = read_recording(signal)
        if len(samples) < length:
            raise ValueError(
                f"signal must have at least length={length} samples, got {len(samples)}"
            )
        starts = np.arange(0, len(samples) - length + 1, stride)
        return cls.of_windows(WindowSource(samples, starts, length, normalize))

    @classmethod
    def of_windows(cls, source: WindowSource) -> SeriesCollection:
        """The windows of a source, of checked numbers."""
        return cls._of_source(source, np.full(len(source.starts), source.length))

    @property
    def values(self) -> FloatArray:
        """The series, an array (cases, time, channels).

        Of series that are read in chunks, this reads all of them into memory.
        """
        return self._source.take(slice(None))

    @property
    def lengths(self) -> NDArray[np.int64]:
        """How many time points of each case are its series, an array (cases,)."""
        return self._lengths

    @property
    def blocks(self) -> NDArray[np.int64] | None:
        """Where blocks of series that are stored together start, and where the last one ends.

        None if all series are in memory.
        """
        return self._source.blocks

    @property
    def kept_blocks(self) -> int:
        """How many blocks are kept in memory."""
        return self._source.kept_blocks

    def place(self, case: int) -> str:
        """What error messages call a case: its number, or its chunk and its number there."""
        first = self._source.chunks
        if first is None:
            return f"case {case}"
        number = int(np.searchsorted(first, case, side="right")) - 1
        return f"case {case - first[number]} of chunk {number}"

    @property
    def engine(self) -> Engine | None:
        """What runs functions where the series are; None: here."""
        return self._engine

    @property
    def window_source(self) -> WindowSource | None:
        """The recording that the series are windows of, and where they start; else None."""
        return self._source if isinstance(self._source, WindowSource) else None

    @property
    def in_memory(self) -> bool:
        """Whether `values` is an array that is there already, such as a memory map."""
        return self._engine is None and isinstance(self._source, ArraySource)

    @property
    def n_channels(self) -> int:
        """The number of channels of each series."""
        return int(self._source.shape[2])

    @property
    def max_length(self) -> int:
        """Length of the longest series, which is that of the time axis."""
        return int(self._source.shape[1])

    @property
    def dtype(self) -> np.dtype[np.floating[Any]]:
        """The dtype of the values, float32 or float64."""
        return self._source.dtype

    @property
    def is_ragged(self) -> bool:
        """Whether some series is shorter than the longest."""
        return bool((self.lengths != self.max_length).any())

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of `values`, (cases, time, channels)."""
        # With a shape, scikit-learn indexes a collection as a whole, and builds no list of cases.
        return self._source.shape

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
        if isinstance(self._source, WindowSource):
            return self.of_windows(self._source.part(index))
        return self._trusted(self._source.take(index), self.lengths[index])

    def __repr__(self) -> str:
        shortest = self.lengths.min(initial=self.max_length)
        length = f"{shortest} to {self.max_length}" if self.is_ragged else f"{self.max_length}"
        what = f"{len(self)} series, length {length}, channels {self.n_channels}, {self.dtype}"
        return f"<SeriesCollection: {what}>"

    def elements(self, case: int) -> FloatArray:
        """One series in the kernels' form, a view of shape (time, channels)."""
        case = range(len(self))[case]
        return self._source.take(slice(case, case + 1))[0, : self.lengths[case]]

    def changed(self, change: Callable[[SeriesCollection], SeriesCollection]) -> SeriesCollection:
        """The series as a function changes them, some at a time, whenever they are asked for.

        Parameters
        ----------
        change : callable
            Changes values only: not the number of series, their lengths, channels and dtype.
        """
        source = _ChangedSource(self, change)
        engine = None if self._engine is None else self._engine.changed(change)
        return self._of_source(source, self.lengths, engine)

    def astype(self, dtype: DTypeLike) -> SeriesCollection:
        """Cast the values to float32 or float64; the same collection if they are that already.

        All values are cast at once: of many series, cast one chunk after the other.
        """
        dtype = np.dtype(dtype)
        if dtype not in (np.float32, np.float64):
            raise TypeError(f"dtype must be float32 or float64, got {dtype}")
        if dtype == self.dtype:
            return self
        if isinstance(self._source, WindowSource):
            return self.of_windows(self._source.astype(dtype))
        with np.errstate(over="ignore"):
            values = self.values.astype(dtype)
        if dtype == np.float32:
            check_finite(values, f"the collection as {dtype}")
        return self._trusted(values, self.lengths)


@final
class _ChangedSource:
    """The values of a collection as a function changes them."""

    def __init__(
        self, X: SeriesCollection, change: Callable[[SeriesCollection], SeriesCollection]
    ) -> None:
        self._X, self._change = X, change
        self.shape, self.dtype, self.blocks = X.shape, X.dtype, X.blocks
        self.kept_blocks, self.chunks = X.kept_blocks, X._source.chunks

    def take(self, index: Index) -> FloatArray:
        """The changed values of some cases."""
        return self._change(self._X[index]).values


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
    if isinstance(x, SeriesCollection):
        collection = SeriesCollection.of(x, name=name)
    else:
        collection = SeriesCollection._trusted(*convert(x, layout, name, may_be_padded=False))
    if len(collection) != 1:
        raise ValueError(f"{name} must be one series, got a collection of {len(collection)}")
    return collection if dtype is None else collection.astype(dtype)


def common_dtype(*collections: SeriesCollection) -> np.dtype[np.floating[Any]]:
    """Return float32 if all collections are, else float64."""
    dtypes = {collection.dtype for collection in collections}
    return dtypes.pop() if len(dtypes) == 1 else np.dtype(np.float64)
