"""Run cases one after the other, in a process that may crash, and collect what they find."""

from __future__ import annotations

import faulthandler
import json
import re
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .contract import Case

# Families, and what they need beside the library; those with quick cases first.
FAMILIES = {
    "files": "polars", "models": "", "recordings": "", "functions": "matplotlib", "networks": "torch",
    "estimators": "", "studies": "", "clusters": "distributed",
}  # fmt: skip
LONGEST = 1800.0  # seconds of a case, which may have to compile on a busy machine


def can_run(family: str) -> bool:
    """Whether what a family needs is installed."""
    return not FAMILIES[family] or find_spec(FAMILIES[family]) is not None


def cases_of(family: str) -> list[tuple[str, Case]]:
    """The kinds of cases of a family."""
    return list(import_module(f"{__package__}.{family}").CASES.items())


def run_case(family: str, number: int, seed: int = 0) -> str:
    """Carry out a case; the name of its kind."""
    rng = np.random.default_rng([seed, number])
    kinds = cases_of(family)
    name, case = kinds[number % len(kinds)]
    case(rng)
    return name


class Finding(NamedTuple):
    """What went wrong first of its kind: which case, and how."""

    family: str
    number: int
    problem: str


def work(family: str, first: int, seed: int, seconds: float, most: int, folder: Path) -> None:
    """Carry out cases until the time is over; write down each before it begins."""
    faulthandler.enable()
    cases_of(family)
    end, seen = time.monotonic() + seconds, set()
    with (folder / "findings").open("a") as findings, (folder / "now").open("w") as now:
        for number in range(first, first + most):
            now.seek(0)
            now.write(f"{number:<20}")
            now.flush()
            faulthandler.dump_traceback_later(LONGEST, exit=True)
            try:
                run_case(family, number, seed)
            except Exception as error:
                problem = _problem(error)
                if _kind(problem) not in seen:
                    seen.add(_kind(problem))
                    print(json.dumps([number, problem]), file=findings, flush=True)
            if time.monotonic() > end:
                break
        faulthandler.cancel_dump_traceback_later()
        now.seek(0)
        now.write(f"{number + 1:<20}")


def _problem(error: Exception) -> str:
    """What went wrong, and where."""
    where = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{Path(where.filename).name}:{where.lineno}"
    return f"{type(error).__name__} ({place}): {' '.join(str(error).split())[:400]}"


def _kind(problem: str) -> str:
    """The same for problems that have the same cause: the beginning, without numbers and names."""
    return re.sub(r"'[^']*'|[-\d.]+", "", problem)[:120]


def run_family(
    family: str, seconds: float, seed: int = 0, first: int = 0, most: int = 10**9
) -> tuple[int, list[Finding]]:
    """Carry out cases in processes of their own; how many there were, and what they found."""
    found, number, end = [], first, time.monotonic() + seconds
    command = [sys.executable, "-m", "tests.fuzz", "--work", family, "--seed", str(seed)]
    while number < first + most and time.monotonic() < end:
        with tempfile.TemporaryDirectory() as name:
            folder, left = Path(name), end - time.monotonic()
            options = ["--first", str(number), "--seconds", str(left), "--folder", name]
            done = subprocess.run(
                [*command, *options, "--cases", str(first + most - number)],
                cwd=Path(__file__).parents[2], capture_output=True, text=True,
            )  # fmt: skip
            if not (folder / "now").exists():
                raise RuntimeError(f"{family} cannot start: {done.stderr[-2000:]}")
            lines = (folder / "findings").read_text().splitlines()
            found += [Finding(family, *json.loads(line)) for line in lines]
            number = int((folder / "now").read_text())
        if done.returncode:
            crash = f"the process ended with {done.returncode}: {done.stderr[-2000:]}"
            found.append(Finding(family, number, crash))
            number += 1
    return number - first, found


def distinct(findings: list[Finding]) -> list[Finding]:
    """One finding of each kind."""
    kinds: dict[Any, Finding] = {}
    for each in findings:
        kinds.setdefault((each.family, _kind(each.problem)), each)
    return list(kinds.values())


def summary(counts: Counter[str], findings: list[Finding]) -> str:
    """Figures, and the findings in a form that can be repeated."""
    lines = [f"{family}: {count} cases" for family, count in counts.items()]
    lines += [f"{f.family} --case {f.number}: {f.problem}" for f in findings]
    return "\n".join([*lines, f"{sum(counts.values())} cases, {len(findings)} findings"])
