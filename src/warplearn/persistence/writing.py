"""Write a model: a tree of plain values, and an entry for each array."""

from __future__ import annotations

import hashlib
import io
import json
import os
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy
from sklearn.base import BaseEstimator
from sklearn.model_selection import (
    GridSearchCV,
)

from warplearn import catalogue
from warplearn.persistence.limits import (
    DTYPE,
    FORMAT,
    MAX_ARRAYS,
    MAX_DIMENSIONS,
    MAX_ITEMS,
    MAX_RATIO,
    MAX_TEXT,
    MAX_USES,
    TEXT,
    VERSION,
    Array,
    check_scoring_names,
    count_items,
    items_allowed,
)
from warplearn.persistence.records import (
    NAME_OF,
    RECORDS,
    attributes_of,
    check_attribute,
    check_model,
    registered,
    registry_of,
)
from warplearn.series.symbols import Alphabet


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
        yield lambda value: type(value) in NAME_OF, self._record
        yield lambda value: registry_of(value) is not None, self._component
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
        if DTYPE.fullmatch(dtype.str) is None or value.ndim > MAX_DIMENSIONS:
            raise TypeError(f"{where} cannot be saved: an array of {value.dtype}")
        array = np.asarray(value, dtype, order="F" if is_fortran(value) else "C")
        content = hashlib.sha256(array.tobytes("A")).digest()
        key = (dtype.str, array.shape, is_fortran(array), content)
        known = self._known.get(key)
        if known is None or known[1] == MAX_USES:
            known = self._known[key] = [len(self.arrays), 0]
            self.arrays.append(array)
        known[1] += 1
        return {"type": "array", "index": known[0]}

    def _scalar(self, value: Any, where: str) -> Any:
        dtype = value.dtype.newbyteorder("<")
        if DTYPE.fullmatch(dtype.str) is None:
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
        name = NAME_OF[type(value)]
        fields = {
            field: self.node(getattr(value, field, None), f"{where}.{field}")
            for field in RECORDS[name].fields
        }
        return {"type": "record", "name": name, "fields": fields}

    def _component(self, value: Any, where: str) -> Any:
        kind, name = str(registry_of(value)), type(value).__name__
        registered(kind, name)
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
        attributes = attributes_of(model)
        for attribute in attributes:
            try:
                check_attribute(cls, attribute)
            except ValueError as error:
                raise TypeError(f"{where}.{attribute} cannot be saved: {error}") from None
        if isinstance(model, GridSearchCV):
            check_scoring_names(model.scoring, f"{where}.scoring")
        check_model(model, attributes)
        parameters = model.get_params(deep=False)
        return {
            "type": "estimator",
            "name": name,
            "parameters": {k: self.node(v, f"{where}.{k}") for k, v in parameters.items()},
            "attributes": {k: self.node(v, f"{where}.{k}") for k, v in attributes.items()},
        }


def _kind_of(value: Any) -> str:
    return f"an object of class {type(value).__module__}.{type(value).__qualname__}"


def is_fortran(array: Array) -> bool:
    """Whether an array is stored column by column."""
    return array.flags.f_contiguous and not array.flags.c_contiguous


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
        {"dtype": array.dtype.str, "shape": list(array.shape), "fortran": is_fortran(array)}
        for array in writer.arrays
    ]
    text = json.dumps(
        {"format": FORMAT, "version": VERSION, "arrays": arrays, "model": tree},
        allow_nan=False, separators=(",", ":"),
    ).encode()  # fmt: skip
    if len(text) > MAX_TEXT or count_items(text) > MAX_ITEMS or len(arrays) > MAX_ARRAYS:
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
    readable = name != TEXT or count_items(content) <= items_allowed(packed)
    if readable and packed < len(content) <= MAX_RATIO * packed:
        info.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(info, content, compresslevel=6)
