"""Series to measure on: UCR sets where `WARPLEARN_DATA` names a folder of them, else generated."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from warplearn import SeriesCollection


def read_ucr(name: str, split: str) -> tuple[np.ndarray, np.ndarray]:
    """Series of equal length and labels of a set in the archive's `.tsv` format."""
    folder = os.environ.get("WARPLEARN_DATA")
    if not folder:
        raise FileNotFoundError("set WARPLEARN_DATA to a folder of UCR data sets")
    table = np.loadtxt(Path(folder) / name / f"{name}_{split}.tsv")
    return table[:, 1:], table[:, 0].astype(int)


def read_set(name: str, split: str) -> tuple[np.ndarray | list[np.ndarray], np.ndarray]:
    """Series and labels of any set: of equal length an array, else a list; `.tsv` or `.ts`."""
    folder = os.environ.get("WARPLEARN_DATA")
    if not folder:
        raise FileNotFoundError("set WARPLEARN_DATA to a folder of UCR data sets")
    file = Path(folder) / name / f"{name}_{split}"
    if file.with_suffix(".ts").exists():
        lines = file.with_suffix(".ts").read_text("utf-8").splitlines()
        start = next(i for i, line in enumerate(lines) if line.strip().lower() == "@data")
        cases = [line.split(":") for line in lines[start + 1 :] if line.strip()]
        series = [np.array([np.fromstring(c, sep=",") for c in case[:-1]]) for case in cases]
        y = np.unique([case[-1] for case in cases], return_inverse=True)[1]
    else:
        table = np.loadtxt(file.with_suffix(".tsv"), delimiter="\t", ndmin=2)
        series = [row[~np.isnan(row)] for row in table[:, 1:]]
        y = table[:, 0].astype(int)
    ragged = len({x.shape[-1] for x in series}) > 1
    return series if ragged else np.array(series), y


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
        X, labels = read_ucr("GunPoint", "TRAIN")
    except FileNotFoundError:
        X, y = bumps(50, 150)
        return SeriesCollection.of(X), y
    return SeriesCollection.of(X.astype(np.float32)), np.where(labels == labels[0], 1.0, -1.0)
