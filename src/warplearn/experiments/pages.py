"""Pages: one file that asks nobody for anything.

Styles, scripts, figures and data are in the page, and its content security policy forbids the rest.
"""

from __future__ import annotations

import base64
import html
import io
import json
import re
from collections.abc import Callable, Sequence
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warplearn.experiments.tables import Cell, Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# matplotlib cannot write currentColor: this stands for it until the figure is text.
_INK = "#010203"
_INKED = ("axes.edgecolor", "axes.labelcolor", "text.color", "xtick.color", "ytick.color")


def write_page(
    path: str | Path, title: str, body: Sequence[str], views: Sequence[Any] = (), after: str = ""
) -> Path:
    """Write a page at once: there is all of it or what was there before.

    Parameters
    ----------
    path : path
    title : str
    body : sequence of str
        HTML.
    views : sequence of dict
        Models to look into (see `warplearn.experiments.views`), each with a name.
    after : str
        HTML to follow them.
    """
    page = _fill(
        "report.html", TITLE=html.escape(title), STYLE=_part("report.css"),
        SCRIPT=_part("report.js") + _part("draw.js"), ENGINE=_engine() if views else "",
        BODY="\n".join(body), MISSING=after,
        DATA=_json(list(views)), VIEWER="" if views else "hidden",
    )  # fmt: skip
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    scratch = target.with_name(f".{target.name}.part")
    scratch.write_text(page, "utf-8")
    scratch.replace(target)
    return target


def figure_html(figures: Sequence[Callable[[], Figure]], caption: str, salt: str) -> str:
    """Figures side by side, or below each other where there is no room, and their caption."""
    from matplotlib import rc_context

    settings: Any = dict.fromkeys(_INKED, _INK)
    settings |= {"svg.fonttype": "none", "svg.hashsalt": salt}
    settings["text.parse_math"] = False  # names may have dollar signs
    with rc_context(settings):
        panels = "".join(_svg(make(), caption) for make in figures)
    said = html.escape(caption)
    return f"<figure><div class=panels>{panels}</div><figcaption>{said}</figcaption></figure>"


def _svg(figure: Figure, caption: str) -> str:
    """A figure as an element of the page, in the colours of the text around it."""
    stream = io.StringIO()
    figure.savefig(stream, format="svg", transparent=True, metadata={"Date": None})
    text = stream.getvalue()
    text = text[text.index("<svg") :].replace(_INK, "currentColor")
    # It may grow and shrink a little with the page; the view box keeps the proportions.
    inches = figure.get_figwidth()
    size = f'style="min-width:{4.4 * inches:.0f}rem;max-width:{6.5 * inches:.0f}rem"'
    titles = [axis.get_title() for axis in figure.axes]
    label = html.escape(": ".join(filter(None, [*titles, caption])))
    return re.sub(r' (width|height)="[\d.]+pt"', "", text, count=2).replace(
        "<svg", f'<svg role="img" aria-label="{label}" {size}', 1
    )


def table_html(table: Table) -> str:
    """A table whose columns sort."""
    heads = "".join(_head(column, table.legend.get(column, "")) for column in table.columns)
    body = "".join(
        "<tr>" + "".join(_data_cell(cell) for cell in row) + "</tr>" for row in table.rows
    )
    notes = "".join(f"<p class=note>{html.escape(note)}</p>" for note in table.notes)
    title = html.escape(table.title)
    return (
        f"<p class=note>{title}</p><div class=hint aria-hidden=true hidden>scroll sideways →</div>"
        f'<div class=scroll tabindex=0 role=region aria-label="{title}"><table class=sortable>'
        f"<thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></div>"
        f"{notes}{_legend(table)}"
    )


def _head(column: str, meaning: str) -> str:
    """The head of a column; what an abbreviation means shows on hover, and in the legend."""
    title = f' title="{html.escape(meaning)}"' if meaning else ""
    return f'<th scope="col"><button type="button"{title}>{html.escape(column)}</button></th>'


def _legend(table: Table) -> str:
    """What the abbreviations and colours of a table mean."""
    marks = {cell.mark for row in table.rows for cell in row}
    shown = {*table.columns, *(cell.text for row in table.rows for cell in row), *marks}
    entries = "".join(
        f"<dt>{_dot(name) if name in marks else ''}{html.escape(name)}</dt>"
        f"<dd>{html.escape(meaning)}</dd>"
        for name, meaning in table.legend.items()
        if name in shown
    )
    return f"<details open><summary>Legend</summary><dl>{entries}</dl></details>" if entries else ""


def _dot(mark: str) -> str:
    return f'<span class="dot {html.escape(mark)}"></span>'


def _data_cell(cell: Cell) -> str:
    """A cell; the browser sorts by its value, and behind all values by its text."""
    mark = _dot(cell.mark) if cell.mark else ""
    value = "" if cell.value is None else f' class=number data-value="{float(cell.value)!r}"'
    return f"<td{value}>{mark}{html.escape(cell.text)}</td>"


def counted(number: int, noun: str) -> str:
    """A number of things."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _json(data: Any) -> str:
    """JSON that can stand in a script element."""
    return json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")


def _part(name: str) -> str:
    return (resources.files(__package__) / "page" / name).read_text("utf-8")


def _engine() -> str:
    """The module that scores what a visitor draws (`tools/build_wasm.py`)."""
    module = (resources.files(__package__) / "page" / "follow.wasm").read_bytes()
    return base64.b64encode(module).decode("ascii")


def _fill(name: str, **parts: str) -> str:
    """A template with what stands between double braces replaced."""
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], _part(name))
