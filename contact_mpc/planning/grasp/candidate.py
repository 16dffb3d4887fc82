"""What a search of postures finds: a posture that holds the object, and how well it serves the paths asked for."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from contact_mpc.planning.grasp.balance import Grasp
from contact_mpc.planning.grasp.grasp_config import GraspSearchConfig
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.task.task import Goal

Courses = Callable[[FloatArray, NDArray[np.int64]], list["Course"]]
Hold = Callable[[list[tuple[FloatArray, FloatArray]]], float]


@dataclass(frozen=True)
class Course:
    """Object paths [(n, n_q_u), ...] that a grasp must serve, and their goal where that is the grasp's own."""

    paths: list[FloatArray]
    goal: Goal | None = None


@dataclass(frozen=True)
class GraspCandidate:
    """A posture with its commands and its score.

    Attributes
    ----------
    fractions : tuple of float
        Mean share of the paths at each of `friction_steps`; the next is tried only after a complete one.
    limit_room_rad : float
        Least room to a joint limit on the way, rad.
    conditioning : float
        Smallest over largest singular value of `object_response`, -.
    finger_share : float
        Fingers that hold, of those that could, -.
    held : float
        Share of the plants of `GraspSearch.hold` that keep the object; NaN where none was asked.
    config : GraspSearchConfig
        What it was found and is scored with.
    goal : Goal, optional
        Of the course that it was scored with.
    """

    q: FloatArray
    grasp: Grasp
    fractions: tuple[float, ...]
    limit_room_rad: float
    conditioning: float
    finger_share: float = 1.0
    held: float = np.nan
    config: GraspSearchConfig = GraspSearchConfig()
    goal: Goal | None = None

    @property
    def fraction(self) -> float:
        """Mean share of the paths at the given friction."""
        return self.fractions[0]

    @property
    def is_complete(self) -> bool:
        """Whether more samples could add little: held in enough plants, every path with least friction, room left."""
        rolls = len(self.fractions) == len(self.config.friction_steps) and self.fractions[-1] >= 1.0
        return rolls and self.held >= self.config.held_enough and self.limit_room_rad >= self.config.useful_room_rad

    @property
    def score(self) -> float:
        """Larger is better: completeness with ever less friction first, then room to the limits and conditioning."""
        config = self.config
        most = config.useful_room_rad
        room = min(self.limit_room_rad, most) / most if self.fraction >= 1.0 else 0.0
        held = 0.0 if np.isnan(self.held) else config.held_weight * self.held
        posture = sum(self.fractions) + config.room_weight * room + config.conditioning_weight * self.conditioning
        return posture + config.finger_weight * self.finger_share + held
