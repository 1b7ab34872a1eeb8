"""Compiled kernels on disk.

A file holds one kernel for one combination of argument types.  Its name says all that the code
depends on: the source of all kernels, the types, the CPU, and the versions of Python and Numba.  So
there is no index that two processes could write at once, or that names classes which are gone.  A
file is moved into its place when it is whole, and begins with a digest of the rest.  What cannot be
read is compiled again; where nothing can be written, a process compiles for itself, and warns once.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import sys
import uuid
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numba
from numba.core import config
from numba.core.caching import (
    InTreeCacheLocator,
    UserProvidedCacheLocator,
    UserWideCacheLocator,
)
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps

_DIGEST_SIZE = 16  # bytes
_ENDING = ".kernel"


def digest(*pieces: bytes) -> str:
    """A short fingerprint of some bytes."""
    return hashlib.blake2b(b"\0".join(pieces), digest_size=8).hexdigest()


# Other files are inlined in an entry point, so its own source is not enough.
SOURCES = digest(*(p.read_bytes() for p in sorted(Path(__file__).parents[1].rglob("*.py"))))


class KernelCache:
    """What Numba's dispatcher asks for compiled code, and gives it to.

    Parameters
    ----------
    function : callable
        The entry point.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        module = Path(function.__code__.co_filename).stem
        python = f"py{sys.version_info[0]}{sys.version_info[1]}"
        self._name = f"{module}.{function.__qualname__}.{python}."

    @property
    def cache_path(self) -> str:
        """The first folder that is looked at."""
        return str(next(self._folders(), ""))

    def load_overload(self, signature: Any, target: Any) -> Any:
        """The compiled code for these types, or None."""
        target.refresh()
        name = self._file_name(signature, target.codegen())
        for folder in self._folders():
            try:
                data = (folder / name).read_bytes()
            except OSError:
                continue
            try:
                return CompileResult._rebuild(target, *_unpacked(data))
            except Exception:  # of a damaged file anything can be raised
                with suppress(OSError):
                    (folder / name).unlink()
        return None

    def save_overload(self, signature: Any, compiled: Any) -> None:
        """Keep compiled code in the first folder that takes it."""
        if compiled.lifted or compiled.library.has_dynamic_globals:  # code for this process only
            return
        name = self._file_name(signature, compiled.codegen)
        data = _packed(compiled._reduce())
        reasons = []
        for folder in self._folders():
            try:
                folder.mkdir(parents=True, exist_ok=True)
                _write(folder / name, data)
            except OSError as error:
                reasons.append(f"{folder}: {error.strerror or error}")
                continue
            self._remove_outdated(folder)
            return
        _warn_once(reasons)

    def flush(self) -> None:
        """Forget all kernels of this entry point."""
        for folder in self._folders():
            _remove(folder.glob(f"{self._name}*{_ENDING}"))

    def _folders(self) -> Iterator[Path]:
        """Where Numba keeps compiled code: NUMBA_CACHE_DIR, or beside the source, or at home."""
        file = self._function.__code__.co_filename
        locators = [InTreeCacheLocator, UserWideCacheLocator]
        if config.CACHE_DIR:
            locators = [UserProvidedCacheLocator]
        for locator in locators:
            folder = Path(locator(self._function, file).get_cache_path())
            if folder.is_absolute() or config.CACHE_DIR:  # "~" where nobody has a home
                yield folder

    def _file_name(self, signature: Any, codegen: Any) -> str:
        key = repr((signature, codegen.magic_tuple(), numba.__version__))
        return f"{self._name}{SOURCES}.{digest(key.encode())}{_ENDING}"

    def _remove_outdated(self, folder: Path) -> None:
        """Remove what was compiled from other sources."""
        with suppress(OSError):
            files = folder.glob(f"{self._name}*{_ENDING}")
            _remove(file for file in files if not file.name.startswith(self._name + SOURCES))


def _packed(content: Any) -> bytes:
    data = dumps(content)
    return hashlib.blake2b(data, digest_size=_DIGEST_SIZE).digest() + data


def _unpacked(data: bytes) -> Any:
    found, data = data[:_DIGEST_SIZE], data[_DIGEST_SIZE:]
    if hashlib.blake2b(data, digest_size=_DIGEST_SIZE).digest() != found:
        raise ValueError("the file is damaged")
    return pickle.loads(data)


def _write(path: Path, data: bytes) -> None:
    """Write a file, which other processes see when it is whole."""
    partial = path.with_name(f"{path.name}.{uuid.uuid4().hex[:8]}{_ENDING}")
    try:
        partial.write_bytes(data)
        os.replace(partial, path)
    except BaseException as error:
        _remove([partial])
        # On Windows a file that another process has just written and reads cannot be replaced.
        if not (isinstance(error, PermissionError) and path.exists()):
            raise


def _remove(files: Any) -> None:
    with suppress(OSError):
        for file in files:
            with suppress(OSError):
                file.unlink()


def _warn_once(reasons: list[str]) -> None:
    global _warned
    if not _warned:
        _warned = True
        where = "; ".join(reasons) or "there is no folder for it"
        warnings.warn(
            f"compiled kernels cannot be kept ({where}), so every process compiles them anew, "
            "which takes seconds to minutes: set the environment variable NUMBA_CACHE_DIR to a "
            "folder that can be written",
            RuntimeWarning,
            stacklevel=2,
        )


_warned = False
