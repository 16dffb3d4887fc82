"""Steering: commands of many steps that bring the object along a way in one grasp, optimised for the smoothed model.

The straight way is the geodesic of the object in rotation and translation. Where the greedy steps of a tree get no
further because a step promises what the unsmoothed model does not keep, or overloads springs, this often does: commands
change by little from iteration to iteration, at a barrier weight at which forces are nearly those of that model, and
loads cost from a share of their limits on. While the barrier weight rises no iteration is taken back: costs that may
rise on the way get further.
"""

import numpy as np

from contact_mpc.dynamics.smoothed.quadratic import Model
from contact_mpc.optimisation.trajectory import TrackingProblem, TrajoptConfig, optimise_commands
from contact_mpc.planning.tree.problem import Problem
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.yaml_files import validate
from contact_mpc.task.interpolation import smooth_step

DEFAULTS = {
    "iterations": 80, "kappa_first_per_j": 5e4, "kappa_per_j": 1e5, "object_rotation_weight": 10.0,
    "object_position_weight": 1000.0, "terminal_scale": 1000.0, "command_weight": 0.1, "rate_weight": 1.0,
    "load_weight": 1e7, "load_share": 0.7, "trust_region_rad": 0.01, "newton_tolerance": 1e-8,
}  # fmt: skip


class Steering:
    """The trajectory optimisation of a problem's segments, with the parameters of its section `refinement`."""

    def __init__(self, problem: Problem, model: Model) -> None:
        self.problem, self.model = problem, model
        given = {"h_s": model.h, "limit_margin_rad": problem.file.rrt.limit_margin_rad, **problem.file.refinement}
        self.config = validate(TrajoptConfig, {**DEFAULTS, **given}, f"{problem.path}: refinement")
        self._followed: dict[tuple[bytes, ...], FloatArray | None] = {}  # paths of one tree share segments

    def straight_way(self, q: FloatArray, target: FloatArray, distance: float) -> FloatArray:
        """Return q_ref (T + 1, n_q) from q to the object of target, so far apart in rad, slow at both ends."""
        system = self.problem.system
        search = self.problem.file.search
        T = int(np.clip(np.ceil(distance / search.radians_per_step), search.fewest_steps, search.most_steps))
        dq = system.difference(q, target)
        dq[system.n_v_u :] = 0.0
        return np.array([system.integrate(q, share * dq) for share in smooth_step(np.arange(T + 1) / T)])

    def follow(
        self, q: FloatArray, u: FloatArray, way: FloatArray, first: FloatArray | None = None
    ) -> FloatArray | None:
        """Return commands (T, n_a) from (q, u) along a way (T + 1, n_q), None where the smoothed model has no steps.

        They stay near `first` (T, n_a), which the optimisation starts from, or near u.
        """
        u_ref = np.tile(u, (len(way) - 1, 1)) if first is None else first
        key = (q.tobytes(), u.tobytes(), way.tobytes(), u_ref.tobytes())
        if key not in self._followed:
            tracking = TrackingProblem(q, u, way, u_ref)
            found = optimise_commands(self.problem.system, self.model, tracking, self.config)
            self._followed[key] = found.horizon.u.copy() if found.is_feasible else None
        return self._followed[key]


def divide_commands(commands: FloatArray, before: FloatArray, most_rad: float) -> FloatArray:
    """Return commands (n, n_a) with rows between them, such that none changes by more than most_rad (m for slides).

    They come after the command `before`. A step's geometry is linear: one in which a finger moves by 20 cm may
    push what the finger never touches.
    """
    rows = []
    for row in commands:
        change = float(np.max(np.abs(row - before), initial=0.0))
        count = max(1, int(np.ceil(change / most_rad - 1e-9)))
        rows += [before + (row - before) * (k / count) for k in range(1, count)] + [row]
        before = row
    return np.array(rows).reshape(-1, commands.shape[1])
