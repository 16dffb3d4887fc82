"""Between instants: rows that are linear, and the way from 0 to 1 that starts and stops at rest."""

from typing import TypeVar

import numpy as np

from contact_mpc.settings.arrays import FloatArray

S = TypeVar("S", float, FloatArray)


def interpolate_rows(t_s: float, times_s: FloatArray, rows: FloatArray) -> FloatArray:
    """Return the row (m,) at t_s of rows (n, m) at increasing times_s (n,), held constant outside.

    The same bits as numpy.interp column by column, in one call.
    """
    k = int(np.searchsorted(times_s, t_s, side="right")) - 1
    if k < 0 or k >= len(times_s) - 1:
        return np.array(rows[min(max(k, 0), len(times_s) - 1)])
    slope = (rows[k + 1] - rows[k]) / (times_s[k + 1] - times_s[k])
    return np.asarray(slope * (t_s - times_s[k]) + rows[k])


def smooth_step(s: S) -> S:
    """Return 3 s^2 - 2 s^3 of s in 0 .. 1, with slope 0 at both ends."""
    return s * s * (3.0 - 2.0 * s)
