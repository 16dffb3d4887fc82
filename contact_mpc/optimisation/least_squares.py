"""A step of least squares from what random changes of an input do to an output, without derivatives.

How the output depends on the input, e = e_0 + E d, is told by changes d that were tried, and the step is that of
min |e_0 + E d|^2 + r |d|^2. Both least squares are regularised. A change by which the output moves much further than by
the others is left out: there contacts slide, roll or break in another way.
"""

import numpy as np

from contact_mpc.settings.arrays import FloatArray

SAMPLE_RIDGE, STEP_RIDGE = 0.1, 1e-3  # of the two least squares, over the mean square of what they divide by
OUTLIER = 3.0  # times the median change of the output: from another mode of contact


def least_squares_step(d: FloatArray, change: FloatArray, error: FloatArray) -> FloatArray:
    """Return the change (n,) that takes an error (n_e,) away, from samples d (m, n) and what they change (m, n_e)."""
    lengths = np.linalg.norm(change, axis=1)
    is_usual = lengths <= OUTLIER * np.median(lengths) + 1e-12
    d, change = d[is_usual], change[is_usual]
    ridge = SAMPLE_RIDGE * float(np.sum(d**2)) / d.shape[1]
    E = change.T @ d @ np.linalg.inv(d.T @ d + ridge * np.eye(d.shape[1]))
    EE = E @ E.T
    return -E.T @ np.linalg.solve(EE + (STEP_RIDGE * float(np.trace(EE)) + 1e-12) * np.eye(len(error)), error)
