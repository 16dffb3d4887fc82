"""Rows between instants: the bits of numpy.interp, and rest outside; the smooth way from 0 to 1."""

import numpy as np

from contact_mpc.task.interpolation import interpolate_rows, smooth_step


def test_rows_are_those_of_numpy_interp_bit_for_bit() -> None:
    rng = np.random.default_rng(0)
    for _ in range(300):
        n = int(rng.integers(1, 12))
        times, rows = np.cumsum(rng.uniform(1e-3, 1.0, n)), rng.normal(size=(n, 5))
        for t in (*rng.uniform(-0.5, times[-1] + 0.5, 5), times[0], times[-1], times[n // 2]):
            expected = np.array([np.interp(t, times, column) for column in rows.T])
            assert np.array_equal(interpolate_rows(float(t), times, rows), expected)


def test_smooth_step_starts_and_stops_at_rest() -> None:
    s, eps = np.linspace(0.0, 1.0, 21), 1e-6
    np.testing.assert_allclose(smooth_step(s) + smooth_step(1.0 - s), 1.0, atol=1e-15)
    assert (smooth_step(0.0), smooth_step(0.5), smooth_step(1.0)) == (0.0, 0.5, 1.0)
    assert np.all(np.diff(smooth_step(s)) > 0.0)
    assert smooth_step(eps) < 4e-12 and 1.0 - smooth_step(1.0 - eps) < 4e-12
