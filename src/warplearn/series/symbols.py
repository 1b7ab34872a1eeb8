"""Sequences of symbols as series.

Warping compares time points by the distance of their vectors, so a symbol needs a vector.
One-hot vectors make all different symbols equally far apart. A similarity kernel K over the
alphabet says which symbols are alike: with F F^T = K, the rows of F are vectors whose squared
distances are K_aa - 2 K_ab + K_bb. Plain codes, one number per symbol, suit
costs that only ask whether two symbols are equal.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from contextlib import suppress
from itertools import chain
from reprlib import repr as short
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from warplearn.series.collection import SeriesCollection
from warplearn.series.convert import empty_error

__all__ = ["Alphabet", "is_symbolic"]


class Alphabet:
    """The symbols that sequences are made of, and a vector for each.

    Parameters
    ----------
    symbols : iterable of hashable
        The symbols, all different. A string stands for its characters.
    kernel : array-like of shape (n_symbols, n_symbols), optional
        A similarity kernel: a symmetric positive semidefinite matrix that holds the similarity of
        each two symbols. The vectors are then those whose inner products it holds.
    encoding : {"onehot", "codes"}, default="onehot"
        The vectors if there is no similarity kernel: one channel per symbol, one at the
        symbol's own and zero elsewhere, or a single channel that holds the symbol's index.

    Attributes
    ----------
    symbols : tuple
        The symbols, in order.
    encoding : {"onehot", "codes", "kernel"}
        Where the vectors come from.
    features : array of shape (n_symbols, n_channels)
        The vectors, one per row.

    Examples
    --------
    >>> dna = Alphabet("ACGT")
    >>> dna.encode(["GATTACA", "CAT"])
    <SeriesCollection: 2 series, length 3 to 7, channels 4, float64>
    >>> dna.decode(dna.encode(["CAT"]))
    [['C', 'A', 'T']]
    """

    def __init__(
        self,
        symbols: Iterable[Hashable],
        kernel: ArrayLike | None = None,
        encoding: str = "onehot",
    ) -> None:
        listed = _plain(symbols)
        if not isinstance(listed, Iterable):
            raise TypeError(f"symbols must be a sequence of symbols, got {symbols!r}")
        self.symbols: tuple[Hashable, ...] = tuple(listed)
        self._codes: dict[Hashable, int] = {}
        for code, symbol in enumerate(self.symbols):
            if not isinstance(symbol, Hashable):
                raise TypeError(f"symbols must be hashable, got {symbol!r}")
            if self._codes.setdefault(symbol, code) != code:
                raise ValueError(f"symbols must be distinct, got {symbol!r} twice")
        if not self.symbols:
            raise ValueError("symbols must hold at least one symbol, got none")
        if encoding not in ("onehot", "codes"):
            raise ValueError(f"encoding must be 'onehot' or 'codes', got {encoding!r}")
        if kernel is not None and encoding != "onehot":
            raise ValueError(f"encoding must be left out if there is a kernel, got {encoding!r}")
        self.encoding = encoding if kernel is None else "kernel"
        if kernel is not None:
            self.features = _factor(kernel, self.n_symbols)
        elif encoding == "onehot":
            self.features = np.eye(self.n_symbols)
        else:
            self.features = np.arange(self.n_symbols, dtype=np.float64)[:, None]

    @classmethod
    def infer(
        cls,
        sequences: Iterable[Iterable[Hashable]],
        kernel: ArrayLike | None = None,
        encoding: str = "onehot",
    ) -> Alphabet:
        """Collect the symbols of `sequences`, sorted, or as first seen if they cannot be."""
        seen: Any = dict.fromkeys(chain.from_iterable(_sequences(sequences, "sequences")))
        with suppress(TypeError):
            seen = sorted(seen)
        return cls(seen, kernel=kernel, encoding=encoding)

    @property
    def n_symbols(self) -> int:
        """How many symbols there are."""
        return len(self.symbols)

    @property
    def n_channels(self) -> int:
        """How many channels encoded sequences have."""
        return int(self.features.shape[1])

    def encode(self, sequences: Iterable[Iterable[Hashable]], name: str = "X") -> SeriesCollection:
        """Replace each symbol by its vector.

        Parameters
        ----------
        sequences : iterable of strings or of other iterables of symbols
            The sequences, none of them empty.
        name : str, default="X"
            What error messages call `sequences`.
        """
        rows = _sequences(sequences, name)
        if not rows:
            raise empty_error(name, "sample", (0,))
        lengths = np.array([len(row) for row in rows], dtype=np.int64)
        if not lengths.all():
            raise empty_error(f"{name}[{lengths.argmin()}]", "feature", (0,))
        inside = np.arange(lengths.max()) < lengths[:, None]
        # The code after the last is the padding, and its vector is zero.
        codes = np.full(inside.shape, self.n_symbols)
        look_up = map(self._codes.__getitem__, chain.from_iterable(rows))
        try:
            codes[inside] = np.fromiter(look_up, dtype=codes.dtype, count=lengths.sum())
        except (KeyError, TypeError):  # a TypeError if the symbol is not even hashable
            raise self._unknown(rows, name) from None
        vectors = np.vstack([self.features, np.zeros(self.n_channels)])
        return SeriesCollection(vectors.take(codes, axis=0), lengths)

    def decode(self, collection: SeriesCollection) -> list[list[Hashable]]:
        """Replace each vector by the symbol whose vector is nearest, the first if several are."""
        if collection.n_channels != self.n_channels:
            raise ValueError(
                f"collection must have {self.n_channels} channels, as this alphabet encodes, "
                f"got {collection.n_channels}"
            )
        # |x - f|^2 is smallest where x f - |f|^2 / 2 is largest.
        offsets = (self.features**2).sum(axis=1) / 2
        nearest = (collection.values @ self.features.T - offsets).argmax(axis=2)
        return [
            [self.symbols[code] for code in codes[:length]]
            for codes, length in zip(nearest, collection.lengths, strict=True)
        ]

    def __eq__(self, other: object) -> bool:
        # The vectors decide, since a similarity kernel determines them only up to a rotation:
        # alphabets are equal if what one encodes can be compared with what the other does.
        return (
            isinstance(other, Alphabet)
            and (self.symbols, self.encoding) == (other.symbols, other.encoding)
            and np.array_equal(self.features, other.features)
        )

    def __hash__(self) -> int:
        return hash((self.symbols, self.encoding))

    def __repr__(self) -> str:
        characters = all(isinstance(symbol, str) and len(symbol) == 1 for symbol in self.symbols)
        symbols = "".join(map(str, self.symbols)) if characters else list(self.symbols)
        return f"<Alphabet: {short(symbols)}, {self.encoding}, channels {self.n_channels}>"

    def _unknown(self, rows: list[Sequence[Hashable]], name: str) -> ValueError:
        """Find the first symbol that is not in the alphabet."""
        case, position, symbol = next(
            (case, position, symbol)
            for case, row in enumerate(rows)
            for position, symbol in enumerate(row)
            if not isinstance(symbol, Hashable) or symbol not in self._codes
        )
        return ValueError(
            f"{name} must be of the symbols of {self!r}, "
            f"but contains {symbol!r} at case {case}, position {position}"
        )


def _factor(kernel: ArrayLike, n: int) -> NDArray[np.float64]:
    """Find F of full column rank with F F^T = kernel."""
    try:
        K = np.asarray(kernel)
    except ValueError as error:  # rows of different lengths
        raise ValueError(f"kernel must be a matrix: {error}") from error
    if K.shape != (n, n):
        raise ValueError(f"kernel must have shape {(n, n)}, a row per symbol, got {K.shape}")
    if K.dtype.kind not in "fiub" or not np.isfinite(K).all():
        raise ValueError(f"kernel must hold finite real numbers, got {K!r}")
    # What rounding errors can amount to, in the entries and in what they were computed from.
    precision = np.finfo(K.dtype if K.dtype.kind == "f" else np.float64).eps
    K = K.astype(np.float64)
    tolerance = 10 * n * float(precision) * np.abs(K).max()
    asymmetry = np.abs(K - K.T).max()
    if asymmetry > tolerance:
        raise ValueError(f"kernel must be symmetric, got entries that differ by {asymmetry:.3g}")
    eigenvalues, vectors = np.linalg.eigh((K + K.T) / 2)
    if eigenvalues[0] < -tolerance:
        raise ValueError(
            "kernel must be positive semidefinite, "
            f"got {eigenvalues[0]:.6g} as its smallest eigenvalue"
        )
    kept = eigenvalues > tolerance
    if not kept.any():
        raise ValueError("kernel must not be zero everywhere")
    return np.ascontiguousarray((vectors[:, kept] * np.sqrt(eigenvalues[kept]))[:, ::-1])


def _sequences(sequences: Any, name: str) -> list[Sequence[Hashable]]:
    """List the sequences, each as something that has a length."""
    sequences = _plain(sequences)
    if isinstance(sequences, (str, bytes)) or not isinstance(sequences, Iterable):
        kind = type(sequences).__name__
        raise TypeError(f"{name} must be a list of sequences of symbols, got {kind}")
    rows: list[Sequence[Hashable]] = []
    for case, row in enumerate(map(_plain, sequences)):
        if not isinstance(row, Iterable):
            raise TypeError(f"{name}[{case}] must be a sequence of symbols, got {row!r}")
        rows.append(row if isinstance(row, (str, list, tuple)) else list(row))
    return rows


def _plain(symbols: Any) -> Any:
    """Arrays and data frames as lists of Python objects, and anything else as it is."""
    array = symbols.to_numpy() if hasattr(symbols, "to_numpy") else symbols
    return array.tolist() if isinstance(array, np.ndarray) else array


def is_symbolic(X: Any) -> bool:
    """Whether X is a list of strings, or of lists of symbols."""
    if not isinstance(X, (list, tuple)) or not len(X):
        return False
    first = X[0]
    if isinstance(first, str):
        return True
    return isinstance(first, (list, tuple)) and len(first) > 0 and isinstance(first[0], str)
