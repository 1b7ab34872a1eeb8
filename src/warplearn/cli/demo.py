"""`warplearn demo`: what the library is for, on real data that come with it."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from warplearn.cli.common import print_json
from warplearn.cli.drawing import draw_series
from warplearn.cli.options import FAILED, AsJson, friendly
from warplearn.cli.playing import play
from warplearn.cli.studies import run_study, summary_of
from warplearn.cli.terminal import console

if TYPE_CHECKING:
    from warplearn.experiments import Data, Study
    from warplearn.experiments.journal import Line

# The process beside the first one compiles for these, the first one for the others.
_BESIDE = ("1-NN DTW", "prototypes")
_EXPLAINED, _LINEAR = "ECG200", "elastic linear"
_CLASSES = {-1: "ischemic", 1: "normal"}
_TITLE = "warplearn demo: accuracy, size and speed on real data"
_CONCLUSION = (
    "Start with ElasticFeatureClassifier for the fewest errors; where ElasticLogisticRegression "
    "comes near it, as on ECG200 and ItalyPowerDemand, take it: it is far smaller and quicker than "
    "both features and 1-NN DTW, follows a stream and explains itself."
)


@friendly
def demo(
    output: Annotated[
        Path, typer.Option("-o", "--output", help="Report to write; results go beside it.")
    ] = Path("warplearn-demo.html"),
    jobs: Annotated[int, typer.Option("-j", "--jobs", help="1 keeps it to one core.")] = -1,
    stream: Annotated[
        bool, typer.Option("--stream", help="Follow a recording with a detector instead.")
    ] = False,
    json: AsJson = False,
) -> None:
    """Compare four kinds of model on real data: accuracy, size and speed; then write a report.

    The data come with the package.  The first time it takes a minute or two, nearly all of it for
    compiling; later half a minute at most.

    With `--stream`, a recording made of real series plays in the terminal: a detector, trained on
    other series, follows it packet by packet, and events are marked as they are found. Without a
    terminal, each event is a line.

    Example: `warplearn demo -o demo.html`
    """
    if stream:
        play(json=json)
        return
    from warplearn.experiments import Study, collect, finished, read_views
    from warplearn.experiments.report import write_report

    start = time.perf_counter()
    screen, results = console(), output.with_suffix(".jsonl")
    study = Study.read("demo")
    cases = collect(study).data
    with screen.status("preparing kernels (compiled the first time only)"):
        _prepare(study, one_process=jobs == 1)
    prepared = time.perf_counter() - start
    if run_study(study, cases, results, 1, quiet=json):
        raise typer.Exit(FAILED)
    rows = finished(study, cases, results)
    with screen.status("writing the report"):
        write_report(rows, output, views=_in_order(read_views(results), cases), title=_TITLE)
    if json:
        print_json({**summary_of(rows, [], results), "report": str(output)})
        return
    screen.print(_comparison(rows, cases))
    _follow(study, next(case for case in cases if case.name == _EXPLAINED))
    screen.print(f"\n{_CONCLUSION}\n", markup=False)
    whole = time.perf_counter() - start
    screen.print(
        f"report: {output}    results: {results}    {whole:.0f} s, {prepared:.0f} of them to "
        "prepare kernels",
        markup=False,
    )


def _in_order(views: list[Line], cases: list[Data]) -> list[Line]:
    names = [data.name for data in cases]
    return sorted(views, key=lambda view: names.index(view["dataset"]))


def _prepare(study: Study, *, one_process: bool) -> None:
    """Compile what the methods need, so that times are those of computing.

    A process compiles one kernel at a time, so there are two of them.
    """
    names = [method.name for method in study.methods]
    if one_process:
        warm_up(names)
        return
    code = f"from warplearn.cli.demo import warm_up; warm_up({_BESIDE!r})"
    beside = subprocess.Popen([sys.executable, "-c", code])
    try:
        warm_up([name for name in names if name not in _BESIDE])
    finally:
        if sys.exc_info()[0] is not None:
            beside.terminate()
        beside.wait()
    warm_up(_BESIDE)  # reads what the other process has compiled


def warm_up(names: Any) -> None:
    """Fit and use each of these methods of the demo once."""
    from warplearn.experiments import Data, Study
    from warplearn.experiments.views import can_be_viewed, view_of

    data = Data.load(_EXPLAINED)
    for method in Study.read("demo").only(methods=list(names)).methods:
        model = method.make(0).fit(data.X[data.train], data.y[data.train])
        model.predict(data.X[data.train])
        if can_be_viewed(model):
            model.stream().push([0.0])
            view_of(model, data.X[:1], data.y[:1])


def _comparison(rows: list[Line], cases: list[Data]) -> Table:
    """Errors, sizes and times of all methods."""
    import numpy as np

    from warplearn.experiments.results import summarize

    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("data set")
    table.add_column("model")
    for column in ("errors", "size", "a decision", "training"):
        table.add_column(column, justify="right", no_wrap=True)
    entries = summarize(rows)
    for data in cases:
        own = {method: entry for (name, method), entry in entries.items() if name == data.name}
        least = min(entry.mean for entry in own.values())
        for index, (method, entry) in enumerate(own.items()):
            mine = [r for r in rows if (r["dataset"], r["method"]) == (data.name, method)]
            size, decision, fit = (
                float(np.median([row[key] for row in mine]))
                for key in ("model_bytes", "decision_seconds", "fit_seconds")
            )
            style = "bold green" if entry.mean == least else ""
            table.add_row(
                data.name if not index else "", Text(method, style),
                Text(f"{entry.mean:.1f} %", style), f"{size / 1e3:,.0f} kB",
                f"{1e6 * decision:,.1f} µs", f"{fit:.2f} s",
                end_section=index == len(own) - 1,
            )  # fmt: skip
    return table


def _follow(study: Study, data: Data) -> None:
    """A decision that follows a stream, and what each time step contributed to it."""
    import numpy as np

    screen = console()
    (method,) = study.only(methods=[_LINEAR]).methods
    model = method.make(study.seed).fit(data.X[data.train], data.y[data.train])
    X, y = data.X[data.test], data.y[data.test]
    values = np.array([_streamed(model, x) for x in X])
    right = (values > 0) == (y == model.classes_[1])[:, None]
    case = int(np.flatnonzero(right[:, -1] & (y == -1))[0])
    contributions = np.asarray(model.explain(X[[case]]).contributions[0], float)
    screen.print(
        f"A heartbeat of {data.name}, followed sample by sample by one elastic linear model:",
        markup=False,
    )
    plain, width = screen.options.ascii_only, max(10, screen.width - 20)
    grid = Table.grid(padding=(0, 2))
    lines = {"series": X[case], "decision": values[case], "contributions": contributions}
    for name, line in lines.items():
        bars = draw_series(
            line, float(line.min()), float(line.max()), ascii_only=plain, width=width
        )
        grid.add_row(name, Text(bars, "cyan", no_wrap=True))
    screen.print(grid)
    top = np.argsort(-np.abs(contributions), kind="stable")[:3]
    steps = ", ".join(f"{step} ({contributions[step]:+.2f})" for step in top)
    length = X.max_length
    shares = ", ".join(
        f"{right[:, length * quarter // 4 - 1].mean():.0%} after {length * quarter // 4}"
        for quarter in (1, 2, 3, 4)
    )
    screen.print(
        f"It is {_CLASSES[int(y[case])]}, and recognized; the time steps that count most are "
        f"{steps}. Of all {len(X)} test series, the decision is right for {shares} samples.",
        markup=False,
    )


def _streamed(model: Any, x: Any) -> list[float]:
    """The decision value after each sample."""
    online = model.stream()
    return [float(online.push([sample])) for sample in x]


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(demo)
