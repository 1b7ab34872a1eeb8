"""Every form of input comes out the same, nothing is copied in vain, all else is refused."""

import pickle
import re
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from warplearn.series.collection import SeriesCollection, common_dtype, single
from warplearn.series.symbols import Alphabet

F32, F64 = np.dtype(np.float32), np.dtype(np.float64)


def rng():
    return np.random.default_rng(0)


@pytest.fixture
def ragged():
    """Three series of two channels, lengths 4, 2 and 3, as aeon lists them."""
    return [rng().normal(size=(2, length)) for length in (4, 2, 3)]


def assert_same(got, expected):
    assert got.dtype == expected.dtype
    np.testing.assert_array_equal(got.lengths, expected.lengths)
    np.testing.assert_array_equal(got.values, expected.values)


@st.composite
def aeon_lists(draw):
    channels = draw(st.integers(1, 3))
    dtype = draw(st.sampled_from([np.float32, np.float64]))
    lengths = draw(st.lists(st.integers(1, 6), min_size=1, max_size=5))
    numbers = st.floats(-1e6, 1e6, width=32)
    return [draw(hnp.arrays(dtype, (channels, length), elements=numbers)) for length in lengths]


# --- Forms


def test_2d_array():
    X = rng().normal(size=(5, 7))
    got = SeriesCollection.of(X)
    assert got.values.shape == (5, 7, 1)
    np.testing.assert_array_equal(got.values[:, :, 0], X)
    assert got.lengths.dtype == np.int64
    assert got.lengths.tolist() == [7] * 5


@pytest.mark.parametrize("layout", [None, "aeon"])
def test_3d_array_has_channels_before_time(layout):
    X = rng().normal(size=(5, 2, 7))
    got = SeriesCollection.of(X, layout=layout)
    assert got.values.shape == (5, 7, 2)
    assert got.values[3, 6, 1] == X[3, 1, 6]


def test_tslearn_array_has_channels_last():
    X = rng().normal(size=(5, 7, 2))
    got = SeriesCollection.of(X, layout="tslearn")
    assert got.values.shape == (5, 7, 2)
    np.testing.assert_array_equal(got.values, X)


def test_list_is_padded_with_zeros(ragged):
    got = SeriesCollection.of(ragged)
    assert got.values.shape == (3, 4, 2)
    assert got.lengths.tolist() == [4, 2, 3]
    assert not got.values[1, 2:].any()
    assert not got.values[2, 3:].any()
    np.testing.assert_array_equal(got.values[1, :2], ragged[1].T)


@pytest.mark.parametrize(
    "X",
    [
        [[1, 2, 3], [4, 5]],
        ([1, 2, 3], (4, 5)),
        [np.array([1, 2, 3]), [4.0, 5.0]],
        [[[1, 2, 3]], [4, 5]],
        [range(1, 4), range(4, 6)],
    ],
    ids=["lists", "tuples", "mixed", "one channel", "ranges"],
)
def test_one_channel_lists(X):
    got = SeriesCollection.of(X)
    assert got.values[:, :, 0].tolist() == [[1, 2, 3], [4, 5, 0]]
    assert got.lengths.tolist() == [3, 2]


@given(aeon_lists())
def test_list_round_trip(X):
    got = SeriesCollection.of(X)
    assert got.dtype == X[0].dtype
    back = list(got)
    assert len(back) == len(X)
    for a, b in zip(back, X, strict=True):
        np.testing.assert_array_equal(a, b[0] if len(b) == 1 else b)
    assert_same(SeriesCollection.of(back), got)


@given(aeon_lists(), st.integers(0, 2))
def test_tslearn_padding_is_the_same_as_a_list(X, more):
    expected = SeriesCollection.of(X)
    length = expected.max_length + more
    padded = np.full((len(X), length, len(X[0])), np.nan, dtype=X[0].dtype)
    for row, x in zip(padded, X, strict=True):
        row[: x.shape[1]] = x.T
    assert_same(SeriesCollection.of(padded, layout="tslearn"), expected)
    assert_same(SeriesCollection.of(list(padded), layout="tslearn"), expected)
    assert_same(SeriesCollection.of([x.T for x in X], layout="tslearn"), expected)


