"""A small system of its own and synthetic bags whose every number is known."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rosbags.rosbag2 import StoragePlugin
from rosbags.typesys import Stores, get_typestore

from contact_mpc.bags.checked_writer import CheckedWriter
from contact_mpc.model.rotations import quaternion_exp
from contact_mpc.task.task import load_task

STEP_NS = 1_000_000
T0_NS = 1_000_000_000
WALL_NS = 1_700_000_000_000_000_000
SYSTEM_YAML = """
name: finger_ball
gravity_m_s2: [0.0, 0.0, 0.0]
friction: {default: 1.0, pairs: []}
robots:
  - {name: finger, urdf: finger.urdf, joint_stiffness_nm_per_rad: 10.0, joint_damping_nms_per_rad: 0.3}
objects:
  - {name: ball, urdf: ball.urdf, mobility: free, position_m: [0.05, 0.0, 0.3]}
"""
INERTIA = '<inertial><mass value="0.1"/><inertia ixx="1e-4" iyy="1e-4" izz="1e-4" ixy="0" ixz="0" iyz="0"/></inertial>'
BALL_URDF = f"""<robot name="ball"><link name="ball">{INERTIA}
  <collision><geometry><sphere radius="0.06"/></geometry></collision></link></robot>"""
FINGER_URDF = f"""<robot name="finger"><link name="base"/>
  <link name="one">{INERTIA}<collision><origin xyz="0 0 0.06"/><geometry><box size="0.02 0.02 0.12"/></geometry>
  </collision></link>
  <link name="two">{INERTIA}<collision><origin xyz="0 0 0.05"/><geometry>
  <capsule radius="0.01" length="0.08"/></geometry></collision></link>
  <joint name="joint_one" type="revolute"><parent link="base"/><child link="one"/><axis xyz="0 1 0"/>
    <limit lower="-1.5" upper="1.5" velocity="6.0" effort="0.7"/></joint>
  <joint name="joint_two" type="revolute"><parent link="one"/><child link="two"/><origin xyz="0 0 0.12"/>
    <axis xyz="0 1 0"/><limit lower="-1.5" upper="1.5" velocity="6.0" effort="0.7"/></joint></robot>"""
TASK_YAML = """
name: turn
system: finger_ball.yaml
start:
  joints_rad: {joint_one: 0.0, joint_two: 0.0}
  commands_rad: {joint_one: 0.0, joint_two: 0.0}
  object_position_m: [0.05, 0.0, 0.3]
