"""Studies: read strictly, carried out in parts, and never lost."""

import _thread
import errno
import json
import os
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import replace
from importlib.util import find_spec
from io import StringIO

import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold

import warplearn
from warplearn import ElasticGridSearchCV, SeriesCollection
from warplearn.catalogue import estimator_class
from warplearn.experiments import (
    Data,
    JournalError,
    Study,
    StudyError,
    collect,
    finished,
    read_failures,
    read_rows,
    read_views,
    run,
)
from warplearn.experiments import journal as journals
from warplearn.experiments import progress as displays
from warplearn.experiments.claims import BusyError, Claims
from warplearn.experiments.jobs import all_jobs
from warplearn.experiments.journal import Journal, read_lines, views_path
from warplearn.experiments.trials import choose, folds_of
from warplearn.experiments.workers import Workers

SMALL = {
    "name": "small",
    "datasets": ["WarpedBumps"],
    "trials": 3,
    "seed": 5,
    "methods": [
        {
            "name": "perceptron",
            "estimator": "ElasticPerceptron",
            "parameters": {"max_iter": 20, "polarity": "first"},
            "grid": {"learning_rate_init": [1.0, 0.01]},
            "selecting": {"max_iter": 5},
        }
    ],
}
FIXED = [
    {
        "name": "plain",
        "estimator": "ElasticPerceptron",
        "parameters": {"max_iter": 5, "polarity": "first"},
    }
]


def changed(**entries):
    return {**SMALL, **entries}


@pytest.fixture(scope="module")
def bumps():
    return Data.load("WarpedBumps")


@pytest.fixture(scope="module")
def small_run(tmp_path_factory, bumps):
    """The small study, carried out once."""
    path = tmp_path_factory.mktemp("small") / "rows.jsonl"
    assert run(Study.of(SMALL), [bumps], path, n_jobs=1, progress=silent()) == []
    return path


def silent():
    return displays.PlainProgress(StringIO())


# The spec.


def test_shipped_studies_are_the_papers():
    elasticity, comparison = Study.read("elasticity"), Study.read("comparison")
    ratios = [method.parameters["elasticity"] for method in elasticity.methods]
    assert ratios == [0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.75, "100%", "200%", "300%"]
    assert (elasticity.table, comparison.table) == ("elasticity", "comparison")
    for study in (elasticity, comparison):
        polarities = {m.parameters.get("polarity") for m in study.methods if m.grid}
        assert polarities == {"first"}
    assert elasticity.methods[1].name == "w=0.05"
    rates = (1, 0.7, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001)
    assert {tuple(method.grid["learning_rate_init"]) for method in elasticity.methods} == {rates}
    assert (elasticity.trials, elasticity.protocol.select) == (30, "training error")

    assert comparison.trials == 100
    grids = {method.name: method.grid for method in comparison.methods if method.grid}
    assert list(grids) == ["ePERC", "eLOGR", "eMARG", "eLSVM"]
    for grid in grids.values():
        assert sorted(grid["learning_rate_init"]) == [2.0**k for k in range(-10, 1)]
    assert np.allclose(grids["eMARG"]["margin"], 10.0 ** np.arange(-7, 2), rtol=1e-12)
    assert list(grids["eLSVM"]["alpha"]) == [2.0**k for k in range(-10, 0)]
    assert [len(method.candidates()) for method in comparison.methods] == [1, 1, 1, 11, 11, 99, 110]
    assert len(comparison.datasets) == 13  # Coffee in both versions


def test_studies_beyond_the_paper_are_on_its_sets():
    comparison, beyond = Study.read("comparison"), Study.read("beyond")
    assert set(comparison.datasets) - set(beyond.datasets) == {"Yoga"}
    assert [method.estimator for method in beyond.methods] == [
        "ElasticFeatureClassifier",
        "ElasticMLPClassifier",
    ]
    if find_spec("torch") is None:
        with pytest.raises(StudyError, match=r"ElasticConvNetClassifier cannot be used.*\[torch\]"):
            Study.read("deep")
    else:
        assert Study.read("deep").datasets == beyond.datasets


