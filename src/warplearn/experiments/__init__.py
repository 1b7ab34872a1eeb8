"""Experiments: a study is described once, carried out in steps, and shown as tables and figures."""

from warplearn.experiments import archive, paper  # noqa: F401  registers their tables
from warplearn.experiments.checking import StudyError
from warplearn.experiments.data import Data, collect
from warplearn.experiments.journal import JournalError, read_failures, read_rows, read_views
from warplearn.experiments.runner import finished, run
from warplearn.experiments.spec import Method, Protocol, Study, shipped_studies
from warplearn.experiments.tables import Cell, Drawing, Table, register_table, table_of

__all__ = [
    "Cell",
    "Data",
    "Drawing",
    "JournalError",
    "Method",
    "Protocol",
    "Study",
    "StudyError",
    "Table",
    "collect",
    "finished",
    "read_failures",
    "read_rows",
    "read_views",
    "register_table",
    "run",
    "shipped_studies",
    "table_of",
]
