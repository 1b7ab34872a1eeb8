"""Commands without labels: mean and cluster."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from warplearn import catalogue
from warplearn.cli.common import (
    check_labelled,
    estimator_for,
    load_series,
    make,
    named,
    parse_extent,
    print_json,
)
from warplearn.cli.drawing import draw_series
from warplearn.cli.options import AsJson, Jobs, Output, Seed, Series, TrainReading, friendly
from warplearn.cli.progress import fit_with_progress, working
from warplearn.cli.terminal import console

METHODS = ", ".join(catalogue.commands("cluster"))


def _show(names: list[str], series: list[Any], notes: list[str]) -> None:
    import numpy as np
    from rich.table import Table
    from rich.text import Text

    screen = console()
    plain, width = screen.options.ascii_only, max(10, screen.width - 40)
    table = Table.grid(padding=(0, 2))
    for name, x, note in zip(names, series, notes, strict=True):
        line = np.asarray(x) if np.ndim(x) == 1 else np.asarray(x)[0]
        bars = draw_series(
            line, float(line.min()), float(line.max()), ascii_only=plain, width=width
        )
        table.add_row(name, Text(bars, "cyan", no_wrap=True), note)
    screen.print(table)


def _write(path: Any, series: list[Any], names: list[str]) -> None:
    """Series and their names, in the format that the suffix says."""
    from warplearn import datasets

    writers = {
        ".csv": datasets.write_csv,
        ".tsv": datasets.write_tsv,
        ".ts": datasets.write_ts,
    }
    named(writers, path.suffix, "--output")(path, series, names)


@friendly
def mean(
    series: Series,
    reading: TrainReading,
    output: Output = None,
    by_class: Annotated[bool, typer.Option(help="A mean for each class.")] = False,
    band: Annotated[
        str | None,
        typer.Option(help="Sakoe-Chiba band: cells, such as 5, or a share, such as 0.1 or 10%."),
    ] = None,
    seed: Seed = 0,
    jobs: Jobs = -1,
    json: AsJson = False,
) -> None:
    """Average series under warping.

    Example: `warplearn mean WarpedBumps --by-class -o means.csv`
    """
    import numpy as np

    from warplearn.mean import elastic_mean

    extent = parse_extent(band, "--band")
    cases = load_series(series, reading, dtype="float64")
    groups = {"all": np.arange(len(cases.X))}
    if by_class:
        labels = check_labelled(cases).y
        groups = {str(label): np.flatnonzero(labels == label) for label in np.unique(labels)}
    means = {}
    with working("averaging", len(groups)) as done:
        for name, group in groups.items():
            means[name] = elastic_mean(cases.X[group], band=extent, random_state=seed, n_jobs=jobs)
            done()
    if output is not None:
        _write(output, [mean.mean for mean in means.values()], list(means))
    if json:
        print_json(
            [
                {"name": name, "cases": len(groups[name]), "variation": mean.variation,
                 "mean": mean.mean}
                for name, mean in means.items()
            ]
        )  # fmt: skip
        return
    notes = [
        f"{len(groups[name])} series, variation {mean.variation:.4g}"
        for name, mean in means.items()
    ]
    _show(list(means), [mean.mean for mean in means.values()], notes)


def _counted(cls: type, k: int) -> dict[str, Any]:
    """The parameter that says how many clusters there are: a map of k nodes is a line of them."""
    return {"n_clusters": k} if "n_clusters" in cls().get_params() else {"grid": (1, k)}


@friendly
def cluster(
    series: Series,
    reading: TrainReading,
    k: Annotated[int, typer.Option("-k", min=1, help="How many clusters.")] = 3,
    method: Annotated[str, typer.Option("-m", "--method", help=f"One of {METHODS}.")] = "kmeans",
    output: Output = None,
    seed: Seed = 0,
    jobs: Jobs = -1,
    json: AsJson = False,
) -> None:
    """Group series under warping, and show the centres.

    --output takes the centres; --json prints the cluster of each series.

    Example: `warplearn cluster WarpedBumps -k 2 -o centres.csv`
    """
    import numpy as np

    cls = estimator_for("cluster", method)
    cases = load_series(series, reading, dtype="float64")
    model = make(cls, _counted(cls, k), seed, jobs)
    fit_with_progress(model, f"clustering {len(cases.X)} series", cases.X)
    sizes = np.bincount(model.labels_, minlength=len(model.cluster_centers_))
    names = [str(number) for number in range(len(sizes))]
    if output is not None:
        _write(output, list(model.cluster_centers_), names)
    if json:
        print_json({"labels": model.labels_, "sizes": sizes, "centres": model.cluster_centers_})
        return
    _show(names, list(model.cluster_centers_), [f"{size} series" for size in sizes])


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(mean)
    app.command()(cluster)
