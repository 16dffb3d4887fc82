"""Trajectory optimisation of a planning problem from a trivial start: hold still, and let the gradients find contact.

The short turns of seeds/003: with constant commands towards the goal of the file's section `trajopt`, from the
problem's own start, or from that of some contact samples from which the optimisation ends with the least cost.
"""

import time
from dataclasses import dataclass, replace

import numpy as np

from contact_mpc.dynamics.contact_dynamics import ContactDynamics
from contact_mpc.errors import ConfigError
from contact_mpc.optimisation.trajectory import (
    RollOut,
    TrackingProblem,
    TrajoptConfig,
    optimise_commands,
    tracking_cost,
)
from contact_mpc.planning.tree.planner import SEED_STEP, GrownTree, TreePlanner
from contact_mpc.planning.tree.problem import Problem, with_goal
from contact_mpc.planning.tree.problem_config import TrajoptCaseConfig
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.yaml_files import validate


def _hold_still(grown: GrownTree, way: FloatArray) -> TrackingProblem:
    """Return the problem of following a way (T + 1, n_q) from a root, from commands that stay its own."""
    q, u = grown.tree.q[0], grown.tree.u[0]
    return TrackingProblem(q, u, way, np.tile(u, (len(way) - 1, 1)))


@dataclass(frozen=True)
class DirectResult:
    """A trajectory from a trivial start.

    Attributes
    ----------
    q : (T + 1, n_q) array, u : (T, n_a) array
        In the model it was optimised with.
    costs : (n,) array
        Of the iterations, at their own kappa.
    times_s : (n,) array
        Wall clock at the end of each.
    elapsed_s : float
        Wall clock of all, and of the last roll-out.
    angle_error_deg, position_error_mm : float
        Of its end from the goal, in that model.
    unsmoothed_angle_deg, unsmoothed_position_mm : float
        How far apart the same commands end in the unsmoothed model; NaN where that has no next state.
    replayed_angle_deg, replayed_position_mm : float
        Of the end in the unsmoothed model from the goal; NaN as above.
    unsmoothed_cost : float
        Cost of the unsmoothed roll-out with the same weights.
    """

    q: FloatArray
    u: FloatArray
    costs: FloatArray
    times_s: FloatArray
    elapsed_s: float
    angle_error_deg: float
    position_error_mm: float
    unsmoothed_angle_deg: float
    unsmoothed_position_mm: float
    replayed_angle_deg: float
    replayed_position_mm: float
    unsmoothed_cost: float


class DirectProblem:
    """A planning problem whose section `trajopt` is laid out once, for several runs."""

    def __init__(self, problem: Problem, seed: int = 0) -> None:
        section = problem.file.trajopt
        if section is None:
            raise ConfigError(f"{problem.path}: no section trajopt; add one with its goal and steps")
        friction = section.settings.get("friction", problem.file.friction)
        file = problem.file.model_copy(update={"friction": friction})
        self.problem = with_goal(replace(problem, file=file), section.goal)
        planner = TreePlanner(self.problem, section.h_s)
        self.config = validate(
            TrajoptConfig,
            {
                "h_s": planner.model.h,
                "limit_margin_rad": problem.file.rrt.limit_margin_rad,
                "iterations": 20,
                "initialisation": "constant",
                **section.settings,
            },
            f"{problem.path}: trajopt.settings",
        )
        self.model, self.system = planner.model, problem.system
        self.tracking = self._best_start(planner, seed, section)
        self.unsmoothed = ContactDynamics(self.system, "socp", h_s=planner.model.h, friction=self.problem.file.friction)

    def _best_start(self, planner: TreePlanner, seed: int, section: TrajoptCaseConfig) -> TrackingProblem:
        """Return the problem from the start, or from the contact sample of the least cost."""
        way = np.tile(self.problem.configuration(self.problem.goal_u), (section.steps + 1, 1))
        if self.problem.start_a is not None:
            return _hold_still(planner.grow(seed, nodes=1), way)
        trees = (planner.grow(seed + SEED_STEP * k, nodes=1) for k in range(section.starts))
        return min((_hold_still(tree, way) for tree in trees), key=self._smoothed_cost)

    def _smoothed_cost(self, tracking: TrackingProblem) -> float:
        found = optimise_commands(self.system, self.model, tracking, self.config)
        weights, hz = self.config.weights(self.system), found.horizon
        return tracking_cost(weights, tracking, hz.error, hz.u, hz.q[1:]) if found.is_feasible else np.inf

    def solve(self, roll: RollOut | None = None, iterations: int | None = None) -> DirectResult:
        """Optimise with the smoothed gradients, or those of a roll-out of `gradients`."""
        config = self.config if iterations is None else self.config.model_copy(update={"iterations": iterations})
        times: list[float] = []

        def note(iteration: int, cost: float) -> None:
            times.append(time.perf_counter() - started)

        started = time.perf_counter()
        found = optimise_commands(self.system, self.model, self.tracking, config, note, roll)
        elapsed = time.perf_counter() - started
        hz = found.horizon
        q_exact = self._replay(hz.u)
        apart = missed = (np.nan, np.nan)
        if np.all(np.isfinite(q_exact)):
            missed = self.problem.errors(q_exact[-1])
            apart = replace(self.problem, goal_u=hz.q[-1][: self.system.n_q_u]).errors(q_exact[-1])
        return DirectResult(
            hz.q.copy(),
            hz.u.copy(),
            found.costs,
            np.array(times),
            elapsed,
            *self.problem.errors(hz.q[-1]),
            *apart,
            *missed,
            self._cost(q_exact, hz.u),
        )

    def _replay(self, u: FloatArray) -> FloatArray:
        q = [self.tracking.q_start]
        for row in u:
            result = self.unsmoothed.step(q[-1], row)
            if not result.is_converged:
                return np.full((len(u) + 1, self.system.n_q), np.nan)
            q.append(result.q_next)
        return np.array(q)

    def _cost(self, q: FloatArray, u: FloatArray) -> float:
        """Return the cost of a roll-out in the weights of the optimisation."""
        config, system = self.config, self.system
        if not np.all(np.isfinite(q)):
            return float("nan")
        pairs = zip(self.tracking.q_ref[1:], q[1:], strict=True)
        e = np.array([system.difference(reference, row)[: system.n_v_u] for reference, row in pairs])
        return tracking_cost(config.weights(system), self.tracking, e, u, q[1:])
