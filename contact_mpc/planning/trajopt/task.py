"""Trajectory optimisation through contact: iterated box-constrained programs on the smoothed linearisation.

The tracking problem of `contact_mpc.optimisation.horizon` over the whole motion, in a trust region about the commands
of fingers that roll along the object's path (or the constant start command), seeds/003, "Gradients of the smoothed
dynamics enable trajectory optimization for dexterous hands". The result is consistent: q and the contact forces are the
roll-out of u.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from contact_mpc.dynamics.contact_dynamics import build_model
from contact_mpc.errors import ConfigError, PlanError
from contact_mpc.model.kinematic_tree import REVOLUTE
from contact_mpc.optimisation.trajectory import (
    OptimisedCommands,
    TrackingProblem,
    TrajoptConfig,
    optimise_commands,
)
from contact_mpc.planning.grasp.balance import compute_grasp
from contact_mpc.planning.grasp.rolling import roll_along
from contact_mpc.planning.trajopt.carry import carried_commands
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.yaml_files import validate
from contact_mpc.task.interpolation import smooth_step
from contact_mpc.task.plan import Plan
from contact_mpc.task.task import TaskConfig
from contact_mpc.version import __version__

MOST_BYTES = 5e8  # of the program's derivatives; their products take several times as much


@dataclass(frozen=True)
class TrajoptResult:
    """A plan and how it was reached.

    Attributes
    ----------
    plan : Plan
        Best roll-out.
    is_feasible : bool
        Whether the model has a next state at every step.
    costs : (n,) array
        Cost of each iteration's roll-out at its own kappa.
    angle_error_deg, position_error_mm : float
        Object at the end of the plan against the goal, in the model.
    """

    plan: Plan
    is_feasible: bool
    costs: FloatArray
    angle_error_deg: float
    position_error_mm: float


def plan_task(
    task: TaskConfig, overrides: dict[str, Any] | None = None, progress: Callable[[int, float], None] | None = None
) -> TrajoptResult:
    """Plan a task with the parameters of its file, some replaced.

    Raises
    ------
    ConfigError
        A parameter is unknown or out of range.
    PlanError
        The model finds no next state along any plan from this start.
    """
    config = read_config(task, overrides)
    result = optimise_trajectory(task, config, progress)
    if not result.is_feasible:
        raise PlanError(
            f"{task.path}: the model has no next state from this start (objects and robots overlap, or nothing holds "
            f"the object); move start.joints_rad or start.object_position_m"
        )
    return result


def read_config(task: TaskConfig, overrides: dict[str, Any] | None = None) -> TrajoptConfig:
    """Return the parameters of a task's section `planner`, some replaced; raises ConfigError as `plan_task`."""
    own = {key: value for key, value in task.planner.items() if (key, value) != ("method", "trajopt")}
    return validate(TrajoptConfig, {**own, **(overrides or {})}, f"{task.path}: planner")


def optimise_trajectory(
    task: TaskConfig, config: TrajoptConfig, progress: Callable[[int, float], None] | None = None
) -> TrajoptResult:
    """Plan a task from its start; progress(iteration, cost) is called after each iteration."""
    if not task.has_start:
        raise PlanError(f"{task.path}: the task has no start; find one: contact-mpc plan {task.path} --grasp --write")
    system = task.system
    T = max(1, round(task.duration_s / config.h_s))
    _check_size(task, config, T)
    model = build_model(system, config.h_s, config.friction)
    q_ref = object_path(task, task.start_q, T + 1)
    problem = TrackingProblem(task.start_q, task.start_u, q_ref, initial_commands(task, config, q_ref))
    found = optimise_commands(system, model, problem, config, progress)
    return _result(task, config, found, model.pairs.sign)


def _check_size(task: TaskConfig, config: TrajoptConfig, T: int) -> None:
    """Refuse a horizon whose program, (T n_u) x (T n_a) derivatives, does not fit `MOST_BYTES`."""
    most = int(np.sqrt(MOST_BYTES / (8.0 * task.system.n_v_u * task.system.n_a)))
    if most < T:
        raise ConfigError(
            f"{task.path}: duration_s = {task.duration_s:g} in steps of planner.h_s = {config.h_s:g} s are {T} steps; "
            f"one trajectory optimisation takes at most {most}: shorten it, or raise planner.h_s"
        )


def initial_commands(task: TaskConfig, config: TrajoptConfig, q_ref: FloatArray) -> FloatArray:
    """Return (T, n_a) commands to start from: rolling along the object's path, where that ends the last of it.

    Those of a link that pushes where these are asked for; the start's where no rolling is asked for or possible.
    """
    if config.initialisation == "carried":
        return carried_commands(task.system, q_ref, config.closing_share)
    system, T = task.system, len(q_ref) - 1
    constant = np.tile(task.start_u, (T, 1))
    friction = config.friction if config.grasp_friction is None else config.grasp_friction
    grasp = compute_grasp(system, task.start_q, config.minimum_force_n, friction)
    if config.initialisation == "constant" or not grasp.is_balanced:
        return constant
    path = q_ref[:, : system.n_q_u]
    rolled = roll_along(system, task.start_q, path, grasp.pairs, config.minimum_force_n, friction)
    if len(rolled.u) < 2:
        return constant
    return np.concatenate([rolled.u[1:], np.tile(rolled.u[-1], (T + 1 - len(rolled.u), 1))])


def object_path(task: TaskConfig, q_start: FloatArray, instants: int) -> FloatArray:
    """Return (instants, n_q): the object on the task's geodesic with a smooth start and stop, robots at q_start."""
    system, rows = task.system, []
    moved = replace(task, start_q=q_start)
    for k in range(instants):
        s, q = k / (instants - 1), q_start.copy()
        q[: system.n_q_u] = system.q_from_object_pose(*moved.goal_pose(smooth_step(s)), q)
        rows.append(q)
    return np.array(rows)


def _result(task: TaskConfig, config: TrajoptConfig, found: OptimisedCommands, sign: FloatArray) -> TrajoptResult:
    system, hz = task.system, found.horizon
    T = hz.u.shape[0]
    impulses = config.h_s * hz.force * sign[None, :, None]
    plan = Plan(
        config.h_s * np.arange(T + 1),
        hz.q.copy(),
        np.vstack([hz.u_before, hz.u]),
        np.zeros((T + 1, system.n_a)),
        np.concatenate([np.zeros_like(impulses[:1]), impulses]),
        {
            **system.provenance(),
            "version": __version__,
            "task": task.name,
            "planner": "trajectory_optimisation",
            "parameters": config.model_dump(),
        },
    )
    error = system.difference(hz.q_ref[T], hz.q[T])[: system.n_v_u]
    turns = system.tree.dof_kind[: system.n_v_u] == REVOLUTE
    angle, distance = np.rad2deg(np.linalg.norm(error[turns])), 1e3 * np.linalg.norm(error[~turns])
    return TrajoptResult(plan, found.is_feasible, found.costs, float(angle), float(distance))
