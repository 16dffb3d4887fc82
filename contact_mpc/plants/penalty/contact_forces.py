"""From poses to contact forces, compiled: overlaps of all pairs, their wrenches, and what they do to the joints."""

from typing import NamedTuple

import numpy as np
from numba import njit

from contact_mpc.model.kinematic_tree import IntArray
from contact_mpc.model.kinematics import dof_axes_into, forward_kinematics_into
from contact_mpc.model.rigid_tree import add_force, body_motion
from contact_mpc.plants.penalty import laws
from contact_mpc.plants.penalty.clip import GROWTH, PIECES, SPARE, WIDTH, clip_mesh
from contact_mpc.plants.penalty.convex_clip import MOST_CORNERS, POINTS, Facets, clip_convex
from contact_mpc.plants.penalty.scene import CHAIN, CONVEX, Scene
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.code.compile_flags import COMPILED, INNER

LEAST_AREA_M2 = 1e-14


class Work(NamedTuple):
    """Room for one evaluation.

    R (n_b + 1, 3, 3), p (n_b + 1, 3), motion (n_b + 1, 12): of bodies, the world last;  axes, origins (n_v, 3)
    rows (n_p, WIDTH), pieces (n_p, PIECES, 6), counts (n_p,): overlaps, in the world
    wrenches (n_p, 9): normal force and friction on A, N, their closing speed, dv/dt, 0
    relative, chains, caps, scratch: room of clips
    """

    R: FloatArray
    p: FloatArray
    motion: FloatArray
    axes: FloatArray
    origins: FloatArray
    rows: FloatArray
    pieces: FloatArray
    counts: IntArray
    wrenches: FloatArray
    relative: FloatArray
    chains: FloatArray
    caps: FloatArray
    scratch: FloatArray


def make_work(scene: Scene) -> Work:
    """Return room for evaluations of a scene."""
    n_b, n_axes, n_p = len(scene.tree.parent), len(scene.tree.axis_dof), len(scene.pairs)
    most = int(np.max(np.diff(scene.starts[:, 0]), initial=1))
    room = GROWTH * most + SPARE
    work = Work(
        np.zeros((n_b + 1, 3, 3)), np.zeros((n_b + 1, 3)), np.zeros((n_b + 1, 12)), np.zeros((n_axes, 3)),
        np.zeros((n_axes, 3)), np.zeros((n_p, WIDTH)), np.zeros((n_p, PIECES, 6)), np.zeros(n_p, dtype=np.int64),
        np.zeros((n_p, 9)), np.zeros((2, 3, 3)), np.zeros((2, room, 9)), np.zeros((3, room)),
        np.zeros(15 * most + 6 * MOST_CORNERS + 3 * POINTS),
    )  # fmt: skip
    work.R[-1] = np.eye(3)
    return work


@njit(**COMPILED)
def place_bodies(scene: Scene, work: Work, q: FloatArray, v: FloatArray) -> None:
    """Write poses, axes and velocities."""
    n_b = scene.tree.parent.shape[0]
    R, p = work.R[:n_b], work.p[:n_b]
    forward_kinematics_into(scene.tree, q, R, p)
    dof_axes_into(scene.tree, R, p, work.axes, work.origins)
    body_motion(scene.tree, work.axes, p, v, work.motion[:n_b])


@njit(**COMPILED)
def rotate(R: FloatArray, x: FloatArray) -> None:
    """Replace x (3,) by R x."""
    a, b, c = x[0], x[1], x[2]
    for i in range(3):
        x[i] = R[i, 0] * a + R[i, 1] * b + R[i, 2] * c


@njit(**INNER)
def find_overlaps(scene: Scene, work: Work) -> None:
    """Write the overlaps of the pairs that need no booleans, for bodies that are placed."""
    for i in range(scene.pairs.shape[0]):
        a, b, body_a, body_b, kind = scene.pairs[i]
        if kind > CHAIN:
            continue
        R_A, p_A, R_B, p_B = work.R[body_a], work.p[body_a], work.R[body_b], work.p[body_b]
        row, pieces = work.rows[i], work.pieces[i]
        s, t = scene.spheres[a], scene.spheres[b]
        gap = 0.0
        for k in range(3):
            x = R_A[k, 0] * s[0] + R_A[k, 1] * s[1] + R_A[k, 2] * s[2] + p_A[k]
            y = R_B[k, 0] * t[0] + R_B[k, 1] * t[1] + R_B[k, 2] * t[2] + p_B[k]
            gap += (x - y) ** 2
        row[:] = 0.0
        work.counts[i] = 0
        if gap >= (s[3] + t[3]) ** 2:
            continue
        R, p = work.relative[0], work.relative[1, 0]
        for j in range(3):
            d0, d1, d2 = p_B[0] - p_A[0], p_B[1] - p_A[1], p_B[2] - p_A[2]
            p[j] = R_A[0, j] * d0 + R_A[1, j] * d1 + R_A[2, j] * d2
            for k in range(3):
                R[j, k] = R_A[0, j] * R_B[0, k] + R_A[1, j] * R_B[1, k] + R_A[2, j] * R_B[2, k]
        first, last = scene.starts[a, 0], scene.starts[a + 1, 0]
        if kind == CONVEX:
            other, end = scene.starts[b, 0], scene.starts[b + 1, 0]
            one = Facets(scene.corners[first:last], scene.facets[first:last], s)
            two = Facets(scene.corners[other:end], scene.facets[other:end], t)
            n = clip_convex(one, two, R, p, work.scratch, row, pieces)
        else:
            other, end = scene.starts[b, 1], scene.starts[b + 1, 1]
            planes = np.empty((end - other, 4))
            for k in range(end - other):
                planes[k] = scene.planes[other + k]
                rotate(R, planes[k, :3])
                planes[k, 3] -= planes[k, 0] * p[0] + planes[k, 1] * p[1] + planes[k, 2] * p[2]
            n = clip_mesh(scene.corners[first:last], s, planes, work.chains, work.caps, row, pieces)
        work.counts[i] = n
        if n == 0:
            continue
        rotate(R_A, row[1:4])
        rotate(R_A, row[4:7])
        rotate(R_A, row[7:10])
        for j in range(3):
            row[1 + j] += p_A[j]
        for k in range(n):
            rotate(R_A, pieces[k, :3])
            rotate(R_A, pieces[k, 3:])
            for j in range(3):
                pieces[k, j] += p_A[j]


