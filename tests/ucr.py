"""Real sets with their labels, for tests that need them."""

import os
from pathlib import Path

import numpy as np
import pytest


def labelled(name, part):
    """Series (cases, time) and labels of a set of equal length."""
    folder = os.environ.get("WARPLEARN_DATA")
    if not folder:
        pytest.skip("WARPLEARN_DATA is not set")
    file = Path(folder) / name / f"{name}_{part}.tsv"
    if not file.exists():
        pytest.skip(f"WARPLEARN_DATA has no {name}_{part}.tsv")
    table = np.loadtxt(file, delimiter="\t", ndmin=2)
    return table[:, 1:], table[:, 0].astype(int)
