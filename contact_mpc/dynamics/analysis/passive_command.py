"""A command that moves no faster than its energy allows: joint impedance that is passive while u moves.

With u at rest a joint impedance stores energy E = 1/2 (u - q)' K (u - q) and gives back no more than it was given. A
moving command brings its own, E(q, u+) - E(q, u), without bound. Here it is paid from a tank:

    u+ = u + alpha (u_wanted - u),   the largest alpha in [0, 1] with E(q, u+) - E(q, u) <= tank
    tank <- min(tank - (E(q, u+) - E(q, u)) + damped, most)      damped: what the dampers took since the last step, J

Kinetic energy, E and tank together then grow by the work of the outside alone, so that what the outside can draw is
at most what was there at the start (seeds/001, "Tweak the controller to ensure passivity?"; energy tanks: C.
Schindlbeck, S. Haddadin, ICRA 2015). Where it is wrong: delays between command and spring are not counted.
"""

from dataclasses import dataclass

import numpy as np

from contact_mpc.errors import InputError
from contact_mpc.model.system import check_vector
from contact_mpc.settings.arrays import FloatArray


@dataclass
class PassiveCommand:
    """The tank of one robot.

    Attributes
    ----------
    stiffness : (n_a,) array
        Joint stiffness K, N m/rad.
    tank_j, most_j : float
        Energy in the tank now, and the most that it keeps, J.
    """

    stiffness: FloatArray
    tank_j: float
    most_j: float

    def __post_init__(self) -> None:
        """Refuse what is no tank."""
        if not 0.0 <= self.tank_j <= self.most_j:
            raise InputError(f"tank_j = {self.tank_j} J; expected from 0 to most_j = {self.most_j} J")
        if np.any(np.asarray(self.stiffness) <= 0.0):
            raise InputError(f"stiffness {self.stiffness} N m/rad; every joint needs a positive stiffness")

    def advance(self, u: FloatArray, u_wanted: FloatArray, q_a: FloatArray, damped_j: float = 0.0) -> FloatArray:
        """Return the next command (n_a,) from u towards u_wanted with the joints at q_a; pays for it."""
        n = len(self.stiffness)
        u, wanted, q_a = (
            check_vector(name, x, n) for name, x in (("u", u), ("u_wanted", u_wanted), ("q_a", q_a))
        )  # fmt: skip
        self.tank_j = min(self.tank_j + damped_j, self.most_j)
        way = wanted - u
        slope, curvature = float(self.stiffness @ (way * (u - q_a))), 0.5 * float(self.stiffness @ way**2)
        alpha = _affordable(slope, curvature, self.tank_j)
        self.tank_j = min(max(self.tank_j - (slope * alpha + curvature * alpha**2), 0.0), self.most_j)
        return np.asarray(u + alpha * way)


def _affordable(slope: float, curvature: float, tank_j: float) -> float:
    """Return the largest alpha in [0, 1] with slope alpha + curvature alpha^2 <= tank_j."""
    if slope + curvature <= tank_j or curvature == 0.0:
        return 1.0
    root = np.sqrt(slope**2 + 4.0 * curvature * tank_j)
    # The positive root, without cancellation where slope > 0.
    return float(2.0 * tank_j / (slope + root) if slope > 0.0 else (root - slope) / (2.0 * curvature))