def test_tslearn_does_not_write_to_its_input():
    X = np.array([[[1.0], [np.nan]], [[1.0], [2.0]]])
    SeriesCollection.of(X, layout="tslearn")
    assert np.isnan(X[0, 1, 0])


def test_tslearn_2d():
    got = SeriesCollection.of(np.array([[1, 2, np.nan], [3, np.nan, np.nan]]), layout="tslearn")
    assert got.values[:, :, 0].tolist() == [[1, 2], [3, 0]]
    assert got.lengths.tolist() == [2, 1]


def test_tslearn_list_may_be_padded_in_part():
    got = SeriesCollection.of([[1, 2, np.nan], [3]], layout="tslearn")
    assert got.values[:, :, 0].tolist() == [[1, 2], [3, 0]]
    assert got.lengths.tolist() == [2, 1]


def test_cases_of_a_collection_are_in_the_layout_of_its_input(ragged):
    expected = SeriesCollection.of(ragged)
    assert_same(SeriesCollection.of(list(expected)), expected)
    columns = [expected.elements(case) for case in range(len(expected))]
    assert_same(SeriesCollection.of(columns, layout="tslearn"), expected)


def test_a_collection_is_itself(ragged):
    collection = SeriesCollection.of(ragged)
    assert SeriesCollection.of(collection) is collection
    assert SeriesCollection.of(collection, alphabet=Alphabet("ab")) is collection


def test_dunder_array():
    class Duck:
        def __array__(self, dtype=None, copy=None):
            return np.arange(6.0).reshape(2, 3)

    assert_same(SeriesCollection.of(Duck()), SeriesCollection.of(np.arange(6.0).reshape(2, 3)))


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_data_frames(library, dtype):
    frames = pytest.importorskip(library)
    X = np.arange(6, dtype=dtype).reshape(2, 3)
    frame = frames.DataFrame({f"t{t}": X[:, t] for t in range(3)})
    assert_same(SeriesCollection.of(frame), SeriesCollection.of(X))


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_data_frame_series_in_a_list(library):
    frames = pytest.importorskip(library)
    got = SeriesCollection.of([frames.Series([1.0, 2.0]), frames.Series([3.0])])
    assert_same(got, SeriesCollection.of([[1.0, 2.0], [3.0]]))


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_data_frame_refusals(library):
    frames = pytest.importorskip(library)
    with pytest.raises(TypeError, match="train must hold real numbers, got dtype object"):
        SeriesCollection.of(frames.DataFrame({"a": [1, 2], "b": ["x", "y"]}), name="train")
    with pytest.raises(ValueError, match="NaN at case 1, position 0"):
        SeriesCollection.of(frames.DataFrame({"a": [1.0, None], "b": [1.0, 2.0]}))
    with pytest.raises(ValueError, match="Expected 2D array, got 1D"):
        SeriesCollection.of(frames.Series([1.0, 2.0]))


@pytest.mark.parametrize(
    "X",
    [
        ["abba", "ba"],
        ("abba", "ba"),
        [["a", "b", "b", "a"], ("b", "a")],
        np.array(["abba", "ba"]),
        np.array(["abba", "ba"], dtype=object),
    ],
    ids=["strings", "tuple", "lists", "array", "object array"],
)
def test_symbols(X):
    got = SeriesCollection.of(X, alphabet=Alphabet("ab", encoding="codes"))
    assert got.values[:, :, 0].tolist() == [[0, 1, 1, 0], [1, 0, 0, 0]]
    assert got.lengths.tolist() == [4, 2]


