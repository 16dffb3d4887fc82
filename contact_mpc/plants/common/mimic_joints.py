"""Joints that follow others, as engines have them: a constraint holds each to its leader, and nobody drives it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from contact_mpc.model.system import System
from contact_mpc.settings.arrays import FloatArray

IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class MimicJoint:
    """A joint of a robot with <mimic>: its position is ratio times that of its leader, plus offset, rad (m)."""

    owner: str
    joint: str
    leader: str
    ratio: float
    offset: float


def mimic_joints(system: System) -> list[MimicJoint]:
    """Return the joints of the robots that follow others."""
    return [
        MimicJoint(robot.name, name, mimic.joint, mimic.multiplier, mimic.offset)
        for robot in system.config.robots
        for name, (_, mimic) in system.urdfs[robot.name].mimics.items()
    ]


@dataclass(frozen=True)
class MimicRows:
    """Where an engine has mimic joints and their leaders: rows of its q and v, (n, 2) each.

    ratio, offset : (n,)
    """

    q: IntArray
    v: IntArray
    ratio: FloatArray
    offset: FloatArray

    def follow(self, q: FloatArray, v: FloatArray) -> None:
        """Write the mimic joints of an engine's q and v to where their leaders bring them."""
        q[self.q[:, 0]] = self.ratio * q[self.q[:, 1]] + self.offset
        v[self.v[:, 0]] = self.ratio * v[self.v[:, 1]]

    def gather(self, torque: FloatArray) -> None:
        """Add to the leaders of an engine's generalised torques what acts on their mimic joints."""
        np.add.at(torque, self.v[:, 1], self.ratio * torque[self.v[:, 0]])


def locate(items: Sequence[MimicJoint], place: Callable[[str, str], tuple[int, int]]) -> MimicRows:
    """Return the rows of mimic joints; place(owner, joint) gives a joint's first row in the engine's q and v."""
    rows = [[place(item.owner, name) for name in (item.joint, item.leader)] for item in items]
    both = np.array(rows, dtype=np.int64).reshape(-1, 2, 2)
    ratio, offset = (np.array([getattr(item, key) for item in items]) for key in ("ratio", "offset"))
    return MimicRows(both[:, :, 0], both[:, :, 1], ratio, offset)
