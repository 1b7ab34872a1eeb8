"""Put old defects back, in a copy of the library, and see that the suite finds them.

    python -m tests.fuzz.defects                   # all of them, some minutes
    python -m tests.fuzz.defects --only "a view"   # one

A defect is a piece of code and what stood there before.  The copy is thrown away.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1]))  # as pytest has it

from fuzz import running

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"


class Defect(NamedTuple):
    """What to replace in a file of the library, by what, and what must find it.

    That is a family of cases, or a module and its options, which then ends with an error.
    """

    file: str
    sound: str
    defect: str
    found_by: str


DEFECTS = {
    "names in a model file are imported": Defect(
        "persistence/reading.py", '            raise ValueError(f"it names',
        '            __import__("pydoc").locate(name)\n            raise ValueError(f"it names',
        "tests.fuzz.corpus --every 100000",
    ),
    "fitted arrays are not checked to be finite": Defect(
        "base.py", 'if finite and value.dtype.kind == "f":', "if False:", "models"
    ),
    "channel numbers of filters are not checked": Defect(
        "features/sliding.py", "if channels.min() < 0 or channels.max() >= n_channels:",
        "if False:", "models",
    ),
    "fitted attributes are not checked by predict": Defect(
        "linear_model/base.py",
        "super()._check_state(whole)\n        units = len(self._context.readout.mix)",
        "return\n        units = len(self._context.readout.mix)", "estimators",
    ),
    "parts of feature models are not checked by predict": Defect(
        "features/base.py", "            transformer._check_state(whole)\n", "", "estimators",
    ),
    "no place for compiled kernels": Defect(
        "_kernels/simd/caching.py", "except OSError as error:\n                reasons.append(",
        "except KeyError as error:\n                reasons.append(",
        "tests.fuzz.processes --only no_place_for_the_cache",
    ),
    "a damaged kernel on disk": Defect(
        "_kernels/simd/caching.py", "except Exception:  # of a damaged file", "except KeyError:  # of",
        "tests.fuzz.processes --only damaged_cache",
    ),
    "threads after a fork": Defect(
        "_kernels/simd/threads.py", "self.lost = self.lost or _layer() is not None", "self.lost = False",
        "tests.fuzz.processes --only fork_after_threads",
    ),
    "Python threads use those of Numba at once": Defect(
        "_kernels/simd/threads.py", 'return self.turn if _layer() == "workqueue" else nullcontext()',
        "return nullcontext()", "tests.fuzz.processes --only threads_at_once",
    ),
    "a view of the training series": Defect(
        "neighbors/nearest.py", "self._values = np.array(X.values)", "self._values = X.values",
        "estimators",
    ),
    "NaN is taken": Defect(
        "series/numbers.py", "return not values.size or bool(values.max() <= most and values.min() >= -most)",
        "return not (values > most).any()", "functions",
    ),
    "numbers whose squares overflow are taken": Defect(
        "series/numbers.py", "LARGEST = {4: 1e15, 8: 1e100}", "LARGEST = {4: 3e38, 8: 1e308}",
        "functions",
    ),
    "wide bands wrap": Defect(
        "elastic/bands.py", "Band(min(cells, longest), min(share, 1.0))",
        "Band((cells + 2**63) % 2**64 - 2**63, share)", "functions",
    ),
    "weights of what is no class are ignored": Defect(
        "base.py", "        if label not in known:\n            raise", "        if False:\n            raise",
        "estimators",
    ),
    "a label that is null": Defect(
        "datasets/shapes.py", "absent, inexact = np.isin(texts, list(MISSING)),",
        'absent, inexact = np.isin(texts, ["?"]),', "files",
    ),
    "a label that is missing among arrays": Defect(
        "datasets/assembling.py", "if text.lower() in MISSING:", "if False:", "files",
    ),
    "lines that end with a carriage return": Defect(
        "datasets/delimited.py", 'if "\\r" in text:', "if False:", "files"
    ),
    "a row that is cut off": Defect(
        "datasets/delimited.py", 'if count >= longest or file.suffix.lower() == ".gz":', "if True:",
        "files",
    ),
    "identifiers of six digits": Defect(
        "datasets/shapes.py", "return (column.astype(np.int64) if whole else column).astype(str)",
        'return np.array([f"{each:g}" for each in column])', "files",
    ),
    "zip files that unpack to any size": Defect(
        "datasets/archive.py", "if came > most:", "if False:",
        "pytest -q -n 0 -p no:cacheprovider tests/test_archive.py -k the_limit_follows",
    ),
    "two runners": Defect(
        "experiments/claims.py", "if not self._lock(_place(name)):", "if False:",
        "tests.fuzz.processes --only two_runners --patience 120",
    ),
    "a torn line stays in a file of results": Defect(
        "experiments/journal.py", "    if whole < end:\n        os.ftruncate(file, whole)", "", "studies"
    ),
    "fields of a row are not checked": Defect(
        "experiments/journal.py", "        problem = _problem(line)", '        problem = ""', "studies"
    ),
}  # fmt: skip


@contextmanager
def put_back(defect: Defect, copy: Path) -> Iterator[None]:
    """A copy of the library with a defect."""
    file = copy / "warplearn" / defect.file
    text = file.read_text("utf-8")
    assert text.count(defect.sound) == 1, f"{defect.file} has changed: {defect.sound!r}"
    file.write_text(text.replace(defect.sound, defect.defect), "utf-8")
    try:
        yield
    finally:
        file.write_text(text, "utf-8")


def found(defect: Defect, seconds: float) -> str:
    """What is found first, after how many cases at most; nothing if that takes too long."""
    if defect.found_by not in running.FAMILIES:
        command = [sys.executable, "-m", *defect.found_by.split()]
        try:
            done = subprocess.run(
                command, cwd=ROOT, timeout=seconds, capture_output=True, text=True
            )
        except subprocess.TimeoutExpired:  # checks have a limit of their own, so it says nothing
            return ""
        said = (done.stderr.strip() or done.stdout.strip() or "nothing").splitlines()[-1]
        return f"exit code {done.returncode}: {said}" if done.returncode else ""
    end, number = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        left = end - time.monotonic()
        cases, findings = running.run_family(defect.found_by, left, 0, number, 200)
        number += cases
        if findings:
            return f"case {findings[0].number}: {findings[0].problem}"
    return ""


def main() -> int:
    """Put each defect back, and say whether it was found."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--only", help="a part of the name of a defect")
    parser.add_argument("--seconds", type=float, default=1200.0, help="for each defect")
    chosen = parser.parse_args()
    missed = 0
    # One copy for all: what is compiled is kept by the path of its source.
    with tempfile.TemporaryDirectory() as folder:
        copy = shutil.copytree(SOURCE, Path(folder) / "src")
        os.environ |= {"PYTHONPATH": f"{copy}", "PYTHONDONTWRITEBYTECODE": "1"}
        for name in [each for each in DEFECTS if (chosen.only or "") in each]:
            start = time.monotonic()
            with put_back(DEFECTS[name], copy):
                said = found(DEFECTS[name], chosen.seconds)
            missed += not said
            where, took = DEFECTS[name].found_by, time.monotonic() - start
            print(f"{name}: {where}, {took:.0f} s, {said[:150] or 'MISSED'}", flush=True)
    print(f"{missed} missed")
    return bool(missed)


if __name__ == "__main__":
    sys.exit(main())
