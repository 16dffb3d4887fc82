"""Rows between instants: the bits of numpy.interp, and rest outside."""

import numpy as np

from contact_mpc.model.interpolation import interpolate_rows


def test_rows_are_those_of_numpy_interp_bit_for_bit() -> None:
    rng = np.random.default_rng(0)
    for _ in range(300):
        n = int(rng.integers(1, 12))
        times, rows = np.cumsum(rng.uniform(1e-3, 1.0, n)), rng.normal(size=(n, 5))
        for t in (*rng.uniform(-0.5, times[-1] + 0.5, 5), times[0], times[-1], times[n // 2]):
            expected = np.array([np.interp(t, times, column) for column in rows.T])
            assert np.array_equal(interpolate_rows(float(t), times, rows), expected)