def test_any_encoder_serves_as_alphabet():
    class Lengths:
        def encode(self, sequences, name="X"):
            return SeriesCollection.of([[len(s)] for s in sequences], name=name)

    assert SeriesCollection.of(["ab", "c"], alphabet=Lengths()).values.ravel().tolist() == [2, 1]


# --- Copies and dtypes


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "view",
    [
        lambda X: X,
        np.asfortranarray,
        lambda X: X[::2],
        lambda X: X[..., ::-2],
        lambda X: X[1:, ..., 1:],
        lambda X: X.swapaxes(0, -1),
    ],
    ids=["C", "Fortran", "every other", "reversed", "window", "transposed"],
)
@pytest.mark.parametrize("shape", [(6, 8), (6, 3, 8)])
def test_arrays_are_viewed(shape, view, dtype):
    X = view(rng().normal(size=shape).astype(dtype))
    got = SeriesCollection.of(X)
    assert np.shares_memory(got.values, X)
    assert got.dtype == dtype
    expected = X[:, :, None] if X.ndim == 2 else X.transpose(0, 2, 1)
    np.testing.assert_array_equal(got.values, expected)


def test_tslearn_is_viewed_if_nothing_has_to_be_replaced():
    X = rng().normal(size=(4, 5, 2))
    assert np.shares_memory(SeriesCollection.of(X, layout="tslearn").values, X)
    X[:, 3:] = np.nan
    got = SeriesCollection.of(X, layout="tslearn")
    assert np.shares_memory(got.values, X)
    assert got.max_length == 3
    X[0, 2] = np.nan
    assert not np.shares_memory(SeriesCollection.of(X, layout="tslearn").values, X)


DTYPES = [
    (np.float16, F32),
    (np.float32, F32),
    (">f4", F32),
    (np.float64, F64),
    (">f8", F64),
    (np.longdouble, F64),
    (np.int8, F64),
    (np.int64, F64),
    (np.uint64, F64),
    (np.bool_, F64),
]


@pytest.mark.parametrize(("given_dtype", "expected"), DTYPES)
@pytest.mark.parametrize("wrap", [lambda X: X, list], ids=["array", "list"])
def test_dtypes(wrap, given_dtype, expected):
    X = np.array([[0, 1, 1], [1, 0, 1]], dtype=given_dtype)
    got = SeriesCollection.of(wrap(X))
    assert got.dtype == expected
    assert got.dtype.isnative
    assert got.values[:, :, 0].tolist() == [[0, 1, 1], [1, 0, 1]]


@pytest.mark.parametrize(
    ("dtypes", "expected"),
    [
        ([np.float32, np.float32], F32),
        ([np.float16, np.float32], F32),
        ([np.float32, np.float64], F64),
        ([np.float32, np.int8], F64),
        ([np.bool_, np.float16], F64),
    ],
)
def test_dtypes_of_mixed_lists(dtypes, expected):
    assert SeriesCollection.of([np.ones(3, dtype) for dtype in dtypes]).dtype == expected


def test_memory_map_stays_one_and_is_read_in_blocks(tmp_path):
    shape = (4, 2, 1 << 20)
    X = np.memmap(tmp_path / "X", dtype=np.float32, mode="w+", shape=shape)
    X[:] = 1
    tracemalloc.start()
    try:
        got = SeriesCollection.of(X)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < X.nbytes / 20
    assert np.shares_memory(got.values, X)
    X[3, 1, 12345] = np.inf
    with pytest.raises(ValueError, match="infinity at case 3, position 12345, channel 1"):
        SeriesCollection.of(X)


def test_read_only_arrays_are_fine():
    X = rng().normal(size=(2, 3))
    X.flags.writeable = False
    assert np.shares_memory(SeriesCollection.of(X).values, X)


@pytest.mark.parametrize(("dtype", "large"), [(np.float32, 1e15), (np.float64, 1e100)])
def test_large_values_are_taken(dtype, large):
    X = np.full((3, 5), large, dtype=dtype)
    np.testing.assert_array_equal(SeriesCollection.of(X).values[:, :, 0], X)


