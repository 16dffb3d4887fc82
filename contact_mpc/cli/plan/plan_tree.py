"""``contact-mpc plan SYSTEM --method rrt``: grow a tree through contact and write plan, tree and report."""

import contact_mpc.cli.frame.single_thread  # noqa: F401, I001  before anything that imports numpy

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from contact_mpc.cli.frame.compiling import compile_first
from contact_mpc.cli.frame.line_bar import LineBar
from contact_mpc.cli.frame.output import EXIT_GOAL_MISSED, EXIT_INTERRUPTED, command_line, emit
from contact_mpc.errors import ConfigError, PlanError
from contact_mpc.loop.compile_ahead import TREE as TREE_CODE
from contact_mpc.loop.parts.confirmed_plan import CANDIDATES, candidate_seed, confirm_best
from contact_mpc.task.plan import Plan, save_plan
from contact_mpc.planning.tree.plan import GlobalPlan, plan_globally
from contact_mpc.planning.tree.problem import Problem, load_problem, with_goal
from contact_mpc.planning.tree.planner import TreePlanner
from contact_mpc.planning.tree.file import save_tree

REASONS = {
    "nodes": "the goal is not reached within the budget of nodes: raise --nodes, or move the goal",
    "stuck": "hardly an extension is possible any more: the goal may be unreachable, or the ranges too narrow",
    "interrupted": "interrupted",
    "reached": "",
}


def plan_by_tree(
    name: str,
    goals: list[str],
    seed: int,
    nodes: int | None,
    out: Path | None,
    report: Path | None,
    is_confirmed: bool,
    as_json: bool,
) -> NoReturn:
    """Plan, confirm in MuJoCo where asked, write what there is, print the result and exit with its code."""
    problem, started = with_goal(load_problem(name), read_goals(goals)), time.perf_counter()
    found = _grow(problem, seed, nodes)
    plan, physics = _confirmed(problem, found, seed) if is_confirmed and found.is_valid else (found.plan, {})
    elapsed_s = time.perf_counter() - started
    is_good = found.is_valid and bool(physics.get("confirmed", True))
    path = out or Path(f"{problem.file.name}.rrt.{'plan' if is_good else 'failed'}.npz")
    save_plan(path, plan)
    trees = [path.with_name(f"{path.name.removesuffix('.npz')}.tree{k}.npz") for k in range(len(found.trees))]
    for tree_path, grown in zip(trees, found.trees, strict=True):
        save_tree(tree_path, grown)
    page = _write_report(problem, found, report) if report else None
    result = {
        "system": problem.system.name,
        "problem": problem.file.name,
        "method": "rrt",
        "seed": seed,
        "plan": path,
        "trees": trees,
        "report": page,
        **figures(found),
        **physics,
        "elapsed_s": elapsed_s,
        "goal_met": is_good,
    }
    emit(result, as_json, _table(problem, result))
    if result["goal_met"]:
        raise typer.Exit(0)
    if found.is_valid:
        typer.echo(f"goal missed: not confirmed in MuJoCo: {physics['confirmation_failure']}", err=True)
        raise typer.Exit(EXIT_GOAL_MISSED)
    typer.echo(f"goal missed: {REASONS[found.status] or 'replayed, ' + found.replay.failure}", err=True)
    raise typer.Exit(EXIT_INTERRUPTED if found.status == "interrupted" else EXIT_GOAL_MISSED)


def candidates(problem: Problem, first: Plan, seed: int) -> Iterator[Plan]:
    """Yield plans to confirm: one that is there, then those of trees from other seeds."""
    yield first
    planner = TreePlanner(problem)
    for k in range(1, CANDIDATES):
        with suppress(PlanError):
            found = plan_globally(planner, candidate_seed(seed, k))
            if found.is_valid:
                yield found.plan


def _confirmed(problem: Problem, found: GlobalPlan, seed: int) -> tuple[Plan, dict[str, Any]]:
    """Return the plan as MuJoCo has played it, and what that says, for the JSON result."""
    from contact_mpc.loop.parts.confirmation import MujocoConfirmation

    with Console(stderr=True).status("confirming in MuJoCo"):
        plans = candidates(problem, found.plan, seed)
        played = confirm_best(problem, plans, MujocoConfirmation(problem.system))
    return played.plan, {
        "confirmed": played.is_confirmed, "robustness": played.robustness, "confirmation_failure": played.reason,
        "confirmed_duration_s": float(played.plan.times_s[-1]),
    }  # fmt: skip


