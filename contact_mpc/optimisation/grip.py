"""Contact forces of the fingers over a horizon, and one-sided costs on what the program may do to them.

    sum_{k, j} weight max(0, least - F_{k, j})^2       F_{k, j} = sum over contacts c of finger j of n_c . f_c

keeps the fingers from letting go, with the forces f_c of the smoothed model in step k. The contact trust region

    sum_{k, j} weight (max(0, -n_c . f_c)^2 + max(0, |f_t| - mu n_c . f_c)^2)       c the closest contact of finger j

costs nothing at the roll-out, whose forces lie inside their cones; it limits a change of the commands to where the
linearised forces still do (f_t = f - (n . f) n, linearised along its own direction).
To first order in the commands, with x_k the displacement of the roll-out's state, every such y is

    y_k + dy/dq x_k + dy/du du_k        x_k = sum_{i < k} A_{k-1} .. A_{i+1} B_i du_i

a row of a program with hinges (`contact_mpc.optimisation.hinged_qp`). In F, forces of contacts that bear less than
`LEAST_COUNTED_N` are left out.
Source of the contact trust region: H. J. T. Suh, T. Pang, T. Zhao, R. Tedrake, "Dexterous contact-rich manipulation
via the contact trust region", 2025, as a penalty and with the friction cone instead of its polyhedron.
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from contact_mpc.dynamics.force_derivatives import force_derivatives
from contact_mpc.dynamics.newton import Newton
from contact_mpc.dynamics.quadratic import Model
from contact_mpc.model.flags import COMPILED

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
LEAST_COUNTED_N = 0.01


class Grip(NamedTuple):
    """Workspace over T steps and m rows y: F of each finger, then of a contact trust region n.f and mu n.f - |f_t|.

    finger : (n_c,) number of the finger that a contact belongs to, -1: none;  least : (m,) N
    watched : (n_fingers,) the contact in the trust region, -1: none; of length 0 without such rows
    root : (m,) root of the weight, 1/N, 0 where nothing is asked
    force : (T, m) y, N;  slope : (T, m, n_v + n_a) along state and command of the step, N/rad (N/m)
    rows : (T m, T n_a), level : (T m,) : the hinges root (dy/du, y - least)
    """

    finger: IntArray
    watched: IntArray
    least: FloatArray
    root: FloatArray
    force: FloatArray
    slope: FloatArray
    rows: FloatArray
    level: FloatArray


def make_grip(model: Model, T: int, fingers: IntArray, has_trust_region: bool = False) -> Grip:
    """Allocate for T steps; fingers (n_c,) names the finger of each contact by a number from 0 on, -1 for none."""
    n_v, n_a = model.tree.dof_body.shape[0], model.K.shape[0]
    count = int(fingers.max(initial=-1)) + 1
    watched = np.full(count if has_trust_region else 0, -1)
    m = count + 2 * len(watched)
    return Grip(
        fingers, watched, np.zeros(m), np.zeros(m), np.zeros((T, m)), np.zeros((T, m, n_v + n_a)),
        np.zeros((T * m, T * n_a)), np.zeros(T * m),
    )


@njit(**COMPILED)
def record_forces(model: Model, ws: Newton, kappa: float, X: FloatArray, grip: Grip, k: int) -> None:
    """Write force and slope of step k; ws and X as for `force_derivatives`."""
    n_v, width = ws.dq.shape[0], X.shape[1]
    dn, df, along = np.empty((3, n_v)), np.empty((3, width)), np.empty(width)
    grip.force[k] = 0.0
    grip.slope[k] = 0.0
    for a in range(ws.n_active[0]):
        c = ws.active[a]
        j, n, w = grip.finger[c], ws.con.n[c], ws.w[c]
        if j < 0:
            continue
        pressed = -(n[0] * w[0] + n[1] * w[1] + n[2] * w[2])
        counts = grip.root[j] > 0.0 and pressed >= LEAST_COUNTED_N
        is_watched = grip.watched.shape[0] > 0 and grip.watched[j] == c
        if not (counts or is_watched):
            continue
        force_derivatives(model, ws, c, kappa, X, dn, df)
        for i in range(width):
            along[i] = n[0] * df[0, i] + n[1] * df[1, i] + n[2] * df[2, i]
        for i in range(n_v):
            along[i] -= w[0] * dn[0, i] + w[1] * dn[1, i] + w[2] * dn[2, i]
        if counts:
            grip.force[k, j] += pressed
            grip.slope[k, j] += along
        if is_watched:
            _record_cone(grip, k, j, model.mu[c], n, w, pressed, along, dn, df)


@njit(**COMPILED)
def _record_cone(
    grip: Grip, k: int, j: int, mu: float, n: FloatArray, w: FloatArray, pressed: float, along: FloatArray,
    dn: FloatArray, df: FloatArray,
) -> None:
    """Write n.f and mu n.f - |f_t| of finger j's watched contact, `along` being the slope of n.f."""
    count = grip.watched.shape[0]
    tangent = np.empty(3)
    for i in range(3):
        tangent[i] = -w[i] - pressed * n[i]
    size = np.sqrt(tangent[0] ** 2 + tangent[1] ** 2 + tangent[2] ** 2)
    if size > 0.0:
        tangent /= size
    normal, cone = count + j, 2 * count + j
    grip.force[k, normal], grip.force[k, cone] = pressed, mu * pressed - size
    grip.slope[k, normal] = along
    grip.slope[k, cone] = mu * along
    for i in range(3):
        grip.slope[k, cone] -= tangent[i] * df[i]
        grip.slope[k, cone, : dn.shape[1]] += pressed * tangent[i] * dn[i]


@njit(**COMPILED)
def write_hinges(A: FloatArray, B: FloatArray, grip: Grip) -> None:
    """Write rows and level from the linearisation A (T, n_v, n_v), B (T, n_v, n_a) of the roll-out."""
    T, m = grip.force.shape
    n_v, n_a = B.shape[1], B.shape[2]
    for k in range(T):
        P, rows = grip.slope[k, :, :n_v].copy(), grip.rows[k * m : (k + 1) * m]
        rows[:, k * n_a : (k + 1) * n_a] = grip.slope[k, :, n_v:]
        for i in range(k - 1, -1, -1):
            rows[:, i * n_a : (i + 1) * n_a] = P @ B[i]
            P = P @ A[i]
        for j in range(m):
            rows[j] *= grip.root[j]
            grip.level[k * m + j] = grip.root[j] * (grip.force[k, j] - grip.least[j])
