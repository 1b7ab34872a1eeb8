"""Symbols become vectors at the distances asked for, and come back."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from warplearn.series.collection import SeriesCollection
from warplearn.series.symbols import Alphabet

K = np.array([[2.0, 1.0, 0.0], [1.0, 2.0, 0.5], [0.0, 0.5, 1.0]])
ENCODINGS = {"onehot": {}, "codes": {"encoding": "codes"}, "kernel": {"kernel": K}}
encodings = pytest.mark.parametrize("options", ENCODINGS.values(), ids=ENCODINGS)


def squared_distances(F):
    return ((F[:, None] - F[None, :]) ** 2).sum(axis=2)


# --- Vectors


def test_onehot():
    alphabet = Alphabet("abc")
    assert alphabet.symbols == ("a", "b", "c")
    assert alphabet.encoding == "onehot"
    np.testing.assert_array_equal(alphabet.features, np.eye(3))


def test_codes():
    alphabet = Alphabet("abc", encoding="codes")
    assert alphabet.encoding == "codes"
    assert alphabet.features.dtype == np.float64
    assert alphabet.features.tolist() == [[0], [1], [2]]


@pytest.mark.parametrize("kernel", [K, K.tolist(), np.asfortranarray(K)])
def test_kernel(kernel):
    alphabet = Alphabet("abc", kernel)
    assert alphabet.encoding == "kernel"
    assert alphabet.features.shape == (3, 3)
    np.testing.assert_allclose(alphabet.features @ alphabet.features.T, K, atol=1e-14)


def test_kernel_of_integers():
    np.testing.assert_allclose(
        squared_distances(Alphabet("ab", [[2, 1], [1, 2]]).features)[0, 1], 2
    )


@given(
    hnp.arrays(
        np.float64,
        st.tuples(st.integers(1, 6), st.integers(1, 4)),
        elements=st.floats(-100, 100).map(lambda x: round(x, 3)),
    ).filter(np.any)
)
def test_kernel_gives_its_distances_in_few_channels(G):
    kernel = G @ G.T
    alphabet = Alphabet(range(len(G)), kernel)
    F = alphabet.features
    assert F.shape[0] == len(G)
    assert 1 <= alphabet.n_channels <= min(G.shape)
    scale = np.abs(kernel).max()
    np.testing.assert_allclose(F @ F.T, kernel, rtol=0, atol=1e-12 * scale)
    expected = np.diag(kernel)[:, None] - 2 * kernel + np.diag(kernel)
    np.testing.assert_allclose(squared_distances(F), expected, rtol=0, atol=1e-12 * scale)


def test_kernel_of_low_rank_in_float32():
    G = np.random.default_rng(0).normal(size=(20, 3)).astype(np.float32)
    assert Alphabet(range(20), G @ G.T).n_channels == 3


def test_onehot_is_the_identity_kernel():
    onehot, kernel = Alphabet("abcd"), Alphabet("abcd", np.eye(4))
    np.testing.assert_allclose(
        squared_distances(onehot.features), squared_distances(kernel.features), atol=1e-15
    )


@pytest.mark.parametrize(
    ("symbols", "options", "error", "message"),
    [
        ("abca", {}, ValueError, "symbols must be distinct, got 'a' twice"),
        ([1, 2, 1.0], {}, ValueError, "symbols must be distinct, got 1.0 twice"),
        ("", {}, ValueError, "symbols must hold at least one symbol"),
        (np.array(3.0), {}, TypeError, "symbols must be a sequence of symbols, got array"),
        ([["a"]], {}, TypeError, r"symbols must be hashable, got \['a'\]"),
        ("ab", {"encoding": "binary"}, ValueError, "'onehot' or 'codes', got 'binary'"),
        ("ab", {"encoding": "kernel"}, ValueError, "'onehot' or 'codes', got 'kernel'"),
        ("abc", {"kernel": K, "encoding": "codes"}, ValueError, "encoding must be left out"),
        ("abc", {"kernel": K[:2]}, ValueError, r"kernel must have shape \(3, 3\).*got \(2, 3\)"),
        ("ab", {"kernel": K}, ValueError, r"kernel must have shape \(2, 2\).*got \(3, 3\)"),
        ("ab", {"kernel": [[1, 0.5], [0, 1]]}, ValueError, "must be symmetric, .* differ by 0.5"),
        ("ab", {"kernel": [[1, 2], [2, 1]]}, ValueError, "semidefinite, got -1 as its smallest"),
        ("ab", {"kernel": [[0, 0], [0, 0]]}, ValueError, "kernel must not be zero"),
        ("ab", {"kernel": [[1, np.nan], [np.nan, 1]]}, ValueError, "kernel must hold finite"),
        ("ab", {"kernel": [[1, 1j], [-1j, 1]]}, ValueError, "kernel must hold finite real"),
        ("ab", {"kernel": [["a", "b"], ["c", "d"]]}, ValueError, "kernel must hold finite real"),
    ],
)
def test_refused(symbols, options, error, message):
    with pytest.raises(error, match=message):
        Alphabet(symbols, **options)


# --- Encoding and decoding


@encodings
def test_encode(options):
    alphabet = Alphabet("abc", **options)
    got = alphabet.encode(["cab", "b"])
    assert isinstance(got, SeriesCollection)
    assert got.dtype == np.float64
    assert got.n_channels == alphabet.n_channels
    assert got.lengths.tolist() == [3, 1]
    np.testing.assert_array_equal(got.values[0], alphabet.features[[2, 0, 1]])
    np.testing.assert_array_equal(got.elements(1), alphabet.features[[1]])
    assert not got.values[1, 1:].any()


def test_encode_names_its_argument():
    with pytest.raises(ValueError, match=r"^words must be of .*'d' at case 1, position 0$"):
        Alphabet("abc").encode(["cab", "d"], name="words")


@given(
    st.lists(st.text("abc", min_size=1, max_size=8), min_size=1, max_size=6),
    st.sampled_from(sorted(ENCODINGS)),
    st.sampled_from([np.float32, np.float64]),
)
def test_round_trip(words, encoding, dtype):
    alphabet = Alphabet("abc", **ENCODINGS[encoding])
    collection = alphabet.encode(words).astype(dtype)
    assert ["".join(word) for word in alphabet.decode(collection)] == words


@pytest.mark.parametrize(
    "symbols",
    [
        ["walk", "run", "rest"],
        [3, 1, 2],
        [("a", 1), ("a", 2), None],
        [b"A", "A", 65],
        np.array(["x", "y", "z"]),
        np.array([10, 20, 30]),
    ],
    ids=["words", "integers", "tuples", "mixed", "string array", "integer array"],
)
@encodings
def test_any_hashable_is_a_symbol(symbols, options):
    alphabet = Alphabet(symbols, **options)
    a, b, c = alphabet.symbols
    sequences = [[c, a], [b], [a, a, b, c]]
    assert alphabet.decode(alphabet.encode(sequences)) == sequences


@pytest.mark.parametrize(
    "sequences",
    [
        np.array(["ab", "ba"]),
        np.array([["a", "b"], ["b", "a"]]),
        np.array([["a", "b"], ["b", "a"]], dtype=object),
        [np.array(["a", "b"]), "ba"],
        (iter(word) for word in ["ab", "ba"]),
    ],
    ids=["strings", "characters", "objects", "mixed", "iterators"],
)
def test_containers(sequences):
    assert Alphabet("ab").decode(Alphabet("ab").encode(sequences)) == [["a", "b"], ["b", "a"]]


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_data_frames(library):
    frames = pytest.importorskip(library)
    alphabet = Alphabet("ab", encoding="codes")
    for table in (
        frames.Series(["ab", "ba"]),
        frames.DataFrame({"s": ["a", "b"], "t": ["b", "a"]}),
    ):
        assert alphabet.encode(table).values[:, :, 0].tolist() == [[0, 1], [1, 0]]


@pytest.mark.parametrize(
    ("sequences", "error", "message"),
    [
        ("ab", TypeError, "^X must be a list of sequences of symbols, got str"),
        (b"ab", TypeError, "^X must be a list of sequences of symbols, got bytes"),
        (3, TypeError, "^X must be a list of sequences of symbols, got int"),
        (["ab", 3], TypeError, r"^X\[1\] must be a sequence of symbols, got 3"),
        ([], ValueError, r"^X: Found array with 0 sample\(s\)"),
        (["ab", ""], ValueError, r"^X\[1\]: Found array with 0 feature\(s\)"),
        (["ab", "aXY"], ValueError, "<Alphabet: 'ab'.*contains 'X' at case 1, position 1$"),
        (["ab", ["a", ["b"]]], ValueError, r"contains \['b'\] at case 1, position 1$"),
        (["ab", ["ab"]], ValueError, "contains 'ab' at case 1, position 0$"),
    ],
)
def test_encode_refuses(sequences, error, message):
    with pytest.raises(error, match=message):
        Alphabet("ab").encode(sequences)


def test_decode_takes_the_nearest():
    onehot, codes = Alphabet("abc"), Alphabet("abc", encoding="codes")
    assert onehot.decode(SeriesCollection.of([[[0.6, 0.1], [0.2, 0.7], [0.5, 0.9]]])) == [
        ["a", "c"]
    ]
    assert codes.decode(SeriesCollection.of([[0.4, 0.6, 1.7, 9.0, -3.0]])) == [list("abcca")]


def test_decode_refuses_other_channels():
    with pytest.raises(ValueError, match=r"collection must have 3 channels.*got 1"):
        Alphabet("abc").decode(SeriesCollection.of([[1.0]]))


# --- The class


@pytest.mark.parametrize(
    ("sequences", "expected"),
    [
        (["cab", "bad"], tuple("abcd")),
        ([[3, 1], [2, 1]], (1, 2, 3)),
        ([["b", 1], [None, "b", "a"]], ("b", 1, None, "a")),
        (np.array(["ba", "c"]), tuple("abc")),
    ],
)
def test_infer(sequences, expected):
    assert Alphabet.infer(sequences).symbols == expected


def test_infer_passes_options_on():
    assert Alphabet.infer(["cab"], encoding="codes") == Alphabet("abc", encoding="codes")
    assert Alphabet.infer(["cab"], kernel=K) == Alphabet("abc", kernel=K)
    with pytest.raises(TypeError, match=r"^sequences must be a list of sequences"):
        Alphabet.infer("cab")
    with pytest.raises(ValueError, match=r"^symbols must hold at least one"):
        Alphabet.infer([])


@pytest.mark.parametrize(
    ("options", "n_channels"),
    [({}, 3), ({"encoding": "codes"}, 1), ({"kernel": np.ones((3, 3))}, 1)],
)
def test_sizes(options, n_channels):
    alphabet = Alphabet("abc", **options)
    assert alphabet.n_symbols == 3
    assert alphabet.n_channels == n_channels


def test_equality():
    alphabets = [
        Alphabet("abc"),
        Alphabet("acb"),
        Alphabet("abcd"),
        Alphabet("abc", encoding="codes"),
        Alphabet("abc", kernel=K),
        Alphabet("abc", kernel=2 * K),
    ]
    for i, a in enumerate(alphabets):
        for j, b in enumerate(alphabets):
            assert (a == b) is (i == j)
    assert Alphabet("abc") == Alphabet(["a", "b", "c"])
    assert hash(Alphabet("abc")) == hash(Alphabet(["a", "b", "c"]))
    assert Alphabet("abc") != "abc"


@encodings
def test_pickle(options):
    alphabet = Alphabet("abc", **options)
    copy = pickle.loads(pickle.dumps(alphabet))
    assert copy == alphabet
    np.testing.assert_array_equal(copy.encode(["cab"]).values, alphabet.encode(["cab"]).values)


@pytest.mark.parametrize(
    ("alphabet", "expected"),
    [
        (Alphabet("abc"), "<Alphabet: 'abc', onehot, channels 3>"),
        (Alphabet("abc", encoding="codes"), "<Alphabet: 'abc', codes, channels 1>"),
        (Alphabet("abc", kernel=K), "<Alphabet: 'abc', kernel, channels 3>"),
        (Alphabet(range(99)), "<Alphabet: [0, 1, 2, 3, 4, 5, ...], onehot, channels 99>"),
        (Alphabet(["up", 2]), "<Alphabet: ['up', 2], onehot, channels 2>"),
    ],
)
def test_repr(alphabet, expected):
    assert repr(alphabet) == expected