def grow(name: str, seed: int) -> GlobalPlan:
    """Plan a problem by its name or path, with progress on stderr."""
    return _grow(load_problem(name), seed, None)


def _grow(problem: Problem, seed: int, nodes: int | None) -> GlobalPlan:
    compile_first("drake", TREE_CODE)
    planner = TreePlanner(problem)
    with _progress(problem.file.name, problem.file.rrt.nodes if nodes is None else nodes) as show:
        return plan_globally(planner, seed, nodes, progress=show)


def figures(found: GlobalPlan) -> dict[str, Any]:
    """Return the figures of a plan for the JSON result."""
    free = found.is_free.astype(int)
    return {
        "status": found.status,
        "nodes": [len(grown.tree.q) for grown in found.trees],
        "tree_s": [grown.elapsed_s for grown in found.trees],
        "dynamics_calls": [grown.dynamics_calls for grown in found.trees],
        "angle_error_deg": found.replay.angle_error_deg,
        "position_error_mm": found.replay.position_error_mm,
        "failure": found.replay.failure,
        "regrasps": int(np.sum(np.diff(free) == 1)),
        "steps": len(found.plan.u) - 1,
        "duration_s": float(found.plan.times_s[-1]),
    }


def read_goals(goals: list[str]) -> dict[str, float]:
    """Return the coordinates of ``--goal COORDINATE=NUMBER``."""
    values = {}
    for item in goals:
        key, equals, text = item.partition("=")
        try:
            values[key] = float(text)
        except ValueError as error:
            raise ConfigError(f"--goal {item}: expected COORDINATE=NUMBER, e.g. disc_turn_rad=1.57") from error
        if not equals:
            raise ConfigError(f"--goal {item}: expected COORDINATE=NUMBER, e.g. disc_turn_rad=1.57")
    return values


def _write_report(problem: Problem, found: GlobalPlan, folder: Path) -> Path:
    from contact_mpc.report.plan_report import write_plan_report

    return write_plan_report(problem, found, folder, command_line())


def _table(problem: Problem, result: dict[str, Any]) -> Table:
    file = problem.file
    table = Table("", "value", "limit", title=f"plan of {file.name}", title_justify="left", title_style="bold")
    table.add_row("status", result["status"], "reached")
    table.add_row("nodes of each tree", ", ".join(map(str, result["nodes"])), str(file.rrt.nodes))
    table.add_row("growth", f"{sum(result['tree_s']):.2f} s, {sum(result['dynamics_calls'])} dynamics calls", "")
    table.add_row("angle error, replayed", f"{result['angle_error_deg']:.2f} deg", f"{file.tolerance_deg:g} deg")
    table.add_row("position error", f"{result['position_error_mm']:.2f} mm", f"{file.tolerance_mm:g} mm")
    table.add_row("regrasps", str(result["regrasps"]), "")
    table.add_row("duration", f"{result['duration_s']:.1f} s in {result['steps']} steps", "")
    if "confirmed" in result:
        shares = ", ".join(f"{share:.2f}" for share in result["robustness"])
        told = "yes" if result["confirmed"] else result["confirmation_failure"]
        table.add_row("confirmed in MuJoCo", f"{told}, {result['confirmed_duration_s']:.1f} s", "yes")
        table.add_row("draws that end alike, part by part", shares, "")
    table.add_row("elapsed", f"{result['elapsed_s']:.2f} s", "")
    table.add_row("plan file", escape(str(result["plan"])), "")
    return table


@contextmanager
def _progress(what: str, total: int) -> Iterator[Callable[[int, float], None]]:
    columns = (
        TextColumn(what),
        BarColumn(),
        TextColumn("{task.completed} nodes, best {task.fields[figure]}"),
        TimeElapsedColumn(),
    )
    with LineBar(*columns) as progress:
        bar = progress.add_task(what, total=total, figure="")
        yield lambda count, best: progress.update(bar, completed=count, figure=f"{np.rad2deg(best):.2f} deg")
