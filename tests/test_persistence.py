"""Model files: what is saved is loaded, and files of others cannot do anything."""

import io
import json
import os
import pickle
import struct
import sys
import time
import tracemalloc
import zipfile

import numpy as np
import pytest
from hostile import CONTENT, STRUCTURE, TEXTS, npy, parts, write
from sklearn.base import BaseEstimator
from sklearn.model_selection import StratifiedKFold

import warplearn
from warplearn import Alphabet, catalogue
from warplearn.elastic.costs import Gaussian
from warplearn.persistence import writing
from warplearn.training.optimizers import Adam
from warplearn.training.schedules import Decay

LENGTHS = (7, 9, 6, 9, 8, 7, 9, 8)
Y = np.array([0, 1] * 4)
SMALL = {"max_iter": 2, "mean_iter": 2, "random_state": 0, "n_filters": 40, "n_shapelets": 40, "units": 2, "widths": (4,),
         "filter_lengths": (3,), "hidden_layer_sizes": (3,), "learning_rates": (0.1,)}  # fmt: skip
METHODS = ("decision_function", "explain", "predict", "predict_proba", "score_samples", "transform")
# Estimators of estimators, and what they need beside one.
NESTED = {
    "ElasticGridSearchCV": {
        "param_grid": {"elasticity": [2, 3]}, "cv": StratifiedKFold(2, shuffle=True, random_state=0),
    },
    "ElasticEarlyClassifier": {"n_checkpoints": 3, "cv": 2},
    "ElasticDetector": {"threshold": 0.0, "mining": 0, "random_state": 0},
}  # fmt: skip
# A detector takes recordings, see test_detection.py.
NAMES = [name for name in catalogue.ESTIMATORS if name != "ElasticDetector"]


def series():
    rng = np.random.default_rng(1)
    return [rng.normal(size=k).cumsum() + 3 * c for k, c in zip(LENGTHS, Y, strict=True)]


def made(name):
    if name == "ElasticConvNetClassifier":
        pytest.importorskip("torch")
    cls = catalogue.estimator_class(name)
    if name in NESTED:
        return cls(warplearn.ElasticPerceptron(max_iter=2, random_state=0), **NESTED[name])
    model = cls()
    known = model.get_params()
    return model.set_params(**{key: value for key, value in SMALL.items() if key in known})


@pytest.fixture(scope="module")
def fitted():
    """Each estimator of the table, fitted when it is first asked for."""
    models = {}

    def get(name):
        if name not in models:
            background = np.random.default_rng(2).normal(size=60)
            more = {"background": background} if name == "ElasticDetector" else {}
            models[name] = made(name).fit(series(), Y, **more)
        return models[name]

    return get


def again(model, folder):
    warplearn.save(model, folder / "again.warp")
    return warplearn.load(folder / "again.warp")


def flat(value):
    """Arrays in a result or a state."""
    if isinstance(value, np.ma.MaskedArray):
        return [np.asarray(value.filled(None)).astype(str)]
    if isinstance(value, dict):
        keys = sorted(value, key=str)
        return [np.array(keys, dtype=str), *flat([value[key] for key in keys])]
    if isinstance(value, (list, tuple)):
        return [array for each in value for array in flat(each)]
    if isinstance(value, np.random.RandomState):
        return flat(list(value.get_state()))
    if isinstance(value, BaseEstimator):
        return flat(vars(value))
    if type(value).__name__.endswith("Scorer"):
        return []
    if isinstance(value, (StratifiedKFold, Alphabet)):
        return flat(vars(value))
    return [np.asarray(value)]


def assert_same(got, ref):
    got, ref = flat(got), flat(ref)
    assert len(got) == len(ref)
    for a, b in zip(got, ref, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)


# What is saved is loaded


