"""Models as C on a Cortex-M4: flash, RAM, instructions for a sample, and accuracy in fixed point.

The headers of `to_c` are compiled by `arm-none-eabi-gcc -O2` for a Cortex-M4 with a floating-point
unit, and run on twenty test series in QEMU's emulation of the board mps2-an386.

- *flash* is code, constants and what is linked of the C library, in bytes;
- *RAM* is a stream and the deepest use of the stack (the emulator's stack is painted);
- *instructions* are those that the emulated processor has executed for a sample: `push`, and a
  share of the one `decide` at the end.  QEMU counts them (`-icount shift=0`); it does not know how
  many cycles they take;
- *accuracy* is that on all test series; that of fixed point is computed in Python, where weights
  and samples are rounded as on the device (tests compare the two).  Limits of samples are those of
  the training series.

Classes that the device finds are compared with Python's.  Without the cross compiler or the
emulator (Debian: gcc-arm-none-eabi, libnewlib-arm-none-eabi, qemu-system-arm) what they would say
is left out.  Needs the UCR data sets (`WARPLEARN_DATA`).
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

from benchmarks.data import read_set
from benchmarks.features import ELEVEN
from benchmarks.measure import describe_machine
from warplearn import (
    ElasticFeatureClassifier,
    ElasticLogisticRegression,
    ElasticLVQClassifier,
    ElasticMLPClassifier,
    NearestPrototypeClassifier,
    SeriesCollection,
)
from warplearn.export import Export
from warplearn.export.fixed import limits_of

COMPILER, SIZE, EMULATOR = "arm-none-eabi-gcc", "arm-none-eabi-size", "qemu-system-arm"
CPU = ("-mcpu=cortex-m4", "-mthumb", "-mfpu=fpv4-sp-d16", "-mfloat-abi=hard", "-O2")
BOARD = (
    "-M", "mps2-an386", "-nographic", "-monitor", "none", "-serial", "none",
    "-icount", "shift=0", "-semihosting-config", "enable=on,target=native",
)  # fmt: skip
SOURCES = Path(__file__).parent / "cortex_m4"
SERIES = 20  # that the emulator runs
NUMBERS = ("float32", "int16", "int8")
FAMILIES = ("ECG200", "GunPoint")  # sets that all kinds of models are compared on


class Device(NamedTuple):
    """What a model takes of a Cortex-M4."""

    flash: int
    ram: int
    per_sample: float | None = None
    classes: list[int] | None = None


def _run(*command: Any, folder: Path) -> str:
    done = subprocess.run(
        [str(part) for part in command], cwd=folder, capture_output=True, text=True, timeout=120
    )
    if done.returncode:
        raise RuntimeError(f"{command[0]} failed: {done.stderr[-1000:]}")
    return done.stdout + done.stderr


def _flash(folder: Path) -> int:
    """Bytes of the entry points of a model, and of all that they need."""
    kept = [f"-Wl,-u,use_{name}" for name in ("init", "push", "decide")]
    _run(
        COMPILER, *CPU, "-std=c99", "-I.", "-ffunction-sections", SOURCES / "entries.c",
        "-nostartfiles", "-Wl,--gc-sections", "-Wl,-e,use_push", *kept, "-lm", "-o", "entries",
        folder=folder,
    )  # fmt: skip
    sizes = _run(SIZE, "entries", folder=folder).splitlines()[1].split()
    return int(sizes[0]) + int(sizes[1])


def on_device(export: Export, X: np.ndarray) -> Device:
    """Compile a model, and run it on series of the same length."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "net.h").write_text(export.header("net"))
        numbers = ",".join(f"{value!s}f" for value in X.astype(np.float32).ravel())
        (folder / "series.h").write_text(
            f"#define SERIES {len(X)}\n#define LENGTH {X.shape[1]}\n"
            f"static const float series[] = {{{numbers}}};\n"
        )
        flash = _flash(folder)
        _run(
            COMPILER, *CPU, "-std=gnu99", "-Wall", "-Wextra", "-Werror", "-I.",
            "-nostartfiles", "-T", SOURCES / "link.ld", SOURCES / "main.c", "-lm", "-o", "image",
            folder=folder,
        )  # fmt: skip
        printed = _run(EMULATOR, *BOARD, "-kernel", "image", folder=folder)
    counted, push, decide, stack, *classes = map(int, printed.split())
    if not 100_000 <= counted <= 101_000:
        raise RuntimeError(f"the emulator counted {counted} instructions where 100,500 were run")
    return Device(flash, stack, (push + decide) / (X.shape[0] * X.shape[1]), classes)


