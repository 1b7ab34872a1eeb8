"""Tables beside the paper's."""

from pathlib import Path

import pytest

from warplearn import catalogue
from warplearn.experiments import (
    paper,
    read_failures,
    read_rows,
    register_table,
    results,
    table_of,
    tables,
)
from warplearn.experiments.journal import Journal
from warplearn.experiments.paper import Comparison, Reading
from warplearn.experiments.results import Entry
from warplearn.experiments.tables import Cell, Table


def row(dataset, method, error, trial=0, **others):
    return {
        "study": "comparison", "dataset": dataset, "method": method, "trial": trial,
        "error": error, "train_error": 0.0, "source": "files", "protocol": "test",
        "estimator": "ElasticPerceptron", "parameters": {}, "table": "comparison", **others,
    }  # fmt: skip


def test_the_papers_reading_follows_from_the_papers_numbers():
    printed = paper.paper_errors(corrected=False)
    names = dict.fromkeys(name for name, _ in printed)
    colours = [
        paper.reading({m: entry.mean for (of, m), entry in printed.items() if of == name})
        for name in names
    ]
    assert len(names) == 12
    assert colours == ["green"] * 5 + ["yellow"] * 2 + ["red"] * 5


def test_the_swapped_column_is_put_right():
    printed, right = paper.paper_errors(corrected=False), paper.paper_errors()
    differing = {place for place in printed if printed[place] != right[place]}
    assert differing == {("SonyAIBORobotSurface1", "NN+ALL"), ("SonyAIBORobotSurface2", "NN+ALL")}
    assert right["SonyAIBORobotSurface1", "NN+ALL"].mean == 27.5
    assert right["GunPoint", "eLSVM"] == Entry(9.0, 2.8, 100)
    assert right["GunPoint", "NN+AHC"] == Entry(32.7, 0.0, 1)


def test_summary():
    rows = [row("A", "eLSVM", error, t) for t, error in enumerate([1.0, 2.0, 3.0])]
    assert results.summarize(rows) == {("A", "eLSVM"): Entry(2.0, 1.0, 3)}
    assert results.summarize(rows[:1]) == {("A", "eLSVM"): Entry(1.0, 0.0, 1)}


@pytest.mark.parametrize(
    ("mean", "differs", "agrees"),
    [(9.0, False, True), (9.75, False, True), (9.9, True, True), (14.6, True, True), (14.7, True, False), (5.0, True, True)],
)  # fmt: skip
def test_marks(mean, differs, agrees):
    # the standard error of the difference is sqrt(2) * 0.28
    each = Comparison("GunPoint", "eLSVM", Entry(mean, 2.8, 100), Entry(9.0, 2.8, 100), "test")
    assert (each.differs, each.agrees) == (differs, agrees)


def test_entries_without_chance_are_compared_by_their_printed_digits():
    paper = Entry(9.3, 0.0, 1)
    for mean, differs in ((9.34, False), (9.36, True)):
        each = Comparison("GunPoint", "NN+ALL", Entry(mean, 0, 1), paper, "test")
        assert each.differs is differs


def test_coffee_of_2011_is_the_papers():
    old, new = paper.compare([row("Coffee2011", "NN+ALL", 17.9), row("Coffee", "NN+ALL", 0.0)])
    assert old.paper == Entry(17.9, 0.0, 1)
    assert new.paper is None
    assert not new.differs


