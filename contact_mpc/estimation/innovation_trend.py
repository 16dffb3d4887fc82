"""Trend of a filter's innovations: what tells a prediction that drifts away from measurements that are noisy.

With e_k the whitened innovation, N(0, 1) and independent while the filter's model holds, and a = 1 - exp(-dt / tau),

    m <- (1 - a) m + a e_k,    s <- (1 - a)^2 s + a^2,    m'm / s ~ chi^2_n.

A camera that is worse than assumed makes single innovations large but leaves m small; an object that slips in the hand
makes them small but all to one side. So |e_k - m|^2 / (1 + s) measures the noise, m'm / s the drift.
"""

import numpy as np
from scipy.special import chdtri

from contact_mpc.settings.arrays import FloatArray


class InnovationTrend:
    """Exponential mean of whitened innovations of dimension n.

    Parameters
    ----------
    n : int
        Dimension.
    window_s : float
        tau, s.
    probability : float
        Share of the times at which a filter whose model holds shows no drift.
    """

    def __init__(self, n: int, window_s: float, probability: float) -> None:
        self._mean, self._variance, self._window_s = np.zeros(n), 0.0, window_s
        self._limit = float(chdtri(n, 1.0 - probability))

    def add(self, innovation: FloatArray, dt_s: float) -> None:
        """Take the whitened innovation (n,) of a measurement dt_s after the last."""
        a = 1.0 - np.exp(-dt_s / self._window_s)
        self._mean = (1.0 - a) * self._mean + a * innovation
        self._variance = (1.0 - a) ** 2 * self._variance + a * a

    def noise(self, innovation: FloatArray) -> float:
        """Return the squared distance of a whitened innovation (n,) from the trend; n on average."""
        rest = innovation - self._mean
        return float(rest @ rest) / (1.0 + self._variance)

    @property
    def is_drifting(self) -> bool:
        """Whether the mean is larger than chance makes it."""
        return float(self._mean @ self._mean) > self._limit * self._variance
