"""Put old defects back, in a copy of the library, and see that the suite finds them.

    python -m tests.fuzz.defects                   # all of them, some minutes
    python -m tests.fuzz.defects --only "a view"   # one

A defect is a piece of code and what stood there before.  The copy is thrown away.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1]))  # as pytest has it

from fuzz import running

SOURCE = Path(__file__).parents[2] / "src"


class Defect(NamedTuple):
    """What to replace in a file of the library, by what, and the family that must find it."""

    file: str
    sound: str
    defect: str
    family: str


DEFECTS = {
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
    "a torn line stays in a file of results": Defect(
        "experiments/journal.py", "    if whole < end:\n        os.ftruncate(file, whole)", "", "studies"
    ),
    "fields of a row are not checked": Defect(
        "experiments/journal.py", "        problem = _problem(line)", '        problem = ""', "studies"
    ),
}  # fmt: skip


def put_back(defect: Defect, folder: Path) -> None:
    """Copy the library with a defect."""
    shutil.copytree(SOURCE, folder, dirs_exist_ok=True)
    file = folder / "warplearn" / defect.file
    text = file.read_text("utf-8")
    assert text.count(defect.sound) == 1, f"{defect.file} has changed: {defect.sound!r}"
    file.write_text(text.replace(defect.sound, defect.defect), "utf-8")


def found(defect: Defect, seconds: float) -> tuple[running.Finding | None, int, float]:
    """The first finding, how many cases it took at most, and how long."""
    start, number = time.monotonic(), 0
    with tempfile.TemporaryDirectory() as folder:
        put_back(defect, Path(folder))
        before = os.environ.get("PYTHONPATH")
        os.environ["PYTHONPATH"] = folder
        try:
            while time.monotonic() - start < seconds:
                left = seconds - (time.monotonic() - start)
                cases, findings = running.run_family(defect.family, left, 0, number, 200)
                number += cases
                if findings:
                    return findings[0], number, time.monotonic() - start
        finally:
            if before is None:
                del os.environ["PYTHONPATH"]
            else:
                os.environ["PYTHONPATH"] = before
    return None, number, time.monotonic() - start


def main() -> int:
    """Put each defect back, and say whether it was found."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--only", help="a part of the name of a defect")
    parser.add_argument("--seconds", type=float, default=300.0, help="for each defect")
    chosen = parser.parse_args()
    missed = 0
    for name, defect in DEFECTS.items():
        if chosen.only is None or chosen.only in name:
            finding, cases, seconds = found(defect, chosen.seconds)
            missed += finding is None
            said = (
                "MISSED" if finding is None else f"case {finding.number}: {finding.problem[:150]}"
            )
            print(f"{name}: {defect.family}, {cases} cases, {seconds:.0f} s, {said}", flush=True)
    print(f"{missed} missed")
    return bool(missed)


if __name__ == "__main__":
    sys.exit(main())
