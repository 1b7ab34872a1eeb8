"""Make the files of `warplearn.datasets.bundled` from a folder with the archive's files.

    python tools/bundle_datasets.py UCRArchive_2018

For each set it prints the size of the file, the greatest difference to the archive's numbers, and
whether the nearest neighbours under DTW are the same ones.
"""

import sys
from pathlib import Path

import numpy as np

from warplearn import datasets, nearest_neighbors
from warplearn.datasets import bundled

DECIMALS = {"PickupGestureWiimoteZ": 3, "BasicMotions": 6, "JapaneseVowels": 6}
FOLDER = Path(bundled.__file__).parent


def write(name, folder):
    """Write the file of a data set."""
    train, test = (datasets.load(name, split, folder) for split in ("train", "test"))
    decimals = DECIMALS.get(name, 8)
    series = [x.reshape(train.X.n_channels, -1) for part in (train, test) for x in part.X]
    values = np.rint(np.concatenate(series, axis=1) * 10.0**decimals)
    assert np.abs(values).max() < 2**31
    np.savez_compressed(
        FOLDER / f"{name}.npz",
        values=values.astype(np.int32),
        lengths=np.array([x.shape[1] for x in series], np.int16),
        y=np.concatenate([train.y, test.y]),
        n_train=np.int16(len(train.X)),
        decimals=np.int8(decimals),
    )


def check(name, folder):
    """Compare a file with the archive; its size."""
    difference, nearest = 0.0, []
    for load in (datasets.load, lambda name, split, _: bundled.BUNDLED[name].make(name, split)):
        train, test = (load(name, split, folder) for split in ("train", "test"))
        nearest.append(nearest_neighbors(train.X, test.X)[1])
    for split in ("train", "test"):
        archive, ours = datasets.load(name, split, folder), bundled.BUNDLED[name].make(name, split)
        assert np.array_equal(archive.y, ours.y)
        assert np.array_equal(archive.X.lengths, ours.X.lengths)
        difference = max(difference, float(np.abs(archive.X.values - ours.X.values).max()))
    size = (FOLDER / f"{name}.npz").stat().st_size
    print(f"{name}: {size:,} bytes, differs by {difference:.2g},", end=" ")
    print("the same neighbours" if np.array_equal(*nearest) else "OTHER NEIGHBOURS")
    return size


if __name__ == "__main__":
    for each in bundled.BUNDLED:
        write(each, sys.argv[1])
    print(f"{sum(check(each, sys.argv[1]) for each in bundled.BUNDLED):,} bytes in all")
