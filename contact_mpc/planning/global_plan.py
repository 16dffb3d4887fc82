"""A plan through contact from start to goal: trees, their motions, and the proof under the unsmoothed model.

A tree is grown to the goal and its path made a motion. Where a motion stops on the way, or misses the goal, the next
tree grows from where it stands; a few rounds suffice. The whole plan is then replayed open loop with the second-order
cone program, the unsmoothed model, from the start: it is valid where every step has a solution, joints stay within
their limits, and the object ends within the tolerances.
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
from contact_mpc.planning.rrt import GrownTree, TreePlanner

FloatArray = NDArray[np.float64]
ROUNDS = 5
ATTEMPTS = 3
SEED_STEP, ATTEMPT_STEP = 10_000, 1_000_000  # between the seeds of rounds and of attempts


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
        One per round.
    is_free : (N + 1,) array of bool
        Instants between grasps.
    angle_error_deg, position_error_mm : float
        At the end, in the model that the plan was made with.
    replay : Replay
        With the unsmoothed model.
    status : str
        "reached", or why not: "nodes", "stuck", "interrupted", "missed".
    """

    plan: Plan
    trees: tuple[GrownTree, ...]
    is_free: NDArray[np.bool_]
    angle_error_deg: float
    position_error_mm: float
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

    nodes limits every tree. A plan whose replay fails is made anew, with other random numbers, `ATTEMPTS` times
    at most.
    KeyboardInterrupt keeps the trees and the motion so far.

    Raises
    ------
    InputError, PlanError
        As `TreePlanner.grow`.
    """
    for attempt in range(ATTEMPTS):
        found = _attempt(planner, seed, seed + ATTEMPT_STEP * attempt, nodes, start, progress)
        if found.is_valid or found.status == "interrupted":
            break
    return found


def _attempt(
    planner: TreePlanner, seed: int, first_seed: int, nodes: int | None, start: tuple[FloatArray, FloatArray] | None,
    progress: Callable[[int, float], None] | None,
) -> GlobalPlan:
    problem, trees, motion, status = planner.problem, [], None, "missed"
    for number in range(ROUNDS):
        grown = planner.grow(first_seed + SEED_STEP * number, nodes, True, progress, start)
        trees.append(grown)
        if motion is None:
            motion = Motion(planner, grown.tree.q[0], grown.tree.u[0])
        is_interrupted = grown.status == "interrupted"
        try:
            Refiner(planner, grown).refine(motion, grown.best_node)
        except KeyboardInterrupt:
            is_interrupted = True
        if problem.is_reached(motion.q):
            status = "reached"
            break
        status = "interrupted" if is_interrupted else "missed" if grown.is_reached else grown.status
        if status != "missed":
            break
        start = (motion.q, motion.u)
    assert motion is not None
    plan = _build_plan(problem, motion, trees, seed)
    is_free = np.array([False, *motion.rows.is_free])
    return GlobalPlan(plan, tuple(trees), is_free, *problem.errors(motion.q), replay(problem, plan), status)


def replay(problem: Problem, plan: Plan) -> Replay:
    """Play the commands of a plan from its first configuration with the unsmoothed model."""
    system = problem.system
    dynamics = ContactDynamics(system, "socp", h_s=problem.file.rrt.h_s, friction=problem.file.friction)
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


def _build_plan(problem: Problem, motion: Motion, trees: list[GrownTree], seed: int) -> Plan:
    """Time the rows of a motion by the speed of their commands; forces become impulses of the steps."""
    planner, rows = motion.planner, motion.rows
    root = trees[0].tree
    u, q = np.vstack([root.u[:1], *rows.u]), np.vstack([root.q[:1], *rows.q])
    slowest = np.max(np.abs(np.diff(u, axis=0)), axis=1, initial=0.0) / problem.file.speed_rad_per_s
    dt = np.maximum(slowest, problem.file.rrt.h_s)
    impulses = np.zeros((len(u), len(planner.model.mu), 3))
    if rows.force:
        impulses[1:] = np.array(rows.force) * planner.model.pairs.sign[None, :, None] * dt[:, None, None]
    return Plan(
        np.concatenate([[0.0], np.cumsum(dt)]), q, u, np.zeros_like(u), impulses, provenance(problem, trees, seed)
    )


def provenance(problem: Problem, trees: list[GrownTree], seed: int) -> dict[str, Any]:
    """Return what a plan or tree file records."""
    return {
        **problem.system.provenance(), "version": __version__, "planner": "rrt", "seed": seed,
        "tree_seeds": [grown.seed for grown in trees], "problem": problem.file.name,
        "parameters": problem.file.model_dump(mode="json"),
        "nodes": [len(grown.tree.q) for grown in trees],
    }
