"""Turn the tree of a model file into an estimator, checking every value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.metrics import check_scoring, get_scorer
from sklearn.model_selection import (
    GridSearchCV,
)

from warplearn import catalogue
from warplearn.base import check_array_of
from warplearn.persistence.limits import (
    DTYPE,
    MAX_DEPTH,
    NOT_FINITE,
    TEXT,
    Array,
    check_scoring_names,
    demand,
)
from warplearn.persistence.records import (
    MADE_ANEW,
    RECORDS,
    REGISTRIES,
    Record,
    check_attribute,
    check_model,
    registered,
)
from warplearn.series.symbols import Alphabet


class Reader:
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
        demand(self._budget >= 0, "its arrays are too large for a file of this size")

    def value(self, node: Any) -> Any:
        """The value of a tree."""
        if node is None or isinstance(node, (bool, int, float, str)):
            return node
        self._depth += 1
        demand(self._depth <= MAX_DEPTH, f"{TEXT} is nested too deeply")
        try:
            if isinstance(node, list):
                return [self.value(item) for item in node]
            kind = node.get("type")
            if not isinstance(kind, str) or kind not in self._decoders:
                raise ValueError(f"{TEXT} has a value of unknown type {shortened(kind)}")
            return self._decoders[kind](node)
        finally:
            self._depth -= 1

    def _float(self, node: dict[str, Any]) -> float:
        return NOT_FINITE[_text(_only(node, "value")["value"])]

    def _tuple(self, node: dict[str, Any]) -> tuple[Any, ...]:
        return tuple(self.value(item) for item in checked_list(_only(node, "items")["items"]))

    def _dict(self, node: dict[str, Any]) -> dict[Any, Any]:
        result = {}
        for pair in checked_list(_only(node, "items")["items"]):
            demand(isinstance(pair, list) and len(pair) == 2, "a dict must consist of pairs")
            key = self.value(pair[0])
            demand(isinstance(key, (str, bool, int, float, np.generic)), "a key must be plain")
            demand(key not in result, f"a dict has the key {shortened(key)} twice")
            result[key] = self.value(pair[1])
        return result

    def _texts(self, node: dict[str, Any]) -> Array:
        texts = [_text(text) for text in checked_list(_only(node, "items")["items"])]
        array = np.empty(len(texts), object)
        array[:] = texts
        return array

    def _array(self, node: dict[str, Any]) -> Array:
        array = self._array_at(checked_size(_only(node, "index")["index"]))
        self._spend(array.nbytes)
        return array

    def _scalar(self, node: dict[str, Any]) -> Any:
        _only(node, "dtype", "value")
        dtype, value = checked_dtype(node["dtype"]), self.value(node["value"])
        kinds = {"b": bool, "i": int, "u": int, "f": float, "U": str}
        demand(type(value) is kinds[dtype.kind], "a scalar must be of its type")
        demand(dtype.kind != "U" or dtype.itemsize == 4 * len(value), "a scalar must be a text")
        return dtype.newbyteorder("=").type(value)

    def _masked(self, node: dict[str, Any]) -> Any:
        _only(node, "data", "mask")
        data, mask = self.value(node["data"]), self.value(node["mask"])
        if isinstance(data, list):
            column = np.empty(len(data), object)
            for place, value in enumerate(data):
                column[place] = value
            data = column
        demand(
            isinstance(data, np.ndarray) and isinstance(mask, np.ndarray)
            and mask.dtype == np.bool_ and data.ndim == 1 and data.shape == mask.shape,
            "a masked array must have a mask of its shape",
        )  # fmt: skip
        return np.ma.MaskedArray(data, mask)

    def _random_state(self, node: dict[str, Any]) -> np.random.RandomState:
        _only(node, "key", "place", "gauss")
        key, place, gauss = self.value(node["key"]), checked_size(node["place"]), node["gauss"]
        # NumPy does not check the place.
        demand(
            isinstance(key, np.ndarray) and key.shape == (624,) and key.dtype == np.uint32
            and place <= 624,
            "a random source must have a valid state",
        )  # fmt: skip
        demand(gauss is None or type(gauss) is float, "a random source must have a valid state")
        source = np.random.RandomState(0)
        source.set_state(("MT19937", key, place, int(gauss is not None), gauss or 0.0))
        return source

    def _alphabet(self, node: dict[str, Any]) -> Alphabet:
        kernel = node.get("encoding") == "kernel"
        _only(node, "symbols", "encoding", *(["features"] if kernel else []))
        symbols = [self.value(symbol) for symbol in checked_list(node["symbols"])]
        demand(
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
            raise ValueError(f"{TEXT} has an unknown record {shortened(node['name'])}")
        return self._filled(RECORDS[node["name"]], node["fields"])

    def _component(self, node: dict[str, Any]) -> Any:
        _only(node, "name", "fields")
        return self._filled(registered(node["type"], _text(node["name"])), node["fields"])

    def _filled(self, record: Record, fields: Any) -> Any:
        demand(
            isinstance(fields, dict) and set(fields) == set(record.fields),
            f"a {record.cls.__name__} must have the fields {list(record.fields)}",
        )
        values = {name: self.value(fields[name]) for name in record.fields}
        instance = record.cls(**values)
        record.check(instance)
        return instance

    def estimator(self, node: Any) -> Any:
        """An estimator of the table, with parameters and attributes that it can have."""
        demand(isinstance(node, dict) and node.get("type") == "estimator", "it holds no model")
        _only(node, "name", "parameters", "attributes")
        name, given, fitted = _text(node["name"]), node["parameters"], node["attributes"]
        if name not in catalogue.ESTIMATORS:
            raise ValueError(f"it names {shortened(name)}, which is no estimator of the library")
        demand(isinstance(given, dict) and isinstance(fitted, dict), "it holds no model")
        cls = catalogue.estimator_class(name)
        unknown = set(given) - set(cls._get_param_names())
        if unknown:
            raise ValueError(f"{name} has no parameter {shortened(min(unknown))}")
        model = cls(**{key: self.value(value) for key, value in given.items()})
        attributes = {}
        for key, value in fitted.items():
            check_attribute(cls, key)
            demand(key not in MADE_ANEW, f"{name} has no fitted attribute {key!r}")
            attributes[key] = self.value(value)
        for key, value in attributes.items():
            setattr(model, key, value)
        if isinstance(model, GridSearchCV):
            _finish_search(model, attributes)
        check_model(model, attributes)
        return model


def _finish_search(model: Any, attributes: dict[str, Any]) -> None:
    """Make what a search does not store."""
    estimators = [
        model.estimator,
        *(attributes[k] for k in ("best_estimator_",) if k in attributes),
    ]
    for estimator in estimators:
        demand(isinstance(estimator, BaseEstimator), "a search must have estimators")
    if not attributes:
        return
    check_scoring_names(model.scoring, "scoring")
    if isinstance(model.scoring, (list, tuple)):
        model.scorer_ = {name: get_scorer(name) for name in model.scoring}
    else:
        model.scorer_ = check_scoring(model.estimator, model.scoring)


def shortened(value: Any) -> str:
    """A value as it stands in a message."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _only(node: dict[str, Any], *keys: str) -> dict[str, Any]:
    """A node with exactly these keys beside its type."""
    if set(node) != {"type", *keys}:
        raise ValueError(f"{TEXT} has a {shortened(node.get('type'))} with wrong keys")
    return node


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{TEXT} has {shortened(value)} where a text must be")
    return value


def checked_list(value: Any) -> list[Any]:
    """A list of the tree."""
    if not isinstance(value, list):
        raise ValueError(f"{TEXT} has {shortened(value)} where a list must be")
    return value


def checked_size(value: Any) -> int:
    """A size of an array."""
    if type(value) is not int or not 0 <= value < 2**48:
        raise ValueError(f"{TEXT} has {shortened(value)} where a size must be")
    return value


def checked_dtype(value: Any) -> np.dtype[Any]:
    """The type of an array."""
    if DTYPE.fullmatch(_text(value)) is None:
        raise ValueError(f"{TEXT} has an array of unknown type {shortened(value)}")
    return np.dtype(value)