@pytest.mark.parametrize("name", NAMES)
def test_every_estimator(name, fitted, tmp_path):
    model, X = fitted(name), series()
    loaded = again(model, tmp_path)
    assert type(loaded) is type(model)
    assert_same(loaded, model)
    asked = [method for method in METHODS if hasattr(model, method)]
    for method in asked:
        assert_same(getattr(loaded, method)(X), getattr(model, method)(X))
    if hasattr(model, "score"):
        assert loaded.score(X, Y) == model.score(X, Y)
    assert asked or hasattr(model, "score")
    assert os.listdir(tmp_path) == ["again.warp"]
    first = (tmp_path / "again.warp").read_bytes()
    warplearn.save(loaded, tmp_path / "again.warp")
    assert (tmp_path / "again.warp").read_bytes() == first


@pytest.mark.parametrize(
    "name",
    [
        "ElasticKMeans",
        "ElasticLinearRegression",
        "ElasticLogisticRegression",
        "ElasticMLPClassifier",
    ],
)
def test_training_goes_on(name, fitted, tmp_path):
    model = pickle.loads(pickle.dumps(fitted(name)))
    loaded = again(model, tmp_path)
    for each in (model, loaded):
        for _ in range(2):
            each.partial_fit(series(), Y)
    assert_same(loaded, model)
    assert_same(again(loaded, tmp_path), model)


def test_streams_go_on(fitted, tmp_path):
    model = fitted("ElasticLogisticRegression")
    streams = [each.stream() for each in (model, again(model, tmp_path))]
    for sample in series()[0]:
        a, b = (stream.push(sample) for stream in streams)
        assert a == b


@pytest.mark.parametrize(
    "model",
    [
        warplearn.ElasticKMeans(2, cost=Gaussian(0.5), init=[[0.0, 1.0], [2.0, 3.0]]),
        warplearn.ElasticLogisticRegression(
            learning_rate=Decay(0.2), solver=Adam(0.8), class_weight={0: 1.0, 1: 2.5},
            random_state=np.random.RandomState(3), tol=float("inf"),
        ),
        warplearn.DTWNeighborsClassifier(band=[0.1, "20%", 3, None], alphabet=Alphabet("ACGT")),
        warplearn.ElasticMean(alphabet=Alphabet("ab", kernel=[[1.0, 0.5], [0.5, 2.0]])),
        warplearn.ElasticMean(alphabet=Alphabet([1, 2.5, "x"], encoding="codes")),
        warplearn.ElasticGridSearchCV(warplearn.ElasticSOM(), [{"grid": [(1, 2), (2, 2)]}]),
    ],
    ids=["cost", "records", "bands", "kernel", "codes", "search"],
)  # fmt: skip
def test_parameters(model, tmp_path):
    loaded = again(model, tmp_path)
    ref, got = model.get_params(), loaded.get_params()
    for values in (ref, got):
        source = values.get("random_state")
        if isinstance(source, np.random.RandomState):
            values["random_state"] = source.get_state()[1].tolist()
    ref.pop("estimator", None), got.pop("estimator", None)
    assert repr(got) == repr(ref)
    assert getattr(loaded, "alphabet", None) == getattr(model, "alphabet", None)


def test_labels_and_symbols(tmp_path):
    words, labels = ["GATTACA", "CATTAGA", "TACT", "ACTGACT"], np.array(list("abab"), dtype=object)
    for y in (labels, labels.astype(str), labels == "a"):
        model = warplearn.DTWNeighborsClassifier().fit(words, y)
        loaded = again(model, tmp_path)
        assert loaded.alphabet_ == model.alphabet_
        assert loaded.predict(words).tolist() == list(y)
        assert loaded.classes_.dtype == model.classes_.dtype


def test_size_is_that_of_the_weights(fitted, tmp_path):
    """150 x 15 weights as for GunPoint: the file is little more than these."""
    rng = np.random.default_rng(0)
    model = pickle.loads(pickle.dumps(fitted("ElasticLogisticRegression")))
    model.coef_ = rng.normal(size=(2, 150, 15)).astype(np.float32)
    model.n_features_in_ = 150
    warplearn.save(model, tmp_path / "m.warp")
    assert (tmp_path / "m.warp").stat().st_size < model.coef_.nbytes + 6000


