"""External torques of joints: as reported, from measured torques, or from the error of joint impedance.

    reported     tau_ext of the robot's own observer, where it sends one
    measured     tau_ext = g(q_a) - tau, tau the torques of the drives and g the robot's own weight
    impedance    tau_ext = Kp (q_a - u) + Kd v_a, u the command that the robot's joint impedance follows

All positive where the world pushes along +q. `measured` and `impedance` hold at rest and in slow motion: inertia counts
as a contact, and so does joint friction; `impedance` also needs a robot that carries its own weight.

Source: seeds/001 "Deeper reasons for adding the spring" (closed-loop dynamics of joint impedance, Ott 2008).
"""

from typing import Literal

import numpy as np

from contact_mpc.model.gravity_torque import GravityTorque
from contact_mpc.model.system import System, check_vector
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.task.loop_records import EstimatedState

Source = Literal["reported", "measured", "impedance"]
FRESH_NS = 100_000_000  # a report or a command that is older says nothing about now


class ExternalTorque:
    """The best external torques there are for a state.

    Parameters
    ----------
    system : System
        Gains, gravity and joints.
    """

    def __init__(self, system: System) -> None:
        self._system = system
        self._own_weight = GravityTorque(system) if any(system.config.gravity_m_s2) else None
        self._report: tuple[int, FloatArray] | None = None
        self._command: tuple[int, FloatArray] | None = None

    def take_report(self, t_ns: int, tau_ext: FloatArray) -> None:
        """Take external torques (n_a,), N m (N), that the robot reports; raises InputError where they are none."""
        self._report = t_ns, check_vector("tau_ext", tau_ext, self._system.n_a)

    def take_command(self, t_ns: int, u: FloatArray) -> None:
        """Take a command (n_a,), rad (m), that joint impedance follows; raises InputError where it is none."""
        self._command = t_ns, check_vector("u", u, self._system.n_a)

    def compute(self, state: EstimatedState) -> tuple[FloatArray, Source] | None:
        """Return tau_ext (n_a,), N m (N), and where it comes from; None where nothing is known that is fresh."""
        system, q_a, v_a = self._system, state.q[self._system.n_q_u :], state.v[self._system.n_v_u :]
        if self._report is not None and abs(state.t_ns - self._report[0]) <= FRESH_NS:
            return self._report[1], "reported"
        if np.isfinite(state.tau).all():
            g = np.zeros(system.n_a)
            if self._own_weight is not None:
                self._own_weight.compute(q_a, g)
            return g - state.tau, "measured"
        if self._command is not None and abs(state.t_ns - self._command[0]) <= FRESH_NS:
            return system.kp * (q_a - self._command[1]) + system.kd * v_a, "impedance"
        return None
