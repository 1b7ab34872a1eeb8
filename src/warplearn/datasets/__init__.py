"""Labelled series: built in, read from files, found by name, downloaded.

`load` is the way to a data set by its name, `read` to one in a file.  `BUNDLED` are real sets that
come with the package, `BUILT_IN` are generated ones, and `generators` makes more of their kind.
"""

from . import generators
from .archive import ARCHIVE, cache_folder, download
from .arrays import read_npy, read_npz
from .bundled import BUNDLED
from .dataset import Dataset, DatasetNotFoundError, MalformedFileError
from .finding import Info, available, description, in_files, info, is_file, load
from .generators import BUILT_IN
from .own import from_frame, read_csv
from .readers import read, read_arff, read_text, read_ts, read_tsv
from .recordings import Recording, make_recording
from .tables import read_parquet
from .transfer import DownloadError
from .writers import write_csv, write_ts, write_tsv

__all__ = [
    "ARCHIVE",
    "BUILT_IN",
    "BUNDLED",
    "Dataset",
    "DatasetNotFoundError",
    "DownloadError",
    "Info",
    "MalformedFileError",
    "Recording",
    "available",
    "cache_folder",
    "description",
    "download",
    "from_frame",
    "generators",
    "in_files",
    "info",
    "is_file",
    "load",
    "make_recording",
    "read",
    "read_arff",
    "read_csv",
    "read_npy",
    "read_npz",
    "read_parquet",
    "read_text",
    "read_ts",
    "read_tsv",
    "write_csv",
    "write_ts",
    "write_tsv",
]
