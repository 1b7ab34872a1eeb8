"""From a fitted model to a C header."""

from __future__ import annotations

import re
from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_scalar
from sklearn.utils.validation import check_is_fitted

from warplearn._kernels.drivers.slide import GROUP
from warplearn.export.features import feature_program
from warplearn.export.fixed import MOST_WEIGHT, FixedPoint
from warplearn.export.linear import linear_program
from warplearn.export.network import network_program
from warplearn.export.program import Program, header
from warplearn.export.prototypes import prototype_program
from warplearn.features.base import FeatureModel
from warplearn.linear_model.base import LinearModel
from warplearn.neighbors.prototypes import ElasticLVQClassifier, NearestPrototypeClassifier
from warplearn.neural_network.mlp import ElasticMLP
from warplearn.registry import check_choice
from warplearn.series.collection import SeriesCollection
from warplearn.series.derived import RAW

NUMBERS = ("float32", *MOST_WEIGHT)
MAX_BYTES = 2**20

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]*(_[A-Za-z0-9]+)*")  # C++ reserves double underscores


class Export(NamedTuple):
    """A model that is ready to be written as C.

    Attributes
    ----------
    model : fitted estimator
    program : Program
        The parts of the header.
    fixed : FixedPoint or None
        The weights in whole numbers, if it computes in fixed point.
    """

    model: Any
    program: Program
    fixed: FixedPoint | None

    @classmethod
    def of(
        cls, model: Any, numbers: str = "float32", limit: Any = None, max_bytes: int = MAX_BYTES
    ) -> Export:
        """Check a model and lay it out; parameters are those of `to_c`."""
        check_choice(numbers, NUMBERS, "numbers")
        check_scalar(max_bytes, "max_bytes", (int, np.integer), min_val=1)
        check_is_fitted(model)
        _check(model)
        fixed = None
        if numbers != "float32":
            if not isinstance(model, LinearModel):
                raise ValueError(
                    f"numbers must be 'float32' for {type(model).__name__}, got {numbers!r}: only "
                    "linear models are exported in fixed point"
                )
            fixed = FixedPoint.of(model.matrices_, numbers, limit)
        elif limit is not None:
            raise ValueError(f"limit must be None for numbers='float32', got {limit!r}")
        program = _program(model, fixed)
        if program.flash > max_bytes:
            raise ValueError(
                f"the model needs {program.flash:,} bytes of constants, more than "
                f"max_bytes={max_bytes:,}: {_smaller(model)}"
            )
        return cls(model, program, fixed)

    @property
    def flash(self) -> int:
        """Bytes of constants; the code comes on top."""
        return self.program.flash

    @property
    def code(self) -> int:
        """Bytes of code at most for `init`, `push` and `decide`, on a Cortex-M4 with gcc -O2."""
        return self.program.code

    @property
    def ram(self) -> int:
        """Bytes of a stream."""
        return self.program.state

    def header(self, name: str = "model") -> str:
        """The text of the header; all names in it begin with `name`."""
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise ValueError(
                "name must be a letter followed by letters, digits and single underscores, as all "
                f"names in the header begin with it, got {name!r}"
            )
        channels = self.model.n_channels_in_
        length = self.program.constants["LENGTH"]
        most = "of any length" if length == 2**31 - 1 else f"of up to {length} samples"
        series = f"{most}, {channels} channel{'' if channels == 1 else 's'}"
        if self.fixed is not None:
            limits = ", ".join(f"{limit:.6g}" for limit in self.fixed.limits)
            series += f" within +-{limits}, as whole numbers up to {self.fixed.levels}"
        return header(self.program, name, type(self.model).__name__, series)

    def predict(self, X: Any) -> NDArray[Any]:
        """What the device predicts, up to rounding errors of float32; computed in Python."""
        if self.fixed is None:
            return np.asarray(self.model.predict(X))
        series = self.fixed.series(SeriesCollection.of(X))
        return np.asarray(self.fixed.model(self.model).predict(series))


def to_c(
    model: Any,
    *,
    name: str = "model",
    numbers: str = "float32",
    limit: Any = None,
    max_bytes: int = MAX_BYTES,
) -> str:
    """Write a fitted model as one self-contained C99 header, which is also valid C++.

    The header has its weights as constants, allocates no memory, and needs no library but
    `<math.h>`.  It says how it is used, and how much memory it needs.

    Parameters
    ----------
    model : fitted estimator
        An elastic linear classifier or regression, an `ElasticMLPClassifier` or -`Regressor`, a
        `NearestPrototypeClassifier` or `ElasticLVQClassifier`, or a feature model after `shrink`.
        Without a band, on series of numbers.
    name : str, default="model"
        All names of the header begin with it.
    numbers : {"float32", "int16", "int8"}, default="float32"
        The last two are fixed point, for linear models: weights of 16 or 8 bits.
    limit : float, or sequence of float for each channel
        The greatest absolute value of a sample, for fixed point; greater ones are cut to it.
    max_bytes : int, default=2**20
        A model with more bytes of constants is refused.

    Returns
    -------
    str
        The text of the header.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(20, 30)), np.arange(20) % 2
    >>> model = NearestPrototypeClassifier("mean").fit(X, y)
    >>> print(to_c(model, name="walk").splitlines()[0])
    /* NearestPrototypeClassifier, made by warplearn 0.1.0. C99, and C++.
    """
    return Export.of(model, numbers, limit, max_bytes).header(name)


def _check(model: Any) -> None:
    """What no model may have: a band, symbols, or derived channels."""
    if getattr(model, "band", None) is not None:
        raise ValueError(
            f"band must be None to export a model, got {model.band!r}: where a band lies depends "
            "on the length of the series, which a stream does not know"
        )
    if getattr(model, "alphabet_", None) is not None:
        raise ValueError(
            "a model of symbols cannot be exported; encode them as numbers before fit, with "
            "Alphabet.encode"
        )
    if hasattr(model, "_check_state"):
        model._check_state()
    if isinstance(model, LinearModel) and model._derived_channels() != RAW:
        raise ValueError(
            f"a model of the representations {', '.join(model._derived_channels())} cannot be "
            "exported; fit it with representations=('raw',)"
        )


@singledispatch
def _program(model: Any, fixed: FixedPoint | None) -> Program:
    """The program of a model."""
    parts = [name for name in ("best_estimator_", "model_", "gate_") if hasattr(model, name)]
    inner = f"; export its {' and its '.join(parts)}" if parts else ""
    raise ValueError(
        f"{type(model).__name__} cannot be exported{inner}: linear models, networks, nearest "
        "prototypes, LVQ and feature models can"
    )


_program.register(LinearModel)(linear_program)
_program.register(ElasticMLP)(lambda model, fixed: network_program(model))
_program.register(NearestPrototypeClassifier)(lambda model, fixed: prototype_program(model))
_program.register(ElasticLVQClassifier)(lambda model, fixed: prototype_program(model))
_program.register(FeatureModel)(lambda model, fixed: feature_program(model))


@singledispatch
def _smaller(model: Any) -> str:
    """How a model gets smaller."""
    return "fit with a smaller elasticity, or fewer units"


@_smaller.register(FeatureModel)
def _(model: FeatureModel) -> str:
    count = GROUP * sum(len(each.groups_) for each in model._transformers())
    return (
        f"drop filters and shapelets with model.shrink(X, y, n_filters), it has {count:,} of both"
    )


@_smaller.register(NearestPrototypeClassifier)
@_smaller.register(ElasticLVQClassifier)
def _(model: Any) -> str:
    return "fit with fewer or shorter prototypes"
