"""``contact-mpc plan TASK --grasp``: search a start posture, judge it by the plans made from it, and write it down."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import numpy as np
import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from contact_mpc.cli.frame.line_bar import LineBar
from contact_mpc.cli.frame.output import EXIT_GOAL_MISSED, EXIT_INTERRUPTED, emit
from contact_mpc.cli.plan.anew import without_start
from contact_mpc.evaluation.starts.find_start import FoundStart, find_start, turns_to_try_deg
from contact_mpc.evaluation.starts.start_file import goal_text, start_section, start_text, write_start
from contact_mpc.planning.grasp.candidate import GraspCandidate
from contact_mpc.task.task import TaskConfig

MOST_REASONS = 6


ShowProgress = Callable[[int, float], None]


@dataclass(frozen=True)
class GraspOptions:
    """How many postures to try, half width of the object's turns (deg, None: derived), seed, whether to write it.

    With is_anew the task's own start is forgotten.
    """

    samples: int
    spread_deg: float | None
    seed: int
    write: bool
    is_anew: bool = False


def find_grasp(task: TaskConfig, options: GraspOptions, as_json: bool) -> NoReturn:
    """Search a start; exit code 0 only where plants hold it and every turn of the task was planned from it.

    The section of the task file goes to stdout, figures to stderr.

    Ctrl-C ends the search with the best so far.
    """
    place = without_start if options.is_anew else None
    task = replace(task, has_start=False) if options.is_anew else task
    spread_deg = turns_to_try_deg(task) if options.spread_deg is None else options.spread_deg
    with progress_bar("searching", "postures", "best score", options.samples) as report:
        found = find_start(task, options.samples, options.seed, float(np.deg2rad(spread_deg)), report, place)
    search, best, refused = found.search, found.best, found.refused
    head = {"task": task.name, "seed": options.seed, "samples": search.drawn, "spread_deg": spread_deg}
    result = {**head, "goal_met": not refused, "refused": refused, **_grasp_figures(task, found)}
    result |= {"why_samples_failed": search.why()[:MOST_REASONS], "written": None, "interrupted": found.is_interrupted}
    if best is not None:
        result |= _put_down(task, found, best, result, options, as_json)
    emit(result, as_json, _grasp_table(result), to_stderr=True)
    raise typer.Exit(EXIT_INTERRUPTED if found.is_interrupted else EXIT_GOAL_MISSED if refused else 0)


def _put_down(
    task: TaskConfig,
    found: FoundStart,
    best: GraspCandidate,
    result: dict[str, Any],
    options: GraspOptions,
    as_json: bool,
) -> dict[str, Any]:
    """Write the start into the task file where that was asked for and every turn was planned from it, else print it."""
    given = f"{'--anew ' if options.is_anew else ''}--seed {options.seed} --samples {options.samples} "
    given += f"--spread-deg {result['spread_deg']:g}"
    if options.write and not found.refused:
        write_start(task.path, task.system, best, found.grip_n, given)
        return {"written": task.path}
    if not as_json:
        goal = "" if best.goal is None else goal_text(best.goal)
        Console(soft_wrap=True).print(goal + start_text(result["start"], given))
    return {}


def _grasp_figures(config: TaskConfig, found: FoundStart) -> dict[str, Any]:
    best = found.best
    if best is None:
        return {"fraction_of_path": 0.0}
    return {
        "fraction_of_path": best.fraction,
        "held_in_plants": best.held,
        "turns_met": found.met,
        "friction_margins": dict(zip(map(str, best.config.friction_steps), best.fractions, strict=False)),
        "joint_limit_room_rad": best.limit_room_rad,
        "conditioning": best.conditioning,
        "normal_forces_n": best.grasp.normal_forces,
        "cone_margins": best.grasp.cone_margins,
        "start": start_section(config.system, best, found.grip_n),
    }


def _grasp_table(result: dict[str, Any]) -> Table:
    table = Table("", "value", title=f"start posture of {result['task']}", title_justify="left", title_style="bold")
    table.add_row("samples, seed", f"{result['samples']}, {result['seed']}")
    table.add_row("share of the paths without slip", f"{100 * result['fraction_of_path']:.0f} %")
    if "start" in result:
        for step, share in result["friction_margins"].items():
            table.add_row(f"the same with {100 * float(step):.0f} % of the friction", f"{100 * share:.0f} %")
        table.add_row("plants that keep it, turned (MuJoCo)", _share_held(result["held_in_plants"]))
        table.add_row("turns in closed loop that meet their goals (MuJoCo)", _share_met(result["turns_met"]))
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


def _share_held(share: float) -> str:
    return "not played: fingers do not roll along the whole way" if np.isnan(share) else f"{100 * share:.0f} %"


def _share_met(share: float) -> str:
    return "not played" if np.isnan(share) else f"{100 * share:.0f} %"


@contextmanager
def progress_bar(what: str, counted: str, measured: str, total: int | None = None) -> Iterator[ShowProgress]:
    """Show progress on stderr: what is yielded takes a count of what is `counted` and a figure that is `measured`."""
    shown = "{task.completed}" + (" of {task.total}" if total else "") + f" {counted}{{task.fields[figure]}}"
    with LineBar(TextColumn(what), BarColumn(), TextColumn(shown), TimeElapsedColumn()) as progress:
        bar = progress.add_task(what, total=total, figure="")

        def show(count: int, figure: float) -> None:
            if count < progress.tasks[0].completed:  # another search begins
                progress.reset(bar, total=total)
            progress.update(bar, completed=count, figure=f", {measured} {figure:.4g}")

        yield show
