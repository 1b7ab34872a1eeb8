"""Estimators: fits of valid input, parameters and data of any kind, attributes set by a user."""

from __future__ import annotations

import inspect
import pickle
import re
import tempfile
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import naive
import numpy as np

import warplearn
from warplearn import catalogue, to_c
from warplearn.base import CheckedState
from warplearn.elastic.costs import Gaussian
from warplearn.mean import Descent, Gradient, Stochastic
from warplearn.training.optimizers import SOLVERS
from warplearn.training.penalties import PENALTIES
from warplearn.training.schedules import SCHEDULES

from .contract import Case, all_finite, choice, close, outcome, refused
from .inputs import collection, hostile, in_some_form

BRIEF = {
    "random_state": 0, "max_iter": 2, "mean_iter": 1, "n_clusters": 2, "n_filters": 24,
    "n_shapelets": 16, "grid": (2, 1), "hidden_layer_sizes": (3,), "n_init": 1, "units": 2,
    "widths": (4,), "filter_lengths": (3,), "learning_rates": (0.1,),
}  # fmt: skip
# Estimators of estimators, and what they need beside one.
NESTED: dict[str, dict[str, Any]] = {
    "ElasticGridSearchCV": {"param_grid": {"elasticity": [1, 2]}, "cv": 2},
    "ElasticEarlyClassifier": {"n_checkpoints": 3, "cv": 2},
    "ElasticDetector": {"threshold": 0.0, "mining": 0, "random_state": 0},
}
EVERY = sorted(
    name
    for name, entry in catalogue.ESTIMATORS.items()
    if find_spec("torch") or not entry.module.startswith("warplearn.torch")
)
NAMES = [name for name in EVERY if name != "ElasticDetector"]  # which takes recordings
# Parts of estimators that have numbers of their own.
COMPONENTS = {
    "method": (Descent, Gradient, Stochastic),
    "cost": (Gaussian,),
    "penalty": tuple(PENALTIES.classes),
    "learning_rate": tuple(SCHEDULES.classes),
    "solver": tuple(SOLVERS.classes),
}


def made(name: str, **parameters: Any) -> Any:
    """An estimator that is fitted in milliseconds."""
    cls = catalogue.estimator_class(name)
    if name in NESTED:
        return cls(**{"estimator": made("ElasticPerceptron")} | NESTED[name] | parameters)
    known = cls().get_params()
    return cls(**{key: value for key, value in BRIEF.items() if key in known} | parameters)


@cache
def methods_of(cls: type) -> tuple[str, ...]:
    """Methods of a fitted estimator that need nothing but series or a recording."""
    found, other = [], ("_", "fit", "partial_fit", "inverse", "standardized")  # a collection
    for name, method in inspect.getmembers(cls, callable):
        if name.startswith(other) or (name == "score" and hasattr(cls, "predict")):
            continue
        first, *others = [*inspect.signature(method).parameters.values()][1:] or [None]
        needed = [p for p in others if p.default is p.empty and p.kind != p.VAR_KEYWORD]
        if first is not None and first.name in ("X", "recording") and not needed:
            found.append(name)
    return tuple(found)


def targets(name: str, rng: np.random.Generator, cases: int) -> Any:
    """Labels of two or three classes, or numbers."""
    if catalogue.ESTIMATORS[name].task == "regress":
        return rng.normal(size=cases) * 10.0 ** rng.integers(-3, 20)
    classes = choice(rng, (["a", "b"], [0, 1], [-1, 1, 5]))
    return np.array(classes)[np.arange(cases) % len(classes)]


def asked(model: Any, X: Any) -> dict[str, Any]:
    """What a fitted model says about series."""
    return {
        method: getattr(model, method)(X)
        for method in methods_of(type(model))
        if hasattr(model, method)
    }


def fits(rng: np.random.Generator) -> None:
    """A fit leaves finite attributes, and survives a file and a pickle."""
    name, cases = choice(rng, NAMES), int(rng.integers(6, 9))
    series = collection(rng, np.float64, 1, cases)
    X, y = in_some_form(rng, series), targets(name, rng, cases)
    model = outcome(lambda: made(name).fit(X, y))
    if refused(model):
        assert "dtype" not in str(model), f"refused: {model}"
        return
    fitted = {k: v for k, v in vars(model).items() if k.endswith("_") and k != "alphas_"}
    outcome(lambda: [v for k, v in fitted.items() if k not in ("history_", "solutions_")])
    said = outcome(lambda: asked(model, X))
    if refused(said):
        return
    if hasattr(model, "classes_") and "predict" in said:
        assert set(said["predict"].tolist()) <= set(y.tolist())
    with tempfile.TemporaryDirectory() as folder:
        warplearn.save(model, Path(folder) / "model.warp")
        again = [warplearn.load(Path(folder) / "model.warp"), pickle.loads(pickle.dumps(model))]
    for other in again:
        for method, value in asked(other, X).items():
            np.testing.assert_equal(value, said[method])


