"""Commands of extensions: within step and limits, and sparing springs that they would overload."""

import numpy as np

from contact_mpc.planning.tree.growth.arrays import EXTENSION
from contact_mpc.planning.tree.growth.extension import extension_command
from contact_mpc.planning.tree.planner import GrownTree, TreePlanner
from contact_mpc.planning.tree.problem import Problem


def test_extensions_keep_the_step_and_the_joint_limits(grown: GrownTree, problem: Problem) -> None:
    tree, config, system = grown.tree, problem.file.rrt, problem.system
    nodes = np.flatnonzero(tree.kind == EXTENSION)
    assert np.linalg.norm(tree.u[nodes] - tree.u[tree.parent[nodes]], axis=1).max() <= config.step_rad * (1 + 1e-9)
    margin = config.limit_margin_rad
    assert np.all(tree.u >= system.q_min + margin - 1e-9) and np.all(tree.u <= system.q_max - margin + 1e-9)


def test_extensions_spare_springs_that_they_would_overload(planner: TreePlanner, grown: GrownTree) -> None:
    """Loads are set to half of what each command asks for without them: by construction all springs are overloaded.

    With a step that limits nothing, commands minimise a cost of which the overload is a part: no node, of whichever
    tree, can be overloaded more than without it.
    """
    tree, overload = grown.tree, np.empty((20, 2))
    free = planner.growth._replace(step=1e3, load=np.full(planner.problem.system.n_a, 1e9))
    for node in range(len(overload)):
        u = np.empty((2, planner.problem.system.n_a))
        extension_command(planner.model, tree, free, node, planner.goal, u[0])
        load = 0.5 * np.abs(tree.stretch[node] + tree.stretch_B[node] @ (u[0] - tree.u[node]))
        extension_command(planner.model, tree, free._replace(load=load), node, planner.goal, u[1])
        stretch = tree.stretch[node] + (u - tree.u[node]) @ tree.stretch_B[node].T
        overload[node] = np.sum(np.maximum(np.abs(stretch) - load, 0.0) ** 2, axis=1)
    assert np.all(overload[:, 1] <= overload[:, 0] * (1.0 + 1e-6))
    assert overload[:, 1].sum() < 0.5 * overload[:, 0].sum()
