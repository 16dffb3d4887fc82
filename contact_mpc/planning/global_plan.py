"""A plan through contact from start to goal: trees, their motions, and the proof under the unsmoothed model.

A tree is grown to where the goal is near, or to a number of nodes; the path to its best node is made a motion of the
second-order cone program, the unsmoothed model, and refined; so are those to nodes in other grasps, the nearest first.
Where they end are places that a next tree may begin at, as the start is. It begins at the place of the least distance
to the goal times 1 + the number of trees that began there, so that a dead end is left for another grasp, for where it
came from, and at last for the start. Samples are drawn the closer to the goal the nearer the place is; near the goal
trees are small. All trees share one budget of nodes. At last the commands are replayed open loop from the start: a plan
is valid where every step has a solution, commands stay within the joint limits, and the object ends within the
tolerances.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from contact_mpc import __version__
from contact_mpc.dynamics.contact_dynamics import ContactDynamics
from contact_mpc.model.plan import Plan
from contact_mpc.planning.motion import Motion
from contact_mpc.planning.problem import Problem
from contact_mpc.planning.refinement import Refiner
from contact_mpc.planning.rrt import SEED_STEP, GrownTree, TreePlanner
from contact_mpc.planning.timing import step_times

FloatArray = NDArray[np.float64]
NEAR, CLOSE = 2.0, 0.95  # tolerances of the goal within which a tree arrives: at first, and from within the first
LEAST_GAIN = 0.1  # share of the distance to the goal; where a tree takes off less, it counts as begun at its end, too
SAME = 1e-6  # rad, m: ends no further apart are one place
LEAST_CHARGE = 5  # nodes of the budget that a tree costs at least: one that does not grow takes its time
LEAST_SPREAD = 0.2  # of samples about the goal, as share of their ranges
NEAR_RAD = 0.5  # distance from the goal, global metric, from which on trees are small and several of their ends tried
MOST_STUCK = 2  # trees at the start that hardly grow, before planning ends
NEAR_NODES = 0.2  # share of the nodes of a tree that begins there
GRASPS, GRASPS_NEAR = 4, 8  # ends of a tree that are tried, each in another grasp; of one near the goal


@dataclass(frozen=True)
class Replay:
    """A plan replayed open loop: why it fails ("" where it does not), errors at its end in deg and mm."""

    failure: str
    angle_error_deg: float
    position_error_mm: float


@dataclass(frozen=True)
class GlobalPlan:
    """A plan, the trees behind it, and how it does.

    Attributes
    ----------
    plan : Plan
        As far as the motion goes, which may not be the goal.
    trees : tuple of GrownTree
        In the order of growth, those that led nowhere included. The plan goes along paths of some, one after the other.
    is_free : (N + 1,) array of bool
        Instants between grasps.
    replay : Replay
        Of the whole plan with the unsmoothed model.
    status : str
        "reached", or why not: "nodes", "stuck", "interrupted".
    """

    plan: Plan
    trees: tuple[GrownTree, ...]
    is_free: NDArray[np.bool_]
    replay: Replay
    status: str

    @property
    def is_valid(self) -> bool:
        """Whether the goal is reached and the replay with the unsmoothed model reaches it, too."""
        return self.status == "reached" and not self.replay.failure


def plan_globally(
    planner: TreePlanner, seed: int, nodes: int | None = None, start: tuple[FloatArray, FloatArray] | None = None,
    progress: Callable[[int, float], None] | None = None,
) -> GlobalPlan:
    """Plan from the problem's start, or from (q, u), to its goal; progress as in `TreePlanner.grow`.

    nodes limits those of all trees together.
    KeyboardInterrupt keeps the trees and the motion to the node nearest to the goal.

    Raises
    ------
    InputError, PlanError
        As `TreePlanner.grow`.
    """
    problem, left = planner.problem, planner.problem.file.rrt.nodes if nodes is None else nodes
    dynamics, goal = _unsmoothed(problem), planner.goal
    trees: list[GrownTree] = []
    places: list[_Place] = []  # the first is the start
    while True:
        place = min(places, key=_Place.rank) if places else None
        is_start = place is None or place is places[0]
        here, arrival, spread, count = _next_tree(problem, start, None if is_start else place)
        grown = planner.grow(seed + SEED_STEP * len(trees), min(left, count), True, progress, here, arrival, spread)
        trees.append(grown)
        left -= max(LEAST_CHARGE, len(grown.tree.q))
        if place is None or is_start:  # perhaps in another grasp than before
            root = Motion(planner, grown.tree.q[0], grown.tree.u[0], dynamics)
            place = _Place(root, goal, place.trees if place else 0)
            places[:1] = [place]
        status = _go_on(places, place, grown)
        best = min(places, key=lambda item: item.error).motion
        if problem.is_reached(best.q):
            return _finish(best, tuple(trees), seed, "reached")
        is_stuck = status == "stuck" and (left < 1 or (len(places) == 1 and place.trees >= MOST_STUCK))
        if left < 1 or is_stuck or status == "interrupted":
            return _finish(best, tuple(trees), seed, status if is_stuck or status == "interrupted" else "nodes")


class _Place:
    """Where a motion ends and trees may begin: its distance to the goal, and how many began there."""

    def __init__(self, motion: Motion, goal: FloatArray, trees: int = 0) -> None:
        self.motion, self.error, self.trees = motion, motion.object_error(goal), trees

    def rank(self) -> float:
        """Return the distance to the goal as it counts when the next place is chosen."""
        return self.error * (1.0 + self.trees)

    def is_at(self, other: "_Place") -> bool:
        """Whether the two are one."""
        return bool(np.all(np.abs(self.motion.q - other.motion.q) <= SAME))


def _next_tree(
    problem: Problem, start: tuple[FloatArray, FloatArray] | None, place: _Place | None
) -> tuple[tuple[FloatArray, FloatArray] | None, float, float, int]:
    """Return (q, u) where the tree from a place, or from the start, begins, arrival, spread and number of nodes."""
    if place is None:
        return start, NEAR, 1.0, problem.file.rrt.tree_nodes
    return (place.motion.q, place.motion.u), *_aim(problem, place.motion), _tree_nodes(problem, place.motion)


def _aim(problem: Problem, motion: Motion) -> tuple[float, float]:
    """Return how near a tree from where a motion ends shall come, in tolerances, and the spread of its samples."""
    angle, distance = problem.errors(motion.q)
    is_near = angle <= NEAR * problem.file.tolerance_deg and distance <= NEAR * problem.file.tolerance_mm
    whole = motion.planner.object_distance(problem.configuration(problem.start_u), motion.planner.goal)
    share = motion.object_error(motion.planner.goal) / max(whole, 1e-9)
    return CLOSE if is_near else NEAR, min(1.0, LEAST_SPREAD + share)


def _go_on(places: list[_Place], place: _Place, grown: GrownTree) -> str:
    """Add the places nearer the goal to which paths of a tree lead from its own; return the tree's status."""
    planner, status = place.motion.planner, grown.status
    found: list[Motion] = []
    try:
        refiner = Refiner(planner, grown)
        for node in _ends(place.motion, grown):
            found.append(place.motion.copy())
            refiner.refine(found[-1], node)
            if planner.problem.is_reached(found[-1].q):
                break
    except KeyboardInterrupt:
        status = "interrupted"
    place.trees += 1
    for motion in found:
        new = _Place(motion, planner.goal)
        new.trees = 0 if new.error < (1.0 - LEAST_GAIN) * place.error else place.trees
        if new.error < place.error and not any(new.is_at(other) for other in places):
            places.append(new)
    return status


