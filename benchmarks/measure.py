"""How benchmarks measure and print."""

from __future__ import annotations

import json
import platform
import time
from collections.abc import Callable, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import numba
import numpy as np


def best_times(
    contestants: Mapping[str, Callable[[], Any]], *, repeats: int = 7, least: float = 0.02
) -> dict[str, float]:
    """Best time of each contestant in seconds, measured by turns after one warm-up call.

    A contestant that takes less than `least` seconds is called several times in a row.
    """
    calls = {}
    for name, call in contestants.items():
        call()
        start = time.perf_counter()
        call()
        calls[name] = max(1, round(least / max(time.perf_counter() - start, 1e-7)))
    best = dict.fromkeys(contestants, np.inf)
    for _ in range(repeats):
        for name, call in contestants.items():
            start = time.perf_counter()
            for _ in range(calls[name]):
                call()
            best[name] = min(best[name], (time.perf_counter() - start) / calls[name])
    return best


def describe_machine(*packages: str) -> str:
    """CPU, cores, and the versions of what is compared."""
    found = []
    for package in ("warplearn", "numba", "numpy", *packages):
        try:
            found.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            found.append(f"{package} (not installed)")
    cpu = f"{_cpu_name()} ({llvm.get_host_cpu_name()}), {numba.config.NUMBA_NUM_THREADS} threads"
    return f"{cpu}, {platform.system()}, Python {platform.python_version()}\n{', '.join(found)}"


def _cpu_name() -> str:
    try:
        with open("/proc/cpuinfo") as lines:
            return next(line.split(":")[1].strip() for line in lines if "model name" in line)
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def stored(file: Path | None) -> list[dict[str, Any]]:
    """Rows of a file, as `keep` has written them."""
    if file is None or not file.exists():
        return []
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


def keep(file: Path | None, row: dict[str, Any]) -> None:
    """Append a row to a file."""
    if file is not None:
        with file.open("a", encoding="utf-8") as rows:
            rows.write(json.dumps(row) + "\n")


def verdict(label: str, value: float, wanted: str, holds: bool) -> None:
    """Print a ratio beside what is expected of it."""
    print(f"{label:<66s} {value:8.2f}   {wanted:<10s} {'ok' if holds else 'MISSED'}", flush=True)


def at_least(label: str, value: float, least: float) -> None:
    verdict(label, value, f">= {least:g}", value >= least)


def at_most(label: str, value: float, most: float) -> None:
    verdict(label, value, f"<= {most:g}", value <= most)


def between(label: str, value: float, low: float, high: float) -> None:
    verdict(label, value, f"{low:g}..{high:g}", low <= value <= high)
