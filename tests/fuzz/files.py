"""Files of data that are damaged: read as finite series with labels, or refused with the place."""

from __future__ import annotations

import gzip
import io
import os
import tempfile
import zipfile
from functools import cache
from pathlib import Path
from typing import Any

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
WIDE = b"""class,t0,t1,t2
up,1.5,2.5,3
down,4.5,5.5,
"""
LONG = b"""id;time;v;label
1;0;1,5;up
1;1;2,5;up
2;0;3,5;down
"""
LABELS = (
    "a", "b c", "", "?", "nan", "x,y", 'q"q', "'", "a\nb", "\u00e9", "a:b", "a\u2028b", " a", "None",
    "#a", "%a", "@data", "1_0", "a\tb", "a;b", "\ufeffa", "a\0b", "a\rb", "-", "1e5x", "inf",
)  # fmt: skip
TOKENS = (
    b"NaN", b"?", b"", b"inf", b"-1e400", b"1e300", b"1_0", b"\xff", b"\x00", b"\r", b"\n", b"\t",
    b":", b",", b"'", b";", b'"', b"id", b"time", b"label", b"@data", b"@classLabel true", b"9" * 400, "\N{FULLWIDTH DIGIT ONE}".encode(),
)  # fmt: skip


def array_file(**arrays: object) -> bytes:
    """Arrays in NumPy's format."""
    stream = io.BytesIO()
    np.savez_compressed(stream, **arrays)  # type: ignore[arg-type]
    return stream.getvalue()


def npy(array: np.ndarray[Any, Any]) -> bytes:
    """An array in NumPy's format."""
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def suffixes() -> set[str]:
    """The formats that have files here."""
    return set(originals()) & set(READERS)


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
        ".csv": [WIDE, LONG, WIDE.partition(b"\n")[2]],
        ".npy": [
            npy(X[:1]),
            npy(np.ones((2, 2, 3), "f4")),
            npy(np.arange(6, dtype=">i2").reshape(2, 3)),
        ],
        ".npz": [array_file(X=X, y=["a", "b"]), array_file(X=np.ones((2, 2, 3), "f4"), y=[1, 2])],
        ".parquet": [table.getvalue(), nested.getvalue()],
    }
    for suffix in (".csv", ".tsv", ".ts"):
        found[f"{suffix}.gz"] = [gzip.compress(text, mtime=0) for text in found[suffix]]
    found[""] = found[".txt"]
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


def behind_the_checksum(rng: np.random.Generator, suffix: str, content: bytes) -> bytes:
    """The same for what a compressed file contains."""
    if suffix.endswith(".gz"):
        return gzip.compress(mutated(rng, gzip.decompress(content)), 1, mtime=0)
    if suffix != ".npz":
        return mutated(rng, content)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    name = choice(rng, sorted(entries))
    entries[name] = mutated(rng, entries[name])
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for each, data in entries.items():
            archive.writestr(each, data)
    return stream.getvalue()


def readers(rng: np.random.Generator) -> None:
    """A mutated file of one of the formats."""
    suffix = choice(rng, sorted(originals()))
    content = choice(rng, originals()[suffix])
    content = (
        behind_the_checksum(rng, suffix, content) if rng.random() < 0.5 else mutated(rng, content)
    )
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
    if suffix in (".tsv", ".txt", ".ts", ".arff", ".csv"):
        lone = [line for line in content.split(b"\n") if b"\r" in line.rstrip(b"\r")]
        assert not lone, f"a carriage return inside a line was taken: {lone[0][:100]!r}"


def cut(rng: np.random.Generator) -> None:
    """The beginning of a table of equal lengths has no series that is shorter than the others."""
    rows, columns = int(rng.integers(2, 5)), int(rng.integers(2, 6))
    values = [[f"{v:.3f}" for v in rng.normal(size=columns)] for _ in range(rows)]
    suffix = choice(rng, (".tsv", ".txt", ".csv", ".ts", ".arff"))
    lines = {
        ".tsv": ["\t".join([str(i % 2), *row]) for i, row in enumerate(values)],
        ".txt": [" ".join([str(i % 2), *row]) for i, row in enumerate(values)],
        ".csv": [",".join(["ab"[i % 2], *row]) for i, row in enumerate(values)],
        ".ts": [",".join(row) for row in values],
        ".arff": [",".join([*row, "ab"[i % 2]]) for i, row in enumerate(values)],
    }[suffix]
    attributes = "".join(f"@attribute t{i} numeric\n" for i in range(columns))
    header = {
        ".csv": ",".join(["label", *(f"t{i}" for i in range(columns))]) + "\n",
        ".ts": "@classLabel false\n@data\n",
        ".arff": f"{attributes}@attribute target {{a,b}}\n@data\n",
    }.get(suffix, "")
    first = len(header) + len(lines[0]) + 1
    content = (header + "\n".join(lines) + "\n").encode()
    content = content[: int(rng.integers(first, len(content) + 1))]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"Two_TRAIN{suffix}"
        file.write_bytes(content)
        try:
            found = datasets.read(file)
        except MalformedFileError:
            return
    assert set(found.X.lengths.tolist()) == {columns}, f"a row was cut: {content[-40:]!r}"


