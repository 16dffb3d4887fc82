"""Collect the messages of one topic and turn them into its series."""

import json
import sys
from array import array
from typing import Any, Protocol

import numpy as np

from contact_mpc.bags import topics
from contact_mpc.bags.columns import Columns, ints
from contact_mpc.bags.record import (
    CommandSeries,
    JointSeries,
    ObjectTrajectoryMessage,
    OdometrySeries,
    PoseSeries,
    StatusMessage,
    TrajectoryMessage,
)
from contact_mpc.errors import BagError
from contact_mpc.settings.units import NS_PER_S

STAMP_LABEL = "t_ns="


class Builder(Protocol):
    """Takes the messages of one topic in order, then returns their series."""

    key: str

    def add(self, message: Any, receive_ns: int) -> None:
        """Take one deserialised message and its time of receipt, ns."""

    def build(self) -> Any:
        """Return the series of everything taken so far."""

    def warnings(self) -> list[str]:
        """Return what was wrong with messages, one sentence each."""


class _JointBuilder(Columns):
    """JointState: columns in the order of the first message, later ones reordered by name."""

    names: tuple[str, ...] = ()

    def __init__(self, key: str, topic: str) -> None:
        super().__init__(key, topic)
        self._pose_stamps = array("q")
        self._notes: list[str] = []

    def add(self, message: Any, receive_ns: int) -> None:
        names = tuple(message.name)
        self.names = self.names or names
        if names != self.names and set(names) != set(self.names):
            why = f"their joints are {', '.join(names) or 'none'}, not {', '.join(self.names)}"
            self.skipped[why] = self.skipped.get(why, 0) + 1
            return
        values = {kind: _reorder(getattr(message, kind), names, self.names) for kind in _JOINT_KINDS}
        self.row(_stamp(message.header, receive_ns), receive_ns, **values)
        frame = message.header.frame_id
        self._pose_stamps.append(int(frame) if frame.isdecimal() else -1)
        self._notes.append("" if frame.isdecimal() else sys.intern(frame))

    def build(self) -> JointSeries:
        return JointSeries(
            **self.stamps(),
            names=self.names,
            position=self.column("position"),
            velocity=self.column("velocity"),
            effort=self.column("effort"),
            pose_stamp_ns=ints(self._pose_stamps),
            notes=tuple(self._notes),
        )


class _PoseBuilder(Columns):
    """PoseStamped."""

    def add(self, message: Any, receive_ns: int) -> None:
        wxyz, position = _pose(message.pose)
        self.row(_stamp(message.header, receive_ns), receive_ns, wxyz=wxyz, position=position)

    def build(self) -> PoseSeries:
        return PoseSeries(**self.stamps(), quaternion_wxyz=self.column("wxyz"), position_m=self.column("position"))


class _OdometryBuilder(Columns):
    """Odometry."""

    child_frame = ""

    def add(self, message: Any, receive_ns: int) -> None:
        self.child_frame = message.child_frame_id
        wxyz, position = _pose(message.pose.pose)
        twist = message.twist.twist
        velocity = [*_xyz(twist.linear), *_xyz(twist.angular)]
        self.row(
            _stamp(message.header, receive_ns),
            receive_ns,
            wxyz=wxyz,
            position=position,
            covariance=message.pose.covariance,
            twist=velocity,
        )

    def build(self) -> OdometrySeries:
        return OdometrySeries(
            **self.stamps(),
            quaternion_wxyz=self.column("wxyz"),
            position_m=self.column("position"),
            child_frame=self.child_frame,
            covariance=self.column("covariance", 6, 6),
            twist=self.column("twist"),
        )


class _CommandBuilder(Columns):
    """Float64MultiArray whose first dimension is labelled with the stamp of the state it answers."""

    labelled = True

    def add(self, message: Any, receive_ns: int) -> None:
        label = message.layout.dim[0].label if message.layout.dim else ""
        stamped = label.startswith(STAMP_LABEL) and label[len(STAMP_LABEL) :].isdecimal()
        self.labelled = self.labelled and stamped
        stamp_ns = int(label[len(STAMP_LABEL) :]) if stamped else receive_ns
        self.row(stamp_ns, receive_ns, values=message.data)

    def build(self) -> CommandSeries:
        return CommandSeries(**self.stamps(), values=self.column("values"), labelled=self.labelled)


class _Messages:
    """Keeps rare messages one by one."""

    def __init__(self, key: str, topic: str) -> None:
        self.key = key
        self.topic = topic
        self.kept: list[Any] = []

    def build(self) -> Any:
        return tuple(self.kept)

    def warnings(self) -> list[str]:
        return []


