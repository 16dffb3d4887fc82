"""What a robot's file does not say: gains, rotor inertia, fingertips, a posture, how the base stands.

Stiffness: the effort limit over FULL_EFFORT_AT, as on hands that are known to work, but at most what makes
TIP_STIFFNESS at the end of the finger: 3 N then bend it by 6 mm, more than an object lies beside where it is expected;
with 2 mm fingers lose it before they touch. Damping: DAMPING_RATIO times the critical one for the joint's rotor and all
links beyond it. Rotor inertia grows with the effort limit. None of these is measured.
"""

from dataclasses import dataclass

import numpy as np

from contact_mpc.geometry.fingers import first_body
from contact_mpc.model.kinematic_tree import PRISMATIC, Tree, moving_dofs
from contact_mpc.model.kinematics import dof_axes_into, forward_kinematics
from contact_mpc.model.rotations import rpy_from_rotation
from contact_mpc.model.system import System
from contact_mpc.settings.arrays import FloatArray

FULL_EFFORT_AT_RAD, FULL_EFFORT_AT_M = 0.07, 0.01
TIP_STIFFNESS_N_M = 500.0
DAMPING_RATIO = 1.4
ROTOR_KG_M2_PER_NM, LARGEST_ROTOR_KG_M2 = 1.5e-3, 0.1
LEAST_REACH_M = 0.05


@dataclass(frozen=True)
class Gains:
    """Per joint (n_a,): stiffness, N m/rad; damping, N m s/rad; rotor inertia, kg m^2. Slides: N/m, N s/m, kg."""

    stiffness: FloatArray
    damping: FloatArray
    rotor: FloatArray


def middle_posture(system: System) -> FloatArray:
    """Return q (n_q,) with every robot joint in the middle of its range."""
    q = system.q_default.copy()
    q[system.n_q_u :] = 0.5 * (system.q_min + system.q_max)
    return q


def propose_gains(system: System) -> Gains:
    """Return gains of a system's robots from effort limits, lengths and masses in the middle posture."""
    tree, q = system.tree, middle_posture(system)
    R, p = forward_kinematics(tree, q)
    n_axes = len(tree.axis_dof)
    axes, origins = np.zeros((n_axes, 3)), np.zeros((n_axes, 3))
    dof_axes_into(tree, R, p, axes, origins)
    slides = tree.dof_kind[system.n_v_u :] == PRISMATIC
    rotor = np.minimum(ROTOR_KG_M2_PER_NM * system.tau_max_nm, LARGEST_ROTOR_KG_M2)
    inertia, reach = rotor.copy(), np.zeros(system.n_a)
    for a in range(system.n_a):
        d = system.n_v_u + a
        for b in range(len(tree.parent)):
            inertia[a] += _inertia_along(tree, d, b, R[b], R[b] @ tree.p_BC[b] + p[b], axes, origins)
        reach[a] = _reach(system, R, p, d, origins[d])
    branches = np.array([first_body(system, int(tree.dof_body[system.n_v_u + a])) for a in range(system.n_a)])
    length = np.array([max(LEAST_REACH_M, reach[branches == branch].max()) for branch in branches])
    stiffness = system.tau_max_nm / np.where(slides, FULL_EFFORT_AT_M, FULL_EFFORT_AT_RAD)
    stiffness = np.minimum(stiffness, TIP_STIFFNESS_N_M * np.where(slides, 1.0, length**2))
    damping = 2.0 * DAMPING_RATIO * np.sqrt(stiffness * inertia)
    return Gains(*(_two_digits(values) for values in (stiffness, damping, rotor)))


def _inertia_along(
    tree: Tree, d: int, body: int, R: FloatArray, centre: FloatArray, axes: FloatArray, origins: FloatArray
) -> float:
    """Return what a body adds to the inertia of a degree of freedom: kg m^2, or kg for a slide."""
    turn, shift = np.zeros(3), np.zeros(3)
    for a in tree.chain[body, : tree.chain_count[body]]:
        if tree.axis_dof[a] == d and tree.axis_kind[a] == PRISMATIC:
            shift += axes[a]
        elif tree.axis_dof[a] == d:
            turn += axes[a]
            shift += np.cross(axes[a], centre - origins[a])
    return float(tree.mass[body] * (shift @ shift) + turn @ R @ tree.inertia_BC[body] @ R.T @ turn)


def _reach(system: System, R: FloatArray, p: FloatArray, d: int, origin: FloatArray) -> float:
    """Return how far the links that degree of freedom d moves have shapes from its axis, m."""
    tree, found = system.tree, [0.0]
    for item in system.geometries:
        if d in moving_dofs(tree, item.body):
            found.append(float(np.linalg.norm(R[item.body] @ item.X_BG.p + p[item.body] - origin)))
    return max(found)


def _two_digits(values: FloatArray) -> FloatArray:
    return np.array([float(f"{value:.2g}") for value in values])


def tip_points(system: System, robot: str, tips: tuple[str, ...], q: FloatArray) -> FloatArray:
    """Return the middle of the last shape of each fingertip (n, 3), m, at q (n_q,)."""
    R, p = forward_kinematics(system.tree, q)
    found = []
    for tip in tips:
        item = [g for g in system.geometries if (g.owner, g.link) == (robot, tip)][-1]
        found.append(R[item.body] @ item.X_BG.p + p[item.body] if item.body >= 0 else item.X_BG.p)
    return np.array(found).reshape(-1, 3)


def propose_base(system: System, robot: str, tips: tuple[str, ...]) -> tuple[float, float, float]:
    """Return roll, pitch, yaw, rad, of a hand's base that turns its open side up; zeros for an arm (one chain).

    Open is the direction from the fingers' first joints to the fingertips in the middle posture, as the nearest axis
    of the base.
    """
    if len(tips) < 2:
        return (0.0, 0.0, 0.0)
    tree, q = system.tree, middle_posture(system)
    R, p = forward_kinematics(tree, q)
    bodies = {int(b) for (owner, _), (b, _) in system.links.items() if owner == robot and b >= 0}
    roots = np.array([p[b] for b in {first_body(system, b) for b in bodies}])
    up = tip_points(system, robot, tips, q).mean(axis=0) - roots.mean(axis=0)
    k = int(np.argmax(np.abs(up)))
    z = np.sign(up[k]) * np.eye(3)[k]
    x = np.eye(3)[(k + 1) % 3]
    turn = np.vstack([x, np.cross(z, x), z])  # rows: the axes of the world in the base
    roll, pitch, yaw = rpy_from_rotation(turn)
    return (float(roll), float(pitch), float(yaw))