def test_table():
    rows = [
        row("GunPoint", "eLSVM", 9.0), row("GunPoint", "NN+ALL", 12.0),
        row("Yoga", "eLSVM", 20.0, protocol="10-fold cross-validation"),
        row("WarpedBumps", "eLSVM", 1.0, source="built-in"),
    ]  # fmt: skip
    table = table_of(rows)
    assert table.columns == ["data set", "NN+ALL", "eLSVM", "reading"]
    assert table.texts() == [
        ["GunPoint", "12.0 * (9.3)", "9.0 (9.0 ±2.8)", "green (yellow)"],
        ["Yoga †", "", "20.0 * (20.8 ±1.1)", ""],
        ["WarpedBumps", "", "1.0", ""],
    ]
    assert table.rows[0][1:] == [
        Cell("12.0 * (9.3)", 12.0), Cell("9.0 (9.0 ±2.8)", 9.0), Cell("green (yellow)", None, "green"),
    ]  # fmt: skip
    assert table.rows[1][1] == Cell("")
    shown = table.markdown()
    assert shown.startswith("| data set | NN+ALL | eLSVM | reading |\n| --- | --- | --- | --- |\n")
    assert "1 of 1 elastic entries are better" in shown
    assert "0 of 1 entries of NN+ALL" in shown
    assert "† Yoga has no test series here: 10-fold cross-validation" in shown
    assert "Generated data, not the archive's: WarpedBumps." in shown
    assert "0 of 1 data sets have the paper's reading" in shown
    with pytest.raises(ValueError, match="no trials"):
        table_of([])


def test_means_are_over_the_papers_sets_that_all_methods_have():
    rows = [
        row("GunPoint", "eFEAT", 1.0), row("GunPoint", "eMLP", 4.0),
        row("Coffee2011", "eFEAT", 2.0), row("Coffee2011", "eMLP", 5.0),
        row("Coffee", "eFEAT", 9.0), row("Coffee", "eMLP", 9.0),
        row("Wafer", "eFEAT", 50.0),
    ]  # fmt: skip
    table = table_of(rows)
    assert table.columns == ["data set", "eFEAT", "eMLP"]  # nothing to read without neighbours
    assert [line[0] for line in table.texts()] == ["Coffee2011", "Coffee", "Wafer", "GunPoint"]
    mean = "Mean over 2 of the paper's sets, not Coffee, Wafer: eFEAT 1.50, eMLP 4.50."
    assert mean in table.notes
    assert not any("data sets have the paper's reading" in note for note in table.notes)


def test_readings_are_fields():
    rows = [row("GunPoint", "eLSVM", 9.0), row("GunPoint", "NN+ALL", 12.0), row("Mine", "x", 1.0)]
    assert paper.readings(rows) == {"GunPoint": Reading("green", "yellow"), "Mine": Reading("", "")}


def test_plain_tables_know_nothing_of_the_paper():
    rows = [row("GunPoint", "eLSVM", 9.0, t, table="plain") for t in (0, 1)]
    rows += [row("GunPoint", "other", 1e-7, table="plain", protocol="leave-one-out")]
    table = table_of(rows)
    assert table.columns == ["data set", "eLSVM", "other"]
    assert table.rows == [[Cell("GunPoint †"), Cell("9.0 ±0.0", 9.0), Cell("0.0", 1e-7)]]
    assert "leave-one-out" in table.notes[0]


def failure(dataset, method, message="no", **others):
    return {
        "study": "s",
        "dataset": dataset,
        "method": method,
        "estimator": "ElasticPerceptron",
        "message": message,
        **others,
    }


@pytest.mark.parametrize("name", ["plain", "comparison"])
def test_tables_say_what_failed(name):
    rows = [row("GunPoint", "a", 9.0, table=name)]
    failures = [failure("GunPoint", "b", "too long", table=name), failure("New", "a", table=name)]
    table = table_of(rows, failures)
    assert table.texts()[0][:3] == ["GunPoint", "9.0", "failed"]
    assert table.texts()[1][:3] == ["New", "failed", ""]
    assert table.rows[0][2].mark == "failed"
    assert "Failed: b on GunPoint: too long" in table.notes
    assert table_of([], failures).columns[0] == "data set"


