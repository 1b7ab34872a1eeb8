"""What a study is: data sets, methods with their grids, a protocol, trials and a seed.

A study is written in TOML (`Study.read`) or as a dictionary of the same shape (`Study.of`); both
end in the same frozen objects, checked, with an error that names the key.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module, resources
from pathlib import Path
from typing import Any

from warplearn.linear_model.classifiers import ElasticLinearClassifier

# Where estimators are imported from; optional libraries only when they are used.
ESTIMATORS = {
    "DTWNeighborsClassifier": "warplearn",
    "ElasticAdaline": "warplearn",
    "ElasticConvNetClassifier": "warplearn.torch",
    "ElasticFeatureClassifier": "warplearn",
    "ElasticLVQClassifier": "warplearn",
    "ElasticLinearSVC": "warplearn",
    "ElasticLogisticRegression": "warplearn",
    "ElasticMLPClassifier": "warplearn",
    "ElasticMarginPerceptron": "warplearn",
    "ElasticPerceptron": "warplearn",
    "NearestPrototypeClassifier": "warplearn",
}

SELECTIONS = ("cross-validation", "training error")


class StudyError(ValueError):
    """A study that cannot be carried out, and why."""


def estimator_class(name: str) -> Any:
    """The estimator with this name, one of `ESTIMATORS`."""
    try:
        return getattr(import_module(ESTIMATORS[name]), name)
    except ImportError as error:
        raise StudyError(f"{name} cannot be used: {error}") from None


@dataclass(frozen=True)
class Protocol:
    """How parameters are chosen and errors measured.

    Attributes
    ----------
    select : {"cross-validation", "training error"}
        Parameters are chosen once, by cross-validation on the training series, and used in all
        trials; or in each trial anew, those with the lowest error on the training series.  Of
        equals, the first in the grid.
    folds : int
        Of the cross-validation.
    leave_one_out_up_to : int
        With so many training series or fewer, each is a fold of its own.
    rounds : int
        A data set without test series is judged by cross-validation on its training series, with
        other folds and seeds in each trial; this is the greatest number of such trials.
    """

    select: str = "cross-validation"
    folds: int = 10
    leave_one_out_up_to: int = 30
    rounds: int = 10


@dataclass(frozen=True)
class Method:
    """A classifier with fixed parameters and those to choose from.

    Attributes
    ----------
    name : str
    estimator : str
        One of `ESTIMATORS`.
    parameters : dict
    grid : dict of lists
    selecting : dict
        Parameters that are different while choosing, such as fewer epochs.
    trials : int, optional
        At most so many; a method without chance needs one.
    """

    name: str
    estimator: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    grid: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    selecting: Mapping[str, Any] = field(default_factory=dict)
    trials: int | None = None

    def make(self, **parameters: Any) -> Any:
        """An estimator with the fixed parameters, and others over them."""
        return estimator_class(self.estimator)(**{**self.parameters, **parameters})

    def candidates(self) -> list[dict[str, Any]]:
        """The points of the grid, the last name varying fastest."""
        values = itertools.product(*self.grid.values())
        return [dict(zip(self.grid, point, strict=True)) for point in values]


@dataclass(frozen=True)
class Study:
    """A study, ready to run.

    Attributes
    ----------
    name, title : str
    datasets : tuple of str
    methods : tuple of Method
    protocol : Protocol
    trials, seed : int
        Trial t has the seed `seed + t`.
    builtin : tuple of str
        Generated data sets that stand in where none of `datasets` can be found.
    reduced : dict
        What `quick` changes: `trials`, `datasets`, and `thin`, which leaves every so many-th value
        of the longer grids.
    """

    name: str
    datasets: tuple[str, ...]
    methods: tuple[Method, ...]
    protocol: Protocol = Protocol()
    trials: int = 1
    seed: int = 0
    title: str = ""
    builtin: tuple[str, ...] = ()
    reduced: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, table: Mapping[str, Any], where: str = "study") -> Study:
        """The study that a dictionary describes; `where` begins the messages of errors."""
        check = _Checker(where)
        check.keys(table, "", cls.__dataclass_fields__, ("name", "datasets", "methods"))
        methods = tuple(
            method
            for index, entry in enumerate(check.rows(table, "methods"))
            for method in _methods_of(entry, f"methods[{index}]", check)
        )
        check.distinct([method.name for method in methods], "methods")
        protocol = _protocol_of(check.table(table, "protocol"), check)
        reduced = check.table(table, "reduced")
        check.keys(reduced, "reduced", ("trials", "datasets", "thin"))
        for key in ("trials", "thin"):
            check.whole(reduced, "reduced", key, 1, least=1)
        check.names(reduced, "reduced", "datasets", ())
        return cls(
            name=check.text(table, "", "name"),
            title=check.text(table, "", "title", ""),
            datasets=check.names(table, "", "datasets"),
            builtin=check.names(table, "", "builtin", ()),
            methods=methods,
            protocol=protocol,
            trials=check.whole(table, "", "trials", 1, least=1),
            seed=check.whole(table, "", "seed", 0, least=0),
            reduced=reduced,
        )

    @classmethod
    def read(cls, source: str | Path) -> Study:
        """The study of a TOML file, or the one with this name that comes with the package."""
        shipped = resources.files(__package__) / "studies" / f"{source}.toml"
        path = Path(source)
        if path.suffix != ".toml" and shipped.is_file():
            text, where = shipped.read_text("utf-8"), f"study {source}"
        else:
            try:
                text, where = path.read_text("utf-8"), str(path)
            except OSError as error:
                known = ", ".join(shipped_studies())
                raise StudyError(
                    f"study must be one of {known} or a TOML file, got {str(source)!r}: "
                    f"{error.strerror}"
                ) from None
            except UnicodeDecodeError as error:
                raise StudyError(f"{path} is not a text file: {error}") from None
        toml = _toml()
        try:
            table = toml.loads(text)
        except toml.TOMLDecodeError as error:
            raise StudyError(f"{where} is not valid TOML: {error}") from None
        return cls.of(table, where)

    def quick(self) -> Study:
        """A reduced variant, to see the study work in a minute or two."""
        thin = int(self.reduced.get("thin", 3))
        methods = tuple(
            replace(
                method,
                grid={
                    name: values[::thin] if len(values) > thin else values
                    for name, values in method.grid.items()
                },
            )
            for method in self.methods
        )
        return replace(
            self,
            datasets=tuple(self.reduced.get("datasets") or self.datasets[:3]),
            methods=methods,
            trials=min(self.trials, int(self.reduced.get("trials", 3))),
        )

    def only(
        self, datasets: Sequence[str] | None = None, methods: Sequence[str] | None = None
    ) -> Study:
        """The same study on other data sets, or with some of its methods."""
        chosen = self
        if datasets is not None:
            _Checker(f"study {self.name}").distinct(list(datasets), "datasets")
            chosen = replace(chosen, datasets=tuple(datasets))
        if methods is not None:
            known = {method.name: method for method in self.methods}
            for name in methods:
                if name not in known:
                    raise StudyError(
                        f"study {self.name}: methods must be among {list(known)}, got {name!r}"
                    )
            chosen = replace(chosen, methods=tuple(known[name] for name in methods))
        return chosen


def shipped_studies() -> list[str]:
    """Names of the studies that come with the package."""
    folder = resources.files(__package__) / "studies"
    return sorted(Path(file.name).stem for file in folder.iterdir() if file.name.endswith(".toml"))


def _toml() -> Any:
    if sys.version_info >= (3, 11):
        import tomllib

        return tomllib
    try:
        import tomli
    except ModuleNotFoundError:
        raise StudyError(
            "to read TOML, Python 3.10 needs tomli; run: pip install 'warplearn[cli]'"
        ) from None
    return tomli


# Checks.


class _Checker:
    """Values of tables, checked; every message starts with where the study is from."""

    def __init__(self, where: str) -> None:
        self.where = where

    def fail(self, path: str, message: str) -> StudyError:
        return StudyError(f"{self.where}: {path} {message}".replace(":  ", ": "))

    def keys(
        self, table: Any, path: str, allowed: Any, required: Sequence[str] = ()
    ) -> Mapping[str, Any]:
        if not isinstance(table, Mapping):
            raise self.fail(path or "it", f"must be a table, got {table!r}")
        inside = f"in {path}, " if path else ""
        for key in table:
            if key not in allowed:
                raise self.fail("", f"{inside}there is no key {key!r}; keys are {sorted(allowed)}")
        for key in required:
            if key not in table:
                raise self.fail("", f"{inside}the key {key!r} is missing")
        return table

    def _get(
        self, table: Mapping[str, Any], path: str, key: str, default: Any, good: Any, wanted: str
    ) -> Any:
        value = table.get(key, default)
        if not good(value):
            raise self.fail(f"{path}.{key}" if path else key, f"must be {wanted}, got {value!r}")
        return value

    def table(self, table: Mapping[str, Any], key: str, path: str = "") -> dict[str, Any]:
        return dict(
            self._get(table, path, key, {}, lambda v: isinstance(v, Mapping), "a table of names")
        )

    def rows(self, table: Mapping[str, Any], key: str) -> Sequence[Any]:
        good = _is_list
        return self._get(table, "", key, None, lambda v: good(v) and v, "a list of tables")

    def text(
        self, table: Mapping[str, Any], path: str, key: str, default: str | None = None
    ) -> str:
        def good(value: Any) -> bool:
            return isinstance(value, str) and (bool(value) or default is not None)

        return self._get(table, path, key, default, good, "a text")

    def whole(self, table: Mapping[str, Any], path: str, key: str, default: int, least: int) -> int:
        def good(value: Any) -> bool:
            return isinstance(value, int) and not isinstance(value, bool) and value >= least

        return self._get(table, path, key, default, good, f"an integer of at least {least}")

    def names(
        self, table: Mapping[str, Any], path: str, key: str, default: Any = None
    ) -> tuple[str, ...]:
        def good(value: Any) -> bool:
            listed = _is_list(value) and all(isinstance(name, str) and name for name in value)
            return listed and (len(value) > 0 or default is not None)

        found = list(self._get(table, path, key, default, good, "a list of names"))
        self.distinct(found, f"{path}.{key}" if path else key)
        return tuple(found)

    def distinct(self, names: Sequence[str], path: str) -> None:
        for name in names:
            if names.count(name) > 1:
                raise self.fail(path, f"must have different names, got {name!r} twice")


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _protocol_of(table: Mapping[str, Any], check: _Checker) -> Protocol:
    check.keys(table, "protocol", Protocol.__dataclass_fields__)
    select = check.text(table, "protocol", "select", Protocol.select)
    if select not in SELECTIONS:
        raise check.fail("protocol.select", f"must be one of {SELECTIONS}, got {select!r}")
    return Protocol(
        select,
        check.whole(table, "protocol", "folds", Protocol.folds, least=2),
        check.whole(table, "protocol", "leave_one_out_up_to", Protocol.leave_one_out_up_to, 0),
        check.whole(table, "protocol", "rounds", Protocol.rounds, least=1),
    )


def _methods_of(entry: Any, path: str, check: _Checker) -> list[Method]:
    """A method, or with `vary` one for each combination of the values listed there."""
    keys = (*Method.__dataclass_fields__, "vary")
    table = check.keys(entry, path, keys, ("name", "estimator"))
    name, estimator = check.text(table, path, "name"), check.text(table, path, "estimator")
    if estimator not in ESTIMATORS:
        raise check.fail(
            f"{path}.estimator", f"must be one of {sorted(ESTIMATORS)}, got {estimator!r}"
        )
    fixed = check.table(table, "parameters", path)
    grid = check.table(table, "grid", path)
    vary = check.table(table, "vary", path)
    selecting = check.table(table, "selecting", path)
    kind = estimator_class(estimator)
    known = kind().get_params()
    for key, group in {
        "parameters": fixed, "grid": grid, "vary": vary, "selecting": selecting,
    }.items():  # fmt: skip
        for parameter, values in group.items():
            at = f"{path}.{key}.{parameter}"
            if parameter not in known:
                raise check.fail(at, f"is no parameter of {estimator}; they are {sorted(known)}")
            if parameter == "random_state":
                raise check.fail(at, "cannot be set: trials have seeds of their own")
            if key in ("grid", "vary") and not (_is_list(values) and len(values)):
                raise check.fail(at, f"must be a list of values, got {values!r}")
    if grid and not issubclass(kind, ElasticLinearClassifier):
        raise check.fail(f"{path}.grid", f"is for elastic linear classifiers, not for {estimator}")
    trials = None
    if "trials" in table:
        trials = check.whole(table, path, "trials", 1, least=1)
    made = []
    for point in itertools.product(*vary.values()):
        varied = dict(zip(vary, point, strict=True))
        try:
            shown = name.format(**varied)
        except (KeyError, IndexError, ValueError) as error:
            raise check.fail(f"{path}.name", f"cannot be filled in: {error!r}") from None
        made.append(Method(shown, estimator, {**fixed, **varied}, grid, selecting, trials))
    return made
