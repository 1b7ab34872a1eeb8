"""A page about results: tables that sort, figures, and models to look into.

Nothing is trained here: models to look into are the views that the run of a study stored (see
`warplearn.experiments.views`).
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from warplearn.experiments.journal import Line
from warplearn.experiments.pages import counted, figure_html, table_html, write_page
from warplearn.experiments.tables import Drawing, details_table, drawings_of, table_of


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
    named = [_titled(line, views) for line in views]
    return write_page(path, title, body, named, _missing_note(rows, views))


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
    figures = [partial(drawing.figure, title) for title in drawing.panels]
    return figure_html(figures, drawing.caption, salt)


# Text.


def _study_section(study: str, rows: Sequence[Line], failures: Sequence[Line]) -> str:
    parts = [f"<section><h2>{html.escape(study)}</h2>", table_html(table_of(rows, failures))]
    if rows:
        parts += [_figure_of(drawing, study) for drawing in drawings_of(rows)]
        details = table_html(details_table(rows))
        parts.append(f"<details><summary>Times and parameters</summary>{details}</details>")
    return "\n".join([*parts, "</section>"])


def _origin(rows: Sequence[Line]) -> str:
    """Where the results come from."""
    versions = dict(next((row["versions"] for row in rows if row.get("versions")), {}))
    machine = next((row["machine"] for row in rows if row.get("machine")), "")
    n_sets = len({row["dataset"] for row in rows})
    parts = [
        f"{counted(len(rows), 'trial')} on {counted(n_sets, 'data set')}",
        ", ".join(f"{name} {text}" for name, text in versions.items()),
        machine,
    ]
    return f"<p>{html.escape('; '.join(part for part in parts if part))}.</p>"
