"""Search for a start posture from which the fingers can roll an object all the way to its goal.

Random object positions and finger postures, each finger closed along its flexion joints until its nearest geometry is
`CONTACT_GAP_M` from the object; kept when forces balance the object, then scored by rolling along the task's path:
first how far it gets, then the room that is left to the joint limits and the share of torque that it needs.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from contact_mpc.dynamics.contact_dynamics import build_model
from contact_mpc.dynamics.log_barrier import make_newton, measure_gaps
from contact_mpc.geometry.fingers import finger_of_pairs, first_body
from contact_mpc.model.system import System
from contact_mpc.planning.grasp import Grasp, compute_grasp
from contact_mpc.planning.rolling import roll_along

FloatArray = NDArray[np.float64]
CONTACT_GAP_M = 3e-4
TRIES_PER_FINGER = 40
BISECTIONS = 30


@dataclass(frozen=True)
class GraspCandidate:
    """A posture with its commands and its score: fraction of the path, least room to a joint limit (rad)."""

    q: FloatArray
    grasp: Grasp
    fraction: float
    limit_room_rad: float

    @property
    def score(self) -> float:
        """Larger is better: completeness first, then the room to the limits."""
        return self.fraction + (self.limit_room_rad if self.fraction >= 1.0 else 0.0)


class GraspSearch:
    """Samples postures of one system for paths of its object.

    Parameters
    ----------
    paths : callable
        Given a start q (n_q,), the object paths [(n, n_q_u), ...] that the grasp must serve.
    spread_m : float
        Half width of the box of object positions about that of q_centre, m.
    """

    def __init__(
        self, system: System, q_centre: FloatArray, paths: Callable[[FloatArray], list[FloatArray]], seed: int,
        minimum_force_n: float = 1.0, friction: float = 0.5, spread_m: float = 0.015,
    ) -> None:
        self.system, self.q_centre, self.paths = system, q_centre, paths
        self.minimum_force_n, self.friction, self.spread_m = minimum_force_n, friction, spread_m
        self.rng = np.random.default_rng(seed)
        self._model = build_model(system)
        self._newton = make_newton(self._model)
        self._fingers = self._find_fingers()

    def _find_fingers(self) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Return per branch of the robots: indices into q_a, and contact pairs."""
        system, fingers = self.system, []
        bodies = [int(system.tree.dof_body[system.n_v_u + a]) for a in range(system.n_a)]
        branches = [first_body(system, body) for body in bodies]
        owners = finger_of_pairs(system).tolist()
        for branch in dict.fromkeys(branches):
            joints = np.array([a for a in range(system.n_a) if branches[a] == branch])
            fingers.append((joints, np.array([c for c, owner in enumerate(owners) if owner == branch])))
        return fingers

    def _gaps(self, q: FloatArray) -> FloatArray:
        return np.asarray(measure_gaps(self._model, self._newton, q))

    def _close_finger(self, q: FloatArray, joints: NDArray[np.int64], pairs: NDArray[np.int64]) -> bool:
        """Bend the distal joints of one finger in q until it touches with its last geometry; False if it cannot."""
        system = self.system
        first = system.n_q_u
        for _ in range(TRIES_PER_FINGER):
            low, high = system.q_min[joints], system.q_max[joints]
            closing = np.where(np.abs(high) >= np.abs(low), 1.0, -1.0)  # fingers close towards their wider limit
            share = self.rng.uniform(0.1, 0.7, len(joints))
            base = np.where(closing > 0.0, low + share * (high - low), high - share * (high - low))
            bend = closing * np.where(np.arange(len(joints)) > 0, self.rng.uniform(0.3, 1.0, len(joints)), 0.0)
            open_s, closed_s = 0.0, 1.5
            q[first + joints] = base
            if self._gaps(q)[pairs].min() < CONTACT_GAP_M:
                continue
            for _bisection in range(BISECTIONS):
                middle = 0.5 * (open_s + closed_s)
                q[first + joints] = base + middle * bend
                if self._gaps(q)[pairs].min() < CONTACT_GAP_M:
                    closed_s = middle
                else:
                    open_s = middle
            gaps, q_a = self._gaps(q)[pairs], q[first + joints]
            touches = gaps.min() < 2.0 * CONTACT_GAP_M and np.argmin(gaps) == len(gaps) - 1
            if touches and np.all((q_a > low + 0.05) & (q_a < high - 0.05)):
                return True
        return False

    def sample(self) -> GraspCandidate | None:
        """Return one random candidate, None where it cannot hold the object."""
        system = self.system
        q = self.q_centre.copy()
        R, p = system.object_pose(q)
        p = p + self.rng.uniform(-self.spread_m, self.spread_m, 3)
        q[: system.n_q_u] = system.q_from_object_pose(R, p, q)
        if not all(self._close_finger(q, joints, pairs) for joints, pairs in self._fingers):
            return None
        if self._gaps(q).min() < 0.5 * CONTACT_GAP_M:
            return None
        grasp = compute_grasp(system, q, self.minimum_force_n, self.friction)
        if not grasp.is_balanced or len(grasp.pairs) < len(self._fingers):
            return None
        return self._score(q, grasp)

    def _score(self, q: FloatArray, grasp: Grasp) -> GraspCandidate:
        fractions, rooms = [], []
        for path in self.paths(q):
            rolled = roll_along(self.system, q, path, grasp.pairs, self.minimum_force_n, self.friction)
            fractions.append(len(rolled.q) / len(path))
            rooms.append(self._room(rolled.q) if len(rolled.q) else 0.0)
        return GraspCandidate(q, grasp, min(fractions), min(rooms))

    def _room(self, q: FloatArray) -> float:
        q_a = q[:, self.system.n_q_u :]
        return float(min(np.min(q_a - self.system.q_min), np.min(self.system.q_max - q_a)))


def search_grasp(
    search: GraspSearch, samples: int, progress: Callable[[int, float], None] | None = None
) -> GraspCandidate | None:
    """Return the best of so many samples; progress(count, best score) is called after each."""
    best: GraspCandidate | None = None
    for count in range(samples):
        candidate = search.sample()
        if candidate is not None and (best is None or candidate.score > best.score):
            best = candidate
        if progress is not None:
            progress(count + 1, best.score if best else 0.0)
    return best
