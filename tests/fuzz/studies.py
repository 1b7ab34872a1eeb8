"""Studies and files of results that are damaged: refused with the place, or carried on."""

from __future__ import annotations

import io
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

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
    table_of,
)
from warplearn.experiments.journal import Journal, read_lines
from warplearn.experiments.progress import PlainProgress

from .contract import Case, choice
from .files import mutated

TOML = b"""name = "small"
title = "two methods"
datasets = ["WarpedBumps"]
trials = 2
seed = 3
[protocol]
select = "training error"
folds = 3
[[methods]]
name = "m={elasticity}"
estimator = "ElasticPerceptron"
parameters = { max_iter = 1 }
vary = { elasticity = [1, 2] }
grid = { learning_rate_init = [0.1, 0.3] }
[[methods]]
name = "nearest"
estimator = "NearestPrototypeClassifier"
trials = 1
[reduced]
trials = 1
thin = 2
"""
VARYING = {"run", "versions", "machine", "fit_seconds", "predict_seconds", "decision_seconds"}


def carry_out(study: Study, path: Path) -> None:
    """Run a study without a word, on few of its series."""
    run(study, _data(), path, n_jobs=1, progress=PlainProgress(io.StringIO()))


@cache
def _data() -> list[Data]:
    (whole,) = collect(_study()).data
    cases = np.r_[:12, whole.n_train : whole.n_train + 6]
    return [Data(whole.name, whole.source, whole.X[cases], whole.y[cases], 12)]


@cache
def _study() -> Study:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "small.toml"
        file.write_bytes(TOML)
        return Study.read(file)


@cache
def _journal() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.jsonl"
        carry_out(_study(), path)
        return path.read_bytes()


def _rows(path: Path) -> list[dict[str, Any]]:
    """What a study has found, without what differs from run to run."""
    rows = finished(_study(), _data(), path)
    return [{name: row[name] for name in row if name not in VARYING} for row in rows]


@cache
def _whole() -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.jsonl"
        path.write_bytes(_journal())
        return _rows(path)


def specifications(rng: np.random.Generator) -> None:
    """A mutated file is a study, or an error that says where it is none."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "small.toml"
        file.write_bytes(mutated(rng, TOML))
        try:
            study = Study.read(file)
        except StudyError as error:
            assert str(error)
            return
    study.quick()
    assert all(method.candidates() for method in study.methods)


def journals(rng: np.random.Generator) -> None:
    """A mutated file of results is read and shown, or refused with the line."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.jsonl"
        path.write_bytes(mutated(rng, _journal()))
        try:
            rows, failures = read_rows(path), read_failures(path)
            finished(_study(), _data(), path)
            read_views(path)
        except JournalError as error:
            assert path.name in str(error)
            return
    assert all(np.isfinite(row["error"]) for row in rows)
    if rows or failures:
        table_of(rows, failures)


def cut(rng: np.random.Generator) -> None:
    """A file of results that ends anywhere is carried on to the rows of an uninterrupted run."""
    content = _journal()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.jsonl"
        path.write_bytes(content[: int(rng.integers(len(content) + 1))])
        try:
            carry_out(_study(), path)
        except JournalError:
            assert not path.read_bytes().count(b'"kind"'), "a beginning was refused"
            return
        assert _rows(path) == _whole()


def torn(rng: np.random.Generator) -> None:
    """A process dies in the middle of a line while another one has the file open."""
    lines = _journal().splitlines(keepends=True)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.jsonl"
        path.write_bytes(b"".join(lines[: int(rng.integers(1, len(lines)))]))
        with Journal(path) as journal:
            before = len(journal.lines)
            half = choice(rng, lines)
            with path.open("ab") as other:
                other.write(half[: int(rng.integers(1, len(half)))])
            journal.begin(study="small")
        assert len(read_lines(path, "run")) >= 1
        assert len(Journal(path).lines) == before


CASES: dict[str, Case] = {
    "specifications": specifications, "journals": journals, "cut": cut, "torn": torn,
}  # fmt: skip
