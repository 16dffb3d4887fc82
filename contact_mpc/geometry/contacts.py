"""Contacts of all pairs: signed distance, normal, contact point, Jacobian, and their derivatives along q.

For a pair (A, B) with A a sphere (of radius 0 too: the corner of a box), the normal n points from B to A and the
contact point p lies halfway between the two surfaces. Relative displacement of A with respect to B at p is d = J_c dq,
with one column per degree of freedom that moves A (sign +) or B (sign -). Sources: seeds/003 "Quasi-dynamic" and "What
about friction?"; the derivative of (phi, n, p) follows from the curvature N of the distance function (see
`sphere_distance`):

    delta    = relative motion of the centre of A, seen from B
    dphi     = n . delta
    dn       = omega_B x n + N delta
    dp       = v_B(p) + delta - (r_A + phi / 2) N delta - n (n . delta) / 2

Where A is no sphere its own turning omega counts, too: `turning` gives N delta + M omega in place of N delta, and
dp has the slide T delta + P omega of the nearest point along A. Pairs without closed form are left to `convex`.
"""

from typing import NamedTuple

import numpy as np
from numba import njit, types
from numpy.typing import NDArray

from contact_mpc.errors import ModelError
from contact_mpc.geometry.convex.pair import collect_contacts, write_contacts
from contact_mpc.geometry.convex.support import Placed, Scratch, make_scratch
from contact_mpc.geometry.crossing_edges import TOUCHING_M, find_crossings, leave_along
from contact_mpc.geometry.segment_box import segment_box_motion, segment_to_box
from contact_mpc.geometry.sphere_distance import core_distance, segment_distance
from contact_mpc.geometry.turning import TINY_M, across, nearest_on_segments, rim_direction, rim_motion, segment_motion
from contact_mpc.geometry.vectors import Vector, axpy, dof_velocity, dot, minus, rotate, row, scaled
from contact_mpc.model.contact_points import CORNERS, CROSSINGS
from contact_mpc.model.kinematic_tree import BOX, CAPSULE, CYLINDER, HALF_SPACE, HULL, RIM, SPHERE, Tree
from contact_mpc.model.kinematics import dof_axes_into, forward_kinematics_into
from contact_mpc.model.system import System
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.code.compile_flags import COMPILED, INNER, UNCOUNTED
from contact_mpc.settings.code.separate_code import NO_CODE, SeparateCode

IntArray = NDArray[np.int64]
POINT, SEGMENTS, LOWEST, CONVEX, CROSSING, EDGES, MORE_EDGES, MORE_CONVEX = 0, 1, 2, 3, 4, 5, 6, 7  # kinds


class Pairs(NamedTuple):
    """Contacts as flat arrays; geometry a is a sphere where kind is POINT.

    kind : (n_c,) POINT, SEGMENTS (two capsules), CROSSING (a capsule and a box), LOWEST (a rim over
        a half-space), EDGES (the first of the crossings of two boxes, MORE_EDGES the others) or CONVEX (the first of
        a pair without closed form, MORE_CONVEX the others)
    rows : (n_c,) contacts of the pair where kind is CONVEX, else 1
    activation : m, CONVEX pairs further apart are not resolved
    convex_code : address of the code for CONVEX pairs in this process, 0 where there is none of them
    radius : (n_c,) of the sphere or capsule a, m, 0 for others
    sign : (n_c,) +1 where the object owns the sphere a, -1 where it owns b
    dofs (n_c, m), dof_sign (n_c, m), dof_count (n_c,) : columns of J_c in ascending order, + for A and - for B; one
        for each axis, so that a degree of freedom with mimic joints may come more than once, and its columns add up
    axes : (n_c, m) axis of each column
    """

    geom_a: IntArray
    geom_b: IntArray
    mu: FloatArray
    sign: FloatArray
    dofs: IntArray
    axes: IntArray
    dof_sign: FloatArray
    dof_count: IntArray
    kind: IntArray
    radius: FloatArray
    rows: IntArray
    activation: float
    convex_code: int


class Kinematics(NamedTuple):
    """Workspace of poses: bodies R (n_b, 3, 3), p (n_b, 3); axes and origins (n_axes, 3), see `dof_axes_into`."""

    R: FloatArray
    p: FloatArray
    axes: FloatArray
    origins: FloatArray


