"""Open a model file: entries, sizes and arrays are checked before anything is used."""

from __future__ import annotations

import io
import json
import os
import re
import stat
import zipfile
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.lib import format as npy

from warplearn.persistence.limits import (
    DEFAULT_MAX_BYTES,
    FORMAT,
    MAX_ARRAYS,
    MAX_CODE_POINT,
    MAX_DIMENSIONS,
    MAX_FACTOR,
    MAX_HEADER,
    MAX_RATIO,
    MAX_TEXT,
    MAX_USES,
    TEXT,
    VERSION,
    Array,
    count_items,
    demand,
    items_allowed,
)
from warplearn.persistence.reading import (
    Reader,
    checked_dtype,
    checked_list,
    checked_size,
    shortened,
)


class _Entry(NamedTuple):
    """What `model.json` says about an array."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    fortran: bool

    @classmethod
    def of(cls, node: Any) -> _Entry:
        """The entry, checked."""
        demand(
            isinstance(node, dict) and set(node) == {"dtype", "shape", "fortran"},
            f"{TEXT} describes an array in an unknown way",
        )
        shape = tuple(checked_size(size) for size in checked_list(node["shape"]))
        demand(len(shape) <= MAX_DIMENSIONS, "an array has too many dimensions")
        demand(isinstance(node["fortran"], bool), "an array must have an order")
        return cls(checked_dtype(node["dtype"]), shape, node["fortran"])

    @property
    def size(self) -> int:
        """Elements."""
        size = 1
        for length in self.shape:
            size *= length
        return size

    @property
    def n_bytes(self) -> int:
        """Bytes of the elements."""
        return self.size * self.dtype.itemsize

    def read(self, content: bytes, name: str) -> Array:
        """The array of an entry, whose header must say the same."""
        stream = io.BytesIO(content)
        demand(npy.read_magic(stream) == (1, 0), f"{name} is of an unknown version")
        shape, fortran, dtype = npy.read_array_header_1_0(stream, max_header_size=MAX_HEADER)
        start = stream.tell()
        demand(
            (dtype, shape, fortran) == (self.dtype, self.shape, self.fortran)
            and len(content) - start == self.n_bytes,
            f"{name} is not the array that {TEXT} describes",
        )
        flat = np.frombuffer(content, self.dtype, self.size, start)
        if dtype.kind == "b":
            demand(bool((flat.view(np.uint8) <= 1).all()), f"{name} holds damaged values")
        elif dtype.kind == "U":
            points = np.frombuffer(content, "<u4", -1, start) if self.n_bytes else flat.view("<u4")
            demand(bool((points <= MAX_CODE_POINT).all()), f"{name} holds damaged text")
        ordered = flat.reshape(self.shape, order="F" if fortran else "C")
        return ordered.astype(dtype.newbyteorder("="), order="K", copy=True)


class _Arrays:
    """The arrays of an archive, unpacked when they are first asked for."""

    def __init__(self, unpack: Callable[[str], bytes], entries: list[_Entry]) -> None:
        self._unpack, self._entries = unpack, entries
        self._uses = [0] * len(entries)
        self._kept: dict[int, Array] = {}

    def __call__(self, place: int) -> Array:
        demand(place < len(self._entries), f"{TEXT} names an array that is not there")
        self._uses[place] += 1
        demand(self._uses[place] <= MAX_USES, f"{TEXT} uses an array too often")
        if place in self._kept:
            return self._kept[place].copy(order="K")
        name = f"{place}.npy"
        self._kept[place] = self._entries[place].read(self._unpack(name), name)
        return self._kept[place]

    def check_all_used(self) -> None:
        """Every array is part of the model."""
        demand(all(self._uses), "it holds an array that the model does not use")


def load(path: str | os.PathLike[str], *, max_bytes: int = DEFAULT_MAX_BYTES) -> Any:
    """Read a model that `save` wrote; the file may come from anywhere.

    Opening a file never runs code from it: it can hold nothing but numbers, texts, arrays and
    names of the library's estimators.  Fitted attributes are checked, so that a damaged or forged
    model gives an error and no crash.

    Parameters
    ----------
    path : str or path
    max_bytes : int, default=2**32
        Refuse files whose arrays, or which themselves, are larger than this.  Independently of it,
        the arrays may be at most 100 times as large as the file.

    Returns
    -------
    estimator

    Raises
    ------
    ValueError
        If the file is damaged, or is no model of this library.

    See Also
    --------
    save : Write a model.

    Examples
    --------
    >>> import tempfile
    >>> import warplearn
    >>> model = warplearn.ElasticMean().fit([[0.0, 1.0, 0.0], [0.0, 0.0, 3.0, 0.0]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     warplearn.save(model, f"{folder}/mean.warp")
    ...     again = warplearn.load(f"{folder}/mean.warp")
    >>> bool((again.mean_ == model.mean_).all())
    True
    """
    content = _content(path, max_bytes)
    try:
        return _model(content, max_bytes)
    except ImportError:  # of a library that an estimator needs
        raise
    except RecursionError:
        reason = f"{TEXT} is nested too deeply"
    except MemoryError:
        reason = "there is not enough memory for its arrays"
    except Exception as error:  # a damaged file can bring any error about
        reason = " ".join(str(error).split()) or type(error).__name__
    raise ValueError(f"{os.fspath(path)} is no model of warplearn: {reason}")


def _content(path: str | os.PathLike[str], max_bytes: int) -> bytes:
    """The whole file, opened once: what happens to it afterwards does not matter."""
    flags = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)
    opened = os.open(path, flags)
    try:
        status = os.fstat(opened)
        if not stat.S_ISREG(status.st_mode):
            raise ValueError(f"{os.fspath(path)} is no model of warplearn: it is no ordinary file")
        if status.st_size > max_bytes:
            raise ValueError(f"{os.fspath(path)} is larger than max_bytes={max_bytes}")
        with open(opened, "rb", closefd=False) as file:
            return file.read(status.st_size)
    finally:
        os.close(opened)


def _model(content: bytes, max_bytes: int) -> Any:
    demand(content.startswith(b"PK\x03\x04"), "it does not begin like a model file")
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        infos = _checked_infos(archive, len(content))

        def unpack(name: str) -> bytes:
            with archive.open(infos[name]) as entry:
                return _whole(entry.read(infos[name].file_size + 1), infos[name])

        demand(infos[TEXT].file_size <= MAX_TEXT, f"{TEXT} is too large")
        text = _parsed(unpack(TEXT), items_allowed(len(content)))
        entries = _checked_header(text)
        names = {TEXT, *(f"{place}.npy" for place in range(len(entries)))}
        demand(set(infos) == names, f"its entries are not those that {TEXT} names")
        for place, entry in enumerate(entries):
            size = infos[f"{place}.npy"].file_size
            demand(
                entry.n_bytes < size <= entry.n_bytes + MAX_HEADER + 16,
                f"{place}.npy is not the array that {TEXT} describes",
            )
        budget = min(max_bytes, MAX_FACTOR * len(content))
        demand(sum(entry.n_bytes for entry in entries) <= budget, "its arrays are too large")
        arrays = _Arrays(unpack, entries)
        model = Reader(arrays, budget).estimator(text["model"])
        arrays.check_all_used()
        return model


def _checked_infos(archive: zipfile.ZipFile, size: int) -> dict[str, zipfile.ZipInfo]:
    """The entries of an archive by name; they lie one behind the other and unpack to little."""
    infos: dict[str, zipfile.ZipInfo] = {}
    demand(len(archive.infolist()) <= MAX_ARRAYS + 1, "it has too many entries")
    end = 0
    for info in sorted(archive.infolist(), key=lambda info: info.header_offset):
        name = info.orig_filename
        demand(
            name == info.filename and name not in infos, f"entry {shortened(name)} is not unique"
        )
        demand(
            name == TEXT or re.fullmatch(r"(0|[1-9][0-9]{0,4})\.npy", name, re.ASCII) is not None,
            f"it has an entry {shortened(name)}",
        )
        demand(info.flag_bits == 0, f"{name} is encrypted or of an unknown kind")
        stored = info.compress_type == zipfile.ZIP_STORED
        demand(
            info.compress_size == info.file_size if stored
            else info.compress_type == zipfile.ZIP_DEFLATED,
            f"{name} is packed in an unknown way",
        )  # fmt: skip
        demand(
            info.file_size <= MAX_RATIO * info.compress_size,
            f"{name} unpacks to more than {MAX_RATIO} times its size",
        )
        # A local header has 30 bytes and the name.
        demand(info.header_offset >= end, f"{name} overlaps another entry")
        end = info.header_offset + 30 + len(name) + info.compress_size
        infos[name] = info
    demand(end <= size, "its entries are longer than the file")
    demand(TEXT in infos, f"it has no {TEXT}")
    return infos


def _whole(content: bytes, info: zipfile.ZipInfo) -> bytes:
    demand(len(content) == info.file_size, f"{info.filename} is not as long as the file says")
    return content


def _parsed(text: bytes, most: int) -> Any:
    demand(count_items(text) <= most, f"{TEXT} has too many values")
    return json.loads(
        text.decode("utf-8"), parse_constant=_refuse_constant, object_pairs_hook=_object
    )


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{TEXT} has the number {name}")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON, whose keys must differ."""
    result = dict(pairs)
    demand(len(result) == len(pairs), f"{TEXT} has a key twice")
    return result


def _checked_header(text: Any) -> list[_Entry]:
    """What the text says of the arrays; format and version are ours."""
    demand(isinstance(text, dict) and text.get("format") == FORMAT, "it is of another format")
    version = text.get("version")
    if type(version) is not int or version != VERSION:
        raise ValueError(
            f"it is of version {shortened(version)} of the format, and this release reads {VERSION}"
        )
    demand(set(text) == {"format", "version", "arrays", "model"}, f"{TEXT} has unknown keys")
    entries = checked_list(text["arrays"])
    demand(len(entries) <= MAX_ARRAYS, "it has too many arrays")
    return [_Entry.of(node) for node in entries]