# --- Refusals

NAN, INF = np.nan, np.inf


@pytest.mark.parametrize("wrap", [lambda X: X, list, np.asfortranarray], ids=["C", "list", "F"])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize(("value", "word"), [(NAN, "NaN"), (INF, "infinity"), (-INF, "infinity")])
@pytest.mark.parametrize("where", [(0, 0), (3, 2), (6, 3)])
def test_not_finite(wrap, dtype, value, word, where):
    X = rng().normal(size=(7, 5)).astype(dtype)
    X[where] = value
    case, position = where
    message = f"^train must be finite, but contains {word} at case {case}, position {position}$"
    with pytest.raises(ValueError, match=message):
        SeriesCollection.of(wrap(X), name="train")


@pytest.mark.parametrize("layout", ["aeon", "tslearn"])
def test_not_finite_names_the_channel(layout):
    X = rng().normal(size=(4, 3, 5))
    X[2, 1, 4] = NAN
    X[2, 0, 4] = INF
    if layout == "tslearn":
        X = X.transpose(0, 2, 1)
    with pytest.raises(ValueError, match="infinity at case 2, position 4, channel 0"):
        SeriesCollection.of(X, layout=layout)


def test_not_finite_beyond_the_first_block():
    X = np.zeros((3000, 100))
    X[2999, 98] = NAN
    with pytest.raises(ValueError, match="NaN at case 2999, position 98"):
        SeriesCollection.of(X)
    X[1500, 50] = NAN
    with pytest.raises(ValueError, match="NaN at case 1500, position 50"):
        SeriesCollection.of(X)


def test_tslearn_padding_is_trailing_and_whole():
    X = np.array([[[1, 1], [2, 2], [3, 3]], [[1, 1], [NAN, NAN], [NAN, NAN]]])
    assert SeriesCollection.of(X, layout="tslearn").lengths.tolist() == [3, 1]
    inner = X.copy()
    inner[0, 1] = NAN
    with pytest.raises(ValueError, match="NaN at case 0, position 1, channel 0"):
        SeriesCollection.of(inner, layout="tslearn")
    part = X.copy()
    part[1, 2, 1] = 0
    with pytest.raises(ValueError, match="NaN at case 1, position 1, channel 0"):
        SeriesCollection.of(part, layout="tslearn")
    infinite = X.copy()
    infinite[1, 1] = INF
    with pytest.raises(ValueError, match="infinity at case 1, position 1, channel 0"):
        SeriesCollection.of(infinite, layout="tslearn")
    empty = X.copy()
    empty[1] = NAN
    with pytest.raises(ValueError, match=r"^X\[1\]: Found array with 0 feature\(s\)"):
        SeriesCollection.of(empty, layout="tslearn")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_padding_of_arrays_and_frames_is_named(dtype):
    X = rng().normal(size=(4, 5)).astype(dtype)
    X[1, 3:] = X[2, 4:] = NAN
    for form in (X, pd.DataFrame(X), X[:, None]):
        with pytest.warns(UserWarning, match="X: 2 of 4 series end in NaN.*lengths are 3 to 4"):
            collection = SeriesCollection.of(form)
        assert collection.lengths.tolist() == [5, 3, 4, 5]
        assert collection.dtype == dtype
        np.testing.assert_array_equal(collection[1], X[1, :3])
        assert not collection.values[1, 3:].any()
    with pytest.raises(ValueError, match="NaN at case 1, position 3"):
        SeriesCollection.of(list(X))
    with pytest.raises(ValueError, match="x must be finite.*NaN at case 0, position 3"):
        single(X[1])


