"""Where the parts of an iteration stand in this process: each is compiled once and called by its address."""

import numpy as np

from contact_mpc.dynamics.smoothed.newton import Newton
from contact_mpc.dynamics.smoothed.quadratic import Model
from contact_mpc.planning.tree.growth.arrays import Growth, GrowthCodes, Tree
from contact_mpc.planning.tree.growth.contact_sampling import Sampler
from contact_mpc.planning.tree.growth.extension import EXTEND_ON, EXTENSION_COMMAND
from contact_mpc.planning.tree.growth.node import WRITE_NODE
from contact_mpc.planning.tree.growth.regrasp_edge import REGRASP_EDGE, SAMPLE_CONTACT
from contact_mpc.planning.tree.growth.regrasp_motion import MAKE_REGRASP, make_steps


def find_codes(model: Model, ws: Newton, tree: Tree, growth: Growth, sampler: Sampler) -> GrowthCodes:
    """Compile, or load, the parts for arguments of these types; their values do not matter."""
    rng, steps = np.random.default_rng(0), make_steps(1, tree.u.shape[1])
    q, u, moving, path = tree.q[0], tree.u[0], tree.moving[0], tree.path[0]
    return GrowthCodes(
        WRITE_NODE.address(model, ws, tree, growth, 0, q, u, q),
        EXTENSION_COMMAND.address(model, tree, growth, 0, q, u),
        SAMPLE_CONTACT.address(model, ws, tree, growth, sampler, rng, 0, 0, q),
        MAKE_REGRASP.address(model, ws, growth, sampler, 0, moving, path, q, u, steps),
        REGRASP_EDGE.address(model, ws, tree, growth, sampler, rng, steps, 0, q, q),
        EXTEND_ON.address(model, ws, tree, growth, 0, q, q, 0, 0),
    )
