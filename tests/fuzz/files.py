"""Files of data that are damaged: read as finite series with labels, or refused with the place."""

from __future__ import annotations

import io
import os
import tempfile
from functools import cache
from pathlib import Path

import numpy as np
import polars

from warplearn import datasets
from warplearn.datasets import MalformedFileError
from warplearn.datasets.readers import READERS

from .contract import Case, all_finite, choice

TS = b"""#two
@problemName two
@timeStamps false
@univariate false
@dimensions 2
@equalLength false
@classLabel true up down
@data
1,2,3:4,5,6:up
7,8:9,10:down
"""
ARFF = b"""%two
@relation two
@attribute relationalAtt relational
@attribute t0 numeric
@end relationalAtt
@attribute target {up,down}
@data
'1,2,3\\n4,5,6',up
"7,8,?\\n9,10,?",down
"""
TOKENS = (
    b"NaN", b"?", b"", b"inf", b"-1e400", b"1e300", b"1_0", b"\xff", b"\x00", b"\r", b"\n", b"\t",
    b":", b",", b"'", b"@data", b"@classLabel true", b"9" * 400, "\N{FULLWIDTH DIGIT ONE}".encode(),
)  # fmt: skip


def array_file(**arrays: object) -> bytes:
    """Arrays in NumPy's format."""
    stream = io.BytesIO()
    np.savez_compressed(stream, **arrays)  # type: ignore[arg-type]
    return stream.getvalue()


@cache
def originals() -> dict[str, list[bytes]]:
    """Whole files of each kind; with WARPLEARN_DATA, beginnings of real ones too."""
    X = np.array([[1.5, 2.5, 3.5], [4.5, 5.5, np.nan]])
    table = io.BytesIO()
    polars.DataFrame({"label": ["a", "b"], "t0": [1.0, 2.0], "t1": [3.0, None]}).write_parquet(
        table
    )
    nested = io.BytesIO()
    polars.DataFrame({"label": [1, 2], "c": [[1.0, 2.0], [3.0]]}).write_parquet(nested)
    found = {
        ".tsv": [b"1\t1.5\t2\t3\n-1\t4\t5\tNaN\n"],
        ".txt": [b"  1.0000000e+00   1.5 2 3\n -1.0000000e+00 4,5 NaN\n"],
        ".ts": [TS],
        ".arff": [ARFF],
        ".npz": [array_file(X=X, y=["a", "b"]), array_file(X=np.ones((2, 2, 3), "f4"), y=[1, 2])],
        ".parquet": [table.getvalue(), nested.getvalue()],
    }
    folder = os.environ.get("WARPLEARN_DATA")
    for file in sorted(Path(folder).glob("*/*_TRAIN.*"))[:40] if folder else []:
        if file.suffix in (".tsv", ".ts", ".arff", ".txt"):
            whole = file.read_bytes()[:4000]
            found[file.suffix].append(whole[: whole.rfind(b"\n") + 1])
    return found


def mutated(rng: np.random.Generator, content: bytes) -> bytes:
    """Some bytes are flipped, lost, doubled, moved or replaced by tokens."""
    for _ in range(int(rng.integers(1, 4))):
        size = len(content)
        a, b = sorted(int(i) for i in rng.integers(0, size + 1, 2))
        b = min(b, a + int(rng.integers(1, 40)))
        how = rng.integers(6)
        if how == 0 and size:
            at = int(rng.integers(size))
            content = (
                content[:at]
                + bytes([content[at] ^ (1 << int(rng.integers(8)))])
                + content[at + 1 :]
            )
        elif how == 1:
            content = content[:a] + content[b:]
        elif how == 2:
            content = content[:b] + content[a:b] + content[b:]
        elif how == 3:
            content = content[:a] + choice(rng, TOKENS) + content[b:]
        elif how == 4:
            content = content[:a]
        else:
            content = content[:a] + choice(rng, TOKENS) + content[a:]
    return content


def readers(rng: np.random.Generator) -> None:
    """A mutated file of one of the formats."""
    suffix = choice(rng, sorted(originals()))
    content = mutated(rng, choice(rng, originals()[suffix]))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"Two_TRAIN{suffix}"
        file.write_bytes(content)
        try:
            found = datasets.read(file)
        except MalformedFileError:
            return
    assert all_finite(found.X)
    assert len(found.y) in (0, len(found.X))
    texts = {str(label).strip().lower() for label in found.y}
    assert not texts & {"", "?", "nan", "none"}, f"labels {sorted(texts)[:5]} of {content[:200]!r}"
    if suffix in (".tsv", ".txt", ".ts", ".arff"):
        lone = [line for line in content.split(b"\n") if b"\r" in line.rstrip(b"\r")]
        assert not lone, f"a carriage return inside a line was taken: {lone[0][:100]!r}"


def cut(rng: np.random.Generator) -> None:
    """The beginning of a table of equal lengths has no series that is shorter than the others."""
    rows, columns = int(rng.integers(2, 5)), int(rng.integers(2, 6))
    lines = [
        f"{i}\t" + "\t".join(f"{v:.3f}" for v in rng.normal(size=columns)) for i in range(rows)
    ]
    content = ("\n".join(lines) + "\n").encode()
    content = content[: int(rng.integers(len(lines[0]) + 1, len(content) + 1))]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "Two_TRAIN.tsv"
        file.write_bytes(content)
        try:
            found = datasets.read(file)
        except MalformedFileError:
            return
    assert set(found.X.lengths.tolist()) == {columns}, f"a row was cut: {content[-40:]!r}"


def labels(rng: np.random.Generator) -> None:
    """A label that is missing is refused, in whatever way it is."""
    missing = choice(rng, ("", "?", "nan", "NaN", " "))
    y = ["a", "b", "c"]
    y[int(rng.integers(3))] = missing
    table = io.BytesIO()
    polars.DataFrame(
        {"label": [label or None for label in y], "t0": [1.0, 2.0, 3.0]}
    ).write_parquet(table)
    contents = {
        ".tsv": "".join(f"{label}\t1.0\t2.0\n" for label in y).encode(),
        ".npz": array_file(X=np.ones((3, 2)), y=y),
        ".parquet": table.getvalue(),
    }
    suffix = choice(rng, sorted(contents))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"Two_TRAIN{suffix}"
        file.write_bytes(contents[suffix])
        try:
            found = datasets.read(file)
        except MalformedFileError:
            return
    raise AssertionError(f"labels {found.y.tolist()} were taken from {suffix}")


def every_suffix(rng: np.random.Generator) -> None:
    """Bytes of one format in a file of another."""
    suffix = choice(rng, sorted(READERS))
    content = choice(rng, originals()[choice(rng, sorted(originals()))])
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"Two_TRAIN{suffix}"
        file.write_bytes(content)
        try:
            found = datasets.read(file)
        except MalformedFileError:
            return
    assert all_finite(found.X)


CASES: dict[str, Case] = {
    "readers": readers, "readers again": readers, "every suffix": every_suffix, "cut": cut, "labels": labels,
}  # fmt: skip
