"""From a tree to a motion: segments between regrasps, refined by trajectory optimisation, with shortcuts over them.

The path to a node is cut at its regrasps. From the present state every segment is optimised along the straight way of
its object, in rotation and translation, or along the tree's own path, starting from commands that hold still or from
the tree's, or the tree's commands are played as they are. What counts is where the unsmoothed model ends. A shortcut
goes to the end of a later segment with the present grasp and leaves out the regrasps between; the farthest that ends
well is taken. Where nothing does the motion stops, and a new tree is due from there.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from contact_mpc.model.system_config import validate
from contact_mpc.planning.command_optimisation import TrackingProblem, TrajoptConfig, optimise_commands
from contact_mpc.planning.motion import Motion
from contact_mpc.planning.rrt import GrownTree, TreePlanner
from contact_mpc.planning.rrt_growth import REGRASP

FloatArray = NDArray[np.float64]
LOOK_AHEAD = 6  # segments that a shortcut may span
RADIANS_PER_STEP = 0.07  # of the object in the global metric along straight ways
FEWEST_STEPS, MOST_STEPS = 5, 40
SEGMENT_TOLERANCE_RAD = 0.02  # distance from the end of a segment, global metric
TOLERANCE_SHARE = 0.5  # of the goal's tolerances that the last segment may use
DEFAULTS = {
    "iterations": 15, "kappa_first_per_j": 1e3, "kappa_per_j": 1e5, "object_rotation_weight": 10.0,
    "object_position_weight": 1000.0, "terminal_scale": 1000.0, "command_weight": 0.1, "rate_weight": 1.0,
    "trust_region_rad": 0.1, "newton_tolerance": 1e-8,
}  # fmt: skip


@dataclass(frozen=True)
class Segment:
    """Nodes of a path (n,) from a regrasp's result, or the root, to before the next regrasp; `regrasp` starts it."""

    nodes: tuple[int, ...]
    regrasp: bool


def split_path(grown: GrownTree, node: int) -> list[Segment]:
    """Return the segments of the path to a node."""
    segments: list[list[int]] = []
    for index in grown.path_to(node).tolist():
        if not segments or grown.tree.kind[index] == REGRASP:
            segments.append([])
        segments[-1].append(index)
    return [Segment(tuple(nodes), k > 0) for k, nodes in enumerate(segments)]


class Refiner:
    """Turns paths of one grown tree into motions."""

    def __init__(
        self, planner: TreePlanner, grown: GrownTree, progress: Callable[[int, int], None] | None = None
    ) -> None:
        self.planner, self.grown, self.progress = planner, grown, progress
        file, path = planner.problem.file, planner.problem.path
        given = {"h_s": planner.model.h, "limit_margin_rad": file.rrt.limit_margin_rad, **file.refinement}
        settings = {**DEFAULTS, **given}
        self.config = validate(TrajoptConfig, settings, f"{path}: refinement")

    def refine(self, motion: Motion, node: int) -> bool:
        """Continue a motion, which stands at the root, along the path to a node; False where it stops on the way."""
        segments, i = split_path(self.grown, node), 0
        while i < len(segments):
            following = self._advance(motion, segments, i)
            if following is None:
                return False
            i = following
            if self.progress is not None:
                self.progress(i, len(segments))
        return True

    def _advance(self, motion: Motion, segments: list[Segment], i: int) -> int | None:
        """Bring the motion to the end of segment i, or of a later one; return the next, None where no way holds."""
        for j in range(min(i + LOOK_AHEAD, len(segments)) - 1, i - 1, -1):
            for attempt in self._attempts(motion, segments, i, j):
                trial = motion.copy()
                if trial.command_all(attempt) and self._ends_well(trial, segments, j):
                    if self._regrasps(trial, segments, j + 1):
                        motion.take(trial)
                        return j + 1
        return None

    def _regrasps(self, motion: Motion, segments: list[Segment], k: int) -> bool:
        """Make the regrasp that starts segment k, if there is one."""
        if k >= len(segments):
            return True
        tree, node = self.grown.tree, segments[k].nodes[0]
        return motion.regrasp(
            int(tree.posture[node]), tree.moving[node], tree.path[node, 3], tree.path[node, 4], self.grown.seed + node
        )

    def _ends_well(self, motion: Motion, segments: list[Segment], j: int) -> bool:
        """Whether the motion is at the end of segment j: at the goal, if the path ends there."""
        problem = self.planner.problem
        if j == len(segments) - 1 and self.grown.is_reached:
            angle, distance = problem.errors(motion.q)
            return angle <= TOLERANCE_SHARE * problem.file.tolerance_deg and (
                distance <= TOLERANCE_SHARE * problem.file.tolerance_mm
            )
        return motion.object_error(self.grown.tree.q[segments[j].nodes[-1]]) <= SEGMENT_TOLERANCE_RAD

    def _attempts(self, motion: Motion, segments: list[Segment], i: int, j: int) -> Iterator[FloatArray]:
        """Yield commands (n, n_a) that shall bring the object to the end of segment j."""
        target = self._target(segments, j)
        if motion.object_error(target) <= 1e-4:
            yield np.zeros((0, len(motion.u)))
            return
        yield from self._optimised(motion, self._straight_way(motion, target), None)
        if i == j and len(segments[i].nodes) > 1:
            first = self._tree_commands(segments[i])
            way = np.concatenate([motion.q[None], self.grown.tree.q[list(segments[i].nodes[1:])]])
            way[-1] = target
            yield from self._optimised(motion, way, first)
            yield first

    def _target(self, segments: list[Segment], j: int) -> FloatArray:
        is_goal = j == len(segments) - 1 and self.grown.is_reached
        return self.planner.goal if is_goal else self.grown.tree.q[segments[j].nodes[-1]]

    def _tree_commands(self, segment: Segment) -> FloatArray:
        return self.grown.tree.u[list(segment.nodes[1:])]

    def _straight_way(self, motion: Motion, target: FloatArray) -> FloatArray:
        """Return q_ref (T + 1, n_q) on the geodesic of the object, with a smooth start and stop."""
        system = self.planner.problem.system
        length = motion.object_error(target)
        T = int(np.clip(np.ceil(length / RADIANS_PER_STEP), FEWEST_STEPS, MOST_STEPS))
        dq = system.difference(motion.q, target)
        dq[system.n_v_u :] = 0.0
        s = np.arange(T + 1) / T
        return np.array([system.integrate(motion.q, share * dq) for share in s * s * (3.0 - 2.0 * s)])

    def _optimised(self, motion: Motion, way: FloatArray, first: FloatArray | None) -> Iterator[FloatArray]:
        T = len(way) - 1
        u_ref = np.tile(motion.u, (T, 1)) if first is None else first
        problem = TrackingProblem(motion.q, motion.u, way, u_ref)
        found = optimise_commands(self.planner.problem.system, self.planner.model, problem, self.config)
        if found.is_feasible:
            yield found.horizon.u.copy()
