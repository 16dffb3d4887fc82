"""Parameters of the planner that follow from a system, where a task's file does not give them.

The least force per contact carries the objects' weight FORCE_PER_WEIGHT times over, is at least LEAST_FORCE_N, and uses
no more than EFFORT_SHARE of what the weakest joint can press with. At a start the fingertips are 0.3 mm off the object;
closing that takes 0.3 to 0.6 N off at the 1 to 2 kN/m of a hand's tips. A ball of 36 g in the LEAP hand falls within
0.1 s with 1.1 N or twice that, and stays with three times that (MuJoCo); one of 0.1 kg in the Allegro stays with 3 N.
Stiffness, ripple and friction of drives grow with the effort limits, and with them what an object that lies 3 mm beside
its place, or a correction of that, takes off a contact. So a strong hand, which presses with STRONG_N or more, grips
with GRIP_SHARE of that, GRIP_N at most: the D'Claw lost an ellipsoid in 3 of 3 trials with 3 N, in 1 with 6, in none
with 10 (MuJoCo; in Drake 2 of 2 lost with 3 N, 0 of 2 with 10).

A push has no grasp to hold. Its end may slide along the object, which is no fault, and the object falls behind until it
is touched and catches up: what is watched for in a hand would stop every push. Changes of commands are kept to 2 mm at
the end of an arm, for beyond that contact is made or lost, and the linearisation says nothing. What lies beside its
way is brought back by turning it first, which takes a horizon of 1.5 s.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from contact_mpc.model.kinematic_tree import FREE
from contact_mpc.model.kinematics import dof_axes_into, forward_kinematics
from contact_mpc.model.system import System
from contact_mpc.settings.arrays import FloatArray

GRASP_FRICTION = 0.4  # of the cones of a grasp: below any friction of the plant, for a margin
FORCE_PER_WEIGHT = 3.0
LEAST_FORCE_N, LARGEST_FORCE_N = 3.0, 30.0
EFFORT_SHARE = 0.7
STRONG_N, GRIP_SHARE, GRIP_N = 9.0, 0.7, 10.0
LEAST_LEVER_M = 0.02
PUSH_KAPPA_PER_J = 1.0e4
PUSH_PLANNER: dict[str, Any] = {
    "kappa_per_j": PUSH_KAPPA_PER_J, "iterations": 40, "trust_region_rad": 0.002, "object_rotation_weight": 1000.0,
    "command_weight": 3.0, "terminal_scale": 100.0,
}  # fmt: skip
PUSH_TRACKER: dict[str, Any] = {
    "horizon_steps": 15, "kappa_per_j": PUSH_KAPPA_PER_J, "object_rotation_weight": 1000.0, "slip_speed_m_s": 0.0,
    "lag_angle_deg": 30.0, "lag_distance_m": 0.04,
}  # fmt: skip


def is_carried(planner: Mapping[str, Any]) -> bool:
    """Whether the section `planner` of a task asks for a push: the object slides on what it stands on."""
    return bool(planner.get("initialisation") == "carried")


def derive_planner(system: System, planner: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of the planner that depend on the system, and on whether it shall push."""
    if is_carried(planner):
        return dict(PUSH_PLANNER)
    return {"minimum_force_n": least_force(system), "grasp_friction": GRASP_FRICTION}


def derive_nodes(planner: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the parameters of nodes that are others for a push."""
    return {"mpc_tracker": dict(PUSH_TRACKER)} if is_carried(planner) else {}


def least_force(system: System, is_gentle: bool = False) -> float:
    """Return the normal force per contact that holds the free objects against gravity and what deviates, N.

    With is_gentle a strong hand grips no harder than a weak one.
    """
    tree = system.tree
    free = [b for b in range(len(tree.parent)) if tree.joint[b] == FREE]
    weight = float(sum(tree.mass[b] for b in free) * np.linalg.norm(system.config.gravity_m_s2))
    press = _press(system)
    grip = min(GRIP_SHARE * press, GRIP_N) if press >= STRONG_N and not is_gentle else LEAST_FORCE_N
    wanted = max(FORCE_PER_WEIGHT * weight, grip) if free else 1.0
    return float(f"{np.clip(wanted, min(LEAST_FORCE_N, press), min(LARGEST_FORCE_N, press)):.2g}")


def _press(system: System) -> float:
    """Return the force that EFFORT_SHARE of the limits give at the end of the weakest joint's longest lever, N."""
    tree = system.tree
    R, p = forward_kinematics(tree, system.q_default)
    count = len(tree.axis_dof)
    axes, origins = np.zeros((count, 3)), np.zeros((count, 3))
    dof_axes_into(tree, R, p, axes, origins)
    forces = []
    for a in range(system.n_a):
        levers = [
            _lever(R[g.body] @ g.X_BG.p + p[g.body] - origins[axis], axes[axis])
            for g in system.geometries
            for axis in np.flatnonzero(tree.axis_dof == system.n_v_u + a)
            if g.body >= 0 and axis in tree.chain[g.body, : tree.chain_count[g.body]]
        ]
        if levers:
            forces.append(EFFORT_SHARE * system.tau_max_nm[a] / max(LEAST_LEVER_M, *levers))
    return float(min(forces, default=LARGEST_FORCE_N))


def _lever(arm: FloatArray, axis: FloatArray) -> float:
    return float(np.linalg.norm(np.cross(axis, arm)))
