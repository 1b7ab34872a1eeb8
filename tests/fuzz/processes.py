"""Processes in trouble: killed, interrupted, forked, without a disk or a cache, two at a time.

Each check is a function that takes an empty folder and raises AssertionError.  pytest runs all of
them briefly (`tests/test_processes.py`); for a long run:

    python -m tests.fuzz.processes --kills 20 --interrupts 200
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import pickle
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import warplearn
from warplearn.experiments import Study, collect, finished
from warplearn.experiments.journal import read_lines

PACKAGE = Path(warplearn.__file__).parent
PATIENCE = 300.0  # seconds until a process is taken to hang
INTERRUPTED = 130

STUDY = """
name = "long"
datasets = ["WarpedBumps"]
trials = {trials}
[[methods]]
name = "a"
estimator = "ElasticPerceptron"
parameters = {{ max_iter = 5 }}
[[methods]]
name = "b"
estimator = "ElasticPerceptron"
parameters = {{ max_iter = 60, monitor = "loss", n_iter_no_change = 100 }}
"""

# The study of a file, with each trial written on its own.
RUN = """
import sys
from warplearn.experiments import Study, collect, jobs, run
jobs.LANES = 1
study = Study.read(sys.argv[1])
run(study, collect(study).data, sys.argv[2], n_jobs=2)
"""

# A small kernel, what it gives, whether it was found on disk, and which warnings there were.
KERNEL = """
import json, sys, warnings
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    import warplearn
    from warplearn._kernels.recursion.grid import row_limits
    cells = [warplearn.band_mask(5, 4, 2).sum().item(), warplearn.band_mask(9, 7, 0.2).sum().item()]
found = sum(row_limits.stats.cache_hits.values())
said = [str(w.message) for w in caught if "NUMBA_CACHE_DIR" in str(w.message)]
print(json.dumps([cells, found, said]))
"""
CELLS = [  # of the definition in `warplearn._kernels.recursion.grid`
    sum(abs(i * (m - 1) - j * (k - 1)) <= r * (min(k, m) - 1) for i in range(k) for j in range(m))
    for k, m, r in ((5, 4, 2), (9, 7, 1))
]

# Enough cells for two threads; the last line fails if none was started.
THREADS = """
import json, multiprocessing, os, sys, threading
import numba
import numpy as np
import warplearn
X = np.random.default_rng(0).normal(size=(70, 90))
def distances(_):
    return warplearn.pairwise_dtw(X, n_jobs=2).sum()
expected = distances(0)
assert numba.threading_layer() == os.environ["NUMBA_THREADING_LAYER"]
"""

FORKED = """
with multiprocessing.get_context("fork").Pool(2) as pool:
    found = pool.map_async(distances, range(8)).get(100)
assert found == [expected] * 8
assert distances(0) == expected
print(json.dumps(True))
"""

AT_ONCE = """
found = []
def work():
    found.extend(distances(0) for _ in range(30))
workers = [threading.Thread(target=work) for _ in range(4)]
for worker in workers:
    worker.start()
for worker in workers:
    worker.join()
