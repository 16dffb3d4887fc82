"""RRT through contact: a tree of configurations that the unsmoothed contact model can move between (seeds/003).

The loop runs compiled in `rrt_growth`, in portions between which progress is reported and Ctrl-C is heard. The tree
grows in stages (`stages`): after so many nodes, or where it is stuck, from one of its best nodes alone. All random
numbers come from one generator of the given seed: a tree is reproduced from (problem, seed, nodes). Where a stage ends,
its best nodes are steered to the goal by a trajectory optimisation (`steering`), whose steps the unsmoothed model must
confirm as those of extensions: nodes, too.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from contact_mpc.dynamics.contact_dynamics import build_model, lay_out
from contact_mpc.dynamics.smoothed.newton import Newton, make_newton, measure_gaps
from contact_mpc.dynamics.smoothed.quadratic import Model
from contact_mpc.errors import InputError, PlanError
from contact_mpc.planning.tree.finger_paths import WAYPOINTS
from contact_mpc.planning.tree.frontier import Place, best_of_grasps, next_place
from contact_mpc.planning.tree.growth.arrays import (
    NO_GROWTH_CODES,
    ROOT,
    SCRATCH,
    SMOOTHED,
    UNSMOOTHED,
    Growth,
    Stage,
    Tree,
)
from contact_mpc.planning.tree.growth.codes import compile_backwards, find_codes
from contact_mpc.planning.tree.growth.contact_sampling import Sampler, build_sampler
from contact_mpc.planning.tree.growth.extension import add_steps
from contact_mpc.planning.tree.growth.iteration import grow
from contact_mpc.planning.tree.growth.metric import Metrics, local_distances_into, with_gamma
from contact_mpc.planning.tree.growth.node import add_node, write_node
from contact_mpc.planning.tree.growth.regrasp_edge import sample_contact
from contact_mpc.planning.tree.problem import Problem, object_bounds, object_from_coordinates
from contact_mpc.planning.tree.steering import Steering, divide_commands
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.named_arrays import allocate, copy_rows

IntArray = NDArray[np.int64]
PORTION = 50  # iterations between reports
START_TRIES = 2000
SEED_STEP = 1_000_000  # between the seeds of trees that belong together


@dataclass(frozen=True)
class GrownTree:
    """A tree and how it was grown.

    Attributes
    ----------
    problem : Problem
    seed : int
    tree : Tree
        Arrays trimmed to the nodes.
    elapsed_s : float
        Wall clock of growth, without compilation and start.
    iterations : int
        Targets drawn.
    status : str
        "reached", "nodes" (the budget is used up), "stuck" (hardly an iteration adds a node, in several stages where
        the budget has room for more than one), "interrupted".
    """

    problem: Problem
    seed: int
    tree: Tree
    elapsed_s: float
    iterations: int
    status: str

    @property
    def is_reached(self) -> bool:
        """Whether a node has arrived, see `TreePlanner.grow`."""
        return bool(self.tree.best[1] >= 0)

    @property
    def best_node(self) -> int:
        """The first node that arrived, or else the nearest one in the global metric."""
        return int(self.tree.best[1] if self.is_reached else self.tree.best[0])

    @property
    def dynamics_calls(self) -> int:
        """Steps of the model that were solved, smoothed and unsmoothed."""
        return int(self.tree.counts[SMOOTHED] + self.tree.counts[UNSMOOTHED])

    def path_to(self, node: int) -> IntArray:
        """Return the nodes from the root to `node`."""
        path = [node]
        while self.tree.kind[path[-1]] != ROOT:
            path.append(int(self.tree.parent[path[-1]]))
        return np.array(path[::-1])


class TreePlanner:
    """A problem laid out for the compiled loop; `grow` may be called for several seeds."""

    def __init__(self, problem: Problem, h_s: float | None = None) -> None:
        self.problem, system, config = problem, problem.system, problem.file.rrt
        self.model: Model = build_model(system, config.h_s if h_s is None else h_s, problem.file.friction)
        self.newton: Newton = make_newton(self.model)
        self.sampler: Sampler = build_sampler(system, self.model, problem.file.contacts, str(problem.path))
        growth, tree = _growth(problem), _make_tree(0, problem)
        self.growth = growth._replace(codes=find_codes(self.model, self.newton, tree, growth, self.sampler))
        self.steering = Steering(problem, self.model)
        self.goal = problem.configuration(problem.goal_u)

    def grow(
        self,
        seed: int,
        nodes: int | None = None,
        stop_at_goal: bool = True,
        progress: Callable[[int, float], None] | None = None,
        start: tuple[FloatArray, FloatArray] | None = None,
        arrival: float = 1.0,
    ) -> GrownTree:
        """Grow a tree; progress(nodes, best distance to the goal in rad) is called every `PORTION` iterations.

        start is the (q, u) of the root, that of the problem where None; a node arrives within `arrival` times the
        tolerances of the goal.

        KeyboardInterrupt ends growth and keeps the tree.

        Raises
        ------
        InputError
            The start is in collision.
        PlanError
            No contact sample exists at the start.
        """
        config = self.problem.file.rrt
        count = config.nodes if nodes is None else nodes
        rng = np.random.default_rng(seed)
        tree = _make_tree(count, self.problem)
        growth = self.growth._replace(tolerance=arrival * self.growth.tolerance)
        self._plant_root(tree, growth, rng, start)
        status, iterations = "nodes", 0
        started = time.perf_counter()
        stages = _Stages(self, tree, growth, count)
        try:
            while tree.size[0] < count and not (stop_at_goal and tree.best[1] >= 0):
                if not stages.advance(PORTION):
                    status = "stuck"
                    break
                targets = self._draw_targets(rng, PORTION, stages.spread)
                grow(
                    self.model,
                    self.newton,
                    tree,
                    growth,
                    self.sampler,
                    rng,
                    stages.stage,
                    targets,
                    self.goal,
                    min(count, stages.end),
                    stop_at_goal,
                )
                iterations += PORTION
                if progress is not None:
                    progress(int(tree.size[0]), float(np.sqrt(2.0 * tree.goal_distance[tree.best[0]])))
        except KeyboardInterrupt:
            status = "interrupted"
        if tree.best[1] >= 0:
            status = "reached"
        return GrownTree(self.problem, seed, _trim(tree), time.perf_counter() - started, iterations, status)

    def object_distance(self, q: FloatArray, q_ref: FloatArray) -> float:
        """Return the distance between the objects of two configurations (n_q,) in the global metric, rad."""
        system = self.problem.system
        e = system.difference(q_ref, q)[: system.n_v_u]
        return float(np.sqrt(np.sum(self.growth.weight * e**2)))

    def local_distance(self, grown: GrownTree) -> float:
        """Return the least e' Sigma^-1 e, e = q_u - q+_u, of all nodes to the goal, with one gamma as in the paper."""
        return float(2.0 * self.distances_to_goal(paper_metrics(grown)).min())

    def distances_to_goal(self, metrics: Metrics) -> FloatArray:
        """Return d(goal; node) of `metric` for the nodes of these metrics."""
        distances = np.empty(len(metrics.q_next))
        local_distances_into(self.model.tree, metrics, len(distances), self.goal, distances)
        return distances

    def _draw_targets(self, rng: np.random.Generator, count: int, spread: float) -> FloatArray:
        """Return targets (count, n_q): the goal, or objects drawn uniformly from their ranges, drawn in to the goal."""
        problem, targets = self.problem, np.tile(self.goal, (count, 1))
        is_sample = rng.random(count) >= problem.file.rrt.goal_probability
        x = problem.lower + rng.random((count, len(problem.lower))) * (problem.upper - problem.lower)
        for k in np.flatnonzero(is_sample):
            targets[k, : problem.system.n_q_u] = object_from_coordinates(problem.system, x[k])
            if spread < 1.0:
                dq = problem.system.difference(self.goal, targets[k])
                targets[k] = problem.system.integrate(self.goal, spread * dq)
        return targets

    def _plant_root(
        self, tree: Tree, growth: Growth, rng: np.random.Generator, start: tuple[FloatArray, FloatArray] | None
    ) -> None:
        problem, row = self.problem, len(tree.q) - 1
        q = problem.configuration(problem.start_u, problem.start_a)
        if start is None and problem.start_a is None:
            tree.q[row], tree.u[row] = q, q[problem.system.n_q_u :]
            self._sample_root(tree, rng, row)
        else:
            q, u = start or (q, q[problem.system.n_q_u :].copy())
            self._check_start(q)
            if not write_node(self.model, self.newton, tree, self.growth, 0, q, u, self.goal):
                raise PlanError(f"{problem.path}: the model has no next state from the start; move start_joints_rad")
        tree.kind[0], tree.parent[0] = ROOT, -1
        add_node(self.model, tree, growth, self.goal)

    def _sample_root(self, tree: Tree, rng: np.random.Generator, row: int) -> None:
        """Write the first contact sample that holds the object about where it starts."""
        problem = self.problem
        for _ in range(START_TRIES):
            if sample_contact(self.model, self.newton, tree, self.growth, self.sampler, rng, row, 0, self.goal):
                return
        raise PlanError(
            f"{problem.path}: none of {START_TRIES} contact samples holds the object at its start; widen the ranges "
            "of contacts.close.open_rad, or give start_joints_rad"
        )

    def _check_start(self, q: FloatArray) -> None:
        gaps = measure_gaps(self.model, self.newton, q)
        c = int(np.argmin(gaps))
        deepest = self.problem.file.rrt.deepest_m
        if gaps[c] < -deepest:
            system = self.problem.system
            pair = system.pairs[system.contacts[c].pair]
            names = [system.geometries[g] for g in (pair.geometry_a, pair.geometry_b)]
            raise InputError(
                f"{self.problem.path}: the start is in collision: {names[0].owner}.{names[0].link} and "
                f"{names[1].owner}.{names[1].link} overlap by {-1e3 * gaps[c]:.1f} mm (allowed "
                f"{1e3 * deepest:g} mm); move start_joints_rad or the object's start"
            )