def has_device() -> bool:
    """Whether models can be compiled and run for the device."""
    return all(map(shutil.which, (COMPILER, SIZE, EMULATOR)))


def _taken(export: Export, X: np.ndarray) -> Device:
    """What a model takes; without the tools, what its header says."""
    return on_device(export, X) if has_device() else Device(export.flash, export.ram)


def _instructions(device: Device) -> str:
    return "" if device.per_sample is None else f"{device.per_sample:.0f}"


def _mistaken(export: Export, X: np.ndarray, device: Device) -> str:
    """How many of the classes that the device found differ from Python's."""
    if device.classes is None:
        return ""
    expected = np.searchsorted(export.model.classes_, export.predict(X))
    return str(int((expected != device.classes).sum()))


def _row(*cells: Any) -> None:
    print(f"| {' | '.join(map(str, cells))} |", flush=True)


def _heads(*names: str) -> None:
    print()
    _row(*names)
    _row("---", *["---:"] * (len(names) - 1))


def _series(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    (X, y), (X_test, y_test) = read_set(name, "TRAIN"), read_set(name, "TEST")
    return X.astype(np.float32), y, X_test.astype(np.float32), y_test


def linear(names: list[str]) -> None:
    """Elastic logistic regression on the sets of the paper: float32 / int16 / int8."""
    _heads(
        "set", "length", "m", "flash, bytes", "RAM", "instructions a sample", "accuracy, %",
        f"of {SERIES} not as in Python",
    )  # fmt: skip
    accuracies = []
    for name in names:
        X, y, X_test, y_test = _series(name)
        model = ElasticLogisticRegression(random_state=0).fit(X, y)
        limits = limits_of(SeriesCollection.of(X))
        exports = [Export.of(model, n, None if n == "float32" else limits) for n in NUMBERS]
        accuracies.append([100 * (each.predict(X_test) == y_test).mean() for each in exports])
        some = X_test[:SERIES]
        devices = [_taken(each, some) for each in exports]
        mistaken = map(_mistaken, exports, [some] * len(NUMBERS), devices)
        _row(
            name, X.shape[1], model.coef_.shape[2], " / ".join(f"{d.flash:,}" for d in devices),
            max(d.ram for d in devices), " / ".join(map(_instructions, devices)),
            " / ".join(f"{a:.2f}" for a in accuracies[-1]), " / ".join(mistaken),
        )  # fmt: skip
    means = " / ".join(f"{mean:.2f}" for mean in np.mean(accuracies, axis=0))
    _row("mean", "", "", "", "", "", means, "")


def _models(X: np.ndarray, y: np.ndarray) -> dict[str, Any]:
    """A small model of each kind."""
    features = ElasticFeatureClassifier(random_state=0).fit(X, y)  # with shapelets
    models = {
        "logistic": ElasticLogisticRegression(random_state=0),
        "network, 8 units": ElasticMLPClassifier(hidden_layer_sizes=(8,), random_state=0),
        "prototypes, 2 a class": NearestPrototypeClassifier(n_prototypes=2, random_state=0),
        "LVQ": ElasticLVQClassifier(random_state=0),
    }
    shrunk = {f"features, {n} filters and shapelets": features.shrink(X, y, n) for n in (256, 64)}
    return {**{kind: model.fit(X, y) for kind, model in models.items()}, **shrunk}


def families(names: list[str]) -> None:
    """All kinds of models on a few sets, in float32."""
    _heads(
        "set", "model", "flash, bytes", "RAM", "instructions a sample", "accuracy, %",
        f"of {SERIES} not as in Python",
    )  # fmt: skip
    for name in names:
        X, y, X_test, y_test = _series(name)
        for kind, model in _models(X, y).items():
            export, some = Export.of(model), X_test[:SERIES]
            device = _taken(export, some)
            accuracy = 100 * (model.predict(X_test) == y_test).mean()
            _row(
                name, kind, f"{device.flash:,}", f"{device.ram:,}", _instructions(device),
                f"{accuracy:.2f}", _mistaken(export, some, device),
            )  # fmt: skip


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks export", description=__doc__)
    parser.add_argument("--sets", nargs="*", default=list(ELEVEN), help="UCR sets")
    options = parser.parse_args(arguments)
    print(describe_machine())
    if has_device():
        folder = Path.cwd()
        print(_run(COMPILER, "--version", folder=folder).splitlines()[0])
        print(_run(EMULATOR, "--version", folder=folder).splitlines()[0])
    else:
        print(
            f"{COMPILER} or {EMULATOR} is missing: flash is that of the constants, RAM that of a "
            "stream, and instructions are left out",
            file=sys.stderr,
        )
    linear(options.sets)
    families([name for name in FAMILIES if name in options.sets])
