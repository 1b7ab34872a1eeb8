"""Downloads from the archive, into the user's cache.

The archive publishes no checksums.  What can be checked is checked: that as many bytes came as the
server said, that the zip file's own checksums hold, and that a file downloaded again is the one
that was there before, whose SHA-256 is kept beside the data.  Whoever knows the right SHA-256 can
pass it.

What is unpacked is limited in size, and no name in a zip file leads out of the folder.
"""

from __future__ import annotations

import errno
import os
import re
import sys
import time
import warnings
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import IO

from .readers import READERS
from .scratch import part_of, remove_left, working_folder
from .transfer import DownloadError, Limits, Part, Progress, RetryableError, fetch

ARCHIVE = "https://timeseriesclassification.com/aeon-toolkit"

_CHUNK = 1 << 16
_SHA256 = re.compile(r"[0-9a-f]{64}")
_MAX_BYTES = 2 * 10**9  # the largest zip files of the archive have more than 1 GB
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_LONGEST_DIRECTORY = 2**22  # bytes; a set has less than a dozen files
_LONGEST_END = 2**16 + 64  # bytes: the record that ends a zip file, with its comment
_LEAST_UNPACKED, _TIMES_UNPACKED = 10**8, 30  # numbers as text shrink to a third or a tenth
_pause = time.sleep
_NAME = re.compile(r"[A-Za-z0-9][\w.-]*", re.ASCII)


def cache_folder() -> Path:
    """Where downloads are kept, as each system has it."""
    home = Path.home()
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = home / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache")
    return base / "warplearn" / "datasets"