class _Stages:
    """The stages of a tree that grows: the present one, the nodes at which it ends, and the spread of its samples."""

    def __init__(self, planner: TreePlanner, tree: Tree, growth: Growth, nodes: int) -> None:
        self.planner, self.tree, self.growth, self.nodes = planner, tree, growth, nodes
        problem = planner.problem
        self.whole = planner.object_distance(problem.configuration(problem.start_u), planner.goal)
        self.search = problem.file.search
        self.places = [Place(0, planner.object_distance(tree.q[0], planner.goal), config=self.search)]
        room = nodes / problem.file.rrt.stage_nodes
        self.stuck_left = 1 if room <= 1.0 else round(self.search.stuck_stages * room)
        self._begin(self.places[0])

    def advance(self, iterations: int) -> bool:
        """Count iterations to come; before them, begin the next stage where this one is complete, or stuck.

        False where that is the only stage, or too many were stuck.
        """
        size = int(self.tree.size[0])
        search, grown = self.search, 1 + size - self.stage.first
        is_stuck = self.iterations >= search.first_iterations + search.iterations_per_node * grown
        self.stuck_left -= is_stuck
        if self.stuck_left == 0:
            return False
        if size >= self.end or is_stuck:
            self._complete(size)
            self._begin(next_place(self.places))
        self.iterations += iterations
        return True

    def _begin(self, place: Place[int]) -> None:
        size = int(self.tree.size[0])
        self.place, self.stage, self.iterations = place, Stage(place.end, size), 0
        self.end = size + place.nodes(self.planner.problem.file.rrt.stage_nodes)
        self.spread = place.spread(self.whole)
        self.tree.refusals[place.end] = self.tree.regrasps[place.end] = 0.0

    def _complete(self, size: int) -> None:
        """Steer from the best nodes of the stage's grasps to the goal; add where that ends, and them, to the places."""
        tree, place, first = self.tree, self.place, self.stage.first
        part = copy_rows(tree.metrics, first, size, "N")
        ranks = self.planner.distances_to_goal(part) if place.is_near() else tree.goal_distance[first:size]
        place.tried += 1
        ends = best_of_grasps(tree, ranks, first, place.grasps())
        for node in [*ends, *(self._steer(node) for node in ends)]:
            if node is not None and self._error(node) < place.error:
                self.places.append(place.lead_to(node, self._error(node)))

    def _steer(self, node: int) -> int | None:
        """Add nodes along the optimised straight way to the goal; return the last one, None where it gains nothing."""
        planner, tree, error = self.planner, self.tree, self._error(node)
        size = int(tree.size[0])
        if error > self.search.steered_rad or size >= self.nodes:
            return None
        way = planner.steering.straight_way(tree.q[node], planner.goal, error)
        commands = planner.steering.follow(tree.q[node], tree.u[node], way)
        if commands is None:
            return None
        commands = divide_commands(commands, tree.u[node], planner.problem.file.plan_step_rad)[: self.nodes - size]
        add_steps(planner.model, planner.newton, tree, self.growth, node, commands, planner.goal)
        return int(tree.size[0]) - 1 if tree.size[0] > size else None

    def _error(self, node: int) -> float:
        return float(np.sqrt(2.0 * self.tree.goal_distance[node]))


