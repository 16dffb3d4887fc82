"""Conversions between ROS messages and numpy: joints matched by name, non-finite values and wrong lengths refused.

Quaternions are xyzw in messages and wxyz everywhere else; stamps are integer nanoseconds outside messages. Readers
raise InputError on messages that must not get any further.
"""

import re
from array import array
from collections.abc import Mapping, Sequence

import numpy as np
from builtin_interfaces.msg import Duration, Time
from diagnostic_msgs.msg import DiagnosticStatus, KeyValue
from geometry_msgs.msg import Point, Pose, PoseStamped, Quaternion, Vector3
from nav_msgs.msg import Odometry
from numpy.typing import NDArray
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, MultiArrayDimension
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from contact_mpc.errors import InputError
from contact_mpc.model.rotations import matrix_to_quaternion, quaternion_to_matrix
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.units import NS_PER_S
from contact_mpc.task.loop_records import CommandPlan
from contact_mpc.task.object_motion import ObjectMotion

COMMAND_LABEL = "t_ns="
INTEGER = re.compile(r"-?[0-9]{1,19}")  # what fits 64 bits; Python refuses to convert beyond 4300 digits
MOST_SHOWN, LONGEST_SHOWN = 40, 800  # names and characters of what a stranger wrote, in an error
QUATERNION_TOLERANCE = 1e-3  # drivers send float32 quaternions; anything worse is not a rotation
# Order of the covariance of a tangent vector [rotation, translation] in a message [x y z rx ry rz].
COVARIANCE_ORDER = np.array([3, 4, 5, 0, 1, 2])


