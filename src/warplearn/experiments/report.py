"""One page with everything: tables that sort, figures, and models to look into.

The page is one file that asks nobody for anything: styles, scripts, figures and data are in it,
and its content security policy forbids the rest.  Nothing is trained here: models to look into are
the views that the run of a study stored (see `warplearn.experiments.views`).
"""

from __future__ import annotations

import html
import io
import json
import re
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warplearn.experiments.journal import Line
from warplearn.experiments.tables import Cell, Drawing, Table, details_table, drawings_of, table_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# matplotlib cannot write currentColor: this stands for it until the figure is text.
_INK = "#010203"
_INKED = ("axes.edgecolor", "axes.labelcolor", "text.color", "xtick.color", "ytick.color")


def write_report(
    rows: Sequence[Line],
    path: str | Path,
    *,
    views: Sequence[Line] = (),
    failures: Sequence[Line] = (),
    title: str = "warplearn: results",
) -> Path:
    """Write a page about results.

    Parameters
    ----------
    rows : sequence of dict
        Trials, as `read_rows` gives them.
    path : path
        The file to write, at once: there is all of it or what was there before.
    views : sequence of dict
        Models to look into, as `read_views` gives them.
    failures : sequence of dict
        As `read_failures` gives them.
    title : str

    Returns
    -------
    path
    """
    if not rows and not failures:
        raise ValueError("rows must hold at least one trial, got none")
    body = [_origin(rows)] if rows else []
    for study in dict.fromkeys(line["study"] for line in (*rows, *failures)):
        own, failed = (
            [line for line in each if line["study"] == study] for each in (rows, failures)
        )
        body.append(_study_section(study, own, failed))
    page = _fill(
        "report.html", TITLE=html.escape(title), STYLE=_part("report.css"),
        SCRIPT=_part("report.js"), BODY="\n".join(body), MISSING=_missing_note(rows, views),
        DATA=_json([_titled(line, views) for line in views]), VIEWER="" if views else "hidden",
    )  # fmt: skip
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    scratch = target.with_name(f".{target.name}.part")
    scratch.write_text(page, "utf-8")
    scratch.replace(target)
    return target


def _titled(line: Line, views: Sequence[Line]) -> Line:
    """A view, with the method in its name if there are several of one data set."""
    several = sum(each["dataset"] == line["dataset"] for each in views) > 1
    name = f"{line['dataset']}, {line['method']}" if several else line["dataset"]
    return {**line["view"], "name": name}


def _missing_note(rows: Sequence[Line], views: Sequence[Line]) -> str:
    """Which data sets have no model to look into."""
    viewed = {line["dataset"] for line in views}
    names = [name for name in dict.fromkeys(row["dataset"] for row in rows) if name not in viewed]
    if not viewed or not names:
        return ""
    return f"<p class=note>No model of {html.escape(', '.join(names))} was stored.</p>"


# Figures.


def _figure_of(drawing: Drawing, salt: str) -> str:
    """Panels side by side, or below each other where there is no room, and their caption."""
    from matplotlib import rc_context

    settings: Any = dict.fromkeys(_INKED, _INK)
    settings |= {"svg.fonttype": "none", "svg.hashsalt": salt}
    with rc_context(settings):
        panels = "".join(_svg(drawing.figure(title)) for title in drawing.panels)
    caption = html.escape(drawing.caption)
    return f"<figure><div class=panels>{panels}</div><figcaption>{caption}</figcaption></figure>"


def _svg(figure: Figure) -> str:
    """A figure as an element of the page, in the colours of the text around it."""
    stream = io.StringIO()
    figure.savefig(stream, format="svg", transparent=True, metadata={"Date": None})
    text = stream.getvalue()
    text = text[text.index("<svg") :].replace(_INK, "currentColor")
    # It may grow and shrink a little with the page; the view box keeps the proportions.
    inches = figure.get_figwidth()
    size = f'style="min-width:{4.4 * inches:.0f}rem;max-width:{6.5 * inches:.0f}rem"'
    return re.sub(r' (width|height)="[\d.]+pt"', "", text, count=2).replace(
        "<svg", f"<svg {size}", 1
    )


# Text.


def _study_section(study: str, rows: Sequence[Line], failures: Sequence[Line]) -> str:
    parts = [f"<section><h2>{html.escape(study)}</h2>", _table(table_of(rows, failures))]
    if rows:
        parts += [_figure_of(drawing, study) for drawing in drawings_of(rows)]
        details = _table(details_table(rows))
        parts.append(f"<details><summary>Times and parameters</summary>{details}</details>")
    return "\n".join([*parts, "</section>"])


def _table(table: Table) -> str:
    """A table whose columns sort."""
    heads = "".join(
        f'<th scope="col"><button type="button">{html.escape(c)}</button></th>'
        for c in table.columns
    )
    body = "".join(
        "<tr>" + "".join(_data_cell(cell) for cell in row) + "</tr>" for row in table.rows
    )
    notes = "".join(f"<p class=note>{html.escape(note)}</p>" for note in table.notes)
    return (
        f"<p class=note>{html.escape(table.title)}</p><div class=scroll><table class=sortable>"
        f"<thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></div>{notes}"
    )


def _data_cell(cell: Cell) -> str:
    """A cell; the browser sorts by its value, and behind all values by its text."""
    mark = f'<span class="dot {html.escape(cell.mark)}"></span>' if cell.mark else ""
    value = "" if cell.value is None else f' class=number data-value="{float(cell.value)!r}"'
    return f"<td{value}>{mark}{html.escape(cell.text)}</td>"


def _origin(rows: Sequence[Line]) -> str:
    """Where the results come from."""
    versions = dict(next((row["versions"] for row in rows if row.get("versions")), {}))
    machine = next((row["machine"] for row in rows if row.get("machine")), "")
    parts = [
        f"{len(rows)} trials on {len({row['dataset'] for row in rows})} data sets",
        ", ".join(f"{name} {text}" for name, text in versions.items()),
        machine,
    ]
    return f"<p>{html.escape('; '.join(part for part in parts if part))}.</p>"


def _json(data: Any) -> str:
    """JSON that can stand in a script element."""
    return json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")


def _part(name: str) -> str:
    return (resources.files(__package__) / "page" / name).read_text("utf-8")


def _fill(name: str, **parts: str) -> str:
    """A template with what stands between double braces replaced."""
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], _part(name))
