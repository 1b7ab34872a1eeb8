"""Tables of every shape give the series that are in them; what looks like something else is refused."""

import gzip

import numpy as np
import pandas as pd
import polars
import pytest

from warplearn import SeriesCollection, datasets
from warplearn.datasets import MalformedFileError, delimited

N, LENGTH = 12, 8
LABELS = np.array(["up", "down", "up"] * 4)


@pytest.fixture(name="X")
def values():
    return np.random.default_rng(0).normal(size=(N, LENGTH)).round(3)


@pytest.fixture
def wide(X):
    frame = pd.DataFrame(X, columns=[f"t{i}" for i in range(LENGTH)])
    frame.insert(0, "class", LABELS)
    return frame


@pytest.fixture
def long(X):
    return pd.DataFrame(
        {
            "id": np.repeat(np.arange(N) + 100, LENGTH),
            "time": np.tile(np.arange(LENGTH) * 0.5, N),
            "value": X.ravel(),
            "class": np.repeat(LABELS, LENGTH),
        }
    )


def check(data, X, labels=LABELS):
    assert data.X.values.shape == (*np.shape(X), 1)
    np.testing.assert_array_equal(data.X.values[..., 0], X)
    np.testing.assert_array_equal(data.y, labels)


# Wide.


@pytest.mark.parametrize("delimiter", [",", ";", "\t", " "])
@pytest.mark.parametrize("header", [True, False])
@pytest.mark.parametrize("name", ["my.csv", "my.csv.gz", "my.tsv", "my.txt"])
def test_wide_text(wide, X, tmp_path, delimiter, header, name):
    if name == "my.tsv" and (delimiter != "\t" or not header):
        pytest.skip("without header, .tsv is the archive's format")
    if name == "my.txt" and not header:
        pytest.skip("without header, .txt is the archive's format")
    wide.to_csv(tmp_path / name, index=False, sep=delimiter, header=header)
    data = datasets.read(tmp_path / name)
    check(data, X)
    column = "class" if header else "0"
    start = f"12 series of length 8, label column '{column}', 2 classes"
    assert data.describe().startswith(start)
    assert (delimiter == ",") == (data.describe() == start)
    check(datasets.read_csv(tmp_path / name, delimiter=delimiter, header=header, label=column), X)


def test_whole_labels_are_integers_and_may_be_last(X, tmp_path):
    frame = pd.DataFrame(X)
    frame["target"] = np.arange(N) % 3
    frame.to_csv(tmp_path / "a.csv", index=False)  # columns are named 0, 1, ..., target
    check(datasets.read(tmp_path / "a.csv"), X, np.arange(N) % 3)
    frame.to_csv(tmp_path / "b.csv", index=False, header=False)
    check(datasets.read(tmp_path / "b.csv"), X, np.arange(N) % 3)
    check(datasets.read(tmp_path / "b.csv", label="-1"), X, np.arange(N) % 3)


def test_header_of_numbers(X, tmp_path):
    pd.DataFrame(X).to_csv(tmp_path / "a.csv", index=False)
    data = datasets.read(tmp_path / "a.csv")
    assert (len(data.X), data.X.max_length, len(data.y)) == (N, LENGTH, 0)
    assert "no labels" in data.describe()


def test_row_numbers_and_identifiers_are_no_time_steps(wide, X, tmp_path):
    wide.to_csv(tmp_path / "a.csv")  # pandas writes its index
    data = datasets.read(tmp_path / "a.csv")
    check(data, X)
    assert "column '' holds row numbers and is not used" in data.describe()
    wide.insert(0, "id", [f"m{i}" for i in range(N)])
    wide.to_csv(tmp_path / "b.csv", index=False)
    data = datasets.read(tmp_path / "b.csv")
    check(data, X)
    assert "column 'id' identifies the series and is not used" in data.describe()
    numbered = pd.DataFrame(X)
    numbered.insert(0, "machine", np.arange(N))
    with pytest.raises(ValueError, match="'machine' counts the rows.*looks like an identifier"):
        datasets.from_frame(numbered)
    check(datasets.from_frame(numbered, drop="machine"), X, [])


def test_time_steps_are_sorted_by_number(wide, X):
    shuffled = wide[["class", *sorted(wide.columns[1:], reverse=True)]]
    data = datasets.from_frame(shuffled)
    check(data, X)
    assert "in the order of their numbers" in data.describe()


