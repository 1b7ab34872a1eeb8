"""Carry out a study: trials in threads, each written as soon as it is finished.

The unit of work is a `Job`, a method on a data set: choosing parameters once, then trials, some at
a time, side by side in lanes.  Everything that determines a trial is in its key; a trial whose key
is in the file is not computed again.
"""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from warplearn._kernels.simd.threads import blas_threads, thread_count
from warplearn.experiments.claims import Claims
from warplearn.experiments.data import Data
from warplearn.experiments.jobs import Job, all_jobs
from warplearn.experiments.journal import Journal, Line, read_rows, views_path
from warplearn.experiments.progress import Progress, progress_for
from warplearn.experiments.spec import Study
from warplearn.experiments.trials import choose, model_of, run_trials
from warplearn.experiments.views import view_of
from warplearn.experiments.workers import Workers


def _here(function: Callable[..., Any], *args: Any) -> Any:
    return function(*args)


def run(
    study: Study,
    data: Sequence[Data],
    path: str | Path,
    *,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    grace: float | None = None,
    call: Callable[..., Any] = _here,
) -> list[Line]:
    """Carry out what of a study is not yet in the file of results.

    Parameters
    ----------
    study : Study
    data : sequence of Data
        See `collect`.
    path : path
        The file of results; finished trials that are there are not computed again.  What a report
        shows of models is written beside it (see `read_views`).
    n_jobs : int, optional
        Threads; None is 1, -1 all cores.
    progress : Progress, optional
        By default a live display on a terminal, lines elsewhere.
    grace : float, optional
        Seconds to wait for running threads after an interrupt; by default until they have ended.
    call : callable, optional
        Calls a function with its arguments, in this thread or elsewhere, such as on a cluster (see
        `warplearn.dask.caller`).  Results are written here.

    Returns
    -------
    list of dict
        Failures of this run, as `read_failures` gives them: methods that could not be tried on a
        data set, with the message of the error.

    Raises
    ------
    BusyError
        If another process carries out some of the same for the same file.  Processes with
        different methods or data sets may share a file.

    Notes
    -----
    An interrupt from the keyboard is passed on to the threads, and raised here once they have
    ended or `grace` is over.
    """
    threads = thread_count(n_jobs)
    jobs = list(all_jobs(study, data))
    with (
        Claims(path, (f"{study.name}: {job.label}" for job in jobs)),
        Journal(path) as journal,
        _Views(path, study) as views,
        progress or progress_for() as display,
    ):
        if journal.repaired:
            display.say(f"cut off {journal.repaired} bytes of a torn line at the end of {path}")
        todo = _unfinished(jobs, journal, views)
        if not todo:
            return []
        todo.sort(key=lambda job: job.total, reverse=True)
        journal.begin(study=study.name, table=study.table, trials=study.trials, seed=study.seed)
        total = sum(job.total for job in todo)
        display.begin(total, 0.0, sum(len(job.trials) for job in todo))
        desk = _Desk(journal, views, display, [], call)
        # Filters of warnings are not for threads, so they are set here.  Threads of linear algebra
        # inside our threads would wait for each other.
        with warnings.catch_warnings(), blas_threads(1):
            warnings.simplefilter("ignore", ConvergenceWarning)
            Workers(threads, desk.do, grace).run(todo)
        journal.end()
        return desk.failures


def finished(study: Study, data: Sequence[Data], path: str | Path) -> list[Line]:
    """The trials of a study that are in a file of results, in the order of the study.

    Rows of the file that the study would not compute today, as they were made with other
    parameters, data or versions, are left out.
    """
    rows = {row["key"]: row for row in read_rows(path)}
    keys = [job.key("trial", t) for job in all_jobs(study, data) for t in job.trials]
    return [rows[key] for key in keys if key in rows]


class _Views:
    """The file of views, opened when there is something to write."""

    def __init__(self, path: str | Path, study: Study) -> None:
        self.journal = Journal(views_path(path)) if study.views else None

    def __enter__(self) -> _Views:
        return self

    def __exit__(self, *_: object) -> None:
        if self.journal is not None:
            self.journal.close()

    def is_missing(self, job: Job) -> bool:
        """Whether the view of a job is wanted and not there."""
        return (
            self.journal is not None and job.has_view and job.key("view") not in self.journal.lines
        )

    def add(self, job: Job, view: Line) -> None:
        """Write a view."""
        if self.journal is not None:
            line = {"kind": "view", **job.place, "view": view, "key": job.key("view")}
            self.journal.add([line])


