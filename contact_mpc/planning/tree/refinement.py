"""From a tree to a motion: its path played, then its segments refined by trajectory optimisation, with shortcuts.

The path to a node is cut at its regrasps. Every edge of the tree is a motion of the unsmoothed model, so the path can
be played as it is. Then, from the start on, segments are optimised: along the straight way of the object in rotation
and translation, from commands that hold still, or along the tree's own path from the tree's commands. A shortcut goes
to the end of a later segment with the present grasp and leaves out the regrasps between; the farthest is taken. A
segment is replaced only where the rest of the path, played after it with the unsmoothed model, still ends near the end
of the path. From there the goal itself is approached in the last grasp, where it is near.

Steps of a plan are shorter than those of a tree, and where they leave the object behind, the grasps that come after are
none of it: a path ends where a segment misses by half of its way, and so do other paths before that segment.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from contact_mpc.planning.tree.growth.arrays import REGRASP
from contact_mpc.planning.tree.motion import Motion
from contact_mpc.planning.tree.planner import GrownTree, TreePlanner
from contact_mpc.planning.tree.steering import Steering
from contact_mpc.settings.arrays import FloatArray


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

    def __init__(self, planner: TreePlanner, grown: GrownTree) -> None:
        self.planner, self.grown, self.search = planner, grown, planner.problem.file.search
        self.steering = Steering(planner.problem, planner.model)
        self._missed: set[int] = set()  # ends of segments that no motion came to

    def leads_on(self, node: int) -> bool:
        """Whether no segment before the last one on the path to a node was missed by a motion before."""
        return all(segment.nodes[-1] not in self._missed for segment in split_path(self.grown, node)[:-1])

    def refine(self, motion: Motion, node: int) -> None:
        """Continue a motion, which stands at the root, along the refined path to a node, as far as there are steps."""
        segments = split_path(self.grown, node)
        following: int | None = 0
        while following is not None and following < len(segments):
            start = motion.q
            following = self._advance(motion, segments, following)
            if following is not None and self._misses(motion, start, segments, following - 1):
                self._missed.add(segments[following - 1].nodes[-1])
                break
        if following is not None and motion.object_error(self.planner.goal) <= self.search.approach_rad:
            self._approach_goal(motion)

    def _approach_goal(self, motion: Motion) -> None:
        """Append the optimised straight way to the goal where it ends nearer to that than the motion does."""
        goal = self.planner.goal
        for _ in range(self.search.approaches):
            for commands in self._straight(motion, goal):
                self._take(motion, commands, partial(self._is_nearer, than=motion.object_error(goal)))

    def _misses(self, motion: Motion, start: FloatArray, segments: list[Segment], j: int) -> bool:
        """Whether a motion from start (n_q,) ends off the end of segment j by too much for what comes after it."""
        error, target = motion.object_error(self._target(segments, j)), self._target(segments, j)
        way = self.planner.object_distance(start, target)
        return error > max(self.search.rest_arrives_rad, self.search.missed * way)

    def _advance(self, motion: Motion, segments: list[Segment], i: int) -> int | None:
        """Bring the motion through the regrasp of segment i to the end of it, or of a later one; return the next."""
        if not self._regrasp(motion, segments, i):
            return None
        for j in range(min(i + self.search.look_ahead, len(segments)) - 1, i - 1, -1):
            for attempt in self._attempts(motion, segments, i, j):
                if self._take(motion, attempt, partial(self._ends_well, segments=segments, j=j)):
                    return j + 1
        return i + 1 if motion.command_all(self._tree_commands(segments[i])) else None

    def _take(self, motion: Motion, commands: FloatArray, is_good: Callable[[Motion], bool]) -> bool:
        """Append commands (n, n_a) where they end well; the tree's model, a hundred times faster, is asked first."""
        trial: Motion
        for trial in (motion.preview(), motion.copy()):
            if not trial.command_all(commands) or not is_good(trial):
                return False
        motion.take(trial)
        return True

    def _is_nearer(self, motion: Motion, than: float) -> bool:
        """Whether the motion ends nearer to the goal than so far, rad."""
        return motion.object_error(self.planner.goal) < than

    def _ends_well(self, motion: Motion, segments: list[Segment], j: int) -> bool:
        """Whether the motion, at the end of segment j, comes near the end of the path by the rest of it."""
        if motion.object_error(self._target(segments, j)) > self.search.segment_tolerance_rad:
            return False
        rest = motion.preview()
        for k in range(j + 1, len(segments)):
            if not self._regrasp(rest, segments, k) or not rest.command_all(self._tree_commands(segments[k])):
                return False
        return rest.object_error(self._target(segments, len(segments) - 1)) <= self.search.rest_arrives_rad

    def _regrasp(self, motion: Motion, segments: list[Segment], k: int) -> bool:
        """Make the regrasp that starts segment k, if there is one."""
        if not segments[k].regrasp:
            return True
        tree, node = self.grown.tree, segments[k].nodes[0]
        return motion.regrasp(int(tree.posture[node]), tree.moving[node], tree.path[node])

    def _attempts(self, motion: Motion, segments: list[Segment], i: int, j: int) -> Iterator[FloatArray]:
        """Yield commands (n, n_a) that shall bring the object to the end of segment j."""
        target = self._target(segments, j)
        if motion.object_error(target) <= 1e-4:
            yield np.zeros((0, len(motion.u)))
            return
        yield from self._straight(motion, target)
        if i == j and len(segments[i].nodes) > 1:
            way = np.concatenate([motion.q[None], self.grown.tree.q[list(segments[i].nodes[1:])]])
            way[-1] = target
            yield from self._optimised(motion, way, self._tree_commands(segments[i]))

    def _target(self, segments: list[Segment], j: int) -> FloatArray:
        is_goal = j == len(segments) - 1 and self.grown.is_reached
        return self.planner.goal if is_goal else self.grown.tree.q[segments[j].nodes[-1]]

    def _tree_commands(self, segment: Segment) -> FloatArray:
        return self.grown.tree.u[list(segment.nodes[1:])]

    def _straight(self, motion: Motion, target: FloatArray) -> Iterator[FloatArray]:
        way = self.steering.straight_way(motion.q, target, motion.object_error(target))
        yield from self._optimised(motion, way, None)

    def _optimised(self, motion: Motion, way: FloatArray, first: FloatArray | None) -> Iterator[FloatArray]:
        commands = self.steering.follow(motion.q, motion.u, way, first)
        if commands is not None:
            yield commands
