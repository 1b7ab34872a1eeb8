"""Series in one form: the collection, the ways in, symbols, lengths and scaling."""

from warplearn.series.collection import SeriesCollection, common_dtype, single
from warplearn.series.lengths import fit_length
from warplearn.series.symbols import Alphabet

__all__ = ["Alphabet", "SeriesCollection", "common_dtype", "fit_length", "single"]