@pytest.mark.parametrize(
    ("estimator", "parameters"),
    [
        ("ElasticFeatureClassifier", {"n_filters": 64}),
        ("ElasticMLPClassifier", {"hidden_layer_sizes": (4,), "elasticity": 3, "max_iter": 3}),
    ],
)
def test_methods_without_lanes(tmp_path, bumps, estimator, parameters):
    method = {"name": "it", "estimator": estimator, "parameters": parameters}
    study = Study.of(changed(methods=[method], trials=2))
    path = tmp_path / "rows.jsonl"
    assert run(study, [bumps], path, n_jobs=1, progress=silent()) == []
    rows = read_rows(path)
    assert [row["trial"] for row in rows] == [0, 1]
    model = estimator_class(estimator)(**parameters, random_state=rows[1]["seed"])
    model.fit(bumps.X[bumps.train], bumps.y[bumps.train])
    wrong = model.predict(bumps.X[bumps.test]) != bumps.y[bumps.test]
    assert rows[1]["error"] == pytest.approx(100 * wrong.mean(), abs=1e-3)


def test_of_equals_the_largest_rate_comes_first():
    first, second = Study.of(SMALL).methods[0].candidates()
    assert (first, second) == ({"learning_rate_init": 1.0}, {"learning_rate_init": 0.01})


def test_quick_is_smaller_and_only_selects():
    study = Study.read("comparison")
    quick = study.quick()
    assert quick.trials == 5
    assert set(quick.datasets) < set(study.datasets)
    assert [len(method.candidates()) for method in quick.methods[3:]] == [4, 4, 12, 16]
    some = study.only(["Coffee"], ["eLSVM", "NN+ALL"])
    assert some.datasets == ("Coffee",)
    assert [method.name for method in some.methods] == ["eLSVM", "NN+ALL"]
    with pytest.raises(StudyError, match="methods must be among .*got 'SVM'"):
        study.only(methods=["SVM"])


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"name": "x"}, "'datasets' is missing"),
        (changed(methodz=[]), "no key 'methodz'"),
        (changed(name=""), "name must be a text, got ''"),
        (changed(trials=0), "trials must be an integer of at least 1, got 0"),
        (changed(trials=True), "trials must be an integer"),
        (changed(seed=-1), "seed must be an integer of at least 0, got -1"),
        (changed(datasets="GunPoint"), "datasets must be a list of names, got 'GunPoint'"),
        (changed(datasets=[]), "datasets must be a list of names"),
        (changed(datasets=["A", "A"]), "got 'A' twice"),
        (changed(methods=[]), "methods must be a list of tables"),
        (changed(methods=["eLSVM"]), "methods[0] must be a table, got 'eLSVM'"),
        (changed(methods=[{"name": "a"}]), "in methods[0], the key 'estimator' is missing"),
        (changed(methods=[{"name": "a", "estimator": "SVC"}]), "estimator must be one of"),
        (changed(methods=FIXED * 2), "got 'plain' twice"),
        (changed(protocol={"folds": 1}), "protocol.folds must be an integer of at least 2, got 1"),
        (changed(protocol={"select": "best"}), "protocol.select must be one of"),
        (changed(protocol={"fold": 3}), "in protocol, there is no key 'fold'"),
        (changed(methods=[{**FIXED[0], "grid": {"learning_rate_init": 1}}]), "grid.learning_rate_init must be a list of values"),
        (changed(methods=[{**FIXED[0], "grid": {"zeta": [1]}}]), "grid.zeta is no parameter of"),
        (changed(methods=[{**FIXED[0], "parameters": {"random_state": 1}}]), "seeds of their own"),
        (changed(methods=[{**FIXED[0], "name": "w={m}", "vary": {"learning_rate_init": [1]}}]), "filled in"),
        (changed(methods=[{"name": "k", "estimator": "ElasticKMeans"}]), "estimator must be one of"),
        (changed(table="round"), "table must be one of ['archive', 'comparison', 'elasticity', 'plain']"),
        (changed(views=["eLOGR"]), "views must be among ['perceptron'], got 'eLOGR'"),
        (
            changed(views=["n"], methods=[{"name": "n", "estimator": "DTWNeighborsClassifier"}]),
            "views cannot show DTWNeighborsClassifier, got 'n'",
        ),
        (changed(reduced={"thin": 0}), "reduced.thin must be"),
    ],
)  # fmt: skip
def test_mistakes_in_a_study_are_named(table, message):
    with pytest.raises(StudyError) as caught:
        Study.of(table, "my.toml")
    assert message in str(caught.value)
    assert str(caught.value).startswith("my.toml: ")


