"""``contact-mpc bench smoothing``: how the smoothed step tends to the step over second-order cones as kappa grows.

Starts and grasps are those of the tasks. A contact that carries F keeps a gap of 2 / (kappa F), so a light grasp is
off by more than a firm one, whose command is GRASPS times as far from the joints; both are listed beside that gap of
the contact that carries least. What is asked, order 1 of all and 0.1 mm at kappa 1e4, 0.01 mm at 1e5 of the object's
displacement, is judged on the firm one.
"""

import contact_mpc.cli.single_thread  # noqa: F401, I001  before anything that imports numpy

from typing import Annotated, Any

import numpy as np
import typer
from rich.table import Table

from contact_mpc.cli.output import EXIT_GOAL_MISSED, emit
from contact_mpc.dynamics.contact_dynamics import ContactDynamics
from contact_mpc.model.kinematic_tree import PRISMATIC
from contact_mpc.model.task import load_task

TASKS = ("planar_hand_ball", "allegro_ball")
LIGHT, FIRM = "light", "firm"
GRASPS = {LIGHT: 1.0, FIRM: 5.0}
ALLOWED_M = {1e4: 1e-4, 1e5: 1e-5}  # of the object's displacement, by kappa in 1/J
KAPPAS = (1e3, *ALLOWED_M, 1e6)
ORDER_TOLERANCE = 0.1
LEAST_FORCE_N = 1e-6


def bench_smoothing(
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Compare the object's displacement in a smoothed step with that over second-order cones, for growing kappa."""
    rows = [compare(task, grasp) for task in TASKS for grasp in GRASPS]
    result = {"seed": None, "kappa_per_j": list(KAPPAS), "studies": rows, "goal_met": all(map(is_goal_met, rows))}
    emit(result, as_json, make_table(rows))
    raise typer.Exit(0 if result["goal_met"] else EXIT_GOAL_MISSED)


def compare(name: str, grasp: str) -> dict[str, Any]:
    """Return the errors of the object's displacement, m, by kappa, their order, and the gap 2 / (kappa F)."""
    task = load_task(name)
    system, q = task.system, task.start_q
    q_a = q[system.n_q_u :]
    u = q_a + GRASPS[grasp] * (task.start_u - q_a)
    exact = ContactDynamics(system, formulation="socp").step(q, u)
    forces = np.linalg.norm(exact.impulses, axis=1) / system.config.h_s
    shifts = np.flatnonzero(system.tree.dof_kind[: system.n_v_u] == PRISMATIC)
    errors = []
    for kappa in KAPPAS:
        smooth = ContactDynamics(system, kappa=kappa).step(q, u)
        errors.append(float(np.linalg.norm(system.difference(exact.q_next, smooth.q_next)[shifts])))
    force = float(forces[forces > LEAST_FORCE_N].min())
    return {
        "task": name, "grasp": grasp, "least_force_n": force, "error_m": errors,
        "gap_m": [2.0 / (kappa * force) for kappa in KAPPAS],
        "order": float(-np.polyfit(np.log(KAPPAS[1:]), np.log(errors[1:]), 1)[0]),
    }


def is_goal_met(row: dict[str, Any]) -> bool:
    """Whether the order is one, and a firm grasp within what is allowed."""
    is_near = all(row["error_m"][KAPPAS.index(kappa)] <= allowed for kappa, allowed in ALLOWED_M.items())
    return abs(row["order"] - 1.0) <= ORDER_TOLERANCE and (is_near or row["grasp"] != FIRM)


def make_table(rows: list[dict[str, Any]]) -> Table:
    """Return what people see."""
    heads = [f"kappa {kappa:.0e}/J" for kappa in KAPPAS]
    table = Table("task", "grasp", "least force", *heads, "order", title="Smoothed step against second-order cones, mm")
    for row in rows:
        cells = (f"{1e3 * e:.4f} ({1e3 * g:.4f})" for e, g in zip(row["error_m"], row["gap_m"], strict=True))
        table.add_row(row["task"], row["grasp"], f"{row['least_force_n']:.1f} N", *cells, f"{row['order']:.3f}")
    table.caption = (
        "object's displacement off by, and in brackets the gap 2 / (kappa F) that the least loaded contact keeps; "
        "asked of the firm grasp: " + ", ".join(f"{1e3 * m:g} mm at {k:.0e}/J" for k, m in ALLOWED_M.items())
    )
    return table
