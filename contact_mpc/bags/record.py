"""A run as numpy arrays: one series per topic, with the stamps of the messages and the times of their receipt.

Poses are in the world frame W, quaternions in the order wxyz (ROS messages carry xyzw; the order changes when a bag is
read and nowhere else). Stamps `t_ns` are those of the messages (sim time in lockstep), `receive_ns` those of the
recorder's clock. What a message left empty has zero columns here, never zeros.
"""

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from contact_mpc.bags.topics import TOPICS
from contact_mpc.errors import BagError
from contact_mpc.settings.arrays import FloatArray

IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class Series:
    """What every series has: its topic, stamps (n,) ns and receive times (n,) ns."""

    topic: str
    t_ns: IntArray
    receive_ns: IntArray

    def __len__(self) -> int:
        return len(self.t_ns)


@dataclass(frozen=True)
class JointSeries(Series):
    """JointState messages; columns in the order of `names`.

    Attributes
    ----------
    position, velocity, effort : (n, k) or (n, 0) array
        rad, rad/s, N m (m, m/s, N for sliding joints).
    pose_stamp_ns : (n,) array
        Stamp of the newest object pose published before the message (lockstep), -1 where none is given.
    notes : tuple of str
        What else `header.frame_id` says: the status of an estimate; "" where it is a stamp.
    """

    names: tuple[str, ...]
    position: FloatArray
    velocity: FloatArray
    effort: FloatArray
    pose_stamp_ns: IntArray
    notes: tuple[str, ...]

    def columns(self, names: tuple[str, ...]) -> list[int]:
        """Return the columns of the joints called `names`; raises BagError naming those that are missing."""
        missing = [name for name in names if name not in self.names]
        if missing:
            raise BagError(
                f"topic {self.topic}: no joint {', '.join(missing)}; it has {', '.join(self.names)}; "
                "choose the system that the bag was recorded with"
            )
        return [self.names.index(name) for name in names]

    def select(self, kind: str, names: tuple[str, ...]) -> FloatArray:
        """Return `kind` ("position", "velocity" or "effort") of the joints called `names`, (n, len(names)).

        Raises
        ------
        BagError
            A joint is missing or the messages carry no such values.
        """
        values: FloatArray = getattr(self, kind)
        columns = self.columns(names)
        if values.shape[1] == 0:
            raise BagError(f"topic {self.topic}: its messages carry no {kind}, which is needed here")
        return values[:, columns]


@dataclass(frozen=True)
class PoseSeries(Series):
    """Poses X_WB of a body.

    Attributes
    ----------
    quaternion_wxyz : (n, 4) array
        Unit quaternion of R_WB, -.
    position_m : (n, 3) array
        p_WB, m.
    """

    quaternion_wxyz: FloatArray
    position_m: FloatArray


@dataclass(frozen=True)
class OdometrySeries(PoseSeries):
    """Poses with covariance (n, 6, 6) in the order [x y z rx ry rz] and twist (n, 6) [linear, angular]."""

    child_frame: str
    covariance: FloatArray
    twist: FloatArray


@dataclass(frozen=True)
class CommandSeries(Series):
    """What went on the wire: values (n, n_a), N m or rad; `t_ns` is the stamp in the layout label, else receipt."""

    values: FloatArray
    labelled: bool


@dataclass(frozen=True)
class TrajectoryMessage:
    """One JointTrajectory: a plan of the tracker or a reference.

    Attributes
    ----------
    stamp_ns, receive_ns : int
        Header stamp and time of receipt, ns.
    times_s : (m,) array
        Time of each point after the stamp, s.
    position, velocity, effort : (m, k) or (m, 0) array
        u, du and tau_ff: rad, rad/s, N m.
    """

    stamp_ns: int
    receive_ns: int
    names: tuple[str, ...]
    times_s: FloatArray
    position: FloatArray
    velocity: FloatArray
    effort: FloatArray


@dataclass(frozen=True)
class ObjectTrajectoryMessage:
    """One MultiDOFJointTrajectory: times (m,) s, quaternions wxyz (m, k, 4) and positions (m, k, 3) m of k objects."""

    stamp_ns: int
    receive_ns: int
    names: tuple[str, ...]
    times_s: FloatArray
    quaternion_wxyz: FloatArray
    position_m: FloatArray


@dataclass(frozen=True)
class StatusMessage:
    """One DiagnosticStatus; `stamp_ns` is that of the header or of a value `stamp_ns` or `t_ns`, else None."""

    receive_ns: int
    stamp_ns: int | None
    level: int
    name: str
    message: str
    values: dict[str, str]

    def number(self, key: str) -> float:
        """Return a value as a number; NaN where it is none, or not there."""
        try:
            return float(self.values.get(key, "nan"))
        except ValueError:
            return math.nan


@dataclass(frozen=True)
class RunRecord:
    """Everything that a bag says about a run; a topic that the bag lacks is None or empty.

    Attributes
    ----------
    topics : dict
        Every topic of the bag: its type and number of messages.
    metadata : dict
        What the recorder knew: task, system, seed, clock, plant, versions, parameters; empty for foreign bags.
    warnings : tuple of str
        What is wrong with the bag although it could be read.
    """

    path: Path
    topics: dict[str, tuple[str, int]]
    metadata: dict[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    joint_states: JointSeries | None = None
    object_pose: PoseSeries | None = None
    plant_odom: OdometrySeries | None = None
    estimated_joints: JointSeries | None = None
    estimated_odom: OdometrySeries | None = None
    desired: JointSeries | None = None
    applied: JointSeries | None = None
    effort_commands: CommandSeries | None = None
    position_commands: CommandSeries | None = None
    plans: tuple[TrajectoryMessage, ...] = ()
    references: tuple[TrajectoryMessage, ...] = ()
    object_references: tuple[ObjectTrajectoryMessage, ...] = ()
    solve_status: tuple[StatusMessage, ...] = ()
    safety: tuple[StatusMessage, ...] = ()
    diagnostics: tuple[StatusMessage, ...] = ()

    @property
    def messages(self) -> int:
        """Number of messages in the bag, all topics."""
        return sum(count for _, count in self.topics.values())

    @property
    def duration_s(self) -> float:
        """Time between the first and the last stamp of the joint states, s; 0 without any."""
        if self.joint_states is None or len(self.joint_states) < 2:
            return 0.0
        return float(self.joint_states.t_ns[-1] - self.joint_states.t_ns[0]) * 1e-9

    @property
    def commands(self) -> CommandSeries | None:
        """The commands on the wire, whichever mode the bridge ran in."""
        return self.effort_commands if self.effort_commands is not None else self.position_commands

    def __repr__(self) -> str:
        """Name the bag, and what it holds, in one line."""
        return (
            f"RunRecord of {self.path}: {self.messages} messages on {len(self.topics)} topics, {self.duration_s:.1f} s"
        )

    def need(self, *names: str) -> None:
        """Raise BagError unless all the series called `names` hold messages.

        Parameters
        ----------
        *names : str
            Attributes of the record, such as "joint_states".
        """
        missing = [TOPICS[name].suffix for name in names if not getattr(self, name)]
        if missing:
            raise BagError(
                f"{self.path}: no messages on {', '.join(missing)}; it has "
                f"{', '.join(sorted(self.topics)) or 'no topics'}; record those topics too"
            )
