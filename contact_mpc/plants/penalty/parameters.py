"""Parameters of the penalty method with the units that make its equations consistent, and what is refused.

The paper prints g1 = 740 N/cm and g2 = 50 N/(cm s); with the volume v in (6), stiffness is per volume: read here as
740 N/cm^3 = 7.4e8 N/m^3 (10 N press a ball 0.4 mm into a plate), and g2 as g1 times a relaxation time of 1 ms. Its
gi = 250 has the unit 1/N, gt is not printed (d_t is, twice). gamma = 1 s/m lets a held object fall: 1e3 s/m.
"""

from dataclasses import dataclass, fields

import numpy as np

from contact_mpc.errors import InputError
from contact_mpc.settings.arrays import FloatArray

RATES = ("exact", "filter")
DIRECTIONS = ("area", "weights")
FRICTIONS = ("point", "distributed")


@dataclass(frozen=True)
class PenaltyParameters:
    """What the laws (3) to (8) are computed with.

    Attributes
    ----------
    stiffness_n_per_m3, damping_ns_per_m3 : float
        g1 and g2 of (6).
    gain_per_n, gain_depth_m, gain_delay, gain_cap : float
        g_i, d_t, g_t of (5), and the largest delta_i; a gain of 0 leaves (5) out.
    viscous_ns_per_m, scaling_s_per_m : float
        beta and gamma of (8); mu belongs to the pair.
    rate : str
        dv/dt from velocities ("exact") or by the filter (4) ("filter").
    filter_rad_per_s, filter_damping : float
        omega_n and zeta of (4).
    direction : str
        (3) by area vectors ("area") or with the weights of Algorithm 1 ("weights").
    friction : str
        (8) at the centre of the overlap, as printed ("point"), or over its surface ("distributed").

    Raises
    ------
    InputError
        A value is out of its range or unknown.
    """

    stiffness_n_per_m3: float = 7.4e8
    damping_ns_per_m3: float = 7.4e5
    gain_per_n: float = 250.0
    gain_depth_m: float = 2e-3
    gain_delay: float = 1.0
    gain_cap: float = 1.0
    viscous_ns_per_m: float = 0.2
    scaling_s_per_m: float = 1e3
    rate: str = "exact"
    filter_rad_per_s: float = 2e4
    filter_damping: float = 1.0
    direction: str = "area"
    friction: str = "distributed"

    def __post_init__(self) -> None:
        positive = ("stiffness_n_per_m3", "gain_depth_m", "scaling_s_per_m", "filter_rad_per_s", "filter_damping")
        for name in (item.name for item in fields(self)):
            value = getattr(self, name)
            if isinstance(value, str):
                continue
            if not np.isfinite(value) or value < 0.0 or (name in positive and value == 0.0):
                bound = "> 0" if name in positive else ">= 0"
                raise InputError(f"penalty {name} = {value}; expected a finite number {bound}")
        for name, allowed in (("rate", RATES), ("direction", DIRECTIONS), ("friction", FRICTIONS)):
            if getattr(self, name) not in allowed:
                raise InputError(f"penalty {name} = '{getattr(self, name)}'; allowed: {', '.join(allowed)}")

    def as_array(self) -> FloatArray:
        """Return the values (12,) in the order that `laws` reads."""
        return np.array(
            [
                self.stiffness_n_per_m3, self.damping_ns_per_m3, self.gain_per_n, self.gain_depth_m, self.gain_delay,
                self.gain_cap, self.viscous_ns_per_m, self.scaling_s_per_m, self.rate == "filter",
                self.filter_rad_per_s, self.filter_damping, self.direction == "weights", self.friction == "distributed",
            ],
            dtype=np.float64,
        )  # fmt: skip

    def least_filter_rad_per_s(self, mass_kg: float, area_m2: float) -> float:
        """Return the bound below which the filter (4) makes a contact of this area oscillate without end.

        m x'' = -k x - c xf', xf'' = -2 zeta w xf' + w^2 (x - xf) with k = g1 A, c = g2 A is stable by Routh's
        criterion exactly for w > (c + sqrt(c^2 + 16 zeta^2 m k)) / (4 zeta m): the filter's delay is negative damping.
        """
        k, c, zeta = self.stiffness_n_per_m3 * area_m2, self.damping_ns_per_m3 * area_m2, self.filter_damping
        return float((c + np.sqrt(c**2 + 16.0 * zeta**2 * mass_kg * k)) / (4.0 * zeta * mass_kg))

    def check_filter(self, mass_kg: float, area_m2: float, name: str) -> None:
        """Raise InputError where the filter is too slow for a body of this mass on a contact of this area."""
        least = self.least_filter_rad_per_s(mass_kg, area_m2)
        if self.rate == "filter" and self.filter_rad_per_s <= least:
            raise InputError(
                f"penalty filter_rad_per_s = {self.filter_rad_per_s:g} makes contacts of {name} unstable; above "
                f"{least:.4g} rad/s it does not ({mass_kg:.3g} kg on {1e4 * area_m2:.3g} cm^2), or choose rate exact"
            )
