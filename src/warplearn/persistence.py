"""Models as files: `save` and `load`.

A model file is a zip file with a text, `model.json`, and an entry in NumPy's format for each array.
The text holds the name of an estimator from the library's own table, its parameters and its fitted
attributes: numbers, strings, lists, dicts, arrays, and a few records of the library, each by a name
from the tables below.  The format cannot express anything else, so that opening a file never runs
code from it.  `docs/model_files.md` describes the format.

A file may come from anywhere.  It is read once into memory; names, sizes and types of its entries
are checked before anything is unpacked, and the fitted attributes before they reach compiled code.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import stat
import zipfile
import zlib
from collections.abc import Callable, Iterator
from numbers import Integral, Real
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.metrics import check_scoring, get_scorer
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    LeaveOneOut,
    ShuffleSplit,
    StratifiedKFold,
    StratifiedShuffleSplit,
)

from warplearn import catalogue
from warplearn.averaging.methods import Averaging, Descent, Gradient, Stochastic
from warplearn.base import CheckedState, TargetScale, check_array_of
from warplearn.elastic.costs import COSTS
from warplearn.features.models import Shrinkage
from warplearn.linear_model.polarity import Polarity
from warplearn.linear_model.regressors import TargetReadout
from warplearn.registry import Registry
from warplearn.series.symbols import Alphabet
from warplearn.training.estimator import Context
from warplearn.training.optimizers import SOLVERS
from warplearn.training.penalties import PENALTIES
from warplearn.training.plan import Solution, State
from warplearn.training.schedules import SCHEDULES

__all__ = ["load", "save"]

FORMAT, VERSION = "warplearn model", 1
TEXT = "model.json"
DEFAULT_MAX_BYTES = 2**32

MAX_RATIO = 50  # unpacked to packed size of an entry; `save` stores what packs better as it is
MAX_FACTOR = 2 * MAX_RATIO  # bytes of arrays in the model to bytes of the file
_MAX_USES = 2  # of a stored array; `save` stores it anew after that
_MAX_TEXT = 2**23
_MAX_ITEMS = 500_000  # values in the text
_MAX_DEPTH = 40  # of the tree
_MAX_ARRAYS = 10_000
_MAX_DIMENSIONS = 8
_MAX_HEADER = 1000  # bytes of the header of an array
_MAX_CODE_POINT = 0x10FFFF

_DTYPE = re.compile(r"[<|](b1|i1|u1|[iuf][248]|U[1-9][0-9]{0,5})")
_ATTRIBUTE = re.compile(r"_?[A-Za-z]\w{0,99}", re.ASCII)
_NOT_FINITE = {"nan": float("nan"), "inf": float("inf"), "-inf": float("-inf")}

Array = NDArray[Any]


# Tables: which classes a file can name


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


def _demand(valid: bool, message: str) -> None:
    if not valid:
        raise ValueError(message)


def _is_integer(value: Any, least: int | None = None) -> bool:
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    return whole and (least is None or int(value) >= least)


def _check_polarity(record: Polarity) -> None:
    _demand(all(map(_is_integer, record)), "a Polarity must consist of integers")
    record.check()


def _check_scale(record: TargetScale) -> None:
    _demand(isinstance(record.flat, (bool, np.bool_)), "flat of a TargetScale must be a bool")
    record.check()
    _demand(not record.flat or len(record.mean) == 1, "a flat TargetScale must be of one target")


def _check_readout(record: TargetReadout) -> None:
    _demand(isinstance(record.scale, TargetScale), "scale of a TargetReadout must be a TargetScale")


def _check_context(record: Context) -> None:
    readouts = (type(None), Polarity, TargetReadout, TargetScale)
    _demand(isinstance(record.readout, readouts), "readout of a Context must be a readout")
    _demand(_is_integer(record.n_channels, 1), "n_channels of a Context must be positive")
    _demand(
        isinstance(record.classes, (type(None), np.ndarray)), "classes of a Context must be labels"
    )
    _demand(isinstance(record.alphabet, (type(None), Alphabet)), "alphabet must be an Alphabet")
    if record.scales is not None:
        _demand(
            isinstance(record.scales, tuple) and len(record.scales) == 2,
            "scales of a Context must be two arrays",
        )
        for scale in record.scales:
            check_array_of(scale, "scales of a Context", (int(record.n_channels),))
        _demand(bool((record.scales[1] > 0).all()), "scales of a Context must be positive")


def _check_solution(record: Solution) -> None:
    for name in ("W", "b", "history", "mistakes_history"):
        _demand(isinstance(getattr(record, name), np.ndarray), f"{name} must be an array")
    _demand(isinstance(record.reason, str), "reason of a Solution must be a text")
    _demand(_is_integer(record.n_epochs, 0), "n_epochs of a Solution must be an integer")
    _demand(isinstance(record.state, (type(None), State)), "state of a Solution must be a State")


def _check_state(record: State) -> None:
    for arrays in (record.parameters, record.mean):
        _demand(isinstance(arrays, (type(None), list)), "a State must have lists of arrays")
        for array in arrays or []:
            _demand(isinstance(array, np.ndarray), "a State must have lists of arrays")
    _demand(isinstance(record.parameters, list), "a State must have parameters")
    _demand(isinstance(record.memory, (type(None), list)), "memory of a State must be a list")
    _demand(_is_integer(record.n_averaged, 0), "n_averaged of a State must be an integer")
    _demand(
        record.solver is None or type(record.solver) in SOLVERS.classes,
        "solver of a State must be a solver",
    )


def _check_numbers(record: Any) -> None:
    """Nothing but numbers, and None for those that are optional."""
    values = tuple(record) if isinstance(record, tuple) else tuple(vars(record).values())
    _demand(
        all(value is None or isinstance(value, (Real, np.bool_)) for value in values),
        f"a {type(record).__name__} must consist of numbers",
    )


def _check_splitter(record: Any) -> None:
    """Plain values, and a random source."""
    plain = (type(None), bool, int, float, np.random.RandomState)
    _demand(
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
    "Gradient": Record(Gradient, ("rate",), _check_numbers),
    "KFold": Record(KFold, _FOLDS, _check_splitter),
    "LeaveOneOut": Record(LeaveOneOut, (), _check_splitter),
    "Polarity": _tuple_record(Polarity, _check_polarity),
    "ShuffleSplit": Record(ShuffleSplit, _SHUFFLED, _check_splitter),
    "Shrinkage": _tuple_record(Shrinkage, _check_numbers),
    "Solution": _tuple_record(Solution, _check_solution),
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
_NAME_OF = {record.cls: name for name, record in RECORDS.items()}


def _registered(kind: str, name: str) -> Record:
    """The registered class of a name."""
    found = [cls for cls in REGISTRIES[kind].classes if cls.__name__ == name]
    if len(found) != 1:
        raise ValueError(f"{len(found)} classes named {name!r} are registered as {kind}")
    return _tuple_record(found[0], _check_numbers)


def _registry_of(value: Any) -> str | None:
    """The kind of component that a value is."""
    kinds = (kind for kind, registry in REGISTRIES.items() if type(value) in registry.classes)
    return next(kinds, None)


# Attributes that are made anew when a model is loaded.
_MADE_ANEW = {"scorer_"}


def _attributes(model: Any) -> dict[str, Any]:
    """Fitted attributes of an estimator."""
    parameters = model.get_params(deep=False)
    skipped = _MADE_ANEW if isinstance(model, GridSearchCV) else set()
    return {
        name: value
        for name, value in vars(model).items()
        if name not in parameters and name not in skipped
    }


def _check_attribute(cls: type, name: Any) -> None:
    """A name that `fit` could set, and that stands for nothing else."""
    fitted = isinstance(name, str) and _ATTRIBUTE.fullmatch(name) is not None
    if not fitted or not (name.endswith("_") or name.startswith("_")) or hasattr(cls, name):
        raise ValueError(f"{cls.__name__} has no fitted attribute {name!r}")


def _check_model(model: Any, attributes: dict[str, Any]) -> None:
    """Fitted attributes fit each other and the parameters."""
    if attributes and isinstance(model, CheckedState):
        if model._fitted_by not in attributes:
            raise ValueError(f"{type(model).__name__} lacks {model._fitted_by}")
        model._check_state(whole=True)


# Writing


class _Writer:
    """Turns values into the tree of `model.json`, and collects arrays."""

    def __init__(self) -> None:
        self.arrays: list[Array] = []
        self._known: dict[Any, list[int]] = {}  # content: [place, uses]

    def node(self, value: Any, where: str) -> Any:
        """The tree of a value; `where` names it in error messages."""
        if value is None or type(value) in (bool, int, str):
            return value
        if type(value) is float:
            return value if np.isfinite(value) else {"type": "float", "value": repr(value)}
        if type(value) is list:
            return self._nodes(value, where)
        for is_kind, encode in self._encoders():
            if is_kind(value):
                return encode(value, where)
        raise TypeError(f"{where} cannot be saved: {_kind_of(value)}")

    def _encoders(self) -> Iterator[tuple[Callable[[Any], bool], Callable[[Any, str], Any]]]:
        yield lambda value: type(value) is tuple, self._tuple
        yield lambda value: type(value) is dict, self._dict
        yield lambda value: isinstance(value, np.ma.MaskedArray), self._masked
        yield lambda value: type(value) is np.ndarray, self._array
        yield lambda value: isinstance(value, np.generic), self._scalar
        yield lambda value: type(value) is np.random.RandomState, self._random_state
        yield lambda value: type(value) is Alphabet, self._alphabet
        yield lambda value: type(value) in _NAME_OF, self._record
        yield lambda value: _registry_of(value) is not None, self._component
        yield lambda value: isinstance(value, BaseEstimator), self.estimator

    def _nodes(self, values: Any, where: str) -> list[Any]:
        return [self.node(value, f"{where}[{place}]") for place, value in enumerate(values)]

    def _tuple(self, value: Any, where: str) -> Any:
        return {"type": "tuple", "items": self._nodes(value, where)}

    def _dict(self, value: Any, where: str) -> Any:
        for key in value:
            if not isinstance(key, (str, bool, int, float, np.generic)):
                raise TypeError(f"{where} cannot be saved: a key is {_kind_of(key)}")
        items = [[self.node(k, where), self.node(v, f"{where}[{k!r}]")] for k, v in value.items()]
        return {"type": "dict", "items": items}

    def _masked(self, value: Any, where: str) -> Any:
        if value.ndim != 1:
            raise TypeError(f"{where} cannot be saved: a masked array of shape {value.shape}")
        mask = np.ma.getmaskarray(value)
        data = [None if hidden else v for v, hidden in zip(value.data, mask, strict=True)]
        if value.dtype.kind != "O":
            return {
                "type": "masked",
                "data": self.node(np.array(value.data), where),
                "mask": self.node(mask, where),
            }
        return {"type": "masked", "data": self._nodes(data, where), "mask": self.node(mask, where)}

    def _array(self, value: Any, where: str) -> Any:
        if value.dtype.kind == "O":
            if value.ndim != 1 or not all(type(text) is str for text in value):
                raise TypeError(f"{where} cannot be saved: an array of objects")
            return {"type": "texts", "items": list(value)}
        dtype = value.dtype.newbyteorder("<")
        if dtype.kind == "U" and dtype.itemsize == 0:
            dtype = np.dtype("<U1")
        if _DTYPE.fullmatch(dtype.str) is None or value.ndim > _MAX_DIMENSIONS:
            raise TypeError(f"{where} cannot be saved: an array of {value.dtype}")
        array = np.asarray(value, dtype, order="F" if _is_fortran(value) else "C")
        content = hashlib.sha256(array.tobytes("A")).digest()
        key = (dtype.str, array.shape, _is_fortran(array), content)
        known = self._known.get(key)
        if known is None or known[1] == _MAX_USES:
            known = self._known[key] = [len(self.arrays), 0]
            self.arrays.append(array)
        known[1] += 1
        return {"type": "array", "index": known[0]}

    def _scalar(self, value: Any, where: str) -> Any:
        dtype = value.dtype.newbyteorder("<")
        if _DTYPE.fullmatch(dtype.str) is None:
            raise TypeError(f"{where} cannot be saved: a scalar of {value.dtype}")
        return {"type": "scalar", "dtype": dtype.str, "value": self.node(value.item(), where)}

    def _random_state(self, value: Any, where: str) -> Any:
        name, key, place, has_gauss, gauss = value.get_state(legacy=True)
        if name != "MT19937":
            raise TypeError(f"{where} cannot be saved: a random source of type {name}")
        return {
            "type": "random_state",
            "key": self.node(np.asarray(key), where),
            "place": int(place),
            "gauss": self.node(float(gauss), where) if has_gauss else None,
        }

    def _alphabet(self, value: Any, where: str) -> Any:
        tree = {
            "type": "alphabet",
            "symbols": self._nodes(value.symbols, f"{where}.symbols"),
            "encoding": value.encoding,
        }
        if value.encoding == "kernel":
            tree["features"] = self.node(value.features, f"{where}.features")
        return tree

    def _record(self, value: Any, where: str) -> Any:
        name = _NAME_OF[type(value)]
        fields = {
            field: self.node(getattr(value, field, None), f"{where}.{field}")
            for field in RECORDS[name].fields
        }
        return {"type": "record", "name": name, "fields": fields}

    def _component(self, value: Any, where: str) -> Any:
        kind, name = str(_registry_of(value)), type(value).__name__
        _registered(kind, name)
        fields = {
            field: self.node(number, f"{where}.{field}")
            for field, number in zip(value._fields, value, strict=True)
        }
        return {"type": kind, "name": name, "fields": fields}

    def estimator(self, model: Any, where: str) -> Any:
        """The tree of an estimator."""
        cls, name = type(model), type(model).__name__
        if name not in catalogue.ESTIMATORS or catalogue.estimator_class(name) is not cls:
            raise TypeError(
                f"{where} cannot be saved: {_kind_of(model)}, no estimator of the library; enter "
                "classes of your own with warplearn.catalogue.register"
            )
        attributes = _attributes(model)
        for attribute in attributes:
            try:
                _check_attribute(cls, attribute)
            except ValueError as error:
                raise TypeError(f"{where}.{attribute} cannot be saved: {error}") from None
        if isinstance(model, GridSearchCV):
            _check_scoring(model.scoring, f"{where}.scoring")
        _check_model(model, attributes)
        parameters = model.get_params(deep=False)
        return {
            "type": "estimator",
            "name": name,
            "parameters": {k: self.node(v, f"{where}.{k}") for k, v in parameters.items()},
            "attributes": {k: self.node(v, f"{where}.{k}") for k, v in attributes.items()},
        }


def _kind_of(value: Any) -> str:
    return f"an object of class {type(value).__module__}.{type(value).__qualname__}"


def _is_fortran(array: Array) -> bool:
    return array.flags.f_contiguous and not array.flags.c_contiguous


def _check_scoring(scoring: Any, where: str) -> None:
    names = scoring if isinstance(scoring, (list, tuple)) else [scoring]
    if not all(name is None or isinstance(name, str) for name in names):
        raise TypeError(f"{where} cannot be saved: only names of metrics can be")


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write an estimator of the library to a file, whole or not at all.

    Parameters
    ----------
    model : estimator
        Fitted or not; one of the library's, or of a class entered with
        `warplearn.catalogue.register`.
    path : str or path
        By convention the name ends in ``.warp``.

    Raises
    ------
    TypeError
        If a parameter or an attribute is of a class that the format does not have, such as a
        function.
    ValueError
        If fitted attributes do not fit each other, or are not finite.

    See Also
    --------
    load : Read the file again.

    Examples
    --------
    >>> import tempfile
    >>> import warplearn
    >>> X = [[0.0, 0.0, 1.0], [5.0, 5.0, 4.0]]
    >>> model = warplearn.DTWNeighborsClassifier().fit(X, ["low", "high"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     warplearn.save(model, f"{folder}/model.warp")
    ...     again = warplearn.load(f"{folder}/model.warp")
    >>> again.predict([[0.0, 1.0, 1.0, 1.0]])
    array(['low'], dtype='<U4')
    """
    writer = _Writer()
    tree = writer.estimator(model, type(model).__name__)
    arrays = [
        {"dtype": array.dtype.str, "shape": list(array.shape), "fortran": _is_fortran(array)}
        for array in writer.arrays
    ]
    text = json.dumps(
        {"format": FORMAT, "version": VERSION, "arrays": arrays, "model": tree},
        allow_nan=False, separators=(",", ":"),
    ).encode()  # fmt: skip
    if len(text) > _MAX_TEXT or _items(text) > _MAX_ITEMS or len(arrays) > _MAX_ARRAYS:
        raise ValueError(f"{type(model).__name__} has too many attributes for a file")
    entries = [(TEXT, text)]
    for place, array in enumerate(writer.arrays):
        content = io.BytesIO()
        npy.write_array(content, array, version=(1, 0), allow_pickle=False)
        entries.append((f"{place}.npy", content.getvalue()))
    target = Path(path)
    part = target.with_name(f"{target.name}.{os.getpid()}.part")
    try:
        with zipfile.ZipFile(part, "x") as archive:
            for name, content_bytes in entries:
                _write_entry(archive, name, content_bytes)
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def _write_entry(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    """Write an entry, packed if that makes it smaller and the reader allows it."""
    info = zipfile.ZipInfo(name)  # of 1980: the same model gives the same file
    packed = len(zlib.compress(content, 6, wbits=-15))
    if packed < len(content) <= MAX_RATIO * packed:
        info.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(info, content, compresslevel=6)


# Reading


class _Reader:
    """Builds a model from a tree and arrays; both are from a file that nobody vouches for."""

    def __init__(self, arrays: Callable[[int], Array], budget: int) -> None:
        self._array_at, self._budget, self._depth = arrays, budget, 0
        self._decoders: dict[str, Callable[[dict[str, Any]], Any]] = {
            "alphabet": self._alphabet,
            "array": self._array,
            "dict": self._dict,
            "estimator": self.estimator,
            "float": self._float,
            "masked": self._masked,
            "random_state": self._random_state,
            "record": self._record,
            "scalar": self._scalar,
            "texts": self._texts,
            "tuple": self._tuple,
            **dict.fromkeys(REGISTRIES, self._component),
        }

    def _spend(self, size: int) -> None:
        self._budget -= size
        _demand(self._budget >= 0, "its arrays are too large for a file of this size")

    def value(self, node: Any) -> Any:
        """The value of a tree."""
        if node is None or isinstance(node, (bool, int, float, str)):
            return node
        self._depth += 1
        _demand(self._depth <= _MAX_DEPTH, f"{TEXT} is nested too deeply")
        try:
            if isinstance(node, list):
                return [self.value(item) for item in node]
            kind = node.get("type")
            if not isinstance(kind, str) or kind not in self._decoders:
                raise ValueError(f"{TEXT} has a value of unknown type {_short(kind)}")
            return self._decoders[kind](node)
        finally:
            self._depth -= 1

    def _float(self, node: dict[str, Any]) -> float:
        return _NOT_FINITE[_text(_only(node, "value")["value"])]

    def _tuple(self, node: dict[str, Any]) -> tuple[Any, ...]:
        return tuple(self.value(item) for item in _list(_only(node, "items")["items"]))

    def _dict(self, node: dict[str, Any]) -> dict[Any, Any]:
        result = {}
        for pair in _list(_only(node, "items")["items"]):
            _demand(isinstance(pair, list) and len(pair) == 2, "a dict must consist of pairs")
            key = self.value(pair[0])
            _demand(isinstance(key, (str, bool, int, float, np.generic)), "a key must be plain")
            _demand(key not in result, f"a dict has the key {_short(key)} twice")
            result[key] = self.value(pair[1])
        return result

    def _texts(self, node: dict[str, Any]) -> Array:
        texts = [_text(text) for text in _list(_only(node, "items")["items"])]
        array = np.empty(len(texts), object)
        array[:] = texts
        return array

    def _array(self, node: dict[str, Any]) -> Array:
        array = self._array_at(_count(_only(node, "index")["index"]))
        self._spend(array.nbytes)
        return array

    def _scalar(self, node: dict[str, Any]) -> Any:
        _only(node, "dtype", "value")
        dtype, value = _dtype(node["dtype"]), self.value(node["value"])
        kinds = {"b": bool, "i": int, "u": int, "f": float, "U": str}
        _demand(type(value) is kinds[dtype.kind], "a scalar must be of its type")
        _demand(dtype.kind != "U" or dtype.itemsize == 4 * len(value), "a scalar must be a text")
        return dtype.newbyteorder("=").type(value)

    def _masked(self, node: dict[str, Any]) -> Any:
        _only(node, "data", "mask")
        data, mask = self.value(node["data"]), self.value(node["mask"])
        if isinstance(data, list):
            column = np.empty(len(data), object)
            for place, value in enumerate(data):
                column[place] = value
            data = column
        _demand(
            isinstance(data, np.ndarray) and isinstance(mask, np.ndarray)
            and mask.dtype == np.bool_ and data.ndim == 1 and data.shape == mask.shape,
            "a masked array must have a mask of its shape",
        )  # fmt: skip
        return np.ma.MaskedArray(data, mask)

    def _random_state(self, node: dict[str, Any]) -> np.random.RandomState:
        _only(node, "key", "place", "gauss")
        key, place, gauss = self.value(node["key"]), _count(node["place"]), node["gauss"]
        # NumPy does not check the place.
        _demand(
            isinstance(key, np.ndarray) and key.shape == (624,) and key.dtype == np.uint32
            and place <= 624,
            "a random source must have a valid state",
        )  # fmt: skip
        _demand(gauss is None or type(gauss) is float, "a random source must have a valid state")
        source = np.random.RandomState(0)
        source.set_state(("MT19937", key, place, int(gauss is not None), gauss or 0.0))
        return source

    def _alphabet(self, node: dict[str, Any]) -> Alphabet:
        kernel = node.get("encoding") == "kernel"
        _only(node, "symbols", "encoding", *(["features"] if kernel else []))
        symbols = [self.value(symbol) for symbol in _list(node["symbols"])]
        _demand(
            all(isinstance(s, (str, bool, int, float, np.generic, type(None))) for s in symbols),
            "symbols of an alphabet must be texts or numbers",
        )
        self._spend(8 * len(symbols) * (1 if kernel else len(symbols)))
        alphabet = Alphabet(symbols, encoding="codes" if kernel else _text(node["encoding"]))
        if kernel:
            features = self.value(node["features"])
            check_array_of(features, "features of an alphabet", (len(symbols), None))
            alphabet.encoding, alphabet.features = "kernel", features.astype(np.float64)
        return alphabet

    def _record(self, node: dict[str, Any]) -> Any:
        _only(node, "name", "fields")
        if _text(node["name"]) not in RECORDS:
            raise ValueError(f"{TEXT} has an unknown record {_short(node['name'])}")
        return self._filled(RECORDS[node["name"]], node["fields"])

    def _component(self, node: dict[str, Any]) -> Any:
        _only(node, "name", "fields")
        return self._filled(_registered(node["type"], _text(node["name"])), node["fields"])

    def _filled(self, record: Record, fields: Any) -> Any:
        _demand(
            isinstance(fields, dict) and set(fields) == set(record.fields),
            f"a {record.cls.__name__} must have the fields {list(record.fields)}",
        )
        values = {name: self.value(fields[name]) for name in record.fields}
        instance = record.cls(**values)
        record.check(instance)
        return instance

    def estimator(self, node: Any) -> Any:
        """An estimator of the table, with parameters and attributes that it can have."""
        _demand(isinstance(node, dict) and node.get("type") == "estimator", "it holds no model")
        _only(node, "name", "parameters", "attributes")
        name, given, fitted = _text(node["name"]), node["parameters"], node["attributes"]
        if name not in catalogue.ESTIMATORS:
            raise ValueError(f"it names {_short(name)}, which is no estimator of the library")
        _demand(isinstance(given, dict) and isinstance(fitted, dict), "it holds no model")
        cls = catalogue.estimator_class(name)
        unknown = set(given) - set(cls._get_param_names())
        if unknown:
            raise ValueError(f"{name} has no parameter {_short(min(unknown))}")
        model = cls(**{key: self.value(value) for key, value in given.items()})
        attributes = {}
        for key, value in fitted.items():
            _check_attribute(cls, key)
            _demand(key not in _MADE_ANEW, f"{name} has no fitted attribute {key!r}")
            attributes[key] = self.value(value)
        for key, value in attributes.items():
            setattr(model, key, value)
        if isinstance(model, GridSearchCV):
            _finish_search(model, attributes)
        _check_model(model, attributes)
        return model


def _finish_search(model: Any, attributes: dict[str, Any]) -> None:
    """Make what a search does not store."""
    estimators = [
        model.estimator,
        *(attributes[k] for k in ("best_estimator_",) if k in attributes),
    ]
    for estimator in estimators:
        _demand(isinstance(estimator, BaseEstimator), "a search must have estimators")
    if not attributes:
        return
    _check_scoring(model.scoring, "scoring")
    if isinstance(model.scoring, (list, tuple)):
        model.scorer_ = {name: get_scorer(name) for name in model.scoring}
    else:
        model.scorer_ = check_scoring(model.estimator, model.scoring)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _only(node: dict[str, Any], *keys: str) -> dict[str, Any]:
    """A node with exactly these keys beside its type."""
    if set(node) != {"type", *keys}:
        raise ValueError(f"{TEXT} has a {_short(node.get('type'))} with wrong keys")
    return node


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{TEXT} has {_short(value)} where a text must be")
    return value


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError(f"{TEXT} has {_short(value)} where a list must be")
    return value


def _count(value: Any) -> int:
    if type(value) is not int or not 0 <= value < 2**48:
        raise ValueError(f"{TEXT} has {_short(value)} where a size must be")
    return value


def _dtype(value: Any) -> np.dtype[Any]:
    if _DTYPE.fullmatch(_text(value)) is None:
        raise ValueError(f"{TEXT} has an array of unknown type {_short(value)}")
    return np.dtype(value)


class _Entry(NamedTuple):
    """What `model.json` says about an array."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    fortran: bool

    @classmethod
    def of(cls, node: Any) -> _Entry:
        """The entry, checked."""
        _demand(
            isinstance(node, dict) and set(node) == {"dtype", "shape", "fortran"},
            f"{TEXT} describes an array in an unknown way",
        )
        shape = tuple(_count(size) for size in _list(node["shape"]))
        _demand(len(shape) <= _MAX_DIMENSIONS, "an array has too many dimensions")
        _demand(isinstance(node["fortran"], bool), "an array must have an order")
        return cls(_dtype(node["dtype"]), shape, node["fortran"])

    @property
    def size(self) -> int:
        """Elements."""
        size = 1
        for length in self.shape:
            size *= length
        return size

    @property
    def n_bytes(self) -> int:
        """Bytes of the elements."""
        return self.size * self.dtype.itemsize

    def read(self, content: bytes, name: str) -> Array:
        """The array of an entry, whose header must say the same."""
        stream = io.BytesIO(content)
        _demand(npy.read_magic(stream) == (1, 0), f"{name} is of an unknown version")
        shape, fortran, dtype = npy.read_array_header_1_0(stream, max_header_size=_MAX_HEADER)
        start = stream.tell()
        _demand(
            (dtype, shape, fortran) == (self.dtype, self.shape, self.fortran)
            and len(content) - start == self.n_bytes,
            f"{name} is not the array that {TEXT} describes",
        )
        flat = np.frombuffer(content, self.dtype, self.size, start)
        if dtype.kind == "b":
            _demand(bool((flat.view(np.uint8) <= 1).all()), f"{name} holds damaged values")
        elif dtype.kind == "U":
            points = np.frombuffer(content, "<u4", -1, start) if self.n_bytes else flat.view("<u4")
            _demand(bool((points <= _MAX_CODE_POINT).all()), f"{name} holds damaged text")
        ordered = flat.reshape(self.shape, order="F" if fortran else "C")
        return ordered.astype(dtype.newbyteorder("="), order="K", copy=True)


class _Arrays:
    """The arrays of an archive, unpacked when they are first asked for."""

    def __init__(self, unpack: Callable[[str], bytes], entries: list[_Entry]) -> None:
        self._unpack, self._entries = unpack, entries
        self._uses = [0] * len(entries)
        self._kept: dict[int, Array] = {}

    def __call__(self, place: int) -> Array:
        _demand(place < len(self._entries), f"{TEXT} names an array that is not there")
        self._uses[place] += 1
        _demand(self._uses[place] <= _MAX_USES, f"{TEXT} uses an array too often")
        if place in self._kept:
            return self._kept[place].copy(order="K")
        name = f"{place}.npy"
        self._kept[place] = self._entries[place].read(self._unpack(name), name)
        return self._kept[place]

    def check_all_used(self) -> None:
        """Every array is part of the model."""
        _demand(all(self._uses), "it holds an array that the model does not use")


def load(path: str | os.PathLike[str], *, max_bytes: int = DEFAULT_MAX_BYTES) -> Any:
    """Read a model that `save` wrote; the file may come from anywhere.

    Opening a file never runs code from it: it can hold nothing but numbers, texts, arrays and
    names of the library's estimators.  Fitted attributes are checked, so that a damaged or forged
    model gives an error and no crash.

    Parameters
    ----------
    path : str or path
    max_bytes : int, default=2**32
        Refuse files whose arrays, or which themselves, are larger than this.  Independently of it,
        the arrays may be at most 100 times as large as the file.

    Returns
    -------
    estimator

    Raises
    ------
    ValueError
        If the file is damaged, or is no model of this library.

    See Also
    --------
    save : Write a model.

    Examples
    --------
    >>> import tempfile
    >>> import warplearn
    >>> model = warplearn.ElasticMean().fit([[0.0, 1.0, 0.0], [0.0, 0.0, 3.0, 0.0]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     warplearn.save(model, f"{folder}/mean.warp")
    ...     again = warplearn.load(f"{folder}/mean.warp")
    >>> bool((again.mean_ == model.mean_).all())
    True
    """
    content = _content(path, max_bytes)
    try:
        return _model(content, max_bytes)
    except ImportError:  # of a library that an estimator needs
        raise
    except RecursionError:
        reason = f"{TEXT} is nested too deeply"
    except MemoryError:
        reason = "there is not enough memory for its arrays"
    except Exception as error:  # a damaged file can bring any error about
        reason = " ".join(str(error).split()) or type(error).__name__
    raise ValueError(f"{os.fspath(path)} is no model of warplearn: {reason}")


def _content(path: str | os.PathLike[str], max_bytes: int) -> bytes:
    """The whole file, opened once: what happens to it afterwards does not matter."""
    flags = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)
    opened = os.open(path, flags)
    try:
        status = os.fstat(opened)
        if not stat.S_ISREG(status.st_mode):
            raise ValueError(f"{os.fspath(path)} is no model of warplearn: it is no ordinary file")
        if status.st_size > max_bytes:
            raise ValueError(f"{os.fspath(path)} is larger than max_bytes={max_bytes}")
        with open(opened, "rb", closefd=False) as file:
            return file.read(status.st_size)
    finally:
        os.close(opened)


def _model(content: bytes, max_bytes: int) -> Any:
    _demand(content.startswith(b"PK\x03\x04"), "it does not begin like a model file")
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        infos = _checked_infos(archive, len(content))

        def unpack(name: str) -> bytes:
            with archive.open(infos[name]) as entry:
                return _whole(entry.read(infos[name].file_size + 1), infos[name])

        _demand(infos[TEXT].file_size <= _MAX_TEXT, f"{TEXT} is too large")
        text = _parsed(unpack(TEXT))
        entries = _checked_header(text)
        names = {TEXT, *(f"{place}.npy" for place in range(len(entries)))}
        _demand(set(infos) == names, f"its entries are not those that {TEXT} names")
        for place, entry in enumerate(entries):
            size = infos[f"{place}.npy"].file_size
            _demand(
                entry.n_bytes < size <= entry.n_bytes + _MAX_HEADER + 16,
                f"{place}.npy is not the array that {TEXT} describes",
            )
        budget = min(max_bytes, MAX_FACTOR * len(content))
        _demand(sum(entry.n_bytes for entry in entries) <= budget, "its arrays are too large")
        arrays = _Arrays(unpack, entries)
        model = _Reader(arrays, budget).estimator(text["model"])
        arrays.check_all_used()
        return model


def _checked_infos(archive: zipfile.ZipFile, size: int) -> dict[str, zipfile.ZipInfo]:
    """The entries of an archive by name; they lie one behind the other and unpack to little."""
    infos: dict[str, zipfile.ZipInfo] = {}
    _demand(len(archive.infolist()) <= _MAX_ARRAYS + 1, "it has too many entries")
    end = 0
    for info in sorted(archive.infolist(), key=lambda info: info.header_offset):
        name = info.orig_filename
        _demand(name == info.filename and name not in infos, f"entry {_short(name)} is not unique")
        _demand(
            name == TEXT or re.fullmatch(r"(0|[1-9][0-9]{0,4})\.npy", name, re.ASCII) is not None,
            f"it has an entry {_short(name)}",
        )
        _demand(info.flag_bits == 0, f"{name} is encrypted or of an unknown kind")
        stored = info.compress_type == zipfile.ZIP_STORED
        _demand(
            info.compress_size == info.file_size if stored
            else info.compress_type == zipfile.ZIP_DEFLATED,
            f"{name} is packed in an unknown way",
        )  # fmt: skip
        _demand(
            info.file_size <= MAX_RATIO * info.compress_size,
            f"{name} unpacks to more than {MAX_RATIO} times its size",
        )
        # A local header has 30 bytes and the name.
        _demand(info.header_offset >= end, f"{name} overlaps another entry")
        end = info.header_offset + 30 + len(name) + info.compress_size
        infos[name] = info
    _demand(end <= size, "its entries are longer than the file")
    _demand(TEXT in infos, f"it has no {TEXT}")
    return infos


def _whole(content: bytes, info: zipfile.ZipInfo) -> bytes:
    _demand(len(content) == info.file_size, f"{info.filename} is not as long as the file says")
    return content


def _items(text: bytes) -> int:
    """At least as many as there are values in a text."""
    return sum(text.count(sign) for sign in (b",", b"[", b"{"))


def _parsed(text: bytes) -> Any:
    _demand(_items(text) <= _MAX_ITEMS, f"{TEXT} has too many values")
    return json.loads(
        text.decode("utf-8"), parse_constant=_refuse_constant, object_pairs_hook=_object
    )


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{TEXT} has the number {name}")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON, whose keys must differ."""
    result = dict(pairs)
    _demand(len(result) == len(pairs), f"{TEXT} has a key twice")
    return result


def _checked_header(text: Any) -> list[_Entry]:
    """What the text says of the arrays; format and version are ours."""
    _demand(isinstance(text, dict) and text.get("format") == FORMAT, "it is of another format")
    version = text.get("version")
    if type(version) is not int or version != VERSION:
        raise ValueError(
            f"it is of version {_short(version)} of the format, and this release reads {VERSION}"
        )
    _demand(set(text) == {"format", "version", "arrays", "model"}, f"{TEXT} has unknown keys")
    entries = _list(text["arrays"])
    _demand(len(entries) <= _MAX_ARRAYS, "it has too many arrays")
    return [_Entry.of(node) for node in entries]
