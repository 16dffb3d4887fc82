"""Coverage: which share of the objects' configurations a tree has visited, over its number of nodes.

Configurations are drawn uniformly from the ranges of a problem: coordinates of position and joints uniformly, rotations
of free bodies by the invariant measure, d roll d(sin pitch) d yaw. After its first n nodes a tree has

  visited  the share with one of these nodes within a radius r in the global metric, |e|_W <= r
  packed   the share whose e' Sigma^-1 e to the best of these nodes is below 3, e = q_u - q+_u: the paper's packing
           ratio (plot_iterations.py of its public code, pangtao22/planning_through_contact)

The radius is that of balls of which N have together the volume of the ranges, with N the number of nodes that is
asked about:

  N c_n r^n = volume,   c_n = pi^(n/2) / Gamma(n/2 + 1)   in n coordinates

So `visited` cannot be full before N nodes, for any system, and n nodes visit about n / N of the ranges at most, less
where they crowd. `packed` asks instead where the nodes could go by a linearised step of any length: a single node
with a good grasp packs most of a range, which is why it is full at a few hundred nodes, whatever the metric.

Where it is wrong: balls count as flat and as inside the ranges, so that r is too large at edges and for wide rotations.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from contact_mpc.model.kinematic_tree import FREE
from contact_mpc.planning.tree.growth.metric import global_distances_into, local_distances_into
from contact_mpc.planning.tree.planner import GrownTree, TreePlanner, paper_metrics
from contact_mpc.planning.tree.problem import Problem, coordinate_names, object_from_coordinates
from contact_mpc.settings.arrays import FloatArray

BoolArray = NDArray[np.bool_]
PACKING_DISTANCE = 3.0  # the paper's threshold
ABLATION: dict[str, dict[str, Any]] = {  # what is left out: values of the section rrt
    "local metric, contact sampling": {},
    "global metric": {"metric": "global"},
    "no contact sampling": {"contact_probability": 0.0},
    "global metric, no contact sampling": {"metric": "global", "contact_probability": 0.0},
}
EVERY_STEP: dict[str, Any] = {"selective": False, "run_steps": 1}  # trees as the paper's


@dataclass(frozen=True)
class Space:
    """What is to be covered: samples q (n, n_q), weights (n_v_u,) of the global metric, and the radius, rad.

    A weight is 0 where a coordinate does not count.
    """

    q: FloatArray
    weight: FloatArray
    radius: float


@dataclass(frozen=True)
class Coverage:
    """Shares in [0, 1] after so many nodes: counts, visited and packed, (n,) each."""

    counts: tuple[int, ...]
    visited: FloatArray
    packed: FloatArray


def build_space(planner: TreePlanner, full_at: int, samples: int, only_turns: bool = False) -> Space:
    """Draw samples, the same at every call, and size the radius for `full_at` nodes.

    only_turns counts rotations alone, wherever the objects are: the space of a body that stays in the hand.
    """
    problem, rng = planner.problem, np.random.default_rng(0)
    x = _draw(problem, rng.random((samples, len(problem.lower))))
    q = np.array([problem.configuration(object_from_coordinates(problem.system, row)) for row in x])
    weight = np.where(problem.turns | (not only_turns), planner.growth.weight, 0.0)
    return Space(q, weight, _radius(problem, full_at, only_turns))


def measure_coverage(planner: TreePlanner, grown: GrownTree, space: Space, counts: Sequence[int]) -> Coverage:
    """Return the coverage by the first nodes of a tree; one with fewer than asked keeps what it has."""
    tree, size = planner.model.tree, len(grown.tree.q)
    last = np.minimum(counts, size) - 1
    metrics, distances = paper_metrics(grown), np.empty(size)
    visited, packed = np.zeros(len(last)), np.zeros(len(last))
    for q in space.q:
        global_distances_into(tree, space.weight, grown.tree.q, size, q, distances)
        visited += np.sqrt(2.0 * np.minimum.accumulate(distances)[last]) <= space.radius
        local_distances_into(tree, metrics, size, q, distances)
        packed += 2.0 * np.minimum.accumulate(distances)[last] < PACKING_DISTANCE
    return Coverage(tuple(counts), visited / len(space.q), packed / len(space.q))


def _draw(problem: Problem, share: FloatArray) -> FloatArray:
    """Return coordinates (n, n_x) of shares (n, n_x) in [0, 1] of the ranges."""
    x = problem.lower + share * (problem.upper - problem.lower)
    for j in np.flatnonzero(_pitches(problem)):
        low, high = np.sin(problem.lower[j]), np.sin(problem.upper[j])
        x[:, j] = np.arcsin(np.clip(low + share[:, j] * (high - low), -1.0, 1.0))
    return x


def _radius(problem: Problem, full_at: int, only_turns: bool) -> float:
    is_turn, is_pitch = _turns(problem), _pitches(problem)
    width = np.where(is_turn, 1.0, 1.0 / problem.file.rrt.length_m) * (problem.upper - problem.lower)
    width[is_pitch] = np.sin(problem.upper[is_pitch]) - np.sin(problem.lower[is_pitch])
    width = width[(is_turn | (not only_turns)) & (width > 0.0)]
    count = len(width)
    ball = math.pi ** (count / 2) / math.gamma(count / 2 + 1)
    return float((np.prod(width) / (full_at * ball)) ** (1.0 / count))


def _turns(problem: Problem) -> BoolArray:
    """Return which coordinates x (n_x,) are angles."""
    return np.array([name.endswith("_rad") for name in coordinate_names(problem.system)])


def _pitches(problem: Problem) -> BoolArray:
    """Return which coordinates x (n_x,) are the pitch of a free body."""
    system, flags = problem.system, np.zeros(len(problem.lower), dtype=bool)
    j = 0
    for kind, i in zip(system.tree.joint, system.tree.i_q, strict=True):
        if i >= system.n_q_u:
            break
        if kind == FREE:
            flags[j + 4] = True
        j += 6 if kind == FREE else 1
    return flags