assert found == [expected] * 120
print(json.dumps(True))
"""

LONG_PATH = """
import json
import numpy as np
from warplearn import dtw, warping_path
x, y = np.random.default_rng(0).normal(size=(2, 100_000)).cumsum(axis=1)
found = warping_path(x, y, band=100)
assert found.distance == dtw(x, y, band=100)
assert (abs(found.path[:, 0] - found.path[:, 1]) <= 100).all()
print(json.dumps(True))
"""


def environment(**others: str | None) -> dict[str, str]:
    """The variables of a process that imports this package; None leaves one out."""
    found = {**os.environ, "PYTHONPATH": str(PACKAGE.parent), "PYTHONDONTWRITEBYTECODE": "1"}
    found.update({name: value for name, value in others.items() if value is not None})
    return {name: value for name, value in found.items() if others.get(name, "") is not None}


def said_by(script: str, *arguments: Any, **options: Any) -> Any:
    """What a script prints, as JSON; it must end well."""
    options.setdefault("env", environment())
    done = subprocess.run(
        [sys.executable, "-c", script, *map(str, arguments)],
        capture_output=True, text=True, timeout=PATIENCE, **options,
    )  # fmt: skip
    assert done.returncode == 0, f"exit code {done.returncode}: {done.stderr[-3000:]}"
    return json.loads(done.stdout.splitlines()[-1])


def limited(kind: int, size: int) -> Callable[[], None]:
    """Limit what a process may have, before it starts."""
    return lambda: resource.setrlimit(kind, (size, size))


# Compiled kernels on disk.


def no_place_for_the_cache(folder: Path) -> None:
    """A package and a home that cannot be written: computes all the same, and warns once."""
    package = shutil.copytree(
        PACKAGE, folder / "src" / "warplearn", ignore=shutil.ignore_patterns("__pycache__")
    )
    for place in (p for p in package.rglob("*") if p.is_dir()):
        (place / "__pycache__").touch()  # root may write everywhere, but not into a file
    places = {"XDG_CACHE_HOME": "/dev/null", "HOME": "/dev/null", "NUMBA_CACHE_DIR": None}
    env = environment(**places) | {"PYTHONPATH": str(package.parent)}
    cells, found, said = said_by(KERNEL, env=env)
    assert (cells, found, len(said)) == (CELLS, 0, 1), (cells, found, said)


def full_cache(folder: Path) -> None:
    """A disk without room: no half file is left."""
    env = environment(NUMBA_CACHE_DIR=str(folder))
    full = limited(resource.RLIMIT_FSIZE, 200)
    cells, _, said = said_by(KERNEL, env=env, preexec_fn=full)
    assert (cells, len(said)) == (CELLS, 1), (cells, said)
    assert not [file for file in folder.rglob("*") if file.is_file()]


def filled_cache_that_cannot_be_written(folder: Path) -> None:
    """A cache that was filled when an image was made is used where nothing can be written."""
    env = environment(NUMBA_CACHE_DIR=str(folder))
    said_by(KERNEL, env=env)
    cells, found, said = said_by(KERNEL, env=env, preexec_fn=limited(resource.RLIMIT_FSIZE, 0))
    assert (cells, said) == (CELLS, [])
    assert found > 0


def damaged_cache(folder: Path, seed: int = 0) -> None:
    """Files that are cut off, changed, or name what is gone: compiled anew, and repaired."""
    rng = random.Random(seed)
    env = environment(NUMBA_CACHE_DIR=str(folder))
    said_by(KERNEL, env=env)
    gone = pickle.dumps(Path).replace(b"Path", b"Gone")
    sealed = hashlib.blake2b(gone, digest_size=16).digest() + gone
    damages: list[Callable[[bytes], bytes]] = [
        lambda data: data[: rng.randrange(len(data))],
        lambda data: _changed(data, rng),
        lambda data: sealed,
        lambda data: b"",
    ]
    for damage in damages:
        for file in (each for each in folder.rglob("*") if each.is_file()):
            file.write_bytes(damage(file.read_bytes()))
        cells, found, said = said_by(KERNEL, env=env)
        assert (cells, found, said) == (CELLS, 0, []), (damage, cells, found, said)
    cells, found, _ = said_by(KERNEL, env=env)
    assert cells == CELLS
    assert found > 0


def _changed(data: bytes, rng: random.Random) -> bytes:
    """Some bytes are others."""
    changed = bytearray(data)
    for _ in range(rng.randint(1, 20)):
        changed[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def compilers(folder: Path, count: int = 3) -> None:
    """Processes that compile the same at the same time, into one folder."""
    env = environment(NUMBA_CACHE_DIR=str(folder))
    command = [sys.executable, "-c", KERNEL]
    beside = [subprocess.Popen(command, stdout=-1, env=env, text=True) for _ in range(count)]
    for process in beside:
        printed, _ = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0
        assert json.loads(printed)[0] == CELLS
    cells, found, _ = said_by(KERNEL, env=env)
    assert cells == CELLS
    assert found > 0


# Threads, forks, memory.


def fork_after_threads(folder: Path) -> None:
    """Forked workers of a process that has used threads."""
    for layer in ("omp", "workqueue"):
        env = environment(NUMBA_NUM_THREADS="2", NUMBA_THREADING_LAYER=layer)
        assert said_by(THREADS + FORKED, env=env, cwd=folder)


def threads_at_once(folder: Path) -> None:
    """Python threads that use Numba's threads at the same time."""
    for layer in ("omp", "workqueue"):
        env = environment(NUMBA_NUM_THREADS="2", NUMBA_THREADING_LAYER=layer)
        assert said_by(THREADS + AT_ONCE, env=env, cwd=folder)


