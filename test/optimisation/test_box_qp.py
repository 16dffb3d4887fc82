"""Box programs: optimality conditions, and the same solution as clarabel."""

import clarabel
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csc_matrix

from contact_mpc.optimisation.box_qp import BOX_CONVERGED, StagedHessian, solve_box_qp

GRADIENT_TOLERANCE = 1e-8  # relative to the largest |f|; the solver stops at 1e-9


def random_program(seed: int, stages: int, n_a: int, scale: float) -> tuple[StagedHessian, np.ndarray, np.ndarray, np.ndarray]:
    """Return (H, f, lower, upper) with positive command costs, rate costs, and rows M of the given scale."""
    rng = np.random.default_rng(seed)
    n = stages * n_a
    cost, rate = rng.uniform(0.5, 5.0, n_a), rng.uniform(0.0, 5.0, n_a)
    diagonal = np.concatenate([cost + rate * (2.0 if k < stages - 1 else 1.0) for k in range(stages)])
    coupling = np.concatenate([np.zeros(n_a), *[-rate for _ in range(stages - 1)]])
    M = scale * rng.normal(size=(rng.integers(1, 9), n))
    lower = -rng.uniform(0.0, 1.0, n)
    upper = lower + rng.uniform(0.0, 1.5, n)
    return StagedHessian(diagonal, coupling, M, n_a), rng.normal(0.0, 3.0, n), lower, upper


def dense(H: StagedHessian) -> np.ndarray:
    full = np.diag(H.diagonal) + H.M.T @ H.M
    for i in range(H.n_a, len(H.diagonal)):
        full[i, i - H.n_a] += H.coupling[i]
        full[i - H.n_a, i] += H.coupling[i]
    return full


def solve(H: StagedHessian, f: np.ndarray, lower: np.ndarray, upper: np.ndarray, start: float = 0.0) -> np.ndarray:
    x = np.full(len(f), start)
    status, _, _ = solve_box_qp(H, f, lower, upper, x)
    assert status == BOX_CONVERGED
    return x


@given(
    seed=st.integers(0, 10_000),
    stages=st.integers(1, 8),
    n_a=st.integers(1, 5),
    scale=st.sampled_from([0.1, 1.0, 30.0]),
)
def test_solution_satisfies_the_optimality_conditions(seed: int, stages: int, n_a: int, scale: float) -> None:
    H, f, lower, upper = random_program(seed, stages, n_a, scale)
    x = solve(H, f, lower, upper)
    assert np.all((x >= lower) & (x <= upper))
    gradient, tolerance = dense(H) @ x + f, GRADIENT_TOLERANCE * np.abs(f).max()
    assert np.all(gradient[x > lower] <= tolerance)
    assert np.all(gradient[x < upper] >= -tolerance)


@pytest.mark.parametrize("seed", range(10))
def test_solution_is_that_of_clarabel(seed: int) -> None:
    H, f, lower, upper = random_program(seed, 5, 4, 1.0)
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    A = csc_matrix(np.vstack([np.eye(20), -np.eye(20)]))
    cones = [clarabel.NonnegativeConeT(40)]
    bounds = np.concatenate([upper, -lower])
    expected = clarabel.DefaultSolver(csc_matrix(np.triu(dense(H))), f, A, bounds, cones, settings).solve().x
    x = solve(H, f, lower, upper)
    np.testing.assert_allclose(x, expected, atol=1e-6)  # clarabel's 1e-8 on the gap
    assert 0 < np.sum((x == lower) | (x == upper)) < 20  # some bounds are active, not all


def test_without_active_bounds_it_is_the_linear_solution() -> None:
    H, f, _, _ = random_program(1, 4, 2, 1.0)
    x = solve(H, f, np.full(8, -1e6), np.full(8, 1e6))
    np.testing.assert_allclose(x, -np.linalg.solve(dense(H), f), rtol=1e-9)


@pytest.mark.parametrize("start", [-5.0, 0.0, 7.0])
def test_start_outside_the_box_leads_to_the_same_solution(start: float) -> None:
    H, f, lower, upper = random_program(4, 4, 3, 1.0)
    np.testing.assert_allclose(solve(H, f, lower, upper, start), solve(H, f, lower, upper), atol=1e-9)


def test_fixed_variables_stay() -> None:
    H, f, lower, upper = random_program(5, 3, 2, 1.0)
    lower[2] = upper[2] = 0.3
    assert solve(H, f, lower, upper)[2] == 0.3
