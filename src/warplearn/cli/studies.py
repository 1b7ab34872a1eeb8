"""Commands for studies: demo, reproduce, report."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.table import Table as RichTable

from warplearn.cli.common import (
    FAILED,
    INTERRUPTED,
    AsJson,
    DataFolder,
    console,
    friendly,
    print_json,
)
from warplearn.experiments import (
    Study,
    collect,
    finished,
    read_rows,
    run,
    shipped_studies,
)
from warplearn.experiments.journal import Line
from warplearn.experiments.progress import PlainProgress, Progress
from warplearn.experiments.results import (
    NEIGHBOURS,
    Table,
    compare,
    plot_elasticity,
    summarize,
    table_of,
    totals,
)

_BESIDE = (*NEIGHBOURS, "eFEAT")
_COLOURS = {"green": "green", "yellow": "yellow", "red": "red"}


class Silence(PlainProgress):
    """Nothing but failures."""

    def say(self, message: str) -> None:
        """See `Progress`."""
        if ": failed: " in message:
            print(message, file=self.stream, flush=True)


def print_table(table: Table) -> None:
    """A table on the terminal, rows in the colour of their reading."""
    screen = console()
    shown = RichTable(title=table.title, box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for number, column in enumerate(table.columns):
        if number == 0:
            shown.add_column(column, overflow="fold")
        else:
            shown.add_column(column, justify="right", no_wrap=True)
    for row in table.rows:
        colour = _COLOURS.get(row[-1].split(" ")[0])
        shown.add_row(*(cell.replace(" (", "\n(") for cell in row), style=colour)
    screen.print(shown)
    for note in table.notes:
        screen.print(note, markup=False)


def save_figure(rows: list[Line], results: Path) -> Path | None:
    """The figure of the first study beside its results, if there is a library to draw it."""
    if not find_spec("matplotlib"):
        typer.echo("no figure: matplotlib is missing; run: pip install matplotlib", err=True)
        return None
    path = results.with_suffix(".svg")
    plot_elasticity(rows).savefig(path, metadata={"Date": None})
    return path


def _as_json(rows: list[Line], path: Path) -> dict[str, Any]:
    """A summary of results."""
    return {
        "results": str(path),
        "source": sorted({row["source"] for row in rows}),
        "entries": [
            {
                "dataset": each.dataset, "method": each.method, "error": each.ours.mean,
                "sd": each.ours.sd, "trials": each.ours.trials, "protocol": each.protocol,
                "paper": each.paper.mean if each.paper else None, "differs": each.differs,
            }
            for each in compare(rows)
        ],
        **totals(path)._asdict(),
    }  # fmt: skip


@friendly
def reproduce(
    study: Annotated[
        str,
        typer.Argument(help=f"{', '.join(shipped_studies())}, or a TOML file of your own."),
    ],
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="File of results; default results/STUDY.jsonl."),
    ] = None,
    quick: Annotated[
        bool, typer.Option(help="Fewer data sets, trials and candidates: a minute or two.")
    ] = False,
    datasets: Annotated[str | None, typer.Option(help="Only these, separated by commas.")] = None,
    methods: Annotated[str | None, typer.Option(help="Only these, separated by commas.")] = None,
    trials: Annotated[int | None, typer.Option(min=1, help="Other than in the study.")] = None,
    data: DataFolder = None,
    download: Annotated[
        bool, typer.Option(help="Download data sets that are nowhere to be found.")
    ] = False,
    jobs: Annotated[int, typer.Option(help="Threads; -1 is all cores.")] = -1,
    quiet: Annotated[bool, typer.Option(help="No progress.")] = False,
    json: AsJson = False,
) -> None:
    """Carry out a study of the paper, or your own, and show its table.

    Each finished trial is written at once.  Stopped in whatever way, the same command goes on where
    it was.  Without any of the data sets, built-in ones are used.

    Examples
    --------
    `warplearn reproduce elasticity --quick`

    `warplearn reproduce comparison --data UCRArchive_2018 --datasets GunPoint,ECG200`
    """
    chosen = Study.read(study)
    if quick:
        chosen = chosen.quick()
    chosen = chosen.only(_names(datasets), _names(methods))
    if trials is not None:
        chosen = replace(chosen, trials=trials)
    collected = collect(chosen, data, download=download)
    if collected.replaced and datasets is None:
        typer.echo(
            "None of the study's data sets was found: built-in, generated ones are used instead. "
            "Give --data DIR, set WARPLEARN_DATA, or try --download.",
            err=True,
        )
    elif collected.missing:
        for reason in collected.missing.values():
            typer.echo(f"left out: {reason}", err=True)
        if collected.replaced or not collected.found:
            raise typer.Exit(FAILED)
    for each in collected.found:
        if not len(each.test):
            typer.echo(f"{each.name} has no test series: judged by cross-validation", err=True)
    suffix = "-quick" if quick else ""
    path = output or Path("results") / f"{chosen.name}{suffix}.jsonl"
    progress: Progress | None = Silence() if quiet else None
    try:
        failed = run(chosen, collected.found, path, n_jobs=jobs, progress=progress)
    except KeyboardInterrupt:
        typer.echo(f"interrupted; what is finished is in {path}, run again to go on", err=True)
        raise typer.Exit(INTERRUPTED) from None
    rows = finished(chosen, collected.found, path)
    if not rows:
        raise typer.Exit(FAILED)
    figure = save_figure(rows, path) if chosen.name == "elasticity" else None
    if json:
        print_json({**_as_json(rows, path), "failed": failed})
    elif not quiet:
        print_table(table_of(rows))
        typer.echo(f"{len(rows)} trials in {path}: {totals(path)}")
        if figure is not None:
            typer.echo(f"figure: {figure}")
    if failed:
        raise typer.Exit(FAILED)


def _names(text: str | None) -> list[str] | None:
    return None if text is None else [name.strip() for name in text.split(",") if name.strip()]


@friendly
def report(
    results: Annotated[list[Path], typer.Argument(help="Files of results.")],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Page to write: .html or .md.")
    ] = None,
    data: DataFolder = None,
    json: AsJson = False,
) -> None:
    """Show results as tables, or write them as a page that works offline.

    Examples
    --------
    `warplearn report results/comparison.jsonl -o report.html`

    `warplearn report results/comparison.jsonl -o table.md`
    """
    per_file = {path: read_rows(path) for path in results}
    for path, rows in per_file.items():
        if not rows:
            raise ValueError(f"{path} holds no trials")
    if output is None:
        for path, rows in per_file.items():
            if json:
                print_json(_as_json(rows, path))
            else:
                print_table(table_of(rows))
                typer.echo(f"{len(rows)} trials in {path}: {totals(path)}")
        return
    if output.suffix == ".md":
        parts = [_section(path, rows) for path, rows in per_file.items()]
        output.write_text("\n\n".join(parts) + "\n", "utf-8")
    elif output.suffix == ".html":
        write_page([row for rows in per_file.values() for row in rows], output, data)
    else:
        raise typer.BadParameter(
            f"must end in .html or .md, got {str(output)!r}", param_hint="--output"
        )
    if json:
        print_json({"page": str(output), "bytes": output.stat().st_size})
    else:
        typer.echo(f"wrote {output}")


def _section(path: Path, rows: list[Line]) -> str:
    machines = "; ".join(dict.fromkeys(row["machine"] for row in rows))
    return f"{table_of(rows).markdown()}\n\n{len(rows)} trials: {totals(path)}, on {machines}."


def write_page(rows: list[Line], path: Path, data: Path | None = None) -> None:
    """Write the report."""
    from warplearn.experiments.report import write_report

    write_report(rows, path, directory=data)


@friendly
def demo(
    output: Annotated[
        Path, typer.Option("-o", "--output", help="Report to write; results go beside it.")
    ] = Path("warplearn-demo.html"),
    json: AsJson = False,
) -> None:
    """Train eight classifiers on generated data, compare them, and write a report.

    Needs no data.  The first time it takes about a minute, nearly all of it for compiling.

    Example: `warplearn demo -o demo.html`
    """
    results = output.with_suffix(".jsonl")
    screen = console()
    # A process compiles one kernel at a time, and compiling is what takes the time: two processes
    # add to the same file, one with what shares the kernels of training, one with the others.
    other = [sys.executable, "-m", "warplearn.cli", "reproduce", "demo", "--quiet", "--jobs", "1"]
    other += ["--methods", ",".join(_BESIDE), "--output", str(results)]
    study = Study.read("demo")
    own = [method.name for method in study.methods if method.name not in _BESIDE]
    with screen.status("training eight classifiers (compiling, the first time only)"):
        beside = subprocess.Popen(other)
        try:
            chosen = study.only(methods=own)
            failed = run(chosen, collect(chosen).found, results, n_jobs=1, progress=Silence())
        finally:
            if sys.exc_info()[0] is not None:
                beside.terminate()
            code = beside.wait()
    if failed or code:
        raise typer.Exit(FAILED)
    rows = finished(study, collect(study).found, results)
    with screen.status("writing the report"):
        write_page(rows, output)
    if json:
        print_json({**_as_json(rows, results), "report": str(output)})
        return
    _show_demo(rows)
    screen.print(f"report: {output}    results: {results}", markup=False)


def _show_demo(rows: list[Line]) -> None:
    study = Study.read("demo")
    (data,) = collect(study).found
    screen = console()
    table = RichTable(
        title=f"{data.name}: {data.n_train} training and {len(data.test)} test series"
    )
    for column in ("method", "test error %", "trials", "cells to classify a series"):
        table.add_column(column, justify="left" if column == "method" else "right")
    for (_, method), entry in sorted(summarize(rows).items(), key=lambda item: _order(item[0][1])):
        cells = next(row["predict_cells"] for row in rows if row["method"] == method)
        per_case = cells / len(data.test)
        counted = f"{per_case:,.0f}" if cells else ""
        table.add_row(method, str(entry), str(entry.trials), counted)
    screen.print(table)
    screen.print(
        "Nearest neighbours align a series with every training series (NN+ALL) or with a prototype "
        "of each class; elastic linear classifiers with one narrow weight matrix.  Random elastic "
        "features (eFEAT) are not aligned as a whole."
    )


def _order(method: str) -> int:
    return [each.name for each in Study.read("demo").methods].index(method)


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    for command in (demo, reproduce, report):
        app.command()(command)
