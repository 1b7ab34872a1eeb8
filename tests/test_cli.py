"""The demo shows what the functions compute, and mistakes get a message and no traceback."""

import builtins
import re
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

import warplearn
from warplearn import band_mask, cli, dtw, warping_path


def run(*arguments):
    """What the command line answers, on a terminal of 80 columns without colours."""
    plain = {"COLUMNS": "80", "NO_COLOR": "1", "FORCE_COLOR": None, "TERM": "dumb"}
    return CliRunner().invoke(cli.application(), arguments, env=plain)


@pytest.fixture
def quick(monkeypatch):
    """Speeds made up, so that nothing is compiled for them."""
    monkeypatch.setattr(cli, "measure_speed", lambda n_jobs: 2.5e9 * n_jobs)


def path_in(output, blank):
    """Cells of the path, read from the drawing."""
    rows = [line for line in output.splitlines() if set(line) <= {"·", "█", blank} and "█" in line]
    return [(i, j) for i, row in enumerate(rows) for j, cell in enumerate(row) if cell == "█"]


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("seed", [0, 7])
@pytest.mark.parametrize(("option", "band"), [(None, None), ("3", 3), ("0.25", 0.25)])
def test_demo_shows_distance_and_path(option, band, seed):
    options = [] if option is None else ["--band", option]
    result = run("demo", "--seed", str(seed), *options)
    assert result.exit_code == 0, result.output
    x, y = cli.example_pair(seed)
    assert f"distance {dtw(x, y, band):.4f}" in result.output
    assert path_in(result.output, " ") == [tuple(cell) for cell in warping_path(x, y, band).path]


@pytest.mark.usefixtures("quick")
def test_demo_shows_both_series_as_long_as_the_path():
    output = run("demo").output
    steps = len(warping_path(*cli.example_pair()).path)
    for name, length in (("x", 24), ("y", 48), ("x warped", steps), ("y warped", steps)):
        bars = re.search(rf"^{name} +([▁-█]+)\s*$", output, re.MULTILINE)
        assert bars is not None, output
        assert len(bars[1]) == length


@pytest.mark.usefixtures("quick")
def test_demo_shows_speed_of_one_thread_and_of_all(monkeypatch):
    monkeypatch.setattr(cli.numba.config, "NUMBA_NUM_THREADS", 4)
    output = run("demo").output
    assert re.search(r"1 thread +2\.5 billion", output)
    assert re.search(r"4 threads +10\.0 billion", output)


def test_speed_counts_cells(monkeypatch):
    clock = iter(np.arange(100.0) * 2)
    monkeypatch.setattr(cli, "perf_counter", lambda: next(clock))
    assert cli.measure_speed(1, cases=3, length=5) == 3 * 3 * 5 * 5 / 2


def test_drawings():
    path, mask = np.array([(0, 0), (1, 1), (1, 2), (2, 3)]), band_mask(3, 4, 1)
    assert cli.draw_grid(path, mask, ascii_only=True).splitlines() == ["#.  ", " ## ", "  .#"]
    assert cli.draw_grid(path, mask, ascii_only=False).splitlines() == ["█·  ", " ██ ", "  ·█"]
    assert cli.draw_series(np.array([0.0, 2.0, 1.0]), 0.0, 2.0, ascii_only=True) == "_#="


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("demo", "--band", "wide"), "'wide'"),
        (("demo", "--band", "-1"), "got -1"),
        (("demo", "--band", "nan"), "got nan"),
        (("demo", "--band", "0.01"), "no warping path"),
        (("demo", "--seed", "-1"), "--seed"),
        (("demo", "--seed", "x"), "--seed"),
        (("dem",), "dem"),
    ],
)
def test_mistakes_get_a_message(arguments, message):
    result = run(*arguments)
    assert result.exit_code == 2
    assert isinstance(result.exception, SystemExit)  # and no other
    assert message in " ".join(re.sub(r"[│\n]", " ", result.output).split())


def test_version():
    result = run("--version")
    assert result.exit_code == 0
    assert result.output == f"warplearn {warplearn.__version__}\n"


@pytest.mark.parametrize("missing", ["typer", "rich"])
def test_without_the_extra_it_says_how_to_get_it(monkeypatch, missing):
    def refuse(name, *args, **kwargs):
        if name.split(".")[0] == missing:
            raise ModuleNotFoundError(f"No module named {missing!r}", name=missing)
        return importer(name, *args, **kwargs)

    importer = builtins.__import__
    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(SystemExit, match=re.escape("pip install 'warplearn[cli]'")):
        cli.main()


def test_library_imports_neither_typer_nor_rich():
    code = "import sys, warplearn, warplearn.cli; print({'typer', 'rich'} & set(sys.modules))"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout == "set()\n"
