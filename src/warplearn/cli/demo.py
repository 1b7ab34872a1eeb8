"""`warplearn demo`: what the library is for, on real data that come with it."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

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
_CLASSES = {-1: "of an infarction", 1: "normal"}
_NEAR = 1.0  # percentage points
_TITLE = "warplearn demo: accuracy, size and speed on real data"


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

    The data come with the package.  The first time it takes half a minute or a minute, most of it
    for compiling; later some seconds.

    With `--stream`, a recording made of real series plays in the terminal: a detector, trained on
    other series, follows it packet by packet, and events are marked as they are found. Without a
    terminal, each event is a line.

    Example: `warplearn demo -o demo.html`
    """
    if stream:
        play(json=json)
        return
    from warplearn._kernels.simd.threads import thread_count
    from warplearn.experiments import Study, collect, finished, read_views
    from warplearn.experiments.report import write_report

    start = time.perf_counter()
    screen, results = console(), output.with_suffix(".jsonl")
    study = Study.read("demo")
    cases = collect(study).data
    with screen.status("preparing kernels (compiled the first time only)"):
        _prepare(study, one_process=thread_count(jobs) == 1)
    prepared = time.perf_counter() - start
    if run_study(study, cases, results, 1, quiet=json):
        raise typer.Exit(FAILED)
    rows = finished(study, cases, results)
    with screen.status("writing the report"):
        write_report(rows, output, views=_in_order(read_views(results), cases), title=_TITLE)
    if json:
        print_json({**summary_of(rows, [], results), "report": str(output)})
        return
    order = [data.name for data in cases]
    figures = figures_of(sorted(rows, key=lambda row: order.index(row["dataset"])))
    screen.print(_comparison(figures))
    _follow(study, next(case for case in cases if case.name == _EXPLAINED))
    screen.print(f"\n{conclusion(figures)}\n", markup=False)
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

    A process compiles one kernel at a time, so there are two of them if there are cores for them.
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
            # With as many series as matrices, or more, they are scored as in the demo.
            view_of(model, data.X[:8], data.y[:8])


class Figures(NamedTuple):
    """What was measured of a method on a data set."""

    error: float  # percent, the mean of the trials
    size: float  # bytes of a model file
    decision: float  # seconds
    fit: float  # seconds


def figures_of(rows: list[Line]) -> dict[str, dict[str, Figures]]:
    """What was measured, by data set and method; of sizes and times the median of the trials."""
    import numpy as np

    trials: dict[str, dict[str, list[Line]]] = {}
    for row in rows:
        trials.setdefault(row["dataset"], {}).setdefault(row["method"], []).append(row)

    def median(own: list[Line], key: str) -> float:
        return float(np.median([row[key] for row in own]))

    return {
        data: {
            method: Figures(
                float(np.mean([row["error"] for row in own])), median(own, "model_bytes"),
                median(own, "decision_seconds"), median(own, "fit_seconds"),
            )
            for method, own in methods.items()
        }
        for data, methods in trials.items()
    }  # fmt: skip


def _best(methods: dict[str, Figures]) -> list[str]:
    """The methods with the fewest errors."""
    least = min(figures.error for figures in methods.values())
    return [method for method, figures in methods.items() if figures.error == least]


def _comparison(figures: dict[str, dict[str, Figures]]) -> Table:
    """Errors, sizes and times of all methods."""
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("data set")
    table.add_column("model")
    for column in ("errors", "size", "a decision", "training"):
        table.add_column(column, justify="right", no_wrap=True)
    for data, methods in figures.items():
        for index, (method, own) in enumerate(methods.items()):
            style = "bold green" if method in _best(methods) else ""
            table.add_row(
                data if not index else "", Text(method, style),
                Text(f"{own.error:.1f} %", style), f"{own.size / 1e3:,.0f} kB",
                f"{1e6 * own.decision:,.1f} µs", f"{own.fit:.2f} s",
                end_section=index == len(methods) - 1,
            )  # fmt: skip
    return table


def conclusion(figures: dict[str, dict[str, Figures]]) -> str:
    """One sentence that follows from what was measured.

    It says which method has the fewest errors on which data sets, and what the quickest one (by
    its slowest data set) saves.
    """
    won: dict[str, list[str]] = {}
    for data, methods in figures.items():
        for method in _best(methods):
            won.setdefault(method, []).append(data)
    slowest = {
        method: max(methods[method].decision for methods in figures.values())
        for method in next(iter(figures.values()))
    }
    quick = min(slowest, key=lambda method: slowest[method])
    rivals = [method for method in won if method != quick]
    if not rivals:
        return f"{quick.capitalize()} has the fewest errors and the quickest decisions: take it."

    def saved(rival: str) -> str:
        pairs = [(methods[rival], methods[quick]) for methods in figures.values()]
        faster = _range([slow.decision / own.decision for slow, own in pairs])
        share = _range([100 * own.size / slow.size for slow, own in pairs])
        return f"{faster} times as fast as {rival} with a file of {share} % of its size"

    winners = ", ".join(f"{method} on {_listed(names)}" for method, names in won.items())
    near = [
        data
        for data, methods in figures.items()
        if methods[quick].error <= min(own.error for own in methods.values()) + _NEAR
    ]
    where = (
        f"where it comes within a point of the best, as on {_listed(near)}"
        if near
        else "where this matters more than errors"
    )
    return (
        f"Fewest errors: {winners}; {quick} decides {_listed(list(map(saved, rivals)))}, "
        f"so take it {where}."
    )


def _listed(names: list[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _range(values: list[float]) -> str:
    """Two significant digits of the least and the greatest."""
    return " to ".join(f"{float(f'{value:.2g}'):,g}" for value in (min(values), max(values)))


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
