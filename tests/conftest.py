"""What the tests share: settings, real data, other processes."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from ucr import loaded

import warplearn

# Kernels compile inside the first example, so no deadline; the same examples in every run.
settings.register_profile(
    "warplearn",
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("warplearn")


# A shell lets what it starts in the background ignore interrupts; some tests send them.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def one_thread():
    """Threads only where a test asks for them: a parallel kernel is compiled on its own."""
    before = numba.get_num_threads()
    numba.set_num_threads(1)
    yield
    numba.set_num_threads(before)


@pytest.fixture(autouse=True)
def interruptible():
    """A test may change what an interrupt does, for itself alone."""
    before = signal.getsignal(signal.SIGINT)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def two_threads(monkeypatch):
    """Two threads, for however little work."""
    if numba.config.NUMBA_NUM_THREADS < 2:
        pytest.skip("needs two threads")
    monkeypatch.setattr("warplearn._kernels.simd.threads._LEAST_CELLS", 1)


def _real_series(name, part, count):
    """The first `count` series of a set, without their labels and their padding."""
    return list(loaded(name, part).X[:count])


@pytest.fixture(scope="session")
def real_series():
    return _real_series


@pytest.fixture
def run_python(tmp_path):
    """Run a script in a process of its own, with a compilation cache of its own.

    The script prints one line of JSON, which is returned.  All processes of one test share the
    cache, and can import modules that the test writes to `tmp_path`.
    """

    def run(script, *arguments):
        file = tmp_path / "script.py"
        file.write_text(script)
        package = Path(warplearn.__file__).parents[1]
        environment = {
            **os.environ,
            "NUMBA_CACHE_DIR": str(tmp_path / "cache"),
            "PYTHONPATH": os.pathsep.join([str(package), os.environ.get("PYTHONPATH", "")]),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        done = subprocess.run(
            [sys.executable, str(file), *map(str, arguments)],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run