def test_channels_side_by_side(X, tmp_path):
    columns = {f"{c}_{i}": X[:, i] * (1 + (c == "y")) for c in "xy" for i in range(LENGTH)}
    data = datasets.from_frame({"label": LABELS, **columns})
    assert data.X.n_channels == 2
    assert "2 channels (x, y)" in data.describe()
    np.testing.assert_array_equal(data.X.values[..., 1], 2 * X)


def test_ragged_rows_and_padding(tmp_path):
    (tmp_path / "a.csv").write_text("a,1.5,2,3\nb,4,5.5\na,6.5,,\nb,1,2,NaN\n")
    data = datasets.read(tmp_path / "a.csv")
    assert [x.tolist() for x in data.X] == [[1.5, 2, 3], [4, 5.5], [6.5], [1, 2]]
    assert "3 series end in missing values, taken as padding" in data.describe()


def test_missing_values(tmp_path):
    (tmp_path / "a.csv").write_text("class,t0,t1,t2\na,1,,3\nb,1,2,3\na,0,1,2\nb,1,0,3\n")
    with pytest.raises(MalformedFileError, match="line 2 has a missing value at time 1"):
        datasets.read(tmp_path / "a.csv")
    data = datasets.read(tmp_path / "a.csv", missing="interpolate")
    assert data.X[0].tolist() == [1, 2, 3]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", ", "])
def test_labels_with_blanks(tmp_path, delimiter):
    rows = [["machine", "second", "current", "state"]]
    rows += [[f"m{i}", f"{t}", f"{t / 3:.3f}", f"state {i}"] for i in range(3) for t in range(9)]
    (tmp_path / "a.csv").write_text("\n".join(delimiter.join(row) for row in rows))
    data = datasets.read(tmp_path / "a.csv", id="machine", time="second", label="state")
    assert data.y.tolist() == ["state 0", "state 1", "state 2"]
    assert data.X.max_length == 9
    with pytest.raises(
        MalformedFileError, match="looks like a long table.*--id machine --time second"
    ):
        datasets.read(tmp_path / "a.csv")


def test_decimal_commas(tmp_path):
    (tmp_path / "a.csv").write_text("class;t0;t1\na;1,5;2\nb;0,25;-1,5e3\n")
    data = datasets.read(tmp_path / "a.csv")
    assert data.X.values[..., 0].tolist() == [[1.5, 2], [0.25, -1500]]
    assert "decimal commas" in data.describe()


def test_text_further_down_is_read_as_text(tmp_path, monkeypatch):
    monkeypatch.setattr(delimited, "_BLOCK", 2)
    rows = [f"{label},{i / 7},{i / 3}" for i, label in enumerate([1, 2, 1, 2, "x", "x"])]
    (tmp_path / "a.csv").write_text("label,t0,t1\n" + "\n".join(rows))
    assert datasets.read(tmp_path / "a.csv").y.tolist() == ["1", "2", "1", "2", "x", "x"]


# Long.


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "parquet", "pandas", "polars", "dict"])
def test_long(long, X, tmp_path, kind):
    mixed = long.sample(frac=1, random_state=0).sort_values("id", kind="stable")
    if kind in ("pandas", "polars", "dict"):
        frames = {
            "pandas": mixed,
            "polars": polars.DataFrame(mixed.to_dict("list")),
            "dict": mixed.to_dict("list"),
        }
        data = datasets.from_frame(frames[kind])
    else:
        file = tmp_path / f"my.{kind}"
        if kind == "parquet":
            polars.DataFrame(mixed.to_dict("list")).write_parquet(file)
        else:
            mixed.to_csv(file, index=False)
        data = datasets.read(file)
    check(data, X)
    assert data.describe() == (
        "12 series of length 8, id column 'id', time column 'time', label column 'class', "
        "2 classes, the rows of 12 series were sorted by time"
    )


def test_long_with_channels_and_other_names(long, X):
    frame = long.rename(columns={"id": "machine", "time": "second", "class": "state"})
    frame["other"] = -frame["value"]
    data = datasets.from_frame(frame, id="machine", time="second", label="state")
    assert "2 channels (value, other)" in data.describe()
    np.testing.assert_array_equal(data.X.values[..., 1], -X)
    check(datasets.from_frame(frame, id="machine", time="second", label="state", value="value"), X)
    check(datasets.from_frame(frame, id="machine", label="state", drop=["second", "other"]), X)


