"""Trajectory optimisation through contact: iterated box-constrained programs on the smoothed linearisation.

The tracking problem of `contact_mpc.optimisation.horizon` over the whole motion, in a trust region about the commands
of fingers that roll along the object's path (or the constant start command), seeds/003, "Gradients of the smoothed
dynamics enable trajectory optimization for dexterous hands". The result is consistent: q and the contact forces are the
roll-out of u.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from contact_mpc import __version__
from contact_mpc.dynamics.contact_dynamics import build_model
from contact_mpc.errors import PlanError
from contact_mpc.model.kinematic_tree import REVOLUTE
from contact_mpc.model.plan import Plan
from contact_mpc.model.system_config import validate
from contact_mpc.model.task import TaskConfig
from contact_mpc.optimisation.horizon import (
    Horizon,
    Weights,
    build_bounds,
    build_weights,
    improve,
    make_horizon,
    roll_out,
)
from contact_mpc.planning.grasp import compute_grasp
from contact_mpc.planning.rolling import roll_along

FloatArray = NDArray[np.float64]
SMALLEST_SCALE = 1e-3  # of the trust region, below which no step lowers the cost


class TrajoptConfig(BaseModel):
    """Parameters of the trajectory optimisation."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    h_s: float = Field(default=0.1, gt=0.0, le=1.0, description="time step, s")
    iterations: int = Field(default=20, ge=1, le=500, description="linearisations")
    initialisation: Literal["rolling", "constant"] = Field(
        default="rolling", description="commands to start from: fingers rolling along the object's path, or u_start"
    )
    minimum_force_n: float = Field(default=1.0, gt=0.0, description="normal force per finger of rolling, N")
    kappa_per_j: float = Field(default=3.0e4, gt=0.0, description="log-barrier weight, 1/J")
    friction: float = Field(default=0.65, ge=0.0, description="friction of the model, -")
    object_rotation_weight: float = Field(default=100.0, ge=0.0, description="1/rad^2")
    object_position_weight: float = Field(default=1.0e5, ge=0.0, description="1/m^2")
    terminal_scale: float = Field(default=10.0, ge=0.0, description="factor of both at the last step, -")
    command_weight: float = Field(default=60.0, gt=0.0, description="cost of the distance from the start, 1/rad^2")
    rate_weight: float = Field(default=10.0, ge=0.0, description="cost of changes from step to step, 1/rad^2")
    trust_region_rad: float = Field(default=0.05, gt=0.0, description="largest change per iteration, rad")
    limit_margin_rad: float = Field(default=0.02, ge=0.0, description="distance from the joint limits, rad")
    newton_tolerance: float = Field(default=1.0e-10, gt=0.0, description="of the model's step, kappa * decrement^2")
    step_tolerance_rad: float = Field(default=1e-4, gt=0.0, description="done when no command changes by more, rad")


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
    config = validate(TrajoptConfig, {**task.planner, **(overrides or {})}, f"{task.path}: planner")
    result = optimise_trajectory(task, config, progress)
    if not result.is_feasible:
        raise PlanError(
            f"{task.path}: the model has no next state from this start (objects and robots overlap, or nothing holds "
            f"the object); move start.joints_rad or start.object_position_m"
        )
    return result


