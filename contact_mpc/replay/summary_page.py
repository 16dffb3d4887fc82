"""A self-contained HTML page with plots and tables about many runs; it loads nothing from anywhere."""

import html
from collections.abc import Mapping, Sequence
from pathlib import Path
from string import Template

from contact_mpc.errors import InputError
from contact_mpc.replay.figures import Figure
from contact_mpc.replay.report import asset, inline_json, plot_card, plotly_source

Rows = Sequence[Sequence[str]]


def write_page(path: Path, heading: str, subtitle: str, figures: list[Figure], tables: Mapping[str, Rows]) -> Path:
    """Write the page; tables are rows of text by title, the first row the head.

    Raises
    ------
    InputError
        The file cannot be written, or plotly is not installed.
    """
    fields = {
        "title": html.escape(f"{heading}: contact_mpc"),
        "heading": html.escape(heading),
        "subtitle": html.escape(subtitle),
        "plots": "\n".join(plot_card(figure) for figure in figures),
        "tables": "\n".join(_table(title, rows) for title, rows in tables.items()),
        "style": asset("report.css"),
        "plotly": plotly_source(),
        "data": inline_json({figure.key: figure.to_json() for figure in figures}),
    }
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(Template(asset("summary.html")).substitute(fields), encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path}: the report cannot be written ({error.strerror}); choose another --report") from error
    return path


def _table(title: str, rows: Rows) -> str:
    head, *body = rows
    cells = "".join(f'<th class="number">{html.escape(name)}</th>' for name in head[1:])
    lines = "".join(
        f"<tr><td>{html.escape(row[0])}</td>"
        + "".join(f'<td class="number">{html.escape(cell)}</td>' for cell in row[1:])
        + "</tr>"
        for row in body
    )
    table = f"<table><thead><tr><th>{html.escape(head[0])}</th>{cells}</tr></thead><tbody>{lines}</tbody></table>"
    return f'<section class="card"><h2>{html.escape(title)}</h2>{table}</section>'
