"""Files from the web, of limited size, that go on where they were cut off.

Nothing that a server sends is trusted.  It is asked by https, except on this machine, whatever it
redirects to, and gets no more bytes and seconds than it is allowed.  A file goes on from a part
only if the server says that it is still the same one.
"""

from __future__ import annotations

import hashlib
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from pathlib import Path
from typing import Any, NamedTuple
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import HTTPHandler, HTTPRedirectHandler, HTTPSHandler, Request, build_opener

Progress = Callable[[int, int | None], None]
_CHUNK = 1 << 16
_SIZE = re.compile(r"[0-9]{1,18}")  # Python refuses to read numbers of thousands of digits
_THIS_MACHINE = ("127.0.0.1", "::1", "localhost")


class DownloadError(OSError):
    """A data set could not be downloaded; the message says from where and why."""


class RetryableError(Exception):
    """What may go better the next time."""


class _OtherFileError(RetryableError):
    """There is no such part of the file any more."""


class Limits(NamedTuple):
    """Bytes that may come, seconds without an answer, and seconds in all."""

    size: int
    timeout: float
    patience: float


class Part:
    """What has come of a file so far, and by what the server tells its versions apart.

    It is a folder that belongs to one process at a time: it is moved away to be worked on, and back
    if it is not finished.

    Parameters
    ----------
    place : Path
        Where a part may have been left.
    folder : Path
        Where to work on it.
    """

    def __init__(self, place: Path, folder: Path) -> None:
        self.place, self.folder, self.file = place, folder, folder / "content"
        self.resumable = True
        try:
            place.rename(folder)
        except FileNotFoundError:
            folder.mkdir()

    def version(self, address: str) -> str:
        """The version at an address of which this is a part; empty if it is none."""
        with suppress(OSError, ValueError):
            of, version = (self.folder / "version").read_text("ascii").splitlines()
            if of == address and self.file.stat().st_size:
                return version
        return ""

    def begin(self, address: str, version: str) -> None:
        """Start anew; without a version nobody can go on from it."""
        self.resumable = bool(version)
        self.file.write_bytes(b"")
        (self.folder / "version").write_text(f"{address}\n{version}\n", "ascii", "ignore")

    def leave(self) -> None:
        """Leave it for the next attempt, unless another process has left one."""
        if self.resumable and self.file.exists():
            with suppress(OSError):
                self.folder.rename(self.place)


class _Redirects(HTTPRedirectHandler):
    def redirect_request(self, req: Any, fp: Any, code: Any, msg: Any, headers: Any, newurl: Any):  # type: ignore[no-untyped-def]
        check_address(newurl)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


