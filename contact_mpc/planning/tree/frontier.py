"""Where search goes on from: places that it has come to, of which one at a time is tried for so many nodes.

A tree that always extends its nearest nodes to the goal stays where these get no further. So after a number of nodes
it goes on from one place alone, that of the least distance to the goal times the square of 1 + the number of times that
one was tried, and its samples are drawn the closer to the goal the nearer the place is. Where that gains nothing the
place counts as tried once more, and another grasp, where it came from, and at last the start have their turn.

Places are nodes of a tree that grows in stages (`rrt`), or ends of a motion between trees (`global_plan`).
"""

from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from contact_mpc.planning.tree.growth.arrays import EXTENSION, Tree
from contact_mpc.planning.tree.search_config import SearchConfig
from contact_mpc.settings.arrays import FloatArray

T = TypeVar("T")


@dataclass
class Place(Generic[T]):
    """Where search may go on: what stands there, its distance to the goal in rad, how often it was tried."""

    end: T
    error: float
    tried: int = 0
    config: SearchConfig = SearchConfig()

    def rank(self) -> float:
        """Return the distance to the goal as it counts when the next place is chosen."""
        return self.error * (1.0 + self.tried) ** 2

    def is_near(self) -> bool:
        """Whether the goal is near."""
        return self.error <= self.config.near_rad

    def nodes(self, nodes: int) -> int:
        """Return the nodes of a stage that begins here, of those of one far from the goal."""
        return max(2, round(self.config.near_nodes * nodes)) if self.is_near() else nodes

    def grasps(self) -> int:
        """Return how many ends of a stage that begins here count, each in another grasp."""
        return self.config.grasps_near if self.is_near() else self.config.grasps

    def spread(self, whole: float) -> float:
        """Return the spread of samples about the goal, with `whole` from the problem's start to it, rad."""
        return min(1.0, self.config.least_spread + self.error / max(whole, 1e-9))

    def lead_to(self, end: T, error: float) -> "Place[T]":
        """Return the place that search from here has come to."""
        gains = error < (1.0 - self.config.least_gain) * self.error
        return Place(end, error, 0 if gains else self.tried, self.config)


def next_place(places: list[Place[T]]) -> Place[T]:
    """Return the place of the least rank, the first of several."""
    return min(places, key=Place.rank)


def grasp_of(tree: Tree, node: int) -> int:
    """Return the node where the grasp of `node` began: the last regrasp on the path there, or the root."""
    while tree.kind[node] == EXTENSION:
        node = int(tree.parent[node])
    return node


def best_of_grasps(tree: Tree, ranks: FloatArray, first: int, most: int, best: int | None = None) -> list[int]:
    """Return nodes of least rank (N - first,) in `most` different grasps, from node `first` on; `best` before all."""
    ends = [] if best is None else [best]
    grasps = {grasp_of(tree, node) for node in ends}
    for node in (first + np.argsort(ranks, kind="stable")).tolist():
        if len(ends) < most and grasp_of(tree, node) not in grasps:
            ends.append(node)
            grasps.add(grasp_of(tree, node))
    return ends
