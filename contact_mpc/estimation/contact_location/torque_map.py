"""How a force at a point of a surface reaches the joints, and how that changes as the point moves along the surface.

tau = J_p' f, N m (N): for a revolute joint with axis a through o, tau_d = (a x (p - o)) . f; for a prismatic one
tau_d = a . f. Positive tau_ext pushes along +q. Rows are divided by the noise of each torque, so that residuals are in
standard deviations. In the frame (-n, t_1, t_2) of the surface, n its outward normal, f = -f_n n + f_1 t_1 + f_2 t_2.

Moving the point by a tangent step x turns the frame by omega = n x dn, with dn from the curvature, and

    d tau_d = x . (f x a)        [revolute]       + v_d(p) . (omega x f)
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from contact_mpc.estimation.contact_location.cone_force import fit_force
from contact_mpc.estimation.contact_location.surfaces import Surfaces, turning_of_normal
from contact_mpc.geometry.vectors import Vector, axpy, cross, dof_velocity, dot, rotate, row, scaled
from contact_mpc.model.kinematic_tree import REVOLUTE, Tree
from contact_mpc.model.kinematics import dof_axes_into, forward_kinematics_into
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.code.compile_flags import COMPILED, INNER

IntArray = NDArray[np.int64]


class Arm(NamedTuple):
    """One configuration with its torques, as flat workspaces.

    R_WB, p_WB : (n_b, ...) poses of bodies;  R_WG, p_WG : (n_s, ...) poses of surfaces
    axes, origins : (n_v, 3);  kind : (n_v,)
    chain, chain_count : (n_b, n_chain), (n_b,) degrees of freedom below each body
    weight : (n_v,) 1 / noise, 1/(N m), zero for joints of other chains;  target : (n_v,) weight * tau
    rest : (n_b,) squared torques, in noise, of the chain's joints that a contact on the body cannot move
    A, S, b : (n_chain, 3), (n_chain, 2), (n_chain,) rows of the last point
    """

    R_WB: FloatArray
    p_WB: FloatArray
    R_WG: FloatArray
    p_WG: FloatArray
    axes: FloatArray
    origins: FloatArray
    kind: IntArray
    chain: IntArray
    chain_count: IntArray
    weight: FloatArray
    target: FloatArray
    rest: FloatArray
    A: FloatArray
    S: FloatArray
    b: FloatArray


def make_arm(tree: Tree, surfaces: Surfaces) -> Arm:
    """Allocate."""
    n_b, n_v, n_s, width = len(tree.parent), len(tree.dof_body), len(surfaces.body), tree.chain.shape[1]
    return Arm(
        np.zeros((n_b, 3, 3)), np.zeros((n_b, 3)), np.zeros((n_s, 3, 3)), np.zeros((n_s, 3)),
        np.zeros((n_v, 3)), np.zeros((n_v, 3)), tree.dof_kind, tree.chain, tree.chain_count,
        np.zeros(n_v), np.zeros(n_v), np.zeros(n_b), np.zeros((width, 3)), np.zeros((width, 2)), np.zeros(width),
    )  # fmt: skip


@njit(**COMPILED)
def place_arm(tree: Tree, surfaces: Surfaces, q: FloatArray, arm: Arm) -> None:
    """Write poses and axes for q (n_q,)."""
    forward_kinematics_into(tree, q, arm.R_WB, arm.p_WB)
    dof_axes_into(tree, arm.R_WB, arm.p_WB, arm.axes, arm.origins)
    for s in range(surfaces.body.shape[0]):
        body = surfaces.body[s]
        p = axpy(1.0, rotate(arm.R_WB, body, row(surfaces.p_BG, s)), row(arm.p_WB, body))
        for i in range(3):
            arm.p_WG[s, i] = p[i]
            for k in range(3):
                arm.R_WG[s, i, k] = (
                    arm.R_WB[body, i, 0] * surfaces.R_BG[s, 0, k]
                    + arm.R_WB[body, i, 1] * surfaces.R_BG[s, 1, k]
                    + arm.R_WB[body, i, 2] * surfaces.R_BG[s, 2, k]
                )


@njit(**COMPILED)
def set_torques(arm: Arm, tau: FloatArray, weight: FloatArray) -> None:
    """Take tau (n_v,), N m, and weight (n_v,), 1/(N m)."""
    for d in range(tau.shape[0]):
        arm.weight[d], arm.target[d] = weight[d], weight[d] * tau[d]
    measure_rest(arm)


@njit(**INNER)
def measure_rest(arm: Arm) -> None:
    """Write `rest` for the target."""
    total = np.sum(arm.target**2)
    for body in range(arm.rest.shape[0]):
        seen = 0.0
        for k in range(arm.chain_count[body]):
            seen += arm.target[arm.chain[body, k]] ** 2
        arm.rest[body] = max(total - seen, 0.0)


@njit(**COMPILED)
def tangents(n: Vector) -> tuple[Vector, Vector]:
    """Return two unit vectors across n and each other."""
    other = (1.0, 0.0, 0.0) if abs(n[0]) < 0.6 else (0.0, 1.0, 0.0)
    x = cross(n, other)
    t_1 = scaled(1.0 / np.sqrt(dot(x, x)), x)
    return t_1, cross(n, t_1)


@njit(inline="always", **COMPILED)
def to_world(arm: Arm, s: int, x: Vector) -> Vector:
    """Return where the point x of the surface's frame stands, m."""
    return axpy(1.0, rotate(arm.R_WG, s, x), row(arm.p_WG, s))


