"""Grasps at other orientations than the start's, for turns of an object that no single grasp fits all the way.

A cube that lies on its face looks the same after each quarter turn, and a grasp holds it some 10 degrees to both sides.
From the start's grasp on, one that was found is varied: its object turned a little about the goal's axis and moved a
little where it lies, its joints moved at random, and all its fingers pressed together until they touch again. The turn
after which the object looks the same is cut into equal parts, and of each the best grasp is kept (MAP-Elites: Mouret
and Clune, Illuminating search spaces by mapping elites, 2015); most are stepping stones from one of those that are
asked for to the next. A grasp is worth more near the start's place, where all turns put the object down. Fingers touch
with their tips alone: a link's side that lies along a face, or a link with too few joints to follow, does not roll as
planned.
Wrong where the object lies on another face after the turn: it stays as high.
"""

import numpy as np

from contact_mpc.errors import PlanError
from contact_mpc.geometry.fingers import closest_pair_per_finger
from contact_mpc.geometry.symmetry import object_symmetry
from contact_mpc.model.rotations import rotation_exp
from contact_mpc.planning.grasp.candidate import GraspCandidate, Hold
from contact_mpc.planning.grasp.pressing import press_with_all
from contact_mpc.planning.grasp.scene import make_scene
from contact_mpc.planning.reorient.map_config import GraspMapConfig
from contact_mpc.planning.start_posture import make_search
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.task.task import TaskConfig


class GraspMap:
    """The best grasps of a task's object by how far it is turned from where the start holds it.

    Parameters
    ----------
    task : TaskConfig
        A task that grips anew, with a start.
    count : int
        Grasps to find, the start's among them.
    seed : int
        Of the variations.
    hold : callable, optional
        See `contact_mpc.planning.grasp.search.GraspSearch`.
    config : GraspMapConfig, optional
        Its defaults where None.

    Raises
    ------
    PlanError
        The start does not hold the object with fingertips alone, or the object looks the same however it is turned
        about the axis.
    """

    def __init__(
        self, task: TaskConfig, count: int, seed: int, hold: Hold | None = None, config: GraspMapConfig | None = None
    ) -> None:
        self._system, self._axis, self.config = task.system, task.goal.axis_W, config or GraspMapConfig()
        self._search, self._scene = make_search(task, seed), make_scene(task.system)
        self._symmetry = object_symmetry(task.system)
        self._R, self._p = task.system.object_pose(task.start_q)
        parts = self._symmetry.parts_alike(self._axis, self._R)
        if parts == 0:
            raise PlanError(f"{task.path}: the object looks the same however it is turned: the start's grasp is enough")
        self._whole_rad = 2.0 * np.pi / parts
        self._tips = np.concatenate([finger.pairs[finger.is_tip] for finger in self._search.fingers])
        self._hold = hold
        self._kept: list[GraspCandidate | None] = [None] * (self.config.stones * count)
        if not self._take(task.start_q):
            reasons = self._search.why() or ["a finger touches with another link than its tip"]
            raise PlanError(f"{task.path}: start: {'; '.join(reasons)}")

    @property
    def found(self) -> list[GraspCandidate | None]:
        """The grasps that were asked for (count), the start's orientation first; None where there is none yet."""
        return self._kept[:: self.config.stones]

    @property
    def kept(self) -> list[GraspCandidate]:
        """All grasps, with the stepping stones."""
        return [item for item in self._kept if item is not None]

    def vary(self) -> bool:
        """Vary a grasp that was found; whether that made one better, or the first of its part."""
        rng, system, config = self._search.rng, self._system, self.config
        grasp = self._kept[int(rng.choice(len(self._kept), p=self._shares()))]
        assert grasp is not None
        R, p = system.object_pose(grasp.q)
        back = self._p - p
        pull = min(1.0, config.pull_m / max(float(np.linalg.norm(back)), 1e-9)) * rng.uniform() * back
        shift = config.place_m * rng.uniform() * rng.standard_normal(3)
        shift -= (shift @ self._axis) * self._axis
        turned = rotation_exp(config.turn_rad * rng.standard_normal() * self._axis) @ R
        q = grasp.q.copy()
        q[: system.n_q_u] = system.q_from_object_pose(np.ascontiguousarray(turned), p + pull + shift, q)
        q[system.n_q_u :] += config.joint_rad * rng.uniform(0.1, 1.0) * rng.standard_normal(system.n_a)
        room, gap_m = self._search.config.limit_room_rad, self._search.config.contact_gap_m
        q[system.n_q_u :] = np.clip(q[system.n_q_u :], system.q_min + room, system.q_max - room)
        links = tuple(np.flatnonzero(self._scene.links == self._scene.links[c]) for c in grasp.grasp.pairs)
        touches = press_with_all(system, self._scene, q, np.arange(system.n_a), links, gap_m)
        return touches and self._search.stays(q) and self._take(q)

    def _shares(self) -> FloatArray:
        """Return how often each part is varied: more often beside parts whose grasp is missing or not whole."""
        poor = np.array([item is None or item.fraction < 1.0 for item in self._kept], dtype=float)
        wanted = self.config.gap_weight + poor + np.roll(poor, 1) + np.roll(poor, -1)
        wanted[[item is None for item in self._kept]] = 0.0
        return np.asarray(wanted / wanted.sum())

    def _take(self, q: FloatArray) -> bool:
        """Keep the grasp at q (n_q,) where it holds and is the best of its part; whether it is."""
        if not self._touches_with_tips(q):
            return False
        part = int(self._angle(q) / self._whole_rad * len(self._kept) + 0.5) % len(self._kept)
        best = self._kept[part]
        self._search.best, self._search.hold = best, self._hold if part % self.config.stones == 0 else None
        candidate = self._search.judge(q)
        if candidate is None or (best is not None and self._worth(candidate) <= self._worth(best)):
            return False
        self._kept[part] = candidate
        return True

    def _worth(self, candidate: GraspCandidate) -> float:
        away_m = float(np.linalg.norm(self._system.object_pose(candidate.q)[1] - self._p))
        return candidate.score - self.config.place_weight_per_m * max(0.0, away_m - self.config.near_m)

    def _touches_with_tips(self, q: FloatArray) -> bool:
        """Whether fingers touch at q (n_q,) with their tips, and with nothing else."""
        touching = closest_pair_per_finger(self._scene.fingers, self._scene.gaps(q), self.config.reach_m)
        return bool(np.all(np.isin(touching, self._tips)))

    def _angle(self, q: FloatArray) -> float:
        """Return how far, rad, from 0 on, the object at q (n_q,) is turned from the start, as far as it looks so."""
        turn = self._symmetry.turn_between(self._R, self._system.object_pose(q)[0])
        return float(turn @ self._axis) % self._whole_rad