def compile_growth(problem: Problem) -> None:
    """Compile the parts of growth from the last one on, beside a process whose planner begins with the first one."""
    system, config = problem.system, problem.file.rrt
    model = lay_out(system, config.h_s, problem.file.friction)
    sampler = build_sampler(system, model, problem.file.contacts, str(problem.path))
    compile_backwards(model, make_newton(model), _make_tree(0, problem), _growth(problem), sampler)


def paper_metrics(grown: GrownTree) -> Metrics:
    """Return the metrics of the nodes of a tree with `gamma` for turns and positions alike."""
    config, metrics = grown.problem.file.rrt, grown.tree.metrics
    if config.gamma_position is None:
        return metrics
    return with_gamma(metrics, np.full(metrics.B.shape[1], config.gamma))


def _make_tree(count: int, problem: Problem) -> Tree:
    """Return an empty tree with room for so many nodes, and what growth needs beyond them."""
    system = problem.system
    sizes = {
        "N": count + SCRATCH, "n_q": system.n_q, "n_a": system.n_a, "n_v_u": system.n_v_u, "WAYPOINTS": WAYPOINTS,
    }  # fmt: skip
    tree = allocate(Tree, sizes, metrics=allocate(Metrics, sizes))
    tree.best[1] = -1
    return tree