def test_missing_values_are_interpolated_on_request():
    X = np.array([[1.0, NAN, 3.0, 4.0], [NAN, 2.0, NAN, 5.0], [1.0, 2.0, 3.0, 4.0]])
    before = X.copy()
    collection = SeriesCollection.of(X, missing="interpolate")
    expected = [[1, 2, 3, 4], [2, 2, 3.5, 5], [1, 2, 3, 4]]
    np.testing.assert_array_equal(collection.values[..., 0], expected)
    np.testing.assert_array_equal(X, before)
    ragged = SeriesCollection.of([X[0], [1.0, NAN, 2.0]], missing="interpolate")
    assert ragged[1].tolist() == [1, 1.5, 2]
    with pytest.raises(ValueError, match="infinity at case 0, position 0"):
        SeriesCollection.of([[INF, NAN, 1.0]], missing="interpolate")
    with pytest.raises(ValueError, match="no value at all in channel 1"):
        SeriesCollection.of([[[1.0, 2.0], [NAN, NAN]]], missing="interpolate")
    with pytest.raises(
        ValueError, match="missing must be one of \\['error', 'interpolate'\\], got 'zero'"
    ):
        SeriesCollection.of(X, missing="zero")


class Sparse:
    nnz = 0

    def toarray(self):
        raise AssertionError("nobody asked")


def masked():
    return np.ma.masked_array([[1.0, 2.0]], mask=[[False, True]])


FEW = r"\(s\) \(shape={}\) while a minimum of 1 is required\.$"
REFUSED = {
    "0D": (np.array(1.0), ValueError, "^X: Expected 2D array, got 0D.*Reshape your data"),
    "number": (1, ValueError, "^X: Expected 2D array, got 0D.*Reshape your data"),
    "1D": (np.ones(3), ValueError, r"^X: Expected 2D array, got 1D.*\(3,\).*X\[None, :\]"),
    "numbers": ([1.0, 2], ValueError, r"^X: Expected 2D array, got 1D.*X\[0\] is the number 1"),
    "one number": ([[1.0, 2], 3], ValueError, r"Expected 2D array.*X\[1\].*Reshape your data"),
    "4D": (np.ones((1, 2, 3, 4)), ValueError, r"\(cases, channels, time\), got.*\(1, 2, 3, 4\)"),
    "3D in list": ([[1], np.ones((1, 2, 3))], ValueError, r"^X\[1\] must.*\(channels, time\)"),
    "nested": ([[[1, 2], [3]]], ValueError, r"^X\[0\] must be an array"),
    "no cases": (np.ones((0, 3)), ValueError, "0 sample" + FEW.format(r"\(0, 3\)")),
    "no cases, 3D": (np.ones((0, 2, 3)), ValueError, "0 sample" + FEW.format(r"\(0, 2, 3\)")),
    "no time": (np.ones((2, 0)), ValueError, "0 feature" + FEW.format(r"\(2, 0\)")),
    "no channels": (np.ones((2, 0, 3)), ValueError, "0 feature" + FEW.format(r"\(2, 0, 3\)")),
    "empty list": ([], ValueError, r"^X: Found array with 0 sample" + FEW.format(r"\(0,\)")),
    "empty tuple": ((), ValueError, r"^X: Found array with 0 sample" + FEW.format(r"\(0,\)")),
    "empty series": ([[1], []], ValueError, r"^X\[1\]: .* 0 feature" + FEW.format(r"\(0,\)")),
    "channels": ([[1], [[1], [2]]], ValueError, r"channels.*X\[1\] has 2 and X\[0\] 1$"),
    "complex": (np.ones((2, 3), complex), ValueError, "^X: Complex data not supported"),
    "complex list": ([[1j]], ValueError, r"^X\[0\]: Complex data not supported"),
    "masked": (masked(), ValueError, "^X must have no masked values"),
    "masked in list": (list(masked()), ValueError, r"^X\[0\] must have no masked values"),
    "sparse": (Sparse(), TypeError, "^X must be dense, got a sparse Sparse"),
    "sparse in list": ([Sparse()], TypeError, r"^X\[0\] must be dense, got a sparse"),
    "object": (np.ones((2, 3), object), TypeError, "^X must hold real numbers, got dtype object"),
    "None in list": ([[1], [2, None]], TypeError, r"^X\[1\] must hold real .*dtype object"),
    "dates": (np.zeros((2, 3), "M8[s]"), TypeError, r"real numbers, got dtype datetime64\[s\]"),
    "durations": (np.zeros((2, 3), "m8[s]"), TypeError, r"numbers, got dtype timedelta64\[s\]"),
    "records": (np.zeros((2, 3), "f8,f8"), TypeError, "^X must hold real numbers, got dtype"),
    "None": (None, TypeError, "^X must be an array, a list or a data frame, got NoneType"),
    "dict": ({"a": 1}, TypeError, "^X must be an array, a list or a data frame, got dict"),
    "generator": (iter([[1.0]]), TypeError, "^X must be an array, a list or a data frame"),
    "string": ("abc", TypeError, "pass alphabet="),
    "strings": (["abc", "ab"], TypeError, r"^X\[0\] must hold real numbers.*pass alphabet="),
    "symbols": ([[1], ["a", "b"]], TypeError, r"^X\[1\] must hold real numbers.*pass alphabet="),
    "string array": (np.array([["a", "b"]]), TypeError, "pass alphabet="),
    "bytes array": (np.array([[b"a", b"b"]]), TypeError, "pass alphabet="),
}


