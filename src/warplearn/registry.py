"""Pluggable parts by name: costs, losses, penalties, schedules, solvers.

Each kind has one `Registry`.  Its classes are `NamedTuple`s of numbers; wherever the library takes
a part of the kind, it takes a registered name or an instance of a registered class.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from numbers import Real
from typing import Any, TypeVar, cast

T = TypeVar("T")

_LARGEST = 1e15  # that float32 can be multiplied with


class Registry:
    """The classes of one kind of part.

    Parameters
    ----------
    kind : str
        What error messages call the parameter.
    how : str
        The function that adds a class, for error messages.
    """

    def __init__(self, kind: str, how: str) -> None:
        self.kind, self.how = kind, how
        self._named: dict[str, Any] = {}
        self._known: dict[type, Any] = {}
        self._limits: dict[type, Mapping[str, tuple[float, float]]] = {}

    def register(
        self,
        cls: type,
        *,
        name: str | None = None,
        about: Any = None,
        limits: Mapping[str, tuple[float, float]] | None = None,
    ) -> None:
        """Add a class; `name` stands for an instance with the default parameters.

        `about` is whatever else is known of the class, for `about`, and `limits` the least and the
        greatest value of its parameters, by default -1e15 and 1e15.
        """
        if name is not None and name in self._named:
            taken = type(self._named[name])
            if _origin(taken) != _origin(cls):
                raise ValueError(f"name {name!r} is taken by {'.'.join(_origin(taken))}")
        self._known[cls], self._limits[cls] = about, limits or {}
        if name is not None:
            self._named[name] = cls()

    @property
    def names(self) -> list[str]:
        """The registered names, sorted."""
        return sorted(self._named)

    @property
    def classes(self) -> list[type]:
        """The registered classes."""
        return list(self._known)

    def resolve(self, value: Any) -> Any:
        """The instance that a name or an instance means."""
        if isinstance(value, str):
            if value not in self._named:
                raise ValueError(f"{self.kind} must be one of {self.names}, got {value!r}")
            return self._named[value]
        if type(value) not in self._known:
            raise TypeError(
                f"{self.kind} must be one of {self.names} or an instance of a class made known "
                f"with {self.how}, got {value!r}"
            )
        for field, number in zip(value._fields, value, strict=True):
            least, most = self._limits[type(value)].get(field, (-_LARGEST, _LARGEST))
            real = isinstance(number, Real)
            if not real or not least <= number <= most:
                raise ValueError(
                    f"{field} of {self.kind}={type(value).__name__} must be a number from "
                    f"{least:g} to {most:g}, got {number!r}"
                )
        return value

    def about(self, instance: Any) -> Any:
        """What was said of the class of an instance when it was registered."""
        return self._known[type(instance)]


def _origin(cls: type) -> tuple[str, str]:
    """Where a class is defined: a cell of a notebook that is run again may register it again."""
    return cls.__module__, cls.__qualname__


def choose(table: Mapping[str, T], choice: Any, argument: str, method: str | None = None) -> T:
    """The entry of a table that the value of an argument names.

    Parameters
    ----------
    table : mapping
        The choices by name.
    choice : str, or an object
        What a user gave.
    argument : str
        What error messages call it.
    method : str, optional
        An object that has this method may be given in the place of a name.
    """
    if method is not None and hasattr(choice, method) and not isinstance(choice, type):
        return cast(T, choice)
    check_choice(choice, table, argument, method)
    return table[choice]


def check_choice(
    choice: Any, table: Collection[str], argument: str, method: str | None = None
) -> None:
    """Refuse what is none of the names in a table; parameters as for `choose`."""
    if not isinstance(choice, str) or choice not in table:
        instead = "" if method is None else f" or an object with a method {method!r}"
        raise ValueError(f"{argument} must be one of {sorted(table)}{instead}, got {choice!r}")
