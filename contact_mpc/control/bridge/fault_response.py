"""What is left of the torque in FAULT: all of it for a time to hold, then a ramp to zero or to damping, or a hold.

With a state to rely on, the torque is the impedance law's, times `scale`; the policy "damping" puts the law's damping
in place of what the ramp takes away: the robot sinks instead of falling. Without one nothing corrects a torque, and
what presses on an object or into a joint's stop must not go on: all but the weight goes to zero at once, within
`blind_ramp_s`. The weight, at the posture last known, goes with the scale, whatever the policy.
"""

import numpy as np

from contact_mpc.control.bridge.config import BridgeConfig
from contact_mpc.settings.arrays import FloatArray


class FaultResponse:
    """The time course of a fault.

    Attributes
    ----------
    with_damping : bool
        Whether the damping stays.
    """

    def __init__(self, config: BridgeConfig, n_a: int) -> None:
        self._config = config
        self.with_damping = config.fault_policy == "damping"
        self._elapsed_s = self._blind_s = 0.0
        self._gravity, self._rest = np.zeros(n_a), np.zeros(n_a)

    def begin(self) -> None:
        """Start the time to hold."""
        self._elapsed_s = 0.0

    def remember(self, tau: FloatArray, gravity: FloatArray) -> None:
        """Take the torque that is ramped down without a state, and the part of it that carries the weight, N m."""
        self._blind_s = 0.0
        self._gravity[:] = gravity
        np.subtract(tau, gravity, out=self._rest)

    def advance(self, dt_s: float) -> None:
        """Let time pass."""
        self._elapsed_s += dt_s
        self._blind_s += dt_s

    @property
    def scale(self) -> float:
        """Share of the torque that is left: 1 for `fault_hold_s`, then linear to 0 within `fault_ramp_s`."""
        ramped_s = self._elapsed_s - self._config.fault_hold_s
        return min(max(1.0 - ramped_s / self._config.fault_ramp_s, 0.0), 1.0)

    @property
    def law_scale(self) -> float:
        """Factor on the law's torque."""
        return 1.0 if self._config.fault_policy == "hold" else self.scale

    def torque(self, out: FloatArray) -> None:
        """Write the torque without a state (n_a,), N m: scale g + max(0, 1 - t / blind_ramp_s) (tau - g)."""
        blind = max(1.0 - self._blind_s / self._config.blind_ramp_s, 0.0)
        np.multiply(self._gravity, self.scale, out=out)
        out += blind * self._rest