def _ends(motion: Motion, grown: GrownTree) -> list[int]:
    """Return the nodes to which a motion may go on: the best one, and those of the best other grasps."""
    is_near = _is_near(motion)
    ranks = motion.planner.local_distances(grown) if is_near else grown.tree.goal_distance
    ends, grasps = [grown.best_node], {grown.grasp_of(grown.best_node)}
    for node in np.argsort(ranks, kind="stable").tolist():
        if len(ends) < (GRASPS_NEAR if is_near else GRASPS) and grown.grasp_of(node) not in grasps:
            ends.append(node)
            grasps.add(grown.grasp_of(node))
    return ends


def _is_near(motion: Motion) -> bool:
    return motion.object_error(motion.planner.goal) <= NEAR_RAD


def _tree_nodes(problem: Problem, motion: Motion) -> int:
    """Return the largest number of nodes of the tree that goes on from a motion."""
    nodes = problem.file.rrt.tree_nodes
    return nodes if not _is_near(motion) else max(2, round(NEAR_NODES * nodes))


def _unsmoothed(problem: Problem) -> ContactDynamics:
    return ContactDynamics(problem.system, "socp", h_s=problem.file.rrt.h_s, friction=problem.file.friction)


def _finish(motion: Motion, trees: tuple[GrownTree, ...], seed: int, status: str) -> GlobalPlan:
    plan = _build_plan(motion, trees, seed)
    is_free = np.array([False, *motion.rows.is_free])
    return GlobalPlan(plan, trees, is_free, replay(motion.planner.problem, plan), status)


def replay(problem: Problem, plan: Plan) -> Replay:
    """Play the commands of a plan from its first configuration with the unsmoothed model."""
    system, dynamics = problem.system, _unsmoothed(problem)
    q, failure = plan.q[0], ""
    for k, u in enumerate(plan.u[1:]):
        result = dynamics.step(q, u)
        if not result.is_converged:
            failure = f"step {k}: {result.status}"
            break
        q = result.q_next
        if np.any((u < system.q_min) | (u > system.q_max)):
            failure = f"step {k}: a command outside the joint limits"
            break
    angle, distance = problem.errors(q)
    if not failure and not problem.is_reached(q):
        failure = f"ends {angle:.2f} deg and {distance:.2f} mm off the goal"
    return Replay(failure, angle, distance)


def _build_plan(motion: Motion, trees: tuple[GrownTree, ...], seed: int) -> Plan:
    """Time the rows of a motion; forces become impulses of the steps."""
    problem, rows, (q_start, u_start) = motion.planner.problem, motion.rows, motion.start
    u, q = np.vstack([u_start, *rows.u]), np.vstack([q_start, *rows.q])
    dt = step_times(problem.system, q, u, np.array(rows.is_free, dtype=np.bool_), problem.file.timing)
    impulses = np.zeros((len(u), len(motion.planner.model.mu), 3))
    if rows.force:
        impulses[1:] = np.array(rows.force) * dt[:, None, None]
    return Plan(
        np.concatenate([[0.0], np.cumsum(dt)]), q, u, np.zeros_like(u), impulses, provenance(problem, trees, seed)
    )


def provenance(problem: Problem, trees: tuple[GrownTree, ...], seed: int) -> dict[str, Any]:
    """Return what a plan or tree file records."""
    return {
        **problem.system.provenance(), "version": __version__, "planner": "rrt", "seed": seed,
        "tree_seeds": [grown.seed for grown in trees], "problem": problem.file.name,
        "parameters": problem.file.model_dump(mode="json"),
        "nodes": [len(grown.tree.q) for grown in trees],
    }