class Contacts(NamedTuple):
    """Workspace of contacts: phi (n_c,), n, p (n_c, 3), centre of A (n_c, 3), N (n_c, 3, 3), J (n_c, m, 3).

    phi is inf, and nothing else written, where two boxes have fewer crossings than contacts are kept for them.
    M, T, P : (n_c, 3, 3), see `turning`; used where the contact's kind is not POINT.
    scratch : buffers of `convex`
    """

    phi: FloatArray
    n: FloatArray
    p: FloatArray
    centre: FloatArray
    N: FloatArray
    J: FloatArray
    M: FloatArray
    T: FloatArray
    P: FloatArray
    scratch: Scratch


def build_pairs(system: System) -> Pairs:
    """Lay out the system's contacts.

    Raises
    ------
    ModelError
        No pair can touch, or the bodies of a pair are carried by the same joint.
    """
    if not system.pairs:
        raise ModelError(f"{system.path}: nothing can touch: an object and a robot need a <collision> shape each")
    tree, contacts = system.tree, system.contacts
    columns = [_pair_dofs(tree, tree.geom_body[item.geometry_a], tree.geom_body[item.geometry_b]) for item in contacts]
    width = max(map(len, columns))
    dofs, axes = np.zeros((2, len(contacts), width), dtype=np.int64)
    dof_sign = np.zeros((len(contacts), width))
    for i, column in enumerate(columns):
        for k, (d, a, s) in enumerate(column):
            dofs[i, k], axes[i, k], dof_sign[i, k] = d, a, s
    geom_a = np.array([item.geometry_a for item in contacts], dtype=np.int64)
    geom_b = np.array([item.geometry_b for item in contacts], dtype=np.int64)
    kind = np.array([_kind(tree.geom_shape[a], tree.geom_shape[b]) for a, b in zip(geom_a, geom_b, strict=True)])
    kind[np.flatnonzero(kind == EDGES).reshape(-1, CROSSINGS)[:, 1:]] = MORE_EDGES
    number = np.array([item.pair for item in contacts])
    kind[(kind == CONVEX) & (number == np.roll(number, 1)) & (np.arange(len(kind)) > 0)] = MORE_CONVEX
    radius = np.where((kind == POINT) | (kind == SEGMENTS) | (kind == CROSSING), tree.geom_size[geom_a, 0], 0.0)
    pairs = Pairs(
        geom_a,
        geom_b,
        np.array([item.mu for item in contacts]),
        np.array([item.sign for item in contacts]),
        dofs,
        axes,
        dof_sign,
        np.array([len(column) for column in columns]),
        kind,
        radius,
        np.where(kind == CONVEX, np.bincount(number)[number], 1),
        system.config.activation_distance_m,
        NO_CODE,
    )
    if not np.any(kind == CONVEX):
        return pairs
    code = CONVEX_PAIRS.address(tree, pairs, make_kinematics(tree), make_contacts(pairs), 0)
    return pairs._replace(convex_code=code)


def _kind(shape_a: int, shape_b: int) -> int:
    if shape_a == SPHERE and shape_b != HULL:
        return POINT
    if shape_a == CAPSULE and shape_b == CAPSULE:
        return SEGMENTS
    if shape_a == CAPSULE and shape_b == BOX:
        return CROSSING
    if shape_a == BOX and shape_b == BOX:
        return EDGES
    return LOWEST if shape_a == RIM and shape_b == HALF_SPACE else CONVEX


def _pair_dofs(tree: Tree, body_a: int, body_b: int) -> list[tuple[int, int, float]]:
    """Return degree of freedom, axis and sign of each column, ascending."""
    chains = [set(tree.chain[b, : tree.chain_count[b]].tolist()) if b >= 0 else set() for b in (body_a, body_b)]
    if chains[0] & chains[1]:
        raise ModelError(f"bodies {body_a} and {body_b} of a contact pair are carried by the same joint")
    signed = [(a, 1.0) for a in chains[0]] + [(a, -1.0) for a in chains[1]]
    return sorted((int(tree.axis_dof[a]), a, sign) for a, sign in signed)


def make_kinematics(tree: Tree) -> Kinematics:
    """Allocate the pose workspace."""
    n_b, n_axes = tree.parent.shape[0], tree.axis_dof.shape[0]
    return Kinematics(np.zeros((n_b, 3, 3)), np.zeros((n_b, 3)), np.zeros((n_axes, 3)), np.zeros((n_axes, 3)))