def test_long_without_header(long, X, tmp_path):
    long.to_csv(tmp_path / "a.csv", index=False, header=False)
    with pytest.raises(MalformedFileError, match=r"looks like a long table.*--id 0 --time 1"):
        datasets.read(tmp_path / "a.csv")
    check(datasets.read(tmp_path / "a.csv", id="0", time="1"), X)


def test_from_long(long, X):
    collection = SeriesCollection.from_long(long, id="id", time="time", value="value")
    np.testing.assert_array_equal(collection.values[..., 0], X)
    single = SeriesCollection.from_long(
        polars.DataFrame(long.to_dict("list")), id="id", value=["value", "time"]
    )
    assert single.n_channels == 2
    for wrong, message in (
        ({"id": "nope"}, "id must be a column of id, time, value, class, got 'nope'"),
        ({"value": "class"}, "value must name columns of numbers, 'class' is not"),
        ({"value": []}, "value must name at least one column"),
        ({"resample": "cubic"}, "resample must be one of .*'linear'"),
        ({"missing": "drop"}, "missing must be one of .*, got 'drop'"),
    ):
        with pytest.raises(ValueError, match=message):
            SeriesCollection.from_long(
                long, **{"id": "id", "time": "time", "value": "value", **wrong}
            )


def test_one_series_in_time(tmp_path):
    (tmp_path / "a.csv").write_text("time,u,v\n" + "".join(f"{t},{t / 3},1.5\n" for t in range(30)))
    data = datasets.read(tmp_path / "a.csv")
    assert (len(data.X), data.X.n_channels, data.X.max_length) == (1, 2, 30)


# Time stamps.


def test_uneven_steps_and_gaps_are_named_and_resampled(tmp_path):
    frame = {"id": ["a"] * 5 + ["b"] * 4, "t": [0, 1, 2, 5, 6, 0, 1.5, 2, 3],
             "v": [0.0, 1, 2, 5, 6, 0, 3, 4, 6], "class": ["x"] * 5 + ["y"] * 4}  # fmt: skip
    message = (
        r"the usual step is 1, but series 'a' has 3 between 2 and 5; 1 gaps and 2 other uneven "
        r"steps in 2 of 2 series.*--resample"
    )
    with pytest.raises(ValueError, match=message):
        datasets.from_frame(frame)
    data = datasets.from_frame(frame, resample="linear")
    assert [x.tolist() for x in data.X] == [[0, 1, 2, 3, 4, 5, 6], [0, 2, 4, 6]]
    assert "resampled at steps of 1" in data.describe()
    held = datasets.from_frame(frame, resample="previous", step=0.5)
    assert held.X[1].tolist() == [0, 0, 0, 3, 4, 4, 6]
    near = datasets.from_frame(frame, resample="nearest", step=1)
    assert near.X[0].tolist() == [0, 1, 2, 2, 5, 5, 6]
    with pytest.raises(ValueError, match="step=2 needs resample"):
        datasets.from_frame(frame, step=2)
    far = {**frame, "t": [0, 1, 2, 3, 1e9, 0, 1, 2, 3]}
    with pytest.raises(
        ValueError, match="series 'a' runs from 0 to 1e.09.*would become 1000000001"
    ):
        datasets.from_frame(far, resample="linear")


def test_dates(tmp_path):
    rows = [
        f"{s},2026-03-{d:02d}T00:00:00Z,{d * k}.5,{'ab'[k]}"
        for k, s in enumerate("pq")
        for d in range(1, 6)
    ]
    (tmp_path / "a.csv").write_text("series,timestamp,load,label\n" + "\n".join(rows))
    data = datasets.read(tmp_path / "a.csv")
    assert data.X.values[..., 0].tolist() == [[0.5] * 5, [1.5, 2.5, 3.5, 4.5, 5.5]]
    (tmp_path / "b.csv").write_text(
        "\n".join(["series,timestamp,load,label", *rows[:2], *rows[3:]])
    )
    with pytest.raises(
        MalformedFileError, match="usual step is 86400.*'p' has 172800 between 2026"
    ):
        datasets.read(tmp_path / "b.csv")
    (tmp_path / "c.csv").write_text("id,date,v\na,31/03/2026,1\na,01/04/2026,2\n")
    with pytest.raises(
        MalformedFileError, match="numbers or dates such as 2026-03-31.*'31/03/2026'"
    ):
        datasets.read(tmp_path / "c.csv")


