"""The slow way to a posture, in joint space: one smooth step of all joints together, collisions not checked.

u(t) = u0 + w(s) (u1 - u0), w(s) = 3 s^2 - 2 s^3, s = (t - t0) / T, with T = max(3/2 |u1 - u0|_j / v_j,
sqrt(6 |u1 - u0|_j / a_j)) over the joints j, so that no joint moves faster than v_j or accelerates
more than a_j.
"""

import numpy as np

from contact_mpc.settings.arrays import FloatArray
from contact_mpc.task.interpolation import smooth_step

ARRIVED_RAD = 1e-4


class StartMotion:
    """A motion from one setpoint to another.

    Parameters
    ----------
    t_ns : int
        Stamp at which it begins, ns.
    u0, u1 : (n_a,) array
        Setpoints at its ends, rad.
    v_max, a_max : (n_a,) array
        Largest velocity, rad/s, and acceleration, rad/s^2.

    Attributes
    ----------
    duration_s : float
        Its time, s.
    """

    def __init__(self, t_ns: int, u0: FloatArray, u1: FloatArray, v_max: FloatArray, a_max: FloatArray) -> None:
        self._t_ns, self._u0, self._way = t_ns, u0.copy(), u1 - u0
        size = np.abs(self._way)
        slow = 1.5 * size / v_max
        soft = np.sqrt(6.0 * size / a_max)
        self.duration_s = float(max(slow.max(), soft.max()))

    def sample(self, t_ns: int) -> tuple[FloatArray, FloatArray]:
        """Return setpoint and rate (n_a,) at a stamp, rad and rad/s; at rest at its ends."""
        if self.is_over(t_ns):
            return self._u0 + self._way, np.zeros_like(self._way)
        s = max((t_ns - self._t_ns) * 1e-9 / self.duration_s, 0.0)
        return self._u0 + smooth_step(s) * self._way, 6.0 * s * (1.0 - s) / self.duration_s * self._way

    def is_over(self, t_ns: int) -> bool:
        """Whether the motion has ended."""
        return (t_ns - self._t_ns) * 1e-9 >= self.duration_s


def describe_distance(u: FloatArray, goal: FloatArray, joint_names: tuple[str, ...]) -> str:
    """Return how far a setpoint is from a posture, both (n_a,), rad: the furthest joint and how many are off."""
    away = np.abs(u - goal)
    i, count = int(np.argmax(away)), int(np.sum(away > ARRIVED_RAD))
    return (
        f"{joint_names[i]} is {away[i]:.3f} rad away ({u[i]:.3f}, not {goal[i]:.3f}), {count} of {len(away)} joints are"
    )
