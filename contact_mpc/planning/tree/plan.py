"""A plan through contact from start to goal: trees, their motions, and the proof under the unsmoothed model.

A tree is grown to where the goal is near, or for one stage (`stages`); the path to its best node is made a motion of
the second-order cone program, the unsmoothed model, and refined; so are those to nodes in other grasps, the nearest
first. Where they end are places that a next tree may begin at, as the start is. All trees share one budget of nodes. At
last the commands are replayed open loop from the start: a plan is valid where every step has a solution, commands stay
within the joint limits, and the object ends within the tolerances.

Coordinates that a problem names in `search.first` come first: trees bring them to their goals while the others stay,
and then the others to theirs, so that one push moves one joint. Where that leads nowhere, trees move all at once.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from contact_mpc.dynamics.contact_dynamics import ContactDynamics
from contact_mpc.errors import ConfigError, InputError, PlanError
from contact_mpc.planning.tree.frontier import Place, best_of_grasps, next_place
from contact_mpc.planning.tree.motion import Motion
from contact_mpc.planning.tree.planner import SEED_STEP, GrownTree, TreePlanner
from contact_mpc.planning.tree.problem import Problem, build_problem, coordinates_of_object
from contact_mpc.planning.tree.refinement import Refiner
from contact_mpc.planning.tree.timing import step_times
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.task.plan import Plan
from contact_mpc.version import __version__

SAME = 1e-6  # rad, m: ends no further apart are one place
FREE_S = "free_s"  # of a plan's provenance: intervals between grasps, s
PARTS_S = "parts_s"  # of a plan that was confirmed: instants at which its parts begin, s


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
    status : str
        "reached", or why not: "nodes", "stuck", "interrupted".
    problem : Problem
        What it is a plan of.
    """

    plan: Plan
    trees: tuple[GrownTree, ...]
    is_free: NDArray[np.bool_]
    status: str
    problem: Problem

    @cached_property
    def replay(self) -> Replay:
        """The whole plan replayed with the unsmoothed model, when it is asked for: a seventh of what trees cost."""
        return replay(self.problem, self.plan)

    @property
    def is_valid(self) -> bool:
        """Whether the goal is reached and the replay with the unsmoothed model reaches it, too."""
        return self.status == "reached" and not self.replay.failure


