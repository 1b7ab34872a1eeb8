"""How long a fresh process takes: with nothing compiled yet, and with everything on disk.

Each call runs in a process of its own, on one core.  The time is that of the whole process, from
the start of the interpreter to its end.  For the cold time the folder of compiled kernels is
empty; the warm time is the best of some processes that find it full.  The library's bytecode is on
disk, as where it was installed.
"""

from __future__ import annotations

import argparse
import compileall
import os
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import warplearn
from benchmarks.measure import describe_machine, verdict
from warplearn._kernels.simd.target import TARGET

_WARM = 3  # processes

_SERIES = """
import numpy as np, warplearn
rng = np.random.default_rng(0)
y = np.arange(100) % 2
X = rng.normal(size=(100, 150)).cumsum(axis=1) + 5 * y[:, None]
"""
_MODEL = "warplearn.ElasticLogisticRegression(random_state=0)"
_FEATURES = "warplearn.ElasticFeatureClassifier(random_state=0)"


class Start(NamedTuple):
    """What a process does, what is done before in another one, and the most it may take, cold."""

    arguments: list[str]
    before: str = ""
    goal: float | None = None


def _script(call: str, before: str = "", goal: float | None = None) -> Start:
    return Start(["-c", _SERIES + call], before and _SERIES + before, goal)


STARTS = {
    "import numba": Start(["-c", "import numba"]),
    "import": Start(["-c", "import warplearn"]),
    "import, an estimator": Start(["-c", "from warplearn import ElasticLogisticRegression"]),
    "dtw of a pair": _script("warplearn.dtw(X[0], X[1])"),
    "pairwise_dtw": _script("warplearn.pairwise_dtw(X)", goal=4),
    "nearest_neighbors": _script("warplearn.nearest_neighbors(X, X)"),
    "fit": _script(f"{_MODEL}.fit(X, y)"),
    "predict": _script(
        "warplearn.load('model.warp').predict(X)",
        before=f"warplearn.save({_MODEL}.fit(X, y), 'model.warp')",
    ),
    "fit and predict": _script(f"{_MODEL}.fit(X, y).predict(X)", goal=8),
    "features, fit and predict": _script(f"{_FEATURES}.fit(X, y).predict(X)", goal=8),
    "demo": Start(["-m", "warplearn.cli", "demo"], goal=30),
}


def _on_one_core() -> str:
    """Bind this process, and so those that it starts, to one core, where the system can."""
    if not hasattr(os, "sched_setaffinity"):
        return "on all cores"
    core = max(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {core})
    return f"on core {core}"


def _seconds(arguments: list[str], cache: Path, folder: Path) -> float:
    """The time of a process."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
    start = time.perf_counter()
    subprocess.run(
        [sys.executable, *arguments],
        env=environment,
        cwd=folder,
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    return time.perf_counter() - start


def measure(start: Start) -> tuple[float, float]:
    """The cold and the warm time."""
    with TemporaryDirectory() as made:
        folder = Path(made)
        if start.before:
            _seconds(["-c", start.before], folder / "other", folder)
        cold = _seconds(start.arguments, folder / "cache", folder)
        warm = min(_seconds(start.arguments, folder / "cache", folder) for _ in range(_WARM))
    return cold, warm


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks start", description=__doc__)
    parser.add_argument("--only", choices=STARTS, action="append", help="measure one of them")
    chosen = parser.parse_args(arguments).only or list(STARTS)
    print(describe_machine("scipy", "scikit-learn"))
    vectors = f"{TARGET.n_registers} registers of {TARGET.register_bytes} bytes"
    print(f"Code for {vectors}; processes {_on_one_core()}.  Seconds:\n")
    print(f"{'':<32s} {'cold':>8s} {'warm':>8s}")
    compileall.compile_dir(Path(warplearn.__file__).parent, quiet=1)
    for name in chosen:
        cold, warm = measure(STARTS[name])
        print(f"{name:<32s} {cold:8.2f} {warm:8.2f}", flush=True)
        if STARTS[name].goal is not None:
            verdict(f"  {name}, cold", cold, f"<= {STARTS[name].goal:g}", cold <= STARTS[name].goal)
