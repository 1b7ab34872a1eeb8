"""Commands for studies: reproduce, report."""

from __future__ import annotations

from dataclasses import replace
from importlib import resources
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from zipfile import is_zipfile

import typer
from rich.box import SIMPLE_HEAD
from rich.table import Table as RichTable
from rich.text import Text

from warplearn.cli import INTERRUPTED
from warplearn.cli.common import check_labelled, load_series, print_json
from warplearn.cli.options import FAILED, AsJson, DataFolder, Jobs, Reading, TestReading, friendly
from warplearn.cli.terminal import console, say
from warplearn.text import printable

if TYPE_CHECKING:
    from warplearn.experiments import Cell, Data, Study, Table
    from warplearn.experiments.journal import Line

# The studies that come with the package; listed so that --help need not import them.
_STUDIES = ", ".join(
    sorted(
        Path(file.name).stem
        for file in (resources.files("warplearn") / "experiments" / "studies").iterdir()
    )
)
_STYLES = {"failed": "bold red"}  # of marks; others are colours themselves
_GRACE = 2.0  # seconds that threads have to end after an interrupt


def print_table(table: Table) -> None:
    """A table on the terminal, marked cells in colour."""
    screen = console()
    rich_table = RichTable(title=table.title, box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    rich_table.add_column(table.columns[0], overflow="fold")
    for column in table.columns[1:]:
        rich_table.add_column(column, justify="right", no_wrap=True)
    for row in table.rows:
        rich_table.add_row(*map(_rich_text, row))
    screen.print(rich_table)
    for note in table.notes:
        screen.print(note, markup=False)


def _rich_text(cell: Cell) -> Text:
    return Text(printable(cell.text).replace(" (", "\n("), _STYLES.get(cell.mark, cell.mark))


def save_figures(rows: list[Line], results: Path) -> list[Path]:
    """The figures that a study asks for, beside its results, if there is a library to draw them."""
    from warplearn.experiments.tables import drawings_of

    drawings = drawings_of(rows)
    if drawings and not find_spec("matplotlib"):
        say("no figure: matplotlib is missing; run: pip install matplotlib", err=True)
        return []
    paths = []
    for number, drawing in enumerate(drawings):
        path = results.with_suffix(f".{number + 1}.svg" if number else ".svg")
        drawing.figure().savefig(path, metadata={"Date": None})
        paths.append(path)
    return paths


def summary_of(rows: list[Line], failures: list[Line], path: Path) -> dict[str, Any]:
    """A summary of results for programs."""
    from warplearn.experiments.results import totals
    from warplearn.experiments.tables import presentation_of

    return {
        "results": str(path),
        "source": sorted({row["source"] for row in rows}),
        "entries": presentation_of(rows).entries(rows),
        "failures": [
            {key: line[key] for key in ("dataset", "method", "message")} for line in failures
        ],
        **totals(path)._asdict(),
    }


@friendly
def reproduce(
    study: Annotated[str, typer.Argument(help=f"{_STUDIES}, or a TOML file of your own.")],
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
    download: Annotated[bool, typer.Option(help="Download data sets that are not here.")] = False,
    jobs: Jobs = -1,
    scheduler: Annotated[
        str | None,
        typer.Option(help="Address of a Dask scheduler whose workers compute, as tcp://HOST:8786."),
    ] = None,
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

    `warplearn reproduce comparison --scheduler tcp://10.0.0.1:8786`
    """
    from warplearn.experiments import Study, finished, table_of
    from warplearn.experiments.results import totals

    chosen = Study.read(study)
    if quick:
        chosen = chosen.quick()
    chosen = chosen.only(_names(datasets), _names(methods))
    if trials is not None:
        chosen = replace(chosen, trials=trials)
    cases = _collect(chosen, data, download, instead=datasets is None)
    suffix = "-quick" if quick else ""
    path = output or Path("results") / f"{chosen.name}{suffix}.jsonl"
    failures = run_study(chosen, cases, path, jobs, quiet, scheduler)
    rows = finished(chosen, cases, path)
    if not rows:
        raise typer.Exit(FAILED)
    figures = save_figures(rows, path)
    if json:
        print_json(summary_of(rows, failures, path))
    elif not quiet:
        print_table(table_of(rows, failures))
        say(f"{len(rows)} trials in {path}: {totals(path)}")
        for figure in figures:
            say(f"figure: {figure}")
    if failures:
        raise typer.Exit(FAILED)


def _names(text: str | None) -> list[str] | None:
    return None if text is None else [name.strip() for name in text.split(",") if name.strip()]


def _collect(study: Study, directory: Path | None, download: bool, *, instead: bool) -> list[Data]:
    """The data sets of a study; built-in ones in their place only if `instead`."""
    from warplearn.experiments import collect

    collected = collect(study, directory, download=download)
    if collected.replaced and instead:
        say(
            "None of the study's data sets is here: built-in, generated ones are used instead. "
            "Give --data DIR, set WARPLEARN_DATA, or try --download.",
            err=True,
        )
    elif collected.missing:
        for reason in collected.missing.values():
            say(f"left out: {reason}", err=True)
        if collected.replaced or not collected.data:
            raise typer.Exit(FAILED)
    for each in collected.data:
        if not len(each.test):
            say(f"{each.name} has no test series: judged by cross-validation", err=True)
    return collected.data


def run_study(
    study: Study,
    cases: list[Data],
    path: Path,
    jobs: int,
    quiet: bool,
    scheduler: str | None = None,
) -> list[Line]:
    """Carry out a study; the failures."""
    from warplearn.experiments import run
    from warplearn.experiments.progress import FailuresOnly

    options: dict[str, Any] = {"progress": FailuresOnly() if quiet else None, "grace": _GRACE}
    try:
        if scheduler is None:
            return run(study, cases, path, n_jobs=jobs, **options)
        from distributed import Client

        from warplearn.dask import caller

        with Client(scheduler) as client:
            threads = max(1, sum(client.nthreads().values()))
            return run(study, cases, path, n_jobs=threads, call=caller(client), **options)
    except KeyboardInterrupt:
        say(f"interrupted; what is finished is in {path}, run again to go on", err=True)
        raise typer.Exit(INTERRUPTED) from None


@friendly
def report(
    sources: Annotated[
        list[str], typer.Argument(help="Files of results; or a model, and labelled series.")
    ],
    reading: TestReading,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Page to write: .html or .md.")
    ] = None,
    json: AsJson = False,
) -> None:
    """Show results as tables, or write them, or a model, as a page that works offline.

    Of results, the page shows the models that the study stored, see its key `views`.  Of a model,
    it shows mistakes, calibration, examples, explanations, size and speed on the given series.

    Examples
    --------
    `warplearn report results/comparison.jsonl -o report.html`

    `warplearn report results/comparison.jsonl -o table.md`

    `warplearn report model.warp my.csv -o page.html`
    """
    if is_zipfile(sources[0]):
        _report_model(sources, output, reading)
    else:
        _report_results([Path(source) for source in sources], output, json)
    if output is None:
        return
    if json:
        print_json({"page": str(output), "bytes": output.stat().st_size})
    else:
        say(f"wrote {output}")


def _report_model(sources: list[str], output: Path | None, reading: Reading) -> None:
    from warplearn.cli.storage import load_model
    from warplearn.experiments.model_page import write_model_page

    if len(sources) != 2:
        raise typer.BadParameter(
            f"must be a model and one file or name of series, got {len(sources)} arguments",
            param_hint="SOURCES",
        )
    if output is None or output.suffix != ".html":
        raise typer.BadParameter(
            f"must end in .html for the page of a model, got {str(output or '')!r}",
            param_hint="--output",
        )
    model, cases = load_model(Path(sources[0])), check_labelled(load_series(sources[1], reading))
    write_model_page(model, cases.X, cases.y, output, name=cases.name)


def _report_results(results: list[Path], output: Path | None, json: bool) -> None:
    from warplearn.experiments import read_failures, read_rows, table_of
    from warplearn.experiments.results import totals

    lines = {path: (read_rows(path), read_failures(path)) for path in results}
    for path, (rows, failures) in lines.items():
        if not rows and not failures:
            raise ValueError(f"{path} holds no trials")
    if output is None:
        for path, (rows, failures) in lines.items():
            if json:
                print_json(summary_of(rows, failures, path))
            else:
                print_table(table_of(rows, failures))
                say(f"{len(rows)} trials in {path}: {totals(path)}")
        return
    if output.suffix not in _WRITERS:
        raise typer.BadParameter(
            f"must end in {' or '.join(_WRITERS)}, got {str(output)!r}", param_hint="--output"
        )
    _WRITERS[output.suffix](results, output)


def _write_html(results: list[Path], output: Path) -> None:
    from warplearn.experiments import read_failures, read_rows, read_views
    from warplearn.experiments.report import write_report

    rows, failures, views = (
        [line for path in results for line in read(path)]
        for read in (read_rows, read_failures, read_views)
    )
    write_report(rows, output, views=views, failures=failures)


def _write_markdown(results: list[Path], output: Path) -> None:
    from warplearn.experiments import read_failures, read_rows, table_of
    from warplearn.experiments.results import totals

    sections = []
    for path in results:
        rows, failures = read_rows(path), read_failures(path)
        machines = "; ".join(dict.fromkeys(row["machine"] for row in rows))
        table = table_of(rows, failures).markdown()
        sections.append(f"{table}\n\n{len(rows)} trials: {totals(path)}, on {machines}.")
    output.write_text("\n\n".join(sections) + "\n", "utf-8")


_WRITERS = {".html": _write_html, ".md": _write_markdown}


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    for command in (reproduce, report):
        app.command()(command)
