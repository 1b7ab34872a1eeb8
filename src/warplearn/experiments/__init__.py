"""Experiments: a study is described once, carried out in parts, and read as tables and figures."""

from warplearn.experiments.data import Data, collect
from warplearn.experiments.journal import JournalError, read_rows
from warplearn.experiments.runner import finished, run
from warplearn.experiments.spec import Method, Protocol, Study, StudyError, shipped_studies

__all__ = [
    "Data",
    "JournalError",
    "Method",
    "Protocol",
    "Study",
    "StudyError",
    "collect",
    "finished",
    "read_rows",
    "run",
    "shipped_studies",
]
