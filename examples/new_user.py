"""A new user's ten minutes: CSV files of three shapes to a model, its reasons, a stream.

    python examples/new_user.py [NAME] [FOLDER]

Writes the data set NAME (default WarpedBumps) as a wide table, as a wide table without header in
another dialect, and as a long table, and runs the commands that a new user would run.  Prints each
command, its answer, and the seconds it took.
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from warplearn import datasets


def write_tables(name: str, folder: Path) -> None:
    """The training and test series of a data set as tables of three shapes."""
    for split in ("train", "test"):
        X, y = datasets.load(name, split)
        values, labels = X.values[..., 0], [f"class {label}" for label in y]
        n, length = values.shape
        datasets.write_csv(folder / f"wide_{split}.csv", values, labels)
        with (folder / f"dialect_{split}.csv").open("w") as file:  # no header, decimal commas
            for x, label in zip(values, labels, strict=True):
                cells = [f"{value:.6f}".replace(".", ",") for value in x]
                file.write(";".join([*cells, label]) + "\n")
        rng = np.random.default_rng(0)
        with (folder / f"long_{split}.csv").open("w") as file:  # a sample is lost now and then
            file.write("machine,second,current,state\n")
            for case in range(n):
                lost = rng.integers(1, length - 1)
                for i in np.delete(np.arange(length), lost):
                    file.write(f"m{case},{i / 10},{values[case, i]:.6f},{labels[case]}\n")
        np.savetxt(folder / "stream.txt", values[0])


COMMANDS = """
--version
datasets info wide_train.csv
fit wide_train.csv -o wide.warp
evaluate wide.warp wide_test.csv
explain wide.warp wide_test.csv --case 3 -o why.png
fit dialect_train.csv -o dialect.warp
evaluate dialect.warp dialect_test.csv
fit long_train.csv -o long.warp
fit long_train.csv --id machine --time second --label state -o long.warp
fit long_train.csv --id machine --time second --label state --resample -o long.warp
evaluate long.warp long_test.csv --id machine --time second --label state --resample
predict long.warp long_test.csv --id machine --time second --label state --resample --proba -o p.csv
fit wide_train.csv -m logistic -o small.warp
explain small.warp wide_test.csv --case 3
stream small.warp < stream.txt
stream wide.warp < stream.txt
"""
REFUSED = (7, 8)  # a long table without --id, and with a gap


def run(command: str, folder: Path) -> tuple[int, str]:
    """The exit code and the output of a command, as a user would see it."""
    words, _, source = command.partition(" < ")
    text = (folder / source).read_text() if source else None
    result = subprocess.run(
        [sys.executable, "-m", "warplearn.cli", *words.split()], cwd=folder, input=text,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
    )  # fmt: skip
    return result.returncode, result.stdout


def main(name: str = "WarpedBumps", place: str | None = None) -> list[int]:
    """Run all commands; the exit code of each."""
    folder = Path(place or tempfile.mkdtemp(prefix="warplearn-"))
    write_tables(name, folder)
    codes, begun = [], time.perf_counter()
    for command in COMMANDS.strip().splitlines():
        start = time.perf_counter()
        code, output = run(command, folder)
        codes.append(code)
        lines = output.rstrip().splitlines()
        shown = lines if len(lines) <= 30 else [*lines[:3], "...", *lines[-3:]]
        print(f"$ warplearn {command}", *shown, sep="\n")
        print(f"[{time.perf_counter() - start:.1f} s, exit code {code}]\n", flush=True)
    print(f"{len(codes)} commands in {time.perf_counter() - begun:.0f} s")
    return codes


if __name__ == "__main__":
    main(*sys.argv[1:])
