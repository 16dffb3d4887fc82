"""``contact-mpc show SYSTEM|TASK``: what is in a system or a task, in words and as a page."""

import contact_mpc.cli.frame.single_thread  # noqa: F401, I001  before anything that imports numpy

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.markup import escape
from rich.table import Table

from contact_mpc.cli.frame.output import emit, require_writable
from contact_mpc.errors import ConfigError
from contact_mpc.model.system import System
from contact_mpc.model.system_builder import load_system
from contact_mpc.planning.trajopt.task import object_path
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.resources import resource, resource_names
from contact_mpc.settings.yaml_files import read_yaml
from contact_mpc.task.derived_values import derived_values
from contact_mpc.task.task import TaskConfig, load_task

INSTANTS = 60


def show(
    name: Annotated[str, typer.Argument(help="Name in config/tasks or config/systems, or the path of such a YAML.")],
    report: Annotated[Path | None, typer.Option(help="Folder for a page with the scene.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Show what is in a system or a task: parts, layout of q, shapes, gaps of the start, derived values, the scene."""
    require_writable(report)
    task = load_task(name) if is_task(name) else None
    system = task.system if task else load_system(name)
    q = task.start_q if task else system.q_default
    result: dict[str, Any] = {
        "system": system.name, "file": task.path if task else system.path, "task": task.name if task else None,
        "n_q": system.n_q, "n_v": system.n_v, "n_u": system.n_a,
        "layout": {f"q[{part.start}:{part.stop}]": text for part, text in system.layout},
        "shapes": _shapes(system), "pairs": len(system.pairs), "contacts": len(system.contacts),
        "gaps_mm": _gaps(system, q), "derived": derived_values(task) if task else {}, "report": None,
    }  # fmt: skip
    if report is not None:
        from contact_mpc.report.system_report import write_system_report

        gaps = ", ".join(f"{link} {gap:.1f} mm" for link, gap in result["gaps_mm"].items())
        text = f"Gaps of the fingers to the object at the start: {gaps}." if gaps else ""
        times_s, rows = _motion(system, q, task)
        result["report"] = write_system_report(task.name if task else system.name, text, system, times_s, rows, report)
    emit(result, as_json, _table(result))


def is_task(name: str) -> bool:
    """Whether a name or path is that of a task: its file has a goal.

    Raises
    ------
    ConfigError
        It is neither a task nor a system.
    """
    if name in resource_names("tasks"):
        return True
    if name in resource_names("systems"):
        return False
    if not Path(name).is_file():
        known = ", ".join((*resource_names("tasks"), *resource_names("systems")))
        raise ConfigError(f"{name}: no such file, task or system; known: {known}")
    return "goal" in read_yaml(resource("tasks", name))


def _shapes(system: System) -> dict[str, int]:
    kinds = [item.shape.kind for item in system.geometries]
    return {kind: kinds.count(kind) for kind in sorted(set(kinds))}


def _gaps(system: System, q: FloatArray) -> dict[str, float]:
    """Return the least gap to the objects, mm, of every link that is the nearest of its finger."""
    if not system.pairs:
        return {}
    from contact_mpc.dynamics.contact_dynamics import build_model
    from contact_mpc.dynamics.smoothed.newton import make_newton, measure_gaps
    from contact_mpc.geometry.fingers import closest_pair_per_finger, finger_of_pairs

    model = build_model(system)
    gaps = np.asarray(measure_gaps(model, make_newton(model), q))
    nearest = closest_pair_per_finger(finger_of_pairs(system), gaps, np.inf)
    links = [system.geometries[system.pairs[system.contacts[c].pair].geometry_b].link for c in nearest]
    return {link: 1e3 * float(gaps[c]) for link, c in zip(links, nearest, strict=True)}


def _motion(system: System, q: FloatArray, task: TaskConfig | None) -> tuple[FloatArray, FloatArray]:
    """Return times (n,), s, and configurations (n, n_q): the object on its way, the robots at the start."""
    if task is None:
        return np.array([0.0, 1.0]), np.array([q, q])
    return np.linspace(0.0, task.duration_s, INSTANTS), object_path(task, q, INSTANTS)


def _table(result: dict[str, Any]) -> Table:
    title = f"task {result['task']}" if result["task"] else f"system {result['system']}"
    table = Table("", "value", title=title, title_justify="left", title_style="bold")
    table.add_row("file", str(result["file"]))
    table.add_row("q, v, u", f"{result['n_q']}, {result['n_v']}, {result['n_u']}")
    for part, text in result["layout"].items():
        table.add_row(escape(part), escape(text))
    table.add_row("shapes", ", ".join(f"{count} {kind}" for kind, count in result["shapes"].items()))
    table.add_row("pairs, contacts", f"{result['pairs']}, {result['contacts']}")
    for link, gap in result["gaps_mm"].items():
        table.add_row(f"gap of {escape(link)}", f"{gap:.2f} mm")
    for key, value in result["derived"].items():
        table.add_row(key, escape(value))
    if result["report"]:
        table.add_row("page", str(result["report"]))
    return table
