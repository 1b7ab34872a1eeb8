"""Labelled series: built in, read from files, found by name, downloaded.

`load` is the way to a data set by its name, `read` to one in a file.  `BUILT_IN` are the sets that
need no file at all, and `generators` makes more of their kind.
"""

from . import generators
from .archive import ARCHIVE, cache_folder, download
from .dataset import Dataset, DatasetNotFoundError, MalformedFileError
from .finding import Info, available, info, load
from .generators import BUILT_IN
from .readers import read, read_arff, read_npz, read_parquet, read_text, read_ts, read_tsv
from .transfer import DownloadError
from .writers import write_ts, write_tsv

__all__ = [
    "ARCHIVE",
    "BUILT_IN",
    "Dataset",
    "DatasetNotFoundError",
    "DownloadError",
    "Info",
    "MalformedFileError",
    "available",
    "cache_folder",
    "download",
    "generators",
    "info",
    "load",
    "read",
    "read_arff",
    "read_npz",
    "read_parquet",
    "read_text",
    "read_ts",
    "read_tsv",
    "write_ts",
    "write_tsv",
]
