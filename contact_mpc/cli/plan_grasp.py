"""``contact-mpc plan TASK --grasp``: search a start posture, judge it by the plans made from it, and write it down."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
import typer
import yaml
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from contact_mpc.cli.output import EXIT_GOAL_MISSED, EXIT_INTERRUPTED, emit
from contact_mpc.evaluation.start import find_start
from contact_mpc.model.rotations import rpy_from_rotation
from contact_mpc.planning.grasp.search import FRICTION_STEPS, GraspCandidate
from contact_mpc.settings.file_access import write_text
from contact_mpc.task.task import TaskConfig
from contact_mpc.version import __version__

SPREAD_DEG = 40.0  # of objects that are no balls, where the task has no start
MOST_REASONS = 6


@dataclass(frozen=True)
class GraspOptions:
    """How many postures to try, half width of the object's turns (deg, None: derived), seed, whether to write it."""

    samples: int
    spread_deg: float | None
    seed: int
    write: bool


def find_grasp(task: TaskConfig, options: GraspOptions, as_json: bool) -> NoReturn:
    """Search a start; exit code 0 only where plants hold it and every turn of the task was planned from it.

    Ctrl-C ends the search with the best so far.
    """
    spread_deg = _spread(task) if options.spread_deg is None else options.spread_deg
    with progress_bar("searching", options.samples) as report:
        found = find_start(task, options.samples, options.seed, float(np.deg2rad(spread_deg)), report)
    search, best, refused = found.search, found.best, found.refused
    head = {"task": task.name, "seed": options.seed, "samples": search.drawn, "spread_deg": spread_deg}
    result = {**head, "goal_met": not refused, "refused": refused, **_grasp_figures(task, best)}
    result |= {"why_samples_failed": search.why()[:MOST_REASONS], "written": None, "interrupted": found.is_interrupted}
    if best is not None:
        result |= _put_down(task, result, options, as_json, is_good=not refused)
    emit(result, as_json, _grasp_table(result))
    raise typer.Exit(EXIT_INTERRUPTED if found.is_interrupted else EXIT_GOAL_MISSED if refused else 0)


def _spread(task: TaskConfig) -> float:
    shapes = [item.shape.kind for item in task.system.geometries if item.owner in task.system.object_names]
    return 0.0 if task.has_start or shapes == ["sphere"] else SPREAD_DEG


def _put_down(
    task: TaskConfig, result: dict[str, Any], options: GraspOptions, as_json: bool, is_good: bool
) -> dict[str, Any]:
    """Write the start into the task file where that was asked for and every turn was planned from it, else print it."""
    heading = (
        f"# by `contact-mpc plan --grasp` {__version__}, seed {options.seed}, {result['samples']} samples, "
        f"{result['spread_deg']:g} deg"
    )
    text = yaml.safe_dump({"start": result["start"]}, sort_keys=False, default_flow_style=None, width=100000)
    if options.write and is_good:
        _replace_start(task, f"start:   {heading}\n" + text.partition("\n")[2])
        return {"written": task.path}
    if not as_json:
        Console(soft_wrap=True).print(text)
    return {}


def _replace_start(task: TaskConfig, block: str) -> None:
    """Put the block in the place of the section `start` of the task file, or at its end."""
    old = task.path.read_text(encoding="utf-8")
    section = re.compile(r"^start:.*\n(?:(?:[ \t}].*)?\n)*", re.MULTILINE)
    new = section.sub(lambda _: block, old, count=1) if section.search(old) else f"{old.rstrip()}\n{block}"
    write_text(task.path, new)


def _grasp_figures(config: TaskConfig, best: GraspCandidate | None) -> dict[str, Any]:
    if best is None:
        return {"fraction_of_path": 0.0}
    system = config.system
    R, p = system.object_pose(best.q)
    joints = dict(zip(system.joint_names, np.round(best.q[system.n_q_u :], 4).tolist(), strict=True))
    commands = dict(zip(system.joint_names, np.round(best.grasp.u, 4).tolist(), strict=True))
    start = {
        "joints_rad": joints,
        "commands_rad": commands,
        "object_position_m": np.round(p, 4).tolist(),
        "object_rpy_rad": np.round(rpy_from_rotation(R), 4).tolist(),
    }
    return {
        "fraction_of_path": best.fraction,
        "held_in_plants": best.held,
        "friction_margins": dict(zip(map(str, FRICTION_STEPS), best.fractions, strict=False)),
        "joint_limit_room_rad": best.limit_room_rad,
        "conditioning": best.conditioning,
        "normal_forces_n": best.grasp.normal_forces,
        "cone_margins": best.grasp.cone_margins,
        "start": start,
    }


def _grasp_table(result: dict[str, Any]) -> Table:
    table = Table("", "value", title=f"start posture of {result['task']}", title_justify="left", title_style="bold")
    table.add_row("samples, seed", f"{result['samples']}, {result['seed']}")
    table.add_row("share of the paths without slip", f"{100 * result['fraction_of_path']:.0f} %")
    if "start" in result:
        for step, share in result["friction_margins"].items():
            table.add_row(f"the same with {100 * float(step):.0f} % of the friction", f"{100 * share:.0f} %")
        table.add_row("plants that hold it (MuJoCo)", f"{100 * result['held_in_plants']:.0f} %")
        table.add_row("conditioning of B_u, least to largest", f"{result['conditioning']:.2f}")
        table.add_row("room to joint limits on the way", f"{result['joint_limit_room_rad']:.3f} rad")
        table.add_row("normal forces", ", ".join(f"{force:.2f} N" for force in result["normal_forces_n"]))
        table.add_row("margins in the friction cones", ", ".join(f"{margin:.2f}" for margin in result["cone_margins"]))
    else:
        table.add_row("result", "no posture holds the object")
    for index, reason in enumerate(result["why_samples_failed"]):
        table.add_row("why samples failed" if index == 0 else "", escape(reason))
    if result["refused"]:
        table.add_row("not good enough", f"[red]{escape(result['refused'])}[/]")
        table.add_row("what may help", "--spread-deg 40 (turned objects), more --samples, another --seed, less weight")
    if result["written"]:
        table.add_row("written to", str(result["written"]))
        table.add_row("next", f"contact-mpc evaluate {result['written']} --trials 6")
    return table


@contextmanager
def progress_bar(what: str, total: int | None = None) -> Iterator[Callable[[int, float], None]]:
    """Show progress on stderr: what is yielded takes a count and a figure."""
    columns = (TextColumn(what), BarColumn(), TextColumn("{task.completed} {task.fields[figure]}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        bar = progress.add_task(what, total=total, figure="")
        yield lambda count, figure: progress.update(bar, completed=count, figure=f"{figure:.4g}")