class _TrajectoryBuilder(_Messages):
    """JointTrajectory; no points is a plan that asks to hold."""

    def add(self, message: Any, receive_ns: int) -> None:
        points = message.points
        columns = [
            np.array([getattr(point, kind) for point in points], dtype=np.float64).reshape(len(points), -1)
            if points
            else np.zeros((0, len(message.joint_names)))
            for kind in ("positions", "velocities", "effort")
        ]
        times = np.array([_seconds(point.time_from_start) for point in points])
        stamp_ns = _stamp(message.header, receive_ns)
        self.kept.append(TrajectoryMessage(stamp_ns, receive_ns, tuple(message.joint_names), times, *columns))


class _ObjectTrajectoryBuilder(_Messages):
    """MultiDOFJointTrajectory."""

    def add(self, message: Any, receive_ns: int) -> None:
        shape = (len(message.points), len(message.joint_names))
        wxyz, position = np.zeros((*shape, 4)), np.zeros((*shape, 3))
        for i, point in enumerate(message.points):
            for k, transform in enumerate(point.transforms):
                turn = transform.rotation
                wxyz[i, k] = turn.w, turn.x, turn.y, turn.z
                position[i, k] = _xyz(transform.translation)
        times = np.array([_seconds(point.time_from_start) for point in message.points])
        names = tuple(message.joint_names)
        stamp_ns = _stamp(message.header, receive_ns)
        self.kept.append(ObjectTrajectoryMessage(stamp_ns, receive_ns, names, times, wxyz, position))


class _StatusBuilder(_Messages):
    """DiagnosticStatus."""

    def add(self, message: Any, receive_ns: int) -> None:
        self._keep(message, receive_ns, None)

    def _keep(self, status: Any, receive_ns: int, stamp_ns: int | None) -> None:
        values = {pair.key: pair.value for pair in status.values}
        for key in ("stamp_ns", "t_ns"):
            if stamp_ns is None and values.get(key, "").isdecimal():
                stamp_ns = int(values[key])
        level = status.level if isinstance(status.level, int) else int.from_bytes(status.level, "little")
        self.kept.append(StatusMessage(receive_ns, stamp_ns, level, status.name, status.message, values))


class _StatusArrayBuilder(_StatusBuilder):
    """DiagnosticArray, flattened."""

    def add(self, message: Any, receive_ns: int) -> None:
        for status in message.status:
            self._keep(status, receive_ns, _stamp(message.header, receive_ns))


class _MetadataBuilder(_Messages):
    """The recorder's JSON; the last message counts."""

    def add(self, message: Any, receive_ns: int) -> None:
        try:
            data = json.loads(message.data)
        except json.JSONDecodeError as error:
            raise BagError(f"topic {self.topic}: not valid JSON ({error}); is it this package's recorder's?") from error
        if not isinstance(data, dict):
            raise BagError(f"topic {self.topic}: expected a JSON object, found {type(data).__name__}")
        self.kept = [data]

    def build(self) -> dict[str, Any]:
        return dict(self.kept[0]) if self.kept else {}


_JOINT_KINDS = ("position", "velocity", "effort")
_BUILDERS: dict[str, type[Any]] = {
    topics.JOINTS: _JointBuilder,
    topics.POSE: _PoseBuilder,
    topics.ODOMETRY: _OdometryBuilder,
    topics.COMMANDS: _CommandBuilder,
    topics.TRAJECTORY: _TrajectoryBuilder,
    topics.OBJECT_TRAJECTORY: _ObjectTrajectoryBuilder,
    topics.STATUS: _StatusBuilder,
    topics.STATUS_ARRAY: _StatusArrayBuilder,
    topics.TEXT: _MetadataBuilder,
}


def make_builder(key: str, topic: str, msgtype: str) -> Builder:
    """Return the builder of the series `key` from `topic` of type `msgtype`."""
    builder: Builder = _BUILDERS[msgtype](key, topic)
    return builder


def _stamp(header: Any, receive_ns: int) -> int:
    """Stamp of a header, ns; a driver that leaves it at zero is stamped by its receipt."""
    stamp_ns = int(header.stamp.sec) * NS_PER_S + int(header.stamp.nanosec)
    return stamp_ns if stamp_ns else receive_ns


def _seconds(duration: Any) -> float:
    return float(int(duration.sec) * NS_PER_S + int(duration.nanosec)) * 1e-9


def _xyz(vector: Any) -> tuple[float, float, float]:
    return vector.x, vector.y, vector.z


def _pose(pose: Any) -> tuple[tuple[float, float, float, float], tuple[float, float, float]]:
    turn = pose.orientation
    return (turn.w, turn.x, turn.y, turn.z), _xyz(pose.position)


def _reorder(values: Any, names: tuple[str, ...], wanted: tuple[str, ...]) -> Any:
    if names == wanted or len(values) == 0:
        return values
    return [values[names.index(name)] for name in wanted]
