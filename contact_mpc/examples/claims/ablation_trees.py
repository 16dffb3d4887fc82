"""What trees look like after a fixed number of nodes, with parts of the method left out (seeds/003, "Ablation study").

Trees of the planar hand, the disc free to turn all the way round: with the local metric and contact sampling, with the
global metric, without contact sampling, without both. A line is an edge, a dot a node; regrasps, which leave the disc
where it is, are dots alone. `contact-mpc study metric` measures what many such trees cover; one tree shows it and
proves nothing, so rows tell numbers and expect only that every tree has its nodes.
"""

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from contact_mpc.examples.plotting import COLOURS, label, new_figure
from contact_mpc.examples.result import ExampleResult, Row, Settings, check_allowed
from contact_mpc.planning.tree.coverage import ABLATION, build_space, measure_coverage
from contact_mpc.planning.tree.planner import TreePlanner
from contact_mpc.planning.tree.problem import load_problem, with_ranges, with_rrt
from contact_mpc.settings.arrays import FloatArray

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PROBLEM, TURN, NODES, SEED, SAMPLES = "planar_hand_ball", (-np.pi, np.pi), 300, 0, 500
HEIGHT, ANGLE = 1, 2  # of q_u: z and turn of the disc


@dataclass(frozen=True)
class Grown:
    """The disc q_u (n, 3) at the nodes, the parent (n,) of each, -1 of the root, and the share visited, -."""

    q_u: FloatArray
    parent: list[int]
    visited: float


def grow_variant(name: str, nodes: int = NODES, seed: int = SEED) -> Grown:
    """Grow one tree of a variant of the ablation, whether it meets the goal or not."""
    problem = with_ranges(load_problem(PROBLEM), {"disc_turn_rad": TURN})
    planner = TreePlanner(with_rrt(problem, stage_nodes=nodes, **ABLATION[name]))
    grown = planner.grow(seed, nodes, stop_at_goal=False)
    space = build_space(planner, nodes, SAMPLES)
    covered = measure_coverage(planner, grown, space, (nodes,))
    return Grown(grown.tree.q[:, :3].copy(), [int(k) for k in grown.tree.parent], float(covered.visited[-1]))


def ablation_trees(settings: Settings) -> ExampleResult:
    """Grow and draw a tree of each variant."""
    check_allowed(settings, "ablation_trees", (), 1.0)
    trees = {name: grow_variant(name) for name in ABLATION}
    rows: list[Row] = []
    arrays: dict[str, FloatArray] = {}
    figures: dict[str, Any] = {}
    for k, (name, tree) in enumerate(trees.items()):
        turns = np.rad2deg(np.ptp(tree.q_u[:, ANGLE]))
        rows += [
            Row(f"{name}: nodes", str(len(tree.q_u)), str(NODES), len(tree.q_u) == NODES),
            Row(f"{name}: visited, of all the way round", f"{100.0 * tree.visited:.1f} %"),
            Row(f"{name}: turns reached", f"over {turns:.0f} degrees"),
        ]
        figures[name] = {"nodes": len(tree.q_u), "visited": tree.visited, "turns_deg": float(turns)}
        arrays |= {f"tree_{k}_q_u": tree.q_u, f"tree_{k}_parent": np.array(tree.parent, dtype=np.float64)}
    return ExampleResult(rows, {"seed": SEED, "variants": figures}, arrays, {"ablation_trees": partial(_draw, trees)})


def _draw(trees: dict[str, Grown]) -> "Figure":
    title = f"Trees of {NODES} nodes: a disc in a planar hand, all the way round"
    figure, axes = new_figure(1, len(trees), title, 10.0, 2.8)
    heights = np.concatenate([tree.q_u[:, HEIGHT] for tree in trees.values()])
    for axis, colour, (name, tree) in zip(axes[0], COLOURS, trees.items(), strict=False):
        turn, height = np.rad2deg(tree.q_u[:, ANGLE]), 1e3 * tree.q_u[:, HEIGHT]
        for node, parent in enumerate(tree.parent):
            if parent >= 0:
                axis.plot(turn[[parent, node]], height[[parent, node]], color=colour, linewidth=0.6)
        axis.plot(turn, height, ".", color=colour, markersize=3)
        axis.plot(turn[:1], height[:1], "k*", markersize=8)
        axis.set(xlim=np.rad2deg(TURN), ylim=(1e3 * heights.min() - 10.0, 1e3 * heights.max() + 10.0))
        head = name.replace(", ", ",\n")
        label(axis, f"{head}\n{100.0 * tree.visited:.0f} % visited", "turn, degrees", "height, mm")
    return figure
