"""Which public names the suite gives random input to, and which it does not, and why.

The names are those of the API reference, so a new one is missed until it has a place here.
"""

from __future__ import annotations

import inspect
import sys
from pathlib import Path
from typing import Any

from warplearn import catalogue
from warplearn.datasets.readers import READERS

from . import calls, estimators, files

sys.path.append(str(Path(__file__).parents[2] / "docs"))

import reference

NOT_FUZZED = {
    "warplearn.warmup": "compiles what the other calls need",
    "warplearn.datasets.available": "lists a folder",
    "warplearn.datasets.cache_folder": "takes nothing",
    "warplearn.datasets.download": "asks a server: tests/test_archive.py has hostile ones",
    "warplearn.datasets.in_files": "lists a folder",
    "warplearn.datasets.is_file": "asks the file system",
    "warplearn.series.common_dtype": "takes collections only",
    "warplearn.mean.Averaging": "a setting without parameters",
    "warplearn.mean.Method": "a protocol",
    "warplearn.dask.caller": "runs a function of the user's",
    "warplearn.experiments.shipped_studies": "takes nothing",
    "warplearn.experiments.register_table": "takes a function of the user's",
    "warplearn.training.train.train": "takes plans, which estimators make",
}
# Families beside those of `calls` and the table of estimators: what their cases are made of.
ELSEWHERE = {
    "models": {"warplearn.save", "warplearn.load"},
    "studies": {
        f"warplearn.experiments.{name}"
        for name in (
            "Data", "Method", "Protocol", "Study", "collect", "finished", "read_failures", "read_rows",
            "read_views", "run", "table_of",
        )
    },
    "networks": {
        f"warplearn.torch.{name}"
        for name in (
            "ElasticConv1d", "ElasticConvNet", "ElasticDistance", "ElasticLinear", "functional",
        )
    },
    "clusters": {
        f"warplearn.dask.{name}"
        for name in (
            "collection", "decision_function", "explain", "fit", "pairwise_dtw", "predict",
            "predict_proba", "read_parquet", "transform",
        )
    },
    "recordings": {
        "warplearn.event_metrics", "warplearn.detection.DetectionStream",
        "warplearn.detection.EarlyStream",
    },
    "estimators": {f"warplearn.mean.{name}" for name in ("Descent", "Gradient", "Stochastic")},
}  # fmt: skip


def public() -> set[str]:
    """Full names of all public functions and classes that are more than records and errors."""
    names = {name for listed in reference.sections().values() for name in listed}
    return {name for name in names if not _is_passive(reference.object_of(name))}


def _is_passive(found: Any) -> bool:
    record = isinstance(found, type) and issubclass(found, (BaseException, tuple))
    return record or not (callable(found) or inspect.ismodule(found))


def covered() -> set[str]:
    """Full names that some family has cases for."""
    names = {name for own in ELSEWHERE.values() for name in own} | set(calls.CALLS)
    for name in estimators.EVERY:
        entry = catalogue.ESTIMATORS[name]
        names.add(f"warplearn.{name}" if entry.public else f"{_package_of(entry.module)}.{name}")
    names |= {f"warplearn.datasets.{READERS[suffix].__name__}" for suffix in files.suffixes()}
    return names | {"warplearn.datasets.read", "warplearn.datasets.Dataset"}


def _package_of(module: str) -> str:
    return module.rpartition(".")[0]


def missing() -> set[str]:
    """Public names without a case and without a reason; names that are none any more."""
    known = covered() | set(NOT_FUZZED)
    registering = {name for name in public() if name.rpartition(".")[2].startswith("register")}
    return public() - known - registering
