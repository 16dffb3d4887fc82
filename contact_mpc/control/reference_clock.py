"""A reference that waits for objects that lag: how far its clock is behind the time.

With the error of the objects to the reference that is asked for, as a share of the bounds at which the clock stands
still, lag = max(angle / bound, distance / bound), its rate is

    rate = 2 (1 - lag) within 0 .. 1        where lag >= 1/2
           1 + CATCH_UP                     where lag < 1/2 and the clock is behind

and the delay grows by 1 - rate, s/s, within 0 .. longest. A function of the states and times it was given.
Before the motion starts nothing waits. Pacing instead of clamping the error keeps the reference a path that the plan
has checked. Wrong where the error is one of the estimate: the motion then takes `longest` more time.
Source: O. Dahl, L. Nielsen, "Torque-limited path following by online trajectory time scaling", IEEE Transactions on
Robotics and Automation 6, 1990.
"""

CATCH_UP = 0.5  # of the reference's speed, beyond it
NS_PER_S = 1e9


class ReferenceClock:
    """Delay of a reference.

    Parameters
    ----------
    angle_deg, distance_m : float
        Errors at which it stands still; angle_deg = 0: it never waits.
    longest_s : float
        Largest delay.
    """

    def __init__(self, angle_deg: float, distance_m: float, longest_s: float) -> None:
        self._angle_deg, self._distance_mm, self._longest_s = angle_deg, 1e3 * distance_m, longest_s
        self.reset()

    @property
    def waits(self) -> bool:
        """Whether it ever waits."""
        return self._angle_deg > 0.0

    def reset(self) -> None:
        """Begin anew, on time."""
        self.delay_s = 0.0
        self._last_ns: int | None = None

    def update(self, t_ns: int, angle_deg: float, distance_mm: float) -> None:
        """Take the objects' error at t_ns, ns of the motion, to the reference delay_s earlier."""
        last_ns, self._last_ns = self._last_ns, t_ns
        if not self.waits or last_ns is None or last_ns < 0:
            return
        lag = max(angle_deg / self._angle_deg, distance_mm / self._distance_mm)
        rate = min(max(2.0 * (1.0 - lag), 0.0), 1.0) if lag >= 0.5 else 1.0 + CATCH_UP
        delay_s = self.delay_s + (1.0 - rate) * (t_ns - last_ns) / NS_PER_S
        self.delay_s = min(max(delay_s, 0.0), self._longest_s)
