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
from contact_mpc.geometry.vectors import Vector, axpy, dof_velocity, dot, minus, rotate, row, scaled
from contact_mpc.model.kinematic_tree import SPHERE, Tree
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


def build_pairs(system: System) -> Pairs:
    """Lay out the system's contact pairs with the sphere first.

    Raises
    ------
    ModelError
        No pair can touch, or a pair has no sphere; only sphere pairs have closed forms here.
    """
    if not system.pairs:
        raise ModelError(f"{system.path}: nothing can touch: an object and a robot need a <collision> shape each")
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
    width = max(len(item[4]) for item in rows)
    dofs, dof_sign = np.zeros((len(rows), width), dtype=np.int64), np.zeros((len(rows), width))
    for i, item in enumerate(rows):
        for k, (d, s) in enumerate(item[4]):
            dofs[i, k], dof_sign[i, k] = d, s
    counts = np.array([len(item[4]) for item in rows])
    geom_a, geom_b = (np.array([item[k] for item in rows], dtype=np.int64) for k in (0, 1))
    mu, signs = (np.array([item[k] for item in rows], dtype=np.float64) for k in (2, 3))
    return Pairs(geom_a, geom_b, mu, signs, dofs, dof_sign, counts)


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
        np.zeros((n_c, m, 3)),
    )


@njit(cache=True)
def update_kinematics(tree: Tree, q: FloatArray, kin: Kinematics) -> None:
    """Refresh poses, axes and origins for q (n_q,)."""
    forward_kinematics_into(tree, q, kin.R, kin.p, kin.scratch)
    dof_axes_into(tree, kin.R, kin.p, kin.axes, kin.origins)


@njit(cache=True)
def _geometry_position(tree: Tree, kin: Kinematics, g: int) -> Vector:
    body = tree.geom_body[g]
    if body < 0:
        return row(tree.p_BG, g)
    return axpy(1.0, rotate(kin.R, body, row(tree.p_BG, g)), row(kin.p, body))


@njit(cache=True)
def _geometry_axes(tree: Tree, kin: Kinematics, g: int) -> tuple[Vector, Vector, Vector]:
    """Return the axes of the geometry's frame, columns of its rotation matrix, in the world."""
    R = tree.R_BG
    x = (R[g, 0, 0], R[g, 1, 0], R[g, 2, 0])
    y = (R[g, 0, 1], R[g, 1, 1], R[g, 2, 1])
    z = (R[g, 0, 2], R[g, 1, 2], R[g, 2, 2])
    body = tree.geom_body[g]
    if body < 0:
        return x, y, z
    return rotate(kin.R, body, x), rotate(kin.R, body, y), rotate(kin.R, body, z)


@njit(cache=True)
def _combine(axes: tuple[Vector, Vector, Vector], c: Vector) -> Vector:
    return axpy(c[0], axes[0], axpy(c[1], axes[1], scaled(c[2], axes[2])))


@njit(cache=True)
def _sphere_contact(tree: Tree, pairs: Pairs, kin: Kinematics, con: Contacts, c: int) -> None:
    """Fill phi, n, p, centre and N of contact c, in the world frame."""
    a, b = pairs.geom_a[c], pairs.geom_b[c]
    p_A, radius = _geometry_position(tree, kin, a), tree.geom_size[a, 0]
    axes, arm = _geometry_axes(tree, kin, b), minus(p_A, _geometry_position(tree, kin, b))
    local = (dot(axes[0], arm), dot(axes[1], arm), dot(axes[2], arm))
    s, n_B, N = core_distance(tree.geom_shape[b], row(tree.geom_size, b), local)
    n, phi = _combine(axes, n_B), s - radius
    p = axpy(-(radius + 0.5 * phi), n, p_A)
    bent = (  # columns of R N
        _combine(axes, (N[0], N[1], N[2])), _combine(axes, (N[1], N[3], N[4])), _combine(axes, (N[2], N[4], N[5])),
    )
    con.phi[c] = phi
    for i in range(3):
        con.n[c, i], con.p[c, i], con.centre[c, i] = n[i], p[i], p_A[i]
        for k in range(3):  # N_W = (R N) R'
            con.N[c, i, k] = bent[0][i] * axes[0][k] + bent[1][i] * axes[1][k] + bent[2][i] * axes[2][k]


@njit(cache=True)
def update_contacts(tree: Tree, pairs: Pairs, kin: Kinematics, con: Contacts) -> None:
    """Refresh all contacts for the poses in kin: phi, n, p, N and the columns of J_c."""
    for c in range(pairs.mu.shape[0]):
        _sphere_contact(tree, pairs, kin, con, c)
        p = row(con.p, c)
        for k in range(pairs.dof_count[c]):
            d = pairs.dofs[c, k]
            v = dof_velocity(tree.dof_kind[d], row(kin.axes, d), row(kin.origins, d), p)
            for i in range(3):
                con.J[c, k, i] = pairs.dof_sign[c, k] * v[i]
