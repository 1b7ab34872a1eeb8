"""Complete docstrings for classes that share their parameters."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T", bound=type)

_SECTION = re.compile(r"^(\w[\w ]*)\n-+\n", re.MULTILINE)


def _sections(docstring: str | None) -> dict[str, str]:
    """The sections of a numpydoc docstring by title; the text before them has the title ''."""
    text = inspect.cleandoc(docstring or "")
    pieces = _SECTION.split(text)
    bodies = {"": pieces[0].strip()}
    bodies |= {title: body.rstrip() for title, body in zip(pieces[1::2], pieces[2::2], strict=True)}
    return bodies


def _entries(body: str) -> dict[str, str]:
    """The entries of a section of parameters or attributes, by name."""
    pieces = re.split(r"^(?=\S)", body, flags=re.MULTILINE)
    return {piece.split(" : ")[0].strip(): piece.rstrip() for piece in pieces if piece.strip()}


def with_parameters_of(base: type) -> Callable[[T], T]:
    """Add the parameters and attributes of a base class to the docstring of a subclass.

    What the subclass describes itself takes the place of the base's description.  Parameters are in
    the order of the signature.
    """
    shared = _sections(base.__doc__)

    def decorate(cls: T) -> T:
        own = _sections(cls.__doc__)
        parts = [own.pop("")]
        places = {name: place for place, name in enumerate(inspect.signature(cls).parameters)}
        for title in ("Parameters", "Attributes"):
            entries = {**_entries(shared.get(title, "")), **_entries(own.pop(title, ""))}
            names = list(entries)
            if title == "Parameters":
                names.sort(key=lambda name: places.get(name.split(",")[0], len(places)))
            listed = "\n".join(entries[name] for name in names)
            parts.append(f"{title}\n{'-' * len(title)}\n{listed}")
        parts += [f"{title}\n{'-' * len(title)}\n{body}" for title, body in own.items()]
        cls.__doc__ = "\n\n".join(parts) + "\n"
        return cls

    return decorate
