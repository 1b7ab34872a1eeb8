"""Downloads from the archive, into the user's cache.

The archive publishes no checksums.  What can be checked is checked: that as many bytes came as the
server said, that the zip file's own checksums hold, and that a file downloaded again is the one
that was there before, whose SHA-256 is kept beside the data.  Whoever knows the right SHA-256 can
pass it.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable
from contextlib import suppress
from http.client import HTTPException
from pathlib import Path
from typing import IO
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from .readers import READERS

ARCHIVE = "https://timeseriesclassification.com/aeon-toolkit"

Progress = Callable[[int, int | None], None]
_CHUNK = 1 << 16
_pause = time.sleep
_NAME = re.compile(r"[A-Za-z0-9][\w.-]*", re.ASCII)


class DownloadError(OSError):
    """A data set could not be downloaded; the message says from where and why."""


class _RetryableError(Exception):
    """What may go better the next time."""


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
    timeout: float = 30.0,
    patience: float = 600.0,
    retries: int = 2,
    progress: Progress | None = None,
) -> Path:
    """Download a data set from the archive, and return the folder it is in.

    Nothing appears in the cache before all of it has come and been checked, so a download that is
    interrupted leaves the cache as it was.

    Parameters
    ----------
    name : str
    base : str
        The address of the folder that holds `<name>.zip`.
    sha256 : str, optional
        What the zip file must have.  By default that of the last download, if there was one.
    cache : path, default=the user's cache
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
    cache = cache_folder() if cache is None else Path(cache)
    address = f"{base.rstrip('/')}/{name}.zip"
    report = _to_terminal(name) if progress is None else progress
    record = cache / name / f"{name}.zip.sha256"
    expected = sha256
    if expected is None and record.is_file():
        expected = record.read_text("ascii").strip()
    cache.mkdir(parents=True, exist_ok=True)
    for attempt in range(retries + 1):
        if attempt:
            _pause(2.0 ** (attempt - 1))
        with tempfile.TemporaryDirectory(dir=cache, prefix=".download-") as scratch:
            try:
                with (Path(scratch) / "zip").open("w+b") as stream:
                    found = _fetch(address, stream, timeout, patience, report)
                    if expected is not None and found != expected.lower():
                        raise _RetryableError(f"its SHA-256 is {found}, expected {expected}")
                    fresh = _unpack(stream, name, Path(scratch) / name)
                (fresh / record.name).write_text(found + "\n", "ascii")
                return _move(fresh, cache / name)
            except _RetryableError as error:
                problem = error
    tried = f"after {retries + 1} attempts" if retries else "at the only attempt"
    raise DownloadError(f"the download from {address} failed {tried}: {problem}")


def _fetch(
    address: str, stream: IO[bytes], timeout: float, patience: float, report: Progress
) -> str:
    """Write what is at an address, and return its SHA-256."""
    if not address.startswith(("http://", "https://")):
        raise DownloadError(f"the address must start with http:// or https://, got {address}")
    digest = hashlib.sha256()
    came, end = 0, time.monotonic() + patience
    request = Request(address, headers={"User-Agent": "warplearn", "Accept-Encoding": "identity"})
    try:
        with urlopen(request, timeout=timeout) as answer:
            size = answer.headers.get("Content-Length", "")
            total = int(size) if size.isascii() and size.isdecimal() else None
            report(0, total)
            while chunk := answer.read1(_CHUNK):
                stream.write(chunk)
                digest.update(chunk)
                came += len(chunk)
                report(came, total)
                if time.monotonic() > end:
                    raise _RetryableError(f"it took longer than {patience:g} seconds")
    except HTTPError as error:
        said = f"the server answered {error.code} {error.reason}"
        if error.code < 500 and error.code not in (408, 425, 429):
            raise DownloadError(f"there is no {address}: {said}") from error
        raise _RetryableError(said) from error
    except (OSError, HTTPException) as error:  # no network, no answer, a connection cut off
        reason = getattr(error, "reason", error)
        raise _RetryableError(f"{reason}; is this machine online?") from error
    if total is not None and came != total:
        raise _RetryableError(f"it is truncated, {came} of {total} bytes came")
    stream.flush()
    return digest.hexdigest()


def _unpack(stream: IO[bytes], name: str, folder: Path) -> Path:
    """Take the files of the set out of a zip file, whose checksums are verified by that."""
    member_name = re.compile(rf"{re.escape(name)}_(TRAIN|TEST)(\.\w+)?")
    folder.mkdir()
    try:
        with zipfile.ZipFile(stream) as archive:
            for member in archive.infolist():
                # Only the last part of a path counts, so nothing lands anywhere else.
                file = member.filename.replace("\\", "/").rpartition("/")[2]
                if member_name.fullmatch(file) and Path(file).suffix.lower() in READERS:
                    with archive.open(member) as source, (folder / file).open("wb") as target:
                        shutil.copyfileobj(source, target)
    except Exception as error:  # of many kinds: the zip module's, the decompressor's
        raise _RetryableError(f"it is no sound zip file: {error}") from error
    if not any(folder.iterdir()):
        raise DownloadError(f"the zip file of {name} holds no {name}_TRAIN or {name}_TEST")
    return folder


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