def _trim(tree: Tree) -> Tree:
    return copy_rows(tree, 0, int(tree.size[0]), "N")


def _growth(problem: Problem) -> Growth:
    system, config = problem.system, problem.file.rrt
    weight = np.where(problem.turns, 1.0, 1.0 / config.length_m**2)
    lower, upper = object_bounds(problem)
    return Growth(
        config.step_rad,
        config.gamma,
        _gamma_scale(problem),
        config.smoothed_kappa_per_j,
        config.check_kappa_per_j,
        config.least_progress,
        config.progress_halvings,
        config.candidates,
        config.contact_probability,
        config.metric == "local",
        system.q_min + config.limit_margin_rad,
        system.q_max - config.limit_margin_rad,
        config.effort_share * system.tau_max_nm / system.kp,
        weight,
        lower,
        upper,
        problem.turns,
        np.array([np.deg2rad(problem.file.tolerance_deg), 1e-3 * problem.file.tolerance_mm]),
        config.length_m,
        config.deepest_m,
        config.run_steps,
        config.selective,
        NO_GROWTH_CODES,
    )


def _gamma_scale(problem: Problem) -> FloatArray:
    config = problem.file.rrt
    position = config.gamma if config.gamma_position is None else config.gamma_position
    return np.where(problem.turns, 1.0, np.sqrt(position / config.gamma))