def to_stamp(t_ns: int) -> Time:
    """Return the message stamp of a time in ns."""
    return Time(sec=t_ns // NS_PER_S, nanosec=t_ns % NS_PER_S)


def set_stamp(stamp: Time, t_ns: int) -> None:
    """Write a time in ns into an existing stamp."""
    stamp.sec, stamp.nanosec = divmod(t_ns, NS_PER_S)


def from_stamp(stamp: Time | Duration) -> int:
    """Return a stamp or duration in ns."""
    return int(stamp.sec) * NS_PER_S + int(stamp.nanosec)


def to_duration(seconds: float) -> Duration:
    """Return a message duration, rounded to ns."""
    t_ns = round(seconds * NS_PER_S)
    return Duration(sec=t_ns // NS_PER_S, nanosec=t_ns % NS_PER_S)


def to_array(values: FloatArray) -> "array[float]":
    """Return the flat array type that rclpy messages store without checking every element."""
    return array("d", np.ascontiguousarray(values, dtype=np.float64).tobytes())


class JointOrder:
    """Finds the columns of a message for the joints of a system, by name, and remembers them while names stay.

    Parameters
    ----------
    names : sequence of str
        The joints wanted, in the order wanted.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)
        self._message_names: list[str] | None = None
        self._columns: NDArray[np.int64] | None = None

    def columns(self, message_names: Sequence[str]) -> NDArray[np.int64] | None:
        """Return the column of each joint, or None where the message already has the order wanted.

        Raises
        ------
        InputError
            A joint is missing or named twice.
        """
        if message_names != self._message_names:
            self._columns = self._find(list(message_names))
            self._message_names = list(message_names)
        return self._columns

    def _find(self, names: list[str]) -> NDArray[np.int64] | None:
        missing = [name for name in self.names if names.count(name) != 1]
        if missing:
            raise InputError(
                f"joint{'s' * (len(missing) > 1)} {', '.join(missing)} missing or named twice; "
                f"the message names {', '.join(names[:MOST_SHOWN])[:LONGEST_SHOWN] or 'none'}"
                f"{f' and more, {len(names)} in all' if len(names) > MOST_SHOWN else ''}: "
                "send every joint of the robot exactly once"
            )
        if tuple(names) == self.names:
            return None
        return np.array([names.index(name) for name in self.names], dtype=np.int64)

    def pick(self, what: str, values: Sequence[float], message_names: Sequence[str]) -> FloatArray:
        """Return the values (n,) of the joints in the order wanted.

        Raises
        ------
        InputError
            Wrong names, wrong length, or a value that is not finite.
        """
        columns = self.columns(message_names)
        out = np.array(values, dtype=np.float64)
        if out.shape != (len(message_names),):
            raise InputError(f"{what} has {out.size} values for {len(message_names)} names")
        if columns is not None:
            out = out[columns]
        if not np.isfinite(out).all():
            bad = [name for name, value in zip(self.names, out, strict=True) if not np.isfinite(value)]
            raise InputError(f"{what} of {', '.join(bad)} is not finite")
        return out


def read_joint_state(message: JointState, order: JointOrder) -> tuple[FloatArray, FloatArray | None, FloatArray | None]:
    """Return position, velocity and effort (n_a,) of the joints; velocity and effort are None where not sent.

    Raises
    ------
    InputError
        Wrong names, wrong length or a value that is not finite.
    """
    position = order.pick("position", message.position, message.name)
    velocity = order.pick("velocity", message.velocity, message.name) if message.velocity else None
    effort = order.pick("effort", message.effort, message.name) if message.effort else None
    return position, velocity, effort


def make_joint_state(names: Sequence[str]) -> JointState:
    """Return a JointState to be filled again and again by `fill_joint_state`."""
    return JointState(name=list(names))


def fill_joint_state(
    message: JointState, t_ns: int, position: FloatArray, velocity: FloatArray | None, effort: FloatArray | None
) -> JointState:
    """Write stamp and values (n_a,) into a message; None leaves the field empty."""
    set_stamp(message.header.stamp, t_ns)
    message.position = to_array(position)
    message.velocity = array("d") if velocity is None else to_array(velocity)
    message.effort = array("d") if effort is None else to_array(effort)
    return message


def read_pose(pose: Pose) -> tuple[FloatArray, FloatArray]:
    """Return (R_WB (3, 3), p_WB (3,)); raises InputError on non-finite values or a quaternion that is not unit."""
    return read_rigid_transform(pose.orientation, pose.position)


def read_rigid_transform(rotation: Quaternion, translation: Point | Vector3) -> tuple[FloatArray, FloatArray]:
    """Return (R (3, 3), p (3,)) of message parts; raises InputError as `read_pose`."""
    wxyz = np.array([rotation.w, rotation.x, rotation.y, rotation.z])
    p = np.array([translation.x, translation.y, translation.z])
    if not (np.isfinite(wxyz).all() and np.isfinite(p).all()):
        raise InputError("pose is not finite")
    with np.errstate(over="ignore"):
        norm = float(np.linalg.norm(wxyz))
    if abs(norm - 1.0) > QUATERNION_TOLERANCE:
        raise InputError(f"orientation has norm {norm:.6g}; send a unit quaternion")
    return quaternion_to_matrix(wxyz / norm), p


def fill_pose(pose: Pose, R_WB: FloatArray, p_WB: FloatArray) -> Pose:
    """Write X_WB into a pose."""
    w, x, y, z = matrix_to_quaternion(R_WB).tolist()
    pose.orientation.w, pose.orientation.x, pose.orientation.y, pose.orientation.z = w, x, y, z
    pose.position.x, pose.position.y, pose.position.z = p_WB.tolist()
    return pose


def to_pose_stamped(t_ns: int, R_WB: FloatArray, p_WB: FloatArray, frame_id: str = "world") -> PoseStamped:
    """Return a stamped pose of the object in the world frame."""
    message = PoseStamped()
    set_stamp(message.header.stamp, t_ns)
    message.header.frame_id = frame_id
    fill_pose(message.pose, R_WB, p_WB)
    return message


def make_odometry(object_name: str) -> Odometry:
    """Return an Odometry for `fill_odometry`; its twist is in world axes, as the child frame's name says."""
    message = Odometry()
    message.header.frame_id = "world"
    message.child_frame_id = f"{object_name}_world_aligned"
    return message


def fill_odometry(message: Odometry, t_ns: int, motion: ObjectMotion) -> Odometry:
    """Write stamp, pose, twist and covariance of one object into a message made by `make_odometry`."""
    set_stamp(message.header.stamp, t_ns)
    fill_pose(message.pose.pose, motion.R_WB, motion.p_WB)
    twist = message.twist.twist
    values = motion.V_WB.tolist()
    twist.angular.x, twist.angular.y, twist.angular.z, twist.linear.x, twist.linear.y, twist.linear.z = values
    message.pose.covariance = motion.covariance[np.ix_(COVARIANCE_ORDER, COVARIANCE_ORDER)].ravel()
    return message


def read_odometry(message: Odometry) -> ObjectMotion:
    """Return the motion of an object; raises InputError as `read_pose`, and on non-finite twist or covariance."""
    R_WB, p_WB = read_pose(message.pose.pose)
    angular, linear = message.twist.twist.angular, message.twist.twist.linear
    V_WB = np.array([angular.x, angular.y, angular.z, linear.x, linear.y, linear.z])
    covariance = np.array(message.pose.covariance, dtype=np.float64).reshape(6, 6)
    if not (np.isfinite(V_WB).all() and np.isfinite(covariance).all()):
        raise InputError("odometry: twist or covariance is not finite")
    return ObjectMotion(R_WB, p_WB, V_WB, covariance[np.ix_(COVARIANCE_ORDER, COVARIANCE_ORDER)])


def make_commands(n_a: int) -> Float64MultiArray:
    """Return a command message to be filled by `fill_commands`."""
    message = Float64MultiArray()
    message.layout.dim = [MultiArrayDimension(label="", size=n_a, stride=n_a)]
    return message


def fill_commands(message: Float64MultiArray, t_ns: int, values: FloatArray) -> Float64MultiArray:
    """Write the commands (n_a,) for the step that begins at t_ns, which goes into the label of the dimension."""
    message.layout.dim[0].label = f"{COMMAND_LABEL}{t_ns}"
    message.data = to_array(values)
    return message


def read_commands(message: Float64MultiArray, n_a: int) -> tuple[int | None, FloatArray]:
    """Return (stamp in ns or None where the sender gave none, values (n_a,)).

    Raises
    ------
    InputError
        Wrong length, a value that is not finite, or a label that is no stamp.
    """
    values = np.array(message.data, dtype=np.float64)
    if values.shape != (n_a,):
        raise InputError(f"commands have {values.size} values, the robot has {n_a} joints")
    if not np.isfinite(values).all():
        raise InputError("commands are not finite")
    label = message.layout.dim[0].label if message.layout.dim else ""
    if not label.startswith(COMMAND_LABEL):
        return None, values
    digits = label.removeprefix(COMMAND_LABEL)
    if not INTEGER.fullmatch(digits):
        raise InputError(f"commands: label {label[:LONGEST_SHOWN]!r} is no stamp; expected '{COMMAND_LABEL}<integer>'")
    return int(digits), values


def to_trajectory(
    stamp_ns: int, names: Sequence[str], times_s: FloatArray, u: FloatArray, du: FloatArray | None, tau_ff: FloatArray
) -> JointTrajectory:
    """Return a JointTrajectory with u (n, n_a) as positions, du as velocities and tau_ff as effort."""
    message = JointTrajectory(joint_names=list(names))
    set_stamp(message.header.stamp, stamp_ns)
    for i, time_s in enumerate(times_s):
        point = JointTrajectoryPoint(time_from_start=to_duration(float(time_s)))
        point.positions = to_array(u[i])
        point.velocities = array("d") if du is None else to_array(du[i])
        point.effort = to_array(tau_ff[i])
        message.points.append(point)
    return message


def read_trajectory(
    message: JointTrajectory, order: JointOrder
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return (times_s (n,), u, du, tau_ff (n, n_a)); velocities and efforts that were not sent are zero.

    Raises
    ------
    InputError
        Wrong names or lengths, non-finite values, or times that do not increase.
    """
    names, n_a = message.joint_names, len(order.names)
    order.columns(names)
    times = np.array([from_stamp(point.time_from_start) for point in message.points], dtype=np.int64)
    if np.any(times < 0) or np.any(np.diff(times) <= 0):
        raise InputError("trajectory: times of the points must increase from 0 on")
    shape = (len(times), n_a)
    u, du, tau_ff = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    for i, point in enumerate(message.points):
        u[i] = order.pick("positions", point.positions, names)
        if point.velocities:
            du[i] = order.pick("velocities", point.velocities, names)
        if point.effort:
            tau_ff[i] = order.pick("effort", point.effort, names)
    return times.astype(np.float64) * 1e-9, u, du, tau_ff


def to_plan_message(plan: CommandPlan, names: Sequence[str], session: str = "") -> JointTrajectory:
    """Return the message of a command plan, with the session as its frame; a hold has no points."""
    message = to_trajectory(plan.stamp_ns, names, plan.times_s, plan.u, plan.du, plan.tau_ff)
    message.header.frame_id = session
    return message


def read_plan(message: JointTrajectory, order: JointOrder) -> CommandPlan:
    """Return the command plan of a message; raises InputError as `read_trajectory`."""
    return CommandPlan(from_stamp(message.header.stamp), *read_trajectory(message, order))


def to_status(level: bytes, name: str, message: str, values: Mapping[str, object]) -> DiagnosticStatus:
    """Return a DiagnosticStatus; floats are written with all their digits."""
    pairs = [KeyValue(key=key, value=str(value)) for key, value in values.items()]
    return DiagnosticStatus(level=level, name=name, message=message, values=pairs)


def values_of(status: DiagnosticStatus) -> dict[str, str]:
    """Return the values of a DiagnosticStatus by their keys."""
    return {pair.key: pair.value for pair in status.values}
