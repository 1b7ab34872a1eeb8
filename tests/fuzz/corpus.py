"""A corpus of hostile model files, and what opening them does.

    python -m tests.fuzz.corpus                # all files, some minutes
    python -m tests.fuzz.corpus --every 50     # a part of them

Each file is opened with `warplearn.load`.  It must be refused with a ValueError, or give a model
that predicts as it should.  Meanwhile nothing may be imported, run, written or asked for on the
network, which an audit hook of Python watches, and memory is bounded by the file's size.
"""

from __future__ import annotations

import argparse
import faulthandler
import io
import json
import os
import pickle
import sys
import tempfile
import tracemalloc
import warnings
import zipfile
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))  # as pytest has it

import hostile

import warplearn
from fuzz import estimators, models
from warplearn.persistence import RECORDS

FACTOR, CONSTANT = 200, 2**21  # bytes of memory: so many times the file's size, and a constant
FORBIDDEN = (
    "import", "exec", "os.", "subprocess.", "socket.", "shutil.", "ctypes.", "pickle.",
    "code.", "marshal.", "signal.", "urllib.", "webbrowser.", "mmap.", "pty.",
)  # fmt: skip
# Nodes by which skops, the format that was used before, reaches functions and methods.
SKOPS = (
    "FunctionNode", "MethodNode", "PartialNode", "TypeNode", "ObjectNode", "ReduceNode", "JsonNode",
    "OperatorFuncNode", "NdArrayNode", "RandomStateNode", "SliceNode", "CachedNode",
)  # fmt: skip


class Entry(NamedTuple):
    """A file of the corpus."""

    name: str
    content: bytes


def nodes() -> list[Any]:
    """Values for any position of a tree: of every type, sound and unsound, and of types unknown."""
    array = {"type": "array", "index": 0}
    known: list[Any] = [
        array, {"type": "array", "index": 10**9}, {"type": "float", "value": "nan"},
        {"type": "float", "value": "eval"}, {"type": "tuple", "items": [1, array]},
        {"type": "dict", "items": [["a", 1]]}, {"type": "dict", "items": [[[], 1]]},
        {"type": "texts", "items": ["a", "b"]}, {"type": "masked", "data": array, "mask": array},
        {"type": "scalar", "dtype": "<f8", "value": 1e300},
        {"type": "scalar", "dtype": "<U99999", "value": "a"},
        {"type": "random_state", "key": array, "place": 10**9, "gauss": None},
        {"type": "alphabet", "symbols": ["a", "b"], "encoding": "onehot"},
        {"type": "alphabet", "symbols": list(range(3000)), "encoding": "onehot"},
        {"type": "cost", "name": "Gaussian", "fields": {"gamma": "x"}},
        {"type": "solver", "name": "Adam", "fields": {}},
        {"type": "schedule", "name": "os.system", "fields": {}},
        {"type": "penalty", "name": "L2", "fields": {}},
        {"type": "estimator", "name": "ElasticMean", "parameters": {}, "attributes": {}},
        {"type": "estimator", "name": "subprocess.Popen", "parameters": {}, "attributes": {}},
    ]  # fmt: skip
    records = [
        {"type": "record", "name": name, "fields": dict.fromkeys(record.fields)}
        for name, record in RECORDS.items()
    ]
    unknown = [
        {
            "type": name,
            "__module__": "os",
            "__class__": "system",
            "__loader__": name,
            "content": "ls",
        }
        for name in SKOPS
    ]
    plain = [
        None, True, -1, 10**9, 2**70, -(2**63), 1e300, "", "os.system", "__class__", [], {}, [[[]]],
        hostile.deep(50), "x" * 3000,
    ]  # fmt: skip
    return [*known, *records, *unknown, *plain]


def wrapped(node: Any, how: int) -> Any:
    """A node as it is, or inside another one."""
    return (
        node,
        [node],
        {"type": "tuple", "items": [node]},
        {"type": "dict", "items": [["k", node]]},
    )[how]


