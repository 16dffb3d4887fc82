"""The turns that a grasp leaves: which way an object goes when fingers of few joints roll on it without slip.

A finger of fewer than three joints does not lead its contact wherever an object wants to go. Motions (dq_u, dq_a) with

    J_u dq_u + J_a dq_a = 0

at every contact are then few, often a single one: a turn about an axis of the grasp's own, on which the object's centre
moves as well. Followed from the start, step by step along the null space of [J_u J_a], until the object has turned by
the angle that was asked for. Four and five such fingers leave no motion that is free of slip; one that slips by a small
part of its length will do, for a millimetre bends a finger by 0.5 N, and more fingers hold better.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from contact_mpc.dynamics.smoothed.newton import prepare_step
from contact_mpc.geometry.fingers import stacked_jacobian, touching_rows
from contact_mpc.model.lengths import tangent_lengths
from contact_mpc.model.rotations import rotation_log
from contact_mpc.model.system import System
from contact_mpc.planning.grasp.scene import Scene
from contact_mpc.settings.arrays import FloatArray

STEP_RAD = 0.04
SPIN = slice(0, 3)  # of the tangent of a free object: its rotation
RANK_SHARE = 1e-3  # of the largest singular value: below it nothing corrects a gap
LEAST_TURN = 0.02  # of a motion that counts as a turn, of its length, both as `tangent_lengths` measure


@dataclass(frozen=True)
class FreeTurn:
    """A motion of the object: rotation about axis_W (3,) by angle_rad, and way_m (3,) of its centre."""

    axis_W: FloatArray
    angle_rad: float
    way_m: FloatArray


def free_turns(
    system: System, scene: Scene, q: FloatArray, pairs: NDArray[np.int64], angle_rad: float, slip_share: float
) -> list[FreeTurn]:
    """Return the turns by angle_rad, either way, that contacts `pairs` rolling from q (n_q,) allow.

    Motions that slip by less than slip_share of the most that one can, per length, count as rolling. Of them the one
    that turns the object most for its length is followed. A turn ends early where a joint comes to its limit, or where
    no such motion is left.
    """
    found = []
    for side in (1.0, -1.0):
        turned = _follow(system, scene, q, pairs, side * angle_rad, slip_share)
        (R0, p0), (R1, p1) = system.object_pose(q), system.object_pose(turned)
        turn = rotation_log(np.ascontiguousarray(R1 @ R0.T))
        angle = float(np.linalg.norm(turn))
        if angle > 0.0:
            found.append(FreeTurn(turn / angle, angle, p1 - p0))
    return found


def _follow(
    system: System, scene: Scene, q: FloatArray, pairs: NDArray[np.int64], angle_rad: float, slip_share: float
) -> FloatArray:
    """Return q (n_q,) at the end of the turn; the sign of its angle says which way."""
    model, ws, lengths = scene.model, scene.newton, tangent_lengths(system)
    still, steps = np.zeros(len(model.mu)), max(1, round(abs(angle_rad) / STEP_RAD))
    direction, gaps = None, np.zeros(0)
    for _ in range(steps):
        prepare_step(model, ws, q, q[system.n_q_u :].copy(), still)
        pairs = touching_rows(scene.links, ws.con.phi, pairs)
        J = stacked_jacobian(model.pairs, ws.con, pairs, system.n_v) / lengths
        _, values, rows = np.linalg.svd(J)
        null = rows[np.count_nonzero(values > slip_share * values[0]) :]
        if not len(null):
            return q
        if direction is None:
            direction = np.sign(angle_rad) * np.linalg.svd(null[:, SPIN].T)[2][0] @ null
            gaps = ws.con.phi[pairs].copy()
        motion = (null @ direction) @ null
        turn = float(np.linalg.norm(motion[SPIN]))
        if turn <= LEAST_TURN * np.linalg.norm(motion):
            return q
        back = np.linalg.lstsq(J, (ws.con.n[pairs] * (gaps - ws.con.phi[pairs])[:, None]).ravel(), rcond=RANK_SHARE)[0]
        moved = system.integrate(q, (motion * (lengths[0] * abs(angle_rad) / (steps * turn)) + back) / lengths)
        q_a = moved[system.n_q_u :]
        if np.any((q_a < system.q_min) | (q_a > system.q_max)):
            return q
        q, direction = moved, motion
    return q
