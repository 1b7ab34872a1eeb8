"""The command line: `warplearn demo` aligns two series and measures the speed of this machine.

typer and rich come with the extra `cli`, so they are imported where they are used.
"""

import sys
from time import perf_counter
from typing import TYPE_CHECKING, Annotated

import numba
import numpy as np
from numpy.typing import NDArray

from warplearn import __version__
from warplearn.bands import Band, band_mask
from warplearn.warping import WarpingPath, pairwise_dtw, warping_path

if TYPE_CHECKING:
    import typer
    from rich.console import Console

Series = NDArray[np.float64]


def example_pair(seed: int = 0) -> tuple[Series, Series]:
    """A bump of 24 points and a late, slow and noisy one of 48."""

    def bump(length: int, peak: float, width: float) -> Series:
        time = np.linspace(0.0, 1.0, length)
        return np.exp(-0.5 * ((time - peak) / width) ** 2)

    noise = np.random.default_rng(seed).normal(scale=0.05, size=48)
    return bump(24, 0.35, 0.10), bump(48, 0.60, 0.15) + noise


def draw_grid(path: NDArray[np.int64], mask: NDArray[np.bool_], *, ascii_only: bool) -> str:
    """The path on its grid, a line for each element of x; cells outside the band are blank."""
    inside, on_path = ".#" if ascii_only else "·█"
    cells = np.where(mask, inside, " ")
    cells[path[:, 0], path[:, 1]] = on_path
    return "\n".join("".join(row) for row in cells)


def draw_series(x: Series, low: float, high: float, *, ascii_only: bool) -> str:
    """A series as a row of bars between `low` and `high`."""
    bars = np.array(list("_.-:=+*#" if ascii_only else "▁▂▃▄▅▆▇█"))
    heights = (x - low) / (high - low) * (len(bars) - 1)
    return "".join(bars[heights.round().astype(int)])


def measure_speed(n_jobs: int, cases: int = 200, length: int = 150) -> float:
    """Cells of `pairwise_dtw` a second, in float32, once its kernels are compiled."""
    X, Y = np.random.default_rng(0).normal(size=(2, cases, length)).astype(np.float32)
    times = []
    for _ in range(8):  # the first is the warm-up
        start = perf_counter()
        pairwise_dtw(X, Y, n_jobs=n_jobs)
        times.append(perf_counter() - start)
    return cases**2 * length**2 / min(times[1:])


def parse_band(text: str | None) -> Band:
    """A band as the command line gives it: `3` is cells, `0.1` a fraction."""
    if text is None:
        return None
    return int(text) if text.lstrip("-").isdecimal() else float(text)


def show_alignment(
    console: "Console", x: Series, y: Series, band: Band, aligned: WarpingPath
) -> None:
    """Print the distance, the path on its grid, and the series before and after."""
    from rich.table import Table
    from rich.text import Text

    plain = console.options.ascii_only
    path, distance = aligned
    console.print(f"x has {len(x)} points, y {len(y)}; distance [bold]{distance:.4f}[/bold]\n")
    console.print("warping path, x from top to bottom, y from left to right:")
    mask = band_mask(len(x), len(y), band)
    console.print(Text(draw_grid(path, mask, ascii_only=plain), "cyan", no_wrap=True))

    low, high = min(x.min(), y.min()), max(x.max(), y.max())
    table = Table.grid(padding=(0, 2))
    names = ("x", "y", "x warped", "y warped")
    for name, values in zip(names, (x, y, x[path[:, 0]], y[path[:, 1]]), strict=True):
        bars = draw_series(values, low, high, ascii_only=plain)
        colour = "green" if name.startswith("x") else "yellow"
        table.add_row(name, Text(bars, colour, no_wrap=True))
    console.print("", table, "", sep="\n")


def show_speed(console: "Console") -> None:
    """Print how fast pairwise distances are, on one thread and on all."""
    console.print("pairwise_dtw of 200 x 200 series of length 150, float32:")
    for threads in sorted({1, int(numba.config.NUMBA_NUM_THREADS)}):
        with console.status("compiling, the first time only, and measuring"):
            speed = measure_speed(threads)
        unit = "thread" if threads == 1 else "threads"
        console.print(f"{threads:>3} {unit:<8}{speed / 1e9:5.1f} billion cells a second")


def application() -> "typer.Typer":
    """The commands, as typer takes them."""
    import typer
    from rich.console import Console

    title = "Learning on time series under elastic transformations."
    app = typer.Typer(help=title, no_args_is_help=True, add_completion=False)

    def show_version(wanted: bool) -> None:
        if wanted:
            typer.echo(f"warplearn {__version__}")
            raise typer.Exit

    @app.callback()
    def options(
        version: Annotated[
            bool, typer.Option("--version", callback=show_version, is_eager=True)
        ] = False,
    ) -> None: ...

    @app.command()
    def demo(
        band: Annotated[
            str | None, typer.Option(help="Sakoe-Chiba band: cells (3) or a fraction (0.1).")
        ] = None,
        seed: Annotated[int, typer.Option(min=0, help="Of the noise.")] = 0,
    ) -> None:
        """Align two built-in series, show the path, and measure the speed."""
        x, y = example_pair(seed)
        try:
            radius = parse_band(band)
            aligned = warping_path(x, y, radius)
        except ValueError as error:
            raise typer.BadParameter(str(error), param_hint="--band") from None
        console = Console(highlight=False)
        show_alignment(console, x, y, radius, aligned)
        show_speed(console)

    return app


def main() -> None:
    """Run the command line; without its extra, say how to get it."""
    try:
        app = application()
    except ModuleNotFoundError as error:
        if error.name not in ("rich", "typer"):
            raise
        sys.exit(f"warplearn: {error.name} is missing; run: pip install 'warplearn[cli]'")
    app()
