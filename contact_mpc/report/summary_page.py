"""A self-contained HTML page with plots and tables about many runs; it loads nothing from anywhere."""

import html
import platform
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from string import Template

from contact_mpc.report.page import PLOTLY, asset, inline_json, page_head, plot_card, write_text
from contact_mpc.report.plotting.figures import Figure
from contact_mpc.version import __version__

Rows = Sequence[Sequence[str]]


def write_page(
    path: Path,
    heading: str,
    subtitle: str,
    figures: list[Figure],
    tables: Mapping[str, Rows],
    goal_met: bool | None = None,
) -> Path:
    """Write the page of `render_page`; raises InputError where the file cannot be written."""
    return write_text(path, render_page(heading, subtitle, figures, tables, goal_met))


def render_page(
    heading: str, subtitle: str, figures: list[Figure], tables: Mapping[str, Rows], goal_met: bool | None = None
) -> str:
    """Return the page; tables are rows of text by title, the first row the head; goal_met is its verdict, if any."""
    fields = {
        "head": page_head(f"{heading}: contact_mpc"),
        "heading": html.escape(heading),
        "subtitle": html.escape(subtitle),
        "verdict": verdict(goal_met),
        "plots": "\n".join(plot_card(figure) for figure in figures),
        "tables": "\n".join(_table(title, rows) for title, rows in {**tables, "Provenance": _provenance()}.items()),
        "plotly": asset(PLOTLY),
        "data": inline_json({figure.key: figure.to_json() for figure in figures}),
    }
    return Template(asset("summary.html")).substitute(fields)


def verdict(goal_met: bool | None) -> str:
    """Return the verdict in words and colour; none where nothing was to be met."""
    if goal_met is None:
        return ""
    return '<p class="verdict met">Goal met</p>' if goal_met else '<p class="verdict missed">Goal missed</p>'


def _provenance() -> Rows:
    written = time.strftime("%Y-%m-%d %H:%M:%S %Z")
    where = f"{platform.system()} {platform.release()}, {platform.machine()}, Python {platform.python_version()}"
    return [["", ""], ["contact_mpc", __version__], ["written", written], ["machine", where]]


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
