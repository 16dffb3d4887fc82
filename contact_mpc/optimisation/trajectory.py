"""Commands that move an object along a path: iterated box-constrained programs, with continuation of the barrier
weight.

One problem for tasks, for segments of a tree, and for studies: from q_start, track q_ref (T + 1, n_q) with commands
near u_ref (T, n_a). Every iteration rolls out, linearises and solves the program of
`contact_mpc.optimisation.horizon`. The barrier weight rises geometrically from `kappa_first_per_j` to `kappa_per_j`
over the first `CONTINUATION_SHARE` of the iterations (seeds/003: "Gradients of the smoothed dynamics enable trajectory
optimization for dexterous hands"). A step that does not lower the cost at the same kappa is taken back and the trust
region shrinks.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from contact_mpc.dynamics.smoothed.quadratic import Model
from contact_mpc.model.system import System
from contact_mpc.optimisation.horizon import (
    Horizon,
    Weights,
    build_limits,
    build_weights,
    forget_solution,
    make_horizon,
    roll_out,
    solve_program,
)
from contact_mpc.settings.arrays import FloatArray

RollOut = Callable[[Horizon, float, bool], bool]  # fill q, dq, A, B of the horizon at a kappa; False where a step fails
SMALLEST_SCALE = 1e-3  # of the trust region, below which no step lowers the cost
CONTINUATION_SHARE = 0.6


class TrajoptConfig(BaseModel):
    """Parameters of the trajectory optimisation."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    h_s: float = Field(default=0.1, gt=0.0, le=1.0, description="time step, s")
    iterations: int = Field(default=20, ge=1, le=500, description="linearisations")
    initialisation: Literal["rolling", "carried", "constant"] = Field(
        default="rolling",
        description="commands to start from: fingers rolling along the object's path; a link that pushes it; u_start",
    )
    closing_share: float = Field(
        default=0.15, gt=0.0, le=1.0, description="of a carried push, in which the gap to the object is closed, -"
    )
    minimum_force_n: float = Field(default=1.0, gt=0.0, description="normal force per finger of rolling, N")
    kappa_per_j: float = Field(default=3.0e4, gt=0.0, description="log-barrier weight, 1/J")
    kappa_first_per_j: float | None = Field(
        default=None, gt=0.0, description="log-barrier weight of the first iteration, 1/J; without it no continuation"
    )
    friction: float = Field(default=0.65, ge=0.0, description="friction of the model, -")
    grasp_friction: float | None = Field(
        default=None, gt=0.0, description="friction of the cones of rolling's commands, -; without it friction"
    )
    object_rotation_weight: float = Field(default=100.0, ge=0.0, description="1/rad^2")
    object_position_weight: float = Field(default=1.0e5, ge=0.0, description="1/m^2")
    terminal_scale: float = Field(default=10.0, ge=0.0, description="factor of both at the last step, -")
    command_weight: float = Field(default=60.0, gt=0.0, description="cost of the distance from the start, 1/rad^2")
    rate_weight: float = Field(default=10.0, ge=0.0, description="cost of changes from step to step, 1/rad^2")
    load_weight: float = Field(
        default=0.0, ge=0.0, description="cost of |u - q_a| beyond load_share of what the effort limits allow, 1/rad^2"
    )
    load_share: float = Field(default=1.0, gt=0.0, le=1.0, description="of the effort limits, from which loads cost")
    trust_region_rad: float = Field(default=0.05, gt=0.0, description="largest change per iteration, rad")
    limit_margin_rad: float = Field(default=0.02, ge=0.0, description="distance from the joint limits, rad")
    newton_tolerance: float = Field(default=1.0e-10, gt=0.0, description="of the model's step, kappa * decrement^2")
    step_tolerance_rad: float = Field(default=1e-4, gt=0.0, description="done when no command changes by more, rad")

    def kappa_at(self, iteration: int) -> float:
        """Return the barrier weight of an iteration, 1/J."""
        if self.kappa_first_per_j is None:
            return self.kappa_per_j
        share = min(1.0, iteration / max(1.0, CONTINUATION_SHARE * (self.iterations - 1)))
        return float(self.kappa_first_per_j ** (1.0 - share) * self.kappa_per_j**share)

    def weights(self, system: System) -> Weights:
        """Return the weights of a system's tracking cost."""
        return build_weights(
            system, self.object_rotation_weight, self.object_position_weight, self.terminal_scale,
            self.command_weight, self.rate_weight, self.load_weight, self.load_share,
        )  # fmt: skip


