"""Joints that behave like drives: second order, with dry friction, torque limits and a delay of their commands.

    I ddq = clip(tau, +-tau_max) - b dq - F sign(dq)          interface "effort"
    tau = Kp (u - q) - Kd dq                                  interface "position", then as above

Semi-implicit Euler at 1 ms, b implicit; dry friction never turns a motion round. I = Kd^2 / (4 Kp), which the
impedance law damps critically, but no less than what Kp turns at 100 rad/s. Each joint by itself: no links and no
objects, and the robot's weight only where it does not carry that itself; the rest is the plants'.
"""

from collections import deque
from dataclasses import dataclass
from typing import Literal

import numpy as np

from contact_mpc.model.gravity_torque import GravityTorque
from contact_mpc.model.system import System
from contact_mpc.settings.arrays import FloatArray

STEP_S = 1e-3
FASTEST_RAD_S = 100.0  # natural frequency of joint and stiffness: ten steps per radian


@dataclass(frozen=True)
class DriveSettings:
    """How the drives deviate from ideal ones.

    Attributes
    ----------
    delay_s : float
        From a command to its torque, s.
    friction_fraction : float
        Dry friction over the effort limit, -.
    damping_fraction : float
        Viscous friction over Kd of the system, -.
    carries_weight : bool
        Whether the robot compensates its own weight; else it pulls at the joints.
    """

    delay_s: float = 0.0
    friction_fraction: float = 0.0
    damping_fraction: float = 0.0
    carries_weight: bool = True


class MockDrives:
    """The drives of a system's robots.

    Parameters
    ----------
    system : System
        Joints, limits, gains, weight.
    interface : str
        "effort" or "position".
    settings : DriveSettings
        Deviations.
    q : (n_a,) array
        Positions at the start, rad.

    Attributes
    ----------
    q, dq, tau : (n_a,) array
        Position, rad, velocity, rad/s, torque of the drives, N m.
    """

    def __init__(
        self, system: System, interface: Literal["effort", "position"], settings: DriveSettings, q: FloatArray
    ) -> None:
        self._system, self._is_position = system, interface == "position"
        self._inertia = np.maximum(system.kd**2 / (4.0 * system.kp), system.kp / FASTEST_RAD_S**2)
        self._damping = settings.damping_fraction * system.kd
        self._friction = settings.friction_fraction * system.tau_max_nm
        self._gravity = None if settings.carries_weight else GravityTorque(system)
        self._weight = np.zeros(system.n_a)
        self.q, self.dq, self.tau = q.copy(), np.zeros(system.n_a), np.zeros(system.n_a)
        rest = self.q.copy() if self._is_position else np.zeros(system.n_a)
        self._queue: deque[FloatArray] = deque([rest] * round(settings.delay_s / STEP_S))
        self._newest = rest

    def step(self, command: FloatArray | None) -> None:
        """Advance by 1 ms under a command (n_a,), rad or N m; None: torque off, or the last position held."""
        if command is None:
            command = self._newest if self._is_position else np.zeros(self._system.n_a)
        self._newest = command
        self._queue.append(command)
        wanted = self._queue.popleft()
        if self._is_position:
            wanted = self._system.kp * (wanted - self.q) - self._system.kd * self.dq
        elif self._gravity is not None:
            self._gravity.compute(self.q, self._weight)
        self.tau = np.clip(wanted, -self._system.tau_max_nm, self._system.tau_max_nm)
        inertia = self._inertia + STEP_S * self._damping
        free = (self._inertia * self.dq + STEP_S * (self.tau - self._weight)) / inertia
        braking = STEP_S * self._friction / inertia
        self.dq = np.sign(free) * np.maximum(np.abs(free) - braking, 0.0)
        q = self.q + STEP_S * self.dq
        self.q = np.clip(q, self._system.q_min, self._system.q_max)
        self.dq[q != self.q] = 0.0
