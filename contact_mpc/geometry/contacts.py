"""Contacts of all pairs: signed distance, normal, contact point, Jacobian, and their derivatives along q.

For a pair (A, B) with A a sphere, the normal n points from B to A and the contact point p lies halfway between the
two surfaces. Relative displacement of A with respect to B at p is d = J_c dq, with one column per degree of freedom
that moves A (sign +) or B (sign -). Sources: seeds/003 "Quasi-dynamic" and "What about friction?"; the derivative of
(phi, n, p) follows from the curvature N of the distance function (see `sphere_distance`):

    delta    = relative motion of the centre of A, seen from B
    dphi     = n . delta
    dn       = omega_B x n + N delta
    dp       = v_B(p) + delta - (r_A + phi / 2) N delta - n (n . delta) / 2
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from contact_mpc.errors import ModelError
from contact_mpc.geometry.sphere_distance import core_distance
from contact_mpc.model.kinematic_tree import REVOLUTE, SPHERE, Tree
from contact_mpc.model.kinematics import dof_axes_into, forward_kinematics_into
from contact_mpc.model.system import System

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


class Pairs(NamedTuple):
    """Contact pairs as flat arrays; geometry a is a sphere.

    sign : (n_c,) +1 where the object owns the sphere a, -1 where it owns b
    dofs (n_c, m), dof_sign (n_c, m), dof_count (n_c,) : columns of J_c, + for A and - for B
    """

    geom_a: IntArray
    geom_b: IntArray
    mu: FloatArray
    sign: FloatArray
    dofs: IntArray
    dof_sign: FloatArray
    dof_count: IntArray


class Kinematics(NamedTuple):
    """Workspace of poses: bodies R (n_b, 3, 3), p (n_b, 3); axes and origins (n_v, 3) of the degrees of freedom."""

    R: FloatArray
    p: FloatArray
    axes: FloatArray
    origins: FloatArray
    scratch: FloatArray


class Contacts(NamedTuple):
    """Workspace of contacts: phi (n_c,), n, p (n_c, 3), centre of A (n_c, 3), N (n_c, 3, 3), J (n_c, m, 3)."""

    phi: FloatArray
    n: FloatArray
    p: FloatArray
    centre: FloatArray
    N: FloatArray
    J: FloatArray
    scratch: FloatArray


def build_pairs(system: System) -> Pairs:
    """Lay out the system's contact pairs with the sphere first.

    Raises
    ------
    ModelError
        A pair has no sphere; only sphere pairs have closed forms here.
    """
    tree = system.tree
    rows = []
    for pair in system.pairs:
        a, b, sign = pair.geometry_a, pair.geometry_b, 1.0
        if tree.geom_shape[a] != SPHERE:
            a, b, sign = b, a, -1.0
        if tree.geom_shape[a] != SPHERE:
            names = [f"{system.geometries[g].link} ({system.geometries[g].shape.kind})" for g in (a, b)]
            raise ModelError(f"{system.path}: contact pair {' - '.join(names)} needs a sphere on one side")
        rows.append((a, b, pair.mu, sign, _pair_dofs(tree, tree.geom_body[a], tree.geom_body[b])))
    width = max(len(row[4]) for row in rows)
    dofs, dof_sign = np.zeros((len(rows), width), dtype=np.int64), np.zeros((len(rows), width))
    for i, row in enumerate(rows):
        for k, (d, s) in enumerate(row[4]):
            dofs[i, k], dof_sign[i, k] = d, s
    counts = np.array([len(row[4]) for row in rows])
    a, b, mu, sign = (np.array([row[k] for row in rows]) for k in range(4))
    return Pairs(a.astype(np.int64), b.astype(np.int64), mu, sign, dofs, dof_sign, counts)


def _pair_dofs(tree: Tree, body_a: int, body_b: int) -> list[tuple[int, float]]:
    chains = [set(tree.chain[b, : tree.chain_count[b]].tolist()) if b >= 0 else set() for b in (body_a, body_b)]
    if chains[0] & chains[1]:
        raise ModelError(f"bodies {body_a} and {body_b} of a contact pair are carried by the same joint")
    return [(d, 1.0) for d in sorted(chains[0])] + [(d, -1.0) for d in sorted(chains[1])]


def make_kinematics(tree: Tree) -> Kinematics:
    """Allocate the pose workspace."""
    n_b, n_v = tree.parent.shape[0], tree.dof_body.shape[0]
    return Kinematics(
        np.zeros((n_b, 3, 3)), np.zeros((n_b, 3)), np.zeros((n_v, 3)), np.zeros((n_v, 3)), np.zeros((2, 3, 3))
    )


def make_contacts(pairs: Pairs) -> Contacts:
    """Allocate the contact workspace."""
    n_c, m = pairs.dofs.shape
    return Contacts(
        np.zeros(n_c), np.zeros((n_c, 3)), np.zeros((n_c, 3)), np.zeros((n_c, 3)), np.zeros((n_c, 3, 3)),
        np.zeros((n_c, m, 3)), np.zeros((12, 3)),
    )


@njit(cache=True)
def cross_into(a: FloatArray, b: FloatArray, out: FloatArray) -> None:
    """Write a x b."""
    out[0] = a[1] * b[2] - a[2] * b[1]
    out[1] = a[2] * b[0] - a[0] * b[2]
    out[2] = a[0] * b[1] - a[1] * b[0]


@njit(cache=True)
def dof_velocity_into(kind: int, axis: FloatArray, origin: FloatArray, p: FloatArray, out: FloatArray) -> None:
    """Write the velocity at p of unit motion of one degree of freedom: axis x (p - origin), or axis."""
    if kind == REVOLUTE:
        x, y, z = p[0] - origin[0], p[1] - origin[1], p[2] - origin[2]
        out[0] = axis[1] * z - axis[2] * y
        out[1] = axis[2] * x - axis[0] * z
        out[2] = axis[0] * y - axis[1] * x
    else:
        out[0], out[1], out[2] = axis[0], axis[1], axis[2]


@njit(cache=True)
def update_kinematics(tree: Tree, q: FloatArray, kin: Kinematics) -> None:
    """Refresh poses, axes and origins for q (n_q,)."""
    forward_kinematics_into(tree, q, kin.R, kin.p, kin.scratch)
    dof_axes_into(tree, kin.R, kin.p, kin.axes, kin.origins)


@njit(cache=True)
def _geometry_pose(tree: Tree, kin: Kinematics, g: int, R: FloatArray, p: FloatArray) -> None:
    body = tree.geom_body[g]
    if body < 0:
        R[:, :] = tree.R_BG[g]
        p[:] = tree.p_BG[g]
        return
    for i in range(3):
        p[i] = kin.p[body, i]
        for k in range(3):
            p[i] += kin.R[body, i, k] * tree.p_BG[g, k]
            R[i, k] = (
                kin.R[body, i, 0] * tree.R_BG[g, 0, k]
                + kin.R[body, i, 1] * tree.R_BG[g, 1, k]
                + kin.R[body, i, 2] * tree.R_BG[g, 2, k]
            )


@njit(cache=True)
def _sphere_contact(tree: Tree, pairs: Pairs, kin: Kinematics, con: Contacts, c: int) -> None:
    """Fill phi, n, p, centre and N of contact c, in the world frame."""
    s = con.scratch
    R_A, p_A, R_B, p_B, local, n_B, N_B = s[0:3], s[11], s[3:6], s[6], s[7], s[8], con.N[c]
    a, b = pairs.geom_a[c], pairs.geom_b[c]
    _geometry_pose(tree, kin, a, R_A, p_A)
    _geometry_pose(tree, kin, b, R_B, p_B)
    con.centre[c] = p_A
    for i in range(3):
        local[i] = (
            R_B[0, i] * (p_A[0] - p_B[0]) + R_B[1, i] * (p_A[1] - p_B[1]) + R_B[2, i] * (p_A[2] - p_B[2])
        )
    radius = tree.geom_size[a, 0]
    phi = core_distance(tree.geom_shape[b], tree.geom_size[b], local, n_B, N_B, s[9:11]) - radius
    con.phi[c] = phi
    for i in range(3):
        con.n[c, i] = R_B[i, 0] * n_B[0] + R_B[i, 1] * n_B[1] + R_B[i, 2] * n_B[2]
    for i in range(3):
        for k in range(3):
            R_A[i, k] = R_B[i, 0] * N_B[0, k] + R_B[i, 1] * N_B[1, k] + R_B[i, 2] * N_B[2, k]
    for i in range(3):
        for k in range(3):
            con.N[c, i, k] = R_A[i, 0] * R_B[k, 0] + R_A[i, 1] * R_B[k, 1] + R_A[i, 2] * R_B[k, 2]
        con.p[c, i] = p_A[i] - (radius + 0.5 * phi) * con.n[c, i]


@njit(cache=True)
def update_contacts(tree: Tree, pairs: Pairs, kin: Kinematics, con: Contacts) -> None:
    """Refresh all contacts for the poses in kin: phi, n, p, N and the columns of J_c."""
    for c in range(pairs.mu.shape[0]):
        _sphere_contact(tree, pairs, kin, con, c)
        for k in range(pairs.dof_count[c]):
            d = pairs.dofs[c, k]
            dof_velocity_into(tree.dof_kind[d], kin.axes[d], kin.origins[d], con.p[c], con.J[c, k])
            if pairs.dof_sign[c, k] < 0.0:
                for i in range(3):
                    con.J[c, k, i] = -con.J[c, k, i]
