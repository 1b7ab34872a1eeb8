"""The file of results: lines of JSON, only ever added to.

A line is written by one call of the operating system and forced to the disk, so that a process
killed at any moment leaves whole lines and at most one torn one at the end.  It is cut off before
anything is added, by whichever process does so.

A line is of one of six kinds: a *run* says when, where and with which versions, its *end* how long
it took; a *choice* holds parameters chosen for a data set and a method; a *row* is a trial; a
*failure* says why a method could not be tried on a data set; a *view* is what a report shows of a
fitted model.  Views are large and have a file of their own.
"""

from __future__ import annotations

import json
import os
import platform
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import numba
import numpy as np

from warplearn import __version__

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

Line = dict[str, Any]
# The kinds of lines, with the fields that they need, and of which type these are.
_PLACE = {"study": str, "dataset": str, "method": str}
_NUMBER = (int, float)
_KINDS: dict[str, dict[str, Any]] = {
    "run": {"run": str},
    "choice": {"run": str, **_PLACE, "parameters": dict, "key": str},
    "row": {
        "run": str, **_PLACE, "trial": int, "error": _NUMBER, "train_error": _NUMBER,
        "parameters": dict, "source": str, "protocol": str, "key": str,
    },
    "failure": {"run": str, **_PLACE, "estimator": str, "message": str},
    "view": {**_PLACE, "view": dict, "key": str},
    "end": {"run": str, "seconds": _NUMBER, "cells": int},
}  # fmt: skip
# Fields that a line may have besides.
_OPTIONAL: dict[str, Any] = {
    "estimator": str, "machine": str, "table": str, "versions": dict, "seed": int, "threads": int,
    "cells": int, "predict_cells": int, "model_bytes": (int, type(None)), "fit_seconds": _NUMBER,
    "predict_seconds": _NUMBER, "decision_seconds": _NUMBER,
}  # fmt: skip
_LARGEST = 1e300  # of a number, which is finite then
_TAIL = 2**12  # bytes, looked at for the end of a line
_PACKAGES = ("numba", "numpy", "scikit-learn", "scipy")


class JournalError(ValueError):
    """A file of results that is none."""


def describe_versions() -> dict[str, str]:
    """Versions that results may depend on."""
    versions = {"warplearn": __version__, "python": platform.python_version()}
    for package in _PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            versions[package] = "not installed"
    return versions


def describe_machine() -> str:
    """CPU, cores and operating system."""
    name = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            name = next(line.split(":")[1].strip() for line in lines if "model name" in line)
    except (OSError, StopIteration):
        pass
    cores = os.cpu_count() or 1
    return f"{name} ({llvm.get_host_cpu_name()}), {cores} cores, {platform.system()}"


class Journal:
    """A file of results, open for reading what is there and for adding to it.

    Parameters
    ----------
    path : path
        Made if it is not there.

    Attributes
    ----------
    lines : dict
        What is there, by key.
    repaired : int
        Bytes of a torn last line that were cut off.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._lock = threading.Lock()
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0)
        self._file = os.open(self.path, flags, 0o644)
        try:
            with _alone(self._file):
                lines, self.repaired = _read(self.path, repair=True)
        except JournalError:
            os.close(self._file)
            raise
        self.lines = {line["key"]: line for line in reversed(lines) if "key" in line}
        self.run = ""
        self._started = time.perf_counter()
        self._cells = 0

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; what comes later is not written."""
        with self._lock:
            if self._file >= 0:
                os.close(self._file)
            self._file = -1

    def begin(self, **about: Any) -> None:
        """Write down that a run begins, with versions and machine; its rows refer to it."""
        started = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        self.run = f"{started} {os.getpid()}"
        self._started, self._cells = time.perf_counter(), 0
        self.add(
            [
                {
                    "kind": "run", "run": self.run, "versions": describe_versions(),
                    "machine": describe_machine(), "threads": numba.config.NUMBA_NUM_THREADS,
                    **about,
                }
            ]
        )  # fmt: skip

    def end(self) -> None:
        """Write down that the run has come to its end, how long it took, and how many cells."""
        seconds = round(time.perf_counter() - self._started, 1)
        self.add([{"kind": "end", "run": self.run, "seconds": seconds, "cells": self._cells}])

    def add(self, lines: Sequence[Line]) -> None:
        """Append lines: each is whole on the disk, or not there."""
        text = "".join(json.dumps(line, default=_plain) + "\n" for line in lines)
        data = text.encode()
        with self._lock:
            if self._file < 0:
                return
            with _alone(self._file):
                _cut_off_torn(self._file)
                end = os.fstat(self._file).st_size
                try:
                    while data:
                        data = data[os.write(self._file, data) :]
                    os.fsync(self._file)
                except OSError:  # such as a full disk
                    with suppress(OSError):
                        os.ftruncate(self._file, end)
                    raise
            self._cells += sum(line.get("cells", 0) for line in lines)
            self.lines.update({line["key"]: line for line in lines if "key" in line})


