"""The nearest configuration in which nothing overlaps: where a measured state would stand with nominal shapes.

An object that is larger or smaller than its model, or whose pose is off, makes links and object overlap in the model
although in the world they touch. With weights W of motions this solves, about q again and again,

    min over dq   1/2 dq' W dq      with   phi_c + J_c dq >= 0   at every contact near by

a least-distance program, as non-negative least squares (Lawson, Hanson, Solving Least Squares Problems, 1974, ch. 23).
Weights say who gives way: an object that is held between two arms stays where it was measured if it is the heavier.
Wrong where links have passed through each other by more than half their thickness: normals then point out the far side.
"""

import numpy as np

from contact_mpc.dynamics.exact.step_problem import ProblemBuilder
from contact_mpc.dynamics.smoothed.quadratic import Model
from contact_mpc.model.system import System
from contact_mpc.settings.arrays import FloatArray

MOST_ROUNDS = 20
LEAST_REST = 1e-9  # of the least squares, 1 where nothing is asked: below it no motion resolves the overlaps


def without_overlap(system: System, model: Model, q: FloatArray, weight: FloatArray, deepest_m: float) -> FloatArray:
    """Return the configuration (n_q,) near q in which no contact is deeper than deepest_m; q itself where none is.

    Parameters
    ----------
    weight : (n_v,) array
        Diagonal of W, positive.

    Where no motion resolves the overlaps, or not in `MOST_ROUNDS` linearisations, the last configuration is returned.
    """
    builder, scale = ProblemBuilder(model, q), 1.0 / np.sqrt(weight)
    u, offset = q[system.n_q_u :], np.zeros(len(model.mu))
    for _ in range(MOST_ROUNDS):
        near = builder.build(q, u, offset)
        if np.min(near.phi, initial=np.inf) >= -deepest_m:
            break
        from scipy.optimize import nnls  # 0.4 s, here and not where nothing overlaps

        G = np.einsum("ki,kiv->kv", near.n, near.J) * scale
        E = np.vstack([G.T, -near.phi])
        f = np.append(np.zeros(system.n_v), 1.0)
        residual = E @ nnls(E, f)[0] - f
        if -residual[-1] < LEAST_REST:
            break
        q = system.integrate(q, -scale * residual[:-1] / residual[-1])
    return q
