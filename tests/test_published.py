"""The study of a whole archive, and results beside published ones."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from warplearn import cli, datasets
from warplearn.experiments import Study, collect, table_of
from warplearn.experiments.archive import Standing, archive_drawings, published_errors


def row(dataset, method, error, **others):
    return {
        "study": "archive", "dataset": dataset, "method": method, "trial": 0, "error": error,
        "train_error": 0.0, "protocol": "test", "source": "files", "fit_seconds": 2.0,
        "predict_seconds": 1.0, "estimator": "ElasticFeatureClassifier", "parameters": {},
        "table": "archive", **others,
    }  # fmt: skip


def test_published_errors():
    table = published_errors()
    assert len(table) == 112
    assert {len(errors) for errors in table.values()} == {18}
    assert table["GunPoint"]["1NN-DTW"] == pytest.approx(9.3333, abs=1e-3)
    everything = np.array([list(errors.values()) for errors in table.values()])
    assert everything.min() >= 0
    assert everything.max() < 100


def test_table_beside_published_accuracies():
    """Equal up to rounding is a tie; sets without published or test results are not compared."""
    table = published_errors()
    rows = []
    for name, change in {"GunPoint": 0.0, "Wine": 1.0, "Coffee": 0.001, "ECG200": -1.0}.items():
        rows.append(row(name, "mine", table[name]["HC2"] + change))
        rows.append(row(name, "other", 50.0))
    rows += [row("Own", "mine", 1.0), row("Own", "other", 2.0)]
    rows += [
        row("Yoga", name, 1.0, protocol="10-fold cross-validation") for name in ("mine", "other")
    ]
    rows.append(row("Beef", "mine", 1.0))  # the other method is not finished there
    shown = table_of(rows)
    assert shown.title == "Test accuracy on 4 data sets with published results"
    texts = {line[0]: line[1:] for line in shown.texts()}
    assert len(texts) == 20
    assert texts["HC2"][2] == "1 / 2 / 1"
    assert texts["other"] == ["50.00", "20.00", "4 / 0 / 0", "12"]
    assert texts["mine"][2:] == ["", "12"]
    means = [float(line[1]) for line in shown.texts()]
    assert means == sorted(means, reverse=True)
    assert "tsml-eval" in shown.notes[0]
    assert "unfinished: Beef, Own, Yoga." in shown.notes[1]
    standing = Standing.of(rows)
    ours, theirs = standing.errors[:, 0], standing.errors[:, standing.methods.index("HC2")]
    assert (ours == theirs).tolist() == [True, False, True, False]
    (drawing,) = archive_drawings(rows)
    assert "Mean ranks over 4 data sets" in drawing.caption


def test_without_published_results_the_table_is_plain():
    assert table_of([row("Own", "mine", 1.0)]).columns == ["data set", "mine"]
    assert archive_drawings([row("Own", "mine", 1.0)]) == []


@pytest.fixture
def folder(tmp_path, rng):
    """Two small sets under names of the archive, one of them also in the package."""
    y = np.arange(24) % 2
    X = rng.normal(size=(24, 30)) + 3 * y[:, None] * (np.arange(30) > 15)
    for name in ("GunPoint", "BirdChicken"):
        (tmp_path / name).mkdir()
        for split, of in {"TRAIN": slice(0, 12), "TEST": slice(12, 24)}.items():
            datasets.write_tsv(tmp_path / name / f"{name}_{split}.tsv", X[of], y[of])
    return tmp_path


def test_patterns_stand_for_the_sets_of_a_folder(folder):
    assert datasets.in_files(folder) == ["BirdChicken", "GunPoint"]
    study = Study.read("archive")
    found = collect(study, folder)
    assert [(each.name, each.source) for each in found.data] == [
        ("BirdChicken", "files"),
        ("GunPoint", "files"),
    ]
    both = collect(study.only(["Bird*", "GunPoint", "G*"]), folder)
    assert [each.name for each in both.data] == ["BirdChicken", "GunPoint"]
    none = collect(study.only(["X*"]), folder)
    assert "matches 'X*'" in none.missing["X*"]


def test_the_command_goes_on_where_it_was(folder, tmp_path):
    study = tmp_path / "own.toml"
    text = """
    name = "own"
    datasets = ["*"]
    table = "archive"
    [[methods]]
    name = "few filters"
    estimator = "ElasticFeatureClassifier"
    parameters = { n_filters = 16 }
    """
    study.write_text(text)
    file = tmp_path / "own.jsonl"
    command = ["reproduce", str(study), "--data", str(folder), "-o", str(file), "--jobs", "1"]
    first = CliRunner().invoke(cli.application(), [*command, "--datasets", "GunPoint"])
    assert first.exit_code == 0, first.output
    assert "on 1 data sets with published results" in first.output
    done = file.read_text()
    both = CliRunner().invoke(cli.application(), [*command, "--json", "--quiet"])
    assert both.exit_code == 0, both.output
    assert file.read_text().startswith(done)
    assert sum(json.loads(line)["kind"] == "row" for line in file.read_text().splitlines()) == 2
    entries = json.loads(both.stdout)["entries"]
    assert {entry["dataset"] for entry in entries} == {"BirdChicken", "GunPoint"}
    assert entries[0]["published"]["HC2"] >= 0