def test_arrays_that_pack_well_can_be_loaded(fitted, tmp_path):
    model = pickle.loads(pickle.dumps(fitted("ElasticLogisticRegression")))
    model.coef_ = np.zeros((2, 9, 5000))
    assert not again(model, tmp_path).coef_.any()


def test_what_cannot_be_saved(fitted, tmp_path):
    path = tmp_path / "m.warp"
    with pytest.raises(
        TypeError, match=r"DTWNeighborsClassifier.weights cannot be saved.*function"
    ):
        warplearn.save(warplearn.DTWNeighborsClassifier(weights=lambda d: d), path)
    with pytest.raises(TypeError, match="StratifiedKFold cannot be saved"):
        warplearn.save(StratifiedKFold(), path)
    model = pickle.loads(pickle.dumps(fitted("DTWNeighborsRegressor")))
    model.notes_ = {"a": [np.array([None])]}
    with pytest.raises(
        TypeError, match=r"DTWNeighborsRegressor.notes_\['a'\]\[0\] cannot be saved"
    ):
        warplearn.save(model, path)
    model = pickle.loads(pickle.dumps(fitted("ElasticPerceptron")))
    model.coef_[0] = np.nan
    with pytest.raises(ValueError, match="coef_ must be finite"):
        warplearn.save(model, path)
    assert not os.listdir(tmp_path)


class Own(BaseEstimator):
    """An estimator of a user's own."""

    def __init__(self, power=1.0):
        self.power = power

    def fit(self, X, y=None):
        self.mean_ = np.mean(X) ** self.power
        return self


def test_estimators_of_users(tmp_path, monkeypatch):
    with pytest.raises(TypeError, match="catalogue.register"):
        warplearn.save(Own(), tmp_path / "own.warp")
    monkeypatch.setitem(catalogue.ESTIMATORS, "Own", catalogue.Entry(__name__, "transform"))
    loaded = again(Own(2.0).fit([1.0, 2.0]), tmp_path)
    assert (loaded.power, loaded.mean_) == (2.0, 2.25)


# Files that are no models