def optimise_trajectory(
    task: TaskConfig, config: TrajoptConfig, progress: Callable[[int, float], None] | None = None
) -> TrajoptResult:
    """Plan a task from its start; progress(iteration, cost) is called after each iteration.

    A step that does not lower the cost at the same kappa is taken back and the trust region is shrunk.
    """
    system = task.system
    T = max(1, round(task.duration_s / config.h_s))
    model = build_model(system, config.h_s, config.friction)
    hz = make_horizon(model, system.n_q, T)
    hz.q[0] = task.start_q
    hz.q_ref[:] = object_path(task, task.start_q, T + 1)
    hz.u_ref[:] = initial_commands(task, config, hz.q_ref)
    hz.u[:], hz.u_before[:] = hz.u_ref, task.start_u
    weights = build_weights(
        system, config.object_rotation_weight, config.object_position_weight, config.terminal_scale,
        config.command_weight, config.rate_weight,
    )  # fmt: skip
    costs, scale, best, best_cost, feasible = [], 1.0, hz.u.copy(), np.inf, True
    for iteration in range(config.iterations):
        nominal = hz.u.copy()
        trust = scale * config.trust_region_rad
        bounds = build_bounds(system, config.limit_margin_rad, trust, system.v_max * config.h_s)
        feasible = improve(model, hz, weights, bounds, config.kappa_per_j, config.newton_tolerance)
        cost = _cost(hz, weights, nominal) if feasible else np.inf
        costs.append(cost)
        if cost < best_cost:
            best, best_cost, scale = nominal, cost, min(1.0, 2.0 * scale)
        else:
            hz.u[:], scale = best, 0.25 * scale
            hz.dq[:] = 0.0
        if progress is not None:
            progress(iteration + 1, best_cost)
        if scale < SMALLEST_SCALE or (hz.last_change[0] < config.step_tolerance_rad and cost == best_cost):
            break
    hz.u[:] = best
    feasible = roll_out(model, hz, config.kappa_per_j, config.newton_tolerance, False)
    return _result(task, config, hz, model.pairs.sign, bool(feasible), np.array(costs))


def initial_commands(task: TaskConfig, config: TrajoptConfig, q_ref: FloatArray) -> FloatArray:
    """Return (T, n_a) commands to start from: rolling along the object's path, the start's where that is impossible."""
    system, T = task.system, len(q_ref) - 1
    constant = np.tile(task.start_u, (T, 1))
    grasp = compute_grasp(system, task.start_q, config.minimum_force_n, config.friction)
    if config.initialisation == "constant" or not grasp.is_balanced:
        return constant
    path = q_ref[:, : system.n_q_u]
    rolled = roll_along(system, task.start_q, path, grasp.pairs, config.minimum_force_n, config.friction)
    return rolled.u[1:] if rolled.is_complete else constant


def object_path(task: TaskConfig, q_start: FloatArray, instants: int) -> FloatArray:
    """Return (instants, n_q): the object on the task's geodesic with a smooth start and stop, robots at q_start."""
    system, rows = task.system, []
    moved = replace(task, start_q=q_start)
    for k in range(instants):
        s, q = k / (instants - 1), q_start.copy()
        q[: system.n_q_u] = system.q_from_object_pose(*moved.goal_pose(s * s * (3.0 - 2.0 * s)), q)
        rows.append(q)
    return np.array(rows)


def _errors(task: TaskConfig, hz: Horizon) -> FloatArray:
    """Return the objects' tangent errors (T, n_v_u) along the roll-out, and keep them in the horizon."""
    n = task.system.n_v_u
    for k in range(hz.u.shape[0]):
        hz.error[k] = task.system.difference(hz.q_ref[k + 1], hz.q[k + 1])[:n]
    return hz.error


def _cost(hz: Horizon, weights: Weights, u: FloatArray) -> float:
    rates = np.diff(u, axis=0, prepend=hz.u_before[None])
    tracking = np.sum(weights.Q * hz.error[:-1] ** 2) + np.sum(weights.Q_T * hz.error[-1] ** 2)
    return float(tracking + np.sum(weights.R * (u - hz.u_ref) ** 2) + np.sum(weights.V * rates**2))


def _result(
    task: TaskConfig, config: TrajoptConfig, hz: Horizon, sign: FloatArray, feasible: bool, costs: FloatArray
) -> TrajoptResult:
    system, T = task.system, hz.u.shape[0]
    impulses = config.h_s * hz.force * sign[None, :, None]
    plan = Plan(
        config.h_s * np.arange(T + 1), hz.q.copy(), np.vstack([hz.u_before, hz.u]), np.zeros((T + 1, system.n_a)),
        np.concatenate([np.zeros_like(impulses[:1]), impulses]),
        {
            **system.provenance(), "version": __version__, "task": task.name, "planner": "trajectory_optimisation",
            "parameters": config.model_dump(),
        },
    )
    error = _errors(task, hz)[-1]
    turns = system.tree.dof_kind[: system.n_v_u] == REVOLUTE
    angle, distance = np.rad2deg(np.linalg.norm(error[turns])), 1e3 * np.linalg.norm(error[~turns])
    return TrajoptResult(plan, feasible, costs, float(angle), float(distance))
