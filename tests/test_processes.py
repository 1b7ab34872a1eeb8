"""Processes in trouble, briefly; `python -m tests.fuzz.processes` for longer."""

import sys

import pytest

if sys.platform == "win32":
    pytest.skip("signals, forks and limits are other things on Windows", allow_module_level=True)

from fuzz import processes

# Compiling in one process after the other takes a minute in all.
pytestmark = pytest.mark.slow


@pytest.mark.parametrize("check", processes.CHECKS, ids=lambda check: check.__name__)
def test_check(check, tmp_path):
    check(tmp_path)


def test_killed_at_any_moment_it_goes_on_where_it_was(tmp_path):
    assert processes.kills(tmp_path, count=3, trials=15).total() == 3


def test_interrupted_it_ends_at_once_and_keeps_what_is_finished(tmp_path):
    assert processes.interrupts(tmp_path, count=4, at_once=2) == {130: 4}
