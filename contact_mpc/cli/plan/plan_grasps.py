"""``contact-mpc plan TASK --grasp --grasps N``: search the grasps of a task that turns by several, and write them."""

from typing import NoReturn

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from contact_mpc.cli.frame.output import emit
from contact_mpc.cli.plan.plan_grasp import GraspOptions, progress_bar
from contact_mpc.evaluation.starts.find_grasps import find_grasps
from contact_mpc.evaluation.starts.start_file import grasps_text, start_section, start_text, write_grasps
from contact_mpc.model.rotations import rotation_log
from contact_mpc.planning.grasp.candidate import GraspCandidate
from contact_mpc.task.task import TaskConfig


def find_more(task: TaskConfig, count: int, options: GraspOptions, as_json: bool) -> NoReturn:
    """Search the grasps; they go to stdout or into the task file, figures to stderr."""
    with progress_bar("searching", "variations", "least score", options.samples) as report:
        found = find_grasps(task, count, options.samples, options.seed, report)
    given = f"--grasps {count} --seed {options.seed} --samples {options.samples}"
    rows = [_figures(task, item) for item in found]
    sections = [start_section(task.system, item) for item in found]
    if options.write:
        write_grasps(task.path, sections, given)
    elif not as_json:
        Console(soft_wrap=True).print(start_text(sections[0], given) + grasps_text(sections[1:], given))
    result = {
        "task": task.name, "seed": options.seed, "grasps": rows, "written": task.path if options.write else None,
        "sections": sections,
    }  # fmt: skip
    emit(result, as_json, _table(task, rows), to_stderr=True)
    raise typer.Exit(0)


def _figures(task: TaskConfig, grasp: GraspCandidate) -> dict[str, float]:
    """Return how far a grasp's object is turned from the start's, and how well it serves its turns."""
    (R, _), (R_start, _) = (task.system.object_pose(q) for q in (grasp.q, task.start_q))
    turn = rotation_log(np.ascontiguousarray(R @ R_start.T))
    return {
        "turned_deg": float(np.rad2deg(turn @ task.goal.axis_W)),
        "score": grasp.score,
        "held_in_plants": grasp.held,
        "joint_limit_room_rad": grasp.limit_room_rad,
    }


def _table(task: TaskConfig, rows: list[dict[str, float]]) -> Table:
    table = Table("turned, deg", "score", "plants that keep it", "room to joint limits, rad")
    table.title = f"grasps of {task.name}"
    for row in rows:
        table.add_row(*(f"{value:.3g}" for value in row.values()))
    return table
