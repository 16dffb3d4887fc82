"""Messages that nobody should send, from a seed: random, nearly right, and made to break what reads them."""

from collections.abc import Callable
from typing import Any

import numpy as np
from geometry_msgs.msg import PoseStamped
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from contact_mpc.model.system import System
from contact_mpc.ros.messages import conversions as messages
from contact_mpc.settings.arrays import FloatArray

MS = 1_000_000
SPECIAL = np.array(
    [0.0, -0.0, np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324, 1e-12, np.pi, 1e9, -1e9, 2.0**53, 0.1, -0.1, 57.3]
)
LONG_PLAN = 300  # times as many points or names as there should be
STAMPS_NS = (-(2**31) * 10**9, -1, 0, 1, 10**18, (2**31 - 1) * 10**9)


class Adversary:
    """Draws messages for a bridge.

    Parameters
    ----------
    system : System
        System, for joints and limits.
    seed : int
        Seed.

    Attributes
    ----------
    t_ns : int
        Time of the joint states, which mostly goes on by a millisecond.
    q : (n_a,) array
        A position that mostly moves as a robot might.
    """

    def __init__(self, system: System, seed: int) -> None:
        self._rng = np.random.default_rng(seed)
        self._system = system
        self._names = list(system.joint_names)
        self.t_ns = 10**9
        self.q = 0.5 * (system.q_min + system.q_max)
        self._pace, self._paced = 1, 0

    def pause_ns(self) -> int:
        """Return the time between two joint states by the receiver's clock: mostly 1 ms, one in ten early or late."""
        return MS if self._rng.random() < 0.9 else int(self._rng.uniform(0.0, 3.0) * MS)

    def _stamp_step_ns(self) -> int:
        """Return by how much the stamps advance: 1 ms, or more for a while, as long as `_pace` lasts."""
        self._paced = max(self._paced - 1, 0)
        return MS * (self._pace if self._paced else 1)

    def _hurry(self) -> None:
        """Let the stamps run faster than time, by less than a jump of the clock with each message."""
        self._pace, self._paced = int(self._rng.choice([2, 5, 20, 90])), int(self._rng.integers(2, 100))

    def state(self) -> JointState:
        """Return a joint state: mostly as a driver would send it, one in twenty with something wrong."""
        rng, system = self._rng, self._system
        self.t_ns += self._stamp_step_ns()
        before, step = self.q, system.v_max * 0.001 * rng.uniform(-1.0, 1.0, system.n_a)
        self.q = np.clip(before + step, system.q_min, system.q_max)
        step = self.q - before
        message = messages.make_joint_state(self._names)
        messages.fill_joint_state(message, self.t_ns, self.q, step / 0.001, self.vector(1.0))
        if rng.random() < 0.05:
            self._spoil(message)
        return message

    def plan(self) -> JointTrajectory:
        """Return a plan: near the position and smooth, near and jagged, or anything; sometimes spoilt besides."""
        rng, n_a, count = self._rng, self._system.n_a, int(self._rng.integers(1, 6)) % 5
        stamp_ns = self.t_ns + int(rng.integers(-30, 2)) * MS
        times = np.sort(rng.uniform(0.0, 0.3, count))
        times[-1:] = 0.3
        scale = rng.choice([0.01, 0.05, 0.3, 10.0])
        u = self.q + scale * rng.standard_normal((count, n_a))
        du, tau = scale * rng.standard_normal((count, n_a)), 10.0 * scale * rng.standard_normal((count, n_a))
        if rng.random() < 0.2 and count:
            u[rng.integers(count)] = self.vector(1.0)
        message = messages.to_trajectory(stamp_ns, self._names, times, u, du, tau)
        if rng.random() < 0.2:
            self._spoil_plan(message)
        return message

    def vector(self, scale: float) -> FloatArray:
        """Return n_a numbers, some of them special."""
        rng, n_a = self._rng, self._system.n_a
        special = rng.random(n_a) < rng.choice([0.0, 0.1, 1.0])
        return np.where(special, rng.choice(SPECIAL, n_a), scale * rng.standard_normal(n_a))

    def pose(self) -> PoseStamped:
        """Return an object pose whose quaternion is unit, nearly so, or anything."""
        rng = self._rng
        message, wxyz = PoseStamped(), rng.standard_normal(4)
        norm = float(np.linalg.norm(wxyz))
        wxyz *= rng.choice([1.0 / norm, 1.0005 / norm, 1.0, 0.0, 1e200, np.nan])
        pose, p = message.pose, rng.choice(SPECIAL, 3) if rng.random() < 0.3 else rng.standard_normal(3)
        pose.orientation.w, pose.orientation.x, pose.orientation.y, pose.orientation.z = (float(x) for x in wxyz)
        pose.position.x, pose.position.y, pose.position.z = (float(x) for x in p)
        return message

    def commands(self) -> Float64MultiArray:
        """Return a command message as a stranger might send it to the plant."""
        rng = self._rng
        message = messages.make_commands(self._system.n_a)
        messages.fill_commands(message, self.any_stamp_ns(), self.vector(1.0))
        if rng.random() < 0.5:
            message.layout.dim[0].label = str(
                rng.choice(["", "t_ns=", "t_ns=-5", "t_ns=1e9", "t_ns=\u0663", "tau", "t_ns= 1", "t_ns=" + "7" * 5000])
            )
        if rng.random() < 0.2:
            message.layout.dim = []
        if rng.random() < 0.3:
            message.data = message.data[: int(rng.integers(0, self._system.n_a))]
        return message

    def chance(self) -> float:
        """Return a number between 0 and 1."""
        return float(self._rng.random())

    def any_stamp_ns(self) -> int:
        """Return a stamp that a message can carry."""
        return STAMPS_NS[self._rng.integers(len(STAMPS_NS))]

    def _spoil(self, message: JointState) -> None:
        """Do one thing to a joint state."""
        rng = self._rng
        field = str(rng.choice(["position", "velocity", "effort"]))
        ways: tuple[Callable[[], Any], ...] = (
            lambda: setattr(message, field, messages.to_array(self.vector(1.0))),
            lambda: setattr(message, field, list(getattr(message, field))[: int(rng.integers(0, len(self._names)))]),
            lambda: setattr(message, field, [*getattr(message, field), 0.0]),
            lambda: setattr(message, "name", list(rng.permutation(message.name))),
            lambda: setattr(
                message, "name", [*self._names[:-1], str(rng.choice(["", "elbow", self._names[0], "é\0"]))]
            ),
            lambda: setattr(message, "name", []),
            lambda: messages.set_stamp(message.header.stamp, self.any_stamp_ns()),
            lambda: messages.set_stamp(message.header.stamp, self.t_ns - int(rng.integers(0, 400)) * MS),
            lambda: setattr(self, "t_ns", self.t_ns + int(rng.integers(-300, 300)) * MS),
            lambda: setattr(message, field, messages.to_array(self.q + 0.3 * rng.standard_normal(len(self._names)))),
            lambda: setattr(message, "velocity", messages.to_array(np.full(len(self._names), self._speed()))),
            self._hurry,
        )
        ways[rng.integers(len(ways))]()

    def _speed(self) -> float:
        """Return a velocity, rad/s: possible, impossible, or absurd."""
        return float(self._rng.choice([-1.0, 1.0]) * self._rng.choice([2.0, 14.0, 50.0, 1e3, 1e308]))

    def _spoil_plan(self, message: JointTrajectory) -> None:
        """Do one thing to a plan."""
        rng = self._rng
        ways: tuple[Callable[[], Any], ...] = (
            lambda: setattr(message, "joint_names", list(rng.permutation(message.joint_names))),
            lambda: setattr(message, "joint_names", message.joint_names[:-1]),
            lambda: messages.set_stamp(message.header.stamp, self.any_stamp_ns()),
            lambda: message.points.reverse(),
            lambda: message.points.append(JointTrajectoryPoint(positions=[0.0])),
            lambda: message.points.append(JointTrajectoryPoint(positions=messages.to_array(self.vector(1.0)))),
            lambda: self._set_points(message, "velocities", []),
            lambda: self._set_points(message, "effort", messages.to_array(self.vector(1e3))),
            lambda: self._set_points(message, "effort", [1e9] * len(self._names)),
            lambda: setattr(message, "points", message.points * LONG_PLAN),
            lambda: setattr(message, "joint_names", message.joint_names * LONG_PLAN),
        )
        ways[rng.integers(len(ways))]()

    @staticmethod
    def _set_points(message: JointTrajectory, name: str, values: Any) -> None:
        for point in message.points:
            setattr(point, name, values)
