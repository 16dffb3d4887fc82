"""Newest joint state: position and torque as measured, velocity measured or, if the driver sends none, derived.

The derived velocity is the first-order filtered difference, with a = 1 - exp(-dt / T):

    v <- v + a ((q - q_before) / dt - v)

It lags by T and reports a constant velocity without bias.
"""

import math
from dataclasses import dataclass

import numpy as np

from contact_mpc.errors import InputError
from contact_mpc.settings.arrays import FloatArray


@dataclass(frozen=True)
class JointSample:
    """Joint state at t_ns: q (n_a) rad, v (n_a) rad/s, tau (n_a) N m; tau is NaN where the driver reports none."""

    t_ns: int
    q: FloatArray
    v: FloatArray
    tau: FloatArray


class JointFilter:
    """Joint state of the robots.

    Parameters
    ----------
    names : tuple of str
        Joint names, for messages.
    velocity_filter_s : float
        Time constant T of the derived velocity, s.
    """

    def __init__(self, names: tuple[str, ...], velocity_filter_s: float) -> None:
        self._names, self._filter_s = names, velocity_filter_s
        self.sample: JointSample | None = None

    def update(self, t_ns: int, q: FloatArray, v: FloatArray | None, tau: FloatArray | None) -> None:
        """Take a joint state newer than the last; v and tau may be None, empty or all NaN.

        Raises
        ------
        InputError
            Wrong length or a value that is not finite; the filter then keeps what it had.
        """
        position = self._checked("position", q)
        velocity = self._optional("velocity", v)
        torque = self._optional("effort", tau)
        if velocity is None:
            velocity = self._derive(t_ns, position)
        if torque is None:
            torque = np.full(len(self._names), np.nan)
        self.sample = JointSample(t_ns, position, velocity, torque)

    def _derive(self, t_ns: int, q: FloatArray) -> FloatArray:
        if self.sample is None:
            return np.zeros_like(q)
        dt = (t_ns - self.sample.t_ns) * 1e-9
        blend = -math.expm1(-dt / self._filter_s)
        return self.sample.v + blend * ((q - self.sample.q) / dt - self.sample.v)

    def _optional(self, what: str, values: FloatArray | None) -> FloatArray | None:
        if values is None or len(values) == 0 or np.isnan(values).all():
            return None
        return self._checked(what, values)

    def _checked(self, what: str, values: FloatArray) -> FloatArray:
        array = np.array(values, dtype=float)
        if array.shape != (len(self._names),):
            raise InputError(f"joint {what}: {array.shape} values, expected {len(self._names)}: {self._names}")
        if not np.isfinite(array).all():
            bad = [name for name, value in zip(self._names, array, strict=True) if not math.isfinite(value)]
            raise InputError(f"joint {what}: not finite for {', '.join(bad)}; leave the whole list empty if unknown")
        return array