def make_contacts(pairs: Pairs) -> Contacts:
    """Allocate the contact workspace."""
    n_c, m = pairs.dofs.shape
    return Contacts(
        np.zeros(n_c),
        np.zeros((n_c, 3)),
        np.zeros((n_c, 3)),
        np.zeros((n_c, 3)),
        np.zeros((n_c, 3, 3)),
        np.zeros((n_c, m, 3)),
        np.zeros((n_c, 3, 3)),
        np.zeros((n_c, 3, 3)),
        np.zeros((n_c, 3, 3)),
        make_scratch(),
    )


@njit(**UNCOUNTED)
def update_kinematics(tree: Tree, q: FloatArray, kin: Kinematics) -> None:
    """Refresh poses, axes and origins for q (n_q,)."""
    forward_kinematics_into(tree, q, kin.R, kin.p)
    dof_axes_into(tree, kin.R, kin.p, kin.axes, kin.origins)


@njit(**INNER)
def _geometry_position(tree: Tree, kin: Kinematics, g: int) -> Vector:
    body = tree.geom_body[g]
    if body < 0:
        return row(tree.p_BG, g)
    return axpy(1.0, rotate(kin.R, body, row(tree.p_BG, g)), row(kin.p, body))


@njit(**INNER)
def _geometry_axis(tree: Tree, kin: Kinematics, g: int) -> Vector:
    """Return the z axis of the geometry's frame in the world."""
    body, z = tree.geom_body[g], (tree.R_BG[g, 0, 2], tree.R_BG[g, 1, 2], tree.R_BG[g, 2, 2])
    return z if body < 0 else rotate(kin.R, body, z)


@njit(**INNER)
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


@njit(inline="always", **COMPILED)
def _combine(axes: tuple[Vector, Vector, Vector], c: Vector) -> Vector:
    return axpy(c[0], axes[0], axpy(c[1], axes[1], scaled(c[2], axes[2])))


@njit(**INNER)
def _write_contact(con: Contacts, c: int, phi: float, n: Vector, p: Vector, centre: Vector) -> None:
    con.phi[c] = phi
    for i in range(3):
        con.n[c, i], con.p[c, i], con.centre[c, i] = n[i], p[i], centre[i]


@njit(inline="always", **COMPILED)
def _write_jacobian(tree: Tree, pairs: Pairs, kin: Kinematics, con: Contacts, c: int) -> None:
    """Fill the columns of J_c at the contact's point."""
    p = row(con.p, c)
    for k in range(pairs.dof_count[c]):
        a = pairs.axes[c, k]
        v = dof_velocity(tree.axis_kind[a], row(kin.axes, a), row(kin.origins, a), p)
        for i in range(3):
            con.J[c, k, i] = pairs.dof_sign[c, k] * v[i]


@njit(**INNER)
def _sphere_contact(tree: Tree, pairs: Pairs, kin: Kinematics, con: Contacts, c: int) -> None:
    """Fill phi, n, p, centre and N of contact c of a sphere and a box, cylinder or half-space, in the world frame."""
    a, b = pairs.geom_a[c], pairs.geom_b[c]
    p_A = _geometry_position(tree, kin, a)
    axes, arm = _geometry_axes(tree, kin, b), minus(p_A, _geometry_position(tree, kin, b))
    local = (dot(axes[0], arm), dot(axes[1], arm), dot(axes[2], arm))
    s, n_B, N = core_distance(tree.geom_shape[b], row(tree.geom_size, b), local)
    n, phi = _combine(axes, n_B), s - pairs.radius[c]
    _write_contact(con, c, phi, n, axpy(-(pairs.radius[c] + 0.5 * phi), n, p_A), p_A)
    bent = (  # columns of R N
        _combine(axes, (N[0], N[1], N[2])),
        _combine(axes, (N[1], N[3], N[4])),
        _combine(axes, (N[2], N[4], N[5])),
    )
    for i in range(3):
        for k in range(3):  # N_W = (R N) R'
            con.N[c, i, k] = bent[0][i] * axes[0][k] + bent[1][i] * axes[1][k] + bent[2][i] * axes[2][k]


