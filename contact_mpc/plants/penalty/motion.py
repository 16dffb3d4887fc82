"""The rate of change of the state under contact, and its Jacobian for implicit integration, compiled.

y = [q, v, v_f, dv_f/dt]; the last two are the filter (4), one each per pair.
"""

import numpy as np
from numba import njit

from contact_mpc.model.kinematic_tree import FREE
from contact_mpc.model.rigid_tree import configuration_rate, mass_and_bias
from contact_mpc.plants.penalty import laws
from contact_mpc.plants.penalty.contact_forces import Work, add_contacts, find_overlaps, place_bodies
from contact_mpc.plants.penalty.scene import Scene
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.code.compile_flags import COMPILED

DIFFERENCE = 1.5e-8  # of the Jacobian's columns, in m, rad, m/s, rad/s: the square root of the rounding


@njit(**COMPILED)
def place(scene: Scene, work: Work, y: FloatArray, n_q: int) -> None:
    """Write poses, velocities and compiled overlaps of a state y."""
    n_v = scene.tree.dof_body.shape[0]
    place_bodies(scene, work, y[:n_q], y[n_q : n_q + n_v])
    find_overlaps(scene, work)


@njit(**COMPILED)
def state_rate(
    scene: Scene,
    work: Work,
    parameters: FloatArray,
    latch: FloatArray,
    drive: FloatArray,
    n_q: int,
    t: float,
    y: FloatArray,
) -> FloatArray:
    """Return dy/dt for bodies that are placed and overlaps that are found."""
    n_v, n_p, n_b = scene.tree.dof_body.shape[0], scene.pairs.shape[0], scene.tree.parent.shape[0]
    q, v = y[:n_q], y[n_q : n_q + n_v]
    out = np.zeros(y.shape[0])
    configuration_rate(scene.tree, q, v, out)
    tau, M, bias = drive.copy(), np.empty((n_v, n_v)), np.empty(n_v)
    filtered = np.zeros((n_p, 2))
    if parameters[laws.IS_FILTER] > 0.0:
        filtered[:, 0] = y[n_q + n_v : n_q + n_v + n_p]
        filtered[:, 1] = y[n_q + n_v + n_p :]
        for i in range(n_p):
            first, second = laws.filter_rates(parameters, work.rows[i, 0], filtered[i, 0], filtered[i, 1])
            out[n_q + n_v + i], out[n_q + n_v + n_p + i] = first, second
    add_contacts(scene, work, parameters, latch, filtered, t, tau)
    mass_and_bias(
        scene.tree, work.R[:n_b], work.p[:n_b], work.axes, work.origins, work.motion[:n_b], scene.gravity, M, bias
    )
    for b in range(n_b):
        if scene.tree.joint[b] == FREE or scene.tree.chain[b, scene.tree.chain_count[b] - 1] >= n_v:
            continue
        d, x = scene.tree.i_v[b], q[scene.tree.i_q[b]]
        J = scene.joints[d]
        M[d, d] += J[0]
        tau[d] -= J[1] * v[d]
        if x > J[3]:
            tau[d] -= max(0.0, J[4] * (x - J[3]) + J[5] * v[d])
        elif x < J[2]:
            tau[d] += max(0.0, J[4] * (J[2] - x) - J[5] * v[d])
    out[n_q : n_q + n_v] = np.linalg.solve(M, tau - bias)
    return out


@njit(**COMPILED)
def state_jacobian(
    scene: Scene,
    work: Work,
    parameters: FloatArray,
    latch: FloatArray,
    drive: FloatArray,
    n_q: int,
    t: float,
    y: FloatArray,
) -> FloatArray:
    """Return d(dy/dt)/dy (n, n) by forward differences, where compiled code finds all overlaps.

    They depend on q alone and are found anew in its columns only, which is most of what an evaluation costs.
    """
    n, n_v = y.shape[0], scene.tree.dof_body.shape[0]
    J, z = np.empty((n, n)), y.copy()
    place(scene, work, z, n_q)
    base = state_rate(scene, work, parameters, latch, drive, n_q, t, z)
    for j in range(n_q, n):
        z[j] = y[j] + DIFFERENCE
        if j < n_q + n_v:
            place_bodies(scene, work, z[:n_q], z[n_q : n_q + n_v])
        J[:, j] = (state_rate(scene, work, parameters, latch, drive, n_q, t, z) - base) / (z[j] - y[j])
        z[j] = y[j]
    for j in range(n_q):
        z[j] = y[j] + DIFFERENCE
        place(scene, work, z, n_q)
        J[:, j] = (state_rate(scene, work, parameters, latch, drive, n_q, t, z) - base) / (z[j] - y[j])
        z[j] = y[j]
    return J