@contextmanager
def _alone(file: int) -> Iterator[None]:
    """Keep other processes from the file, where the operating system has such locks."""
    if fcntl is None:
        yield
        return
    fcntl.flock(file, fcntl.LOCK_EX)
    try:
        yield
    finally:
        fcntl.flock(file, fcntl.LOCK_UN)


def _cut_off_torn(file: int) -> None:
    """Cut off a last line without end: the process that wrote it is dead, for it has no lock."""
    if fcntl is None:
        return
    start = end = os.fstat(file).st_size
    found = -1
    while start and found < 0:
        size = min(_TAIL, start)
        start -= size
        found = os.pread(file, size, start).rfind(b"\n")
    whole = start + found + 1
    if whole < end:
        os.ftruncate(file, whole)


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} cannot be written as JSON: {value!r}")


def _read(path: Path, *, repair: bool) -> tuple[list[Line], int]:
    """The lines of a file, and how many bytes of a torn last one there were."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return [], 0
    whole = data.rfind(b"\n") + 1
    lines = []
    for number, text in enumerate(data[:whole].splitlines(), 1):
        try:
            line = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise JournalError(f"{path}, line {number} is not JSON: {error}") from None
        problem = _problem(line)
        if problem:
            raise JournalError(f"{path}, line {number} {problem}: {text[:80]!r}")
        lines.append(line)
    torn = len(data) - whole
    if torn and not lines and b'"kind"' not in data[whole:]:
        raise JournalError(f"{path} is no file of results")
    if torn and repair:
        with open(path, "r+b") as file:
            file.truncate(whole)
    return lines, torn


def _problem(line: Any) -> str:
    """Why something is no line of results, or nothing."""
    kind = line.get("kind") if isinstance(line, dict) else None
    if not isinstance(kind, str) or kind not in _KINDS:
        return "is no line of results"
    given = {field: _OPTIONAL[field] for field in _OPTIONAL.keys() & line.keys()}
    for field, wanted in (given | _KINDS[kind]).items():
        value = line.get(field)
        sound = isinstance(value, wanted) and not isinstance(value, bool)
        if not sound or (isinstance(value, _NUMBER) and not abs(value) <= _LARGEST):
            return f"has kind {kind!r}, and {field} is {'wrong' if field in line else 'missing'}"
    return ""


def read_lines(path: str | Path, *kinds: str) -> list[Line]:
    """The lines of some kinds in a file of results."""
    if not Path(path).is_file():
        raise FileNotFoundError(f"no file of results {str(path)!r}")
    return [line for line in _read(Path(path), repair=False)[0] if line["kind"] in kinds]


def read_rows(path: str | Path) -> list[Line]:
    """The trials in a file of results, each with the versions and the machine of its run.

    Parameters
    ----------
    path : path

    Returns
    -------
    list of dict
        With study, dataset, method, estimator, parameters, trial, seed, error and train_error (in
        percent), fit_seconds, predict_seconds, decision_seconds, model_bytes, cells, source,
        protocol, versions, machine, table (how the study shows its results).  Of a trial that is
        there twice, the first.
    """
    runs = _runs(path)
    rows: dict[str, Line] = {}
    for line in read_lines(path, "row"):
        rows.setdefault(line["key"], {**line, **runs.get(line["run"], _NO_RUN)})
    return list(rows.values())


def read_failures(path: str | Path) -> list[Line]:
    """The methods in a file of results that could not be tried on a data set.

    Parameters
    ----------
    path : path

    Returns
    -------
    list of dict
        With study, dataset, method, estimator, message, versions, machine, table.  A failure is
        replaced by what a later run writes about the same method on the same data set.
    """
    runs = _runs(path)
    failures: dict[tuple[Any, ...], Line] = {}
    for line in read_lines(path, "row", "failure"):
        failures.pop(_place(line), None)
        if line["kind"] == "failure":
            failures[_place(line)] = {**line, **runs.get(line["run"], _NO_RUN)}
    return list(failures.values())


def views_path(path: str | Path) -> Path:
    """The file of views beside a file of results."""
    return Path(path).with_suffix(".views.jsonl")


def read_views(path: str | Path) -> list[Line]:
    """What a report shows of fitted models: the views beside a file of results, if there are any.

    Of a method on a data set that was viewed twice, the last.
    """
    beside = views_path(path)
    if not beside.is_file():
        return []
    return list({_place(line): line for line in read_lines(beside, "view")}.values())


def _place(line: Line) -> tuple[Any, ...]:
    """What a line is about."""
    return tuple(line.get(name) for name in ("study", "dataset", "method"))


_NO_RUN: Line = {"versions": {}, "machine": "", "table": "plain"}


def _runs(path: str | Path) -> dict[str, Line]:
    """What each run says about its lines."""
    return {
        line["run"]: {key: line.get(key, default) for key, default in _NO_RUN.items()}
        for line in read_lines(path, "run")
    }
