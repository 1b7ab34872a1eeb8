"""The command that writes a model as C."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from warplearn.cli.common import check_labelled, print_summary
from warplearn.cli.options import AsJson, TestReading, friendly
from warplearn.cli.prediction import ModelFile, cases_for, check_known_labels
from warplearn.cli.progress import working
from warplearn.cli.storage import load_model

if TYPE_CHECKING:
    from warplearn.datasets import Dataset
    from warplearn.export import Export


@friendly
def export(
    model: ModelFile,
    reading: TestReading,
    output: Annotated[
        Path, typer.Option("-o", "--output", help="Header to write, such as model.h.")
    ],
    series: Annotated[
        str | None,
        typer.Option("--test", help="Labelled series, a file or a data set: report the error."),
    ] = None,
    numbers: Annotated[
        str, typer.Option(help="float32, or for linear models int16 or int8: fixed point.")
    ] = "float32",
    limit: Annotated[
        list[float] | None,
        typer.Option(
            help="Of fixed point: the greatest absolute value of a sample, for each channel. "
            "Default: that of the series of --test."
        ),
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="What names in the header begin with. Default: its file's.")
    ] = None,
    max_bytes: Annotated[int, typer.Option(min=1, help="Refuse more bytes of constants.")] = 2**20,
    json: AsJson = False,
) -> None:
    """Write a model as one self-contained C99 header, for devices without Python.

    The header has weights as constants, allocates no memory and takes a series sample by sample
    or at once. It says how it is used and how much memory it needs. Linear models, networks,
    nearest prototypes, LVQ and feature models after `shrink` can be exported.

    Examples
    --------
    `warplearn export model.warp -o gesture.h`

    `warplearn export model.warp -o gesture.h --numbers int8 --test test.csv`
    """
    from warplearn.export import Export
    from warplearn.export.fixed import limits_of

    fitted = load_model(model)
    cases = None if series is None else check_labelled(cases_for(fitted, series, reading))
    limits: Any = None if not limit else limit[0] if len(limit) == 1 else limit
    if limits is None and numbers != "float32" and cases is not None:
        limits = limits_of(cases.X)
    exported = Export.of(fitted, numbers, limits, max_bytes)
    text = exported.header(output.stem if name is None else name)
    summary: dict[str, Any] = {
        "header": str(output), "model": type(fitted).__name__, "numbers": numbers,
        "flash": f"{exported.flash:,} bytes of constants, up to {exported.code:,} of code",
        "ram": f"{exported.ram:,} bytes for a stream",
    }  # fmt: skip
    if json:
        summary |= {"flash": exported.flash, "code": exported.code, "ram": exported.ram}
    if cases is not None:
        summary |= _errors(exported, cases)
    output.write_text(text, "utf-8")
    print_summary(summary, json)


def _errors(exported: Export, cases: Dataset) -> dict[str, Any]:
    """How good the model is on test series; with fixed point, before and after."""
    from sklearn.base import is_classifier

    from warplearn.series.collection import SeriesCollection

    model, X = exported.model, cases.X
    fixed = exported.fixed is not None
    with working(f"predicting {len(X)} series"):
        exact, device = model.predict(X), exported.predict(X) if fixed else None
    if not is_classifier(model):
        return _regression_errors(exact, device, cases.y)
    labels = cases.y.astype(str)
    check_known_labels(labels, model.classes_.astype(str), cases.name)
    found: dict[str, Any] = {"error": float(100 * (exact.astype(str) != labels).mean())}
    if device is not None and exported.fixed is not None:
        found["fixed_point_error"] = float(100 * (device.astype(str) != labels).mean())
        found["series_classified_otherwise"] = f"{int((device != exact).sum())} of {len(X)}"
        found["cut_series"] = f"{exported.fixed.n_cut(SeriesCollection.of(X))} of {len(X)}"
    return found


def _regression_errors(exact: Any, device: Any, y: Any) -> dict[str, Any]:
    """Root mean squared errors."""
    import numpy as np

    targets = np.asarray(y, np.float64).reshape(len(exact), -1)

    def rmse(predicted: Any) -> float:
        return float(np.sqrt(np.mean((predicted.reshape(targets.shape) - targets) ** 2)))

    found = {"rmse": rmse(exact)}
    return found if device is None else {**found, "fixed_point_rmse": rmse(device)}


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(export)
