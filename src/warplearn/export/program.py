"""A model as the parts of a C header: constants, tables, and templates.

The templates in the folder `c` are C with names that begin with `model_` and `MODEL_`.  `header`
puts constants and tables in front of them, and the name of the model in place of `model`.  So two
headers can be included side by side.
"""

from __future__ import annotations

import re
from importlib import resources
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from warplearn import __version__

_WIDTH = 100  # of the lines of a table
_C_TYPES = {
    np.dtype(np.float32): "float",
    np.dtype(np.int8): "int8_t",
    np.dtype(np.uint8): "uint8_t",
    np.dtype(np.int16): "int16_t",
    np.dtype(np.int32): "int32_t",
}
# Bytes of code at most that templates add to `init`, `push` and `decide` on a Cortex-M4 (gcc -O2),
# with what they need of the C library.  A test measures it.
_CODE = {
    "stream": 600,
    "features": 2200,
    "shapelets": 1700,
    "tanh": 2200,
    "sigmoid": 1900,
    "squared": 1300,
}

# What a second copy of the recursion defines and calls.
_FUNCTIONS = r"\bmodel_(local|advance|distance)\b"


class Number(NamedTuple):
    """The types that a program computes with, as C calls them.

    Attributes
    ----------
    sample, weight, score : str
        Of a sample, a weight, and a sum of their products.
    none : str
        Less than any score.
    """

    sample: str = "float"
    weight: str = "float"
    score: str = "float"
    none: str = "-3e38f"


SINGLE = Number()


class Table(NamedTuple):
    """A constant array.

    Attributes
    ----------
    name : str
        Without the prefix.
    values : array
        Of a type that C has.
    about : str
        A comment.
    """

    name: str
    values: NDArray[Any]
    about: str


class Program(NamedTuple):
    """A model in C.

    Attributes
    ----------
    constants : dict
        Names of macros, without the prefix, and their values: integers or C expressions.
    tables : list of Table
    parts : list of str
        Templates, in the order in which the compiler needs them (see `_template`).
    state : int
        Bytes of a stream.
    scratch : int
        Bytes of the stack that computing outputs needs beyond some registers.
    labels : tuple of str
        Names of the classes; empty for a regression.
    number : Number
    """

    constants: dict[str, int | str]
    tables: list[Table]
    parts: list[str]
    state: int
    scratch: int
    labels: tuple[str, ...] = ()
    number: Number = SINGLE

    @property
    def flash(self) -> int:
        """Bytes of the constant arrays; the code comes on top."""
        return sum(table.values.nbytes for table in self.tables)

    @property
    def code(self) -> int:
        """Bytes of code at most, on a Cortex-M4."""
        return sum(_CODE.get(part, 0) for part in self.parts)


def as_float32(values: Any, name: str) -> NDArray[np.float32]:
    """Numbers as float32; those that are too small for it are 0, those too large an error."""
    with np.errstate(over="ignore", under="ignore"):
        single = np.asarray(values).astype(np.float32)
    if not np.isfinite(single).all():
        raise ValueError(f"{name} must fit float32, got {np.abs(values).max():.3g}")
    return np.where(np.abs(single) < np.finfo(np.float32).tiny, np.float32(0), single)


def literal(value: Any) -> str:
    """A number as C writes it; of float32, the shortest text that means it."""
    return f"{np.float32(value)!s}f" if np.asarray(value).dtype.kind == "f" else str(int(value))


def header(program: Program, name: str, title: str, series: str) -> str:
    """The text of a header.

    Parameters
    ----------
    program : Program
    name : str
        The prefix of all names.
    title : str
        What was exported.
    series : str
        What series it takes.
    """
    number = program.number
    templates = "\n".join(_template(part) for part in program.parts)
    includes = [
        "<stdint.h>",
        *(["<math.h>"] if re.search(r"\b(exp|tanh|sqrt)f\(", templates) else []),
    ]
    sections = [
        _comment(program, title, series),
        "#ifndef MODEL_H\n#define MODEL_H",
        "\n".join(f"#include {file}" for file in includes),
        "\n".join(f"#define MODEL_{key} {value}" for key, value in program.constants.items())
        + f"\n#define MODEL_NONE {number.none}",
        f"typedef {number.sample} model_sample;\ntypedef {number.weight} model_weight;\n"
        f"typedef {number.score} model_score;",
        *(_array(table) for table in program.tables),
        templates.rstrip(),
        "#endif\n",
    ]
    renamed = [_renamed(section, name) for section in sections]
    if program.labels:  # which may be any text
        renamed.insert(-2, _labels(program.labels, name))
    return "\n\n".join(renamed)


def _renamed(text: str, name: str) -> str:
    """C with the name of a model in place of `model`."""
    prefixes = {"model": f"{name}_", "MODEL": f"{name.upper()}_"}
    return re.sub(r"\b(model|MODEL)_", lambda match: prefixes[match[1]], text)


def _template(part: str) -> str:
    """A template; `name:prefix` is a second copy of it, whose functions have a prefix."""
    name, _, prefix = part.partition(":")
    text = (resources.files(__package__) / "c" / f"{name}.h").read_text("utf-8")
    return re.sub(_FUNCTIONS, rf"model_{prefix}_\1", text) if prefix else text


def _comment(program: Program, title: str, series: str) -> str:
    """What stands at the top: what it is, what it needs, how it is used."""
    if program.labels:
        decided, given = "int c = ", ""
        meaning = "model_labels[c] is the class; c is -1 if there is none."
    else:
        decided, given = "", ", outputs"
        meaning = "The outputs are the targets; -1 is returned if there are none."
    return f"""/* {title}, made by warplearn {__version__}. C99, and C++.

   Series: {series}.
   Flash: {program.flash:,} bytes of constants, and up to {program.code:,} of code (Cortex-M4, -O2).
   RAM: {program.state:,} bytes for a stream. Outputs take {program.scratch:,} bytes of the stack.

   Sample by sample:
       model_stream s;
       model_init(&s);
       model_push(&s, sample);
       {decided}model_decide(&s{given});
   At once, with a stream on the stack:
       float outputs[MODEL_OUTPUTS];
       {decided}model_predict(series, length, outputs);
   {meaning} */"""


def _array(table: Table) -> str:
    """A table as the definition of a constant array."""
    kind = _C_TYPES[table.values.dtype]
    numbers = [literal(value) for value in table.values.ravel()]
    lines, line = [], "   "
    for text in numbers:
        if len(line) + len(text) + 2 > _WIDTH:
            lines.append(line)
            line = "   "
        line += f" {text},"
    lines.append(line)
    body = "\n".join(lines)
    return (
        f"/* {table.about} */\n"
        f"static const {kind} model_{table.name}[{len(numbers)}] = {{\n{body}\n}};"
    )


def _labels(labels: tuple[str, ...], name: str) -> str:
    listed = "\n".join(f"    {_text(label)}," for label in labels)
    return (
        "/* Names of the classes */\n"
        f"static const char *const {name}_labels[{len(labels)}] = {{\n{listed}\n}};"
    )


def _text(label: str) -> str:
    """A text as C writes it, in UTF-8; other than plain characters are escaped."""
    plain = (chr(byte) if 32 <= byte < 127 and chr(byte) not in '"\\?' else f"\\{byte:03o}"
             for byte in label.encode("utf-8"))  # fmt: skip
    return '"' + "".join(plain) + '"'
