"""``contact-mpc bench smoothing``: how the smoothed step tends to the step over second-order cones as kappa grows.

Starts and grasps are those of the tasks, firmer ones have commands GRASPS times as far from the joints. A contact that
carries F keeps a gap of 2 / (kappa F): that is the barrier itself, not an error of a solver. So the object's
displacement is off by

    error = C 2 / (kappa F),    F of the contact that carries least, C about 1 (how gaps add up to a displacement)

and a grasp needs F >= 2 C / (kappa error) to be within an error, whatever solves the step. C, this force and the slope
of log error over log F of a task's grasps (-1 where C is the same) are printed. Asked is order 1 in 1 / kappa of all,
and of the firm grasp a displacement within 0.1 mm at kappa 1e4 and 0.01 mm at 1e5.
"""

import contact_mpc.cli.frame.single_thread  # noqa: F401, I001  before anything that imports numpy

from typing import Annotated, Any

import numpy as np
import typer
from rich.table import Table

from contact_mpc.cli.frame.output import EXIT_GOAL_MISSED, emit
from contact_mpc.dynamics.contact_dynamics import ContactDynamics
from contact_mpc.model.kinematic_tree import PRISMATIC
from contact_mpc.task.task import load_task

TASKS = ("planar_hand_ball", "allegro_ball")
FIRM = "firm"
GRASPS = {"light": 1.0, "middle": 2.0, FIRM: 5.0}
ALLOWED_M = {1e4: 1e-4, 1e5: 1e-5}  # of the object's displacement, by kappa in 1/J
KAPPAS = (1e3, *ALLOWED_M, 1e6)
ORDER_TOLERANCE = 0.1
LEAST_FORCE_N = 1e-6


def bench_smoothing(
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Compare the object's displacement in a smoothed step with that over second-order cones, for growing kappa."""
    rows = [compare(task, grasp) for task in TASKS for grasp in GRASPS]
    result = {
        "seed": None,
        "kappa_per_j": list(KAPPAS),
        "studies": rows,
        "order_in_force": {task: order_in_force([row for row in rows if row["task"] == task]) for task in TASKS},
        "goal_met": all(map(is_goal_met, rows)),
    }
    emit(result, as_json, make_table(result))
    raise typer.Exit(0 if result["goal_met"] else EXIT_GOAL_MISSED)


def compare(name: str, grasp: str) -> dict[str, Any]:
    """Return the errors of the object's displacement, m, by kappa, their order, C, and the force that is needed."""
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
    coefficient = 0.5 * KAPPAS[-1] * force * errors[-1]
    return {
        "task": name,
        "grasp": grasp,
        "least_force_n": force,
        "error_m": errors,
        "coefficient": coefficient,
        "needed_force_n": max(2.0 * coefficient / (kappa * allowed) for kappa, allowed in ALLOWED_M.items()),
        "order": float(-np.polyfit(np.log(KAPPAS[1:]), np.log(errors[1:]), 1)[0]),
    }


def order_in_force(rows: list[dict[str, Any]]) -> float:
    """Return the slope of log error over log F at kappa 1e4 over the grasps of a task."""
    column = KAPPAS.index(1e4)
    forces, errors = [row["least_force_n"] for row in rows], [row["error_m"][column] for row in rows]
    return float(np.polyfit(np.log(forces), np.log(errors), 1)[0])


def is_goal_met(row: dict[str, Any]) -> bool:
    """Whether the order is one, and a firm grasp within what is allowed."""
    is_near = all(row["error_m"][KAPPAS.index(kappa)] <= allowed for kappa, allowed in ALLOWED_M.items())
    return abs(row["order"] - 1.0) <= ORDER_TOLERANCE and (is_near or row["grasp"] != FIRM)


def make_table(result: dict[str, Any]) -> Table:
    """Return what people see."""
    heads = [f"kappa {kappa:.0e}/J" for kappa in KAPPAS]
    table = Table(
        "task",
        "grasp",
        "least F, N",
        *heads,
        "order",
        "C",
        "F needed, N",
        title="Smoothed step against second-order cones: error of the object's displacement, mm",
    )
    for row in result["studies"]:
        numbers = [f"{row['order']:.3f}", f"{row['coefficient']:.2f}", f"{row['needed_force_n']:.2f}"]
        errors = [f"{1e3 * error:.4f}" for error in row["error_m"]]
        table.add_row(row["task"], row["grasp"], f"{row['least_force_n']:.2f}", *errors, *numbers)
    asked = ", ".join(f"{1e3 * m:g} mm at {k:.0e}/J" for k, m in ALLOWED_M.items())
    slopes = ", ".join(f"{slope:.2f} ({task})" for task, slope in result["order_in_force"].items())
    table.caption = (
        f"error = C 2 / (kappa F); slope over F: {slopes}. Asked of the firm grasp: {asked}; "
        "lighter ones are within it from F needed on"
    )
    return table
