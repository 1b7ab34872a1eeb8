"""The first cases of each family, briefly; `python -m tests.fuzz` for longer."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest
from fuzz import coverage, defects, files, running

from warplearn.datasets.readers import READERS

ROOT = Path(__file__).parents[1]
COUNTS = {
    "functions": 300, "estimators": 150, "files": 600, "models": 150, "studies": 100, "networks": 60,
    "clusters": 30, "recordings": 200,
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("family", running.FAMILIES)
def test_first_cases(family):
    if not running.can_run(family):
        pytest.skip(f"needs {running.FAMILIES[family]}")
    for number in range(COUNTS[family]):
        try:
            running.run_case(family, number)
        except Exception as error:
            error.add_note(f"python -m tests.fuzz --only {family} --case {number}") if hasattr(
                error, "add_note"
            ) else None
            raise


@pytest.mark.slow
def test_hostile_model_files():
    """A part of the corpus; none runs anything, or takes much memory.

    In a process of its own: what threads of other tests do would be seen too.
    """
    command = [sys.executable, "-m", "tests.fuzz.corpus", "--every", "2000"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr[-2000:]
    refused, loaded = map(int, re.search(r": (\d+) refused, (\d+)", done.stdout).groups())
    assert refused > 400
    assert loaded > 0


@pytest.mark.parametrize("name", defects.DEFECTS)
def test_old_defects_can_be_put_back(name):
    """`python -m tests.fuzz.defects` shows that they are found."""
    defect = defects.DEFECTS[name]
    text = (defects.SOURCE / "warplearn" / defect.file).read_text("utf-8")
    assert text.count(defect.sound) == 1
    compile(text.replace(defect.sound, defect.defect), defect.file, "exec")
    module = defect.found_by.split()[0]
    assert module in running.FAMILIES or importlib.util.find_spec(module)


def test_every_public_name_has_cases():
    """A new name is fuzzed, or `coverage.py` says why it is not."""
    assert not coverage.missing()
    assert set(coverage.NOT_FUZZED) <= coverage.public() | {
        name for name in coverage.NOT_FUZZED if ".dask." in name
    }
    assert set(READERS) <= files.suffixes()


@pytest.mark.parametrize("name", ["warplearn.to_c", "warplearn.datasets.make_recording"])
def test_a_name_without_cases_is_missed(name, monkeypatch):
    monkeypatch.delitem(coverage.calls.CALLS, name)
    assert coverage.missing() == {name}


def test_an_estimator_without_cases_is_missed(monkeypatch):
    monkeypatch.setattr(coverage.estimators, "EVERY", ["ElasticMean"])
    assert "warplearn.ElasticShapelets" in coverage.missing()
    assert "warplearn.ElasticMean" not in coverage.missing()


def test_numbers_of_cases_are_reproducible():
    names = {running.run_case("files", 7) for _ in range(2)}
    assert len(names) == 1


def test_a_process_that_crashes_is_a_finding(tmp_path):
    findings = [running.Finding("files", 3, "ValueError: x (a.py:1)")] * 2
    assert len(running.distinct(findings)) == 1
    assert "files --case 3" in running.summary({"files": 5}, running.distinct(findings))
