"""How long the objects have been behind their reference: what moves nothing must not go on pushing for ever.

An error beyond the bounds that lasts tells that the commands do not do what the model says: another object, fingers
that slip, a joint at its limit of torque. The tracker reports it at once and holds when it has lasted. It is over when
the error is well within the bounds: fingers that slip and catch again let it swing about them.
"""

from contact_mpc.settings.units import NS_PER_S


class LagWatch:
    """Times how long an error has been beyond its bounds, and not yet well within them again.

    Parameters
    ----------
    angle_deg, distance_m : float
        Bounds of the objects' error to the reference.
    release_share : float
        Of the bounds, below which an object that was behind has caught up, -.
    """

    def __init__(self, angle_deg: float, distance_m: float, release_share: float) -> None:
        self._angle_deg, self._distance_mm, self._release_share = angle_deg, 1e3 * distance_m, release_share
        self._since_ns: int | None = None

    def reset(self) -> None:
        """Begin anew."""
        self._since_ns = None

    @property
    def is_lagging(self) -> bool:
        """Whether the object is behind."""
        return self._since_ns is not None

    def update(self, t_ns: int, angle_deg: float, distance_mm: float) -> float:
        """Return for how long, s, the object has been behind at t_ns, ns; 0 where it is not."""
        share = self._release_share if self.is_lagging else 1.0
        if angle_deg <= share * self._angle_deg and distance_mm <= share * self._distance_mm:
            self._since_ns = None
        elif self._since_ns is None:
            self._since_ns = t_ns
        return 0.0 if self._since_ns is None else (t_ns - self._since_ns) / NS_PER_S
