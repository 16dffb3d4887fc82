"""Messages between the parts of the loop as plain frozen records: what the estimator says, what the tracker wants."""

from dataclasses import dataclass

import numpy as np

from contact_mpc.errors import InputError
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.units import NS_PER_S
from contact_mpc.task.interpolation import interpolate_rows


@dataclass(frozen=True)
class EstimatedState:
    """Estimated state of the whole system at one instant, in the world frame W.

    Attributes
    ----------
    t_ns : int
        Time stamp, ns.
    q : (n_q,) array
        Configuration [q_u; q_a]; quaternions wxyz; m, rad.
    v : (n_v,) array
        Tangent velocity; m/s, rad/s.
    tau : (n_a,) array
        Measured joint torque, N m.
    covariance_u : (n_v_u, n_v_u) array
        Covariance of the object pose in tangent space, rad^2 and m^2.
    status : str
        "ok", or what is wrong with the estimate.
    """

    t_ns: int
    q: FloatArray
    v: FloatArray
    tau: FloatArray
    covariance_u: FloatArray
    status: str = "ok"


@dataclass(frozen=True)
class CommandPlan:
    """Commands of one solve, valid from the stamp of the state that it was solved from.

    Attributes
    ----------
    stamp_ns : int
        Stamp of the state solved from, ns.
    times_s : (n,) array
        Time of each point after the stamp, increasing from 0, s.
    u, du : (n, n_a) array
        Position command, rad (m), and its rate, rad/s (m/s).
    tau_ff : (n, n_a) array
        Feed-forward torque, N m.

    A plan with no points asks the bridge to hold.
    """

    stamp_ns: int
    times_s: FloatArray
    u: FloatArray
    du: FloatArray
    tau_ff: FloatArray

    def __post_init__(self) -> None:
        shape = (self.times_s.shape[0], self.u.shape[1])
        for name in ("u", "du", "tau_ff"):
            if getattr(self, name).shape != shape:
                raise InputError(f"command plan: {name} has shape {getattr(self, name).shape}, expected {shape}")

    @property
    def is_hold(self) -> bool:
        """Whether the plan has no points, which asks the bridge to hold."""
        return self.times_s.shape[0] == 0

    def sample_u(self, t_ns: int) -> FloatArray:
        """Return the command (n_a,) at the stamp t_ns, held constant outside the plan, which is not a hold."""
        return interpolate_rows((t_ns - self.stamp_ns) / NS_PER_S, self.times_s, self.u)

    @staticmethod
    def hold(stamp_ns: int, n_a: int) -> "CommandPlan":
        """Return the plan without points for n_a joints."""
        empty = np.zeros((0, n_a))
        return CommandPlan(stamp_ns, np.zeros(0), empty, empty, empty)