@njit(inline="always", **COMPILED)
def from_world(arm: Arm, s: int, d: Vector) -> Vector:
    """Return a direction of the world in the axes of the surface's frame."""
    R = arm.R_WG
    return (
        R[s, 0, 0] * d[0] + R[s, 1, 0] * d[1] + R[s, 2, 0] * d[2],
        R[s, 0, 1] * d[0] + R[s, 1, 1] * d[1] + R[s, 2, 1] * d[2],
        R[s, 0, 2] * d[0] + R[s, 1, 2] * d[1] + R[s, 2, 2] * d[2],
    )


@njit(inline="always", **COMPILED)
def fit_at(arm: Arm, body: int, p: Vector, n: Vector, mu: float) -> tuple[float, Vector, int]:
    """Return chi^2 over all joints of the chain, the best force (f_n, f_1, f_2), N, at p, and where it lies."""
    t_1, t_2 = tangents(n)
    for k in range(arm.chain_count[body]):
        d = arm.chain[body, k]
        v, w = dof_velocity(arm.kind[d], row(arm.axes, d), row(arm.origins, d), p), arm.weight[d]
        arm.A[k, 0], arm.A[k, 1], arm.A[k, 2] = -w * dot(v, n), w * dot(v, t_1), w * dot(v, t_2)
        arm.b[k] = arm.target[d]
    chi2, f, place = fit_force(arm.A, arm.chain_count[body], arm.b, mu)
    return chi2 + arm.rest[body], f, place


@njit(**COMPILED)
def to_force(n: Vector, f: Vector) -> Vector:
    """Return -f_n n + f_1 t_1 + f_2 t_2, N."""
    t_1, t_2 = tangents(n)
    return axpy(-f[0], n, axpy(f[1], t_1, scaled(f[2], t_2)))


@njit(**COMPILED)
def fill_motion(arm: Arm, surfaces: Surfaces, s: int, x: Vector, p: Vector, n: Vector, f: Vector) -> None:
    """Write S: change of the rows, in noise, per metre of motion of the point along t_1 and t_2."""
    body, (t_1, t_2), force = surfaces.body[s], tangents(n), to_force(n, f)
    for j in range(2):
        t = t_1 if j == 0 else t_2
        turned = rotate(arm.R_WG, s, turning_of_normal(surfaces, s, x, from_world(arm, s, t)))
        swung = cross(cross(n, turned), force)
        for k in range(arm.chain_count[body]):
            d = arm.chain[body, k]
            v = dof_velocity(arm.kind[d], row(arm.axes, d), row(arm.origins, d), p)
            change = dot(v, swung)
            if arm.kind[d] == REVOLUTE:
                change += dot(t, cross(force, row(arm.axes, d)))
            arm.S[k, j] = arm.weight[d] * change