@dataclass(frozen=True)
class TrackingProblem:
    """From q_start (n_q,) with u_before (n_a,): track q_ref (T + 1, n_q), of which q_u counts, with u near u_ref.

    u_ref is (T, n_a); u_first (T, n_a) are the commands to start from, u_ref where None.
    """

    q_start: FloatArray
    u_before: FloatArray
    q_ref: FloatArray
    u_ref: FloatArray
    u_first: FloatArray | None = None


@dataclass(frozen=True)
class OptimisedCommands:
    """The best roll-out at the last kappa, in `horizon`; costs (n,) of every iteration at its own kappa."""

    horizon: Horizon
    is_feasible: bool
    costs: FloatArray


def optimise_commands(
    system: System,
    model: Model,
    problem: TrackingProblem,
    config: TrajoptConfig,
    progress: Callable[[int, float], None] | None = None,
    roll: RollOut | None = None,
) -> OptimisedCommands:
    """Solve a tracking problem; progress(iteration, cost) is called after each iteration.

    roll replaces the smoothed roll-out, to compare other gradients.
    """
    hz = _build_horizon(system, model, problem)
    roll = roll or _smoothed_roll_out(model, config)
    weights = config.weights(system)
    costs: list[float] = []
    scale, best, best_cost, kappa = 1.0, hz.u.copy(), np.inf, config.kappa_at(0)
    for iteration in range(config.iterations):
        if config.kappa_at(iteration) != kappa:  # costs at another kappa do not compare
            kappa, best_cost = config.kappa_at(iteration), np.inf
        nominal = hz.u.copy()
        feasible = roll(hz, kappa, True)
        if feasible:
            limits = build_limits(
                system, config.limit_margin_rad, scale * config.trust_region_rad, system.v_max * config.h_s
            )
            solve_program(model, hz, weights, limits)
        cost = tracking_cost(weights, problem, hz.error, nominal, hz.q[1:]) if feasible else np.inf
        costs.append(cost)
        if cost < best_cost:
            best, best_cost, scale = nominal, cost, min(1.0, 2.0 * scale)
        else:
            hz.u[:], scale = best, 0.25 * scale
            forget_solution(hz)
        if progress is not None:
            progress(iteration + 1, best_cost)
        is_last = kappa == config.kappa_per_j
        settled = hz.last_change[0] < config.step_tolerance_rad and cost == best_cost
        if is_last and (scale < SMALLEST_SCALE or settled):
            break
    hz.u[:] = best
    feasible = roll(hz, config.kappa_per_j, False)
    return OptimisedCommands(hz, feasible, np.array(costs))


def _build_horizon(system: System, model: Model, problem: TrackingProblem) -> Horizon:
    hz = make_horizon(model, system.n_q, len(problem.u_ref))
    hz.q[0], hz.u_before[:] = problem.q_start, problem.u_before
    hz.q_ref[:], hz.u_ref[:] = problem.q_ref, problem.u_ref
    hz.u[:] = problem.u_ref if problem.u_first is None else problem.u_first
    return hz


def _smoothed_roll_out(model: Model, config: TrajoptConfig) -> RollOut:
    def roll(hz: Horizon, kappa: float, linearise: bool) -> bool:
        return bool(roll_out(model, hz, kappa, config.newton_tolerance, linearise))

    return roll


def tracking_cost(weights: Weights, problem: TrackingProblem, error: FloatArray, u: FloatArray, q: FloatArray) -> float:
    """Return the cost of a roll-out to q (T, n_q) with tangent errors (T, n_v_u) of objects, commands u (T, n_a)."""
    rates = np.diff(u, axis=0, prepend=problem.u_before[None])
    tracking = np.sum(weights.W_e * error[:-1] ** 2) + np.sum(weights.W_T * error[-1] ** 2)
    over = np.maximum(0.0, np.abs(u - q[:, q.shape[1] - u.shape[1] :]) - weights.load.limit)
    tracking += weights.load.weight * np.sum(over**2)
    return float(tracking + np.sum(weights.W_u * (u - problem.u_ref) ** 2) + np.sum(weights.W_du * rates**2))
