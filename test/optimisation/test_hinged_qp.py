"""Programs with one-sided costs: the same solution as clarabel with slacks, and the box program where none counts."""

import clarabel
import numpy as np
import pytest
from scipy.sparse import csc_matrix

from contact_mpc.optimisation.box_qp import BOX_CONVERGED, BOX_NOT_DEFINITE, HorizonHessian, solve_box_qp
from contact_mpc.optimisation.hinged_qp import solve_hinged_qp

STAGES, N_A, HINGES = 5, 4, 12
N = STAGES * N_A


def random_program(seed: int) -> tuple[HorizonHessian, np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    coupling = np.concatenate([np.zeros(N_A), np.full(N - N_A, -0.5)])
    hessian = HorizonHessian(rng.uniform(2.0, 3.0, N), coupling, rng.normal(size=(6, N)), N_A)
    return hessian, rng.normal(0.0, 3.0, N), -rng.uniform(0.2, 1.0, N), rng.uniform(0.2, 1.0, N)


def dense(H: HorizonHessian) -> np.ndarray:
    off = np.diag(H.coupling[N_A:], -N_A)
    return np.diag(H.diagonal) + off + off.T + H.M.T @ H.M


@pytest.mark.parametrize("stiffness", [0.3, 3.0, 30.0])
@pytest.mark.parametrize("seed", range(10))
def test_solution_is_that_of_clarabel_with_slacks(seed: int, stiffness: float) -> None:
    """min 1/2 x'Hx + f'x + 1/2 t't with t >= 0, t >= -(c + R x)."""
    H, f, lower, upper = random_program(seed)
    rng = np.random.default_rng(100 + seed)
    rows, level = stiffness * rng.normal(size=(HINGES, N)), stiffness * rng.normal(size=HINGES)
    P = np.block([[dense(H), np.zeros((N, HINGES))], [np.zeros((HINGES, N)), np.eye(HINGES)]])
    zeros, ones = np.zeros((HINGES, N)), np.eye(HINGES)
    A = np.block([
        [np.eye(N), np.zeros((N, HINGES))], [-np.eye(N), np.zeros((N, HINGES))], [zeros, -ones], [-rows, -ones],
    ])  # fmt: skip
    b = np.concatenate([upper, -lower, np.zeros(HINGES), level])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-12
    expected = clarabel.DefaultSolver(
        csc_matrix(np.triu(P)), np.concatenate([f, np.zeros(HINGES)]), csc_matrix(A), b,
        [clarabel.NonnegativeConeT(len(b))], settings,
    ).solve().x  # fmt: skip
    x = np.zeros(N)
    status, _, rounds = solve_hinged_qp(H, f, rows, level, lower, upper, x)
    assert status == BOX_CONVERGED and rounds > 1
    np.testing.assert_allclose(x, expected[:N], atol=1e-6)
    crossed = np.count_nonzero(level + rows @ x < 0.0)
    assert 0 < crossed < HINGES and np.any((x == lower) | (x == upper))


def test_rows_that_nothing_crosses_leave_the_box_program_as_it_is() -> None:
    H, f, lower, upper = random_program(3)
    x, expected = np.zeros(N), np.zeros(N)
    status, _, rounds = solve_hinged_qp(H, f, np.ones((2, N)), np.full(2, 1e3), lower, upper, x)
    solve_box_qp(H, f, lower, upper, expected)
    assert status == BOX_CONVERGED and rounds == 1
    np.testing.assert_array_equal(x, expected)


def test_program_without_a_minimum_is_a_status() -> None:
    H, f, lower, upper = random_program(4)
    H.diagonal[2] = -1.0
    status, _, _ = solve_hinged_qp(H, f, np.ones((1, N)), np.ones(1), lower - 1e3, upper + 1e3, np.zeros(N))
    assert status == BOX_NOT_DEFINITE
