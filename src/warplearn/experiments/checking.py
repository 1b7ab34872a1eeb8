"""Values of tables, such as a TOML file gives, checked with errors that name the key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


class StudyError(ValueError):
    """A study that cannot be carried out, and why."""


class Checker:
    """Values of tables, checked; every message starts with where the study is from."""

    def __init__(self, where: str) -> None:
        self.where = where

    def fail(self, path: str, message: str) -> StudyError:
        """The error about a key."""
        return StudyError(f"{self.where}: {path} {message}".replace(":  ", ": "))

    def keys(
        self, table: Any, path: str, allowed: Any, required: Sequence[str] = ()
    ) -> Mapping[str, Any]:
        """Check that a table has the required keys, and no others than the allowed ones."""
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
        """A table of names."""
        return dict(
            self._get(table, path, key, {}, lambda v: isinstance(v, Mapping), "a table of names")
        )

    def rows(self, table: Mapping[str, Any], key: str) -> Sequence[Any]:
        """A list of tables, not empty."""
        good = is_list
        return self._get(table, "", key, None, lambda v: good(v) and v, "a list of tables")

    def text(
        self, table: Mapping[str, Any], path: str, key: str, default: str | None = None
    ) -> str:
        """A text."""

        def good(value: Any) -> bool:
            return isinstance(value, str) and (bool(value) or default is not None)

        return self._get(table, path, key, default, good, "a text")

    def whole(self, table: Mapping[str, Any], path: str, key: str, default: int, least: int) -> int:
        """An integer."""

        def good(value: Any) -> bool:
            return isinstance(value, int) and not isinstance(value, bool) and value >= least

        return self._get(table, path, key, default, good, f"an integer of at least {least}")

    def names(
        self, table: Mapping[str, Any], path: str, key: str, default: Any = None
    ) -> tuple[str, ...]:
        """Distinct names."""

        def good(value: Any) -> bool:
            listed = is_list(value) and all(isinstance(name, str) and name for name in value)
            return listed and (len(value) > 0 or default is not None)

        names = list(self._get(table, path, key, default, good, "a list of names"))
        self.distinct(names, f"{path}.{key}" if path else key)
        return tuple(names)

    def distinct(self, names: Sequence[str], path: str) -> None:
        """Check that no name is there twice."""
        for name in names:
            if names.count(name) > 1:
                raise self.fail(path, f"must have different names, got {name!r} twice")


def is_list(value: Any) -> bool:
    """Whether a value is a list, not a text."""
    return isinstance(value, Sequence) and not isinstance(value, str)