def positions(tree: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths to all nodes of a tree."""
    yield path
    steps = (
        tree.items()
        if isinstance(tree, dict)
        else enumerate(tree)
        if isinstance(tree, list)
        else ()
    )
    for key, child in steps:
        yield from positions(child, (*path, key))


def replaced(tree: Any, path: tuple[Any, ...], node: Any) -> Any:
    """A tree with another node at a position."""
    if not path:
        return node
    copy = dict(tree) if isinstance(tree, dict) else list(tree)
    copy[path[0]] = replaced(tree[path[0]], path[1:], node)
    return copy


def without(tree: Any, path: tuple[Any, ...]) -> Any:
    """A tree in which a key or an item is missing."""
    copy = dict(tree) if isinstance(tree, dict) else list(tree)
    if len(path) == 1:
        del copy[path[0]]
    else:
        copy[path[0]] = without(tree[path[0]], path[1:])
    return copy


def packed(text: Any, entries: Any, method: int = zipfile.ZIP_STORED) -> bytes:
    """A zip file of a text and entries."""
    stream = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of names that are there twice
        hostile.write(stream, text, entries, method=method)
    return stream.getvalue()


def named(valid: bytes) -> Iterator[Entry]:
    """The changes that the tests list by name."""
    for name, structure in hostile.STRUCTURE.items():
        text, entries = hostile.parts(io.BytesIO(valid))
        structure(text, entries)
        yield Entry(f"structure {name}", packed(text, entries))
    for name, content in hostile.CONTENT.items():
        text, entries = hostile.parts(io.BytesIO(valid))
        content(text)
        yield Entry(f"content {name}", packed(text, entries))
    for name, whole in hostile.TEXTS.items():
        yield Entry(f"text {name}", packed(whole, {}))


def in_every_position(text: Any) -> Iterator[tuple[str, Any]]:
    """Every node in every position of a model, some of them nested, and every position left out."""
    values = nodes()
    for number, path in enumerate(positions(text)):
        place = ".".join(map(str, path))
        if path:
            yield f"without {place}", without(text, path)
        for index, node in enumerate(values):
            changed = replaced(text, path, wrapped(node, (number + index) % 4))
            yield f"{place} node {index}", changed


def of_containers(valid: bytes) -> Iterator[Entry]:
    """Zip files that are cut, doubled, or unpack to more than they should."""
    for size in range(0, len(valid), max(1, len(valid) // 200)):
        yield Entry(f"cut {size}", valid[:size])
    text, entries = hostile.parts(io.BytesIO(valid))
    pairs = list(entries.items())
    yield Entry("an entry twice", packed(text, [*pairs, pairs[0]]))
    yield Entry("two texts", packed(text, [("model.json", "{}"), *pairs]))
    for method in (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        yield Entry(f"method {method}", packed(text, entries, method))
    place = text["model"]["attributes"]["coef_"]["index"]
    rng = np.random.default_rng(0)
    for columns in (2**10, 2**14, 2**18):
        for apart in (20, 40, 50, 60, 10**9):  # between numbers that do not pack
            weights = np.zeros((2, 6, columns))
            weights.reshape(-1)[::apart] = rng.normal(size=weights.reshape(-1)[::apart].shape)
            text["arrays"][place]["shape"] = list(weights.shape)
            # Used as often as an array may be.
            text["model"]["attributes"]["more_"] = {"type": "array", "index": place}
            bomb = entries | {f"{place}.npy": hostile.npy(weights)}
            yield Entry(f"bomb {columns} {apart}", packed(text, bomb, zipfile.ZIP_DEFLATED))


def that_grow(valid: bytes) -> Iterator[Entry]:
    """Texts of as many values as are allowed, each of which takes more memory than bytes."""
    kinds = {
        "lists": ("[]", "{}"), "numbers": ("1.5", "2.5"), "texts": ('"ab"', '"cd"'),
        "nested": ("[[[]]]", "[[{}]]"), "large": ("9" * 4000, "8" * 4000),
        "tuples": ('{"type":"tuple","items":[]}', '{"type":"tuple","items":[1]}'),
        "dicts": ('{"type":"dict","items":[]}', '{"type":"dict","items":[[1,2]]}'),
        "scalars": ('{"type":"scalar","dtype":"<f8","value":1.5}', "[]"),
        "symbols": ('{"type":"alphabet","symbols":["a"],"encoding":"onehot"}', "[]"),
    }  # fmt: skip
    text, entries = hostile.parts(io.BytesIO(valid))
    rng = np.random.default_rng(0)
    for name, (one, other) in kinds.items():
        for count in (300, 1000, 3000, 10_000, 30_000, 150_000):
            text["model"]["attributes"]["more_"] = "HERE"
            # At random, so that they do not pack too well to be read.
            many = ",".join(np.where(rng.random(count) < 0.5, one, other).tolist())
            whole = json.dumps(text).replace('"HERE"', f"[{many}]")
            yield Entry(f"{count} {name}", packed(whole, entries, zipfile.ZIP_DEFLATED))


def of_others() -> Iterator[Entry]:
    """Files of other programs."""
    yield Entry("pickle", pickle.dumps(np.arange(3)))
    yield Entry("npy", hostile.npy(np.ones(3)))
    with suppress(ImportError):
        import functools
        import operator

        import skops.io

        for value in (
            {"f": print}, functools.partial(print, 1), np.random.RandomState(0), [1, "a"], slice(3),
            operator.methodcaller("upper"), np.ones(3), int, np.add, "abc".upper,
        ):  # fmt: skip
            with suppress(Exception):
                yield Entry(f"skops {type(value).__name__}", skops.io.dumps(value))


def corpus(every: int = 1) -> Iterator[Entry]:
    """All files, or those with every so many-th change of a position."""
    linear = models.saved("ElasticLogisticRegression")
    yield from named(linear)
    yield from of_containers(linear)
    yield from that_grow(linear)
    yield from of_others()
    for name in estimators.EVERY:
        text, entries = hostile.parts(io.BytesIO(models.saved(name)))
        for change, changed in islice(in_every_position(text), 0, None, every):
            yield Entry(f"{name} {change}", packed(changed, entries))


class Watch:
    """An audit hook that lists what a file must not bring about."""

    def __init__(self) -> None:
        self.on, self.seen = False, Counter[str]()
        sys.addaudithook(self)

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Called by Python for every event."""
        if not self.on:
            return
        if (event == "open" and _writes(*arguments[1:])) or event.startswith(FORBIDDEN):
            self.seen[f"{event} {arguments!r:.100}"] += 1


def _writes(mode: str | None, flags: int) -> bool:
    """Whether a file is opened to be written to."""
    if mode is None:
        return bool(flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))
    return bool(set(mode) & set("wax+"))


