"""Folders to work in, and what processes that were killed have left of theirs.

A folder is locked as long as its process lives; the operating system lifts the lock when the
process ends, in whatever way.  Where it has no such locks, a folder counts as left after a day.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_PREFIX, _LOCK, _PART = ".download-", "lock", "part"
_NEW = 60.0  # seconds in which a folder may be without its lock
_OLD = 86400.0


@contextmanager
def working_folder(cache: Path, name: str) -> Iterator[tuple[Path, Path]]:
    """A folder of its own, removed in the end, and the place in it for what comes of `name`."""
    with tempfile.TemporaryDirectory(dir=cache, prefix=f"{_PREFIX}{name}-") as made:
        folder = Path(made)
        with (folder / "unlocked").open("wb") as lock:
            if fcntl is not None:
                with suppress(OSError):  # some network drives have no locks
                    fcntl.flock(lock, fcntl.LOCK_EX)
                (folder / "unlocked").rename(folder / _LOCK)  # so it is locked once it is there
            yield folder, folder / _PART


def part_of(cache: Path, name: str) -> Path:
    """Where a download that does not come to its end leaves what came."""
    return cache / f".{name}.part"


def remove_left(cache: Path) -> None:
    """Remove the folders of processes that live no more, but for what came of a download."""
    for folder in cache.glob(f"{_PREFIX}*"):
        name = folder.name.removeprefix(_PREFIX).rpartition("-")[0]
        with suppress(OSError):  # another process may be quicker
            if _is_left(folder):
                with suppress(OSError):  # there is another part, or none here
                    (folder / _PART).rename(part_of(cache, name))
                shutil.rmtree(folder)


def _is_left(folder: Path) -> bool:
    age = time.time() - folder.stat().st_mtime
    if fcntl is None:
        return age > _OLD
    try:
        with (folder / _LOCK).open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except FileNotFoundError:
        return age > _NEW
    except OSError:  # it is locked, or cannot be
        return age > _OLD
    return True