goal: {rotation_axis: [0.0, 0.0, 1.0], rotation_deg: 30.0}
duration_s: 0.5
hold_s: 0.2
tolerance_deg: 3.0
tolerance_mm: 2.0
"""
FILES = {
    "finger_ball.yaml": SYSTEM_YAML,
    "ball.urdf": BALL_URDF,
    "finger.urdf": FINGER_URDF,
    "turn.yaml": TASK_YAML,
}
JOINTS = ("joint_one", "joint_two")


@dataclass
class SyntheticRun:
    """A run of a finger that turns a ball at a constant rate and then holds; write() makes a bag of it."""

    turn_deg: float = 30.0
    axis: tuple[float, float, float] = (0.0, 0.0, 1.0)
    offset_mm: tuple[float, float, float] = (0.0, 0.0, 0.0)
    start_m: tuple[float, float, float] = (0.05, 0.0, 0.3)
    motion_s: float = 0.5
    hold_s: float = 0.2
    lead_s: float = 0.1
    start_ns: int = T0_NS
    wall_per_stamp: float = 2.0
    namespace: str = "/finger"
    torque_nm: float = 0.1
    drop_m: float = 0.0
    without: tuple[str, ...] = ()
    metadata: dict[str, Any] | None = field(default_factory=lambda: {"clock": "lockstep", "seed": 7})
    storage: StoragePlugin = StoragePlugin.MCAP
    joint_names: tuple[str, ...] = JOINTS
    skip_commands: tuple[int, ...] = ()
    command_delay_ns: int = 200_000

    def stamps(self) -> np.ndarray:
        """Stamps of the plant steps, ns."""
        steps = round((self.lead_s + self.motion_s + self.hold_s) * 1000)
        return self.start_ns + STEP_NS * np.arange(steps + 1)

    def pose(self, stamp_ns: int) -> tuple[np.ndarray, np.ndarray]:
        """Quaternion wxyz and position of the ball at a stamp."""
        part = np.clip(((stamp_ns - self.start_ns) * 1e-9 - self.lead_s) / self.motion_s, 0.0, 1.0)
        wxyz = quaternion_exp(np.radians(self.turn_deg) * part * np.array(self.axis))
        fall = np.array([0.0, 0.0, -self.drop_m]) * part
        return wxyz, np.array(self.start_m) + 1e-3 * np.array(self.offset_mm) * part + fall

    def wall(self, stamp_ns: int) -> int:
        """Time of receipt of what is stamped stamp_ns."""
        return WALL_NS + round((stamp_ns - self.start_ns) * self.wall_per_stamp)

    def write(self, path: Path) -> Path:
        """Write the bag and return its folder."""
        messages = Messages()
        writer = BagWriter(path, self.namespace, self.without, messages.store, self.storage)
        if self.metadata is not None:
            writer.add("run_metadata", self.wall(self.start_ns), messages.text(self.metadata))
        reference_ns = self.start_ns + round(self.lead_s * 1e9)
        self._write_references(writer, messages, reference_ns)
        for number, stamp_ns in enumerate(self.stamps().tolist()):
            self._write_step(writer, messages, number, stamp_ns)
        writer.close()
        return path

    def _swing(self) -> np.ndarray:
        """How far the joints move, rad: alternately forth and back."""
        return np.where(np.arange(len(self.joint_names)) % 2, -0.2, 0.2)

    def _write_references(self, writer: "BagWriter", messages: "Messages", stamp_ns: int) -> None:
        times = np.linspace(0.0, self.motion_s, 6)
        goal = [self.pose(stamp_ns + round(t * 1e9)) for t in times]
        straight = [(wxyz, np.array(self.start_m)) for wxyz, _ in goal]
        u = np.linspace(0.0 * self._swing(), self._swing(), len(times))
        wall = self.wall(self.start_ns) + 1
        writer.add("reference", wall, messages.trajectory(stamp_ns, self.joint_names, times, u, 0 * u, 0 * u))
        writer.add("object_reference", wall, messages.object_trajectory(stamp_ns, "ball", times, straight))

    def _write_step(self, writer: "BagWriter", messages: "Messages", number: int, stamp_ns: int) -> None:
        wall, (wxyz, position) = self.wall(stamp_ns), self.pose(stamp_ns)
        q = self._swing() * number / len(self.stamps())
        tau = self.torque_nm * np.where(np.arange(len(q)) % 2, -0.5, 1.0)
        writer.add("joint_states", wall, messages.joints(stamp_ns, self.joint_names, q, 0 * q, tau))
        writer.add("plant/object_odom", wall + 1, messages.odometry(stamp_ns, wxyz, position))
        if number not in self.skip_commands:
            writer.add("effort_controller/commands", wall + self.command_delay_ns, messages.command(stamp_ns, tau))
        applied = messages.joints(stamp_ns, self.joint_names, q + 0.01, 0 * q, tau)
        writer.add("command_bridge/applied", wall + 3, applied)
        if number % 17 == 0:
            writer.add("object_pose", wall + 4, messages.pose(stamp_ns, wxyz, position))
        if number % 5 == 0:
            writer.add("state_estimator/joint_states", wall + 5, messages.joints(stamp_ns, self.joint_names, q, q, q))
            writer.add("state_estimator/object_odom", wall + 6, messages.odometry(stamp_ns, wxyz, position))
        if number % 100 == 0:
            times, u = np.array([0.0, 0.1, 0.2]), np.array([q, q + 0.01, q + 0.02])
            plan = messages.trajectory(stamp_ns, self.joint_names, times, u, 0 * u, 0 * u)
            writer.add("mpc_tracker/plan", wall + 7, plan)
            writer.add("mpc_tracker/solve_status", wall + 8, messages.status({"solve_ms": f"{1.0 + number / 100}"}))


class Messages:
    """Standard messages from plain values."""

    def __init__(self) -> None:
        self.store = get_typestore(Stores.ROS2_JAZZY)
        self.types = self.store.types

    def _header(self, stamp_ns: int, frame: str = "world") -> Any:
        time = self.types["builtin_interfaces/msg/Time"](sec=stamp_ns // 10**9, nanosec=stamp_ns % 10**9)
        return self.types["std_msgs/msg/Header"](stamp=time, frame_id=frame)

    def _duration(self, time_s: float) -> Any:
        nanoseconds = round(time_s * 1e9)
        kind = self.types["builtin_interfaces/msg/Duration"]
        return kind(sec=nanoseconds // 10**9, nanosec=nanoseconds % 10**9)

    def _vector(self, xyz: Any) -> Any:
        return self.types["geometry_msgs/msg/Vector3"](*(float(value) for value in xyz))

    def _pose(self, wxyz: np.ndarray, position: np.ndarray) -> Any:
        w, x, y, z = (float(value) for value in wxyz)
        return self.types["geometry_msgs/msg/Pose"](
            position=self.types["geometry_msgs/msg/Point"](*(float(value) for value in position)),
            orientation=self.types["geometry_msgs/msg/Quaternion"](x=x, y=y, z=z, w=w),
        )

    def joints(self, stamp_ns: int, names: tuple[str, ...], q: Any, v: Any, tau: Any, frame: str = "") -> Any:
        """JointState."""
        values = [np.asarray(value, dtype=np.float64) for value in (q, v, tau)]
        return self.types["sensor_msgs/msg/JointState"](self._header(stamp_ns, frame), list(names), *values)

    def pose(self, stamp_ns: int, wxyz: np.ndarray, position: np.ndarray) -> Any:
        """PoseStamped."""
        return self.types["geometry_msgs/msg/PoseStamped"](self._header(stamp_ns), self._pose(wxyz, position))

    def odometry(
        self, stamp_ns: int, wxyz: Any, position: Any, omega: Any = (0.0, 0.0, 0.0), velocity: Any = (0.0, 0.0, 0.0)
    ) -> Any:
        """Odometry without covariance."""
        zeros = np.zeros(36)
        kind = self.types["geometry_msgs/msg/Twist"]
        twist = kind(linear=self._vector(velocity), angular=self._vector(omega))
        return self.types["nav_msgs/msg/Odometry"](
            header=self._header(stamp_ns),
            child_frame_id="ball",
            pose=self.types["geometry_msgs/msg/PoseWithCovariance"](self._pose(wxyz, position), zeros),
            twist=self.types["geometry_msgs/msg/TwistWithCovariance"](twist, zeros),
        )

    def command(self, stamp_ns: int, values: np.ndarray) -> Any:
        """Float64MultiArray labelled with the stamp."""
        dim = self.types["std_msgs/msg/MultiArrayDimension"](f"t_ns={stamp_ns}", len(values), len(values))
        layout = self.types["std_msgs/msg/MultiArrayLayout"](dim=[dim], data_offset=0)
        return self.types["std_msgs/msg/Float64MultiArray"](layout=layout, data=np.asarray(values))

    def trajectory(self, stamp_ns: int, names: tuple[str, ...], times: Any, u: Any, du: Any, tau: Any) -> Any:
        """JointTrajectory."""
        kind = self.types["trajectory_msgs/msg/JointTrajectoryPoint"]
        points = [
            kind(u[i].copy(), du[i].copy(), np.zeros(0), tau[i].copy(), self._duration(t)) for i, t in enumerate(times)
        ]
        return self.types["trajectory_msgs/msg/JointTrajectory"](self._header(stamp_ns), list(names), points)

    def object_trajectory(self, stamp_ns: int, name: str, times: Any, poses: Any) -> Any:
        """MultiDOFJointTrajectory of one object."""
        kind = self.types["trajectory_msgs/msg/MultiDOFJointTrajectoryPoint"]
        points = []
        for t, (wxyz, position) in zip(times, poses, strict=True):
            pose = self._pose(wxyz, position)
            transform = self.types["geometry_msgs/msg/Transform"](self._vector(position), pose.orientation)
            points.append(kind([transform], [], [], self._duration(t)))
        return self.types["trajectory_msgs/msg/MultiDOFJointTrajectory"](self._header(stamp_ns), [name], points)

    def status(self, values: dict[str, str], level: int = 0, message: str = "") -> Any:
        """DiagnosticStatus."""
        pairs = [self.types["diagnostic_msgs/msg/KeyValue"](key, value) for key, value in values.items()]
        return self.types["diagnostic_msgs/msg/DiagnosticStatus"](level, "test", message, "", pairs)

    def status_array(self, stamp_ns: int, statuses: list[Any]) -> Any:
        """DiagnosticArray."""
        return self.types["diagnostic_msgs/msg/DiagnosticArray"](self._header(stamp_ns), statuses)

    def text(self, data: Any) -> Any:
        """String of JSON."""
        return self.types["std_msgs/msg/String"](json.dumps(data))


class BagWriter:
    """Write messages by relative topic name; names in `without` are left out."""

    def __init__(self, path: Path, namespace: str, without: tuple[str, ...], store: Any, storage: Any) -> None:
        self._writer = CheckedWriter(path, storage)
        self._writer.open()
        self._namespace, self._without, self._store = namespace, without, store
        self._connections: dict[str, Any] = {}

    def add(self, name: str, receive_ns: int, message: Any) -> None:
        """Append one message."""
        if name in self._without:
            return
        topic = f"{self._namespace}/{name}"
        if topic not in self._connections:
            kind = message.__msgtype__
            self._connections[topic] = self._writer.add_connection(topic, kind, typestore=self._store)
        data = self._store.serialize_cdr(message, message.__msgtype__)
        self._writer.write(self._connections[topic], receive_ns, data)

    def close(self) -> None:
        """Write index and metadata."""
        self._writer.close()


@pytest.fixture(scope="session")
def synthetic_run() -> type[SyntheticRun]:
    """The class of synthetic runs."""
    return SyntheticRun


@pytest.fixture
def bag_writer(tmp_path: Path) -> Any:
    """A function that opens a writer of a new bag with messages of any kind."""

    def make(name: str, namespace: str = "/finger", without: tuple[str, ...] = ()) -> tuple[BagWriter, Messages, Path]:
        messages, path = Messages(), tmp_path / name
        return BagWriter(path, namespace, without, messages.store, StoragePlugin.MCAP), messages, path

    return make


@pytest.fixture(scope="session")
def finger_task(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Turn a ball by 30 degrees about z in 0.5 s beside a finger of two joints, then hold for 0.2 s."""
    folder = tmp_path_factory.mktemp("finger_ball")
    for name, text in FILES.items():
        (folder / name).write_text(text)
    return load_task(folder / "turn.yaml")


@pytest.fixture(scope="session")
def finger_system(finger_task: Any) -> Any:
    """The system of that task."""
    return finger_task.system
