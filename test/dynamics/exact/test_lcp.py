"""Lemke's method against Drake's, and Coulomb's law contact by contact in the complementarity step."""

from collections.abc import Callable

import numpy as np
import pytest

from contact_mpc import ContactDynamics
from contact_mpc.dynamics.exact.cone_solution import StepSolution
from contact_mpc.dynamics.exact.lcp import build_rows, reduce_problem, solve_step_lcp
from contact_mpc.dynamics.exact.lemke import PIVOT_LIMIT, RAY_TERMINATION, SOLVED, solve_lcp
from contact_mpc.dynamics.exact.step_problem import StepProblem
from contact_mpc.errors import InputError
from contact_mpc.model.system import System
from contact_mpc.task.task import load_task

RAY_COUNT = 8


def violation(M: np.ndarray, q: np.ndarray, z: np.ndarray) -> float:
    """How far z is from solving the problem, relative to the size of its terms."""
    w = M @ z + q
    scale = np.abs(q).max() + (np.abs(M) @ np.abs(z)).max()
    return float(max(-z.min(), -w.min(), np.abs(np.minimum(z, w)).max()) / scale)


def random_problems(seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Problems with positive definite M, whose solution is unique."""
    rng, found = np.random.default_rng(seed), []
    for n in (1, 2, 5, 20, 60):
        factor, skew = rng.normal(size=(n, n)), rng.normal(size=(n, n))
        found.append((factor @ factor.T + 0.1 * np.eye(n) + skew - skew.T, rng.normal(size=n)))
    return found


@pytest.mark.drake
@pytest.mark.parametrize("seed", range(4))
def test_lemke_agrees_with_drake(seed: int) -> None:
    solvers = pytest.importorskip("pydrake.solvers")
    for M, q in random_problems(seed):
        program = solvers.MathematicalProgram()
        x = program.NewContinuousVariables(len(q))
        program.AddLinearComplementarityConstraint(M, q, x)
        reference = solvers.MobyLcpSolver().Solve(program, None, None)
        found = solve_lcp(M, q)
        assert reference.is_success() and found.outcome == SOLVED
        np.testing.assert_allclose(found.z, reference.GetSolution(x), atol=1e-8 * (1.0 + np.abs(found.z).max()))


def test_lemke_ends_on_degenerate_problems() -> None:
    """Many equal contacts: every ratio is a tie."""
    for n in (4, 12):
        M, q = np.ones((n, n)), -np.ones(n)
        found = solve_lcp(M, q)
        assert found.outcome == SOLVED
        assert violation(M, q, found.z) < 1e-12


def test_lemke_reports_a_ray_where_there_is_no_solution() -> None:
    assert solve_lcp(np.array([[0.0, 0.0], [0.0, 1.0]]), np.array([-1.0, -1.0])).outcome == RAY_TERMINATION
    assert solve_lcp(-np.eye(2), np.array([-1.0, -2.0])).outcome == RAY_TERMINATION


def test_lemke_reports_its_limit() -> None:
    M, q = random_problems(0)[-1]
    assert solve_lcp(M, q, max_pivots=1).outcome == PIVOT_LIMIT


def test_nothing_is_to_be_done_where_all_gaps_are_open() -> None:
    found = solve_lcp(np.eye(3), np.array([0.0, 1.0, 2.0]))
    assert found.outcome == SOLVED and found.pivots == 0
    np.testing.assert_array_equal(found.z, np.zeros(3))


def check_coulomb(problem: StepProblem, solution: StepSolution) -> int:
    """Assert Coulomb's law of every contact; return how many slide."""
    d, f = problem.displacements(solution.dq), solution.force
    f_n, nu = np.sum(problem.n * f, axis=1), np.sum(problem.n * d, axis=1)
    f_t, d_t = f - f_n[:, None] * problem.n, d - nu[:, None] * problem.n
    gap, load = problem.phi + nu, np.linalg.norm(f_t, axis=1)
    tiny = 1e-9 * (1.0 + np.abs(f).max())
    assert gap.min() > -1e-9 and f_n.min() > -tiny
    np.testing.assert_allclose(np.minimum(gap, f_n), 0.0, atol=tiny)
    assert np.all(load <= problem.mu * f_n + tiny)
    slips = (np.linalg.norm(d_t, axis=1) > 1e-7) & (f_n > 1e-6)
    dissipated = -np.sum(f_t * d_t, axis=1)[slips]
    most = (problem.mu * f_n * np.linalg.norm(d_t, axis=1))[slips]
    assert np.all(dissipated >= most * (np.cos(np.pi / RAY_COUNT) - 1e-6))
    return int(slips.sum())


@pytest.mark.parametrize(
    "name, regularization",
    [
        ("planar_hand_ball", "quasistatic"),
        ("planar_hand_ball", "quasidynamic"),
        ("allegro_ball", "quasidynamic"),
        ("door", "quasidynamic"),
    ],
)
def test_every_contact_obeys_coulomb(
    name: str, regularization: str, named_system: Callable, random_states: Callable
) -> None:
    """Closed or without force; force in the cone; none of it lost, and against the motion, where the contact slides."""
    dynamics = ContactDynamics(named_system(name), formulation="lcp", regularization=regularization)
    draw = ContactDynamics(named_system(name), formulation="lcp", regularization="quasidynamic")
    sliding = 0
    for q, u in random_states(draw, 6, (0.0, 5e-3), seed=5, deepest=1e-3):
        problem = dynamics.assemble(q, u)
        solution = solve_step_lcp(problem, RAY_COUNT)
        assert solution.status == "converged"
        sliding += check_coulomb(problem, solution)
    assert sliding > 0 or regularization == "quasistatic"


def test_light_grasp_of_a_ball_without_inertia_is_solved() -> None:
    """Pivoting ends on a ray that starts where the artificial variable has gone: a solution."""
    task = load_task("allegro_ball")
    problem = ContactDynamics(task.system, formulation="lcp").assemble(task.start_q, task.start_u)
    solution = solve_step_lcp(problem, RAY_COUNT)
    assert solution.status == "converged"
    check_coulomb(problem, solution)
    weight = -problem.b[:6]
    carried = np.einsum("kiv,ki->v", problem.J, solution.force)[:6]
    np.testing.assert_allclose(carried, -weight, atol=1e-3 * np.abs(weight).max())


@pytest.mark.drake
def test_contact_problems_solve_as_drake_solves_them(planar: System, random_states: Callable) -> None:
    solvers = pytest.importorskip("pydrake.solvers")
    dynamics = ContactDynamics(planar, formulation="lcp", regularization="quasidynamic")
    compared = 0
    for q, u in random_states(dynamics, 6, (0.0, 5e-3), seed=6, deepest=1e-3):
        problem = dynamics.assemble(q, u)
        rows = build_rows(problem, RAY_COUNT)
        M, c = reduce_problem(problem, rows)
        program = solvers.MathematicalProgram()
        x = program.NewContinuousVariables(len(c))
        program.AddLinearComplementarityConstraint(M, c, x)
        reference = solvers.MobyLcpSolver().Solve(program, None, None)
        if reference.is_success():
            dq = np.linalg.solve(problem.Q, rows.C.T @ reference.GetSolution(x) - problem.b)
            np.testing.assert_allclose(solve_step_lcp(problem, RAY_COUNT).dq, dq, atol=1e-7)
            compared += 1
    assert compared >= 4


def test_object_between_walls_that_are_too_near_ends_on_a_ray(narrow_slot: System) -> None:
    result = ContactDynamics(narrow_slot, formulation="lcp").step(narrow_slot.q_default, np.zeros(1))
    assert result.status in ("ray_termination", "failed")
    assert not result.is_converged and np.all(np.isnan(result.q_next))


def test_lcp_has_no_derivatives(planar: System) -> None:
    with pytest.raises(InputError, match="'lcp' has no derivatives; take one of log_barrier, socp, qp"):
        ContactDynamics(planar, formulation="lcp").linearize(planar.q_default, np.zeros(planar.n_a))
