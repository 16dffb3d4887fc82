"""The displacements by which contacts carried the objects, by time: what lies between the last picture and now.

Sums from the first segment on are kept, c_k = c_(k-1) + dx_k, so that the displacement between two stamps is a
difference of two sums however long ago the first is; a dropout of seconds costs no more than a frame.
"""

from bisect import bisect_right

import numpy as np

from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.units import NS_PER_S

MOST_SEGMENTS = 4096  # after which the older half of what is too old is dropped


class CarriedHistory:
    """Carried displacements of the last `length_s`.

    Parameters
    ----------
    n_v_u : int
        Velocities of the objects.
    length_s : float
        For so long they are kept, s.
    """

    def __init__(self, n_v_u: int, length_s: float) -> None:
        self._n_v_u, self._length_ns = n_v_u, round(length_s * NS_PER_S)
        self._starts: list[int] = []
        self._stops: list[int] = []
        self._dx: list[FloatArray] = []
        self._sums: list[FloatArray] = []  # before each segment
        self._known_ns: list[int] = []  # before each segment

    def __len__(self) -> int:
        return len(self._starts)

    def add(self, from_ns: int, to_ns: int, dx: FloatArray) -> None:
        """Append the displacement dx (n_v_u,) between two stamps, of which the first is not before the last segment."""
        last = len(self._starts) - 1
        self._sums.append(self._sums[last] + self._dx[last] if last >= 0 else np.zeros(self._n_v_u))
        self._known_ns.append(self._known_ns[last] + self._stops[last] - self._starts[last] if last >= 0 else 0)
        self._starts.append(from_ns)
        self._stops.append(to_ns)
        self._dx.append(dx)
        if len(self._starts) > MOST_SEGMENTS:
            self._forget(bisect_right(self._stops, to_ns - self._length_ns))

    def between(self, from_ns: int, to_ns: int) -> tuple[FloatArray, float]:
        """Return the displacement (n_v_u,) between two stamps and the share of that time for which it is known.

        Linear inside a segment, none where contacts carry nothing.
        """
        if to_ns <= from_ns or not self._starts:
            return np.zeros(self._n_v_u), 0.0
        (end, known_end), (begin, known_begin) = self._until(to_ns), self._until(from_ns)
        return end - begin, (known_end - known_begin) / (to_ns - from_ns)

    def velocity(self, t_ns: int) -> FloatArray:
        """Return the velocity (n_v_u,) over the newest segment, zero where that ends before t_ns."""
        if not self._stops or self._stops[-1] < t_ns:
            return np.zeros(self._n_v_u)
        return np.asarray(self._dx[-1] / ((self._stops[-1] - self._starts[-1]) * 1e-9))

    def _until(self, t_ns: int) -> tuple[FloatArray, int]:
        """Return displacement and known time, ns, from the first segment to t_ns."""
        k = max(bisect_right(self._starts, t_ns) - 1, 0)
        part_ns = min(max(t_ns - self._starts[k], 0), self._stops[k] - self._starts[k])
        share = part_ns / (self._stops[k] - self._starts[k])
        return self._sums[k] + share * self._dx[k], self._known_ns[k] + part_ns

    def _forget(self, count: int) -> None:
        for values in (self._starts, self._stops, self._dx, self._sums, self._known_ns):
            del values[:count]