def line_ends(rng: np.random.Generator) -> None:
    """Lines may end as on Windows, but not with a carriage return alone."""
    suffix = choice(rng, (".tsv", ".txt", ".csv", ".ts", ".arff"))
    content = originals()[suffix][0]
    alone = rng.random() < 0.5
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"Two_TRAIN{suffix}"
        file.write_bytes(content.replace(b"\n", b"\r" if alone else b"\r\n"))
        try:
            found = datasets.read(file)
        except MalformedFileError:
            assert alone, f"{suffix} was refused"
            return
    assert not alone, f"{suffix} was taken as {found.X!r}"


def identifiers(rng: np.random.Generator) -> None:
    """Each identifier is a series, however many digits it has; one that is missing is refused."""
    count = int(rng.integers(2, 5))
    ids = [int(i) for i in 10 ** int(rng.integers(1, 17)) + rng.choice(99, count, replace=False)]
    lines = [f"{i},{t},{t + 0.5}" for i in ids for t in range(2)]
    gone = rng.random() < 0.3
    if gone:
        lines[-1] = lines[-1].replace(str(ids[-1]), choice(rng, ("", "NaN", "?")), 1)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "Two.csv"
        file.write_text("\n".join(["id,time,v", *lines, ""]))
        try:
            found = datasets.read(file)
        except MalformedFileError:
            assert gone or max(ids) >= 2**53
            return
    assert not gone, "a missing identifier was taken"
    assert len(found.X) == count, f"{ids} are {len(found.X)} series"


def labels(rng: np.random.Generator) -> None:
    """A label that is missing is refused, in whatever way it is."""
    missing = choice(rng, ("", "?", "nan", "NaN", " ", "None", "n/a"))
    y = ["a", "b", "c"]
    y[int(rng.integers(3))] = missing
    table = io.BytesIO()
    polars.DataFrame(
        {"label": [label or None for label in y], "t0": [1.0, 2.0, 3.0]}
    ).write_parquet(table)
    contents = {
        ".tsv": "".join(f"{label}\t1.0\t2.0\n" for label in y).encode(),
        ".csv": ("label,t0,t1\n" + "".join(f"{label},1.0,2.0\n" for label in y)).encode(),
        ".ts": ("@data\n" + "".join(f"1.0,2.0:{label}\n" for label in y)).encode(),
        ".arff": ("@data\n" + "".join(f"1.0,2.0,{label}\n" for label in y)).encode(),
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


def written(rng: np.random.Generator) -> None:
    """What is written is read again, or refused."""
    name = choice(rng, ("write_csv", "write_tsv", "write_ts"))
    channels = 1 if name == "write_tsv" else int(rng.integers(1, 3))
    lengths = rng.integers(1, 5, 4) if rng.random() < 0.5 else [3] * 4
    X = [rng.normal(size=(channels, k)) * 10.0 ** rng.integers(-9, 9) for k in lengths]
    labels = [choice(rng, LABELS), "b", choice(rng, LABELS), "b"]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"Own_TRAIN.{name[6:]}"
        try:
            getattr(datasets, name)(file, X, labels)
        except ValueError as error:
            assert "label" in str(error), f"{labels}: {error}"
            return
        found = getattr(datasets, name.replace("write", "read"))(file)
    assert found.y.tolist() == labels, f"{name}: {labels} became {found.y.tolist()}"
    for got, ref in zip(found.X, X, strict=True):
        np.testing.assert_array_equal(np.atleast_2d(got), ref)


def every_suffix(rng: np.random.Generator) -> None:
    """Bytes of one format in a file of another."""
    suffix = choice(rng, (*sorted(READERS), ".csv.gz", ".npy.gz"))
    content = choice(rng, originals()[choice(rng, sorted(originals()))])
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"Two_TRAIN{suffix}"
        file.write_bytes(content)
        try:
            found = datasets.read(file)
        except MalformedFileError:
            return
    assert all_finite(found.X)


def folders(rng: np.random.Generator) -> None:
    """A folder of Parquet files, one of which is damaged."""
    contents = [choice(rng, originals()[".parquet"][:1]) for _ in range(2)]
    contents[int(rng.integers(2))] = mutated(rng, contents[0])
    with tempfile.TemporaryDirectory() as folder:
        for number, content in enumerate(contents):
            (Path(folder) / f"{number}.parquet").write_bytes(content)
        try:
            found = datasets.read(folder)
            values = list(found.X)
        except MalformedFileError:
            return
    assert all_finite(values)
    assert len(found.y) in (0, len(values))


CASES: dict[str, Case] = {
    "readers": readers, "readers again": readers, "every suffix": every_suffix, "cut": cut,
    "line ends": line_ends,
    "labels": labels, "identifiers": identifiers, "folders": folders, "written": written,
}  # fmt: skip
