"""What one Newton system of a step is made of: workspace, the step's data at (q, u), Hessian and direction, compiled.

    gradient = Q dq + b + sum J_i' w_i        H = Q + sum J_i' W_i J_i        H direction = -gradient

with w_i, W_i of whoever linearises the contacts' law. Contacts are listed by activity, columns of J_i by the degrees
of freedom that move them, and Q = diag(M_u / h^2, K_a) is dense in the objects' part only.
"""

from typing import Annotated, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from contact_mpc.dynamics.smoothed.cholesky import factorise, solve_in_place
from contact_mpc.dynamics.smoothed.quadratic import Model, assemble_quadratic
from contact_mpc.geometry.contacts import (
    Contacts,
    Kinematics,
    make_contacts,
    make_kinematics,
    take_contacts,
    update_kinematics,
)
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.code.compile_flags import COMPILED, UNCOUNTED, UNCOUNTED_INNER
from contact_mpc.settings.named_arrays import Shape, allocate

IntArray = NDArray[np.int64]


class Newton(NamedTuple):
    """Workspace of one step; arrays over n_v, and over contacts i for those that are active.

    Q, b, H, L, gradient, direction, dq : the Newton system and the displacement
    phi : (n_c,) gaps with offset, m;  slip : (n_c, 3) displacement that a contact has before the step, m
    d, delta : (n_c, 3) slip + J dq and J direction, m;  w (n_c, 3), W (n_c, 3, 3) : -force on A, N, and stiffness, N/m
    s, z : (n_c, 3) slack, m, and multiplier, N;  ds, dz, v (n_c, 3), ratio (n_c,) : of a primal-dual step
    rows : (m, 2, 3) of the columns of a contact's J, see `derivatives`
    active : (n_c,) of which the first n_active[0] are indices of pairs within the activation distance
    """

    kin: Kinematics
    con: Contacts
    Q: Annotated[FloatArray, Shape("n_v", "n_v")]
    b: Annotated[FloatArray, Shape("n_v")]
    H: Annotated[FloatArray, Shape("n_v", "n_v")]
    L: Annotated[FloatArray, Shape("n_v", "n_v")]
    gradient: Annotated[FloatArray, Shape("n_v")]
    direction: Annotated[FloatArray, Shape("n_v")]
    dq: Annotated[FloatArray, Shape("n_v")]
    phi: Annotated[FloatArray, Shape("n_c")]
    slip: Annotated[FloatArray, Shape("n_c", 3)]
    d: Annotated[FloatArray, Shape("n_c", 3)]
    delta: Annotated[FloatArray, Shape("n_c", 3)]
    w: Annotated[FloatArray, Shape("n_c", 3)]
    W: Annotated[FloatArray, Shape("n_c", 3, 3)]
    s: Annotated[FloatArray, Shape("n_c", 3)]
    z: Annotated[FloatArray, Shape("n_c", 3)]
    ds: Annotated[FloatArray, Shape("n_c", 3)]
    dz: Annotated[FloatArray, Shape("n_c", 3)]
    v: Annotated[FloatArray, Shape("n_c", 3)]
    ratio: Annotated[FloatArray, Shape("n_c")]
    rows: Annotated[FloatArray, Shape("m", 2, 3)]
    active: Annotated[IntArray, Shape("n_c", dtype=np.int64)]
    n_active: Annotated[IntArray, Shape(1, dtype=np.int64)]


def make_newton(model: Model) -> Newton:
    """Allocate the workspace."""
    n_c, m = model.pairs.dofs.shape
    sizes = {"n_v": model.tree.dof_body.shape[0], "n_c": n_c, "m": m}
    kin, con = make_kinematics(model.tree), make_contacts(model.pairs)
    return allocate(Newton, sizes, kin=kin, con=con)


@njit(**COMPILED)
def measure_gaps(model: Model, ws: Newton, q: FloatArray) -> FloatArray:
    """Return the signed distances (n_c,), m, of all pairs at q (n_q,)."""
    update_kinematics(model.tree, q, ws.kin)
    take_contacts(model.codes.contacts, (model.tree, model.pairs, ws.kin, ws.con))
    return ws.con.phi