@pytest.mark.parametrize(("X", "error", "message"), REFUSED.values(), ids=REFUSED)
def test_refused(X, error, message):
    with pytest.raises(error, match=message):
        SeriesCollection.of(X)
    with pytest.raises(error, match=message.replace("X", "train")):
        SeriesCollection.of(X, name="train")


def test_scipy_sparse_is_refused():
    sparse = pytest.importorskip("scipy.sparse")
    for container in (sparse.csr_matrix, sparse.coo_array):
        with pytest.raises(TypeError, match="sparse"):
            SeriesCollection.of(container(np.eye(3)))


def test_unmasked_masked_array_is_an_array():
    X = np.ma.masked_array([[1.0, 2.0]], mask=False)
    assert SeriesCollection.of(X).values.ravel().tolist() == [1, 2]


@pytest.mark.parametrize("layout", ["sktime", "", 3])
def test_unknown_layout(layout):
    with pytest.raises(
        ValueError, match=rf"layout must be one of \['aeon', 'tslearn'\], got {layout!r}"
    ):
        SeriesCollection.of(np.ones((2, 3)), layout=layout)


def test_unknown_symbol():
    message = "^train must be of the symbols of .*'ab'.*contains 'c' at case 1, position 2$"
    with pytest.raises(ValueError, match=message):
        SeriesCollection.of(["ab", "abc"], alphabet=Alphabet("ab"), name="train")


# --- The class


def test_constructor_trims_the_time_axis():
    values = np.ones((2, 5, 1))
    got = SeriesCollection(values, np.array([3, 2], dtype=np.int32))
    assert got.values.shape == (2, 3, 1)
    assert np.shares_memory(got.values, values)
    assert got.lengths.dtype == np.int64


@pytest.mark.parametrize(
    ("values", "lengths", "error", "message"),
    [
        (np.ones((2, 3)), [3, 3], ValueError, r"values must be \(cases.*shape \(2, 3\)"),
        (np.ones((0, 3, 1)), [], ValueError, r"values must be .*shape \(0, 3, 1\)"),
        (np.ones((2, 3, 1), int), [3, 3], TypeError, "values must be float32.*got int"),
        (np.ones((2, 3, 1), ">f8"), [3, 3], TypeError, "values must be float32.*got >f8"),
        (np.ones((2, 3, 1)), [3], ValueError, r"lengths must be 2 integers, got array\(\[3\]\)"),
        (np.ones((2, 3, 1)), [3.0, 3.0], ValueError, "lengths must be 2 integers, got"),
        (np.ones((2, 3, 1)), [3, 4], ValueError, "between 1 and 3, .* got 3 to 4"),
        (np.ones((2, 3, 1)), [3, 0], ValueError, "between 1 and 3, .* got 0 to 3"),
    ],
)
def test_constructor_checks_shapes(values, lengths, error, message):
    with pytest.raises(error, match=message):
        SeriesCollection(values, lengths)