def plan_globally(
    planner: TreePlanner,
    seed: int,
    nodes: int | None = None,
    start: tuple[FloatArray, FloatArray] | None = None,
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
    return _plan(planner, seed, nodes, start, progress, is_whole=True)


def plan_due(
    planner: TreePlanner, seed: int, nodes: int | None = None, *, start: tuple[FloatArray, FloatArray]
) -> GlobalPlan:
    """Plan what is due from (q, u): coordinates that come first as long as they are far from their goals, else all.

    For a plan that is played in parts: where the first ones miss, what was planned to come after them is of no use.

    Raises
    ------
    InputError, PlanError
        As `TreePlanner.grow`.
    """
    return _plan(planner, seed, nodes, start, None, is_whole=False)


def _plan(
    planner: TreePlanner,
    seed: int,
    nodes: int | None,
    start: tuple[FloatArray, FloatArray] | None,
    progress: Callable[[int, float], None] | None,
    is_whole: bool,
) -> GlobalPlan:
    """Plan the coordinates of `first` where they are due, and the others after them where the plan is to be whole."""
    problem = planner.problem
    q = problem.configuration(problem.start_u) if start is None else start[0]
    if is_first_due(problem, q):
        with suppress(InputError, PlanError):  # in this order no tree begins; all at once one may
            alone = TreePlanner(with_first_alone(problem, q))
            one = plan_at_once(alone, seed, nodes, start, progress)
            if one.status == "reached":
                return _with_the_others(planner, one, seed, nodes, progress) if is_whole else one
    return plan_at_once(planner, seed, nodes, start, progress)


def is_first_due(problem: Problem, q: FloatArray) -> bool:
    """Whether a coordinate that comes first is still far from its goal in q (n_q,).

    Raises
    ------
    ConfigError
        `search.first` names what is no coordinate of an object.
    """
    search, objects = problem.file.search, problem.file.objects
    if unknown := sorted(set(search.first) - set(objects)):
        known = ", ".join(objects)
        raise ConfigError(f"{problem.path}: search.first: '{unknown[0]}' is no coordinate of an object; known: {known}")
    x = coordinates_of_object(problem, q)
    return any(abs(x[name] - objects[name].goal) > search.first_rad for name in search.first)


def with_first_alone(problem: Problem, q: FloatArray) -> Problem:
    """Return a problem in which the coordinates that come first go to their goals, and the others stay as in q."""
    search, objects = problem.file.search, dict(problem.file.objects)
    for name, x in coordinates_of_object(problem, q).items():
        item = objects[name]
        low, high = item.range
        is_first, width = name in search.first, search.first_share * (high - low)
        ends = (min(x, low), max(x, high)) if is_first else (x - width, x + width)
        goal = item.goal if is_first else x
        objects[name] = item.model_copy(update={"start": x, "goal": goal, "range": ends})
    file = problem.file.model_copy(update={"objects": objects})
    return build_problem(file, problem.path, problem.system)


def _with_the_others(
    planner: TreePlanner,
    one: GlobalPlan,
    seed: int,
    nodes: int | None,
    progress: Callable[[int, float], None] | None,
) -> GlobalPlan:
    """Plan the other coordinates from the end of a plan of the first ones, and return both as one plan.

    Raises
    ------
    PlanError
        No nodes are left for them.
    """
    problem, count = planner.problem, planner.problem.file.rrt.nodes if nodes is None else nodes
    left = count - sum(len(grown.tree.q) for grown in one.trees)
    if left < 1:
        raise PlanError(f"{problem.path}: no nodes are left for the coordinates that come after the first")
    end = (one.plan.q[-1], one.plan.u[-1])
    other = plan_at_once(planner, seed + SEED_STEP * len(one.trees), left, end, progress)
    trees = (*one.trees, *other.trees)
    a, b = one.plan, other.plan
    free_s = [*a.provenance[FREE_S], *([t0 + a.times_s[-1], t1 + a.times_s[-1]] for t0, t1 in b.provenance[FREE_S])]
    plan = Plan(
        np.concatenate([a.times_s, a.times_s[-1] + b.times_s[1:]]),
        np.vstack([a.q, b.q[1:]]), np.vstack([a.u, b.u[1:]]),
        np.vstack([a.tau_ff, b.tau_ff[1:]]), np.vstack([a.contact_impulses, b.contact_impulses[1:]]),
        {**provenance(problem, trees, seed), FREE_S: free_s},
    )  # fmt: skip
    is_free = np.concatenate([one.is_free, other.is_free[1:]])
    return GlobalPlan(plan, trees, is_free, other.status, problem)


def plan_at_once(
    planner: TreePlanner,
    seed: int,
    nodes: int | None,
    start: tuple[FloatArray, FloatArray] | None,
    progress: Callable[[int, float], None] | None,
) -> GlobalPlan:
    """Plan all coordinates; see `plan_globally`."""
    problem, config, search = planner.problem, planner.problem.file.rrt, planner.problem.file.search
    left, stage_nodes = config.nodes if nodes is None else nodes, config.stage_nodes
    dynamics, goal = _unsmoothed(problem), planner.goal
    trees: list[GrownTree] = []
    places: list[Place[Motion]] = []  # the first is the start
    while True:
        place = next_place(places) if places else None
        if place is None or place is places[0]:
            here, arrival, count = start, search.arrives_within, stage_nodes
        else:
            here, arrival, count = (place.end.q, place.end.u), _arrival(problem, place.end), place.nodes(stage_nodes)
        grown = planner.grow(
            seed + SEED_STEP * len(trees), min(left, count), progress=progress, start=here, arrival=arrival
        )
        trees.append(grown)
        left -= max(search.least_charge, len(grown.tree.q))
        if place is None or place is places[0]:  # perhaps in another grasp than before
            root = Motion(planner, grown.tree.q[0], grown.tree.u[0], dynamics)
            place = Place(root, root.object_error(goal), place.tried if place else 0, search)
            places[:1] = [place]
        status = _go_on(places, place, grown)
        best = min(places, key=lambda item: item.error).end
        if problem.is_reached(best.q):
            return _finish(best, tuple(trees), seed, "reached")
        is_stuck = status == "stuck" and (left < 1 or (len(places) == 1 and place.tried >= search.most_stuck))
        if left < 1 or is_stuck or status == "interrupted":
            return _finish(best, tuple(trees), seed, status if is_stuck or status == "interrupted" else "nodes")


def _arrival(problem: Problem, motion: Motion) -> float:
    """Return how near a tree from where a motion ends shall come, in tolerances."""
    angle, distance = problem.errors(motion.q)
    near, close = problem.file.search.arrives_within, problem.file.search.arrives_close
    is_near = angle <= near * problem.file.tolerance_deg and distance <= near * problem.file.tolerance_mm
    return close if is_near else near


def _go_on(places: list[Place[Motion]], place: Place[Motion], grown: GrownTree) -> str:
    """Add the places nearer the goal to which paths of a tree lead from its own; return the tree's status."""
    planner, status = place.end.planner, grown.status
    ranks = planner.distances_to_goal(grown.tree.metrics) if place.is_near() else grown.tree.goal_distance
    found: list[Motion] = []
    try:
        refiner = Refiner(planner, grown)
        for node in best_of_grasps(grown.tree, ranks, 0, place.grasps(), grown.best_node):
            if not refiner.leads_on(node):
                continue
            found.append(place.end.copy())
            refiner.refine(found[-1], node)
            if planner.problem.is_reached(found[-1].q):
                break
    except KeyboardInterrupt:
        status = "interrupted"
    place.tried += 1
    for motion in found:
        new = place.lead_to(motion, motion.object_error(planner.goal))
        if new.error < place.error and not any(_is_same(motion, other.end) for other in places):
            places.append(new)
    return status


def _is_same(motion: Motion, other: Motion) -> bool:
    """Whether two motions end at one place."""
    return bool(np.all(np.abs(motion.q - other.q) <= SAME))


def _unsmoothed(problem: Problem) -> ContactDynamics:
    return ContactDynamics(problem.system, "socp", h_s=problem.file.rrt.h_s, friction=problem.file.friction)


def _finish(motion: Motion, trees: tuple[GrownTree, ...], seed: int, status: str) -> GlobalPlan:
    plan = _build_plan(motion, trees, seed)
    is_free = np.array([False, *motion.rows.is_free])
    return GlobalPlan(plan, trees, is_free, status, motion.planner.problem)


def replay(problem: Problem, plan: Plan) -> Replay:
    """Play the commands of a plan from its first configuration with the unsmoothed model."""
    system, dynamics = problem.system, _unsmoothed(problem)
    q, failure = plan.q[0], ""
    for k, u in enumerate(plan.u[1:]):
        result = dynamics.step_next(q, u)
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
    times_s = np.concatenate([[0.0], np.cumsum(dt)])
    record = {**provenance(problem, trees, seed), FREE_S: _free_intervals(times_s, rows.is_free)}
    return Plan(times_s, q, u, np.zeros_like(u), impulses, record)


def _free_intervals(times_s: FloatArray, is_free: list[bool]) -> list[tuple[float, float]]:
    """Return when fingers go from grasp to grasp, s: from the instant before the first free row to that of the last."""
    edges = np.flatnonzero(np.diff(np.array([False, *is_free, False]).astype(int)))
    return [(float(times_s[a]), float(times_s[b])) for a, b in edges.reshape(-1, 2)]


def provenance(problem: Problem, trees: tuple[GrownTree, ...], seed: int) -> dict[str, Any]:
    """Return what a plan or tree file records."""
    return {
        **problem.system.provenance(),
        "version": __version__,
        "planner": "rrt",
        "seed": seed,
        "tree_seeds": [grown.seed for grown in trees],
        "problem": problem.file.name,
        "parameters": problem.file.model_dump(mode="json"),
        "nodes": [len(grown.tree.q) for grown in trees],
    }
