"""Time and memory with more and more series.

Each measurement runs in a process of its own, in one thread, and its time is that of the CPU, so
that other work on the machine matters little.  Its memory is the peak beyond what the process had
when the series were ready and the code compiled.  A case that takes longer than `--seconds`, or
needs more than `--gigabytes`, ends there.  The exponent is that of the time in the
number of series, fitted to the sizes from 4,000 on.  Series are generated, in float32 and of
length 100; two cases have the shapes of the data sets FordA and ElectricDevices.  The peers need
`pip install -e '.[bench]'`; those that are not installed are left out.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from benchmarks.measure import at_most, describe_machine
from warplearn import (
    ElasticFeatureClassifier,
    ElasticKMeans,
    ElasticLogisticRegression,
    ElasticMLPClassifier,
)

SIZES = tuple(1000 * 2**power for power in range(7))
LENGTH = 100
_LARGE = 4000  # series, from which on growth is judged
_WARM_UP = 40  # series, before time and memory are measured


class Case(NamedTuple):
    """What is measured.

    Attributes
    ----------
    run : function of series and labels
        The work; it is called with few series first, so that compilation does not count.
    classes : int
    needs : str, optional
        A package.
    most : float
        Largest exponent that is expected; infinity for peers.
    length : int
        Of the series.
    size : int, optional
        The only number of series, instead of more and more.
    """

    run: Callable[[np.ndarray, np.ndarray], Any]
    classes: int = 2
    needs: str = "warplearn"
    most: float = 1.1
    length: int = LENGTH
    size: int | None = None


def waves(count: int, classes: int, length: int = LENGTH) -> tuple[np.ndarray, np.ndarray]:
    """Noisy waves, float32, whose number of periods depends on the class."""
    rng = np.random.default_rng(0)
    X, y = np.empty((count, length), np.float32), rng.integers(classes, size=count)
    time_points = np.linspace(0, 1, length, dtype=np.float32)
    for start in range(0, count, 1000):
        some = slice(start, start + 1000)
        phase = rng.uniform(0, 6, (len(y[some]), 1))
        X[some] = np.sin(6 * (2 + 0.5 * y[some, None]) * time_points + phase)
        X[some] += rng.normal(0, 1, X[some].shape)
    return X, y


def _features(X: np.ndarray, y: np.ndarray) -> Any:
    return ElasticFeatureClassifier(random_state=0, n_jobs=1).fit(X, y)


def _linear(X: np.ndarray, y: np.ndarray) -> Any:
    return ElasticLogisticRegression(
        elasticity=10, batch_size=1024, solver="adam", max_iter=5, random_state=0, n_jobs=1
    ).fit(X, y)


def _kmeans(X: np.ndarray, y: np.ndarray) -> Any:
    return ElasticKMeans(
        8, batch_size=1024, init="random", max_iter=2, random_state=0, n_jobs=1
    ).fit(X)


@cache
def _fitted() -> list[Any]:
    X, y = waves(_WARM_UP, 2)
    network = ElasticMLPClassifier(elasticity=10, max_iter=1, random_state=0, n_jobs=1)
    return [_linear(X, y), network.fit(X, y)]


def _predict(X: np.ndarray, y: np.ndarray) -> Any:
    return [model.predict(X) for model in _fitted()]


def _aeon(name: str) -> Callable[[np.ndarray, np.ndarray], Any]:
    def run(X: np.ndarray, y: np.ndarray) -> Any:
        import aeon.classification.convolution_based as family

        return getattr(family, name)(random_state=0, n_jobs=1).fit(X, y)

    return run


CASES: dict[str, Case] = {
    "features fit, 2 classes": Case(_features),
    "features fit, 10 classes": Case(_features, classes=10),
    "features fit, as FordA": Case(_features, length=500, size=3601),
    "features fit, as ElectricDevices": Case(_features, classes=7, length=96, size=8926),
    "linear fit": Case(_linear),
    "k-means fit": Case(_kmeans),
    "linear and network predict": Case(_predict),
    "ROCKET fit": Case(_aeon("RocketClassifier"), needs="aeon", most=np.inf),
    "MiniRocket fit": Case(_aeon("MiniRocketClassifier"), needs="aeon", most=np.inf),
}


# The measuring process


def _resident() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def measure(name: str, size: int, gigabytes: float) -> dict[str, float]:
    """Run a case in this process; seconds of the CPU, and megabytes beyond the series."""
    case = CASES[name]
    X, y = waves(size, case.classes, case.length)
    case.run(*waves(_WARM_UP, case.classes, case.length))
    limit = int(gigabytes * 2**30)
    resource.setrlimit(resource.RLIMIT_AS, (limit + _address_space(),) * 2)
    before, start = _resident(), time.process_time()
    case.run(X, y)
    seconds = time.process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {"seconds": seconds, "megabytes": max(0, peak - before) / 1e6}


def _address_space() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * resource.getpagesize()


# The process that starts the others


def _measured(name: str, size: int, options: argparse.Namespace) -> dict[str, float] | None:
    """What a new process measures; None if it hits a limit."""
    threads = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL")}
    command = [sys.executable, "-m", "benchmarks", "scale", "--one", name, str(size)]
    command += ["--gigabytes", str(options.gigabytes)]
    try:
        done = subprocess.run(
            command, timeout=options.seconds + 60, capture_output=True, text=True,
            env=os.environ | threads, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        print(f"{name:32s} {size:8d}   more than {options.seconds:g} s", flush=True)
        return None
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["killed"])[-1][:80]
        print(f"{name:32s} {size:8d}   {reason}", flush=True)
        return None
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    print(
        f"{name:32s} {size:8d} {found['seconds']:10.2f} s {found['megabytes']:8.0f} MB", flush=True
    )
    return found


def exponent(sizes: list[int], seconds: list[float]) -> float:
    """The power of the number of series that the time grows with."""
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def compare(options: argparse.Namespace) -> None:
    summary = []
    for name in options.cases:
        case = CASES[name]
        if importlib.util.find_spec(case.needs) is None:
            print(f"{name} is left out: needs {case.needs}")
            continue
        rows = {}
        for size in options.sizes if case.size is None else [case.size]:
            found = _measured(name, size, options)
            if found is None or found["seconds"] > options.seconds:
                break
            rows[size] = found
        large = [size for size in rows if size >= _LARGE]
        if len(large) > 1:
            power = exponent(large, [rows[size]["seconds"] for size in large])
            summary.append((name, power, case.most, rows[large[-1]], rows[large[0]]))
    print()
    for name, power, most, last, first in summary:
        at_most(f"{name}: exponent of the time", power, most)
        print(f"  last against first size from {_LARGE} on: time x {_ratio(last, first):.1f}")


def _ratio(last: dict[str, float], first: dict[str, float]) -> float:
    return last["seconds"] / first["seconds"]


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks scale",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--sizes", nargs="+", type=int, default=list(SIZES))
    parser.add_argument("--seconds", type=float, default=600, help="where a case ends")
    parser.add_argument("--gigabytes", type=float, default=8, help="beyond the series")
    parser.add_argument("--one", nargs=2, metavar=("CASE", "SIZE"), help="measure in this process")
    options = parser.parse_args(arguments)
    if options.one:
        print(json.dumps(measure(options.one[0], int(options.one[1]), options.gigabytes)))
        return
    print(describe_machine("aeon"))
    print(f"\n{'':32s} {'series':>8s} {'time':>12s} {'memory':>11s}")
    compare(options)