class _Clock:
    """Cuts connections off when the time is over, however little comes at a time.

    A timeout is for each piece that comes, so a server that sends its headers byte by byte would
    never exceed it.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds, self._end = seconds, time.monotonic() + seconds
        self._sockets: list[socket.socket] = []
        self._timer = threading.Timer(seconds, self._cut)
        self._timer.daemon = True

    def __enter__(self) -> _Clock:
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()

    def watch(self, connected: socket.socket) -> None:
        """A connection that is to be cut off, too."""
        self._sockets.append(connected)
        self.check()

    def check(self) -> None:
        """Raise an error if the time is over."""
        if time.monotonic() >= self._end:
            raise RetryableError(f"it took longer than {self.seconds:g} seconds")

    def _cut(self) -> None:
        for each in self._sockets:
            with suppress(OSError):
                socket.socket.shutdown(each, socket.SHUT_RDWR)


class _Http(HTTPConnection):
    def __init__(self, *args: Any, clock: _Clock, **options: Any) -> None:
        super().__init__(*args, **options)
        self._clock = clock

    def connect(self) -> None:
        super().connect()
        self._clock.watch(self.sock)


class _Https(_Http, HTTPSConnection):
    pass


class _Connections(HTTPHandler, HTTPSHandler):
    def __init__(self, clock: _Clock) -> None:
        super().__init__()
        self._clock = clock

    def http_open(self, req: Any) -> Any:
        return self.do_open(_Http, req, clock=self._clock)  # type: ignore[arg-type]

    def https_open(self, req: Any) -> Any:
        return self.do_open(_Https, req, clock=self._clock)  # type: ignore[arg-type]


def check_address(address: str) -> None:
    """Only the web is asked, and nobody on the way to another machine can change what comes."""
    parts = urlsplit(address)
    local = parts.scheme == "http" and parts.hostname in _THIS_MACHINE
    if not (parts.scheme == "https" or local) or not parts.hostname:
        raise DownloadError(f"the address must start with https://, got {address}")


def fetch(address: str, part: Part, limits: Limits, report: Progress) -> str:
    """Bring a part to its end, and return the SHA-256 of the file."""
    check_address(address)
    with _Clock(limits.patience) as clock:
        try:
            return _fetch(address, part, limits, report, clock)
        except RetryableError:
            clock.check()  # which may be the cause
            raise


def _fetch(address: str, part: Part, limits: Limits, report: Progress, clock: _Clock) -> str:
    headers = {"User-Agent": "warplearn", "Accept-Encoding": "identity"}
    version = part.version(address)
    came = part.file.stat().st_size if version else 0
    if came:
        headers |= {"Range": f"bytes={came}-", "If-Range": version}
    try:
        answer = _answer(Request(address, headers=headers), limits.timeout, clock)
    except _OtherFileError:
        part.begin(address, "")
        raise
    with answer:
        if answer.status != 206:
            came = 0
            # A weak tag does not promise the same bytes.
            tags = (answer.headers.get(name, "") for name in ("ETag", "Last-Modified"))
            part.begin(address, next((tag for tag in tags if tag and tag[:2] != "W/"), ""))
        elif not answer.headers.get("Content-Range", "").startswith(f"bytes {came}-"):
            part.begin(address, "")
            raise RetryableError("the server went on at another place than it was asked for")
        size = answer.headers.get("Content-Length", "")
        total = came + int(size) if _SIZE.fullmatch(size) else None
        _check_size(address, total or 0, limits.size)
        digest = hashlib.sha256()
        with part.file.open("r+b") as stream:
            while chunk := stream.read(_CHUNK):
                digest.update(chunk)
            report(came, total)
            for chunk in _chunks(answer):
                came += len(chunk)
                _check_size(address, came, limits.size)
                stream.write(chunk)
                digest.update(chunk)
                report(came, total)
                clock.check()
    clock.check()  # a connection that was cut off looks like the end of a file
    if total is not None and came != total:
        raise RetryableError(f"it is truncated, {came} of {total} bytes came")
    return digest.hexdigest()


def _check_size(address: str, size: int, limit: int) -> None:
    if size > limit:
        raise DownloadError(f"{address} has more than max_bytes={limit} bytes")


def _answer(request: Request, timeout: float, clock: _Clock) -> Any:
    """The answer of a server."""
    try:
        return build_opener(_Redirects(), _Connections(clock)).open(request, timeout=timeout)
    except DownloadError:
        raise
    except HTTPError as error:
        said = f"the server answered {error.code} {error.reason}"
        if error.code < 500 and error.code not in (408, 416, 425, 429):
            raise DownloadError(f"there is no {request.full_url}: {said}") from error
        raise (_OtherFileError if error.code == 416 else RetryableError)(said) from error
    except (OSError, HTTPException) as error:
        raise _no_answer(error) from error


def _chunks(answer: Any) -> Iterator[bytes]:
    """What comes, as it comes."""
    while True:
        try:
            chunk = answer.read1(_CHUNK)
        except (OSError, HTTPException) as error:  # a connection that is cut off
            raise _no_answer(error) from error
        if not chunk:
            return
        yield chunk


def _no_answer(error: Exception) -> RetryableError:
    return RetryableError(f"{getattr(error, 'reason', error)}; is this machine online?")