def test_frozen(ragged):
    collection = SeriesCollection.of(ragged)
    with pytest.raises(AttributeError):
        collection.values = None


def test_properties(ragged):
    collection = SeriesCollection.of(ragged)
    assert len(collection) == 3
    assert collection.shape == (3, 4, 2)
    assert collection.n_channels == 2
    assert collection.max_length == 4
    assert collection.dtype == F64
    assert collection.is_ragged is True
    assert SeriesCollection.of(np.ones((2, 3))).is_ragged is False


def test_repr(ragged):
    assert repr(SeriesCollection.of(ragged)) == (
        "<SeriesCollection: 3 series, length 2 to 4, channels 2, float64>"
    )
    assert repr(SeriesCollection.of(np.ones((1, 5), np.float32))) == (
        "<SeriesCollection: 1 series, length 5, channels 1, float32>"
    )


@pytest.mark.parametrize("index", [0, 1, -1, np.int64(2), np.uint8(1), np.array(1)])
def test_a_case_is_a_view(ragged, index):
    collection = SeriesCollection.of(ragged)
    case = collection[index]
    np.testing.assert_array_equal(case, ragged[index])
    assert np.shares_memory(case, collection.values)


def test_iteration(ragged):
    collection = SeriesCollection.of(ragged)
    for got, expected in zip(collection, ragged, strict=True):
        np.testing.assert_array_equal(got, expected)
        assert np.shares_memory(got, collection.values)


@pytest.mark.parametrize(
    ("index", "expected"),
    [
        (slice(1, None), [1, 2]),
        (slice(None, None, -1), [2, 1, 0]),
        ([2, 1, 1], [2, 1, 1]),
        (np.array([-1, 0]), [2, 0]),
        (np.array([1], dtype=np.uint8), [1]),
        (np.array([False, True, True]), [1, 2]),
        ([True, False, False], [0]),
        ((np.array([2, 0]), ...), [2, 0]),
        ((slice(2), ...), [0, 1]),
    ],
)
def test_selection(ragged, index, expected):
    got = SeriesCollection.of(ragged)[index]
    assert_same(got, SeriesCollection.of([ragged[case] for case in expected]))


def test_slices_are_views_and_are_not_checked_again():
    X = np.ones((4, 3))
    collection = SeriesCollection.of(X)
    X[1] = NAN
    got = collection[1:]
    assert np.shares_memory(got.values, X)
    assert np.isnan(collection[[1]].values).all()


@pytest.mark.parametrize("index", [[], slice(3, 3), np.zeros(3, bool)])
def test_empty_selections_exist_but_do_not_enter(ragged, index):
    empty = SeriesCollection.of(ragged)[index]
    assert len(empty) == 0
    assert empty.shape == (0, 0, 2)
    assert list(empty) == []
    assert empty.astype(np.float32).dtype == F32
    assert repr(empty) == "<SeriesCollection: 0 series, length 0, channels 2, float64>"
    with pytest.raises(ValueError, match=r"0 sample\(s\)"):
        SeriesCollection.of(empty)


@pytest.mark.parametrize(
    "index", [3, -4, 1.0, True, [0, 3], [[0]], np.array([True]), [0.5], "a", (0, 0), None]
)
def test_wrong_index(ragged, index):
    collection = SeriesCollection.of(ragged)
    with pytest.raises(IndexError):
        collection[index]


def test_astype(ragged):
    collection = SeriesCollection.of(ragged)
    assert collection.astype(np.float64) is collection
    got = collection.astype("float32")
    assert got.dtype == F32
    np.testing.assert_array_equal(got.values, collection.values.astype(np.float32))
    assert got.lengths.tolist() == [4, 2, 3]


