"""How the outputs of a program become classes, probabilities or targets."""

from __future__ import annotations

from typing import Any, NamedTuple

from warplearn.export.program import literal

MOST_CLASSES = 256  # tables number them with a byte


class Readout(NamedTuple):
    """The constants and templates of a readout, and its labels.

    Attributes
    ----------
    constants : dict
    parts : list of str
    labels : tuple of str
    """

    constants: dict[str, int | str]
    parts: list[str]
    labels: tuple[str, ...] = ()


def classes(
    labels: Any, *, sharpness: float | None = None, sign: int = 1, class_of_zero: int = 0
) -> Readout:
    """The readout of a classifier.

    Parameters
    ----------
    labels : array
        The classes.
    sharpness : float, optional
        Outputs are multiplied by it before the softmax, or of two classes before the logistic
        function.  None: there are no probabilities.
    sign : {1, -1}, default=1
        -1: outputs are distances of all classes, of which the least counts.
    class_of_zero : {0, 1}, default=0
        Of two classes, the one that an output of 0 means.
    """
    names = tuple(str(label) for label in labels)
    if len(names) > MOST_CLASSES:
        raise ValueError(
            f"the model must have at most {MOST_CLASSES} classes to be exported, which are "
            f"numbered with 8 bits, got {len(names)}"
        )
    single = len(names) == 2 and sign > 0
    constants: dict[str, int | str] = {
        "CLASSES": len(names),
        "OUTPUTS": 1 if single else len(names),
    }
    constants |= {"CLASS_OF_ZERO": class_of_zero} if single else {"SIGN": sign}
    parts = ["sign" if single else "extreme", "series", "classify"]
    if sharpness is not None:
        constants["SHARPNESS"] = literal(sharpness)
        parts.append("logistic" if single else "softmax")
    return Readout(constants, parts, names)


def targets(count: int) -> Readout:
    """The readout of a regression."""
    return Readout({"OUTPUTS": count}, ["series", "regress"])
