"""Series to measure on: UCR sets where `WARPLEARN_DATA` names a folder of them, else generated."""

from __future__ import annotations

import os

import numpy as np

from warplearn import SeriesCollection, datasets


def read_set(name: str, split: str) -> tuple[np.ndarray | list[np.ndarray], np.ndarray]:
    """Series, an array if they are of equal length and else a list, and labels counted from 0."""
    if "WARPLEARN_DATA" not in os.environ:
        raise FileNotFoundError("set WARPLEARN_DATA to a folder of UCR data sets")
    found = datasets.load(name, split.lower(), download=False)
    values, lengths = found.X.values.swapaxes(1, 2), found.X.lengths
    values = values[:, 0] if found.X.n_channels == 1 else values
    labels = np.unique(found.y, return_inverse=True)[1]
    if lengths.min() == lengths.max():
        return np.ascontiguousarray(values), labels
    return [x[..., :k].copy() for x, k in zip(values, lengths, strict=True)], labels


def bumps(count: int, length: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Two classes of noisy series, float32: a bump whose place, width and sign vary."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(count) % 2, -1.0, 1.0)
    time = np.linspace(0, 1, length)
    centre = rng.uniform(0.3, 0.7, (count, 1))
    width = rng.uniform(0.05, 0.15, (count, 1))
    X = np.exp(-(((time - centre) / width) ** 2)) * y[:, None]
    X += 0.5 * np.sin(6 * time + rng.uniform(0, 6, (count, 1)))
    return (X + rng.normal(0, 0.2, X.shape)).astype(np.float32), y


def gunpoint() -> tuple[SeriesCollection, np.ndarray]:
    """GunPoint's 50 training series, or as many generated ones of its length."""
    try:
        X, labels = read_set("GunPoint", "TRAIN")
    except FileNotFoundError:
        X, y = bumps(50, 150)
        return SeriesCollection.of(X), y
    return SeriesCollection.of(np.asarray(X, np.float32)), np.where(labels == labels[0], 1.0, -1.0)


def some_training_series(
    name: str, seed: int, most: int, folds: int
) -> tuple[SeriesCollection, np.ndarray]:
    """At most so many series of the training file, of classes that have enough of them."""
    X, y = read_set(name, "TRAIN")
    kept = np.sort(np.random.RandomState(seed).permutation(len(y))[:most])
    labels, counts = np.unique(y[kept], return_counts=True)
    kept = kept[np.isin(y[kept], labels[counts >= folds])]
    return SeriesCollection.of(X)[kept], np.unique(y[kept], return_inverse=True)[1]
