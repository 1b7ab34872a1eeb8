"""The unit of work of a study: a method on a data set."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from warplearn import __version__
from warplearn.elastic.extent import columns_for
from warplearn.experiments.data import Data
from warplearn.experiments.spec import Method, Study
from warplearn.model_selection import makes_plans

LANES = 10  # trials that are trained side by side, by methods that know lanes


class Job(NamedTuple):
    """A method on a data set, and the trials that are to be computed."""

    study: Study
    method: Method
    data: Data
    trials: list[int]

    @property
    def label(self) -> str:
        """What people call it."""
        return f"{self.data.name} {self.method.name}"

    @property
    def place(self) -> dict[str, str]:
        """What every line of results about it says."""
        return {
            "study": self.study.name, "dataset": self.data.name, "method": self.method.name,
        }  # fmt: skip

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
        return LANES if makes_plans(self.method.estimator_class) else 1

    @property
    def has_view(self) -> bool:
        """Whether a report shows the model of the first trial."""
        return self.method.name in self.study.views

    def key(self, *what: Any) -> str:
        """A fingerprint of all that determines a result."""
        method = self.method
        determined_by = (
            __version__, self.study.name, self.study.protocol.__dict__, self.study.seed,
            method.name, method.estimator, dict(method.parameters), dict(method.grid),
            dict(method.selecting), self.data.name, self.data.fingerprint, *what,
        )  # fmt: skip
        text = json.dumps(determined_by, sort_keys=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def work(self) -> tuple[float, float]:
        """Rough cost of choosing, and of a trial, in cells."""
        method, data, protocol = self.method, self.data, self.study.protocol
        points = float(data.X.lengths[data.train].sum())
        parameters = method.make().get_params()
        folds = data.n_train if data.n_train <= protocol.leave_one_out_up_to else protocol.folds
        judged = 1 if len(data.test) else folds
        candidates = len(method.candidates())
        if "elasticity" in parameters and "max_iter" in parameters:
            n_classes = len(np.unique(data.y))
            elasticities = method.grid.get("elasticity", [parameters["elasticity"]])
            columns = float(np.mean([columns_for(m, data.X.max_length) for m in elasticities]))
            epoch = points * columns * (1 if n_classes == 2 else n_classes)
            epochs = method.selecting.get("max_iter", parameters["max_iter"])
            choosing, trial = epoch * epochs / 2, epoch * parameters["max_iter"] / 4
        else:
            choosing = trial = points * float(data.X.lengths.sum()) / 5
        if self.chooses_once:
            return candidates * folds * choosing, judged * trial
        return 0.0, judged * candidates * trial

    @property
    def total(self) -> float:
        """Rough cost of all of it."""
        choosing, trial = self.work()
        return choosing + trial * len(self.trials)


def all_jobs(study: Study, data: Iterable[Data]) -> Iterable[Job]:
    """The jobs of a study, with all trials."""
    for each in data:
        for method in study.methods:
            count = min(study.trials, method.trials or study.trials)
            if not len(each.test):
                count = min(count, study.protocol.rounds)
            yield Job(study, method, each, list(range(count)))
