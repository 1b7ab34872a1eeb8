"""Tables beside the paper's."""

import pytest

from warplearn.experiments import results
from warplearn.experiments.results import Comparison, Entry


def row(dataset, method, error, trial=0, **others):
    return {
        "study": "comparison", "dataset": dataset, "method": method, "trial": trial,
        "error": error, "train_error": 0.0, "source": "ucr", "protocol": "test",
        "parameters": {}, **others,
    }  # fmt: skip


def test_the_papers_reading_follows_from_the_papers_numbers():
    printed = results.paper_errors(corrected=False)
    names = dict.fromkeys(name for name, _ in printed)
    colours = [
        results.reading({m: entry.mean for (of, m), entry in printed.items() if of == name})
        for name in names
    ]
    assert len(names) == 12
    assert colours == ["green"] * 5 + ["yellow"] * 2 + ["red"] * 5


def test_the_swapped_column_is_put_right():
    printed, right = results.paper_errors(corrected=False), results.paper_errors()
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
    old, new = results.compare([row("Coffee2011", "NN+ALL", 17.9), row("Coffee", "NN+ALL", 0.0)])
    assert old.paper == Entry(17.9, 0.0, 1)
    assert new.paper is None
    assert not new.differs


def test_table():
    rows = [
        row("GunPoint", "eLSVM", 9.0), row("GunPoint", "NN+ALL", 12.0),
        row("Yoga", "eLSVM", 20.0, protocol="10-fold cross-validation"),
        row("WarpedBumps", "eLSVM", 1.0, source="built-in"),
    ]  # fmt: skip
    table = results.table_of(rows)
    assert table.columns == ["data set", "NN+ALL", "eLSVM", "reading"]
    assert table.rows == [
        ["GunPoint", "12.0 * (9.3)", "9.0 (9.0 ±2.8)", "green (yellow)"],
        ["Yoga †", "", "20.0 * (20.8 ±1.1)", ""],
        ["WarpedBumps", "", "1.0", ""],
    ]
    shown = table.markdown()
    assert shown.startswith("| data set | NN+ALL | eLSVM | reading |\n| --- | --- | --- | --- |\n")
    assert "1 of 1 elastic entries are better" in shown
    assert "0 of 1 entries of NN+ALL" in shown
    assert "† Yoga has no test series here: 10-fold cross-validation" in shown
    assert "Generated data, not the archive's: WarpedBumps." in shown
    assert "0 of 1 data sets have the paper's reading" in shown
    with pytest.raises(ValueError, match="no trials"):
        results.table_of([])


def test_means_are_over_the_papers_sets_that_all_methods_have():
    rows = [
        row("GunPoint", "eFEAT", 1.0), row("GunPoint", "eMLP", 4.0),
        row("Coffee2011", "eFEAT", 2.0), row("Coffee2011", "eMLP", 5.0),
        row("Coffee", "eFEAT", 9.0), row("Coffee", "eMLP", 9.0),
        row("Wafer", "eFEAT", 50.0),
    ]  # fmt: skip
    table = results.table_of(rows)
    assert table.columns == ["data set", "eFEAT", "eMLP"]  # nothing to read without neighbours
    assert [line[0] for line in table.rows] == ["Coffee2011", "Coffee", "Wafer", "GunPoint"]
    mean = "Mean over 2 of the paper's sets, not Coffee, Wafer: eFEAT 1.50, eMLP 4.50."
    assert mean in table.notes
    assert not any("data sets have the paper's reading" in note for note in table.notes)


ELASTICITY = [
    row(name, f"w={w}", w + trial, trial, study="elasticity", parameters={"elasticity": w})
    for name in ("ECG200", "GunPoint")
    for w in (3.0, 0.0)
    for trial in (0, 1)
]


def test_elasticity_table_and_figure():
    table = results.table_of(ELASTICITY)
    assert table.columns == ["w", "ECG200", "GunPoint"]
    assert table.rows == [["0", "0.5 ±0.7", "0.5 ±0.7"], ["3", "3.5 ±0.7", "3.5 ±0.7"]]
    pytest.importorskip("matplotlib")
    figure = results.plot_elasticity(ELASTICITY)
    assert [axis.get_title() for axis in figure.axes] == ["ECG200", "GunPoint"]
    for axis in figure.axes:
        assert [tick.get_text() for tick in axis.get_xticklabels()] == ["0", "3"]
        (line, *_), *_ = axis.containers
        assert list(line.get_ydata()) == [0.5, 3.5]