@njit(**INNER)
def _round_contact(tree: Tree, pairs: Pairs, kin: Kinematics, con: Contacts, c: int) -> None:
    """Fill phi, n, p, centre and N of contact c of a sphere and a sphere or capsule, in the world frame."""
    a, b = pairs.geom_a[c], pairs.geom_b[c]
    p_A = _geometry_position(tree, kin, a)
    arm, axis = minus(p_A, _geometry_position(tree, kin, b)), _geometry_axis(tree, kin, b)
    s, n, N = segment_distance(arm, axis, tree.geom_size[b, 1])
    phi = s - tree.geom_size[b, 0] - pairs.radius[c]
    _write_contact(con, c, phi, n, axpy(-(pairs.radius[c] + 0.5 * phi), n, p_A), p_A)
    con.N[c, 0, 0], con.N[c, 0, 1], con.N[c, 0, 2] = N[0], N[1], N[2]
    con.N[c, 1, 0], con.N[c, 1, 1], con.N[c, 1, 2] = N[1], N[3], N[4]
    con.N[c, 2, 0], con.N[c, 2, 1], con.N[c, 2, 2] = N[2], N[4], N[5]


@njit(**INNER)
def _segment_contact(tree: Tree, pairs: Pairs, kin: Kinematics, con: Contacts, c: int) -> None:
    """Fill contact c of two capsules, in the world frame."""
    a, b = pairs.geom_a[c], pairs.geom_b[c]
    u, w = _geometry_axis(tree, kin, a), _geometry_axis(tree, kin, b)
    half_a, half_b = tree.geom_size[a, 1], tree.geom_size[b, 1]
    p_A, p_B = _geometry_position(tree, kin, a), _geometry_position(tree, kin, b)
    s, t = nearest_on_segments(p_A, u, half_a, p_B, w, half_b)
    centre = axpy(s, u, p_A)
    r = minus(centre, axpy(t, w, p_B))
    distance = np.sqrt(dot(r, r))
    n = scaled(1.0 / distance, r) if distance > TINY_M else across(u, w)
    phi = distance - tree.geom_size[a, 0] - tree.geom_size[b, 0]
    segment_motion(c, r, n, u, w, abs(s) < half_a, abs(t) < half_b, con.N, con.M, con.T, con.P)
    _write_contact(con, c, phi, n, axpy(-(pairs.radius[c] + 0.5 * phi), n, centre), centre)


@njit(**INNER)
def _crossing_contact(tree: Tree, pairs: Pairs, kin: Kinematics, con: Contacts, c: int) -> None:
    """Fill contact c of a capsule and a box, in the world frame."""
    a, b = pairs.geom_a[c], pairs.geom_b[c]
    u, axes = _geometry_axis(tree, kin, a), _geometry_axes(tree, kin, b)
    p_A, half = _geometry_position(tree, kin, a), row(tree.geom_size, b)
    arm = minus(p_A, _geometry_position(tree, kin, b))
    local = (dot(axes[0], arm), dot(axes[1], arm), dot(axes[2], arm))
    u_B = (dot(axes[0], u), dot(axes[1], u), dot(axes[2], u))
    t, s, n_B, free, slides = segment_to_box(local, u_B, tree.geom_size[a, 1], half)
    n, centre = _combine(axes, n_B), axpy(t, u, p_A)
    segment_box_motion(c, s, n, u, axes, free, slides, con.N, con.M, con.T, con.P)
    phi = s - tree.geom_size[a, 0]
    _write_contact(con, c, phi, n, axpy(-(pairs.radius[c] + 0.5 * phi), n, centre), centre)


@njit(**INNER)
def _edge_contacts(tree: Tree, pairs: Pairs, kin: Kinematics, con: Contacts, c: int) -> None:
    """Fill contacts c to c + CROSSINGS - 1 of two boxes, in the world frame, after those of their corners."""
    a, b = pairs.geom_a[c], pairs.geom_b[c]
    separation, toward = find_crossings(
        c,
        CROSSINGS,
        _geometry_position(tree, kin, a),
        _geometry_axes(tree, kin, a),
        row(tree.geom_size, a),
        _geometry_position(tree, kin, b),
        _geometry_axes(tree, kin, b),
        row(tree.geom_size, b),
        con.phi,
        con.n,
        con.p,
        con.centre,
        con.N,
        con.M,
        con.T,
        con.P,
    )
    if separation < TOUCHING_M:
        for k in range(c - 2 * CORNERS, c):
            if con.phi[k] < TOUCHING_M:
                _corner_in_box(tree, pairs, kin, con, k, toward if pairs.geom_b[k] == b else scaled(-1.0, toward))


