"""A self-contained HTML page with plots and tables about many runs; it loads nothing from anywhere."""

import html
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from string import Template
from typing import Any

from contact_mpc.report.origin import origin_rows
from contact_mpc.report.page import PLOTLY, asset, inline_json, page_head, player, plot_card, write_text
from contact_mpc.report.plotting.figures import Figure

Rows = Sequence[Sequence[str]]
PAGE = re.compile(r"[\w.-]+\.html")
NUMBER = re.compile(r"[-+]?[\d.]+([eE][-+]?\d+)?( (to|±|of) [-+\d.]+)?|-|")


def write_page(
    path: Path,
    heading: str,
    subtitle: str,
    figures: list[Figure],
    tables: Mapping[str, Rows],
    result: Mapping[str, Any] | None = None,
) -> Path:
    """Write the page of `render_page`; raises InputError where the file cannot be written."""
    return write_text(path, render_page(heading, subtitle, figures, tables, result))


def render_page(
    heading: str,
    subtitle: str,
    figures: list[Figure],
    tables: Mapping[str, Rows],
    result: Mapping[str, Any] | None = None,
) -> str:
    """Return the page; tables are rows of text by title, the first row the head.

    Of a result these keys are read where they are there: goal_met and verdict (its words) for the verdict,
    command_line and machine for the provenance, animation (title, caption, scene) to play.
    """
    about = result or {}
    origin = origin_rows(about.get("command_line", ""), about.get("machine"))
    animation, all_tables = about.get("animation"), {**tables, "Provenance": [("", ""), *origin]}
    fields = {
        "head": page_head(f"{heading}: contact_mpc"),
        "heading": html.escape(heading),
        "subtitle": html.escape(subtitle),
        "verdict": _verdict(about.get("goal_met"), about.get("verdict")),
        "player": player(animation["title"], animation["caption"]) if animation else "",
        "plots": "\n".join(plot_card(figure) for figure in figures),
        "tables": "\n".join(_table(title, rows) for title, rows in all_tables.items()),
        "plotly": asset(PLOTLY),
        "scene_script": asset("scene.js"),
        "page_script": asset("page.js"),
        "data": inline_json({
            "scene": animation["scene"] if animation else None,
            "figures": {figure.key: figure.to_json() for figure in figures},
        }),
    }  # fmt: skip
    return Template(asset("summary.html")).substitute(fields)


def _content(cell: str) -> str:
    """Return a cell's text; the name of a page beside this one leads there."""
    text = html.escape(cell)
    return f'<a href="{text}">{text}</a>' if PAGE.fullmatch(cell) else text


def _verdict(goal_met: bool | None, words: str | None) -> str:
    """Return the verdict in words and colour; none where nothing was to be met."""
    if goal_met is None:
        return ""
    kind, usual = ("met", "Goal met") if goal_met else ("missed", "Goal missed")
    return f'<p class="verdict {kind}">{html.escape(words or usual)}</p>'


def _table(title: str, rows: Rows) -> str:
    head, *body = rows
    if not body:
        return f'<section class="card"><h2>{html.escape(title)}</h2><p class="caption">none</p></section>'
    are_numbers = [all(NUMBER.fullmatch(cell) for cell in column) for column in zip(*body, strict=True)]

    def line(cells: Sequence[str], tag: str) -> str:
        kinds = (' class="number"' if is_number else "" for is_number in are_numbers)
        shown = (f"<{tag}{kind}>{_content(cell)}</{tag}>" for cell, kind in zip(cells, kinds, strict=True))
        return f"<tr>{''.join(shown)}</tr>"

    lines = "".join(line(row, "td") for row in body)
    table = f"<table><thead>{line(head, 'th')}</thead><tbody>{lines}</tbody></table>"
    return f'<section class="card"><h2>{html.escape(title)}</h2>{table}</section>'