@njit(**UNCOUNTED)
def prepare_step(model: Model, ws: Newton, q: FloatArray, u: FloatArray, offset: FloatArray) -> None:
    """Refresh kinematics, contacts, Q, b and the list of active contacts for (q, u)."""
    update_kinematics(model.tree, q, ws.kin)
    take_contacts(model.codes.contacts, (model.tree, model.pairs, ws.kin, ws.con))
    assemble_quadratic(model, ws.kin, q, u, ws.Q, ws.b)
    count = 0
    for c in range(model.mu.shape[0]):
        ws.phi[c] = ws.con.phi[c] + offset[c]
        if ws.phi[c] < model.activation:
            ws.active[count] = c
            count += 1
        else:
            for i in range(3):
                ws.w[c, i] = 0.0
    ws.n_active[0] = count


@njit(inline="always", **COMPILED)
def relative_displacement(model: Model, ws: Newton, c: int, x: FloatArray) -> tuple[float, float, float]:
    """Return J_c x."""
    J, dofs = ws.con.J, model.pairs.dofs
    d_0, d_1, d_2 = 0.0, 0.0, 0.0
    for k in range(model.pairs.dof_count[c]):
        value = x[dofs[c, k]]
        d_0 += J[c, k, 0] * value
        d_1 += J[c, k, 1] * value
        d_2 += J[c, k, 2] * value
    return d_0, d_1, d_2


@njit(**UNCOUNTED_INNER)
def update_displacements(model: Model, ws: Newton) -> None:
    """Write d = slip + J dq for every active contact."""
    for a in range(ws.n_active[0]):
        c = ws.active[a]
        d = relative_displacement(model, ws, c, ws.dq)
        for i in range(3):
            ws.d[c, i] = ws.slip[c, i] + d[i]


@njit(**UNCOUNTED_INNER)
def assemble_newton(model: Model, ws: Newton) -> None:
    """Write the gradient and the lower triangle of the Hessian from w and W of the active contacts."""
    n_v, n_u = ws.dq.shape[0], model.n_v_u
    H, g, dofs = ws.H, ws.gradient, model.pairs.dofs
    for i in range(n_v):
        for j in range(i):
            H[i, j] = 0.0
        H[i, i] = ws.Q[i, i]
        g[i] = ws.b[i] + ws.Q[i, i] * ws.dq[i]
    for i in range(n_u):
        for j in range(i):
            H[i, j] = ws.Q[i, j]
            g[i] += ws.Q[i, j] * ws.dq[j]
            g[j] += ws.Q[i, j] * ws.dq[i]
    for a in range(ws.n_active[0]):
        c = ws.active[a]
        J, W, w = ws.con.J[c], ws.W[c], ws.w[c]
        for k in range(model.pairs.dof_count[c]):
            i, x, y, z = dofs[c, k], J[k, 0], J[k, 1], J[k, 2]
            g[i] += x * w[0] + y * w[1] + z * w[2]
            f_0 = W[0, 0] * x + W[0, 1] * y + W[0, 2] * z
            f_1 = W[1, 0] * x + W[1, 1] * y + W[1, 2] * z
            f_2 = W[2, 0] * x + W[2, 1] * y + W[2, 2] * z
            for m in range(k + 1):  # columns ascend: dofs[c, m] <= i
                H[i, dofs[c, m]] += J[m, 0] * f_0 + J[m, 1] * f_1 + J[m, 2] * f_2
            m = k - 1
            while m >= 0 and dofs[c, m] == i:  # of a mimic joint: both halves of the triangle lie here
                H[i, i] += J[m, 0] * f_0 + J[m, 1] * f_1 + J[m, 2] * f_2
                m -= 1


@njit(**UNCOUNTED_INNER)
def solve_newton(ws: Newton) -> tuple[bool, float]:
    """Factorise H, write the direction; return whether H is definite, and gradient . H^-1 gradient, J."""
    if not factorise(ws.H, ws.L):
        return False, np.inf
    for i in range(ws.dq.shape[0]):
        ws.direction[i] = -ws.gradient[i]
    solve_in_place(ws.L, ws.direction)
    decrease = 0.0
    for i in range(ws.dq.shape[0]):
        decrease -= ws.gradient[i] * ws.direction[i]
    return True, decrease
