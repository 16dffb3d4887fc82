"""Where the parts of an iteration stand in this process: each is compiled once and called by its address."""

from typing import Any

import numpy as np

from contact_mpc.dynamics.smoothed.newton import Newton
from contact_mpc.dynamics.smoothed.quadratic import Model
from contact_mpc.planning.tree.growth.arrays import Growth, GrowthCodes, Tree
from contact_mpc.planning.tree.growth.contact_sampling import Sampler
from contact_mpc.planning.tree.growth.extension import EXTEND_ON, EXTENSION_COMMAND
from contact_mpc.planning.tree.growth.node import WRITE_NODE
from contact_mpc.planning.tree.growth.regrasp_edge import REGRASP_EDGE, SAMPLE_CONTACT
from contact_mpc.planning.tree.growth.regrasp_motion import MAKE_REGRASP, make_steps
from contact_mpc.settings.code.separate_code import SeparateCode


def find_codes(model: Model, ws: Newton, tree: Tree, growth: Growth, sampler: Sampler) -> GrowthCodes:
    """Compile, or load, the parts for arguments of these types; their values do not matter."""
    return GrowthCodes(*[part.address(*given) for part, given in _parts(model, ws, tree, growth, sampler)])


def compile_backwards(model: Model, ws: Newton, tree: Tree, growth: Growth, sampler: Sampler) -> None:
    """Compile the parts from the last one on, beside a process that begins with the first one."""
    for part, given in reversed(_parts(model, ws, tree, growth, sampler)):
        part.address(*given)


def _parts(
    model: Model, ws: Newton, tree: Tree, growth: Growth, sampler: Sampler
) -> list[tuple[SeparateCode, tuple[Any, ...]]]:
    """Return each part with arguments of its types, in the order of `GrowthCodes`."""
    rng, steps = np.random.default_rng(0), make_steps(1, tree.u.shape[1])
    q, u, moving, path = tree.q[0], tree.u[0], tree.moving[0], tree.path[0]
    return [
        (WRITE_NODE, (model, ws, tree, growth, 0, q, u, q)),
        (EXTENSION_COMMAND, (model, tree, growth, 0, q, u)),
        (SAMPLE_CONTACT, (model, ws, tree, growth, sampler, rng, 0, 0, q)),
        (MAKE_REGRASP, (model, ws, growth, sampler, 0, moving, path, q, u, steps)),
        (REGRASP_EDGE, (model, ws, tree, growth, sampler, rng, steps, 0, q, q)),
        (EXTEND_ON, (model, ws, tree, growth, 0, q, q, 0, 0)),
    ]