def long_path_in_a_band(folder: Path) -> None:
    """A path of long series in a narrow band needs memory for the band, not for the grid."""
    memory = limited(resource.RLIMIT_AS, 4 * 2**30)
    assert said_by(LONG_PATH, cwd=folder, preexec_fn=memory)


# Studies.


def write_study(folder: Path, trials: int) -> Path:
    """A study of some seconds, on built-in data."""
    path = folder / "long.toml"
    path.write_text(STUDY.format(trials=trials))
    return path


def start_study(toml: Path, path: Path, **options: Any) -> subprocess.Popen[str]:
    """Carry out a study on the command line."""
    command = [sys.executable, "-m", "warplearn.cli", "reproduce", str(toml), "-o", str(path)]
    options.setdefault("env", environment())
    return subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=-1, text=True, cwd=path.parent, **options
    )


def wait_for(text: bytes, path: Path, process: subprocess.Popen[Any], count: int = 1) -> None:
    """Wait until a process has written something so many times."""
    limit = time.monotonic() + PATIENCE
    while not (path.exists() and path.read_bytes().count(text) >= count):
        assert process.poll() is None, f"ended before, with exit code {process.returncode}"
        assert time.monotonic() < limit, "hangs"
        time.sleep(0.005)


def outcomes(toml: Path, path: Path) -> list[dict[str, Any]]:
    """The trials in a file, without what differs from run to run."""
    study = Study.read(toml)
    varying = {"run", "versions", "machine"}
    varying |= {"fit_seconds", "predict_seconds", "decision_seconds"}
    rows = finished(study, collect(study).data, path)
    return [{name: row[name] for name in row if name not in varying} for row in rows]


