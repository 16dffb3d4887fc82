"""A motion under construction: commands one after the other, with the unsmoothed model's answer to each.

With `dynamics`, the second-order cone program, its answers are kept and count as the plan; without, the tree's own
model at a high barrier weight answers, faster, to see where commands would lead.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from contact_mpc.dynamics.contact_dynamics import ContactDynamics
from contact_mpc.planning.tree.growth.regrasp_motion import MOST_STEPS, make_regrasp, make_step, make_steps, stays_out
from contact_mpc.planning.tree.planner import TreePlanner
from contact_mpc.planning.tree.steering import divide_commands
from contact_mpc.settings.arrays import FloatArray

BoolArray = NDArray[np.bool_]


@dataclass(frozen=True)
class Rows:
    """Rows of a motion: commands u, what they lead to, and the force on the object at each contact, N.

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
    """Commands from a start (q, u), which `start` keeps; rows are those of `dynamics`, none without."""

    def __init__(
        self,
        planner: TreePlanner,
        q: FloatArray,
        u: FloatArray,
        dynamics: ContactDynamics | None = None,
        rows: Rows | None = None,
        start: tuple[FloatArray, FloatArray] | None = None,
    ) -> None:
        self.planner, self.q, self.u, self.dynamics = planner, q.copy(), u.copy(), dynamics
        self.rows, self.start = rows or Rows(), start or (self.q, self.u)

    def copy(self) -> "Motion":
        """Return a motion that may go on differently."""
        return Motion(self.planner, self.q, self.u, self.dynamics, self.rows.copy(), self.start)

    def preview(self) -> "Motion":
        """Return a motion from here in the tree's model, without rows."""
        return Motion(self.planner, self.q, self.u)

    def take(self, other: "Motion") -> None:
        """Become the other motion."""
        self.q, self.u, self.rows = other.q, other.u, other.rows

    def command_all(self, commands: FloatArray, is_free: bool = False) -> bool:
        """Make one step per row (n, n_a); False where the model has none or penetrates, with the steps before.

        Nor does it move where a row is outside the joint limits.
        """
        system = self.planner.problem.system
        if np.any((commands < system.q_min) | (commands > system.q_max)):
            return False
        if not is_free:
            commands = divide_commands(commands, self.u, self.planner.problem.file.plan_step_rad)
        if self.dynamics is not None:
            return all(self._step(self.dynamics, row, is_free) for row in commands)
        planner, steps = self.planner, make_steps(len(commands), len(self.u))
        return all(
            make_step(planner.model, planner.newton, planner.growth, row, self.q, self.u, steps) for row in commands
        )

    def _step(self, dynamics: ContactDynamics, u: FloatArray, is_free: bool) -> bool:
        planner, result = self.planner, dynamics.step_next(self.q, u)
        if not result.is_converged:
            return False
        if not stays_out(planner.model, planner.newton, planner.growth, result.q_next):
            return False
        if planner.object_distance(result.q_next, self.q) > planner.problem.file.plan_move_rad:
            return False  # it snaps: what is let loose in one step of the model flies in an engine
        self.q, self.u = result.q_next, u.copy()
        self.rows.u.append(self.u)
        self.rows.q.append(self.q)
        self.rows.force.append(result.impulses / dynamics.h_s)
        self.rows.is_free.append(is_free)
        return True

    def regrasp(self, posture: int, moving: BoolArray, path: FloatArray) -> bool:
        """Move the fingers of a posture along a tree's path (WAYPOINTS, n_a); False where the object does not stay."""
        planner, steps = self.planner, make_steps(MOST_STEPS, len(self.u))
        q, u = self.q.copy(), self.u.copy()
        is_made = make_regrasp(
            planner.model, planner.newton, planner.growth, planner.sampler, posture, moving, path.copy(), q, u, steps
        )
        if self.dynamics is None:
            self.q, self.u = q, u
            return bool(is_made)
        return bool(is_made) and self.command_all(steps.u[: steps.made[0]], True)

    def object_error(self, q_ref: FloatArray) -> float:
        """Return the distance of the object from that of q_ref (n_q,) in the global metric, rad."""
        return self.planner.object_distance(self.q, q_ref)