def test_time_stamps_in_ts(tmp_path):
    file = tmp_path / "My_TRAIN.ts"
    head = "@problemName My\n@timeStamps true\n@univariate true\n@classLabel true a b\n@data\n"
    file.write_text(head + "(0,1.5),(1,2),(2,3):a\n(0,1),(2,5):b\n")
    with pytest.raises(MalformedFileError, match="line 4? ?|the time stamps are uneven"):
        datasets.read(file)
    data = datasets.read(file, resample="linear")
    assert [x.tolist() for x in data.X] == [[1.5, 2, 3], [1, 3, 5]]
    assert data.y.tolist() == ["a", "b"]
    dated = head + "(2026-01-01 00:00:00,1),(2026-01-01 00:01:00,2):a\n(2026-01-01 00:00:00,3):b\n"
    file.write_text(dated)
    assert [x.tolist() for x in datasets.read(file).X] == [[1, 2], [3]]


def test_missing_values_in_long_tables(long):
    long.loc[3, "value"] = np.nan
    long.loc[[LENGTH - 1 + LENGTH], "value"] = np.nan
    with pytest.raises(ValueError, match="series '100' has a missing value at time 1.5"):
        datasets.from_frame(long)
    data = datasets.from_frame(long, missing="interpolate")
    assert data.X[0][3] == pytest.approx((data.X[0][2] + data.X[0][4]) / 2)
    assert data.X.lengths.tolist() == [LENGTH, LENGTH - 1, *[LENGTH] * (N - 2)]
    assert "1 series end in missing values" in data.describe()


# What is refused.


def refused(frame, message, **options):
    with pytest.raises(ValueError, match=message):
        datasets.from_frame(frame, **options)


def test_suspicious_tables_are_refused(long, wide):
    many = pd.DataFrame({"a": np.linspace(0, 1, 7500), "b": 0.5, "c": 1.5})
    refused(many, r"7500 series of length 3\? It looks like a long table")
    assert len(datasets.from_frame(many, value=["a", "b", "c"]).X) == 7500
    refused(
        long.rename(columns={"id": "machine", "time": "second"}).drop(columns="class"),
        "looks like a long table: column 'machine' has 12 distinct values.*--id machine --time second",
    )
    refused(wide.assign(site="north"), "column 'site' holds text, such as 'north', and the labels")
    refused(wide.assign(label=1), "columns 'class' and 'label' are both named like labels")
    refused(
        wide.rename(columns={"class": "k"}).assign(k=np.arange(N) % 2),
        "'k' holds a few whole numbers and looks like labels",
    )
    refused(
        long.assign(age=np.repeat(np.arange(N), LENGTH)),
        "'age' does not change within a series.*an attribute",
    )
    refused(
        long.drop(columns="class").assign(group=np.repeat(np.arange(N) % 2, LENGTH)),
        "'group' does not change.*looks like labels",
    )
    refused(long.assign(time=0), "series '100' has two values at time 0")
    changing = long.copy()
    changing.loc[2, "class"] = "other"
    refused(
        changing, "the label of series '100' is 'other', but 'up' in line 1; a series has one label"
    )
    refused(long.drop(columns="id"), "has the same time more than once.*--id")
    refused(wide.assign(**{"class": [*LABELS[:-1], None]}), "label in column 'class' is missing")
    refused(wide, "label must name columns of 'class', 't0'.*got 'kind'", label="kind")
    refused(wide, "value must name columns", value="z*")
    refused(wide, "there is no column of values", drop="t*")
    refused(
        wide.assign(time=0.0, id=range(N)),
        "a row seems to be a series, but there is a column 'time'",
    )
    refused({"a": [1, 2], "b": [1]}, "must have the same length")
    many = {f"t{i}": np.arange(6) * 0.1 + i for i in range(20)}
    subjects = {"subject": [1, 1, 1, 2, 2, 2], "class": ["a", "b"] * 3, **many}
    refused(subjects, "'subject' is named like an identifier and repeats, but there is no time")
    assert len(datasets.from_frame(subjects, drop="subject").X) == 6
    assert datasets.from_frame(subjects, id="subject", drop="class").X.n_channels == 20