def kills(folder: Path, count: int = 20, trials: int = 60, seed: int = 0) -> Counter[str]:
    """Kill a study again and again; in the end its rows are those of an uninterrupted one."""
    rng = random.Random(seed)
    toml, path, whole = write_study(folder, trials), folder / "rows.jsonl", folder / "whole.jsonl"
    seen: Counter[str] = Counter()
    for number in range(count):
        kept = path.read_bytes() if path.exists() else b""
        rows = kept.count(b'"row"')
        # Few rows a time, so that there are some left for the last.
        more = rng.randint(0, max(1, (2 * trials - rows) // (count - number + 1)))
        with subprocess.Popen(
            [sys.executable, "-c", RUN, str(toml), str(path)], env=environment(),
            stderr=subprocess.DEVNULL,
        ) as process:  # fmt: skip
            if more:
                wait_for(b'"row"', path, process, rows + more)
            time.sleep(rng.uniform(0, 0.05 if more else 3))
            process.kill()
        after = path.read_bytes() if path.exists() else b""
        lost = kept[: kept.rfind(b"\n") + 1]
        assert after.startswith(lost), "a kill lost lines that were there"
        seen["torn" if not after.endswith(b"\n") and after else "whole"] += 1
        if rng.random() < 0.3:
            with path.open("ab") as file:  # as if killed in the middle of a write
                file.write(b'{"kind": "row", "run": "2026'[: rng.randint(1, 27)])
    for target in (path, whole):
        process = start_study(toml, target)
        _, errors = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, errors[-3000:]
    expected = outcomes(toml, whole)
    assert len(expected) == 2 * trials == len(read_lines(path, "row")), "missing, or there twice"
    assert outcomes(toml, path) == expected
    return seen


def interrupts(
    folder: Path, count: int = 200, at_once: int = 4, spinning: int = 0, seed: int = 0
) -> Counter[int]:
    """Interrupt studies, some of which run at the same time: all end with exit code 130."""
    rng = random.Random(seed)
    toml = write_study(folder, 5000)
    codes: Counter[int] = Counter()
    with ExitStack() as stack:
        for _ in range(spinning):
            stack.callback(_end, subprocess.Popen([sys.executable, "-c", "while 1: 0"]))
        for first in range(0, count, at_once):
            started = []
            for number in range(first, min(first + at_once, count)):
                path = folder / f"{number}.jsonl"
                started.append((start_study(toml, path, preexec_fn=_hear_interrupts), path))
                stack.callback(_end, started[-1][0])
            for process, path in started:
                code, errors = _interrupt(process, path, rng)
                codes[code] += 1
                assert code == INTERRUPTED, f"exit code {code}: {errors[-3000:]}"
                # An interrupt in a destructor or callback of another library is reported by Python.
                traced = "Traceback" in errors and "Exception ignored" not in errors
                assert not traced, errors[-3000:]
                assert read_lines(path, "run"), "no whole line is left"
                path.unlink()
    assert not list(folder.glob("*.lock"))
    return codes


def _end(process: subprocess.Popen[Any]) -> None:
    """End a process, if it has not ended."""
    with process:
        process.kill()


def _hear_interrupts() -> None:
    """A process that is started in the background may have been told to ignore them."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _interrupt(process: subprocess.Popen[str], path: Path, rng: random.Random) -> tuple[int, str]:
    """Interrupt a study once it has begun, sometimes twice; its exit code and messages."""
    wait_for(b'"run"' if rng.random() < 0.3 else b'"row"', path, process)
    time.sleep(rng.uniform(0, 0.5))
    process.send_signal(signal.SIGINT)
    if rng.random() < 0.25:  # somebody who cannot wait
        time.sleep(rng.uniform(0, 0.2))
        process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=PATIENCE)
    return process.returncode, errors


def two_runners(folder: Path) -> None:
    """Of two processes with the same study and file, one is told to wait."""
    toml, path = write_study(folder, 5000), folder / "rows.jsonl"
    with start_study(toml, path) as first:
        wait_for(b'"run"', path, first)
        with start_study(toml, path) as second:
            _, errors = second.communicate(timeout=PATIENCE)
        assert second.returncode == 1, errors
        assert "another process is computing" in errors, errors
        assert first.poll() is None
        first.kill()
    assert len(read_lines(path, "run")) == 1
    with start_study(write_study(folder, 3), path) as third:  # a dead process claims nothing
        _, errors = third.communicate(timeout=PATIENCE)
    assert third.returncode == 0, errors


def full_disk(folder: Path) -> None:
    """A study whose disk is full ends with a message, and goes on when there is room."""
    toml, path, whole = write_study(folder, 20), folder / "rows.jsonl", folder / "whole.jsonl"
    with start_study(toml, path, preexec_fn=limited(resource.RLIMIT_FSIZE, 12_000)) as process:
        _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1, errors[-3000:]
    assert "error: [Errno" in errors, errors
    assert "Traceback" not in errors, errors
    assert path.read_bytes().endswith(b"}\n")
    for target in (path, whole):
        with start_study(toml, target) as process:
            _, errors = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, errors[-3000:]
    assert outcomes(toml, path) == outcomes(toml, whole)


CHECKS: list[Callable[[Path], Any]] = [
    no_place_for_the_cache, full_cache, filled_cache_that_cannot_be_written, damaged_cache,
    compilers, fork_after_threads, threads_at_once, long_path_in_a_band, two_runners, full_disk,
]  # fmt: skip


def run_checks() -> int:
    """Run all checks once, with a few kills and interrupts; how many there were."""
    few = [lambda folder: kills(folder, 5), lambda folder: interrupts(folder, 8)]
    for check in [*CHECKS, *few]:
        with tempfile.TemporaryDirectory() as folder:
            check(Path(folder))
    return len(CHECKS) + len(few)


def main() -> None:
    """Run all checks, and as many kills and interrupts as are asked for."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--interrupts", type=int, default=200)
    parser.add_argument("--at-once", type=int, default=4, help="studies at the same time")
    parser.add_argument("--spinning", type=int, default=0, help="other processes beside them")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", help="a single one of the checks, by name")
    parser.add_argument("--patience", type=float, default=PATIENCE, help="seconds until it hangs")
    chosen = parser.parse_args()
    globals()["PATIENCE"] = chosen.patience
    long: dict[str, Callable[[Path], Any]] = {
        "kills": lambda folder: kills(folder, chosen.kills, seed=chosen.seed),
        "interrupts": lambda folder: interrupts(
            folder, chosen.interrupts, chosen.at_once, chosen.spinning, chosen.seed
        ),
    }
    checks = {check.__name__: check for check in CHECKS} | long
    for name, check in checks.items():
        if chosen.only in (None, name):
            start = time.monotonic()
            with tempfile.TemporaryDirectory() as folder:
                found = check(Path(folder))
            print(f"{name}: {time.monotonic() - start:.0f} s {dict(found or {})}", flush=True)


if __name__ == "__main__":
    main()
