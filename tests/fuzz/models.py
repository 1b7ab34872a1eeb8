"""Files of models that are damaged or hostile: refused, or a model that predicts finite values."""

from __future__ import annotations

import io
import json
import pickle
import tempfile
import zipfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import warplearn

from . import estimators, files
from .contract import Case, choice, outcome, refused

VALUES: tuple[Any, ...] = (
    None, True, 0, -1, 1, 2**31, 10**30, 0.5, 1e300, "", "nan", "X", "__class__", "os.system",
    [], {}, [0], [[]], {"type": "array"}, {"type": "array", "index": 0}, {"type": "float", "value": "nan"},
    {"type": "tuple", "items": [1, 2]}, {"type": "estimator", "name": "ElasticMean"},
)  # fmt: skip


@cache
def saved(name: str) -> bytes:
    """The file of a fitted model."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "model.warp"
        warplearn.save(pickle.loads(estimators.fitted(name)), file)
        return file.read_bytes()


def check(content: bytes) -> None:
    """Open a file, and use the model if there is one."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "model.warp"
        file.write_bytes(content)
        model = outcome(lambda: warplearn.load(file))
    if not refused(model):
        estimators.use(model)


def flipped(rng: np.random.Generator) -> None:
    """Bytes of the file are others."""
    check(files.mutated(rng, saved(choice(rng, estimators.EVERY))))


def rewritten(rng: np.random.Generator) -> None:
    """A sound zip file whose text or arrays say something else."""
    with zipfile.ZipFile(io.BytesIO(saved(choice(rng, estimators.EVERY)))) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    text = next(name for name in entries if name.endswith(".json"))
    if rng.random() < 0.6:
        tree = json.loads(entries[text])
        for _ in range(int(rng.integers(1, 3))):
            tree = changed(rng, tree)
        entries[text] = json.dumps(tree).encode()
    else:
        name = choice(rng, sorted(set(entries) - {text}) or [text])
        if name != text:
            entries[name] = other_array(rng, entries[name])
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    check(stream.getvalue())


def other_array(rng: np.random.Generator, content: bytes) -> bytes:
    """An array with other numbers in it, of the same shape and type."""
    array = np.load(io.BytesIO(content), allow_pickle=False)
    if array.size and array.dtype.kind in "fiu":
        options = (np.nan, np.inf, 1e30, -1.0) if array.dtype.kind == "f" else (-1, 10**6, 2**30)
        array.flat[int(rng.integers(array.size))] = np.array(choice(rng, options)).astype(
            array.dtype
        )
    stream = io.BytesIO()
    np.lib.format.write_array(stream, array, version=(1, 0), allow_pickle=False)
    return stream.getvalue()


def changed(rng: np.random.Generator, node: Any) -> Any:
    """A tree in which one node is another."""
    if isinstance(node, dict) and node and rng.random() < 0.85:
        key = choice(rng, sorted(node))
        if rng.random() < 0.1:
            return {k: v for k, v in node.items() if k != key}
        return {**node, key: changed(rng, node[key])}
    if isinstance(node, list) and node and rng.random() < 0.85:
        at = int(rng.integers(len(node)))
        return [*node[:at], changed(rng, node[at]), *node[at + 1 :]]
    if isinstance(node, int) and not isinstance(node, bool) and rng.random() < 0.5:
        return node + choice(rng, (-1, 1, 1000, -(10**6)))
    return choice(rng, VALUES)


def pickled(rng: np.random.Generator) -> None:
    """A pickle whose state was changed is checked like a file."""
    model = pickle.loads(estimators.fitted(choice(rng, estimators.EVERY)))
    state = model.__getstate__()
    name = choice(rng, sorted(k for k in state if k.endswith("_") or k.startswith("_")))
    state[name] = estimators.damaged(rng, state[name])
    changed = outcome(lambda: _with_state(type(model), state))
    if not refused(changed):
        estimators.use(changed)


def _with_state(cls: type, state: dict[str, Any]) -> Any:
    model = cls.__new__(cls)
    model.__setstate__(state)
    return model


CASES: dict[str, Case] = {"flipped": flipped, "rewritten": rewritten, "pickled": pickled}