def nearest(rng: np.random.Generator) -> None:
    """Neighbours and clusters are the nearest by the slow reference."""
    dtype, cases = np.float64, 6
    X, queries = collection(rng, dtype, 1, cases), collection(rng, dtype, 1, 3)
    y = np.arange(cases) % 2
    model = made("DTWNeighborsClassifier", n_neighbors=1).fit(X, y)
    table = naive.pairwise([q.astype(float) for q in queries], [x.astype(float) for x in X])
    _, index = model.kneighbors(queries, 1)
    found = table[np.arange(len(queries)), index[:, 0]]
    close(found, table.min(axis=1), dtype)
    np.testing.assert_array_equal(model.predict(queries), y[index[:, 0]])


@cache
def fitted(name: str) -> bytes:
    """A fitted model, pickled, so that each case changes its own."""
    rng = np.random.default_rng(0)
    y = np.arange(8) % 2
    more = {"background": rng.normal(size=50)} if name == "ElasticDetector" else {}
    return pickle.dumps(made(name).fit(rng.normal(size=(8, 6)) + y[:, None], y, **more))


def use(model: Any) -> None:
    """Ask a model whatever it can be asked."""
    given = np.arange(40) % 7.0 if hasattr(model, "detect") else np.ones((3, 6))
    for method in methods_of(type(model)):
        result = outcome(lambda asked=method: getattr(model, asked, len)(given))
        assert refused(result) or all_finite(result)
    if hasattr(model, "slide"):
        outcome(lambda: model.slide(np.arange(40) % 7.0))
    if hasattr(model, "stream"):
        outcome(lambda: [model.stream().push(1.0) for _ in range(2)])


def class_weights(rng: np.random.Generator) -> None:
    """Weights of classes are those of their series; what is no class or no weight is refused."""
    X, y = rng.normal(size=(8, 6)), np.array([3, 5])[np.arange(8) % 2]
    weights = {3: float(rng.integers(1, 4)), 5: float(rng.integers(1, 4))}
    name = choice(rng, ("ElasticPerceptron", "ElasticFeatureClassifier", "ElasticMLPClassifier"))
    got = made(name, class_weight=weights).fit(X, y)
    ref = made(name).fit(X, y, sample_weight=[weights[label] for label in y.tolist()])
    np.testing.assert_allclose(got.coef_, ref.coef_, rtol=1e-9)
    wrong = choice(rng, ({"3": 2.0}, {4: 2.0}, {3: -1.0}, {3: np.nan}, {5: 1e300}, {"3": 1, 5: 1}))
    result = outcome(lambda: made(name, class_weight=wrong).fit(X, y), "class_weight")
    assert refused(result), f"class_weight={wrong} was taken"


def copies(rng: np.random.Generator) -> None:
    """What happens to the training series after `fit` does not change the model."""
    name = choice(rng, NAMES)
    X, y = rng.normal(size=(8, 6)), np.arange(8) % 2
    queries = rng.normal(size=(4, 6))
    model = made(name).fit(X, y)
    before = asked(model, queries)
    X[:] = 0.0
    np.testing.assert_equal(asked(model, queries), before)


def malformed(rng: np.random.Generator) -> None:
    """A parameter, or what `fit` is given, is something else."""
    name = choice(rng, NAMES)
    X = rng.normal(size=(8, 6))
    given: dict[str, Any] = {"X": X, "y": np.arange(8) % 2, "sample_weight": None}
    if "sample_weight" not in made(name).fit.__code__.co_varnames:
        del given["sample_weight"]
    parameters = sorted(set(made(name).get_params(deep=False)) - {"verbose", "n_jobs"})
    changed, own = choice(rng, [*parameters, *given]), {}
    if changed in given:
        given[changed] = hostile(rng)
    else:
        own[changed] = hostile(rng)
        if changed in ("max_iter", "mean_iter", "n_init") and type(own[changed]) is int:
            own[changed] = min(own[changed], 3)  # more is what a user then asks for
    # Arguments must agree with each other, so another one may be to blame; the rest are
    # scikit-learn's words.
    words = ("target", "label type", "class", "classes", "samples", "seed", "Seed")
    names = () if name in NESTED else (*parameters, *given, *words)
    model = outcome(lambda: made(name, **own).fit(**given), *names)
    if not refused(model) and hasattr(model, "predict"):
        outcome(lambda: model.predict(given["X"]))


def predictions(rng: np.random.Generator) -> None:
    """A fitted model is asked about something else."""
    model = pickle.loads(fitted(choice(rng, NAMES)))
    method = choice(rng, [each for each in methods_of(type(model)) if hasattr(model, each)])
    outcome(lambda: getattr(model, method)(hostile(rng)), "X", "series", "symbol")


