"""The part of ``contact-mpc plan TASK`` for tasks whose planner is contact-implicit."""

import time
from pathlib import Path
from typing import Any

import typer
from rich.markup import escape
from rich.table import Table

from contact_mpc.cli.frame.output import EXIT_GOAL_MISSED, emit
from contact_mpc.settings.extras import require_packages
from contact_mpc.task.plan import save_plan
from contact_mpc.task.task import TaskConfig

require_packages("contact-implicit planning", "casadi")
from contact_mpc.planning.push.task import plan_push, read_settings  # noqa: E402  imports casadi


def plan_contact_implicit(
    task: TaskConfig, out: Path | None, settings: dict[str, Any], displacement: float | None,
    direction_deg: float | None, as_json: bool,
) -> None:  # fmt: skip
    """Plan a push, write its file if there is a solution, print what came of it."""
    started = time.perf_counter()
    result, plan = plan_push(task, read_settings(task, settings), displacement, direction_deg)
    path = out or Path(f"{task.name}.{'plan' if result.is_solved else 'failed'}.npz")
    if plan is not None:
        save_plan(path, plan)
    figures = {
        "task": task.name,
        "status": result.status,
        "message": result.message,
        "cost": min(result.costs, default=None),
        "starts_solved": len(result.costs),
        "iterations": result.iterations,
        "cpu_ms": 1e3 * result.cpu_s,
        "elapsed_s": time.perf_counter() - started,
        "residuals": result.residuals,
        "contact_times_s": None if plan is None else plan.provenance["contact_times_s"],
        "contact_impulse_ns": None if plan is None else float(plan.contact_impulses.sum(axis=(0, 1)) @ _along(plan)),
        "plan": path if plan is not None else None,
        "goal_met": result.is_solved,
    }
    emit(figures, as_json, _table(figures))
    raise typer.Exit(0 if result.is_solved else EXIT_GOAL_MISSED)


def _along(plan: Any) -> Any:
    total = plan.contact_impulses.sum(axis=(0, 1))
    return total / max(float((total @ total) ** 0.5), 1e-12)


def _table(figures: dict[str, Any]) -> Table:
    table = Table("", "value", title=f"plan of {figures['task']}", title_justify="left", title_style="bold")
    table.add_row("status", figures["status"])
    if figures["message"]:
        table.add_row("", escape(figures["message"]))
    residuals = figures["residuals"]
    if residuals is not None:
        table.add_row("residual, dynamics", f"{residuals.dynamics:.1e}")
        table.add_row("residual, complementarity", f"{residuals.complementarity:.1e}")
        table.add_row("beyond limits", f"{residuals.inequality:.1e}")
        table.add_row("worst step", f"stage {residuals.stage}")
    if figures["plan"] is not None:
        table.add_row("cost", f"{figures['cost']:.4g}, best of {figures['starts_solved']}")
        table.add_row("contact at", ", ".join(f"{t:.3f} s" for t in figures["contact_times_s"]))
        table.add_row("impulse on the object", f"{figures['contact_impulse_ns']:.3f} N s")
    table.add_row("solver", f"{figures['iterations']} iterations, {figures['cpu_ms']:.0f} ms CPU")
    table.add_row("plan file", escape(str(figures["plan"])))
    return table
