"""Pieces of the self-contained HTML pages: head, plots, scripts; nothing in them is loaded from anywhere."""

import html
import json
from importlib import resources
from pathlib import Path
from string import Template
from typing import Any

from contact_mpc.errors import InputError, ModelError
from contact_mpc.report.plotting.figures import Figure
from contact_mpc.settings import file_access

PLOTLY = "plotly-basic.min.js"  # scatter and bar alone, a quarter of plotly.js; `make plotly` brings it


def page_head(title: str) -> str:
    """Return what stands before a page's body: its title, the style, and a note of every error of its scripts."""
    return Template(asset("head.html")).substitute(title=html.escape(title), style=asset("report.css"))


def plot_card(figure: Figure) -> str:
    """Return the place on the page where a figure is drawn."""
    kind = "card wide" if figure.is_wide else "card"
    title, caption = html.escape(figure.title), html.escape(figure.caption)
    return (
        f'<div class="{kind}"><h2>{title}</h2><p class="caption">{caption}</p><div id="plot-{figure.key}"></div></div>'
    )


def player(title: str, caption: str) -> str:
    """Return the place on the page where a scene of `contact_mpc.report.scene.animation` is played."""
    return Template(asset("player.html")).substitute(scene_title=html.escape(title), scene_caption=html.escape(caption))


def inline_json(data: Any) -> str:
    """Return JSON that may stand inside a script element: neither </script> nor <!-- can be in it."""
    return json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")


def asset(name: str) -> str:
    """Return the text of a file in report/assets."""
    try:
        return (resources.files("contact_mpc.report") / "assets" / name).read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise ModelError(f"assets/{name} of contact_mpc.report is missing; install the package again") from error


def write_text(path: Path, page: str) -> Path:
    """Write a page and return its path; raises InputError where that is impossible."""
    try:
        file_access.write_text(path, page)
    except OSError as error:
        raise InputError(f"{path}: the report cannot be written ({error.strerror}); choose another --report") from error
    return path
