"""Every command does what the library does, and mistakes get a message and no traceback."""

import builtins
import io
import json
import os
import re
import subprocess
import sys
import time
import warnings

import numpy as np
import pandas as pd
import pytest
from rich.console import Console
from typer.testing import CliRunner

import warplearn
from warplearn import cli, datasets, elastic_mean, experiments
from warplearn.catalogue import commands, estimator_class
from warplearn.cli import (
    benching,
    common,
    demo,
    drawing,
    playing,
    prediction,
    progress,
    studies,
    terminal,
    training,
)
from warplearn.cli.storage import load_model
from warplearn.experiments import read_rows, read_views
from warplearn.experiments.progress import PlainProgress, RichProgress

PLAIN = {"COLUMNS": "80", "NO_COLOR": "1", "FORCE_COLOR": None, "TERM": "dumb"}


def run(*arguments, stdin=None):
    """What the command line answers, on a terminal of 80 columns without colours."""
    return CliRunner().invoke(cli.application(), [str(a) for a in arguments], stdin, env=PLAIN)


def answer(*arguments, stdin=None):
    """What a command prints as JSON."""
    result = run(*arguments, "--json", stdin=stdin)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def words(result):
    """All that was printed, without the boxes around it."""
    return " ".join(re.sub(r"[│╭╮╰╯─\n]", " ", result.output).split())


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A model that `fit` wrote."""
    path = tmp_path_factory.mktemp("model") / "model.warp"
    result = run(
        "fit", "WarpedBumps", "-m", "logistic", "-o", path,
        "-p", "max_iter=20", "-p", "learning_rate_init=0.5",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    return path


@pytest.fixture(scope="module")
def bumps():
    train, test = (datasets.load("WarpedBumps", split) for split in ("train", "test"))
    return train.replace(X=train.X.astype(np.float32)), test.replace(X=test.X.astype(np.float32))


@pytest.fixture(scope="module")
def fitted(bumps):
    """The same model, made in Python."""
    model = warplearn.ElasticLogisticRegression(
        max_iter=20, learning_rate_init=0.5, n_jobs=1, random_state=0
    )
    return model.fit(bumps[0].X, bumps[0].y)


# Models.


def test_fit_writes_the_model_that_python_makes(model, fitted):
    again = load_model(model)
    assert np.array_equal(again.coef_, fitted.coef_)
    assert (again.learning_rate_init, again.max_iter) == (0.5, 20)


def test_fit_says_how_it_went(tmp_path, fitted, bumps):
    path = tmp_path / "m.warp"
    facts = answer(
        "fit", "WarpedBumps", "-m", "logistic", "-o", path,
        "-p", "max_iter=20", "-p", "learning_rate_init=0.5",
    )  # fmt: skip
    assert facts["estimator"] == "ElasticLogisticRegression"
    assert facts["epochs"] == fitted.n_iter_
    assert facts["ended"] == fitted.solutions_[0].reason
    assert facts["train_error"] == 100 * (1 - fitted.score(bumps[0].X, bumps[0].y))
    assert facts["bytes"] == path.stat().st_size
    assert os.listdir(tmp_path) == ["m.warp"]


def test_predict_and_evaluate(model, fitted, bumps, tmp_path):
    _, test = bumps
    labels = fitted.predict(test.X)
    assert answer("predict", model, "WarpedBumps") == labels.tolist()
    assert run("predict", model, "WarpedBumps").stdout.split() == [str(y) for y in labels]
    run("predict", model, "WarpedBumps", "-o", tmp_path / "labels.txt")
    assert (tmp_path / "labels.txt").read_text().split() == [str(y) for y in labels]
    facts = answer("evaluate", model, "WarpedBumps")
    assert facts["error"] == pytest.approx(100 * (labels != test.y).mean())
    assert np.trace(facts["confusion"]) == (labels == test.y).sum()
    shown = run("evaluate", model, "WarpedBumps")
    assert f"{facts['error']:.4g} %" in shown.stdout
    train = answer("evaluate", model, "WarpedBumps", "--split", "train")
    assert train["cases"] == len(bumps[0].X)


@pytest.mark.parametrize(
    ("method", "settings"),
    [
        ("network", ("hidden_layer_sizes=[4]", "max_iter=3", "elasticity=3")),
        ("features", ("n_filters=64",)),
    ],
)
def test_methods_that_are_not_linear(method, settings, tmp_path):
    path = tmp_path / "m.warp"
    given = [word for setting in settings for word in ("-p", setting)]
    facts = answer("fit", "AlternatingBumps", "-m", method, "-o", path, *given)
    assert facts["bytes"] == path.stat().st_size
    model = load_model(path)
    test = datasets.load("AlternatingBumps", "test")
    wrong = model.predict(test.X.astype(np.float32)) != test.y
    error = answer("evaluate", path, "AlternatingBumps")["error"]
    assert error == pytest.approx(100 * wrong.mean())
    explained = answer("explain", path, "AlternatingBumps", "--case", 0)
    assert explained["method"] == "occlusion"
    assert explained["bias"] is None
    assert len(explained["contributions"]) == test.X.max_length
    assert "step " in run("explain", path, "AlternatingBumps", "--case", 0).stdout


def test_files_are_read_as_well_as_names(model, bumps, tmp_path):
    train, test = bumps
    file = datasets.write_tsv(tmp_path / "some.tsv", test.X[:7], test.y[:7])
    assert answer("evaluate", model, file)["cases"] == 7
    datasets.write_ts(tmp_path / "Mine_TRAIN.ts", train.X, train.y)
    datasets.write_ts(tmp_path / "Mine_TEST.ts", test.X[:9], test.y[:9])
    assert len(answer("predict", model, "Mine", "--data", tmp_path)) == 9


def test_tune_finds_the_best_of_a_grid(bumps, tmp_path):
    path = tmp_path / "best.warp"
    given = (
        "-m", "logistic", "-g", "learning_rate_init=0.000001,0.5", "-p", "max_iter=20",
        "--folds", "3", "-o", path,
    )  # fmt: skip
    facts = answer("tune", "WarpedBumps", *given)
    assert facts["parameters"] == {"learning_rate_init": 0.5}
    assert (facts["candidates"], len(facts["families"])) == (2, 1)
    assert facts["cv_error"] == facts["families"][0]["cv_error"]
    assert load_model(path).learning_rate_init == 0.5
    assert "0.5" in run("tune", "WarpedBumps", *given).stdout


def test_every_method_can_be_tuned():
    assert set(training.GRIDS) == set(commands("classify"))
    for command, grid in training.GRIDS.items():
        known = estimator_class(commands("classify")[command])().get_params()
        assert set(grid) <= set(known), command
    assert "symmetric" in training.GRIDS["svm"]["polarity"]


def test_tune_takes_methods_without_lanes(bumps, tmp_path):
    file = datasets.write_tsv(tmp_path / "few.tsv", bumps[0].X[:20], bumps[0].y[:20])
    given = ("-m", "neighbors", "-g", "n_neighbors=15,1", "--folds", "2")
    tuned = answer("tune", file, *given, "-o", tmp_path / "nn.warp")
    assert tuned["parameters"] == {"n_neighbors": 1}
    assert load_model(tmp_path / "nn.warp").n_neighbors == 1


def test_tune_compares_families_and_says_why(bumps, tmp_path, monkeypatch):
    small = {"features": {"n_filters": [64]}, "prototypes": {"n_prototypes": [1]}}
    monkeypatch.setattr(training, "GRIDS", small)
    file = datasets.write_tsv(tmp_path / "few.tsv", bumps[0].X[:30], bumps[0].y[:30])
    given = ("tune", file, "-m", "features", "-m", "prototypes", "--folds", 3, "-o", tmp_path / "m")
    found = answer(*given)
    first, second = found["families"]
    assert {first["family"], second["family"]} == {"features", "prototypes"}
    order = (first["cv_error"], first["bytes"]), (second["cv_error"], second["bytes"])
    assert order[0] <= order[1]
    assert found["chosen"] == first["family"]
    assert found["because"].startswith(f"{first['family']} ")
    assert first["bytes"] == (tmp_path / "m").stat().st_size
    shown = run(*given).stdout
    for word in ("features", "prototypes", "ms/decision", "KB", "because"):
        assert word in shown
    assert all(len(line) <= 80 for line in shown.splitlines())
    refused = run(*given, "-g", "n_filters=8")
    assert "needs one --method" in words(refused)


def test_default_is_features(tmp_path, bumps):
    file = datasets.write_tsv(tmp_path / "few.tsv", bumps[0].X[:10], bumps[0].y[:10])
    facts = answer("fit", file, "-o", tmp_path / "m.warp", "-p", "n_filters=64")
    assert facts["estimator"] == "ElasticFeatureClassifier"
    assert 0 <= facts["leave-one-out_error"] <= 100
    assert training.DEFAULT == training.FAMILIES[0] == "features"
    assert set(training.FAMILIES) <= set(training.GRIDS)


# Own data.


@pytest.fixture(scope="module")
def tables(tmp_path_factory, bumps):
    """The same series as a wide and as a long table, for training and for testing."""
    folder = tmp_path_factory.mktemp("tables")
    for name, data in zip(("train", "test"), bumps, strict=True):
        X, y = data.X.values[:40, :, 0], np.where(data.y[:40] > 0, "up", "down")
        n, length = X.shape
        wide = pd.DataFrame(X, columns=[f"t{i}" for i in range(length)])
        wide.insert(0, "class", y)
        wide.to_csv(folder / f"{name}.csv", index=False)
        wide.to_csv(folder / f"{name}.txt", index=False, header=False, sep=";")
        long = {"id": np.repeat(np.arange(n), length), "time": np.tile(np.arange(length), n),
                "value": X.ravel(), "class": np.repeat(y, length)}  # fmt: skip
        pd.DataFrame(long).to_csv(folder / f"{name}_long.csv.gz", index=False)
    return folder


@pytest.mark.parametrize(
    ("end", "options", "line"),
    [
        (".csv", (), "40 series of length 160, label column 'class', 2 classes"),
        (".txt", ("--delimiter", ";", "--label", "0"), "label column '0', 2 classes"),
        ("_long.csv.gz", (), "40 series of length 160, id column 'id', time column 'time', label"),
    ],
)
def test_tables_are_fitted_and_evaluated(tables, tmp_path, end, options, line):
    path = tmp_path / "m.warp"
    small = ("-m", "logistic", "-p", "max_iter=5")
    result = run("fit", f"{tables}/train{end}", *options, "-o", path, *small)
    assert result.exit_code == 0, result.output
    assert line in words(result)
    found = answer("evaluate", path, f"{tables}/test{end}", *options)
    assert (found["cases"], found["classes"]) == (40, ["down", "up"])
    expected = answer("evaluate", path, tables / "test.csv")
    assert found["error"] == expected["error"]
    described = answer("datasets", "info", f"{tables}/train{end}", *options)
    assert (described["n_train"], described["n_test"]) == (40, None)
    assert line in words(run("datasets", "info", f"{tables}/train{end}", *options))


def test_labels_that_the_model_does_not_know(tables, tmp_path, model):
    result = run("evaluate", model, tables / "test.csv")
    assert result.exit_code == 1
    assert "the labels of test (down, up) are none of the model's classes (-1, 1)" in words(result)
    text = (tables / "train.csv").read_text().replace("up", "-1", 1).replace("down", "-1")
    (tmp_path / "odd.csv").write_text(text)
    shown = run("evaluate", model, tmp_path / "odd.csv")
    assert shown.exit_code == 0
    assert "series have labels that the model does not know" in words(shown)


def test_a_label_column_among_the_values_is_suspected(model, tmp_path, bumps):
    X = np.column_stack([bumps[1].X.values[:3, :, 0], np.ones(3)])
    np.savez(tmp_path / "longer.npz", X=X)
    result = run("predict", model, tmp_path / "longer.npz")
    assert "one step longer than the training series (160)" in words(result)


def test_identifiers_are_no_labels(tables, tmp_path):
    frame = pd.read_csv(tables / "train.csv").assign(**{"class": [f"m{i}" for i in range(40)]})
    frame.to_csv(tmp_path / "ids.csv", index=False)
    result = run("fit", tmp_path / "ids.csv", "-o", tmp_path / "m")
    assert "each of the 40 series of ids has a label of its own, such as 'm0'" in words(result)
    same = frame.assign(**{"class": "up"})
    same.to_csv(tmp_path / "same.csv", index=False)
    result = run("fit", tmp_path / "same.csv", "-o", tmp_path / "m")
    assert "all series of same have the same label, 'up'" in words(result)


def test_uneven_time_stamps(tables, tmp_path):
    frame = pd.read_csv(tables / "train_long.csv.gz")
    frame.drop(index=5).to_csv(tmp_path / "gap.csv", index=False)
    result = run("fit", tmp_path / "gap.csv", "-o", tmp_path / "m")
    assert result.exit_code == 1
    assert "1 gaps and 0 other uneven steps in 1 of 40 series" in words(result)
    described = answer("datasets", "info", tmp_path / "gap.csv", "--resample")
    assert described["lengths"] == [160, 160]
    assert "step=2.0 needs resample" in words(
        run("datasets", "info", tmp_path / "gap.csv", "--step", 2)
    )


def test_probabilities(model, fitted, bumps, tmp_path):
    shares = fitted.predict_proba(bumps[1].X)
    found = answer("predict", model, "WarpedBumps", "--proba")
    assert np.allclose(found["probabilities"], shares, atol=1e-5)
    assert found["classes"] == [-1, 1]
    run("predict", model, "WarpedBumps", "--proba", "-o", tmp_path / "p.csv")
    table = pd.read_csv(tmp_path / "p.csv")
    assert table.columns.tolist() == ["predicted", "-1", "1"]
    assert np.allclose(table["1"], shares[:, 1], atol=1e-4)
    lines = run("predict", model, "WarpedBumps", "--proba").stdout.splitlines()
    assert lines[0] == "predicted\t-1\t1"
    path = tmp_path / "svm.warp"
    run("fit", "WarpedBumps", "-m", "svm", "-p", "max_iter=2", "-o", path)
    assert "ElasticLinearSVC has no probabilities" in words(
        run("predict", path, "WarpedBumps", "--proba")
    )


def test_wide_tables_keep_their_first_column(capsys):
    classes = np.array([f"class {i}" for i in range(30)])
    matrix = np.diag(np.arange(30))
    matrix[3, 4], matrix[5, 6] = 7, 9
    prediction._show_confusion(classes, matrix)
    shown = capsys.readouterr().out
    assert re.search(r"9 +│ class 5 +│ class 6", shown)
    assert shown.index("class 5") < shown.index("class 3")


@pytest.mark.parametrize(
    ("text", "value"), [("1", 1), ("0.1", 0.1), ("10%", "10%"), ("200%", "200%"), (None, None)]
)
def test_extents_are_read_in_one_way(text, value):
    parsed = common.parse_extent(text, "--band")
    assert (parsed, type(parsed)) == (value, type(value))
    if text is not None:
        assert common.parse_settings([f"elasticity={text}"], "-p") == {"elasticity": value}


def test_explain_adds_up(model, fitted, bumps):
    facts = answer("explain", model, "WarpedBumps", "--case", 4)
    decision = fitted.decision_function(bumps[1].X[[4]])[0]
    assert facts["decision"] == pytest.approx(decision, rel=1e-4)
    assert sum(facts["contributions"]) + facts["bias"] == pytest.approx(facts["decision"])
    assert facts["predicted"] == fitted.predict(bumps[1].X[[4]])[0]
    shown = run("explain", model, "WarpedBumps", "--case", 4, "--top", 2).stdout
    along = np.subtract(facts["contributions"], facts["climbing"])
    first = int(np.abs(along).argmax())
    assert f"step {first}: {along[first]:+.4g}" in shown
    assert "climbing columns" in shown
    assert len(re.findall(r"^step ", shown, re.MULTILINE)) == 2


def test_explanations_are_drawn(model, tmp_path):
    for name in ("why.png", "why.svg"):
        result = run("explain", model, "WarpedBumps", "-o", tmp_path / name)
        assert result.exit_code == 0, result.output
        assert (tmp_path / name).stat().st_size > 5000


def test_other_classifiers_are_streamed(tmp_path, bumps):
    path = tmp_path / "m.warp"
    run("fit", "WarpedBumps", "-m", "neighbors", "-o", path, "-p", "band=0.2")
    assert load_model(path).band == 0.2
    assert "a model with band=0.2 cannot be streamed" in words(run("stream", path, stdin="1\n"))
    run("fit", "WarpedBumps", "-m", "features", "-o", path, "-p", "n_filters=64")
    model = load_model(path)
    x = bumps[1].X.values[0, :5, 0]
    result = run("stream", path, stdin="\n".join(map(str, [*x, "", x[0]])) + "\n")
    assert result.exit_code == 0, result.output
    shown = [line.split("\t") for line in result.stdout.splitlines()]
    assert [int(count) for count, *_ in shown] == [1, 2, 3, 4, 5, 1]
    assert float(shown[4][1]) == pytest.approx(model.decision_function(x[None])[0], rel=1e-4)
    assert shown[4][2] == str(model.predict(x[None])[0])
    assert "channel(s), got 2" in words(run("stream", path, stdin="1 2\n"))
    assert "must be finite" in words(run("stream", path, stdin="nan\n"))


# Streams.


def test_stream_decides_after_every_sample(model, fitted, bumps):
    x = bumps[1].X[[0]].values[0, :6, 0]
    lines = [f"{value!r}" for value in x.tolist()]
    result = run("stream", model, stdin="\n".join([*lines, "", *lines[:2]]) + "\n")
    assert result.exit_code == 0, result.output
    shown = [line.split("\t") for line in result.stdout.splitlines()]
    assert [int(count) for count, *_ in shown] == [1, 2, 3, 4, 5, 6, 1, 2]
    for (count, value, label), k in zip(shown, [1, 2, 3, 4, 5, 6, 1, 2], strict=True):
        so_far = x[None, :k]
        assert float(value) == pytest.approx(fitted.decision_function(so_far)[0], rel=1e-4)
        assert label == str(fitted.predict(so_far)[0]), count
    one = json.loads(run("stream", model, "--json", stdin="0.5\n").stdout)
    assert one["samples"] == 1


def test_stream_answers_before_the_next_sample(model):
    """In a process of its own, through pipes, as it is used."""
    command = [sys.executable, "-m", "warplearn.cli", "stream", str(model)]
    with subprocess.Popen(command, stdin=-1, stdout=-1, text=True) as process:
        for number in (1, 2, 3):
            process.stdin.write("0.25\n")
            process.stdin.flush()
            assert process.stdout.readline().startswith(f"{number}\t")
        process.stdin.close()
        assert process.wait(30) == 0


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("1\ntwo\n", "line 2 of standard input: could not convert string to float: 'two'"),
        ("nan\n", "line 1 of standard input: sample must be finite"),
        ("1 2\n", "line 1 of standard input: sample must have 1 channel(s)"),
        (
            "0\n" * 500,
            "line 161 of standard input: the series is longer than the 160 steps of the training series; an empty line begins a new series",
        ),
    ],
)
def test_stream_names_the_line(model, lines, message):
    result = run("stream", model, stdin=lines)
    assert result.exit_code == 1
    assert message in words(result)


# Without labels.


def test_export(model, fitted, bumps, tmp_path):
    header = tmp_path / "gesture.h"
    result = run("export", model, "-o", header)
    assert result.exit_code == 0, result.output
    assert header.read_text() == warplearn.to_c(fitted, name="gesture")
    assert "bytes of constants, up to 600 of code" in result.output
    found = answer("export", model, "-o", header, "--numbers", "int8", "--test", "WarpedBumps")
    limit = np.abs(bumps[1].X.values).max()
    assert header.read_text() == warplearn.to_c(fitted, name="gesture", numbers="int8", limit=limit)
    assert found["error"] == pytest.approx(100 * (1 - fitted.score(bumps[1].X, bumps[1].y)))
    otherwise, of_all = map(int, found["series_classified_otherwise"].split(" of "))
    assert abs(found["fixed_point_error"] - found["error"]) <= 100 * otherwise / of_all + 1e-9
    assert found["cut_series"] == f"0 of {of_all}"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--numbers", "int8"], "limit must be given for fixed point"),
        (["--numbers", "int4"], "numbers must be one of"),
        (["--name", "a b"], "name must be a letter"),
        (["--max-bytes", "100"], "more than max_bytes=100"),
        (["--test", "BasicMotions"], "has 6 channels, the model was trained on 1"),
    ],
)
def test_export_refuses(model, options, message, tmp_path):
    result = run("export", model, "-o", tmp_path / "gesture.h", *options)
    assert result.exit_code == 1
    assert message in words(result)
    assert not (tmp_path / "gesture.h").exists()


@pytest.mark.parametrize("share", [0, 0.3, 0.99])
def test_export_of_a_truncated_model(model, share, tmp_path):
    whole = model.read_bytes()
    part = tmp_path / "part.warp"
    part.write_bytes(whole[: int(share * len(whole))])
    result = run("export", part, "-o", tmp_path / "gesture.h")
    assert result.exit_code == 1
    assert "part.warp is no model of warplearn" in words(result)
    assert not (tmp_path / "gesture.h").exists()


def test_mean(bumps, tmp_path):
    train = datasets.load("WarpedBumps", "train")
    expected = elastic_mean(train.X[train.y == 1], random_state=0)
    found = answer("mean", "WarpedBumps", "--by-class", "-o", tmp_path / "means.csv")
    assert [each["name"] for each in found] == ["-1", "1"]
    assert np.allclose(found[1]["mean"], expected.mean)
    written = datasets.read(tmp_path / "means.csv")
    assert np.allclose(written.X.values[1, :, 0], expected.mean)
    (all_of_them,) = answer("mean", "WarpedBumps")
    assert all_of_them["cases"] == len(train.X)
    assert "variation" in run("mean", "WarpedBumps").stdout
    (banded,) = answer("mean", "WarpedBumps", "--band", "1")
    one_cell = elastic_mean(train.X, band=1, random_state=0)
    assert banded["variation"] == pytest.approx(one_cell.variation)
    assert banded["variation"] > all_of_them["variation"]


def test_cluster(tmp_path):
    found = answer("cluster", "WarpedBumps", "-k", 2, "-o", tmp_path / "centres.ts")
    assert np.bincount(found["labels"]).tolist() == found["sizes"]
    assert len(datasets.read(tmp_path / "centres.ts").X) == 2
    assert f"{found['sizes'][0]} series" in run("cluster", "WarpedBumps", "-k", 2).stdout
    for method in ("tree", "som"):
        assert len(answer("cluster", "WarpedBumps", "-k", 2, "-m", method)["centres"]) == 2


# Data.


def test_datasets(tmp_path, bumps, monkeypatch):
    monkeypatch.delenv("WARPLEARN_DATA", raising=False)  # a long path would break the lines
    datasets.write_tsv(tmp_path / "Mine_TRAIN.tsv", bumps[0].X, bumps[0].y)
    found = answer("datasets", "list", "--data", tmp_path)
    assert found["WarpedBumps"] == "built-in"
    assert found["Mine"] == str(tmp_path)
    assert "known elastic margin" in run("datasets", "list").stdout
    facts = answer("datasets", "info", "WarpedBumps")
    assert facts["n_train"] == len(bumps[0].X)
    assert " to ".join(map(str, facts["lengths"])) in run("datasets", "info", "WarpedBumps").stdout


def test_get_downloads(monkeypatch, tmp_path):
    monkeypatch.setattr(datasets, "download", lambda name: tmp_path / name)
    assert answer("datasets", "get", "GunPoint")["folder"] == str(tmp_path / "GunPoint")
    assert run("datasets", "get", "GunPoint").stdout.strip() == str(tmp_path / "GunPoint")


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_progress_is_shown_on_terminals_only(monkeypatch):
    class Model(warplearn.ElasticPerceptron):
        def fit(self, X, y):
            if self.verbose:
                print("epoch 7: 3 mistakes")
                time.sleep(0.3)  # the bar is drawn ten times a second
            return self

    monkeypatch.setattr(sys, "stderr", Terminal())
    model = progress.fit_with_progress(Model(), "fitting a model", None, None)
    shown = sys.stderr.getvalue()
    assert "fitting a model" in shown
    assert "epoch 7: 3 mistakes" in shown
    assert model.verbose == 0
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with progress.working("nothing to see", 3) as done:
        done()
    assert not sys.stderr.getvalue()


# Studies.


TOML = """
name = "mine"
datasets = ["WarpedBumps"]
trials = 3
[[methods]]
name = "eLOGR"
estimator = "ElasticLogisticRegression"
parameters = { max_iter = 20 }
[[methods]]
name = "slow"
estimator = "ElasticLogisticRegression"
parameters = { max_iter = 20, learning_rate_init = 0.01 }
"""


@pytest.fixture
def study(tmp_path):
    (tmp_path / "mine.toml").write_text(TOML)
    return tmp_path / "mine.toml"


def test_reproduce_and_report(study, tmp_path):
    path = tmp_path / "out" / "rows.jsonl"
    result = run("reproduce", study, "-o", path, "--methods", "eLOGR", "--trials", 2)
    assert result.exit_code == 0, result.output
    assert "2 trials in" in result.stdout
    assert "Generated data, not the archive's: WarpedBumps." in words(result)
    found = answer("reproduce", study, "-o", path)  # goes on with what is missing
    rows = read_rows(path)
    assert len(rows) == 6
    errors = [row["error"] for row in rows if row["method"] == "eLOGR"]
    entry = next(each for each in found["entries"] if each["method"] == "eLOGR")
    assert entry["error"] == pytest.approx(np.mean(errors))
    assert (entry["trials"], found["source"], found["failures"]) == (3, ["built-in"], [])
    assert "paper" not in entry  # nothing of the paper's, unless the study asks for it

    shown = run("report", path)
    assert "6 trials in" in shown.stdout
    assert f"{np.mean(errors):.1f} ±" in shown.stdout
    assert answer("report", path)["entries"] == found["entries"]
    run("report", path, "-o", tmp_path / "table.md")
    assert "| data set | eLOGR | slow |" in (tmp_path / "table.md").read_text()
    result = run("report", path, "-o", tmp_path / "page.html")
    assert result.exit_code == 0, result.output
    assert "WarpedBumps" in (tmp_path / "page.html").read_text("utf-8")
    assert run("report", path, "-o", tmp_path / "page.pdf").exit_code == 2


@pytest.mark.slow
def test_demo(tmp_path):
    found = answer("demo", "-o", tmp_path / "demo.html")
    errors = {(each["dataset"], each["method"]): each["error"] for each in found["entries"]}
    assert list(dict.fromkeys(name for name, _ in errors)) == [
        "ECG200", "ItalyPowerDemand", "GunPoint",
    ]  # fmt: skip
    for name in ("ECG200", "ItalyPowerDemand"):
        assert errors[name, "elastic linear"] < errors[name, "1-NN DTW"]
    assert errors["GunPoint", "elastic features"] < 1 < 5 < errors["GunPoint", "1-NN DTW"]
    page = (tmp_path / "demo.html").read_text("utf-8")
    assert "elastic features" in page
    assert "time of a decision" in page
    assert '<section id="viewer" >' in page
    views = read_views(tmp_path / "demo.jsonl")
    assert {(each["method"], each["view"]["model"]) for each in views} == {
        ("elastic linear", "ElasticLogisticRegression")
    }
    again = run("demo", "-o", tmp_path / "demo.html")  # all is there already
    assert re.search(r"elastic features +0\.\d % +[\d,]+ kB", again.stdout), again.stdout
    assert "samples" in again.stdout
    assert "elastic linear on ItalyPowerDemand" in " ".join(again.stdout.split())


def test_the_conclusion_of_the_demo_follows_from_its_figures():
    def told(**of_methods):
        """Each method has errors on two data sets, a size and a time."""
        rows = [
            {"dataset": name, "method": method, "error": error, "model_bytes": size,
             "decision_seconds": seconds, "fit_seconds": 0.0}
            for method, (errors, size, seconds) in of_methods.items()
            for name, error in zip(("A", "B"), errors, strict=True)
        ]  # fmt: skip
        return demo.conclusion(demo.figures_of(rows))

    quick, slow = 2e-6, 1e-3
    assert told(linear=((1, 5), 10, quick), features=((3, 2), 30, slow)) == (
        "Fewest errors: linear on A, features on B; linear decides 500 to 500 times as fast as "
        "features with a file of 33 to 33 % of its size, so take it where it comes within a point of the best, as on A."
    )
    worse = told(linear=((3, 5), 10, quick), features=((1, 2), 30, slow))
    assert "features on A and B" in worse
    assert worse.endswith("so take it where this matters more than errors.")
    assert told(linear=((1, 1), 10, quick), features=((2, 2), 30, slow)).startswith("Linear has")


def test_demo_of_a_stream():
    found = answer("demo", "--stream")
    assert found["n_labelled"] == 40
    assert found["f1"] > 0.7
    assert found["samples_per_second"] > 0
    plain = run("demo", "--stream")
    lines = [line for line in plain.stdout.splitlines() if line.startswith("sample ")]
    assert len(lines) == found["n_detected"]
    assert sum("right" in line for line in lines) == found["n_right"]
    assert "samples a second" in " ".join(plain.stdout.split())


def test_demo_of_a_stream_in_a_terminal():
    """What is drawn when an event has just been reported."""
    player = playing._prepared()
    packets = player.packets()
    for _ in range(185):
        next(packets)
    for ascii_only in (True, False):
        screen = Console(record=True, width=120, file=io.StringIO())
        screen.print(playing._frame(player, 100, ascii_only))
        text = screen.export_text()
        assert "labelled" in text
        assert "detected" in text
        assert text.count("point") == 2
        assert "1,850 samples" in text
        assert text.isascii() == ascii_only or "µ" in text


def test_page_of_a_model(tmp_path):
    model = tmp_path / "model.warp"
    options = ("-m", "logistic", "-p", "elasticity=5", "-p", "max_iter=5")
    assert run("fit", "WarpedBumps", *options, "-o", model).exit_code == 0
    result = run("report", model, "WarpedBumps", "-o", tmp_path / "page.html")
    assert result.exit_code == 0, result.output
    assert "of 400" in (tmp_path / "page.html").read_text("utf-8")
    assert run("report", model, "-o", tmp_path / "page.html").exit_code == 2
    assert run("report", model, "WarpedBumps").exit_code == 2
    assert run("report", model, "WarpedBumps", "-o", tmp_path / "page.md").exit_code == 2


def test_without_data_the_bundled_sets_are_used(tmp_path, monkeypatch):
    monkeypatch.delenv("WARPLEARN_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(experiments, "run", lambda *_, **__: [])  # what it would run is the point
    result = run("reproduce", "comparison")
    assert "left out: no data set 'Wafer'" in words(result)
    assert "'GunPoint'" not in words(result)
    result = run("reproduce", "comparison", "--datasets", "NoSuchSet")
    assert result.exit_code == 1
    assert "left out: no data set 'NoSuchSet'" in words(result)


def test_an_interrupted_study_says_where_it_is(study, tmp_path, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(experiments, "run", interrupted)
    result = run("reproduce", study, "-o", tmp_path / "rows.jsonl")
    assert result.exit_code == 130
    assert "run again to go on" in words(result)


def test_a_study_that_fails_has_an_exit_code(study, tmp_path):
    study.write_text(
        TOML
        + '[[methods]]\nname = "bad"\nestimator = "ElasticPerceptron"\nparameters = { learning_rate_init = -1.0 }\n'
    )
    result = run("reproduce", study, "-o", tmp_path / "rows.jsonl", "--trials", 1)
    assert result.exit_code == 1
    assert "bad: failed: learning_rate_init must be" in words(result)
    assert len(read_rows(tmp_path / "rows.jsonl")) == 2
    shown = run("report", tmp_path / "rows.jsonl")
    assert "Failed: bad on WarpedBumps: learning_rate_init must be" in words(shown)
    (failure,) = answer("report", tmp_path / "rows.jsonl")["failures"]
    assert (failure["dataset"], failure["method"]) == ("WarpedBumps", "bad")
    quiet = run("reproduce", study, "-o", tmp_path / "rows.jsonl", "--trials", 1, "--quiet")
    assert "bad: failed: learning_rate_init must be" in words(quiet)


# Speed and drawings.


def test_speed_counts_cells(monkeypatch):
    clock = iter(np.arange(100.0) * 2)
    monkeypatch.setattr(benching, "perf_counter", lambda: next(clock))
    assert benching.distance_speed(1, cases=3, length=5) == 3 * 3 * 5 * 5 / 2
    expected = 2 * 2 * 2 * 40 * 4 * 20 * 2 / 2
    assert benching.training_speed(1, models=2, cases=4, length=20) == expected


def test_bench_shows_one_thread_and_all(monkeypatch):
    measures = {"distances": lambda n: 2.5e9 * n}  # made up, so that nothing is compiled for them
    monkeypatch.setattr(benching, "MEASURES", measures)
    monkeypatch.setattr("warplearn._kernels.simd.threads.thread_count", lambda jobs: 4)
    output = run("bench").stdout
    assert "distances, 1 thread: 2.5 billion" in output
    assert "distances, 4 threads: 10.0 billion" in output
    assert answer("bench")["cells_per_second"] == {"distances": {"1": 2.5e9, "4": 1e10}}


def test_drawings():
    assert drawing.draw_series(np.array([0.0, 2.0, 1.0]), 0.0, 2.0, ascii_only=True) == "_#="
    four = np.array([0.0, 0.0, 2.0, 2.0])
    assert drawing.draw_series(four, 0.0, 2.0, ascii_only=True, width=2) == "_#"
    assert drawing.draw_series(np.zeros(2), 0.0, 0.0, ascii_only=True) == "__"


# Mistakes.


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("fit", "WarpedBumps"), 2, "--output"),
        (("fit", "WarpedBumps", "-o", "m", "-m", "forest"), 2, "must be one of neighbors, adaline"),
        (("fit", "WarpedBumps", "-o", "m", "-p", "alpha"), 2, "must be NAME=VALUE, got 'alpha'"),
        (("fit", "WarpedBumps", "-o", "m", "-p", "zeta=1"), 2, "has no parameter 'zeta'"),
        (("fit", "WarpedBumps", "-m", "svm", "-o", "m", "-p", "alpha=fast"), 1, "alpha must be"),
        (("fit", "WarpedBumps", "-o", "m", "--split", "half"), 2, "must be train, test or all"),
        (("fit", "WarpedBumps", "-o", "m", "--seed", "-1"), 2, "--seed"),
        (("fit", "nothing.tsv", "-o", "m"), 1, "no file 'nothing.tsv'"),
        (("fit", "bad.tsv", "-o", "m"), 1, "bad.tsv, line 1"),
        (
            ("fit", "WarpedBumps", "-m", "svm", "-p", "max_iter=1", "-o", "no/such/folder/m.warp"),
            1,
            "No such file or directory",
        ),
        (("mean", "WarpedBumps", "--band", "1.0"), 2, "--band=1.0 is ambiguous"),
        (("mean", "WarpedBumps", "--band", "wide"), 2, "a text such as '10%', got 'wide'"),
        (("fit", "WarpedBumps", "-o", "m", "-j", "0"), 1, "n_jobs must be"),
        (
            ("tune", "WarpedBumps", "-m", "svm", "-o", "m", "-g", "zeta=1,2"),
            2,
            "has no parameter 'zeta'",
        ),
        (
            ("fit", "WarpedBumps", "-o", "m", "--label", "class"),
            2,
            "is for files, not for the data set",
        ),
        (("predict", "nothing.warp", "WarpedBumps"), 1, "no model 'nothing.warp'"),
        (("predict", "bad.tsv", "WarpedBumps"), 1, "bad.tsv is no model"),
        (
            ("mean", "WarpedBumps", "-o", "means.xls"),
            2,
            "must be one of .csv, .tsv, .ts, got '.xls'",
        ),
        (("cluster", "WarpedBumps", "-k", "0"), 2, "-k"),
        (("cluster", "WarpedBumps", "-m", "forest"), 2, "must be one of tree, kmeans, som"),
        (("datasets", "info", "../x"), 1, "../x"),
        (("reproduce", "nope"), 1, "study must be one of archive, beyond, comparison"),
        (("reproduce", "demo", "--methods", "x"), 1, "methods must be among"),
        (("reproduce", "demo", "--data", "nowhere"), 1, "nowhere"),
        (("report", "nothing.jsonl"), 1, "no file of results"),
        (("report", "bad.tsv"), 1, "bad.tsv, line 1 is not JSON"),
        (("fitt",), 2, "fitt"),
    ],
)
def test_mistakes_get_a_message(arguments, code, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.tsv").write_text("hello\n")
    result = run(*arguments)
    assert result.exit_code == code, result.output
    assert isinstance(result.exception, SystemExit)  # and no other
    assert message in words(result)
    assert "Traceback" not in result.output


def test_case_that_is_not_there(model):
    result = run("explain", model, "WarpedBumps", "--case", 99999)
    assert result.exit_code == 2
    assert "must be less than" in words(result)


def test_models_of_others_are_refused(tmp_path):
    import skops.io

    skops.io.dump({"f": studies.print_table, "g": os.path.join}, tmp_path / "odd.skops")
    result = run("predict", tmp_path / "odd.skops", "WarpedBumps")
    assert (result.exit_code, "is no model of warplearn" in words(result)) == (1, True)
    warplearn.save(warplearn.ElasticLogisticRegression(), tmp_path / "unfitted.warp")
    assert "not fitted" in words(run("predict", tmp_path / "unfitted.warp", "WarpedBumps"))
    warplearn.save(warplearn.ElasticEmbedding(), tmp_path / "other.warp")
    result = run("predict", tmp_path / "other.warp", "WarpedBumps")
    assert (result.exit_code, "is no classifier but a" in words(result)) == (1, True)


def test_version_and_help():
    result = run("--version")
    assert result.exit_code == 0
    assert result.output == f"warplearn {warplearn.__version__}\n"
    commands = re.findall(r"^│ (\w+) ", run("--help").stdout, re.MULTILINE)
    assert {"demo", "fit", "stream", "reproduce", "datasets", "bench"} <= set(commands)
    for command in commands:
        groups = (["list"], ["get"], ["info"]) if command == "datasets" else ([],)
        for rest in groups:
            shown = run(command, *rest, "--help")
            assert shown.exit_code == 0
            assert re.search(r"Examples?", shown.stdout), command


@pytest.mark.parametrize("missing", ["typer", "rich"])
def test_without_the_extra_it_says_how_to_get_it(monkeypatch, missing):
    def refuse(name, *args, **kwargs):
        if name.split(".")[0] == missing:
            raise ModuleNotFoundError(f"No module named {missing!r}", name=missing)
        return importer(name, *args, **kwargs)

    importer = builtins.__import__
    for module in [name for name in sys.modules if name.startswith("warplearn.cli.")]:
        monkeypatch.delitem(sys.modules, module)
        monkeypatch.delattr(cli, module.removeprefix("warplearn.cli."), raising=False)
    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(SystemExit, match=re.escape("pip install 'warplearn[cli]'")):
        cli.main()


def test_help_needs_no_scikit_learn():
    code = (
        "import sys; from warplearn.cli import application\n"
        "from typer.testing import CliRunner\n"
        "assert CliRunner().invoke(application(), ['--help']).exit_code == 0\n"
        "print({'matplotlib', 'numba', 'numpy', 'sklearn'} & set(sys.modules))"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout == "set()\n"


def test_an_interrupted_process_ends_without_the_interpreters_exit(monkeypatch):
    codes = []
    monkeypatch.setattr(cli.os, "_exit", codes.append)
    for code in (130, 0, 1):
        monkeypatch.setattr(cli, "application", lambda code=code: lambda: sys.exit(code))
        if code == 130:
            cli.main()
        else:
            with pytest.raises(SystemExit):
                cli.main()
    assert codes == [130]


def test_library_imports_neither_typer_nor_rich():
    code = "import sys, warplearn, warplearn.cli; print({'typer', 'rich'} & set(sys.modules))"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout == "set()\n"


@pytest.mark.parametrize(
    ("weights", "says"),
    [({"1": 3.0, "-1": 1.0}, None), ({"2": 3.0}, "class_weight names '2', which is none of the")],
)
def test_weights_find_classes_by_their_text(weights, says, tmp_path):
    """WarpedBumps has integers as labels; keys on the command line are texts."""
    path = tmp_path / "model.warp"
    options = ("-p", f"class_weight={json.dumps(weights)}", "-p", "max_iter=2", "-o", str(path))
    result = run("fit", "WarpedBumps", "-m", "perceptron", *options)
    assert result.exit_code == (0 if says is None else 1)
    if says is None:
        assert warplearn.load(path).class_weight == {1: 3.0, -1: 1.0}
    else:
        assert says in words(result)


def test_out_of_memory_is_a_sentence(monkeypatch):
    def too_large(*_, **__):
        raise MemoryError("Unable to allocate 18.6 GiB for an array")

    monkeypatch.setattr(training, "load_series", too_large)
    result = run("fit", "WarpedBumps", "-o", "model.warp")
    assert result.exit_code == 1
    assert words(result) == "error: not enough memory. Unable to allocate 18.6 GiB for an array"


@pytest.mark.parametrize("moment", ["application", "command"])
def test_interrupts_end_a_command_with_130_whenever_they_come(monkeypatch, moment):
    def interrupted(*_):
        raise KeyboardInterrupt

    class LeftError(Exception):
        pass

    def leave(code):
        raise LeftError(code)

    monkeypatch.setattr(os, "_exit", leave)
    monkeypatch.setattr(sys, "argv", ["warplearn", "datasets", "list"])
    monkeypatch.setattr(
        cli, "application", interrupted if moment == "application" else lambda: interrupted
    )
    with pytest.raises(LeftError, match="130"):
        cli.main()


def test_warmup_compiles_in_silence_but_for_a_progress_bar():
    result = run("warmup", "distances", "--dtype", "float64")
    assert result.exit_code == 0, result.output
    assert result.stdout == ""
    assert "distances: pairwise_dtw in a band, float64" in result.stderr
    refused = run("warmup", "everything")
    assert refused.exit_code == 1
    assert "families must be a list of some of distances, linear" in words(refused)


# Text of others.

HOSTILE = [
    "\x1b]0;title\x07\x1b[31mred",
    "[/bold] [link=https://example.org]x[/link]",
    'a,"b"\tc\nd',
]


@pytest.fixture(scope="module")
def hostile_model(bumps, tmp_path_factory):
    """A model whose classes a terminal, markup or a table could take for something else."""
    folder = tmp_path_factory.mktemp("hostile")
    X, y = bumps[0].X[:30], np.array(HOSTILE)[np.arange(30) % 3]
    warplearn.save(warplearn.DTWNeighborsClassifier(1).fit(X, y), folder / "model.warp")
    np.savez(folder / "test.npz", X=np.swapaxes(X.values, 1, 2), y=y)
    return folder


def test_terminals_are_told_nothing(hostile_model):
    model, test = hostile_model / "model.warp", hostile_model / "test.npz"
    for command in (["predict", model, test], ["predict", model, test, "--proba"],
                    ["evaluate", model, test], ["explain", model, test],
                    ["datasets", "info", test], ["mean", test, "--by-class"]):  # fmt: skip
        result = run(*command)
        assert result.exit_code == 0, result.output
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", result.output), command
    lines = run("predict", model, test).stdout.splitlines()
    assert len(lines) == 30
    assert lines[:2] == [r"\x1b]0;title\x07\x1b[31mred", HOSTILE[1]]
    assert lines[2] == 'a,"b"\\tc\\nd'
    samples = "\n".join(["0.5"] * 3)
    assert "\x1b" not in run("stream", model, stdin=samples).output


def test_messages_are_text(hostile_model, tmp_path):
    """Names that an error repeats, of labels and of files."""
    name = tmp_path / "\x1b[2Jx.csv"
    name.write_text("label,t0,t1\n\x1b[31mred,1,x\n")
    result = run("predict", hostile_model / "model.warp", name)
    assert result.exit_code == 1
    assert "\x1b" not in result.output


def test_warnings_and_progress_are_text(monkeypatch):
    monkeypatch.setattr(warnings, "formatwarning", warnings.formatwarning)
    terminal.tame_warnings()
    said = warnings.formatwarning("\x1b[31mred\n", UserWarning, "\x1b.py", 1, "")
    assert said == "\\x1b.py:1: UserWarning: \\x1b[31mred\n\n"
    stream = io.StringIO()
    for display in (PlainProgress(stream), RichProgress(Console(file=stream))):
        display.begin(1.0, 0.0, 1)
        display.doing("\x1b]0;title\x07 [/bold]", "fitting")
        display.fail("\x1b]0;title\x07", "[/bold]")
    assert stream.getvalue().count("\\x1b]0;title\\x07") == 2
    assert "\x1b]0" not in stream.getvalue()


def test_tables_are_quoted(hostile_model, tmp_path):
    model, test = hostile_model / "model.warp", hostile_model / "test.npz"
    result = run("predict", model, test, "--proba", "-o", tmp_path / "p.csv")
    assert result.exit_code == 0, result.output
    table = pd.read_csv(tmp_path / "p.csv")
    assert sorted(table.columns[1:]) == sorted(HOSTILE)
    assert table["predicted"][:3].tolist() == HOSTILE
