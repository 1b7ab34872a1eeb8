"""Real sets with their labels, for tests that need them."""

import os

import pytest

from warplearn import datasets


def loaded(name, part):
    """A set of the archive, from the folder that WARPLEARN_DATA names."""
    folder = os.environ.get("WARPLEARN_DATA")
    if not folder:
        pytest.skip("WARPLEARN_DATA is not set")
    try:
        return datasets.load(name, part.lower(), folder, download=False)
    except datasets.DatasetNotFoundError as error:
        pytest.skip(str(error))


def labelled(name, part):
    """Series (cases, time) and labels of a set of equal length."""
    found = loaded(name, part)
    return found.X.values[:, :, 0], found.y
