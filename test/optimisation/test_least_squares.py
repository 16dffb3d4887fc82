"""The step of least squares from random changes, on linear maps whose solution is known."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from contact_mpc.optimisation.least_squares import least_squares_step


def test_least_squares_step_takes_the_error_of_a_linear_map_away_whatever_outliers_say() -> None:
    rng = np.random.default_rng(0)
    E, error = rng.standard_normal((3, 8)), rng.standard_normal(3)
    d = rng.standard_normal((40, 8))
    change = d @ E.T
    change[7] = 1e3
    step = least_squares_step(d, change, error)
    assert np.linalg.norm(error + E @ step) < 0.3 * np.linalg.norm(error)


@given(seed=st.integers(0, 10_000), scale=st.floats(0.1, 10.0))
def test_the_step_grows_with_the_error_that_it_takes_away(seed: int, scale: float) -> None:
    rng = np.random.default_rng(seed)
    E, error, d = rng.standard_normal((3, 8)), rng.standard_normal(3), rng.standard_normal((40, 8))
    step = least_squares_step(d, d @ E.T, error)
    np.testing.assert_allclose(least_squares_step(d, d @ E.T, scale * error), scale * step, rtol=1e-6, atol=1e-9)


def test_what_nothing_moves_is_left_where_it_is() -> None:
    d = np.random.default_rng(1).standard_normal((10, 4))
    np.testing.assert_array_equal(least_squares_step(d, np.zeros((10, 3)), np.ones(3)), np.zeros(4))
