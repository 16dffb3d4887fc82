"""A plan through contact from start to goal: trees, their motions, and the proof under the unsmoothed model.

A tree is grown to where the goal is near, or to a number of nodes; the path to its best node is made a motion of the
second-order cone program, the unsmoothed model, and refined. From where that ends the next tree goes on, with samples
drawn the closer to the goal the nearer it is. Near the goal trees are small, and of each the ends in several grasps are
tried, those that the local metric has nearest. After trees that brought the object no nearer the next attempt begins at
the start. All trees share one budget of nodes. At last the commands are replayed open loop from the start: a plan is
valid where every step has a solution, commands stay within the joint limits, and the object ends within the tolerances.
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

FloatArray = NDArray[np.float64]
NEAR, CLOSE = 2.0, 0.95  # tolerances of the goal within which a tree arrives: at first, and from within the first
LEAST_GAIN = 0.1  # share of the distance to the goal that a tree takes off, or it counts as failed
MOST_FAILED = 2  # trees in a row, before the next attempt begins at the start
LEAST_SPREAD = 0.2  # of samples about the goal, as share of their ranges
NEAR_RAD = 0.3  # distance from the goal, global metric, from which on trees are small and several of their ends tried
NEAR_NODES = 0.2  # share of the nodes of a tree that begins there
GRASPS = 6  # ends of such a tree, each in another grasp


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
        In the order of growth, those of attempts that were given up included. The plan goes along the paths of those of
        the best attempt, one after the other.
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
    best: Motion | None = None
    while True:
        motion: Motion | None = None
        failed = 0
        while left > 0 and failed < MOST_FAILED:
            here = start if motion is None else (motion.q, motion.u)
            arrival, spread = (NEAR, 1.0) if motion is None else _aim(problem, motion)
            count = min(left, _tree_nodes(problem, motion))
            grown = planner.grow(seed + SEED_STEP * len(trees), count, True, progress, here, arrival, spread)
            trees.append(grown)
            left -= len(grown.tree.q)
            motion = motion or Motion(planner, grown.tree.q[0], grown.tree.u[0], dynamics)
            before = motion.object_error(goal)
            status = _go_on(motion, grown)
            failed = 0 if motion.object_error(goal) < (1.0 - LEAST_GAIN) * before else failed + 1
            if best is None or motion.object_error(goal) < best.object_error(goal):
                best = motion.copy()
            if problem.is_reached(motion.q):
                return _finish(motion, tuple(trees), seed, "reached")
            if status == "interrupted":
                return _finish(best, tuple(trees), seed, status)
            if status == "stuck":
                break
        assert best is not None and motion is not None
        if left < 1 or (status == "stuck" and not motion.rows.u):
            return _finish(best, tuple(trees), seed, "stuck" if trees[-1].status == "stuck" else "nodes")


def _aim(problem: Problem, motion: Motion) -> tuple[float, float]:
    """Return how near a tree from where a motion ends shall come, in tolerances, and the spread of its samples."""
    angle, distance = problem.errors(motion.q)
    is_near = angle <= NEAR * problem.file.tolerance_deg and distance <= NEAR * problem.file.tolerance_mm
    whole = motion.planner.object_distance(problem.configuration(problem.start_u), motion.planner.goal)
    share = motion.object_error(motion.planner.goal) / max(whole, 1e-9)
    return CLOSE if is_near else NEAR, min(1.0, LEAST_SPREAD + share)


def _go_on(motion: Motion, grown: GrownTree) -> str:
    """Continue a motion along a path of a tree if that brings it nearer to the goal; return the tree's status."""
    start, status = motion.copy(), grown.status
    trial = start
    try:
        refiner = Refiner(motion.planner, grown)
        for node in _ends(motion, grown):
            trial = start.copy()
            refiner.refine(trial, node)
            _take_nearer(motion, trial)
            if motion.planner.problem.is_reached(motion.q):
                break
    except KeyboardInterrupt:
        status = "interrupted"
        _take_nearer(motion, trial)
    return status


def _take_nearer(motion: Motion, trial: Motion) -> None:
    goal = motion.planner.goal
    if trial.object_error(goal) < motion.object_error(goal):
        motion.take(trial)


def _ends(motion: Motion, grown: GrownTree) -> list[int]:
    """Return the nodes to which a motion may go on: the best one; near the goal, those of the best grasps, too."""
    if not _is_near(motion):
        return [grown.best_node]
    ends, grasps = [grown.best_node], {grown.grasp_of(grown.best_node)}
    for node in np.argsort(motion.planner.local_distances(grown), kind="stable").tolist():
        if len(ends) < GRASPS and grown.grasp_of(node) not in grasps:
            ends.append(node)
            grasps.add(grown.grasp_of(node))
    return ends


def _is_near(motion: Motion) -> bool:
    return motion.object_error(motion.planner.goal) <= NEAR_RAD


def _tree_nodes(problem: Problem, motion: Motion | None) -> int:
    """Return the largest number of nodes of the tree that goes on from a motion."""
    nodes = problem.file.rrt.tree_nodes
    return nodes if motion is None or not _is_near(motion) else max(2, round(NEAR_NODES * nodes))


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
    """Time the rows of a motion by the speed of their commands; forces become impulses of the steps."""
    problem, rows, (q_start, u_start) = motion.planner.problem, motion.rows, motion.start
    u, q = np.vstack([u_start, *rows.u]), np.vstack([q_start, *rows.q])
    slowest = np.max(np.abs(np.diff(u, axis=0)), axis=1, initial=0.0) / problem.file.speed_rad_per_s
    dt = np.maximum(slowest, problem.file.rrt.h_s)
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
