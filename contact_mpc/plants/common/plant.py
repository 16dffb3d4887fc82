"""The plant that the loop is closed around: one interface, three engines.

All engines are built from the same `System` (its URDFs, friction, stiffness, gravity) and run at 1 ms. Their contact
is almost rigid but not quite, and fast sliding makes it hop; the modules of the engines give the figures.
"""

from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.units import NS_PER_S

Interface = Literal["effort", "position"]
T0_NS = NS_PER_S  # simulated time at the start of every run
STEP_NS = 1_000_000
STEP_S = 1e-3
NO_CONTACTS = np.zeros((0, 7))


@dataclass(frozen=True)
class PlantState:
    """State of the plant at one instant, world frame W.

    Attributes
    ----------
    t_ns : int
        Simulated time, ns.
    q : (n_q,) array
        Configuration in the system's order; quaternions wxyz; m, rad.
    v : (n_v,) array
        Tangent velocity in the system's order (free object: omega_W, dp_W); m/s, rad/s.
    tau_applied : (n_a,) array
        Torque of the drives during the last step, clipped at the effort limits, N m. It is what motor currents show.
    tau_disturbance : (n_a,) array
        Torque ripple and friction of the drives during the last step, N m. They act on the joints, unseen.
    contacts : (k, 7) array
        Contacts during the last step: point p_W (m), force on the object f_W (N), depth of penetration (m).
    """

    t_ns: int
    q: FloatArray
    v: FloatArray
    tau_applied: FloatArray
    tau_disturbance: FloatArray
    contacts: FloatArray


class Plant(Protocol):
    """A simulated robot with its objects; time starts at T0_NS and advances by 1 ms per step, bit for bit the same."""

    @property
    def time_ns(self) -> int:
        """Simulated time, ns."""
        ...

    def reset(self, q: FloatArray, v: FloatArray | None = None) -> None:
        """Put the plant at q (n_q,) and v (n_v,), at rest by default, at time T0_NS.

        The perturbation's object offset is added to the objects' positions.
        """
        ...

    def step(self, command: FloatArray) -> None:
        """Advance by 1 ms under a constant joint torque.

        command (n_a,) is that torque, N m (interface "effort"), or the position u of the joint impedance, rad
        (interface "position"): tau = Kp (u - q) - Kd dq [+ gravity]. Torques are clipped at the effort limits.
        """
        ...

    def state(self, *, with_contacts: bool = True) -> PlantState:
        """Return the state now, with the torques of the last step and, unless nobody needs them, its contacts."""
        ...
