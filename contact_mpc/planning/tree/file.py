"""Tree files: the nodes of a tree with what they were grown from, beside the plan that came of them."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from contact_mpc.errors import PlanError
from contact_mpc.planning.tree.plan import provenance
from contact_mpc.planning.tree.planner import GrownTree
from contact_mpc.planning.tree.problem import Problem
from contact_mpc.settings.array_files import read_arrays, write_arrays
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.version import __version__

IntArray = NDArray[np.int64]
FORMAT = "contact_mpc tree 1"
ARRAYS = ("q", "u", "parent", "kind", "goal_distance")


@dataclass(frozen=True)
class StoredTree:
    """Nodes q (N, n_q), u (N, n_a), parent (N,), kind (N,) of the edge, goal_distance (N,) in rad^2 / 2; header."""

    q: FloatArray
    u: FloatArray
    parent: IntArray
    kind: IntArray
    goal_distance: FloatArray
    header: dict[str, Any]


def save_tree(path: Path, grown: GrownTree) -> None:
    """Write a tree to a .npz file; raises PlanError where the file cannot be written."""
    header = {
        "format": FORMAT,
        **provenance(grown.problem, (grown,), grown.seed),
        "status": grown.status,
        "counts": grown.tree.counts.tolist(),
        "iterations": grown.iterations,
    }
    write_arrays(path, "tree", header, {name: getattr(grown.tree, name) for name in ARRAYS})


def load_tree(path: Path | str, problem: Problem | None = None) -> StoredTree:
    """Read a tree file; raises PlanError where it is none, or belongs to another system, problem or version."""
    path = Path(path)
    header, arrays = read_arrays(path, "tree", ARRAYS)
    if header.get("format") != FORMAT:
        raise PlanError(f"{path}: not a tree of format '{FORMAT}'; plan again with this version")
    if header.get("version") != __version__:
        raise PlanError(f"{path}: written by version {header.get('version')}, this is {__version__}; plan again")
    if problem is not None:
        wanted = {**problem.system.provenance(), "problem": problem.file.name}
        for key, value in wanted.items():
            if header.get(key) != value:
                raise PlanError(f"{path}: a tree of {key} '{header.get(key)}', not '{value}'; plan again")
    return StoredTree(**arrays, header=header)
