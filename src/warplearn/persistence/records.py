"""Which classes a model file can name, and how their instances are checked."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    LeaveOneOut,
    ShuffleSplit,
    StratifiedKFold,
    StratifiedShuffleSplit,
)

from warplearn.averaging.methods import Averaging, Descent, Gradient, Stochastic
from warplearn.base import CheckedState, TargetScale, check_array_of
from warplearn.elastic.costs import COSTS
from warplearn.features.base import Shrinkage
from warplearn.features.cascade import Stage
from warplearn.linear_model.polarity import Ensemble, Polarity
from warplearn.linear_model.regressors import TargetReadout
from warplearn.persistence.limits import ATTRIBUTE, demand, is_integer
from warplearn.registry import Registry
from warplearn.series.symbols import Alphabet
from warplearn.training.matrices import Context
from warplearn.training.optimizers import SOLVERS
from warplearn.training.penalties import PENALTIES
from warplearn.training.plan import Solution, State
from warplearn.training.schedules import SCHEDULES


class Record(NamedTuple):
    """A class whose instances are stored field by field.

    Attributes
    ----------
    cls : type
    fields : tuple of str
    check : function
        Raises an error if an instance is not valid.
    """

    cls: type
    fields: tuple[str, ...]
    check: Callable[[Any], None]


def _check_polarity(record: Polarity) -> None:
    demand(all(map(is_integer, record)), "a Polarity must consist of integers")
    record.check()


def _check_ensemble(record: Ensemble) -> None:
    demand(isinstance(record.members, tuple), "members of an Ensemble must be a tuple")
    record.check()


def _check_scale(record: TargetScale) -> None:
    demand(isinstance(record.flat, (bool, np.bool_)), "flat of a TargetScale must be a bool")
    record.check()
    demand(not record.flat or len(record.mean) == 1, "a flat TargetScale must be of one target")


def _check_readout(record: TargetReadout) -> None:
    demand(isinstance(record.scale, TargetScale), "scale of a TargetReadout must be a TargetScale")


def _check_context(record: Context) -> None:
    readouts = (type(None), Polarity, Ensemble, TargetReadout, TargetScale)
    demand(isinstance(record.readout, readouts), "readout of a Context must be a readout")
    demand(is_integer(record.n_channels, 1), "n_channels of a Context must be positive")
    demand(
        isinstance(record.classes, (type(None), np.ndarray)), "classes of a Context must be labels"
    )
    demand(isinstance(record.alphabet, (type(None), Alphabet)), "alphabet must be an Alphabet")
    if record.scales is not None:
        demand(
            isinstance(record.scales, tuple) and len(record.scales) == 2,
            "scales of a Context must be two arrays",
        )
        for scale in record.scales:
            check_array_of(scale, "scales of a Context", (int(record.n_channels),))
        demand(bool((record.scales[1] > 0).all()), "scales of a Context must be positive")


def _check_solution(record: Solution) -> None:
    for name in ("W", "b", "history", "mistakes_history"):
        demand(isinstance(getattr(record, name), np.ndarray), f"{name} must be an array")
    demand(isinstance(record.reason, str), "reason of a Solution must be a text")
    demand(is_integer(record.n_epochs, 0), "n_epochs of a Solution must be an integer")
    demand(isinstance(record.state, (type(None), State)), "state of a Solution must be a State")


def _check_state(record: State) -> None:
    for arrays in (record.parameters, record.mean):
        demand(isinstance(arrays, (type(None), list)), "a State must have lists of arrays")
        for array in arrays or []:
            demand(isinstance(array, np.ndarray), "a State must have lists of arrays")
    demand(isinstance(record.parameters, list), "a State must have parameters")
    demand(isinstance(record.memory, (type(None), list)), "memory of a State must be a list")
    demand(is_integer(record.n_averaged, 0), "n_averaged of a State must be an integer")
    demand(
        record.solver is None or type(record.solver) in SOLVERS.classes,
        "solver of a State must be a solver",
    )


def _check_stage(record: Stage) -> None:
    for name in ("groups", "coef", "intercept"):
        demand(isinstance(getattr(record, name), np.ndarray), f"{name} must be an array")
    demand(isinstance(record.threshold, float), "threshold of a Stage must be a number")


def _check_numbers(record: Any) -> None:
    """Nothing but numbers, and None for those that are optional."""
    values = tuple(record) if isinstance(record, tuple) else tuple(vars(record).values())
    demand(
        all(value is None or isinstance(value, (Real, np.bool_)) for value in values),
        f"a {type(record).__name__} must consist of numbers",
    )


def _check_splitter(record: Any) -> None:
    """Plain values, and a random source."""
    plain = (type(None), bool, int, float, np.random.RandomState)
    demand(
        all(isinstance(value, plain) for value in vars(record).values()),
        f"a {type(record).__name__} must consist of numbers",
    )


def _tuple_record(cls: Any, check: Callable[[Any], None]) -> Record:
    return Record(cls, tuple(cls._fields), check)


_SHUFFLED = ("n_splits", "test_size", "train_size", "random_state")
_FOLDS = ("n_splits", "shuffle", "random_state")
RECORDS: dict[str, Record] = {
    "Averaging": Record(Averaging, (), _check_numbers),
    "Context": _tuple_record(Context, _check_context),
    "Descent": Record(Descent, ("max_halvings",), _check_numbers),
    "Ensemble": _tuple_record(Ensemble, _check_ensemble),
    "Gradient": Record(Gradient, ("rate",), _check_numbers),
    "KFold": Record(KFold, _FOLDS, _check_splitter),
    "LeaveOneOut": Record(LeaveOneOut, (), _check_splitter),
    "Polarity": _tuple_record(Polarity, _check_polarity),
    "ShuffleSplit": Record(ShuffleSplit, _SHUFFLED, _check_splitter),
    "Shrinkage": _tuple_record(Shrinkage, _check_numbers),
    "Solution": _tuple_record(Solution, _check_solution),
    "Stage": _tuple_record(Stage, _check_stage),
    "State": _tuple_record(State, _check_state),
    "Stochastic": Record(Stochastic, ("rate",), _check_numbers),
    "StratifiedKFold": Record(StratifiedKFold, _FOLDS, _check_splitter),
    "StratifiedShuffleSplit": Record(StratifiedShuffleSplit, _SHUFFLED, _check_splitter),
    "TargetReadout": _tuple_record(TargetReadout, _check_readout),
    "TargetScale": _tuple_record(TargetScale, _check_scale),
}
# Registered classes, those of users included; all are NamedTuples of numbers.
REGISTRIES: dict[str, Registry] = {
    "cost": COSTS,
    "penalty": PENALTIES,
    "schedule": SCHEDULES,
    "solver": SOLVERS,
}
NAME_OF = {record.cls: name for name, record in RECORDS.items()}


def registered(kind: str, name: str) -> Record:
    """The registered class of a name."""
    found = [cls for cls in REGISTRIES[kind].classes if cls.__name__ == name]
    if len(found) != 1:
        raise ValueError(f"{len(found)} classes named {name!r} are registered as {kind}")
    return _tuple_record(found[0], _check_numbers)


def registry_of(value: Any) -> str | None:
    """The kind of component that a value is."""
    kinds = (kind for kind, registry in REGISTRIES.items() if type(value) in registry.classes)
    return next(kinds, None)


# Attributes that are made anew when a model is loaded.
MADE_ANEW = {"scorer_"}


def attributes_of(model: Any) -> dict[str, Any]:
    """Fitted attributes of an estimator."""
    parameters = model.get_params(deep=False)
    skipped = MADE_ANEW if isinstance(model, GridSearchCV) else set()
    fitted = model._fitted_attributes() if isinstance(model, CheckedState) else vars(model)
    return {
        name: value
        for name, value in fitted.items()
        if name not in parameters and name not in skipped
    }


def check_attribute(cls: type, name: Any) -> None:
    """A name that `fit` could set, and that stands for nothing else."""
    fitted = isinstance(name, str) and ATTRIBUTE.fullmatch(name) is not None
    if not fitted or not (name.endswith("_") or name.startswith("_")) or hasattr(cls, name):
        raise ValueError(f"{cls.__name__} has no fitted attribute {name!r}")


def check_model(model: Any, attributes: dict[str, Any]) -> None:
    """Fitted attributes fit each other and the parameters."""
    if attributes and isinstance(model, CheckedState):
        if model._fitted_by not in attributes:
            raise ValueError(f"{type(model).__name__} lacks {model._fitted_by}")
        model._check_state(whole=True)
