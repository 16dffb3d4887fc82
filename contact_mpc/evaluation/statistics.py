"""Success rates with their uncertainty, and the spread of measured values.

Source: E. B. Wilson, "Probable inference, the law of succession, and statistical inference", 1927.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Z_95 = 1.959963984540054  # two-sided 95 % quantile of the normal distribution


def wilson_interval(successes: int, trials: int, z: float = Z_95) -> tuple[float, float]:
    """Return the confidence interval (low, high) of a success rate.

        (p + z^2/2n -+ z sqrt(p (1 - p) / n + z^2 / 4n^2)) / (1 + z^2/n)

    It stays within [0, 1] and has a width also at 0 and n successes; with no trials it is (0, 1).

    Parameters
    ----------
    successes, trials : int
        0 <= successes <= trials.
    z : float
        Quantile of the normal distribution; 95 % by default.
    """
    if trials == 0:
        return 0.0, 1.0
    p, z2 = successes / trials, z * z / trials
    centre, half = p + 0.5 * z2, z * math.sqrt((p * (1.0 - p) + 0.25 * z2) / trials)
    low = 0.0 if successes == 0 else (centre - half) / (1.0 + z2)  # exact where rounding would miss by an ulp
    return low, 1.0 if successes == trials else (centre + half) / (1.0 + z2)


def paired_p_value(gained: int, lost: int) -> float:
    """Return the exact two-sided p-value of McNemar's test: are trials gained as likely as trials lost?

        min(1, 2 sum_{k <= min(gained, lost)} C(n, k) / 2^n),   n = gained + lost

    Source: Q. McNemar, "Note on the sampling error of the difference between correlated proportions", 1947.
    """
    n = gained + lost
    tail = sum(math.comb(n, k) for k in range(min(gained, lost) + 1))
    return min(1.0, 2.0 * tail / 2**n)


def statistics_of(values: Sequence[float]) -> dict[str, float] | None:
    """Return {median, p90, p99, max} of the finite values; None if there are none."""
    finite: NDArray[np.float64] = np.array([value for value in values if np.isfinite(value)])
    if not finite.size:
        return None
    median, p90, p99 = np.percentile(finite, [50.0, 90.0, 99.0])
    return {"median": float(median), "p90": float(p90), "p99": float(p99), "max": float(finite.max())}