def test_later_lines_replace_a_failure(tmp_path):
    path = tmp_path / "rows.jsonl"
    with Journal(path) as journal:
        journal.begin(study="s", table="plain")
        for method in ("a", "b", "c"):
            journal.add([{"kind": "failure", "run": journal.run, **failure("D", method, "first")}])
        journal.begin(study="s", table="plain")
        journal.add(
            [{"kind": "row", "run": journal.run, "key": "k", **row("D", "a", 1.0, study="s")}]
        )
        journal.add([{"kind": "failure", "run": journal.run, **failure("D", "b", "second")}])
    found = {line["method"]: line["message"] for line in read_failures(path)}
    assert found == {"c": "first", "b": "second"}
    assert {line["table"] for line in read_failures(path)} == {"plain"}


def test_a_table_of_ones_own(monkeypatch):
    monkeypatch.setattr(tables, "_PRESENTATIONS", dict(tables._PRESENTATIONS))
    rows = [row("A", "m", 2.0, table="tests only")]
    message = r"table must be one of \[.*'comparison', .*got 'tests only'"
    with pytest.raises(ValueError, match=message):
        table_of(rows)
    register_table(
        "tests only",
        lambda rows, failures: Table("best", ["n"], [[Cell(str(len(rows)), len(rows))]], []),
    )
    assert table_of(rows).rows == [[Cell("1", 1)]]
    assert tables.drawings_of(rows) == []


def test_numbers_sort_by_their_value():
    rows = [
        row("A", f"m{cells}", 1.0, cells=cells, fit_seconds=0.1, predict_seconds=0.1)
        for cells in (2.05e9, 3.12e6, 9e11)
    ]  # fmt: skip
    details = tables.details_table(rows)
    column = details.columns.index("cells")
    cells = sorted((line[column] for line in details.rows), key=lambda cell: cell.value)
    assert [cell.text for cell in cells] == ["3.12e+06", "2.05e+09", "9e+11"]


ELASTICITY = [
    row(
        name, f"w={w}", share + trial, trial,
        study="elasticity", table="elasticity", parameters={"elasticity": w},
    )
    for name in ("ECG200", "GunPoint")
    for w, share in (("300%", 3.0), (0.0, 0.0))
    for trial in (0, 1)
]  # fmt: skip


def test_elasticity_table_and_figure():
    table = table_of(ELASTICITY)
    assert table.columns == ["w", "ECG200", "GunPoint"]
    assert table.texts() == [["0", "0.5 ±0.7", "0.5 ±0.7"], ["3", "3.5 ±0.7", "3.5 ±0.7"]]
    assert [line[0].value for line in table.rows] == [0.0, 3.0]
    pytest.importorskip("matplotlib")
    (drawing,) = tables.drawings_of(ELASTICITY)
    figure = drawing.figure()
    assert [axis.get_title() for axis in figure.axes] == ["ECG200", "GunPoint"]
    for axis in figure.axes:
        assert [tick.get_text() for tick in axis.get_xticklabels()] == ["0", "3"]
        (line, *_), *_ = axis.containers
        assert list(line.get_ydata()) == [0.5, 3.5]
    with pytest.raises(ValueError, match="needs shares of the length.*got elasticity=5"):
        table_of([row("A", "w", 1.0, table="elasticity", parameters={"elasticity": 5})])


def test_the_name_of_a_study_does_not_matter():
    renamed = [{**each, "study": "mine"} for each in ELASTICITY]
    assert table_of(renamed) == table_of(ELASTICITY)


STORED = Path(__file__).parents[1] / "results"


@pytest.mark.skipif(not STORED.is_dir(), reason="no stored results beside the tests")
@pytest.mark.parametrize("name", ["comparison", "elasticity", "beyond", "deep"])
def test_stored_results_can_be_shown(name):
    rows = read_rows(STORED / f"{name}.jsonl")
    table = table_of(rows, read_failures(STORED / f"{name}.jsonl"))
    assert len(table.rows) > 10
    assert all(cell.value is not None for line in table.rows for cell in line[1:2])
    assert {line["estimator"] for line in rows} <= set(catalogue.ESTIMATORS)
