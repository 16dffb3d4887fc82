"""Box programs of horizons: optimality conditions, and the same solution as clarabel and numpy."""

import clarabel
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csc_matrix

from contact_mpc.optimisation.box_qp import BOX_CONVERGED, BOX_NOT_DEFINITE, HorizonHessian, solve_box_qp

GRADIENT_TOLERANCE = 2e-6  # relative to the largest |f|; the solver stops at 1e-9, at 1e-6 where round-off stops it
SENSITIVITIES = (0.0, 1.0, 300.0)  # of M against D of order 1: the Hessian's condition is about their square


def random_program(
    seed: int, stages: int, n_a: int, rows: int, sensitivity: float
) -> tuple[HorizonHessian, np.ndarray, np.ndarray, np.ndarray]:
    """Costs of commands and of their changes, a sensitivity of few rows, a box around 0."""
    rng, n = np.random.default_rng(seed), stages * n_a
    rate = rng.uniform(0.0, 2.0, n_a)
    count = np.minimum(np.arange(stages) + 1, 2)[::-1][:, None] if stages > 1 else np.ones((1, 1))
    diagonal = (rng.uniform(0.5, 1.5, (stages, n_a)) + rate * count).ravel()
    coupling = np.concatenate([np.zeros(n_a), np.tile(-rate, stages - 1)])
    lower = -rng.uniform(0.0, 1.0, n)
    hessian = HorizonHessian(diagonal, coupling, sensitivity * rng.normal(size=(rows, n)), n_a)
    return hessian, (1.0 + sensitivity) * rng.normal(0.0, 3.0, n), lower, lower + rng.uniform(0.0, 1.5, n)


def dense(H: HorizonHessian) -> np.ndarray:
    lower = np.diag(H.coupling[H.n_a :], -H.n_a) if len(H.coupling) > H.n_a else np.zeros((len(H.coupling),) * 2)
    return np.diag(H.diagonal) + lower + lower.T + H.M.T @ H.M


def solve(H: HorizonHessian, f: np.ndarray, lower: np.ndarray, upper: np.ndarray, start: float = 0.0) -> np.ndarray:
    x = np.full(len(f), start)
    status, _, _ = solve_box_qp(H, f, lower, upper, x)
    assert status == BOX_CONVERGED
    return x


@given(
    seed=st.integers(0, 10_000),
    stages=st.integers(1, 6),
    n_a=st.integers(1, 6),
    rows=st.integers(1, 12),
    sensitivity=st.sampled_from(SENSITIVITIES),
)
def test_what_is_called_converged_satisfies_the_optimality_conditions(
    seed: int, stages: int, n_a: int, rows: int, sensitivity: float
) -> None:
    H, f, lower, upper = random_program(seed, stages, n_a, rows, sensitivity)
    x = np.zeros(len(f))
    status, _, residual = solve_box_qp(H, f, lower, upper, x)
    assert np.all((x >= lower) & (x <= upper))
    gradient, tolerance = dense(H) @ x + f, GRADIENT_TOLERANCE * np.abs(f).max()
    if status == BOX_CONVERGED:
        assert np.all(gradient[x > lower] <= tolerance)
        assert np.all(gradient[x < upper] >= -tolerance)
    else:  # a condition of about 1e6 may use up the iterations; the objective has still fallen
        assert sensitivity == SENSITIVITIES[-1] and residual > 0.0
        start = np.clip(np.zeros(len(f)), lower, upper)
        assert x @ (0.5 * dense(H) @ x + f) <= start @ (0.5 * dense(H) @ start + f)


@pytest.mark.parametrize("seed", range(10))
def test_solution_is_that_of_clarabel(seed: int) -> None:
    H, f, lower, upper = random_program(seed, 5, 4, 6, 1.0)
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-12
    A = csc_matrix(np.vstack([np.eye(20), -np.eye(20)]))
    bounds, cones = np.concatenate([upper, -lower]), [clarabel.NonnegativeConeT(40)]
    expected = clarabel.DefaultSolver(csc_matrix(np.triu(dense(H))), f, A, bounds, cones, settings).solve().x
    x = solve(H, f, lower, upper)
    np.testing.assert_allclose(x, expected, atol=1e-6)
    assert 0 < np.sum((x == lower) | (x == upper)) < 20  # some bounds are active, not all


@pytest.mark.parametrize("sensitivity", SENSITIVITIES)
def test_without_active_bounds_it_is_the_linear_solution(sensitivity: float) -> None:
    H, f, _, _ = random_program(1, 4, 3, 6, sensitivity)
    x = solve(H, f, np.full(12, -1e6), np.full(12, 1e6))
    np.testing.assert_allclose(x, -np.linalg.solve(dense(H), f), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("start", [-5.0, 0.0, 7.0])
def test_start_outside_the_box_leads_to_the_same_solution(start: float) -> None:
    H, f, lower, upper = random_program(4, 4, 3, 6, 1.0)
    np.testing.assert_allclose(solve(H, f, lower, upper, start), solve(H, f, lower, upper), atol=1e-8)


def test_fixed_variables_stay() -> None:
    H, f, lower, upper = random_program(5, 3, 2, 4, 1.0)
    lower[2] = upper[2] = 0.1
    assert solve(H, f, lower, upper)[2] == 0.1


def test_program_without_a_minimum_is_a_status() -> None:
    H, f, lower, upper = random_program(6, 3, 2, 4, 1.0)
    H.diagonal[3] = -1.0
    status, _, _ = solve_box_qp(H, f, lower - 1e3, upper + 1e3, np.zeros(6))
    assert status == BOX_NOT_DEFINITE
