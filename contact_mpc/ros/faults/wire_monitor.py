"""Judges what passes on the wire between bridge and robot, from the URDF's limits alone.

It knows neither the guard nor its state. Commands: right length, finite, within the effort (or position) limits, and
from one to the next no further than a rate allows, by their stamps and by the clock (see `ChangeJudge`); a command
after a pause is the first of a new start and may be anywhere within the limits (torque), or near the measured position
(setpoint).

How far the robot itself leaves the limits is measured beside that: a joint without torque may drift into its stop.
"""

from collections import Counter
from dataclasses import dataclass

import numpy as np

from contact_mpc.errors import InputError
from contact_mpc.ros.faults.change_judge import ChangeJudge
from contact_mpc.settings.arrays import FloatArray

PAUSE_NS = 100_000_000  # a bridge that runs sends every millisecond, also in fault; one that starts is silent for 250
START_DISTANCE_RAD = 0.05  # a setpoint that another controller's torque keeps off the measured position
ROUNDING = 1e-9


@dataclass(frozen=True)
class WireLimits:
    """Limits per joint (n_a,) from the URDF, and the torque rate, N m/s, that the robot's makers state."""

    q_min: FloatArray
    q_max: FloatArray
    v_max: FloatArray
    tau_max: FloatArray
    tau_rate: FloatArray
    period_ns: int = 1_000_000


class WireMonitor:
    """Counts violations of commands by kind: length, non_finite, position, velocity, torque, jump.

    Parameters
    ----------
    limits : WireLimits
        What may not be exceeded.
    interface : str
        "effort" or "position".

    Attributes
    ----------
    violations : Counter
        Number of messages by kind of violation.
    commands, states : int
        Messages judged.
    newest : (n_a,) array or None
        Latest command.
    examples : dict
        The first violation of each kind since `clear`.
    largest_position_excess_rad, largest_velocity_excess_rad_s : float
        How far the robot was measured beyond its limits at most since `clear`; not above 0 if it never was.
    """

    def __init__(self, limits: WireLimits, interface: str) -> None:
        self._limits, self._is_effort = limits, interface == "effort"
        self.violations: Counter[str] = Counter()
        self.commands = self.states = 0
        self.newest: FloatArray | None = None
        self._q: FloatArray | None = None
        self._sent_ns = 0
        self._changes = ChangeJudge(limits.tau_rate if self._is_effort else limits.v_max, limits.period_ns)
        self.clear()

    def clear(self) -> None:
        """Forget examples and excesses; the counts go on."""
        self.examples: dict[str, str] = {}
        self.largest_position_excess_rad = self.largest_velocity_excess_rad_s = -np.inf

    def add_command(self, stamp_ns: int | None, values: FloatArray, sent_ns: int) -> None:
        """Judge a command.

        Parameters
        ----------
        stamp_ns : int or None
            Stamp that it carries, ns.
        values : array
            Torque, N m, or setpoint, rad.
        sent_ns : int
            When it was published, by any clock that goes on, ns.
        """
        x = self._limits
        self.commands += 1
        if values.shape != x.q_min.shape:
            return self._count("length", f"{values.size} values")
        if not np.isfinite(values).all():
            return self._count("non_finite", str(values))
        if self._is_effort:
            self._check("torque", np.abs(values) - x.tau_max, values)
        else:
            self._check("position", np.maximum(x.q_min - values, values - x.q_max), values)
        self._check_change(stamp_ns, values, sent_ns)
        self.newest, self._sent_ns = values, sent_ns

    def add_command_error(self, error: InputError) -> None:
        """Count a command that could not even be read."""
        self.commands += 1
        self._count("length" if "values, the robot" in str(error) else "non_finite", str(error))

    def add_state(self, q: FloatArray, dq: FloatArray) -> None:
        """Take the robot's own measurement, rad and rad/s."""
        x = self._limits
        self.states += 1
        self._q = q
        excess_rad = float(np.maximum(x.q_min - q, q - x.q_max).max())
        excess_rad_s = float((np.abs(dq) - x.v_max).max())
        self.largest_position_excess_rad = max(self.largest_position_excess_rad, excess_rad)
        self.largest_velocity_excess_rad_s = max(self.largest_velocity_excess_rad_s, excess_rad_s)

    def _check_change(self, stamp_ns: int | None, values: FloatArray, sent_ns: int) -> None:
        """Bound the change by the rate and the time that has passed; without a stamp that is none."""
        if self.newest is None or sent_ns - self._sent_ns > PAUSE_NS:
            self._changes.forget()
            if not self._is_effort and self._q is not None:
                self._check("jump", np.abs(values - self._q) - START_DISTANCE_RAD, values)
        excess = self._changes.judge(stamp_ns or 0, sent_ns, values)
        if excess is not None:
            self._count("jump" if self._is_effort else "velocity", excess)

    def _check(self, kind: str, excess: FloatArray, values: FloatArray) -> None:
        if np.any(excess > ROUNDING):
            self._count(kind, f"{values} exceeds by {excess.max():.3g}")

    def _count(self, kind: str, example: str) -> None:
        self.violations[kind] += 1
        self.examples.setdefault(kind, example)