def refuse(path, *, seconds=5.0, factor=200):
    """Loading gives a ValueError that names the file: at once, and within memory."""
    start, size = time.perf_counter(), path.stat().st_size
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=path.name) as error:
            warplearn.load(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert time.perf_counter() - start < seconds
    assert peak < factor * size + 2**21, (peak, size)
    assert "\n" not in str(error.value)
    return str(error.value)


@pytest.fixture(scope="module")
def linear(fitted, tmp_path_factory):
    path = tmp_path_factory.mktemp("hostile") / "linear.warp"
    warplearn.save(fitted("ElasticLogisticRegression"), path)
    return path


@pytest.fixture(scope="module")
def features(fitted, tmp_path_factory):
    path = tmp_path_factory.mktemp("hostile") / "features.warp"
    warplearn.save(fitted("ElasticFeatures"), path)
    return path


def test_files_of_other_programs(tmp_path):
    class Evil:
        def __reduce__(self):
            return os.system, ("touch evil",)

    for name, content in {
        "pickle": pickle.dumps(Evil()),
        "empty": b"",
        "text": b"hello\n",
        "zip": b"PK\x03\x04",
        "end": b"PK\x05\x06" + bytes(18),
        "npy": npy([1.0]),
    }.items():
        path = tmp_path / f"{name}.warp"
        path.write_bytes(content)
        refuse(path)
    np.savez(tmp_path / "arrays.npz", a=[1.0])
    refuse(tmp_path / "arrays.npz")
    skops = pytest.importorskip("skops.io")
    skops.dump({"f": os.path.join}, tmp_path / "m.skops")
    refuse(tmp_path / "m.skops")
    with pytest.raises(FileNotFoundError):
        warplearn.load(tmp_path / "nothing.warp")
    for path in (tmp_path, *([os.devnull] if os.path.exists("/dev/null") else [])):
        with pytest.raises(ValueError, match="no ordinary file"):
            warplearn.load(path)


def test_max_bytes(linear):
    with pytest.raises(ValueError, match="linear.warp is larger than max_bytes=100"):
        warplearn.load(linear, max_bytes=100)
    assert warplearn.load(linear, max_bytes=100_000).n_features_in_ == 9


@pytest.mark.parametrize("change", STRUCTURE)
def test_damaged_structure(change, linear, tmp_path):
    text, entries = parts(linear)
    STRUCTURE[change](text, entries)
    refuse(write(tmp_path / "m.warp", text, entries))


@pytest.mark.parametrize("change", CONTENT)
def test_damaged_content(change, linear, tmp_path):
    text, entries = parts(linear)
    CONTENT[change](text)
    refuse(write(tmp_path / "m.warp", text, entries))


@pytest.mark.parametrize("text", TEXTS)
def test_damaged_text(text, tmp_path):
    refuse(write(tmp_path / "m.warp", TEXTS[text], {}))


def replaced(path, into, attribute, change):
    """A file whose array of an attribute is changed, with everything else consistent."""
    text, entries = parts(path)
    place = text["model"]["attributes"][attribute]["index"]
    array = change(np.lib.format.read_array(io.BytesIO(entries[f"{place}.npy"])).copy())
    entries[f"{place}.npy"] = npy(array)
    text["arrays"][place] = {
        "dtype": array.dtype.str, "shape": list(array.shape),
        "fortran": writing.is_fortran(array),
    }  # fmt: skip
    return write(into, text, entries)


def put(place, value):
    def change(array):
        array[place] = value
        return array

    return change


@pytest.mark.parametrize(
    ("attribute", "change"),
    [
        ("coef_", put(0, np.nan)),
        ("coef_", put(-1, np.inf)),
        ("coef_", lambda W: W[:, :-1]),
        ("coef_", lambda W: W[:1]),
        ("coef_", lambda W: W[:, :, :0]),
        ("coef_", lambda W: W[..., None].repeat(3, axis=-1)),
        ("coef_", lambda W: W.astype(str)),
        ("coef_", lambda W: W > 0),
        ("coef_", lambda W: W.ravel()),
        ("intercept_", lambda b: b[:1]),
        ("intercept_", put(0, np.nan)),
        ("intercept_", lambda b: b[:, None]),
        ("classes_", lambda c: c[:1]),
        ("classes_", lambda c: c[::-1].copy()),
        ("classes_", lambda c: np.arange(3)),
        ("classes_", lambda c: np.array([0.0, np.nan])),
    ],
)
def test_weights_are_checked(attribute, change, linear, tmp_path):
    refuse(replaced(linear, tmp_path / "m.warp", attribute, change))


@pytest.mark.parametrize(
    ("attribute", "change"),
    [
        ("channels_", put(0, 10**9)),
        ("channels_", put(0, -1)),
        ("channels_", lambda c: c.astype(np.int32)),
        *[("groups_", put((0, column), value)) for column in range(7)
          for value in (-1, 10**8, 2**62, -(2**63))],
        ("groups_", put((0, 0), 0)),
        ("groups_", put((0, 1), 0)),
        ("groups_", lambda g: g[:, :6]),
        ("groups_", lambda g: g[:0]),
        ("groups_", lambda g: g.astype(float)),
        ("elasticities_", put(0, 0)),
        ("elasticities_", put(0, 50)),
        ("elasticities_", put(-1, 10**6)),
        ("elasticities_", lambda m: m[:-1]),
        ("draws_", put(0, 1)),  # the draw of another group with as many columns
        ("draws_", lambda d: d[:-1]),
        ("draws_", lambda d: d.astype(np.int32)),
        ("weights_", lambda w: w[:-1]),
        ("weights_", put(0, 9.0)),  # not that of the group with more columns
        ("weights_", put(0, np.nan)),
        ("weights_", lambda w: w.astype(np.float64)),
        ("biases_", lambda b: b[:, :4]),
        ("biases_", put(0, np.nan)),
        ("means_", lambda a: a[:1]),
        ("scales_", put(0, 0.0)),
        ("scales_", put(0, np.inf)),
        ("common_", lambda a: a[:1]),
        ("common_", put((1, 0), -1.0)),
        ("common_", put((0, 0), np.nan)),
    ],
)  # fmt: skip
def test_filters_are_checked(attribute, change, features, tmp_path):
    refuse(replaced(features, tmp_path / "m.warp", attribute, change))


@pytest.mark.parametrize(
    ("name", "attribute", "change"),
    [
        ("DTWNeighborsClassifier", "_lengths", put(0, -5)),
        ("DTWNeighborsClassifier", "_lengths", put(0, 10**9)),
        ("DTWNeighborsClassifier", "_lengths", put(0, 0)),
        ("DTWNeighborsClassifier", "_lengths", lambda a: a[:-1]),
        ("DTWNeighborsClassifier", "_lengths", put(1, 3)),
        ("DTWNeighborsClassifier", "_targets", put(0, 7)),
        ("DTWNeighborsClassifier", "_targets", put(0, -1)),
        ("DTWNeighborsClassifier", "_values", put(0, np.nan)),
        ("DTWNeighborsClassifier", "_values", lambda a: a[..., 0]),
        ("DTWNeighborsRegressor", "_targets", put(0, np.nan)),
        ("ElasticAgglomerative", "cluster_centers_", put(0, np.inf)),
        ("ElasticDetector", "classes_", lambda a: a[::-1].copy()),
        ("ElasticDetector", "durations_", put(0, 0)),
        ("ElasticDetector", "durations_", put(0, 2**62)),
        ("ElasticDetector", "durations_", lambda a: a.astype(np.uint64)),
        ("ElasticEarlyClassifier", "checkpoints_", lambda a: a[::-1].astype(np.uint64)),
        ("ElasticEarlyClassifier", "checkpoints_", put(-1, 10**15)),
        ("ElasticEarlyClassifier", "reliability_", put(0, np.nan)),
        ("ElasticEmbedding", "base_", put(0, np.nan)),
        ("ElasticEmbedding", "base_", lambda a: a.ravel()),
        ("ElasticKMeans", "_visits", lambda a: a[:1]),
        ("ElasticKMeans", "cluster_centers_", lambda a: a[..., None]),
        ("ElasticLVQClassifier", "prototype_labels_", put(0, 9)),
        ("ElasticMLPClassifier", "scale_", put(0, 0.0)),
        ("ElasticMLPClassifier", "mean_", lambda a: np.zeros(3)),
        ("ElasticMean", "mean_", lambda a: a[:0]),
        ("ElasticSOM", "cluster_centers_", lambda a: a[:4]),
        ("ElasticShapelets", "channels_", put(0, 1)),
        ("ElasticShapelets", "groups_", put((0, 1), 2**40)),
        ("ElasticShapelets", "positions_", put(0, -1)),
        ("ElasticShapelets", "sources_", lambda a: a[:-1]),
        ("NearestPrototypeClassifier", "prototypes_", put(0, np.nan)),
        ("NearestPrototypeClassifier", "prototypes_", lambda a: a[:1]),
    ],
)
def test_other_models_are_checked(name, attribute, change, fitted, tmp_path):
    warplearn.save(fitted(name), tmp_path / "valid.warp")
    refuse(replaced(tmp_path / "valid.warp", tmp_path / "m.warp", attribute, change))


@pytest.mark.parametrize(
    ("name", "part", "key", "value"),
    [
        ("ElasticFeatures", "parameters", "poolings", ["wins", "wins", "losses"]),
        ("ElasticShapelets", "parameters", "poolings", ["wins", "wins", "losses"]),
        ("ElasticDetector", "attributes", "window_", 10**12),
        ("ElasticDetector", "attributes", "n_channels_in_", 2),
        ("ElasticDetector", "attributes", "background_", 3),
        ("ElasticDetector", "attributes", "dtype_", "float16"),
        ("ElasticDetector", "attributes", "threshold_", {"type": "float", "value": "nan"}),
        ("ElasticDetector", "attributes", "model_", None),
        ("ElasticEarlyClassifier", "attributes", "n_channels_in_", 2),
        ("ElasticEarlyClassifier", "attributes", "threshold_", 2.0),
        ("ElasticEarlyClassifier", "attributes", "model_", 1),
    ],
)
def test_other_values_are_checked(name, part, key, value, fitted, tmp_path):
    """Poolings that are there twice would leave features that were never computed."""
    warplearn.save(fitted(name), tmp_path / "valid.warp")
    text, entries = parts(tmp_path / "valid.warp")
    assert key in text["model"][part]
    text["model"][part][key] = value
    refuse(write(tmp_path / "m.warp", text, entries))


@pytest.mark.parametrize("name", catalogue.ESTIMATORS)
def test_without_an_attribute_it_is_refused_or_predicts(name, fitted, tmp_path):
    warplearn.save(fitted(name), tmp_path / "valid.warp")
    text, entries = parts(tmp_path / "valid.warp")
    attributes, refused = text["model"]["attributes"], 0
    for key in attributes:
        text["model"]["attributes"] = {k: v for k, v in attributes.items() if k != key}
        try:
            model = warplearn.load(write(tmp_path / "m.warp", text, entries))
        except ValueError:
            refused += 1
            continue
        for method in [each for each in METHODS if hasattr(model, each)]:
            getattr(model, method)(series())
        if hasattr(model, "slide"):
            model.slide(np.arange(40) % 7.0)
    assert refused >= 2


def test_zip_bombs(linear, tmp_path):
    text, entries = parts(linear)
    place = text["model"]["attributes"]["coef_"]["index"]
    zeros = np.zeros((2, 9, 2**17))
    text["arrays"][place]["shape"] = list(zeros.shape)
    bomb = write(
        tmp_path / "bomb.warp",
        text,
        entries | {f"{place}.npy": npy(zeros)},
        method=zipfile.ZIP_DEFLATED,
    )
    assert "50 times" in refuse(bomb)
    assert bomb.stat().st_size < zeros.nbytes / 100
    wide = write(tmp_path / "text.warp", " " * 2**23, entries, method=zipfile.ZIP_DEFLATED)
    assert "50 times" in refuse(wide)
    declared = struct.pack("<I", len(npy(zeros)))
    (tmp_path / "lies.warp").write_bytes(
        bomb.read_bytes().replace(declared, struct.pack("<I", 300))
    )
    refuse(tmp_path / "lies.warp")


def test_overlapping_entries(linear, tmp_path):
    """Two names for one stretch of the file."""
    content = bytearray(linear.read_bytes())
    first, second = (content.find(b"PK\x01\x02", 0), None)
    second = content.find(b"PK\x01\x02", first + 4)
    content[second + 42 : second + 46] = content[first + 42 : first + 46]
    (tmp_path / "m.warp").write_bytes(content)
    assert "overlap" in refuse(tmp_path / "m.warp")


def test_duplicates_and_kinds_of_entries(linear, tmp_path):
    text, entries = parts(linear)
    with pytest.warns(UserWarning, match="Duplicate"):
        path = write(tmp_path / "twice.warp", text, [*entries.items(), ("0.npy", entries["0.npy"])])
    refuse(path)
    with pytest.warns(UserWarning, match="Duplicate"):
        path = write(tmp_path / "texts.warp", text, [("model.json", "{}"), *entries.items()])
    refuse(path)
    for method in (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        refuse(write(tmp_path / "packed.warp", text, entries, method=method))
    content = bytearray(linear.read_bytes())
    for mark, offset in ((b"PK\x01\x02", 8), (b"PK\x03\x04", 6)):
        content[content.find(mark) + offset] |= 1
    (tmp_path / "secret.warp").write_bytes(content)
    refuse(tmp_path / "secret.warp")


def test_damaged_values(tmp_path):
    model = warplearn.DTWNeighborsClassifier().fit([[0.0], [1.0]], ["a", "b"])
    warplearn.save(model, tmp_path / "text.warp")
    text, entries = parts(tmp_path / "text.warp")
    place = text["model"]["attributes"]["classes_"]["index"]
    entries[f"{place}.npy"] = entries[f"{place}.npy"][:-4] + b"\xff" * 4
    assert "damaged text" in refuse(write(tmp_path / "m.warp", text, entries))
    model = warplearn.DTWNeighborsClassifier().fit([[0.0], [1.0]], [False, True])
    warplearn.save(model, tmp_path / "bool.warp")
    text, entries = parts(tmp_path / "bool.warp")
    place = text["model"]["attributes"]["classes_"]["index"]
    entries[f"{place}.npy"] = entries[f"{place}.npy"][:-1] + b"\x07"
    assert "damaged values" in refuse(write(tmp_path / "m.warp", text, entries))


def test_cut_files(linear, tmp_path):
    content = linear.read_bytes()
    for size in range(0, len(content), 97):
        (tmp_path / "m.warp").write_bytes(content[:size])
        refuse(tmp_path / "m.warp")


def try_to_use(path, X):
    """Whether a mutated file loads; what it then predicts must be of the right form."""
    try:
        model = warplearn.load(path)
    except ValueError as error:
        assert path.name in str(error)  # noqa: PT017
        return False
    try:
        if hasattr(model, "predict"):
            assert len(model.predict(X)) == len(X)
        else:
            assert len(model.transform(X)) == len(X)
    except (ValueError, TypeError, KeyError, AttributeError):
        pass  # of parameters that are wrong
    return True


@pytest.mark.parametrize("kind", ["linear", "features"])
def test_random_bytes(kind, request, tmp_path):
    content = request.getfixturevalue(kind).read_bytes()
    rng, X = np.random.default_rng(17), series()
    for _ in range(300):
        mutated = bytearray(content)
        for _ in range(rng.integers(1, 6)):
            mutated[rng.integers(len(mutated))] = rng.integers(256)
        (tmp_path / "m.warp").write_bytes(mutated)
        try_to_use(tmp_path / "m.warp", X)


@pytest.mark.parametrize("kind", ["linear", "features"])
def test_random_bytes_behind_the_checksums(kind, request, tmp_path):
    """Entries are mutated and packed again, so that what is mutated is read."""
    text, entries = parts(request.getfixturevalue(kind))
    rng, X = np.random.default_rng(18), series()
    loaded = 0
    contents = {"model.json": json.dumps(text).encode(), **entries}
    for _ in range(300):
        mutated = {name: bytearray(content) for name, content in contents.items()}
        for _ in range(rng.integers(1, 3)):
            which = mutated[rng.choice(list(mutated))]
            which[rng.integers(len(which))] = rng.integers(256)
        new = {name: bytes(content) for name, content in mutated.items()}
        loaded += try_to_use(write(tmp_path / "m.warp", new.pop("model.json"), new), X)
    assert 0 < loaded < 300


def test_nothing_is_run_or_imported(linear, tmp_path, monkeypatch):
    """No name in a file is imported, and no program started."""
    ran = []
    for module, function in ((os, "system"), (os, "popen"), (os, "remove")):
        monkeypatch.setattr(module, function, lambda *given, **options: ran.append(given))
    before = set(sys.modules)
    for name in ("os.system", "antigravity", "this", "antigravity.x"):
        text, entries = parts(linear)
        for change in (
            {"name": name},
            {"attributes": {"a_": {"type": "record", "name": name, "fields": {}}}},
            {"attributes": {"a_": {"type": "cost", "name": name, "fields": {}}}},
            {"attributes": {"a_": {"type": name}}},
        ):
            text["model"] = text["model"] | change
            refuse(write(tmp_path / "m.warp", text, entries))
    assert not ran
    assert not {"antigravity", "this"} & (set(sys.modules) - before)


def test_a_file_that_is_swapped_while_it_is_read(linear, tmp_path, monkeypatch):
    path = tmp_path / "m.warp"
    path.write_bytes(linear.read_bytes())
    unpacked = zipfile.ZipFile.open

    def swap(*given, **options):
        path.write_bytes(b"something else")
        return unpacked(*given, **options)

    monkeypatch.setattr(zipfile.ZipFile, "open", swap)
    assert warplearn.load(path).n_features_in_ == 9
    assert path.read_bytes() == b"something else"


# What users set, and pickles


@pytest.mark.parametrize(
    ("name", "attribute", "value", "says"),
    [
        ("ElasticLogisticRegression", "coef_", np.full((2, 9, 1), np.nan), "coef_ must be finite"),
        ("ElasticLogisticRegression", "coef_", np.zeros((2, 5, 1)), "coef_ must have shape"),
        ("ElasticLogisticRegression", "coef_", [[1.0]], "coef_ must be an array, got list"),
        ("ElasticLogisticRegression", "coef_", np.ma.ones((2, 9, 1)), "array, got MaskedArray"),
        ("ElasticLogisticRegression", "intercept_", np.zeros(1), "intercept_ must have shape"),
        ("ElasticLogisticRegression", "n_channels_in_", 10**9, "coef_ must have shape"),
        ("ElasticFeatures", "channels_", np.full(5, 10**9), "channels_ must be between"),
        ("ElasticKMeans", "cluster_centers_", np.full((3, 8), np.nan), "must be finite"),
        ("ElasticSOM", "cluster_centers_", np.zeros((7, 8)), "grid must be that of 7 units"),
        ("ElasticMean", "mean_", np.zeros((2, 2)), "mean_ must have shape"),
        ("ElasticEmbedding", "base_", np.zeros(3), "base_ must have shape"),
        ("NearestPrototypeClassifier", "prototypes_", np.zeros((2, 0)), "prototypes_ must have"),
        ("DTWNeighborsClassifier", "_lengths", np.full(8, 99), "lengths must be between"),
    ],
)
def test_what_users_set(name, attribute, value, says, fitted):
    model = pickle.loads(pickle.dumps(fitted(name)))
    setattr(model, attribute, value)
    ask = next(m for m in ("predict", "transform", "score") if hasattr(model, m))
    with pytest.raises(ValueError, match=says):
        getattr(model, ask)(series())
    with pytest.raises(ValueError, match=says):
        pickle.loads(pickle.dumps(model))


@pytest.mark.parametrize(
    ("attribute", "value", "says"),
    [
        ("channels_", lambda old: np.full_like(old, 10**9), "channels_ must be between"),
        ("groups_", lambda old: np.full_like(old, 10**9), "groups_ must hold valid"),
        ("representations", lambda old: [], "representations"),
        ("poolings", lambda old: ["other"], "poolings"),
    ],
)
def test_what_users_set_inside_of_a_model(attribute, value, says, fitted):
    model = pickle.loads(pickle.dumps(fitted("ElasticFeatureClassifier")))
    setattr(model.features_, attribute, value(getattr(model.features_, attribute)))
    for ask in (model.predict, model.decision_function, model.slide):
        with pytest.raises((ValueError, TypeError), match=says):
            ask(series() if ask != model.slide else np.ones(40))


def test_bytes_in_another_order(fitted):
    """Compiled code has none of them; NumPy's own pickles turn them round."""
    model = pickle.loads(pickle.dumps(fitted("ElasticLogisticRegression")))
    model.coef_ = model.coef_.astype(">f8")
    with pytest.raises(ValueError, match="coef_ must hold real numbers, got >f8"):
        model.stream()
    assert pickle.loads(pickle.dumps(model)).coef_.dtype.isnative


def test_streams_of_whole_numbers(fitted):
    model = pickle.loads(pickle.dumps(fitted("ElasticLogisticRegression")))
    model.coef_ = np.ones(model.coef_.shape, np.int64)
    assert model.stream().push(1.0) == pytest.approx(model.decision_function([[1.0]])[0])
