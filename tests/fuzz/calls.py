"""A valid call of every public function, by its full name, with all its arguments.

`functions.py` changes one argument at a time; `coverage.py` says which names are missing here.
Further words that an error may use in place of an argument follow the arguments; some are
scikit-learn's.
"""

from __future__ import annotations

import pickle
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

import warplearn
from warplearn import datasets, plotting, series
from warplearn.datasets import generators
from warplearn.explanation import decision_values, occlude

from . import estimators

mpl.use("agg")

Call = tuple[Any, ...]  # a function, its arguments by name, and other words


def _blocks(**arguments: Any) -> Any:
    return list(warplearn.pairwise_dtw_blocks(**arguments))


def _stored(X: Any, Y: Any, band: Any, cost: Any, rows: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        options = {"band": band, "cost": cost, "rows": rows}
        return np.array(warplearn.save_pairwise_dtw(f"{folder}/d.npy", X, Y, **options))


def _written(write: Callable[..., Path], read: Callable[..., Any]) -> Callable[..., Any]:
    """Write series to a file and read them again."""

    def there_and_back(X: Any, y: Any) -> Any:
        with tempfile.TemporaryDirectory() as folder:
            found = read(write(Path(folder) / "Own_TRAIN.x", X, y)).X
        for got, ref in zip(found, series.SeriesCollection.of(X), strict=True):
            np.testing.assert_array_equal(got, ref)
        return found

    return there_and_back


def _found(function: Callable[..., Any]) -> Callable[..., Any]:
    """Look for a data set, at nobody's server."""

    def find(**arguments: Any) -> Any:
        try:
            return function(**arguments, base="http://127.0.0.1:9", retries=0)
        except FileNotFoundError:
            return None

    return find


def _drawn(make: Callable[..., Any]) -> Callable[..., None]:
    """Make a display and draw it."""

    def draw(**arguments: Any) -> None:
        from matplotlib import pyplot

        try:
            make(**arguments).plot()
        finally:
            pyplot.close("all")

    return draw


def _fitted(name: str) -> Any:
    return pickle.loads(estimators.fitted(name))


def _pair(rng: np.random.Generator) -> dict[str, Any]:
    x, y = rng.normal(size=(2, 5))
    return {"x": x, "y": y, "band": None, "cost": "squared"}


def _sets(rng: np.random.Generator) -> dict[str, Any]:
    X = rng.normal(size=(3, 5))
    return {"X": X, "Y": X[:2], "band": None, "cost": "squared"}


def _matrix(rng: np.random.Generator) -> dict[str, Any]:
    return {"X": rng.normal(size=(3, 5)), "W": rng.normal(size=(5, 2)), "band": None}


def _explained(rng: np.random.Generator) -> dict[str, Any]:
    return {"model": _fitted("NearestPrototypeClassifier"), "X": rng.normal(size=(2, 6))}


def _labelled(rng: np.random.Generator) -> dict[str, Any]:
    return {"X": rng.normal(size=(3, 5)), "y": np.array(["a", "b", "a"])}


def _errors(rng: np.random.Generator) -> dict[str, Any]:
    return {"errors": rng.uniform(0, 50, size=(6, 3)), "names": ["a", "b", "c"], "alpha": 0.05}


def _embed(rng: np.random.Generator) -> Call:
    x, Z = rng.normal(size=5), rng.normal(size=(5, 2))
    return warplearn.embed, {"x": x, "Z": Z, "path": warplearn.active_path(x, Z)}


def _alignment(rng: np.random.Generator) -> Call:
    return _drawn(plotting.AlignmentDisplay.from_series), _without_cost(rng)


def _warping(rng: np.random.Generator) -> Call:
    return _drawn(plotting.WarpingPathDisplay.from_series), _without_cost(rng)


def _without_cost(rng: np.random.Generator) -> dict[str, Any]:
    return {key: value for key, value in _pair(rng).items() if key != "cost"}


def _one_of_generators(rng: np.random.Generator) -> Call:
    makers = (
        generators.cylinder_bell_funnel, generators.two_patterns, generators.synthetic_control,
        generators.warped_bumps, generators.alternating_bumps, generators.motifs,
    )  # fmt: skip
    maker = makers[int(rng.integers(len(makers)))]
    return maker, {"n_cases": 4, "length": 60, "random_state": 0}, "seed", "Seed"


CALLS: dict[str, Callable[[np.random.Generator], Call]] = {
    "warplearn.dtw": lambda rng: (warplearn.dtw, _pair(rng)),
    "warplearn.warping_path": lambda rng: (warplearn.warping_path, _pair(rng)),
    "warplearn.pairwise_dtw": lambda rng: (warplearn.pairwise_dtw, _sets(rng) | {"n_jobs": 1}),
    "warplearn.pairwise_dtw_blocks": lambda rng: (_blocks, _sets(rng) | {"rows": 2}),
    "warplearn.save_pairwise_dtw": lambda rng: (_stored, _sets(rng) | {"rows": 2}),
    "warplearn.nearest_neighbors": lambda rng: (
        warplearn.nearest_neighbors,
        {"queries" if k == "Y" else k: v for k, v in _sets(rng).items()} | {"n_neighbors": 1},
    ),
    "warplearn.elastic_inner_product": lambda rng: (warplearn.elastic_inner_product, _matrix(rng)),
    "warplearn.elastic_distance": lambda rng: (
        warplearn.elastic_distance,
        {"Y" if k == "W" else k: v for k, v in _matrix(rng).items()} | {"cost": "squared"},
    ),
    "warplearn.active_path": lambda rng: (
        warplearn.active_path,
        {"x": rng.normal(size=5), "W": rng.normal(size=(5, 2)), "cost": "product", "band": None},
    ),
    "warplearn.embed": _embed,
    "warplearn.value_and_gradient": lambda rng: (
        warplearn.value_and_gradient, _matrix(rng) | {"cost": "product", "upstream": np.ones(3)},
    ),
    "warplearn.band_mask": lambda rng: (warplearn.band_mask, {"k": 4, "m": 3, "band": 1}),
    "warplearn.elastic_mean": lambda rng: (
        warplearn.elastic_mean,
        {
            "X": rng.normal(size=(3, 5)), "sample_weight": np.ones(3), "cost": "squared",
            "max_iter": 2, "tol": 0.1, "init": "medoid", "random_state": 0,
        }, "seed", "Seed",
    ),
    "warplearn.SeriesCollection": lambda rng: (
        warplearn.SeriesCollection,
        {"values": rng.normal(size=(3, 5, 1)), "lengths": np.full(3, 5)},
    ),
    "warplearn.SeriesCollection.of": lambda rng: (
        warplearn.SeriesCollection.of, {"X": rng.normal(size=(3, 5)), "layout": "aeon"},
    ),
    "warplearn.Alphabet": lambda rng: (
        warplearn.Alphabet, {"symbols": "abc", "kernel": np.eye(3)}, "alphabet",
    ),
    "warplearn.Alphabet.encode": lambda rng: (
        warplearn.Alphabet("abc").encode, {"sequences": ["ab", "c"]},
    ),
    "warplearn.explain": lambda rng: (warplearn.explain, _explained(rng) | {"width": 2}),
    "warplearn.to_c": lambda rng: (
        warplearn.to_c,
        {
            "model": _fitted("ElasticPerceptron"), "name": "model", "numbers": "int16", "limit": 3.0,
            "max_bytes": 2**20,
        }, "instance",
    ),
    "warplearn.explanation.occlude": lambda rng: (occlude, _explained(rng) | {"width": 2}),
    "warplearn.explanation.decision_values": lambda rng: (decision_values, _explained(rng)),
    "warplearn.series.fit_length": lambda rng: (
        series.fit_length,
        {"series": series.SeriesCollection.of(rng.normal(size=(3, 5))), "n": 6, "longer": "error"},
    ),
    "warplearn.series.single": lambda rng: (series.single, {"x": rng.normal(size=5)}),
    "warplearn.datasets.from_frame": lambda rng: (
        datasets.from_frame,
        {
            "frame": {"label": ["a", "b"], "t0": [0.5, 1.5], "t1": [1.5, 0.0]}, "label": "label",
            "id": None, "time": None, "value": None, "drop": (), "resample": None, "step": None,
            "missing": "error",
        }, "column", "columns",
    ),
    "warplearn.datasets.load": lambda rng: (
        _found(datasets.load), {"name": "WarpedBumps", "split": "train"}, "directory",
    ),
    "warplearn.datasets.info": lambda rng: (_found(datasets.info), {"name": "WarpedBumps"}),
    "warplearn.datasets.description": lambda rng: (datasets.description, {"name": "GunPoint"}),
    "warplearn.datasets.write_csv": lambda rng: (
        _written(datasets.write_csv, datasets.read_csv), _labelled(rng),
    ),
    "warplearn.datasets.write_ts": lambda rng: (
        _written(datasets.write_ts, datasets.read_ts), _labelled(rng),
    ),
    "warplearn.datasets.write_tsv": lambda rng: (
        _written(datasets.write_tsv, datasets.read_tsv), _labelled(rng),
    ),
    "warplearn.datasets.make_recording": lambda rng: (
        datasets.make_recording,
        _labelled(rng) | {"n_events": 2, "spacing": (0.5, 2.0), "noise": 0.1, "random_state": 0},
        "seed", "Seed",
    ),
    "warplearn.datasets.generators": _one_of_generators,
    "warplearn.plotting.rank_methods": lambda rng: (plotting.rank_methods, _errors(rng)),
    "warplearn.AlignmentDisplay": _alignment,
    "warplearn.WarpingPathDisplay": _warping,
    "warplearn.CriticalDifferenceDisplay": lambda rng: (
        _drawn(plotting.CriticalDifferenceDisplay.from_errors), _errors(rng),
    ),
    "warplearn.TradeOffDisplay": lambda rng: (
        _drawn(plotting.TradeOffDisplay),
        {"names": ["a", "b"], "errors": rng.uniform(0, 9, 2), "costs": rng.uniform(1, 9, 2)},
    ),
    "warplearn.ElasticityCurveDisplay": lambda rng: (
        _drawn(plotting.ElasticityCurveDisplay.from_errors),
        {"elasticities": [0.1, 0.2, 0.5], "errors": rng.uniform(0, 9, (3, 2)), "name": "a"},
    ),
    "warplearn.LearningCurveDisplay": lambda rng: (
        _drawn(plotting.LearningCurveDisplay.from_estimator),
        {"estimator": _fitted("ElasticPerceptron")}, "instance",
    ),
    "warplearn.WeightMatrixDisplay": lambda rng: (
        _drawn(plotting.WeightMatrixDisplay.from_estimator),
        {"estimator": _fitted("ElasticPerceptron"), "x": rng.normal(size=6)}, "instance",
    ),
    "warplearn.ContributionsDisplay": lambda rng: (
        _drawn(plotting.ContributionsDisplay.from_estimator),
        {"estimator": _fitted("ElasticPerceptron"), "x": rng.normal(size=6)}, "instance",
    ),
    "warplearn.ClustersDisplay": lambda rng: (
        _drawn(plotting.ClustersDisplay.from_estimator),
        {"estimator": _fitted("ElasticKMeans"), "X": rng.normal(size=(8, 6)), "channel": 0}, "instance",
    ),
}  # fmt: skip
