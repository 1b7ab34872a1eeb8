"""Which process carries out which jobs of a file of results.

Processes may add to the same file as long as their jobs differ.  A process *claims* its jobs before
it looks at what is finished: for each it locks one byte of a file beside the results.  The
operating system lifts the locks when the process ends, in whatever way.  Where it has no such locks
(Windows, some network drives), nothing is claimed.
"""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_PLACES = 2**62
_BUSY = (errno.EACCES, errno.EAGAIN)


class BusyError(ValueError):
    """Jobs that another process carries out."""


class Claims:
    """Jobs that no other process may carry out at the same time.

    Parameters
    ----------
    path : path
        The file of results.
    names : iterable of str
        The jobs, as people call them.
    """

    def __init__(self, path: str | Path, names: Iterable[str]) -> None:
        path = Path(path)
        self._beside = path.with_name(path.name + ".lock")
        self._file = -1
        if fcntl is None:
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = self._open()
        for name in names:
            if not self._lock(_place(name)):
                self.release()
                raise BusyError(
                    f"another process is computing {name!r} for {path}: wait until it has ended, "
                    "or write to another file"
                )

    def __enter__(self) -> Claims:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def release(self) -> None:
        """Give the jobs up; the last process removes the file."""
        if self._file < 0:
            return
        if self._lock(0):  # byte 0 is shared by all that have the file open
            self._beside.unlink(missing_ok=True)
        os.close(self._file)
        self._file = -1

    def _open(self) -> int:
        while True:
            file = os.open(self._beside, os.O_RDWR | os.O_CREAT, 0o644)
            with suppress(OSError):
                fcntl.lockf(file, fcntl.LOCK_SH, 1, 0)
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(file), os.stat(self._beside)):
                    return file
            os.close(file)  # it was removed after it had been opened

    def _lock(self, byte: int) -> bool:
        """Lock a byte, unless another process has it."""
        try:
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, byte)
        except OSError as error:
            return error.errno not in _BUSY
        return True


def _place(name: str) -> int:
    """The byte that stands for a job."""
    digest = hashlib.blake2b(name.encode(), digest_size=8).digest()
    return 1 + int.from_bytes(digest, "big") % _PLACES
