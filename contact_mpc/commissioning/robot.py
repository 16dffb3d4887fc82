"""A robot that is moved by little: its states and commands, the law that holds it, and what ends every check.

Interface "effort": tau = Kp (u - q) - Kd dq + g, clipped to `TORQUE_SHARE` of the limits, with g only where the robot
does not carry its own weight. Interface "position": u itself. Every tick is guarded: a joint that is further from its
command, faster or nearer to a limit than small motions are, or a state that does not come, ends the check with a
reason, and nothing more is sent.
"""

from typing import NamedTuple, Protocol

import numpy as np

from contact_mpc.control.bridge.joint_impedance import JointImpedance
from contact_mpc.errors import StackError
from contact_mpc.model.system import System
from contact_mpc.settings.arrays import FloatArray

TORQUE_SHARE = 0.5
FURTHEST_RAD = 0.25  # from the command
FASTEST_SHARE = 0.5  # of the joint's velocity limit
SILENCE_S = 1.0  # commands answer states, so none is sent meanwhile


class Reading(NamedTuple):
    """A joint state: its stamp, s, and q, dq, tau (n_a,); dq and tau are None where the driver sends none."""

    t_s: float
    q: FloatArray
    dq: FloatArray | None
    tau: FloatArray | None


class Robot(Protocol):
    """What is checked; stamps of states and times of commands are of one clock, s."""

    def read(self, timeout_s: float) -> Reading | None:
        """Wait for the next joint state; None where none came in time."""

    def send(self, values: FloatArray) -> float:
        """Send commands (n_a,), N m or rad, and return when, s."""


class Sample(NamedTuple):
    """One tick: when the command was sent, s, u (n_a,), rad, the torque sent, N m, or None, state and its velocity."""

    sent_s: float
    u: FloatArray
    torque: FloatArray | None
    reading: Reading
    speed: FloatArray


class HeldRobot:
    """Holds a robot at commanded joint positions, tick by tick.

    Parameters
    ----------
    system : System
        Limits, stiffness and damping, weight.
    robot : Robot
        The wire.
    interface : str
        "effort" or "position".
    carries_weight : bool
        Whether the robot compensates its own weight.
    silence_s : float, optional
        Time without a joint state that ends the check, s.
    """

    def __init__(
        self, system: System, robot: Robot, interface: str, carries_weight: bool, silence_s: float = SILENCE_S
    ) -> None:
        self.system, self.robot, self.is_effort = system, robot, interface == "effort"
        self._silence_s = silence_s
        self._law = JointImpedance(system, self.is_effort and not carries_weight)
        self._last: Reading | None = None
        self._dq = np.zeros(system.n_a)

    def read(self) -> Reading:
        """Return the next state; raises StackError where none comes."""
        reading = self.robot.read(self._silence_s)
        if reading is None:
            raise StackError(
                f"no joint states for {self._silence_s:g} s: the driver stopped sending; nothing more is commanded"
            )
        if reading.dq is not None:
            self._dq = reading.dq
        elif self._last is not None and reading.t_s > self._last.t_s:
            self._dq = (reading.q - self._last.q) / (reading.t_s - self._last.t_s)
        self._last = reading
        return reading

    @property
    def speed(self) -> FloatArray:
        """Velocity (n_a,) of the newest state, measured or from positions, rad/s."""
        return self._dq

    def gravity(self, q: FloatArray) -> FloatArray:
        """Return the torque (n_a,) that the law adds for the robot's weight at q, N m."""
        return self._law.gravity(q).copy()

    def tick(self, u: FloatArray) -> Sample:
        """Read a state and answer it with the command that pulls to u (n_a,), rad."""
        reading = self.read()
        self._guard(reading.q, u)
        if not self.is_effort:
            return Sample(self.robot.send(u), u.copy(), None, reading, self._dq)
        torque = np.zeros(self.system.n_a)
        rest = np.zeros(self.system.n_a)
        self._law.torque(u, rest, reading.q, self._dq, rest, torque)
        torque = np.clip(torque, -TORQUE_SHARE * self.system.tau_max_nm, TORQUE_SHARE * self.system.tau_max_nm)
        return Sample(self.robot.send(torque), u.copy(), torque, reading, self._dq)

    def _guard(self, q: FloatArray, u: FloatArray) -> None:
        system = self.system
        for what, excess in (
            ("is further from its command than a small motion", np.abs(q - u) - FURTHEST_RAD),
            ("is faster than a small motion", np.abs(self._dq) - FASTEST_SHARE * system.v_max),
            ("is beyond a limit", np.maximum(system.q_min - q, q - system.q_max) - 1e-3),
        ):
            worst = int(np.argmax(excess))
            if excess[worst] > 0.0:
                place = f"at {q[worst]:.3f} rad, commanded {u[worst]:.3f} rad, {self._dq[worst]:.2f} rad/s"
                raise StackError(
                    f"stopped: joint {system.joint_names[worst]} {what}: {place}; nothing more is commanded"
                )
