"""Names and limits of the format of model files."""

from __future__ import annotations

import re
from numbers import Integral
from typing import Any

from numpy.typing import NDArray

FORMAT, VERSION = "warplearn model", 1
TEXT = "model.json"
DEFAULT_MAX_BYTES = 2**32

MAX_RATIO = 50  # unpacked to packed size of an entry; `save` stores what packs better as it is
MAX_FACTOR = 2 * MAX_RATIO  # bytes of arrays in the model to bytes of the file
MAX_USES = 2  # of a stored array; `save` stores it anew after that
MAX_TEXT = 2**23
MAX_ITEMS = 500_000  # values in the text
FEW_ITEMS = 1000  # that any file may have; more need a byte of the file each
MAX_DEPTH = 40  # of the tree
MAX_ARRAYS = 10_000
MAX_DIMENSIONS = 8
MAX_HEADER = 1000  # bytes of the header of an array
MAX_CODE_POINT = 0x10FFFF

DTYPE = re.compile(r"[<|](b1|i1|u1|[iuf][248]|U[1-9][0-9]{0,5})")
ATTRIBUTE = re.compile(r"_?[A-Za-z]\w{0,99}", re.ASCII)
NOT_FINITE = {"nan": float("nan"), "inf": float("inf"), "-inf": float("-inf")}

Array = NDArray[Any]


def demand(valid: bool, message: str) -> None:
    """Refuse a file with this message unless a condition holds."""
    if not valid:
        raise ValueError(message)


def is_integer(value: Any, least: int | None = None) -> bool:
    """Whether a value is an integer, of at least some size."""
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    return whole and (least is None or int(value) >= least)


def count_items(text: bytes) -> int:
    """At least as many as there are values in a text."""
    return sum(text.count(sign) for sign in (b",", b"[", b"{"))


def items_allowed(size: int) -> int:
    """How many values the text of a file of some bytes may have: each takes memory."""
    return min(MAX_ITEMS, max(FEW_ITEMS, size))


def check_scoring_names(scoring: Any, where: str) -> None:
    """Scores are stored by their names."""
    names = scoring if isinstance(scoring, (list, tuple)) else [scoring]
    if not all(name is None or isinstance(name, str) for name in names):
        raise TypeError(f"{where} cannot be saved: only names of metrics can be")