def test_broken_files(tmp_path):
    for content, message in (
        (b"", "the file is empty"),
        (b"class,t0\n", "there is no column of values|no row below"),
        (b"class,t0,t1\na,1,2\nb,1,2,3\n", "line 3: 4 fields, but the header names 3 columns"),
        (b"class,t0,t1\na,1,2\nb,1,x\na,1,2\n", "line 3, column 't1': expected a number, got 'x'"),
        (b"a,\xff\n", "line 1: not UTF-8"),
        (b"PAR1\0\0\n", "a binary file"),
        (b"a,a,b\n1,2,3\n", "two columns are named 'a'"),
    ):  # fmt: skip
        (tmp_path / "a.csv").write_bytes(content)
        with pytest.raises(MalformedFileError, match=message):
            datasets.read(tmp_path / "a.csv")
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b"class,t0\na,1\n" * 99)[:40])
    with pytest.raises(MalformedFileError, match="damaged"):
        datasets.read(tmp_path / "a.csv.gz")
    with pytest.raises(FileNotFoundError):
        datasets.read(tmp_path / "none.csv")
    with pytest.raises(ValueError, match="delimiter must be one character"):
        datasets.read_csv(tmp_path / "a.csv", delimiter="xx")
    np.savez(tmp_path / "a.npz", X=np.ones((2, 3)))
    with pytest.raises(ValueError, match="label= is for tables"):
        datasets.read(tmp_path / "a.npz", label="y")


# Data sets.


def test_identifiers_are_there_and_exact(tmp_path):
    """Seven digits are not rounded, and what is missing is no series of its own."""
    file = tmp_path / "long.csv"
    rows = [f"{id},{t},{t + 0.5}" for id in ("1000001", "1000002") for t in range(2)]
    file.write_text("\n".join(["id,time,v", *rows, ""]))
    assert [x.tolist() for x in datasets.read_csv(file).X] == [[0.5, 1.5]] * 2
    file.write_text("id,time,v\n1,0,5\n1,1,6\n,0,5\n,1,6\n")
    with pytest.raises(MalformedFileError, match="line 4: the identifier in column 'id' is miss"):
        datasets.read_csv(file)
    file.write_text("id,time,v\n9007199254740993,0,5\n9007199254740992,1,6\n9007199254740992,2,1\n")
    with pytest.raises(MalformedFileError, match="beyond 2"):
        datasets.read_csv(file)
    for ids in ([1.0, 1.0, np.nan], ["a", "a", None]):
        frame = {"id": np.array(ids), "v": np.ones(3)}
        with pytest.raises(ValueError, match="column 'id' has no identifier at row 2"):
            SeriesCollection.from_long(frame, id="id", value="v")


@pytest.mark.parametrize(
    "text",
    [
        "label,t0,t1,t2\na,1.5,2,3\nb,4,5.5",
        "a,1.5,2,3\nb,4,5.5,1\na,7",
        "id,time,v\n1,0,5\n1,1,6\n1,2",
    ],
)
def test_a_table_that_is_cut_off(text, tmp_path):
    (tmp_path / "cut.csv").write_text(text)
    with pytest.raises(MalformedFileError, match="the file seems to be cut off"):
        datasets.read_csv(tmp_path / "cut.csv")


def test_data_sets_unpack():
    X, y = datasets.load("WarpedBumps", "train")
    again = datasets.load("WarpedBumps", "train", return_X_y=True)
    assert isinstance(again, tuple)
    np.testing.assert_array_equal(X.values, again[0].values)
    np.testing.assert_array_equal(y, again[1])


def test_info_of_a_file(long, tmp_path):
    polars.DataFrame(long.to_dict("list")).write_parquet(tmp_path / "my.parquet")
    found = datasets.info(tmp_path / "my.parquet")
    assert (found.name, found.n_train, found.n_test, found.lengths) == ("my", N, None, (8, 8))
    assert found.classes == ("down", "up")
    assert found.description.startswith("12 series of length 8, id column 'id'")
    with pytest.raises(FileNotFoundError, match=r"no file 'no\.csv'"):
        datasets.info("no.csv")


@pytest.mark.parametrize("channels", [1, 3])
def test_tables_are_written_and_read_again(channels, tmp_path):
    rng = np.random.default_rng(channels)
    X = [rng.normal(size=(channels, length)) for length in (12, 5, 11)]
    file = datasets.write_csv(tmp_path / "a.csv", X, ["a", "b, c", "a"])
    again = datasets.read(file)
    assert again.y.tolist() == ["a", "b, c", "a"]
    for x, found in zip(X, again.X, strict=True):
        np.testing.assert_array_equal(np.atleast_2d(found), x)
