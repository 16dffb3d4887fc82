"""A motion under construction: commands one after the other, with the unsmoothed model's answer to each.

The state is (q, u). Commands change by little per step, so that the linearised gaps of the model hold; regrasps are
made anew from the present state (the tree's own differ by what the refinement of earlier segments changed): fingers
unload, retreat, pass by, stand ready, close until they touch, and press.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from contact_mpc.dynamics.log_barrier import CONVERGED, solve_step
from contact_mpc.dynamics.newton import measure_gaps
from contact_mpc.planning.contact_sampling import close_finger, preload
from contact_mpc.planning.regrasping import (
    READY,
    TOUCH,
    WAYPOINTS,
    find_free_path,
    free_share,
    moved_contacts,
    retreat,
)
from contact_mpc.planning.rrt import TreePlanner
from contact_mpc.planning.rrt_growth import STEP_TOLERANCE

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
FREE_STEP_RAD = 0.15  # largest change of a command per step in free motion, rad (m)
FREE_MARGIN = 0.3  # share of a gap that a step in free motion leaves
MOST_FREE_STEPS = 400  # between two waypoints


@dataclass(frozen=True)
class Rows:
    """Rows of a motion: commands u, what they lead to, and the force on the sphere of each pair, N.

    is_free marks steps between grasps.
    """

    u: list[FloatArray] = field(default_factory=list)
    q: list[FloatArray] = field(default_factory=list)
    force: list[FloatArray] = field(default_factory=list)
    is_free: list[bool] = field(default_factory=list)

    def copy(self) -> "Rows":
        """Return rows that may grow apart."""
        return Rows(list(self.u), list(self.q), list(self.force), list(self.is_free))


class Motion:
    """Commands from a start, stepped with the unsmoothed model of a planner."""

    def __init__(self, planner: TreePlanner, q: FloatArray, u: FloatArray, rows: Rows | None = None) -> None:
        self.planner, self.q, self.u = planner, q.copy(), u.copy()
        self.rows = rows or Rows()

    def copy(self) -> "Motion":
        """Return a motion that may go on differently."""
        return Motion(self.planner, self.q, self.u, self.rows.copy())

    def take(self, other: "Motion") -> None:
        """Become the other motion."""
        self.q, self.u, self.rows = other.q, other.u, other.rows

    def command(self, u: FloatArray, is_free: bool = False) -> bool:
        """Make one step with a command (n_a,); False, and no step, where the model has none or penetrates."""
        model, ws = self.planner.model, self.planner.newton
        status, _, _ = solve_step(
            model, ws, self.q, u, np.zeros(len(model.mu)), self.planner.growth.kappa_check, STEP_TOLERANCE, False
        )
        if status != CONVERGED:
            return False
        q_next, force = self.planner.problem.system.integrate(self.q, ws.dq), -ws.w
        if np.min(measure_gaps(model, ws, q_next)) < -self.planner.growth.deepest:
            return False
        self.q, self.u = q_next, u.copy()
        for rows, item in zip((self.rows.u, self.rows.q, self.rows.force), (self.u, self.q, force), strict=True):
            rows.append(item)
        self.rows.is_free.append(is_free)
        return True

    def command_all(self, commands: FloatArray) -> bool:
        """Make one step per row (n, n_a); False where one fails."""
        return all(self.command(u) for u in commands)

    def object_error(self, q_ref: FloatArray) -> float:
        """Return the distance of the object from that of q_ref (n_q,) in the global metric, rad."""
        growth, system = self.planner.growth, self.planner.problem.system
        e = system.difference(q_ref, self.q)[: system.n_v_u]
        return float(np.sqrt(np.sum(growth.weight * e**2)))

    def regrasp(self, posture: int, moving: BoolArray, ready: FloatArray, touch: FloatArray, seed: int) -> bool:
        """Move the fingers of a posture to a new grasp; False where no way is found or the object does not stay.

        ready, touch : (n_a,) where the tree's regrasp started and ended to close; the closing motion goes through both
        and as far again.
        """
        planner = self.planner
        q_object = self.q.copy()
        path = np.zeros((WAYPOINTS, len(ready)))
        counted = np.zeros(len(planner.model.mu), dtype=bool)
        moved_contacts(planner.sampler, moving, counted)
        if not self.command(np.where(moving, self.q[self.planner.problem.system.n_q_u :], self.u), True):
            return False
        probe = self.q.copy()
        growth, first = planner.growth, planner.problem.system.n_q_u
        if not retreat(
            planner.model, planner.newton, planner.sampler, moving, counted, growth.lower, growth.upper, probe
        ):
            return False
        path[0] = np.where(moving, probe[first:], self.u)
        path[READY] = np.where(moving, ready, self.u)
        rng = np.random.default_rng(seed)
        probe[:first] = self.q[:first]
        found = find_free_path(
            planner.model, planner.newton, planner.sampler, rng, moving, counted, probe, path
        )
        if not found or not all(self._go_to(path[k], counted) for k in range(READY + 1)):
            return False
        path[TOUCH] = self._close(posture, moving, path[READY], touch)
        if not self._go_to(path[TOUCH], counted):
            return False
        pressed = self.u.copy()
        preload(planner.sampler, posture, path, moving, growth.lower, growth.upper, pressed)
        if not self.command(pressed, True):
            return False
        return self.object_error(q_object) * growth.length <= 2.0 * planner.sampler.hold

    def _go_to(self, target: FloatArray, counted: BoolArray) -> bool:
        """Move commands to the target (n_a,) in steps that drag no object along."""
        planner, first = self.planner, self.planner.problem.system.n_q_u
        for _ in range(MOST_FREE_STEPS):
            left = target - self.u
            length = float(np.max(np.abs(left)))
            if length < 1e-9:
                return True
            dq_a = left * min(1.0, FREE_STEP_RAD / length) + self.u - self.q[first:]
            share = free_share(planner.model, planner.newton, counted, self.q, dq_a, FREE_MARGIN)
            if not self.command(self.u + share * min(1.0, FREE_STEP_RAD / length) * left, True):
                return False
        return False

    def _close(self, posture: int, moving: BoolArray, ready: FloatArray, touch: FloatArray) -> FloatArray:
        """Return where the fingers touch (n_a,) as the object stands now."""
        planner = self.planner
        growth, first = planner.growth, planner.problem.system.n_q_u
        q = self.q.copy()
        q[first:] = np.where(moving, ready, q[first:])
        for f in range(planner.sampler.fingers[posture]):
            joints = planner.sampler.finger[posture] == f
            if np.any(moving & joints) and np.any(np.abs(touch - ready)[joints] > 1e-9):
                rate = 2.0 * (touch - ready)
                close_finger(
                    planner.model, planner.newton, planner.sampler, posture, f, ready, rate, growth.lower,
                    growth.upper, q,
                )
        return np.where(moving, q[first:], self.u)