@njit(**INNER)
def _corner_in_box(tree: Tree, pairs: Pairs, kin: Kinematics, con: Contacts, c: int, toward: Vector) -> None:
    """Let a corner leave the box that it is inside of, or touches, through the face along `toward`, if it has one."""
    b, corner = pairs.geom_b[c], row(con.centre, c)
    arm = minus(corner, _geometry_position(tree, kin, b))
    is_found, phi, n = leave_along(toward, arm, _geometry_axes(tree, kin, b), row(tree.geom_size, b))
    if is_found:
        _write_contact(con, c, phi, n, axpy(-0.5 * phi, n, corner), corner)
        con.N[c] = 0.0
        _write_jacobian(tree, pairs, kin, con, c)


@njit(**INNER)
def _rim_contact(tree: Tree, pairs: Pairs, kin: Kinematics, con: Contacts, c: int) -> None:
    """Fill contact c of the lowest point of a rim over a half-space, in the world frame."""
    a, b = pairs.geom_a[c], pairs.geom_b[c]
    axis, n = _geometry_axis(tree, kin, a), _geometry_axis(tree, kin, b)
    d, length = rim_direction(n, axis)
    centre = axpy(tree.geom_size[a, 1], d, _geometry_position(tree, kin, a))
    phi = dot(n, minus(centre, _geometry_position(tree, kin, b)))
    rim_motion(c, n, axis, d, length, tree.geom_size[a, 1], con.N, con.M, con.T, con.P)
    _write_contact(con, c, phi, n, axpy(-0.5 * phi, n, centre), centre)


@njit(inline="always", **COMPILED)
def _placed(tree: Tree, kin: Kinematics, g: int, origin: Vector) -> Placed:
    """Return the geometry as `convex` sees it, from `origin`."""
    is_cylinder = tree.geom_shape[g] == CYLINDER
    radius, half = (tree.geom_size[g, 0], tree.geom_size[g, 1]) if is_cylinder else (0.0, 0.0)
    table, p = tree.polytopes.table, minus(_geometry_position(tree, kin, g), origin)
    return Placed(_geometry_axes(tree, kin, g), p, table[g, 0], int(table[g, 5]), int(table[g, 6]), radius, half)


@njit(**COMPILED)
def _convex_contacts(tree: Tree, pairs: Pairs, kin: Kinematics, con: Contacts, c: int) -> None:
    """Fill the contacts of a pair without closed form, of which c is the first."""
    a, b, rows = pairs.geom_a[c], pairs.geom_b[c], pairs.rows[c]
    origin = _geometry_position(tree, kin, b)
    s_A, s_B = _placed(tree, kin, a, origin), _placed(tree, kin, b, origin)
    found, bound, n = collect_contacts(tree.polytopes, a, s_A, b, s_B, pairs.activation, rows, con.scratch)
    write_contacts(
        found, c, rows, bound, n, origin, con.scratch, con.phi, con.n, con.p, con.centre, con.N, con.M, con.T, con.P
    )


CONVEX_PAIRS = SeparateCode(_convex_contacts, types.none)
_take_convex = CONVEX_PAIRS.call


@njit(**UNCOUNTED)
def update_contacts(tree: Tree, pairs: Pairs, kin: Kinematics, con: Contacts) -> None:
    """Refresh all contacts for the poses in kin: phi, n, p, N and the columns of J_c."""
    for c in range(pairs.mu.shape[0]):
        if pairs.kind[c] == POINT:
            shape = tree.geom_shape[pairs.geom_b[c]]
            if shape in (SPHERE, CAPSULE):
                _round_contact(tree, pairs, kin, con, c)
            else:
                _sphere_contact(tree, pairs, kin, con, c)
        elif pairs.kind[c] == SEGMENTS:
            _segment_contact(tree, pairs, kin, con, c)
        elif pairs.kind[c] == CROSSING:
            _crossing_contact(tree, pairs, kin, con, c)
        elif pairs.kind[c] == LOWEST:
            _rim_contact(tree, pairs, kin, con, c)
        elif pairs.kind[c] == EDGES:
            _edge_contacts(tree, pairs, kin, con, c)
        elif pairs.kind[c] == CONVEX:
            _take_convex(pairs.convex_code, (tree, pairs, kin, con, c))
        if con.phi[c] < np.inf:
            _write_jacobian(tree, pairs, kin, con, c)


ALL_CONTACTS = SeparateCode(update_contacts, types.none)
take_contacts = ALL_CONTACTS.call
