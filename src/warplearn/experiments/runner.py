"""Carry out a study: trials in threads, each written as soon as it is finished.

The unit of work is a *job*, a method on a data set: choosing parameters once, then trials, some at
a time, side by side in lanes.  Everything that determines a trial is in its key; a trial whose key
is in the file is not computed again.
"""

from __future__ import annotations

import hashlib
import json
import queue
import threading
import time
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from warplearn import __version__
from warplearn._kernels.simd.threads import thread_count
from warplearn.elastic.extent import columns_for
from warplearn.experiments.data import Data
from warplearn.experiments.journal import Journal, Line, read_rows
from warplearn.experiments.progress import Progress, progress_for
from warplearn.experiments.spec import Method, Study, estimator_class
from warplearn.experiments.trials import choose, run_trials
from warplearn.linear_model.classifiers import ElasticLinearClassifier

_LANES = 10  # trials of linear classifiers that are trained side by side


class Job(NamedTuple):
    """A method on a data set, and the trials that are not yet there."""

    study: Study
    method: Method
    data: Data
    trials: list[int]

    @property
    def label(self) -> str:
        """What people call it."""
        return f"{self.data.name} {self.method.name}"

    @property
    def protocol(self) -> str:
        """How the error is measured."""
        if len(self.data.test):
            return "test"
        few = self.data.n_train <= self.study.protocol.leave_one_out_up_to
        return "leave-one-out" if few else f"{self.study.protocol.folds}-fold cross-validation"

    @property
    def chooses_once(self) -> bool:
        """Whether parameters are chosen before the trials."""
        return bool(self.method.grid) and self.study.protocol.select == "cross-validation"

    @property
    def at_once(self) -> int:
        """How many trials are computed together, and written together."""
        linear = issubclass(estimator_class(self.method.estimator), ElasticLinearClassifier)
        return _LANES if linear else 1

    def key(self, *what: Any) -> str:
        """A fingerprint of all that determines a result."""
        method = self.method
        facts = (
            __version__, self.study.name, self.study.protocol.__dict__, self.study.seed,
            method.name, method.estimator, dict(method.parameters), dict(method.grid),
            dict(method.selecting), self.data.name, self.data.fingerprint, *what,
        )  # fmt: skip
        text = json.dumps(facts, sort_keys=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def work(self) -> tuple[float, float]:
        """Rough cost of choosing, and of a trial, in cells."""
        method, data, protocol = self.method, self.data, self.study.protocol
        points = float(data.X.lengths[data.train].sum())
        model = method.make()
        folds = data.n_train if data.n_train <= protocol.leave_one_out_up_to else protocol.folds
        judged = 1 if len(data.test) else folds
        if not isinstance(model, ElasticLinearClassifier):
            return 0.0, judged * points * float(data.X.lengths.sum()) / 5
        n_classes = len(np.unique(data.y))
        grid = method.grid.get("elasticity", [model.elasticity])
        columns = float(np.mean([columns_for(m, data.X.max_length) for m in grid]))
        grids = points * columns * (1 if n_classes == 2 else n_classes)
        candidates = len(method.candidates())
        epochs = method.selecting.get("max_iter", model.max_iter)
        if self.chooses_once:
            return candidates * folds * grids * epochs / 2, judged * grids * model.max_iter / 4
        return 0.0, judged * candidates * grids * model.max_iter / 4


def run(
    study: Study,
    data: Sequence[Data],
    path: str | Path,
    *,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> dict[str, str]:
    """Carry out what of a study is not yet in the file of results.

    Parameters
    ----------
    study : Study
    data : sequence of Data
        See `collect`.
    path : path
        The file of results; finished trials that are there are not computed again.
    n_jobs : int, optional
        Threads; None is Numba's current setting, -1 all cores.
    progress : Progress, optional
        By default a live display on a terminal, lines elsewhere.

    Returns
    -------
    dict
        Jobs that could not be carried out, and why.
    """
    threads = thread_count(n_jobs)
    with Journal(path) as journal, progress or progress_for() as shown:
        if journal.repaired:
            shown.say(f"cut off {journal.repaired} bytes of a torn line at the end of {path}")
        todo = sorted(_missing(_all_jobs(study, data), journal), key=_total, reverse=True)
        if not todo:
            return {}
        journal.begin(study=study.name, trials=study.trials, seed=study.seed)
        shown.begin(sum(map(_total, todo)), 0.0, sum(len(job.trials) for job in todo))
        # Here, as warnings are not for threads; and threads of linear algebra inside threads of
        # ours would wait for each other.
        with warnings.catch_warnings(), threadpool_limits(1, "blas"):
            warnings.simplefilter("ignore", ConvergenceWarning)
            failed = _work_off(todo, threads, journal, shown)
        journal.end()
        return failed


def finished(study: Study, data: Sequence[Data], path: str | Path) -> list[Line]:
    """The trials of a study that are in a file of results, in the order of the study.

    Rows of the file that the study would not compute today, as they were made with other
    parameters or other data, are left out.
    """
    rows = {row["key"]: row for row in read_rows(path)}
    keys = [job.key("trial", t) for job in _all_jobs(study, data) for t in job.trials]
    return [rows[key] for key in keys if key in rows]


def _all_jobs(study: Study, data: Iterable[Data]) -> Iterable[Job]:
    for each in data:
        for method in study.methods:
            count = min(study.trials, method.trials or study.trials)
            if not len(each.test):
                count = min(count, study.protocol.rounds)
            yield Job(study, method, each, list(range(count)))


def _missing(jobs: Iterable[Job], journal: Journal) -> Iterable[Job]:
    for job in jobs:
        missing = [t for t in job.trials if job.key("trial", t) not in journal.lines]
        if missing:
            yield job._replace(trials=missing)


def _total(job: Job) -> float:
    choosing, trial = job.work()
    return choosing + trial * len(job.trials)


def _work_off(
    jobs: Sequence[Job], threads: int, journal: Journal, shown: Progress
) -> dict[str, str]:
    """Give jobs to threads, the longest first; the threads end with the process."""
    waiting: queue.SimpleQueue[Job] = queue.SimpleQueue()
    for job in jobs:
        waiting.put(job)
    failed: dict[str, str] = {}
    broken: list[BaseException] = []
    stop = threading.Event()

    def work() -> None:
        while not stop.is_set():
            try:
                job = waiting.get_nowait()
            except queue.Empty:
                return
            try:
                _carry_out(job, journal, shown, stop)
            except (ValueError, MemoryError) as error:
                failed[job.label] = str(error) or type(error).__name__
                shown.say(f"{job.label}: failed: {failed[job.label]}")
            except BaseException as error:
                broken.append(error)
                stop.set()
            finally:
                shown.doing(job.label, None)

    workers = [threading.Thread(target=work, daemon=True) for _ in range(threads)]
    for worker in workers:
        worker.start()
    try:
        for worker in workers:
            while worker.is_alive():  # a join without end could not be interrupted
                worker.join(0.2)
    finally:
        stop.set()
    if broken:
        raise broken[0]
    return failed


def _carry_out(job: Job, journal: Journal, shown: Progress, stop: threading.Event) -> None:
    choosing, per_trial = job.work()
    chosen: dict[str, Any] = {}
    study = job.study
    if job.chooses_once:
        key = job.key("choice")
        line = journal.lines.get(key)
        if line is None:
            shown.doing(job.label, "choosing parameters")
            choice = choose(job.method, job.data, study.protocol, study.seed)
            line = {
                "kind": "choice", "run": journal.run, "study": study.name,
                "dataset": job.data.name, "method": job.method.name,
                "parameters": choice.parameters, "error": round(choice.error, 4),
                "seconds": round(choice.seconds, 3), "cells": choice.cells, "fits": choice.fits,
                "key": key,
            }  # fmt: skip
            journal.add([line])
        shown.advance(choosing, 0)
        chosen = line["parameters"]
    start = time.perf_counter()
    errors: list[float] = []
    for first in range(0, len(job.trials), job.at_once):
        if stop.is_set():
            return
        trials = job.trials[first : first + job.at_once]
        shown.doing(job.label, f"trial {trials[0] + 1} to {trials[-1] + 1}")
        seeds = [study.seed + trial for trial in trials]
        outcomes = run_trials(job.method, job.data, study.protocol, seeds, chosen)
        rows: list[Line] = [
            {
                "kind": "row", "run": journal.run, "study": study.name,
                "dataset": job.data.name, "method": job.method.name, "trial": trial, "seed": seed,
                "error": round(outcome.error, 4), "train_error": round(outcome.train_error, 4),
                "estimator": job.method.estimator, "parameters": outcome.parameters,
                "fit_seconds": round(outcome.fit_seconds, 4),
                "predict_seconds": round(outcome.predict_seconds, 4),
                "cells": outcome.cells, "predict_cells": outcome.predict_cells,
                "source": job.data.source, "protocol": job.protocol,
                "key": job.key("trial", trial),
            }
            for trial, seed, outcome in zip(trials, seeds, outcomes, strict=True)
        ]  # fmt: skip
        journal.add(rows)
        errors += [outcome.error for outcome in outcomes]
        shown.advance(per_trial * len(trials), len(trials))
    spent = time.perf_counter() - start
    shown.say(f"{job.label}: error {np.mean(errors):.1f} %, {len(errors)} trials in {spent:.1f} s")