def test_toml_files(tmp_path):
    file = tmp_path / "own.toml"
    file.write_text(
        'name = "own"\ndatasets = ["A"]\n[[methods]]\nname = "e={learning_rate_init}"\n'
        'estimator = "ElasticAdaline"\nvary.learning_rate_init = [0.1, 0.2]\n'
    )
    study = Study.read(file)
    assert [(method.name, method.parameters) for method in study.methods] == [
        ("e=0.1", {"learning_rate_init": 0.1}),
        ("e=0.2", {"learning_rate_init": 0.2}),
    ]
    file.write_text("name = ")
    with pytest.raises(StudyError, match="own.toml is not valid TOML"):
        Study.read(file)
    file.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(StudyError, match="not a text file"):
        Study.read(file)
    with pytest.raises(StudyError, match="demo, elasticity or a TOML file, got 'nope'"):
        Study.read("nope")


# The data.


def test_built_in_sets_stand_in(tmp_path, monkeypatch):
    monkeypatch.delenv("WARPLEARN_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    study = Study.of(changed(datasets=["NoSuchSet"], builtin=["WarpedBumps"]))
    found = collect(study)
    assert found.replaced
    assert [(each.name, each.source) for each in found.data] == [("WarpedBumps", "built-in")]
    assert "NoSuchSet_TRAIN" in found.missing["NoSuchSet"]
    assert collect(replace(study, builtin=())).data == []


def test_fingerprints_are_of_content(bumps):
    assert bumps.fingerprint == Data.load("WarpedBumps").fingerprint
    values = bumps.X.values.copy()
    values[0, 0, 0] += 1
    other = replace(bumps, X=SeriesCollection(values, bumps.X.lengths))
    assert other.fingerprint != bumps.fingerprint
    assert replace(bumps, y=bumps.y[::-1]).fingerprint != bumps.fingerprint
    assert replace(bumps, n_train=bumps.n_train - 1).fingerprint != bumps.fingerprint


def test_a_set_without_test_file_is_cross_validated(tmp_path, bumps):
    from warplearn import datasets

    train = bumps.X[bumps.train]
    datasets.write_tsv(tmp_path / "Half_TRAIN.tsv", train, bumps.y[bumps.train])
    data = Data.load("Half", tmp_path)
    assert (data.source, len(data.test), data.n_train) == ("files", 0, bumps.n_train)
    study = Study.of(changed(methods=FIXED, protocol={"folds": 3, "rounds": 2}))
    run(study, [data], tmp_path / "rows.jsonl", n_jobs=1, progress=silent())
    rows = read_rows(tmp_path / "rows.jsonl")
    assert [row["trial"] for row in rows] == [0, 1]  # as many as rounds
    assert {row["protocol"] for row in rows} == {"3-fold cross-validation"}
    wrong = 0
    for fold in folds_of(data, study.protocol, 6):
        model = warplearn.ElasticPerceptron(**rows[1]["parameters"], random_state=6)
        model.fit(data.X[fold.train], data.y[fold.train])
        wrong += (model.predict(data.X[fold.test]) != data.y[fold.test]).sum()
    assert rows[1]["error"] == pytest.approx(100 * wrong / data.n_train, abs=1e-3)


# Running.


def test_rows_say_all(small_run, bumps):
    rows = read_rows(small_run)
    length = bumps.X.max_length
    grid = length * -(-length // 10)
    assert [row["trial"] for row in rows] == [0, 1, 2]
    for row in rows:
        assert row["seed"] == 5 + row["trial"]
        assert (row["study"], row["dataset"], row["method"]) == (
            "small",
            "WarpedBumps",
            "perceptron",
        )
        assert (row["source"], row["protocol"]) == ("built-in", "test")
        assert row["versions"]["warplearn"] == warplearn.__version__
        assert "cores" in row["machine"]
        assert row["fit_seconds"] > 0 < row["predict_seconds"]
        assert row["predict_cells"] == len(bumps.test) * grid
        assert row["cells"] > row["predict_cells"]
        assert row["cells"] % grid == 0
    assert small_run.stat().st_size < 600 * (len(rows) + 3)


def test_a_trial_can_be_repeated_by_hand(small_run, bumps):
    for row in read_rows(small_run):
        model = getattr(warplearn, row["estimator"])(**row["parameters"], random_state=row["seed"])
        model.fit(bumps.X[bumps.train], bumps.y[bumps.train])
        wrong = (model.predict(bumps.X[bumps.test]) != bumps.y[bumps.test]).mean()
        assert row["error"] == pytest.approx(100 * wrong, abs=1e-3)
        wrong = (model.predict(bumps.X[bumps.train]) != bumps.y[bumps.train]).mean()
        assert row["train_error"] == pytest.approx(100 * wrong, abs=1e-3)
        epochs = model.solutions_[0].n_epochs
        grid = model.coef_[0].size
        assert row["cells"] == 2 * epochs * bumps.n_train * grid + row["predict_cells"]


def test_choice_is_that_of_a_grid_search(bumps):
    study = Study.of(SMALL)
    (method,) = study.methods
    choice = choose(method, bumps, study.protocol, 5)
    X, y = bumps.X[bumps.train], bumps.y[bumps.train]
    sign = "+" if y[0] == 1 else "-"
    search = ElasticGridSearchCV(
        warplearn.ElasticPerceptron(max_iter=5, polarity=sign, random_state=5),
        {"learning_rate_init": [1.0, 0.01]},
        cv=StratifiedKFold(10, shuffle=True, random_state=5),
        refit=False,
    ).fit(X, y)
    assert choice.parameters == search.best_params_
    assert choice.error == pytest.approx(100 * (1 - search.best_score_))
    assert choice.fits == 20


def test_polarity_is_that_of_the_first_training_series(small_run, bumps):
    for data in (bumps, replace(bumps, y=-bumps.y)):
        study = Study.of(changed(methods=FIXED))
        jobs = list(all_jobs(study, [data]))
        from warplearn.experiments.trials import fixed_parameters

        sign = fixed_parameters(jobs[0].method, data)["polarity"]
        assert sign == ("+" if data.y[0] == 1 else "-")


def test_few_series_are_left_out_one_by_one(bumps):
    few = replace(bumps, n_train=12)
    assert len(folds_of(few, Study.of(SMALL).protocol, 0)) == 12
    assert len(folds_of(bumps, Study.of(SMALL).protocol, 0)) == 10


def test_what_is_finished_is_not_computed_again(small_run, bumps, tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_bytes(small_run.read_bytes())
    run(Study.of(SMALL), [bumps], path, n_jobs=1, progress=silent())
    assert path.read_bytes() == small_run.read_bytes()
    more = Study.of(changed(trials=5))
    run(more, [bumps], path, n_jobs=1, progress=silent())
    assert path.read_bytes().startswith(small_run.read_bytes())
    assert [row["trial"] for row in finished(more, [bumps], path)] == [0, 1, 2, 3, 4]
    assert len(read_lines(path, "choice")) == 1
    other = Study.of(changed(seed=6))
    assert finished(other, [bumps], path) == []
    assert finished(more, [replace(bumps, n_train=bumps.n_train - 1)], path) == []


def test_parameters_chosen_by_training_error(bumps, tmp_path):
    method = {
        "name": "p",
        "estimator": "ElasticPerceptron",
        "parameters": {"max_iter": 2},
        "grid": {
            "learning_rate_init": [1e-9, 1.0]
        },  # with the first, weights stay as they were drawn
    }
    study = Study.of(changed(methods=[method], protocol={"select": "training error"}, trials=2))
    run(study, [bumps], tmp_path / "rows.jsonl", n_jobs=1, progress=silent())
    rows = read_rows(tmp_path / "rows.jsonl")
    assert [row["parameters"]["learning_rate_init"] for row in rows] == [1.0, 1.0]
    assert read_lines(tmp_path / "rows.jsonl", "choice") == []


def test_grids_are_for_any_estimator(bumps, tmp_path):
    method = {
        "name": "nn",
        "estimator": "DTWNeighborsClassifier",
        "grid": {"n_neighbors": [29, 1]},
    }
    small = replace(bumps, n_train=40)
    study = Study.of(changed(methods=[method], trials=1, protocol={"folds": 4}))
    run(study, [small], tmp_path / "rows.jsonl", n_jobs=1, progress=silent())
    (choice,) = read_lines(tmp_path / "rows.jsonl", "choice")
    assert choice["parameters"] == {"n_neighbors": 1}
    assert choice["fits"] == 8
    (row,) = read_rows(tmp_path / "rows.jsonl")
    assert row["parameters"] == {"n_neighbors": 1}
    lengths = small.X.lengths
    assert row["predict_cells"] == lengths[small.test].sum() * lengths[small.train].sum()


def test_views_are_stored_by_the_run(bumps, tmp_path):
    path = tmp_path / "rows.jsonl"
    study = Study.of(changed(methods=FIXED, trials=2, views=["plain"]))
    run(study, [bumps], path, n_jobs=1, progress=silent())
    (line,) = read_views(path)
    assert (line["study"], line["dataset"], line["method"]) == ("small", "WarpedBumps", "plain")
    view, row = line["view"], read_rows(path)[0]
    assert (view["name"], view["model"], view["heldOut"]) == (
        "WarpedBumps",
        "ElasticPerceptron",
        True,
    )
    # It is the model of the first trial.
    assert view["mistakes"] == pytest.approx(row["error"] / 100 * len(bumps.test), abs=1e-2)
    before = path.read_bytes(), views_path(path).read_bytes()
    run(study, [bumps], path, n_jobs=1, progress=silent())
    assert (path.read_bytes(), views_path(path).read_bytes()) == before
    views_path(path).write_bytes(before[1][:-100])  # as if killed in the middle of a write
    run(study, [bumps], path, n_jobs=1, progress=silent())
    assert read_views(path) == [line]
    assert len(read_rows(path)) == 2


def test_threads_find_the_same(small_run, bumps, tmp_path):
    methods = [*SMALL["methods"], *FIXED]
    study = Study.of(changed(methods=methods))
    run(study, [bumps], tmp_path / "rows.jsonl", n_jobs=2, progress=silent())
    rows = finished(study, [bumps], tmp_path / "rows.jsonl")
    assert len(rows) == 6
    assert [row["error"] for row in rows[:3]] == [row["error"] for row in read_rows(small_run)]


def test_a_job_that_fails_does_not_stop_the_others(bumps, tmp_path):
    values = bumps.X.values[:40, :, 0]
    series = [*values[:30, :50], *values[30:]]  # tested on longer ones than trained on
    odd = Data("Odd", "files", SeriesCollection.of(series), bumps.y[:40], 30)
    study, shown = Study.of(changed(methods=FIXED)), StringIO()
    failed = run(
        study, [odd, bumps], tmp_path / "rows.jsonl", n_jobs=1,
        progress=displays.PlainProgress(shown),
    )  # fmt: skip
    (failure,) = failed
    assert (failure["dataset"], failure["method"]) == ("Odd", "plain")
    assert "longer than" in failure["message"]
    assert f"Odd plain: failed: {failure['message']}" in shown.getvalue()
    assert len(read_rows(tmp_path / "rows.jsonl")) == 3
    (line,) = read_failures(tmp_path / "rows.jsonl")
    assert (line["message"], line["estimator"]) == (failure["message"], "ElasticPerceptron")
    # A later run tries again, and what it finds replaces the failure.
    mended = replace(odd, X=bumps.X[:40])
    assert run(study, [mended], tmp_path / "rows.jsonl", progress=silent()) == []
    assert read_failures(tmp_path / "rows.jsonl") == []


def test_an_interrupt_is_passed_on_to_the_threads():
    begun, ended = [], []

    def work(job, stop):
        begun.append(job)
        try:
            while True:  # as a kernel after the other
                time.sleep(0.01)
        finally:
            ended.append((job, stop.is_set()))

    timer = threading.Timer(0.3, _thread.interrupt_main)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        Workers(2, work).run(range(5))
    assert sorted(begun) == [0, 1]  # no more jobs were begun
    assert sorted(ended) == [(0, True), (1, True)]


def test_threads_that_do_not_end_are_waited_for_as_long_as_said():
    over = threading.Event()

    def work(job, stop):
        while not over.is_set():
            with suppress(KeyboardInterrupt):
                time.sleep(0.01)

    threading.Timer(0.2, _thread.interrupt_main).start()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        Workers(1, work, grace=0.3).run([0])
    assert 0.4 < time.monotonic() - start < 5
    over.set()


def test_an_error_in_a_thread_is_not_swallowed(bumps, tmp_path, monkeypatch):
    def broken(*_):
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr("warplearn.experiments.runner.run_trials", broken)
    with pytest.raises(ZeroDivisionError, match="a bug"):
        run(Study.of(changed(methods=FIXED)), [bumps], tmp_path / "r.jsonl", progress=silent())


# The file.


def a_row(key, **others):
    return {
        "kind": "row", "run": "r", "study": "s", "dataset": "D", "method": "m", "trial": 0,
        "error": 2.5, "train_error": 0.0, "parameters": {}, "source": "built-in",
        "protocol": "test", "key": key, **others,
    }  # fmt: skip


def test_torn_lines_are_cut_off_wherever_they_are_torn(tmp_path):
    path = tmp_path / "rows.jsonl"
    with Journal(path) as journal:
        journal.begin(study="x")
        journal.add([a_row("a", run=journal.run)])
    whole = path.read_bytes()
    last = json.dumps(a_row("b")).encode() + b"\n"
    for cut in range(len(last)):
        path.write_bytes(whole + last[:cut])
        assert [row["key"] for row in read_rows(path)] == ["a"]  # reading repairs nothing
        assert path.read_bytes() == whole + last[:cut]
        with Journal(path) as journal:
            assert journal.repaired == cut
            assert list(journal.lines) == ["a"]
        assert path.read_bytes() == whole
    path.write_bytes(whole + last)
    assert [row["key"] for row in read_rows(path)] == ["a", "b"]


@pytest.mark.parametrize(
    "content", [b"hello", b"1\t2\t3\n", b'{"a": 1}\n', b"[1]\n", b"\xff\xfe\n", b'{"kind": "x"}\n']
)
def test_other_files_are_left_alone(tmp_path, content):
    path = tmp_path / "precious.txt"
    path.write_bytes(content)
    with pytest.raises(JournalError, match="precious.txt"):
        Journal(path)
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ({"kind": "row"}, "line 2 has kind 'row', and run is missing"),
        ({**a_row("b"), "error": "2.5"}, "line 2 has kind 'row', and error is wrong"),
        ({**a_row("b"), "error": float("inf")}, "line 2 has kind 'row', and error is wrong"),
        ({**a_row("b"), "train_error": 10**400}, "has kind 'row', and train_error is wrong"),
        ({**a_row("b"), "estimator": []}, "line 2 has kind 'row', and estimator is wrong"),
        ({**a_row("b"), "fit_seconds": "1"}, "line 2 has kind 'row', and fit_seconds is wrong"),
        ({**a_row("b"), "trial": True}, "line 2 has kind 'row', and trial is wrong"),
        ({"kind": "failure", "run": "r", "study": "s"}, "line 2 has kind 'failure', and dataset"),
        ({"kind": "end", "run": "r"}, "line 2 has kind 'end', and seconds is missing"),
        ({"kind": "run"}, "line 2 has kind 'run', and run is missing"),
        ({"kind": ["row"]}, "line 2 is no line"),
        ({"kind": {}}, "line 2 is no line"),
    ],
)
def test_lines_without_their_fields_are_named(tmp_path, line, problem):
    path = tmp_path / "rows.jsonl"
    content = "".join(json.dumps(each) + "\n" for each in (a_row("a"), line))
    path.write_text(content)
    for read in (Journal, read_rows, read_failures):
        with pytest.raises(JournalError, match=problem):
            read(path)
    assert path.read_text() == content


@pytest.mark.parametrize("line", ["[" * 100_000, '{"kind": "row", "trial": ' + "9" * 5000 + "}"])
def test_lines_nested_or_numbers_without_end_are_refused(line, tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text(line + "\n")
    with pytest.raises(JournalError, match="line 1"):
        Journal(path)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such locks")
@pytest.mark.parametrize("torn", [1, 40, 5000, 70_000])
def test_what_another_process_left_torn_is_cut_off_before_lines_are_added(tmp_path, torn):
    path = tmp_path / "rows.jsonl"
    with Journal(path) as journal:
        journal.add([a_row("a")])
        with path.open("ab") as other:  # dies in the middle of a line
            other.write((json.dumps(a_row("b", x="y" * 80_000)) + "\n").encode()[:torn])
        journal.add([a_row("c")])
        journal.add([a_row("d")])
    assert [row["key"] for row in read_rows(path)] == ["a", "c", "d"]


def test_a_full_disk_leaves_whole_lines(tmp_path, monkeypatch):
    def full(file, data):
        if len(data) < 20:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(file, data[: len(data) // 2])

    write = os.write
    with Journal(tmp_path / "rows.jsonl") as journal:
        journal.add([a_row("a")])
        monkeypatch.setattr(os, "write", full)
        with pytest.raises(OSError, match="space"):
            journal.add([a_row("b")])
        monkeypatch.undo()
        assert (tmp_path / "rows.jsonl").read_bytes().endswith(b"}\n")
        journal.add([a_row("c")])
    assert [row["key"] for row in read_rows(tmp_path / "rows.jsonl")] == ["a", "c"]


CLAIM = """
import sys
from warplearn.experiments.claims import Claims
with Claims(sys.argv[1], sys.argv[2:]):
    print("claimed", flush=True)
    sys.stdin.read()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such locks")
def test_two_processes_may_not_do_the_same(tmp_path):
    path = tmp_path / "rows.jsonl"
    command = [sys.executable, "-c", CLAIM, str(path), "a", "b"]
    with subprocess.Popen(command, stdin=-1, stdout=-1) as other:
        assert other.stdout.readline() == b"claimed\n"
        with pytest.raises(BusyError, match="another process is computing 'b'"):
            Claims(path, ["c", "b"])
        with Claims(path, ["c", "d"]):
            pass
        with Claims(path, ["c"]):  # what was claimed is free again
            other.kill()  # and so is what a dead process had
            other.wait()
            with Claims(path, ["a"]):
                pass
    Claims(path, []).release()
    assert list(tmp_path.iterdir()) == []


def test_threads_write_whole_lines(tmp_path):
    with Journal(tmp_path / "rows.jsonl") as journal:

        def write(worker):
            for number in range(50):
                journal.add([a_row(f"{worker} {number}")])

        workers = [threading.Thread(target=write, args=(worker,)) for worker in range(4)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    assert len(read_rows(tmp_path / "rows.jsonl")) == 200


def test_two_processes_may_write(tmp_path):
    code = (
        "import sys, json; from warplearn.experiments.journal import Journal\n"
        "row = json.loads(sys.argv[3])\n"
        "for n in range(30):\n"
        "    with Journal(sys.argv[1]) as journal:\n"  # opened while the other writes
        "        journal.add([{**row, 'key': f'{sys.argv[2]} {n}', 'x': 'y' * 9999}])"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "rows.jsonl")]
    both = [subprocess.Popen([*command, name, json.dumps(a_row(""))]) for name in ("a", "b")]
    assert [process.wait(60) for process in both] == [0, 0]
    assert len(read_rows(tmp_path / "rows.jsonl")) == 60


def test_numbers_of_numpy_are_written_and_other_things_refused(tmp_path):
    with Journal(tmp_path / "rows.jsonl") as journal:
        journal.add([a_row("k", error=np.float64(1.5))])
        with pytest.raises(TypeError, match="set cannot be written as JSON"):
            journal.add([{"kind": "row", "key": set()}])
    (row,) = read_rows(tmp_path / "rows.jsonl")
    assert row["error"] == 1.5
    with pytest.raises(FileNotFoundError, match="no file of results"):
        read_rows(tmp_path / "nothing.jsonl")


def test_versions_name_what_is_missing(monkeypatch):
    monkeypatch.setattr(journals, "_PACKAGES", ("numpy", "no-such-package"))
    found = journals.describe_versions()
    assert found["no-such-package"] == "not installed"
    assert found["numpy"] == np.__version__


def test_totals_of_a_run(small_run):
    from warplearn.experiments.results import totals

    (end,) = read_lines(small_run, "end")
    counted = [line["cells"] for kind in ("row", "choice") for line in read_lines(small_run, kind)]
    assert end["cells"] == sum(counted) == totals(small_run).cells
    assert "billion a second" in str(totals(small_run)._replace(seconds=60.0))


# Progress.


def test_time_left():
    now = iter([0.0, 10.0, 30.0, 50.0])
    clock = displays.Clock(lambda: next(now))
    clock.begin(100.0, 20.0)
    assert clock.left() is None
    clock.done = 60.0  # 40 of 80 in 20 seconds
    assert clock.left() == 20.0
    assert displays.in_words(20.0) == "about 20 s left"
    assert displays.in_words(600.0) == "about 10 min left"
    assert displays.in_words(None) == "time left unknown yet"


def test_lines_where_there_is_no_terminal(bumps, tmp_path):
    stream = StringIO()
    shown = displays.progress_for(stream)
    assert isinstance(shown, displays.PlainProgress)
    run(Study.of(changed(methods=FIXED)), [bumps], tmp_path / "r.jsonl", progress=shown)
    (line,) = stream.getvalue().splitlines()
    assert line.startswith("WarpedBumps plain: error ")
    assert line.endswith("[3 of 3 trials, about 0 s left]")


def test_a_live_display_on_a_terminal(bumps, tmp_path):
    console = pytest.importorskip("rich.console")

    class Terminal(StringIO):
        def isatty(self):
            return True

    stream = Terminal()
    assert isinstance(displays.progress_for(stream), displays.RichProgress)
    screen = console.Console(file=stream, force_terminal=True, width=100)
    run(
        Study.of(changed(methods=FIXED)), [bumps], tmp_path / "r.jsonl",
        progress=displays.RichProgress(screen),
    )  # fmt: skip
    assert "WarpedBumps plain: error" in stream.getvalue()
    assert "3/3 trials, about 0 s left" in stream.getvalue()
