"""A goal for the object, what may become of it, and what the tracker is given for it."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from contact_mpc.model.rotations import rotation_log
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.task.plan import Plan

State = Literal[
    "idle", "searching", "moving", "reached", "missed", "refused", "cancelled", "replaced", "holding", "lost"
]
ENDED: tuple[State, ...] = ("reached", "missed", "refused", "cancelled", "replaced", "holding", "lost")
SAME_RAD, SAME_M = 2e-3, 2e-4  # goals closer than this are the same


@dataclass(frozen=True)
class ObjectGoal:
    """Where the object shall go, and the stamp by which who asked knows it; tolerances, 0: the task's."""

    stamp_ns: int
    R: FloatArray
    p: FloatArray
    tolerance_deg: float = 0.0
    tolerance_mm: float = 0.0


@dataclass(frozen=True)
class HandOver:
    """What the tracker shall follow: a plan from start_ns on; None: nothing, the bridge holds."""

    start_ns: int
    plan: Plan | None


def is_same(a: ObjectGoal, b: ObjectGoal) -> bool:
    """Whether two goals are the same but for what a float32 leaves."""
    turn = float(np.linalg.norm(rotation_log(np.ascontiguousarray(a.R @ b.R.T))))
    return turn < SAME_RAD and float(np.linalg.norm(a.p - b.p)) < SAME_M
