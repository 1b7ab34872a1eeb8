"""The first cases of each family, briefly; `python -m tests.fuzz` for longer."""

import pytest
from fuzz import running

COUNTS = {"functions": 300, "estimators": 150, "files": 600, "models": 150, "recordings": 200}


@pytest.mark.slow
@pytest.mark.parametrize("family", running.FAMILIES)
def test_first_cases(family):
    for number in range(COUNTS[family]):
        try:
            running.run_case(family, number)
        except Exception as error:
            error.add_note(f"python -m tests.fuzz --only {family} --case {number}") if hasattr(
                error, "add_note"
            ) else None
            raise


def test_numbers_of_cases_are_reproducible():
    names = {running.run_case("files", 7) for _ in range(2)}
    assert len(names) == 1


def test_a_process_that_crashes_is_a_finding(tmp_path):
    findings = [running.Finding("files", 3, "ValueError: x (a.py:1)")] * 2
    assert len(running.distinct(findings)) == 1
    assert "files --case 3" in running.summary({"files": 5}, running.distinct(findings))
