"""Files of labelled series: what is read, what comes back as written, what is refused."""

import zipfile

import numpy as np
import polars
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from warplearn import SeriesCollection, datasets
from warplearn.datasets import MalformedFileError
from warplearn.datasets.readers import READERS

TS = """#a comment
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
ARFF = """% a comment
@relation two
@attribute relationalAtt relational
@attribute t0 numeric
@end relationalAtt
@attribute target {up,down}

@data
'1,2,3\\n4,5,6',up
"7,8,?\\n9,10,?",down
"""
FLAT_ARFF = (
    b"@attribute t0 numeric\n@attribute t1 numeric\n@attribute target {1, 2}\n@data\n1,2,1\n"
)
GOOD = {
    ".tsv": b"1\t1.5\t2\t3\n-1\t4\t5\tNaN\n",
    ".txt": b"  1.0000000e+00   1.5 2 3\n -1.0000000e+00 4,5 NaN\n",
    ".ts": TS.encode(),
    ".arff": ARFF.encode(),
}


def write(folder, suffix, content):
    file = folder / f"Two_TRAIN{suffix}"
    file.write_bytes(content)
    return file


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("files")


@pytest.mark.parametrize("suffix", [".tsv", ".txt"])
def test_one_channel(suffix, folder):
    found = datasets.read(write(folder, suffix, GOOD[suffix]))
    assert [x.tolist() for x in found.X] == [[1.5, 2, 3], [4, 5]]
    assert found.y.tolist() == [1, -1]
    assert found.name == "Two"
    assert found.source.endswith(f"Two_TRAIN{suffix}")


@pytest.mark.parametrize("suffix", [".ts", ".arff"])
def test_two_channels_of_unequal_length(suffix, folder):
    found = datasets.read(write(folder, suffix, GOOD[suffix]))
    assert [x.tolist() for x in found.X] == [[[1, 2, 3], [4, 5, 6]], [[7, 8], [9, 10]]]
    assert found.y.tolist() == ["up", "down"]


def test_file_without_suffix_is_the_text_of_2011(folder):
    file = folder / "Old_TRAIN"
    file.write_bytes(GOOD[".txt"])
    assert datasets.read(file).X.lengths.tolist() == [3, 2]


def test_targets_are_numbers_and_there_may_be_no_labels(folder):
    head = "@univariate true\n{}\n@data\n1,2,3:{}\n"
    targets = head.format("@targetlabel true", "0.25").encode()
    assert datasets.read(write(folder, ".ts", targets)).y.tolist() == [0.25]
    none = b"@univariate true\n@classLabel false\n@data\n1,2,3\n"
    found = datasets.read(write(folder, ".ts", none))
    assert len(found.y) == 0
    assert len(found.X) == 1


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (["1", "2"], [1, 2]),
        (["1.0000000e+00", "2"], [1, 2]),
        (["-1", "+1"], [-1, 1]),
        (["0.5", "1"], ["0.5", "1"]),
        (["a", "1"], ["a", "1"]),
        (["inf", "1"], ["inf", "1"]),
    ],
)
def test_labels_are_integers_if_all_are_whole(written, read, folder):
    lines = "".join(f"{label}\t0.5\t1.5\n" for label in written)
    assert datasets.read(write(folder, ".tsv", lines.encode())).y.tolist() == read


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("channels", [None, 2])
def test_npz(dtype, channels, folder, rng):
    X = rng.normal(size=(3, 5) if channels is None else (3, channels, 5)).astype(dtype)
    X[1, ..., 3:] = np.nan
    file = folder / "Two.npz"
    np.savez(file, X=X, y=["a", "b", "a"])
    found = datasets.read(file)
    assert found.X.dtype == dtype
    assert found.X.lengths.tolist() == [5, 3, 5]
    np.testing.assert_array_equal(found.X[1], X[1, ..., :3])
    assert found.y.tolist() == ["a", "b", "a"]


def test_parquet(folder):
    file = folder / "Two.parquet"
    flat = {"label": [3, 4], "t0": [1, 2], "t1": [0.5, 1.5], "t2": [2.5, None]}
    polars.DataFrame(flat).write_parquet(file)
    found = datasets.read(file)
    assert [x.tolist() for x in found.X] == [[1, 0.5, 2.5], [2, 1.5]]
    assert found.y.tolist() == [3, 4]
    nested = {"kind": ["a", "b"], "u": [[1.0, 2.0], [3.0]], "v": [[4.0, 5.0], [6.0]]}
    polars.DataFrame(nested).write_parquet(file)
    found = datasets.read_parquet(file, label="kind")
    assert [x.tolist() for x in found.X] == [[[1, 2], [4, 5]], [[3], [6]]]
    assert found.y.tolist() == ["a", "b"]
    assert datasets.read(file).y.tolist() == ["a", "b"]  # the only column without lists
    more = {**nested, "place": [1.0, 2.0]}
    polars.DataFrame(more).write_parquet(file)
    with pytest.raises(MalformedFileError, match="columns hold lists, but 'place' holds none"):
        datasets.read(file, label="kind")
    assert datasets.read(file, label="kind", drop="place").X.n_channels == 2


finite = st.floats(-1e100, 1e100)
names = st.text("abcXYZ019-+.", min_size=1, max_size=6).filter(lambda s: s.lower() != "nan")


@st.composite
def collections(draw, max_channels):
    channels = draw(st.integers(1, max_channels))
    lengths = draw(st.lists(st.integers(1, 6), min_size=1, max_size=5))
    series = [
        np.array(draw(st.lists(finite, min_size=channels * k, max_size=channels * k)))
        for k in lengths
    ]
    X = [x.reshape(channels, -1) for x in series]
    kind = draw(st.sampled_from(["integers", "names"]))
    labels = st.integers(-(2**53) + 1, 2**53 - 1) if kind == "integers" else names
    y = draw(st.lists(labels, min_size=len(X), max_size=len(X)))
    return X, np.array(y)


def check_same(found, X, y):
    assert len(found.X) == len(X)
    for ref, got in zip(X, found.X, strict=True):
        np.testing.assert_array_equal(np.atleast_2d(got), ref)
    try:
        whole = y.dtype.kind == "i" or np.all(np.abs(y.astype(float)) < 2**53)
        whole = whole and np.array_equal(y.astype(float), y.astype(float).round())
    except ValueError:
        whole = False
    expected = y.astype(float).astype(np.int64) if whole else y.astype(str)
    np.testing.assert_array_equal(found.y, expected)


@given(collections(max_channels=3))
def test_ts_comes_back_as_it_was(tmp_path_factory, case):
    file = tmp_path_factory.getbasetemp() / "Round_TRAIN.ts"
    assert datasets.write_ts(file, *case) == file
    check_same(datasets.read(file), *case)


@given(collections(max_channels=1))
def test_tsv_comes_back_as_it_was(tmp_path_factory, case):
    file = tmp_path_factory.getbasetemp() / "Round_TRAIN.tsv"
    datasets.write_tsv(file, *case)
    check_same(datasets.read(file), *case)


def test_targets_come_back(folder):
    file = datasets.write_ts(folder / "Target.ts", [[1.0, 2.0], [3.0]], [0.125, 1.0])
    assert datasets.read(file).y.tolist() == [0.125, 1.0]


@pytest.mark.parametrize("label", ["a b", "", "a:b", "?", " a", "a\n"])
@pytest.mark.parametrize("write_file", [datasets.write_ts, datasets.write_tsv])
def test_labels_that_could_not_be_read_are_not_written(label, write_file, folder):
    with pytest.raises(ValueError, match="y must hold labels without spaces"):
        write_file(folder / "never", [[1.0]], [label])
    assert not (folder / "never").exists()


def test_writers_check_what_they_are_given(folder):
    with pytest.raises(ValueError, match="y must hold 1 labels, got shape \\(2,\\)"):
        datasets.write_ts(folder / "never.ts", [[1.0]], [1, 2])
    with pytest.raises(ValueError, match="1 channel in a .tsv, got 2"):
        datasets.write_tsv(folder / "never.tsv", np.zeros((1, 2, 3)), [1])


@pytest.mark.parametrize(
    ("suffix", "content", "line", "problem"),
    [
        (".tsv", b"1\t2\n1\tx\t3\n", 2, "'x'"),
        (".tsv", b"1\t2\n1\t1_0\n", 2, "'1_0'"),
        (".tsv", b"1\t2\t3\n1\t2\tNaN\t3\n", 2, "missing at position 1"),
        (".tsv", b"1\t2\n1\t?\t3\n", 2, "missing at position 0"),
        (".tsv", b"1\t2\n1\tinf\n", 2, "infinite at position 0"),
        (".tsv", b"1\t2\n\n1\tNaN\tNaN\n", 3, "empty"),
        (".tsv", b"1\n", 1, "empty"),
        (".tsv", b"1\t2\nNaN\t2\n", 2, "label is missing"),
        (".tsv", b"1\t2\nnull\t2\n", 2, "label is missing"),
        (".tsv", b"1\t2\n1\t\xff\n", 2, "not UTF-8"),
        (".tsv", b"", None, "no series"),
        (".txt", b"1 2\n1 x\n", 2, "'x'"),
        (".ts", b"@univariate true\n", None, "no line @data"),
        (".ts", b"1,2,3:a\n", 1, "expected a line with @"),
        (".ts", b"@timestamps true\n@data\n0,1:a\n", 3, r"expected \(time,value\)"),
        (".ts", b"@timestamps true\n@data\n(0,1):(1,1):a\n", 3, "differ in their time stamps"),
        (".ts", b"@timestamps true\n@data\n(0,1),(0,2):a\n", 3, "two values at time 0"),
        (".ts", b"@timestamps true\n@data\n(x,1):a\n", 3, "must hold numbers or dates"),
        (".ts", b"@univariate maybe\n@data\n1:a\n", 2, "@univariate must be true or false"),
        (".ts", b"@dimensions -1\n@data\n1:a\n", 2, "@dimensions must be a positive integer"),
        (".ts", b"@dimensions 2\n@data\n1:2:a\n1:a\n", 4, "says 2 channels, found 1"),
        (".ts", b"@univariate true\n@data\n1:2:a\n", 3, "says 1 channels, found 2"),
        (".ts", b"@equalLength true\n@seriesLength 3\n@data\n1,2:a\n", 4, "length 3, found 2"),
        (".ts", b"@classLabel true a b\n@data\n1,2:c\n", 3, "label 'c' is not one of"),
        (".ts", b"@data\n1,2:3:a\n", 2, "channels differ in length"),
        (".ts", b"@data\n1,2:a\n1,2:3,4:a\n", 3, "2 channels, but 1 in the first"),
        (".ts", b"@data\n1,2\n", 2, "a colon and a label"),
        (".ts", b"@data\n1,?,2:a\n", 2, "missing at position 1"),
        (".ts", b"@dimensions 2\n@data\n1,2:3,NaN:a\n", 3, "missing at position 1, channel 1"),
        (".ts", b"@targetlabel true\n@data\n1,2:a\n", 3, "target 'a' is no finite number"),
        (".arff", b"@relation x\n@nothing\n", 2, "expected a keyword"),
        (".arff", b"@relation x\n", None, "no line @data"),
        (".arff", b"@data\n1\n", 2, "a comma and a label"),
        (".arff", b"@data\n'1,2,a\n", 2, "not closed"),
        (".arff", FLAT_ARFF + b"3,2", 6, "2 values, but 3 attributes"),
        (".arff", FLAT_ARFF + b"3,2,9\n", 6, "label '9' is not one of those in the header: 1, 2"),
        (".ts", b"@classLabel false\n@data\n1,2\n3", 4, "the file seems to be cut off"),
    ],
)
def test_what_is_wrong_and_where(suffix, content, line, problem, folder):
    file = write(folder, suffix, content)
    with pytest.raises(MalformedFileError, match=problem) as caught:
        datasets.read(file)
    assert caught.value.file == file
    assert caught.value.line == line
    assert str(caught.value).startswith(f"{file}, line {line}: " if line else f"{file}: ")


def test_files_that_are_not_there_or_not_known(folder):
    with pytest.raises(ValueError, match="must end in one of .tsv, .ts, .arff"):
        datasets.read(folder / "a.xlsx")
    for suffix in READERS:
        with pytest.raises(FileNotFoundError):
            datasets.read(folder / f"missing{suffix}")


def reads_or_refuses(folder, suffix, content):
    file = folder / f"fuzz{suffix}"
    file.write_bytes(content)
    try:
        found = datasets.read(file)
    except MalformedFileError as error:
        place = str(error)
    else:
        place = found.source
        check_sound(found)
    assert str(file) in place


def check_sound(found):
    assert isinstance(found.X, SeriesCollection)
    assert np.isfinite(found.X.values).all()
    assert len(found.y) in (0, len(found.X))


@pytest.fixture(scope="module")
def binary(folder):
    """A small file of each format that is not text."""
    np.savez_compressed(folder / "good.npz", X=np.arange(12.0).reshape(2, 6), y=[1, 2])
    table = polars.DataFrame({"label": [1, 2], "x": [[1.0, 2.0], [3.0]]})
    table.write_parquet(folder / "good.parquet")
    return {suffix: (folder / f"good{suffix}").read_bytes() for suffix in (".npz", ".parquet")}


@given(suffix=st.sampled_from(sorted(READERS)), content=st.binary(max_size=200))
def test_any_bytes(suffix, content, folder):
    reads_or_refuses(folder, suffix, content)


@given(
    suffix=st.sampled_from(sorted(GOOD)),
    content=st.text("@data:,\t\n 01.eE+-?NaN'\"\\#%classLabel true", max_size=120),
)
@example(suffix=".ts", content="@data\n:")
@example(suffix=".ts", content="@\n@data\n1:1")
@example(suffix=".arff", content="@data\n',1")
@example(suffix=".txt", content=",")
def test_any_text(suffix, content, folder):
    reads_or_refuses(folder, suffix, content.encode())


@st.composite
def damaged(draw, contents):
    suffix = draw(st.sampled_from(sorted(contents)))
    content = bytearray(contents[suffix])
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(content)))
        cut = draw(st.integers(0, 3))
        content[at : at + cut] = draw(st.binary(max_size=3))
    return suffix, bytes(content)


@given(damaged(GOOD))
def test_damaged_text(folder, case):
    reads_or_refuses(folder, *case)


@given(data=st.data())
def test_damaged_archives_and_tables(folder, binary, data):
    reads_or_refuses(folder, *data.draw(damaged(binary)))


@pytest.mark.parametrize(
    ("arrays", "problem"),
    [
        ({"Z": np.zeros(3)}, "not an archive with X"),
        ({"X": np.zeros(3)}, "X must be numbers"),
        ({"X": np.array([["a"]])}, "X must be numbers"),
        ({"X": np.array([[object()]])}, "not an archive with X"),
        ({"X": np.zeros((0, 3))}, "X must be numbers"),
        ({"X": np.zeros((2, 3)), "y": np.zeros(3)}, "y must be 2 labels"),
        ({"X": np.array([[1.0, np.nan, 2.0]])}, "case 0: a value is missing at position 1"),
        ({"X": np.array([[np.nan, np.nan]])}, "case 0: the series is empty"),
    ],
)
def test_arrays_that_are_no_series(arrays, problem, folder):
    np.savez(folder / "wrong.npz", **arrays)
    with pytest.raises(MalformedFileError, match=problem):
        datasets.read(folder / "wrong.npz")


def test_an_array_that_does_not_fit_into_memory(folder):
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000, 1000000000), }".ljust(
        117
    )
    with zipfile.ZipFile(folder / "large.npz", "w") as archive:
        archive.writestr("X.npy", b"\x93NUMPY\x01\x00v\x00" + header + b"\n")
    with pytest.raises(MalformedFileError, match="not enough memory for its arrays"):
        datasets.read(folder / "large.npz")


# --- What is missing or cut off


@pytest.mark.parametrize("missing", [None, "", "?", "nan", " ", "None"])
def test_a_label_that_is_missing_in_a_table(missing, folder):
    file = folder / "Two.parquet"
    table = {"label": ["a", missing, "b"], "t0": [1.0, 2.0, 3.0], "t1": [1.0, 2.0, 4.0]}
    polars.DataFrame(table).write_parquet(file)
    with pytest.raises(MalformedFileError, match="line 2: the label .*is missing"):
        datasets.read(file)


@pytest.mark.parametrize("missing", ["", "?", "NaN", "None", "n/a", np.nan, b"?"])
def test_a_label_that_is_missing_among_arrays(missing, folder):
    file = folder / "Two.npz"
    others = {float: 1.0, bytes: b"a"}.get(type(missing), "a")
    np.savez(file, X=np.ones((3, 4)), y=np.array([others, others, missing]))
    with pytest.raises(MalformedFileError, match="case 2: the label is missing"):
        datasets.read(file)


def test_a_label_that_is_infinite(folder):
    np.savez(folder / "Two.npz", X=np.ones((2, 4)), y=[1.0, np.inf])
    with pytest.raises(MalformedFileError, match="case 1: the label is infinite"):
        datasets.read(folder / "Two.npz")


def test_labels_with_a_byte_0_are_refused(folder):
    with pytest.raises(MalformedFileError, match="line 2: a binary file, not text"):
        datasets.read(write(folder, ".tsv", b"1\t2\n1\0\t3\n"))


def test_labels_of_bytes_are_text(folder):
    file = folder / "Two.npz"
    np.savez(file, X=np.ones((2, 4)), y=np.array(["é".encode(), b"b"]))
    assert datasets.read(file).y.tolist() == ["é", "b"]
    np.savez(file, X=np.ones((2, 4)), y=np.array([b"\xff", b"b"]))
    with pytest.raises(MalformedFileError, match="y is not UTF-8 text"):
        datasets.read(file)
    np.savez(file, X=np.ones((2, 4)), y=np.array([0x110000, 97], "<u4").view("<U1"))
    with pytest.raises(MalformedFileError, match="y holds damaged text"):
        datasets.read(file)


@pytest.mark.parametrize("suffix", GOOD)
def test_line_ends_of_carriage_returns_are_refused(suffix, folder):
    good = datasets.read(write(folder, suffix, GOOD[suffix].replace(b"\n", b"\r\n")))
    assert len(good.X) == 2
    with pytest.raises(MalformedFileError, match="line 1: a carriage return inside a line"):
        datasets.read(write(folder, suffix, GOOD[suffix].replace(b"\n", b"\r")))


@pytest.mark.parametrize("end", [b"\t5\t", b"\t5", b"\t", b""])
def test_a_file_that_is_cut_in_the_middle_of_a_row(end, folder):
    rows = b"1\t1.5\t2\t3\n-1\t4" + end
    with pytest.raises(MalformedFileError, match="line 2: .*(cut off|missing|empty)"):
        datasets.read(write(folder, ".tsv", rows))
    assert datasets.read(write(folder, ".tsv", b"1\t1.5\t2\t3\n-1\t4\n")).X.lengths.tolist() == [
        3,
        1,
    ]
    assert len(datasets.read(write(folder, ".tsv", b"1\t1.5\t2\n-1\t4\t5")).X) == 2


def test_labels_that_only_python_takes_for_numbers_are_text(folder):
    lines = "1_0\t0.5\n10\t1.5\n\N{FULLWIDTH DIGIT ONE}\t2.5\n"
    found = datasets.read(write(folder, ".tsv", lines.encode()))
    assert found.y.tolist() == ["1_0", "10", "\N{FULLWIDTH DIGIT ONE}"]
