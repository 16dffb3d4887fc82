"""Contact forces of the smoothed step and their derivatives along the state and the command, compiled.

The force on A is f = -w(phi, n, d) with the barrier's gradient w at d = slip + J dq (`dynamics.smoothed.barrier`).
Along a change of (q, u), with dphi, dn and the change dd of J dq at fixed dq (`contact_motion`), and with
X = [d(dq)/dq, d(dq)/du] of the step (`solve_derivatives`),

    df = -(w's change along (dphi, dn) at fixed d  +  W (dd + J X))        d(n . f) = n . df + dn . f

Source: seeds/003, "Differentiability", continued from dq to the dual variables.
"""

import numpy as np
from numba import njit

from contact_mpc.dynamics.smoothed.barrier import barrier_mixed
from contact_mpc.dynamics.smoothed.derivatives import contact_motion
from contact_mpc.dynamics.smoothed.newton import Newton
from contact_mpc.dynamics.smoothed.quadratic import Model
from contact_mpc.geometry.vectors import row
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.code.compile_flags import COMPILED


@njit(**COMPILED)
def force_derivatives(
    model: Model, ws: Newton, c: int, kappa: float, X: FloatArray, dn: FloatArray, df: FloatArray
) -> None:
    """Write dn (3, n_v) and df (3, n_v + n_a) of contact c, along q in tangent space and u; N/rad (N/m).

    ws and X must be as `solve_step` and `solve_derivatives` left them.
    """
    pairs, count, n_v = model.pairs, model.pairs.dof_count[c], ws.dq.shape[0]
    width = pairs.dofs.shape[1]
    motion, rows, unused = np.empty((width, 7)), np.empty((width, 2, 3)), np.zeros((n_v, n_v))
    contact_motion(model, ws, c, unused, rows, motion)
    n, d, W = row(ws.con.n, c), row(ws.d, c), ws.W[c]
    dn[:, :] = 0.0
    df[:, :] = 0.0
    for k in range(count):
        i = pairs.dofs[c, k]
        turned = (motion[k, 1], motion[k, 2], motion[k, 3])
        mixed = barrier_mixed(ws.phi[c], model.mu[c], n, d, kappa, motion[k, 0], turned)
        J = ws.con.J[c, k]
        for a in range(3):
            dn[a, i] = turned[a]
            df[a, i] -= mixed[a] + W[a, 0] * motion[k, 4] + W[a, 1] * motion[k, 5] + W[a, 2] * motion[k, 6]
            stiffness = W[a, 0] * J[0] + W[a, 1] * J[1] + W[a, 2] * J[2]
            for j in range(X.shape[1]):
                df[a, j] -= stiffness * X[i, j]
