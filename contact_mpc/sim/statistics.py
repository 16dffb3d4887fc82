"""Success rates with their uncertainty.

Source: E. B. Wilson, "Probable inference, the law of succession, and statistical inference", 1927.
"""

import math

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
    return max(0.0, (centre - half) / (1.0 + z2)), min(1.0, (centre + half) / (1.0 + z2))