def more(rng: np.random.Generator) -> None:
    """Training goes on with something else, and what is left is sound."""
    names = [name for name in NAMES if hasattr(catalogue.estimator_class(name), "partial_fit")]
    model = pickle.loads(fitted(choice(rng, names)))
    given: dict[str, Any] = {"X": rng.normal(size=(8, 6)), "y": np.arange(8) % 2}
    given[choice(rng, sorted(given))] = hostile(rng)
    # What `fit` has learnt cannot always grow.
    words = ("target", "label type", "class", "classes", "class_weight", "partial_fit")
    outcome(lambda: model.partial_fit(**given), *given, *words)
    said = outcome(lambda: model.predict(np.ones((3, 6))))
    assert refused(said) or len(said) == 3


def streams(rng: np.random.Generator) -> None:
    """A stream says what the model says of the series so far; no sample spoils it."""
    names = [name for name in NAMES if hasattr(catalogue.estimator_class(name), "stream")]
    model, x = pickle.loads(fitted(choice(rng, names))), rng.normal(size=6)
    stream = model.stream()
    outcome(lambda: stream.push(hostile(rng)), "sample", "symbol", "X")
    stream.reset()
    for sample in x:
        said = stream.push(sample)
    ask = model.decision_function if hasattr(model, "decision_function") else model.predict
    close(said, ask(x[None])[0])


def components(rng: np.random.Generator) -> None:
    """A part of an estimator has a number that is something else."""
    name = choice(rng, NAMES)
    known = sorted(set(COMPONENTS) & set(made(name).get_params(deep=False)))
    if not known:
        return
    parameter = choice(rng, known)
    cls = choice(rng, COMPONENTS[parameter])
    fields = getattr(cls, "_fields", None) or getattr(cls, "__dataclass_fields__", ())
    X, y = rng.normal(size=(8, 6)), np.arange(8) % 2
    given = {field: hostile(rng) for field in fields if rng.random() < 0.7}
    words = (parameter, *fields, *("divergence", "diverged", "learning_rate_init"))
    model = outcome(lambda: made(name, **{parameter: cls(**given)}).fit(X, y), *words)
    if not refused(model):
        outcome(lambda: asked(model, X))


def attributes(rng: np.random.Generator) -> None:
    """A user has set a fitted attribute, of the model or of a model in it."""
    model = pickle.loads(fitted(choice(rng, EVERY)))
    place, name = choice(rng, places(model))
    setattr(place, name, damaged(rng, vars(place)[name]))
    use(model)


def places(model: Any) -> list[tuple[Any, str]]:
    """Models and names of their fitted attributes, those of the models that they consist of too."""
    found = []
    for name, value in sorted(vars(model).items()):
        if name.endswith("_") or name.startswith("_"):
            found.append((model, name))
            if isinstance(value, CheckedState):
                found += places(value)
    return found


def exports(rng: np.random.Generator) -> None:
    """A model that a user has damaged, or with other arguments, is written as C or refused."""
    model = pickle.loads(fitted(choice(rng, EVERY)))
    arguments: dict[str, Any] = {"name": "net", "numbers": "int8", "limit": 3, "max_bytes": 10**6}
    arguments |= {} if rng.random() < 0.5 else {"numbers": "float32", "limit": None}
    if rng.random() < 0.5:
        arguments[choice(rng, sorted(arguments))] = hostile(rng)
    else:
        place, name = choice(rng, places(model))
        setattr(place, name, damaged(rng, vars(place)[name]))
    text = outcome(lambda: to_c(model, **arguments))
    assert refused(text) or not re.search(r"[ -](nan|inf)f?,", text)


def damaged(rng: np.random.Generator, value: Any) -> Any:
    """The same array with other content, shape or type; other things become anything."""
    if isinstance(value, list) and value and rng.random() < 0.7:
        return [damaged(rng, value[0]), *value[1:]]
    if not isinstance(value, np.ndarray) or not value.size or rng.random() < 0.2:
        return hostile(rng)
    value = value.copy()
    how = rng.integers(6)
    if how == 0:
        return value[..., :-1]
    if how == 1:
        return np.concatenate([value, value])
    if how == 2 and value.dtype.kind in "iu":
        value.flat[rng.integers(value.size)] = choice(rng, (-1, 10**9, -(2**62), 2**40))
    elif how == 3 and value.dtype.kind == "f":
        value.flat[rng.integers(value.size)] = choice(rng, (np.nan, np.inf, 1e300, -1e30))
    elif how == 4:
        return value.astype(choice(rng, ("f2", "f4", "i8", "U5", "O", "c16", ">f8")))
    elif how == 5:
        return value.reshape(-1)
    return value


CASES: dict[str, Case] = {
    "fits": fits, "nearest": nearest, "class weights": class_weights, "copies": copies,
    "malformed": malformed, "malformed again": malformed, "components": components,
    "predictions": predictions, "attributes": attributes, "more": more, "streams": streams,
    "exports": exports,
}  # fmt: skip