@njit(**INNER)
def _relative_velocity(work: Work, body_a: int, body_b: int, x: FloatArray, out: FloatArray) -> None:
    """Write the velocity of A's point at x relative to B's."""
    m, n = work.motion[body_a], work.motion[body_b]
    r0, r1, r2 = x[0] - work.p[body_a, 0], x[1] - work.p[body_a, 1], x[2] - work.p[body_a, 2]
    s0, s1, s2 = x[0] - work.p[body_b, 0], x[1] - work.p[body_b, 1], x[2] - work.p[body_b, 2]
    out[0] = m[3] + m[1] * r2 - m[2] * r1 - n[3] - n[1] * s2 + n[2] * s1
    out[1] = m[4] + m[2] * r0 - m[0] * r2 - n[4] - n[2] * s0 + n[0] * s2
    out[2] = m[5] + m[0] * r1 - m[1] * r0 - n[5] - n[0] * s1 + n[1] * s0


@njit(**INNER)
def add_contacts(
    scene: Scene, work: Work, parameters: FloatArray, latch: FloatArray, filtered: FloatArray, t: float,
    tau: FloatArray,
) -> None:  # fmt: skip
    """Add the contact forces of all overlaps to tau (n_v,); latch (n_p, 2) has t_c, s, and Delta v_c, m/s, of each.

    filtered (n_p, 2) are v_f and its rate by (4). (7), the torque of a force about the centre of mass, is J^T f.
    """
    s, u, f, g, at = np.zeros(3), np.zeros(3), np.zeros(3), np.zeros(3), np.zeros(3)
    for i in range(scene.pairs.shape[0]):
        row, wrench = work.rows[i], work.wrenches[i]
        wrench[:] = 0.0
        if row[0] <= 0.0:
            continue
        pieces, count = work.pieces[i], work.counts[i]
        body_a, body_b = scene.pairs[i, 2], scene.pairs[i, 3]
        area = laws.contact_direction(row, pieces, count, parameters[laws.IS_WEIGHTED], s)
        if area < LEAST_AREA_M2:
            continue
        at[0], at[1], at[2] = row[1], row[2], row[3]
        _relative_velocity(work, body_a, body_b, at, u)
        m, n = work.motion[body_a], work.motion[body_b]
        rate = 0.0
        for k in range(3):
            rate += row[4 + k] * u[k] + row[7 + k] * (m[k] - n[k])
        wrench[6] = s[0] * u[0] + s[1] * u[1] + s[2] * u[2]
        wrench[7] = rate
        if parameters[laws.IS_FILTER] > 0.0:
            rate = filtered[i, 1]
        gain = laws.impact_gain(parameters, scene.contact[i, 1], t - latch[i, 0], latch[i, 1])
        force = laws.normal_force(parameters, row[0], rate, gain)
        for k in range(3):
            f[k] = -force * s[k]
            wrench[k] = f[k]
        if parameters[laws.IS_SPREAD] == 0.0:
            for k in range(3):
                u[k] -= wrench[6] * s[k]
            laws.friction_force(parameters, scene.contact[i, 0], force, u[0], u[1], u[2], 1.0, g)
            for k in range(3):
                f[k] += g[k]
                wrench[3 + k] = g[k]
            add_force(scene.tree, work.axes, work.origins, body_a, at, f, 1.0, tau)
            add_force(scene.tree, work.axes, work.origins, body_b, at, f, -1.0, tau)
            continue
        add_force(scene.tree, work.axes, work.origins, body_a, at, f, 1.0, tau)
        add_force(scene.tree, work.axes, work.origins, body_b, at, f, -1.0, tau)
        total = 0.0
        for k in range(count):
            total += max(0.0, pieces[k, 3] * s[0] + pieces[k, 4] * s[1] + pieces[k, 5] * s[2])
        for k in range(count):
            share = max(0.0, pieces[k, 3] * s[0] + pieces[k, 4] * s[1] + pieces[k, 5] * s[2]) / total
            if share == 0.0:
                continue
            at[0], at[1], at[2] = pieces[k, 0], pieces[k, 1], pieces[k, 2]
            _relative_velocity(work, body_a, body_b, at, u)
            along = s[0] * u[0] + s[1] * u[1] + s[2] * u[2]
            for j in range(3):
                u[j] -= along * s[j]
            laws.friction_force(parameters, scene.contact[i, 0], force, u[0], u[1], u[2], share, g)
            for j in range(3):
                wrench[3 + j] += g[j]
            add_force(scene.tree, work.axes, work.origins, body_a, at, g, 1.0, tau)
            add_force(scene.tree, work.axes, work.origins, body_b, at, g, -1.0, tau)