@pytest.mark.parametrize("dtype", [np.float16, int, complex, ">f4"])
def test_astype_refuses_other_types(ragged, dtype):
    with pytest.raises(TypeError, match="dtype must be float32 or float64, got"):
        SeriesCollection.of(ragged).astype(dtype)


@pytest.mark.filterwarnings("error")
def test_astype_does_not_overflow():
    with pytest.raises(ValueError, match=r"as float32 .*infinity at case 0, position 1"):
        SeriesCollection.of([[1, 1e90]]).astype(np.float32)


def test_pickle(ragged):
    collection = SeriesCollection.of(ragged)
    assert_same(pickle.loads(pickle.dumps(collection)), collection)


def test_scikit_learn_splits_a_collection(ragged):
    model_selection = pytest.importorskip("sklearn.model_selection")
    collection = SeriesCollection.of(ragged * 4)
    train, test, i, j = model_selection.train_test_split(
        collection, np.arange(12), test_size=4, random_state=0
    )
    assert_same(train, collection[i])
    assert_same(test, collection[j])


# --- One series, several collections


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_single(dtype):
    x = rng().normal(size=6).astype(dtype)
    got = single(x)
    assert_same(got, SeriesCollection.of(x[None]))
    assert np.shares_memory(got.values, x)
    x = x.reshape(2, 3)
    got = single(x)
    assert_same(got, SeriesCollection.of([x]))
    assert np.shares_memory(got.values, x)
    assert_same(single(x.T, layout="tslearn"), got)
    assert single(got) is got


def test_single_of_lists_symbols_and_dtypes():
    assert single([1, 2]).values.ravel().tolist() == [1, 2]
    assert single([1, 2], dtype=np.float32).dtype == F32
    alphabet = Alphabet("ab", encoding="codes")
    for x in ("ba", ["b", "a"], np.array(["b", "a"])):
        got = single(x, alphabet=alphabet, dtype=np.float32)
        assert got.shape == (1, 2, 1)
        assert got.dtype == F32
        assert got.values.ravel().tolist() == [1, 0]


@pytest.mark.parametrize(
    ("x", "error", "message"),
    [
        (1.0, ValueError, r"^query must be one series, got an array of shape \(\)"),
        (np.ones((1, 2, 3)), ValueError, r"^query must be one series, got .*\(1, 2, 3\)"),
        ([], ValueError, r"^query: Found array with 0 feature\(s\)"),
        ([1, NAN], ValueError, "^query .*NaN at case 0, position 1"),
        ([[1, 2], [3]], ValueError, "^query must be an array"),
        ([[1, 2], [3, INF]], ValueError, "^query .*infinity at case 0, position 1, channel 1"),
        ("ab", TypeError, "^query must hold real numbers.*alphabet="),
        (None, TypeError, "^query must be an array"),
        (SeriesCollection.of(np.ones((2, 3))), ValueError, "^query must be one .*collection of 2"),
    ],
)
def test_single_refuses(x, error, message):
    with pytest.raises(error, match=message):
        single(x, "query")


def test_single_refuses_unknown_symbols():
    with pytest.raises(ValueError, match=r"^query .*'c' at case 0, position 1"):
        single("ac", "query", alphabet=Alphabet("ab"))


@pytest.mark.parametrize(
    ("dtypes", "expected"),
    [
        ([F32], F32),
        ([F64], F64),
        ([F32, F32], F32),
        ([F32, F64], F64),
        ([F64, F32, F32], F64),
    ],
)
def test_common_dtype(dtypes, expected):
    assert common_dtype(*(SeriesCollection.of(np.ones((1, 1), d)) for d in dtypes)) == expected


def test_data_frame_libraries_are_not_imported():
    import subprocess
    import sys

    code = "import sys, warplearn.series.symbols; print({'pandas', 'polars'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert re.fullmatch(r"set\(\)\s*", done.stdout)
