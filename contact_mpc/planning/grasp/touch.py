"""How the fingers of a random posture come to touch: each closes until its tip is one gap from the object.

A finger bends by the joints that bring its tip nearer, until a shape of the tip is `contact_gap_m` from any object. An
arm that presses with several links moves until all of them are.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from contact_mpc.geometry.fingers import first_body, touching_shapes
from contact_mpc.model.fingertips import fingertip_links
from contact_mpc.model.kinematics import forward_kinematics, frame_jacobian
from contact_mpc.model.system import System
from contact_mpc.planning.grasp.grasp_config import GraspSearchConfig
from contact_mpc.planning.grasp.pressing import press_with_all
from contact_mpc.planning.grasp.scene import Scene
from contact_mpc.settings.arrays import FloatArray

IntArray = NDArray[np.int64]
HALVINGS = 8  # of what is left of a bend, until the finger is nearer than a touch
SHARE_ACCURACY = 1e-7  # of the share of a bend at which it touches


@dataclass(frozen=True)
class Finger:
    """A branch of a robot: joints (indices into q_a), contacts, which are its tip's, where that is, and their scene.

    pressing are the contacts of the scene per link of an arm that presses with several at once; of a finger, none.
    """

    name: str
    joints: IntArray
    pairs: IntArray
    is_tip: NDArray[np.bool_]
    body: int
    p_BT: FloatArray
    scene: Scene
    pressing: tuple[IntArray, ...] = ()

    def gap(self, q: FloatArray) -> float:
        """Return how far the finger is from the objects at q (n_q,), m."""
        return float(self.scene.gaps(q).min())


def find_fingers(system: System, scene: Scene) -> list[Finger]:
    """Return the branches of the robots that have a fingertip an object can touch."""
    shapes = touching_shapes(system)
    bodies = [int(system.tree.dof_body[system.n_v_u + a]) for a in range(system.n_a)]
    branches = [first_body(system, body) for body in bodies]
    owners = [-1 if shape.body < 0 else first_body(system, shape.body) for shape in shapes]
    tips, fingers = fingertip_links(system), []
    for branch in dict.fromkeys(branches):
        joints = np.array([a for a in range(system.n_a) if branches[a] == branch])
        pairs = np.array([c for c, owner in enumerate(owners) if owner == branch], dtype=np.int64)
        is_tip = np.array([(shapes[c].owner, shapes[c].link) in tips for c in pairs], dtype=bool)
        if np.any(is_tip):
            tip = shapes[pairs[np.flatnonzero(is_tip)[-1]]]
            alone = scene.fingers[pairs]  # the links of an arm are fingers of their own there
            ends = [np.flatnonzero(is_tip & (alone == body)) for body in np.unique(alone[is_tip])]
            pressing = tuple(ends) if len(ends) > 1 else ()
            fingers.append(Finger(tip.link, joints, pairs, is_tip, tip.body, tip.X_BG.p, scene.part(pairs), pressing))
    return fingers


class Touching:
    """Lets fingers of one system touch its objects, from postures that `rng` draws."""

    def __init__(self, system: System, config: GraspSearchConfig, rng: np.random.Generator) -> None:
        self.system, self.config, self.rng = system, config, rng

    def closing(self, q: FloatArray, finger: Finger) -> FloatArray:
        """Return how each joint brings the fingertip nearer to the object at q, scaled to a largest of 1."""
        R, p = forward_kinematics(self.system.tree, q)
        arm = self.system.object_pose(q)[1] - (R[finger.body] @ finger.p_BT + p[finger.body])
        all_nearer = frame_jacobian(self.system.tree, q, finger.body, finger.p_BT)[3:].T @ arm
        nearer = all_nearer[self.system.n_v_u + finger.joints]
        return np.asarray(nearer / max(float(np.max(np.abs(nearer))), 1e-12))

    def close(self, q: FloatArray, finger: Finger) -> bool:
        """Bend one finger in q until its tip touches; else leave it open, and return False."""
        if finger.pressing:
            return self._close_arm(q, finger)
        first, (low, high) = self.system.n_q_u, (self.system.q_min[finger.joints], self.system.q_max[finger.joints])
        rest = q[first + finger.joints].copy()
        open_room = -np.inf
        for _ in range(self.config.tries_per_finger):
            q[first + finger.joints] = low + self.rng.uniform(0.3, 0.7, len(low)) * (high - low)
            side = self.closing(q, finger)
            share = self.rng.uniform(0.1, 0.7, len(low))
            base = np.where(side >= 0.0, low + share * (high - low), high - share * (high - low))
            q[first + finger.joints] = base
            room = finger.gap(q)
            if room > open_room:
                open_room, rest = room, base
            if room < self.config.contact_gap_m:
                continue
            bend = self.closing(q, finger) * self.rng.uniform(0.3, 1.0, len(low))
            bend = np.where(np.abs(bend) > self.config.least_bend, bend, 0.0)
            if self._bend(q, finger, base, np.clip(base + 1.5 * bend, low, high) - base):
                return True
        q[first + finger.joints] = rest
        return False

    def _close_arm(self, q: FloatArray, finger: Finger) -> bool:
        """Let an arm in q press from a random posture; else leave it where it was, and return False."""
        own, rest = self.system.n_q_u + finger.joints, q[self.system.n_q_u + finger.joints]
        low, high = self.system.q_min[finger.joints], self.system.q_max[finger.joints]
        for _ in range(self.config.tries_per_finger):
            q[own] = low + self.rng.uniform(0.3, 0.7, len(low)) * (high - low)
            if self._press(q, finger):
                return True
        q[own] = rest
        return False

    def _bend(self, q: FloatArray, finger: Finger, base: FloatArray, bend: FloatArray) -> bool:
        """Move one finger in q from base towards base + bend until it touches; False if it does not, or not well."""
        first, joints = self.system.n_q_u, finger.joints

        def room(share: float) -> float:
            q[first + joints] = base + share * bend
            return finger.gap(q) - self.config.contact_gap_m

        open_s = 0.0
        if room(open_s) < 0.0:
            return False
        for k in range(1, HALVINGS + 1):
            nearer_s = 1.0 - 0.5**k
            if room(nearer_s) < 0.0:
                break
            open_s = nearer_s
        else:
            return False
        room(brentq(room, open_s, nearer_s, xtol=SHARE_ACCURACY))
        gaps = finger.scene.newton.con.phi
        touches = gaps.min() < 2.0 * self.config.contact_gap_m and finger.is_tip[np.argmin(gaps)]
        return bool(touches and self._has_room(q, finger))

    def _press(self, q: FloatArray, finger: Finger) -> bool:
        """Move an arm in q until each of the links that it presses with touches; False if it does not, or not well."""
        gap_m = self.config.contact_gap_m
        if not press_with_all(self.system, finger.scene, q, finger.joints, finger.pressing, gap_m):
            return False
        return finger.gap(q) > 0.5 * gap_m and self._has_room(q, finger)

    def _has_room(self, q: FloatArray, finger: Finger) -> bool:
        q_a, room = q[self.system.n_q_u + finger.joints], self.config.limit_room_rad
        low, high = self.system.q_min[finger.joints], self.system.q_max[finger.joints]
        return bool(np.all((q_a > low + room) & (q_a < high - room)))

    def open(self, q: FloatArray, finger: Finger) -> None:
        """Put one finger in q where, of some random postures, it is farthest from the object."""
        joints, room = self.system.n_q_u + finger.joints, -np.inf
        low, high = self.system.q_min[finger.joints], self.system.q_max[finger.joints]
        widest = q[joints]
        for _ in range(self.config.open_draws):
            q[joints] = self.rng.uniform(low, high)
            gap = finger.gap(q)
            if gap > room:
                room, widest = gap, q[joints].copy()
        q[joints] = widest

    def close_near(self, q: FloatArray, finger: Finger, joints_rad: FloatArray, bend: FloatArray) -> bool:
        """Let one finger in q touch from joints nearby, an arm by all that it presses with."""
        if not finger.pressing:
            return self._bend(q, finger, joints_rad - 0.3 * bend, 0.6 * bend)
        q[self.system.n_q_u + finger.joints] = joints_rad
        return self._press(q, finger)
