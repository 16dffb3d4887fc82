"""One self-contained HTML page about a run: result, animation, plots, provenance. It loads nothing from anywhere."""

import html
from collections.abc import Mapping
from pathlib import Path
from string import Template
from typing import Any

import yaml

from contact_mpc.bags.metrics import RunMetrics
from contact_mpc.bags.object_track import evaluate_object
from contact_mpc.bags.record import RunRecord
from contact_mpc.model.system import System
from contact_mpc.report.origin import origin_rows
from contact_mpc.report.page import PLOTLY, asset, inline_json, page_head, player, plot_card, write_text
from contact_mpc.report.plotting.figures import Figure
from contact_mpc.report.plotting.plots import build_figures
from contact_mpc.report.result_table import ResultRow, result_rows
from contact_mpc.report.scene.animation import build_scene
from contact_mpc.task.task import TaskConfig

REPORT_NAME = "report.html"
SCENE_TITLE = "Animation"
SCENE_CAPTION = (
    "Drag to turn, scroll to zoom, double-click to reset; click a plot to go to its time. Sticks are the object's axes "
    "(x red, y green, z blue), translucent knobs where their tips belong at the goal. Robot: measured joints; object: "
)
SOURCES = {"plant": "ground truth of the plant.", "estimate": "estimate (the bag has no ground truth)."}


def write_report(
    record: RunRecord, metrics: RunMetrics, system: System, task: TaskConfig, out_dir: str | Path, repeat: str = ""
) -> Path:
    """Write `report.html` into a folder and return its path.

    Parameters
    ----------
    record, metrics
        The run and its figures of merit (`compute_metrics`).
    system, task
        What was run.
    out_dir : str or Path
        Folder, made if it does not exist.
    repeat : str
        The command, or the line of Python, that gives this page again.

    Raises
    ------
    InputError
        The folder cannot be written.
    BagError
        The bag lacks the object's pose or the joint states.
    """
    return write_page(render_report(record, metrics, system, task, repeat), out_dir)


def write_page(page: str, out_dir: str | Path) -> Path:
    """Write a page as `report.html` into a folder and return its path; raises InputError where that is impossible."""
    return write_text(Path(out_dir).expanduser() / REPORT_NAME, page)


def render_report(record: RunRecord, metrics: RunMetrics, system: System, task: TaskConfig, repeat: str = "") -> str:
    """Return the page as text; see `write_report`."""
    evaluation = evaluate_object(record, task)
    figures = build_figures((record, system, task, evaluation))
    scene = build_scene(record, system, evaluation)
    name = str(record.metadata.get("task", system.name))
    fields = {
        "head": page_head(f"{name}: contact_mpc run"),
        "heading": html.escape(name),
        "subtitle": html.escape(_subtitle(record, system)),
        "verdict": "Goal met" if metrics.goal_met else "Goal missed",
        "verdict_class": "met" if metrics.goal_met else "missed",
        "notes": _notes(metrics),
        "results": _results(metrics, task),
        "provenance": _provenance(record, system, repeat),
        "player": player(SCENE_TITLE, SCENE_CAPTION + SOURCES[evaluation.source]),
    }
    return fill_page(fields, scene, figures)


def fill_page(fields: dict[str, str], scene: dict[str, Any], figures: list[Figure]) -> str:
    """Return the page with its texts (head to provenance, as HTML), the animation, the plots and all scripts."""
    assets = {
        "plots": "\n".join(plot_card(figure) for figure in figures),
        "scene_script": asset("scene.js"),
        "page_script": asset("page.js"),
        "plotly": asset(PLOTLY),
        "data": inline_json({"scene": scene, "figures": {figure.key: figure.to_json() for figure in figures}}),
    }
    return Template(asset("report.html")).substitute(fields | assets)


def _subtitle(record: RunRecord, system: System) -> str:
    known = [f"system {system.name}"]
    known += [f"{key} {record.metadata[key]}" for key in ("plant", "clock", "seed") if key in record.metadata]
    return " · ".join([*known, f"{record.duration_s:.2f} s", f"{record.messages} messages", record.path.name])


def _notes(metrics: RunMetrics) -> str:
    notes = [*metrics.reasons, *metrics.faults, *metrics.warnings]
    items = "".join(f"<li>{html.escape(note)}</li>" for note in notes)
    return f'<ul class="notes">{items}</ul>' if notes else ""


def _results(metrics: RunMetrics, task: TaskConfig) -> str:
    return result_html(result_rows(metrics, task))


def result_html(result: list[ResultRow]) -> str:
    """Return the table of a result."""
    head = '<tr><th></th><th class="number">value</th><th class="number">limit</th><th></th></tr>'
    rows = []
    for row in result:
        mark = {True: '<td class="pass">pass</td>', False: '<td class="fail">fail</td>', None: "<td></td>"}[row.passed]
        cells = f'<td class="number">{html.escape(row.value)}</td><td class="number">{html.escape(row.limit)}</td>'
        rows.append(f"<tr><td>{html.escape(row.name)}</td>{cells}{mark}</tr>")
    return f'<table class="result"><thead>{head}</thead><tbody>{"".join(rows)}</tbody></table>'


def origin_html(repeat: str, known: Mapping[str, Any] | None = None) -> str:
    """Return the table that says who wrote a page, on which machine, how to have it again, and what else is known."""
    told = {name: value for name, value in (known or {}).items() if value not in (None, "")}
    pairs = [*origin_rows(repeat), *((name, _value(value)) for name, value in told.items())]
    rows = "".join(f"<tr><td>{html.escape(name)}</td><td>{html.escape(value)}</td></tr>" for name, value in pairs)
    return f"<table><tbody>{rows}</tbody></table>"


def _provenance(record: RunRecord, system: System, repeat: str) -> str:
    metadata = dict(record.metadata)
    parameters = metadata.pop("parameters", None)
    if metadata.get("provenance") == system.provenance():
        del metadata["provenance"]  # said by the next line
    known = {**system.provenance(), **metadata, "bag": str(record.path), "system_file": str(system.path)}
    topics = "".join(
        f"<tr><td>{html.escape(name)}</td><td>{html.escape(kind)}</td><td>{count}</td></tr>"
        for name, (kind, count) in record.topics.items()
    )
    text = parameters if isinstance(parameters, str) else yaml.safe_dump(parameters, sort_keys=False)
    shown = f"<details><summary>Parameters of the nodes</summary><pre>{html.escape(text)}</pre></details>"
    return (
        f"{origin_html(repeat, known)}{shown if parameters else ''}"
        f"<details><summary>Topics of the bag</summary><table><tbody>{topics}</tbody></table></details>"
    )


def _value(value: Any) -> str:
    return ", ".join(f"{key} {item}" for key, item in value.items()) if isinstance(value, dict) else str(value)
