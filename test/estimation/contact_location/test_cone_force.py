"""The best force in a circular cone, against nonnegative least squares over many edges."""

import numpy as np
import pytest
from scipy.optimize import nnls

from contact_mpc.estimation.contact_location.cone_force import BOUNDARY, INTERIOR, NONE, fit_force

MU = 0.6
EDGES = 720  # an inscribed pyramid: its residual is above the cone's, by less than (pi / 720)^2 of the force's part
ANGLES = 2.0 * np.pi * np.arange(EDGES) / EDGES
PYRAMID = np.array([np.ones(EDGES), MU * np.cos(ANGLES), MU * np.sin(ANGLES)])


@pytest.mark.parametrize("rows", [1, 2, 3, 5, 7])
def test_residual_is_that_of_a_fine_pyramid(rows: int) -> None:
    rng, places = np.random.default_rng(rows), set()
    for _ in range(60):
        A, b = rng.normal(size=(rows, 3)), 3.0 * rng.normal(size=rows)
        chi2, f, place = fit_force(A, rows, b, MU)
        peer = nnls(A @ PYRAMID, b)[1] ** 2
        places.add(place)
        assert chi2 <= peer + 1e-6 * (1.0 + b @ b)
        assert peer <= chi2 + 1e-3 * (b @ b)
        assert np.hypot(f[1], f[2]) <= MU * f[0] + 1e-9
        assert chi2 == pytest.approx(np.sum((A @ np.array(f) - b) ** 2), abs=1e-9)
    assert places <= {INTERIOR, BOUNDARY, NONE} and len(places) > 1


def test_a_force_inside_the_cone_is_found_again() -> None:
    A = np.random.default_rng(0).normal(size=(6, 3))
    f = np.array([10.0, 2.0, -3.0])
    chi2, found, place = fit_force(A, 6, A @ f, MU)
    assert place == INTERIOR and chi2 < 1e-9
    np.testing.assert_allclose(found, f, rtol=1e-6)


def test_torques_that_only_pulling_explains_get_no_force() -> None:
    A = np.eye(3)
    chi2, found, place = fit_force(A, 3, np.array([-5.0, 0.0, 1.0]), MU)
    assert place == NONE and found == (0.0, 0.0, 0.0) and chi2 == pytest.approx(26.0)


def test_what_torques_do_not_see_stays_small() -> None:
    """One row sees the normal force alone: nothing sideways is made up."""
    _, found, _ = fit_force(np.array([[2.0, 0.0, 0.0]]), 1, np.array([8.0]), MU)
    np.testing.assert_allclose(found, [4.0, 0.0, 0.0], atol=1e-6)
