"""What is left of the torque in FAULT: all of it for a time to hold, then a linear ramp to zero, or a hold for good."""

import numpy as np
from numpy.typing import NDArray

from contact_mpc.control.bridge_config import BridgeConfig

FloatArray = NDArray[np.float64]


class FaultResponse:
    """The time course of a fault.

    While the state can be relied on, the torque is the law's, times `scale` with the policy zero_torque, whole with
    the policy hold. Once it cannot, it is the last torque that could, times `scale`, whatever the policy: a torque
    that nothing corrects is not held for good.
    """

    def __init__(self, config: BridgeConfig, n_a: int) -> None:
        self._config = config
        self._elapsed_s = 0.0
        self._tau = np.zeros(n_a)

    def begin(self) -> None:
        """Start the time to hold."""
        self._elapsed_s = 0.0

    def remember(self, tau: FloatArray) -> None:
        """Take the torque that is ramped down without a state, N m."""
        self._tau[:] = tau

    def advance(self, dt_s: float) -> None:
        """Let time pass."""
        self._elapsed_s += dt_s

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
        """Write the torque without a state (n_a,), N m."""
        np.multiply(self._tau, self.scale, out=out)
