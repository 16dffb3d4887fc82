"""Contact trust region over a horizon: a one-sided cost on linearised contact forces outside their friction cones.

    sum_{k, j} weight (max(0, -n_c . f_c)^2 + max(0, |f_t| - mu n_c . f_c)^2)       c the contact of finger j in step k

costs nothing at the roll-out, whose forces f_c lie inside their cones; it limits a change of the commands to where the
linearised forces still do (f_t = f - (n . f) n, linearised along its own direction).
To first order in the commands, with x_k the displacement of the roll-out's state, every y of n.f and mu n.f - |f_t| is

    y_k + dy/dq x_k + dy/du du_k        x_k = sum_{i < k} A_{k-1} .. A_{i+1} B_i du_i

a row of a program with hinges (`contact_mpc.optimisation.hinged_qp`).
Source: H. J. T. Suh, T. Pang, T. Zhao, R. Tedrake, "Dexterous contact-rich manipulation via the contact trust region",
2025, as a penalty and with the friction cone instead of its polyhedron.
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from contact_mpc.dynamics.smoothed.force_derivatives import force_derivatives
from contact_mpc.dynamics.smoothed.newton import Newton
from contact_mpc.dynamics.smoothed.quadratic import Model
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.code.compile_flags import INNER

IntArray = NDArray[np.int64]


class ContactTrust(NamedTuple):
    """Workspace over T steps and the m = 2 n_fingers rows y: n.f of each finger, then mu n.f - |f_t| of each.

    finger : (n_c,) number of the finger that a contact belongs to, -1: none
    watched : (n_fingers,) the contact that counts, -1: none;  root : (1,) root of the weight, 1/N
    force : (T, m) y, N;  slope : (T, m, n_v + n_a) along state and command of the step, N/rad (N/m)
    rows : (T m, T n_a), level : (T m,) : the hinges root (dy/du, y)
    """

    finger: IntArray
    watched: IntArray
    root: FloatArray
    force: FloatArray
    slope: FloatArray
    rows: FloatArray
    level: FloatArray


def make_contact_trust(model: Model, T: int, fingers: IntArray, weight: float) -> ContactTrust:
    """Allocate for T steps; fingers (n_c,) names the finger of each contact by a number from 0 on, -1 for none.

    weight : float
        1/N^2; 0: no rows.
    """
    n_v, n_a = model.tree.dof_body.shape[0], model.K.shape[0]
    count = int(fingers.max(initial=-1)) + 1 if weight > 0.0 else 0
    m = 2 * count
    return ContactTrust(
        fingers,
        np.full(count, -1),
        np.array([np.sqrt(weight)]),
        np.zeros((T, m)),
        np.zeros((T, m, n_v + n_a)),
        np.zeros((T * m, T * n_a)),
        np.zeros(T * m),
    )


@njit(**INNER)
def record_cones(model: Model, ws: Newton, kappa: float, X: FloatArray, trust: ContactTrust, k: int) -> None:
    """Write force and slope of step k; ws and X as for `force_derivatives`."""
    n_v, width = ws.dq.shape[0], X.shape[1]
    dn, df = np.empty((3, n_v)), np.empty((3, width))
    trust.force[k] = 0.0
    trust.slope[k] = 0.0
    for a in range(ws.n_active[0]):
        c = ws.active[a]
        j = trust.finger[c]
        if j >= 0 and trust.watched[j] == c:
            force_derivatives(model, ws, c, kappa, X, dn, df)
            _record_cone(trust, k, j, model.mu[c], ws.con.n[c], ws.w[c], dn, df)


@njit(**INNER)
def _record_cone(
    trust: ContactTrust, k: int, j: int, mu: float, n: FloatArray, w: FloatArray, dn: FloatArray, df: FloatArray
) -> None:
    """Write n.f and mu n.f - |f_t| of finger j's contact, whose force is f = -w, with their slopes."""
    count, n_v = trust.watched.shape[0], dn.shape[1]
    pressed = -(n[0] * w[0] + n[1] * w[1] + n[2] * w[2])
    along, tangent = np.empty(df.shape[1]), np.empty(3)
    for i in range(along.shape[0]):
        along[i] = n[0] * df[0, i] + n[1] * df[1, i] + n[2] * df[2, i]
    for i in range(n_v):
        along[i] -= w[0] * dn[0, i] + w[1] * dn[1, i] + w[2] * dn[2, i]
    for i in range(3):
        tangent[i] = -w[i] - pressed * n[i]
    size = np.sqrt(tangent[0] ** 2 + tangent[1] ** 2 + tangent[2] ** 2)
    if size > 0.0:
        tangent /= size
    cone = count + j
    trust.force[k, j], trust.force[k, cone] = pressed, mu * pressed - size
    trust.slope[k, j] = along
    trust.slope[k, cone] = mu * along
    for i in range(3):
        trust.slope[k, cone] -= tangent[i] * df[i]
        trust.slope[k, cone, :n_v] += pressed * tangent[i] * dn[i]


@njit(**INNER)
def write_hinges(A: FloatArray, B: FloatArray, trust: ContactTrust) -> None:
    """Write rows and level from the linearisation A (T, n_v, n_v), B (T, n_v, n_a) of the roll-out."""
    T, m = trust.force.shape
    n_v, n_a, root = B.shape[1], B.shape[2], trust.root[0]
    for k in range(T):
        P, rows = trust.slope[k, :, :n_v].copy(), trust.rows[k * m : (k + 1) * m]
        rows[:, k * n_a : (k + 1) * n_a] = trust.slope[k, :, n_v:]
        for i in range(k - 1, -1, -1):
            rows[:, i * n_a : (i + 1) * n_a] = P @ B[i]
            P = P @ A[i]
        rows *= root
        trust.level[k * m : (k + 1) * m] = root * trust.force[k]
