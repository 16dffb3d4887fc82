"""``contact-mpc plan PROBLEM --method regrasp`` or ``sampled``: plans that MuJoCo plays while they are made."""

import contact_mpc.cli.frame.single_thread  # noqa: F401, I001  before anything that imports numpy

import time
from pathlib import Path
from typing import NoReturn

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from contact_mpc.cli.frame.output import EXIT_GOAL_MISSED, emit
from contact_mpc.loop.parts.confirmed_plan import ConfirmedPlan
from contact_mpc.planning.parts import REGRASP
from contact_mpc.planning.tree.problem import Problem
from contact_mpc.task.plan import save_plan


def plan_in_physics(problem: Problem, method: str, seed: int = 0) -> ConfirmedPlan:
    """Return the turns, or the random motions, that lead to a problem's goal, as MuJoCo has played them."""
    from contact_mpc.loop.parts.confirmed_samples import confirm_samples  # MuJoCo, for such plans alone
    from contact_mpc.loop.parts.confirmed_turns import confirm_turns

    if method == REGRASP:
        with Console(stderr=True).status("turns and new grasps, played in MuJoCo"):
            return confirm_turns(problem)
    with Console(stderr=True).status("random motions in MuJoCo") as status:
        return confirm_samples(problem, seed, lambda part: status.update(f"random motions in MuJoCo: {escape(part)}"))


def plan_by_playing(problem: Problem, method: str, seed: int, out: Path | None, as_json: bool) -> NoReturn:
    """Plan, write the plan, print the result and exit with its code."""
    started = time.perf_counter()
    played = plan_in_physics(problem, method, seed)
    end = -2 if method == REGRASP else -1  # the last row of turns is the goal
    angle_deg, distance_mm = problem.errors(played.plan.q[end])
    is_good = played.is_confirmed
    path = out or Path(f"{problem.file.name}.{method}.{'plan' if is_good else 'failed'}.npz")
    save_plan(path, played.plan)
    result = {
        "system": problem.system.name, "problem": problem.file.name, "method": method, "seed": seed, "plan": path,
        "confirmed": played.is_confirmed, "robustness": played.robustness, "confirmation_failure": played.reason,
        "angle_error_deg": angle_deg, "position_error_mm": distance_mm, "parts": len(played.robustness),
        "duration_s": float(played.plan.times_s[-1]), "elapsed_s": time.perf_counter() - started, "goal_met": is_good,
    }  # fmt: skip
    emit(result, as_json, _table(problem, played, result))
    if not is_good:
        typer.echo(f"goal missed: {played.reason}", err=True)
    raise typer.Exit(0 if is_good else EXIT_GOAL_MISSED)


def _table(problem: Problem, played: ConfirmedPlan, result: dict[str, object]) -> Table:
    file = problem.file
    table = Table("", "value", "limit", title=f"plan of {file.name}", title_justify="left", title_style="bold")
    table.add_row("angle error in MuJoCo", f"{result['angle_error_deg']:.2f} deg", f"{file.tolerance_deg:g} deg")
    table.add_row("position error", f"{result['position_error_mm']:.2f} mm", f"{file.tolerance_mm:g} mm")
    what = "turns and new grasps" if result["method"] == REGRASP else "parts"
    table.add_row(what, str(result["parts"]), "")
    table.add_row("draws that end alike, part by part", ", ".join(f"{share:.2f}" for share in played.robustness), "")
    table.add_row("duration", f"{result['duration_s']:.1f} s", "")
    table.add_row("elapsed", f"{result['elapsed_s']:.2f} s", "")
    table.add_row("plan file", escape(str(result["plan"])), "")
    return table
