"""What a study is: data sets, methods with their grids, a protocol, trials and a seed.

A study is written in TOML (`Study.read`) or as a dictionary of the same shape (`Study.of`); both
end in the same frozen objects, checked, with an error that names the key.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import resources
from pathlib import Path
from typing import Any

from warplearn import catalogue
from warplearn.experiments.checking import Checker, StudyError, is_list
from warplearn.experiments.tables import table_names
from warplearn.experiments.views import can_be_viewed

SELECTIONS = ("cross-validation", "training error")


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
        The name of a classifier in `warplearn.catalogue`.
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

    @property
    def estimator_class(self) -> Any:
        """The class of the estimator."""
        return catalogue.estimator_class(self.estimator)

    def make(self, seed: int | None = None, **parameters: Any) -> Any:
        """An estimator with the fixed parameters, and others over them.

        The seed is for those that draw random numbers.
        """
        model = self.estimator_class(**{**self.parameters, **parameters})
        if seed is not None and "random_state" in model.get_params():
            model.set_params(random_state=seed)
        return model

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
        Generated data sets that replace `datasets` where none of them is available.
    table : str
        How results are shown, see `register_table`.
    views : tuple of str
        The methods whose models (of the first trial) a report shows.
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
    table: str = "plain"
    views: tuple[str, ...] = ()
    reduced: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, table: Mapping[str, Any], where: str = "study") -> Study:
        """The study that a dictionary describes; `where` begins the messages of errors."""
        check = Checker(where)
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
        presentation = check.text(table, "", "table", "plain")
        if presentation not in table_names():
            raise check.fail("table", f"must be one of {table_names()}, got {presentation!r}")
        return cls(
            name=check.text(table, "", "name"),
            title=check.text(table, "", "title", ""),
            datasets=check.names(table, "", "datasets"),
            builtin=check.names(table, "", "builtin", ()),
            methods=methods,
            protocol=protocol,
            trials=check.whole(table, "", "trials", 1, least=1),
            seed=check.whole(table, "", "seed", 0, least=0),
            table=presentation,
            views=_views_of(check.names(table, "", "views", ()), methods, check),
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
            Checker(f"study {self.name}").distinct(list(datasets), "datasets")
            chosen = replace(chosen, datasets=tuple(datasets))
        if methods is not None:
            known = {method.name: method for method in self.methods}
            for name in methods:
                if name not in known:
                    raise StudyError(
                        f"study {self.name}: methods must be among {list(known)}, got {name!r}"
                    )
            chosen = replace(
                chosen,
                methods=tuple(known[name] for name in methods),
                views=tuple(name for name in self.views if name in methods),
            )
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


def _protocol_of(table: Mapping[str, Any], check: Checker) -> Protocol:
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


def _views_of(names: tuple[str, ...], methods: Sequence[Method], check: Checker) -> tuple[str, ...]:
    known = {method.name: method for method in methods}
    for name in names:
        if name not in known:
            raise check.fail("views", f"must be among {list(known)}, got {name!r}")
        if not can_be_viewed(known[name].estimator_class):
            raise check.fail("views", f"cannot show {known[name].estimator}, got {name!r}")
    return names


def _methods_of(entry: Any, path: str, check: Checker) -> list[Method]:
    """A method, or with `vary` one for each combination of the values listed there."""
    keys = (*Method.__dataclass_fields__, "vary")
    table = check.keys(entry, path, keys, ("name", "estimator"))
    name, estimator = check.text(table, path, "name"), check.text(table, path, "estimator")
    classifiers = catalogue.estimators("classify")
    if estimator not in classifiers:
        raise check.fail(
            f"{path}.estimator", f"must be one of {sorted(classifiers)}, got {estimator!r}"
        )
    fixed = check.table(table, "parameters", path)
    grid = check.table(table, "grid", path)
    vary = check.table(table, "vary", path)
    selecting = check.table(table, "selecting", path)
    try:
        known = catalogue.estimator_class(estimator)().get_params()
    except ImportError as error:
        raise check.fail(f"{path}.estimator", f"{estimator} cannot be used: {error}") from None
    for key, group in {
        "parameters": fixed, "grid": grid, "vary": vary, "selecting": selecting,
    }.items():  # fmt: skip
        for parameter, values in group.items():
            at = f"{path}.{key}.{parameter}"
            if parameter not in known:
                raise check.fail(at, f"is no parameter of {estimator}; they are {sorted(known)}")
            if parameter == "random_state":
                raise check.fail(at, "cannot be set: trials have seeds of their own")
            if key in ("grid", "vary") and not (is_list(values) and len(values)):
                raise check.fail(at, f"must be a list of values, got {values!r}")
    trials = None
    if "trials" in table:
        trials = check.whole(table, path, "trials", 1, least=1)
    made = []
    for point in itertools.product(*vary.values()):
        varied = dict(zip(vary, point, strict=True))
        try:
            filled = name.format(**varied)
        except (KeyError, IndexError, ValueError) as error:
            raise check.fail(f"{path}.name", f"cannot be filled in: {error!r}") from None
        made.append(Method(filled, estimator, {**fixed, **varied}, grid, selecting, trials))
    return made