def check_name(name: str) -> str:
    """A name that is safe in paths and addresses."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ValueError(
            "name must be of letters, digits, '_', '-' and '.', and start with a letter or digit, "
            f"got {name!r}"
        )
    return name


def download(
    name: str,
    *,
    base: str = ARCHIVE,
    sha256: str | None = None,
    cache: Path | None = None,
    max_bytes: int = _MAX_BYTES,
    max_unpacked: int | None = None,
    timeout: float = 30.0,
    patience: float = 600.0,
    retries: int = 2,
    progress: Progress | None = None,
) -> Path:
    """Download a data set from the archive, and return the folder it is in.

    Nothing appears as a data set before all of it has come and been checked.  What came of a
    download that is interrupted stays in the cache as a part, from which the next one goes on if
    the server can do that, and if the file there has not changed.

    Parameters
    ----------
    name : str
    base : str
        The address of the folder that holds `<name>.zip`, which begins with https://.  Without
        encryption only this machine is asked.
    sha256 : str, optional
        What the zip file must have.  By default that of the last download, if there was one.
    cache : path, default=the user's cache
    max_bytes : int, default=2e9
        The most bytes that may come.
    max_unpacked : int, optional
        The most bytes that may be unpacked from them, by default 30 times as many as came, but at
        least 100 MB.
    timeout : float, default=30
        Seconds without an answer after which to give up.
    patience : float, default=600
        Seconds that one attempt may take in all.
    retries : int, default=2
        Further attempts after a failure that may pass: no answer, an error of the server, a file
        that is truncated or damaged.  Between them is a pause of 1, 2, 4, ... seconds.
    progress : callable, optional
        Called with the bytes that came, and with how many there will be or None.  By default a line
        on standard error, where that is a terminal.
    """
    check_name(name)
    if sha256 is not None and not _SHA256.fullmatch(sha256.lower()):
        raise ValueError(f"sha256 must be 64 hexadecimal digits, got {sha256!r}")
    cache = cache_folder() if cache is None else Path(cache)
    address = f"{base.rstrip('/')}/{name}.zip"
    limits = Limits(max_bytes, timeout, patience)
    report = _to_terminal(name) if progress is None else progress
    record = cache / name / f"{name}.zip.sha256"
    expected = _recorded(record) if sha256 is None else sha256.lower()
    cache.mkdir(parents=True, exist_ok=True)
    remove_left(cache)
    for attempt in range(retries + 1):
        if attempt:
            _pause(2.0 ** (attempt - 1))
        with working_folder(cache, name) as (scratch, coming):
            try:
                part = Part(part_of(cache, name), coming)
                found = _fetch_whole(address, part, limits, report)
                if expected is not None and found != expected:
                    raise RetryableError(f"its SHA-256 is {found}, expected {expected}")
                fresh = _unpack(part.file, name, scratch / name, max_unpacked)
                (fresh / record.name).write_text(found + "\n", "ascii")
                return _move(fresh, cache / name)
            except RetryableError as error:
                problem = error
    tried = f"after {retries + 1} attempts" if retries else "at the only attempt"
    raise DownloadError(f"the download from {address} failed {tried}: {problem}")


def _fetch_whole(address: str, part: Part, limits: Limits, report: Progress) -> str:
    """Fetch a file, or leave what came of it to go on from."""
    try:
        return fetch(address, part, limits, report)
    except (RetryableError, KeyboardInterrupt):
        part.leave()
        raise


def _recorded(record: Path) -> str | None:
    """The checksum of the last download; None if there was none, or its record is damaged."""
    try:
        found = record.read_bytes().decode("ascii").strip()
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        found = ""
    if not _SHA256.fullmatch(found):
        warnings.warn(
            f"{record} is damaged and ignored: what comes is not compared with what came before",
            RuntimeWarning,
            stacklevel=3,
        )
        return None
    return found


def _unpack(file: Path, name: str, folder: Path, most: int | None) -> Path:
    """Take the files of the set out of a zip file, whose checksums are verified by that."""
    member_name = re.compile(rf"{re.escape(name)}_(TRAIN|TEST)(\.\w+)?")
    if most is None:
        most = max(_LEAST_UNPACKED, _TIMES_UNPACKED * file.stat().st_size)
    left = most
    folder.mkdir()
    try:
        _check_directory(file)
        with zipfile.ZipFile(file) as archive:
            for member in archive.infolist():
                # Only the last part of a path counts, so nothing lands anywhere else.
                last = member.filename.replace("\\", "/").rpartition("/")[2]
                if member_name.fullmatch(last) and Path(last).suffix.lower() in READERS:
                    with archive.open(member) as source, (folder / last).open("wb") as target:
                        left -= _copy(source, target, left)
    except _TooMuchError as error:
        raise DownloadError(
            f"the zip file of {name} unpacks to more than max_unpacked={most} bytes"
        ) from error
    except Exception as error:  # of many kinds: the zip module's, the decompressor's
        if isinstance(error, OSError) and error.errno in _NO_ROOM:
            raise
        raise RetryableError(f"it is no sound zip file: {error}") from error
    if not any(folder.iterdir()):
        raise DownloadError(f"the zip file of {name} holds no {name}_TRAIN or {name}_TEST")
    return folder


def _check_directory(file: Path) -> None:
    """Refuse a zip file whose list of entries, which is read whole, is long."""
    with file.open("rb") as archive:
        archive.seek(-min(_LONGEST_END, file.stat().st_size), os.SEEK_END)
        end = archive.read()
    before, mark, record = end.rpartition(b"PK\5\6")
    size = int.from_bytes(record[8:12], "little")
    larger_format = before[-20:].startswith(b"PK\6\7")  # which has another record of the size
    if mark and (len(record) < 18 or larger_format or size > _LONGEST_DIRECTORY):
        raise zipfile.BadZipFile("its list of entries is damaged or too long")


class _TooMuchError(Exception):
    """More would be unpacked than is allowed."""


def _copy(source: IO[bytes], target: IO[bytes], most: int) -> int:
    """Copy a file of limited size, and return its size."""
    came = 0
    while chunk := source.read(_CHUNK):
        came += len(chunk)
        if came > most:
            raise _TooMuchError
        target.write(chunk)
    return came


def _move(fresh: Path, place: Path) -> Path:
    """Put a folder in its place at once, and what was there before out of the way."""
    if place.exists():
        old = fresh.with_name("old")
        with suppress(FileNotFoundError):
            place.rename(old)
    try:
        fresh.rename(place)
    except OSError:  # another process was faster; its files are as good
        if not place.is_dir():
            raise
    return place


def _to_terminal(name: str) -> Progress:
    """Show progress in one line of standard error, if anybody can see it."""
    if not sys.stderr.isatty():
        return lambda came, total: None
    last = [0.0]

    def show(came: int, total: int | None) -> None:
        done = total is not None and came == total
        if time.monotonic() - last[0] > 0.1 or done:
            last[0] = time.monotonic()
            share = f" of {total / 1e6:.1f} MB, {came / total:.0%}" if total else " MB"
            print(f"\r{name}: {came / 1e6:.1f}{share}", end="\n" if done else "", file=sys.stderr)

    return show
