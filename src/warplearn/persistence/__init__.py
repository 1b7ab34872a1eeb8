"""Models as files: `save` and `load`.

A model file is a zip file with a text, `model.json`, and an entry in NumPy's format for each array.
The text holds the name of an estimator from the library's own table, its parameters and its fitted
attributes: numbers, strings, lists, dicts, arrays, and a few records of the library, each by a name
from the tables below.  The format cannot express anything else, so that opening a file never runs
code from it.  `docs/model_files.md` describes the format.

A file may come from anywhere.  It is read once into memory; names, sizes and types of its entries
are checked before anything is unpacked, and the fitted attributes before they reach compiled code.
"""

from warplearn.persistence.archive import load
from warplearn.persistence.records import RECORDS
from warplearn.persistence.writing import save

__all__ = ["RECORDS", "load", "save"]