def _unfinished(jobs: Iterable[Job], journal: Journal, views: _Views) -> list[Job]:
    """The jobs with trials that are not in the file, or whose view is missing."""
    todo = []
    for job in jobs:
        missing = [t for t in job.trials if job.key("trial", t) not in journal.lines]
        if missing or views.is_missing(job):
            todo.append(job._replace(trials=missing))
    return todo


class _Desk(NamedTuple):
    """Where jobs are done: the files they are written to, and the display."""

    journal: Journal
    views: _Views
    display: Progress
    failures: list[Line]
    call: Callable[..., Any]

    def do(self, job: Job, stop: threading.Event) -> None:
        """Carry out a job; an error of a method is a line of results."""
        try:
            self._carry_out(job, stop)
        except (ValueError, MemoryError) as error:
            if stop.is_set():
                return  # what an interrupt led to
            failure = {
                "kind": "failure", "run": self.journal.run, **job.place,
                "estimator": job.method.estimator, "message": str(error) or type(error).__name__,
            }  # fmt: skip
            self.journal.add([failure])
            self.failures.append({**failure, "table": job.study.table})
            self.display.fail(job.label, failure["message"])
        finally:
            self.display.doing(job.label, None)

    def _carry_out(self, job: Job, stop: threading.Event) -> None:
        start = time.perf_counter()
        chosen = self._choose(job, stop)
        errors: list[float] = []
        for first in range(0, len(job.trials), job.at_once):
            if stop.is_set():
                return
            trials = job.trials[first : first + job.at_once]
            self.display.doing(job.label, f"trial {trials[0] + 1} to {trials[-1] + 1}")
            rows = self.call(_trial_rows, job, trials, chosen)
            if stop.is_set():
                return  # an interrupted fit may have ended too early
            self.journal.add([{"kind": "row", "run": self.journal.run, **row} for row in rows])
            errors += [row["error"] for row in rows]
            self.display.advance(job.work()[1] * len(trials), len(trials))
        if self.views.is_missing(job) and not stop.is_set():
            self.display.doing(job.label, "computing the view of a model")
            view = self.call(_view, job, chosen)
            if not stop.is_set():
                self.views.add(job, view)
        if errors:
            spent = time.perf_counter() - start
            mean = f"error {np.mean(errors):.1f} %"
            counted = f"{len(errors)} trial{'' if len(errors) == 1 else 's'}"
            self.display.say(f"{job.label}: {mean}, {counted} in {spent:.1f} s")

    def _choose(self, job: Job, stop: threading.Event) -> dict[str, Any]:
        """The parameters that all trials have, from the file if they are there."""
        if not job.chooses_once:
            return {}
        key = job.key("choice")
        line = self.journal.lines.get(key)
        if line is None:
            self.display.doing(job.label, "choosing parameters")
            choice = self.call(choose, job.method, job.data, job.study.protocol, job.study.seed)
            line = {
                "kind": "choice", "run": self.journal.run, **job.place,
                "parameters": choice.parameters, "error": round(choice.error, 4),
                "seconds": round(choice.seconds, 3), "cells": choice.cells, "fits": choice.fits,
                "key": key,
            }  # fmt: skip
            if not stop.is_set():
                self.journal.add([line])
        self.display.advance(job.work()[0], 0)
        return line["parameters"]


def _trial_rows(job: Job, trials: Sequence[int], chosen: dict[str, Any]) -> list[Line]:
    seeds = [job.study.seed + trial for trial in trials]
    outcomes = run_trials(job.method, job.data, job.study.protocol, seeds, chosen)
    return [
        {
            **job.place, "trial": trial, "seed": seed,
            "error": round(outcome.error, 4), "train_error": round(outcome.train_error, 4),
            "estimator": job.method.estimator, "parameters": outcome.parameters,
            "fit_seconds": round(outcome.fit_seconds, 4),
            "predict_seconds": round(outcome.predict_seconds, 4),
            "decision_seconds": float(f"{outcome.decision_seconds:.4g}"),
            "model_bytes": outcome.model_bytes,
            "cells": outcome.cells, "predict_cells": outcome.predict_cells,
            "source": job.data.source, "protocol": job.protocol,
            "key": job.key("trial", trial),
        }
        for trial, seed, outcome in zip(trials, seeds, outcomes, strict=True)
    ]  # fmt: skip


def _view(job: Job, chosen: dict[str, Any]) -> Line:
    """The view of the model of the first trial, on test series where there are some."""
    data = job.data
    model = model_of(job.method, data, job.study.seed, chosen)
    held_out = len(data.test) > 0
    cases = data.test if held_out else data.train
    return view_of(
        model, data.X[cases], data.y[cases],
        name=data.name, channels=data.channels, held_out=held_out,
    )  # fmt: skip