class Outcome(NamedTuple):
    """What became of the files."""

    counts: Counter[str]
    largest: int
    factor: float  # of files of more than a page


def run(every: int = 1) -> Outcome:
    """Open all files; raise AssertionError for the first that does what none may do."""
    faulthandler.enable()
    for name in estimators.EVERY:  # whatever is imported or compiled at first use
        models.check(models.saved(name))
        repr(estimators.made(name))  # as messages have it
    watch, counts, largest, factor = Watch(), Counter[str](), 0, 0.0
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "model.warp"
        for entry in corpus(every):
            file.write_bytes(entry.content)
            model, peak = _opened(file, watch)
            assert not watch.seen, f"{entry.name}: {watch.seen}"
            size = len(entry.content)
            assert peak < FACTOR * size + CONSTANT, f"{entry.name}: {peak} bytes for {size}"
            largest, factor = max(largest, peak), max(factor, peak / size if size > 4096 else 0)
            counts["refused" if isinstance(model, ValueError) else "loaded"] += 1
            if not isinstance(model, ValueError):
                estimators.use(model)
    return Outcome(counts, largest, factor)


def _opened(file: Path, watch: Watch) -> tuple[Any, int]:
    """The model of a file or why there is none, and the memory that this took."""
    tracemalloc.start()
    watch.on = True
    try:
        model: Any = warplearn.load(file)
    except ValueError as error:
        assert file.name in str(error)
        model = ValueError(str(error))
    finally:
        watch.on = False
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    return model, peak


def main() -> None:
    """Open the corpus and print figures."""
    parser = argparse.ArgumentParser(description="Open a corpus of hostile model files.")
    parser.add_argument("--every", type=int, default=1, help="of the changes of positions")
    found = run(parser.parse_args().every)
    print(
        f"{found.counts.total()} files: {found.counts['refused']} refused, {found.counts['loaded']} "
        f"loaded and used; nothing was run, imported, written or asked for.\n"
        f"Memory: at most {found.largest / 2**20:.1f} MiB, and {found.factor:.0f} times the size of "
        f"a file of more than 4 kB; allowed are {FACTOR} times and {CONSTANT / 2**20:.0f} MiB."
    )


if __name__ == "__main__":
    main()
