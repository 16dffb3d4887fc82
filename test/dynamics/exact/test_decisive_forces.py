"""Derivatives of socp steps whose forces are not unique, or where a contact creeps, against differences of steps."""

from collections.abc import Callable

import numpy as np
import pytest

from contact_mpc import ContactDynamics
from contact_mpc.cli.bench.dynamics.named_states import load_press
from contact_mpc.dynamics.exact.active_set import (
    CREEP,
    SLIDE,
    STICK,
    ActivePoint,
    Law,
    assemble_kkt,
    contact_forces,
    solve_kkt,
)
from contact_mpc.dynamics.exact.decisive_forces import decide_forces
from contact_mpc.dynamics.exact.socp import solve_socp
from contact_mpc.dynamics.exact.step_problem import StepProblem
from contact_mpc.model.rotations import rotation_exp
from contact_mpc.model.system import System

HALF_M = 0.03  # of the cube
# Steps obey their laws within 2e-9 m: what they are off, over the lengths of the differences, is 1e-6 and more. With
# the forces that the solver happens to find, A is 1e-2 off.
RELATIVE_TOLERANCE, DIFFERENCE_STEP = 2e-5, 1e-5
STIFFNESS, MU = 1e4, 0.5  # N/m, -


@pytest.fixture(scope="module")
def press(tmp_path_factory: pytest.TempPathFactory) -> System:
    """Return a free cube of 0.06 m on the ground; the plate above it is far."""
    return load_press(tmp_path_factory.mktemp("press"))


@pytest.mark.parametrize("tilt, azimuth", [(0.03, 0.64), (0.03, 0.76), (0.04, 0.68), (0.05, 0.6)])
def test_cube_that_falls_flat_on_four_corners(
    tilt: float, azimuth: float, press: System, check_jacobian: Callable
) -> None:
    """One corner keeps its place but for 1e-14 to 1e-7 m, three slide: p_1 + p_4 = p_2 + p_3."""
    dynamics, q, n_v = ContactDynamics(press, "socp"), press.q_default.copy(), press.n_v
    turn = tilt * np.array([np.cos(azimuth), np.sin(azimuth), 0.0])
    q[:4] = [np.cos(0.5 * tilt), *(np.sin(0.5 * tilt) / tilt * turn)]
    q[4:7] = [0.0, 0.0, HALF_M * np.abs(rotation_exp(turn)[2]).sum()]
    q[7] = 0.5
    found = dynamics.linearize(q, q[7:])
    assert found.is_differentiable

    def next_state(x: np.ndarray) -> np.ndarray:
        moved = dynamics.step(press.integrate(q, x[:n_v]), q[7:] + x[n_v:])
        assert moved.is_converged
        return press.difference(found.step.q_next, moved.q_next)

    check_jacobian(np.hstack([found.A, found.B]), next_state, RELATIVE_TOLERANCE, DIFFERENCE_STEP)


def test_corner_without_force_decides_where_a_box_slides_flat() -> None:
    """All four slide alike; in a turn the corners of one diagonal would lift more, and carry the load before that."""
    yaw = 0.4
    c, s = np.cos(yaw), np.sin(yaw)
    corners = np.array([[x, y, 0.0] for x in (-0.1, 0.1) for y in (-0.06, 0.06)]) @ [[c, s, 0], [-s, c, 0], [0, 0, 1]]
    J = np.zeros((4, 3, 6))
    J[:, :, :3] = np.eye(3)
    for i, (x, y, z) in enumerate(corners):
        J[i, :, 3:] = -np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])

    def problem(b: np.ndarray) -> StepProblem:
        return make_problem(J, np.diag([STIFFNESS] * 3 + [10.0] * 3), b)

    # what balances the sliding forces of 1, 2, 3 and 4 N, and the motion along x that they allow
    shares, direction = np.array([1.0, 2.0, 3.0, 4.0]), np.array([MU, 0.0, 1.0])
    force = shares[:, None] * direction
    dq = 3e-3 * np.array([-1.0, 0.0, MU, 0.0, 0.0, 0.0])
    here = problem(np.einsum("kiv,ki->v", J, force) - np.diag([STIFFNESS] * 3 + [10.0] * 3) @ dq)
    solution = solve_socp(here)
    np.testing.assert_allclose(solution.dq, dq, rtol=0.0, atol=1e-9)
    point = decide_forces(here, solution.point)
    assert {law.kind for law in point.laws} == {SLIDE} and len(point.laws) == 3
    # that moment turns it by 0.3 mrad, enough for a gap of 4e-7 m that the solver sees
    moment = 0.01 * np.eye(6)[5]
    ends = [solve_socp(problem(here.b + sign * moment)).dq for sign in (1.0, -1.0)]
    expected, shared = (_change_of_motion(here, item, moment) for item in (point, solution.point))
    np.testing.assert_allclose(0.5 * (ends[0] - ends[1]), expected, atol=1e-3 * np.abs(expected).max())
    assert np.abs(shared - expected).max() > 0.02 * np.abs(expected).max()


def _change_of_motion(problem: StepProblem, point: ActivePoint, load: np.ndarray) -> np.ndarray:
    """Return by how much dq (n_v,) changes with a change of b (n_v,), to first order."""
    _F, K = assemble_kkt(problem, point)
    return solve_kkt(K, len(load), -np.append(load, np.zeros(len(point.m)))).x[: len(load)]


@pytest.mark.parametrize("pull, kind", [(1.0, STICK), (MU * 10.0 + 1e-5, CREEP)])
def test_particle_sticks_or_creeps_by_its_load(pull: float, kind: str) -> None:
    """Under 10 N, written as sliding by 2e-10 m: it sticks below the edge of the cone, and creeps beyond it."""
    problem = make_problem(np.eye(3)[None], STIFFNESS * np.eye(3), np.array([pull, 0.0, 10.0]))
    point = decide_forces(problem, ActivePoint((Law(0, SLIDE),), np.array([-2e-10, 0.0, 1e-10]), np.array([1e11])))
    # on the edge k dq = f - b along (-1, 0, mu), and f_x = mu f_z
    over = max(pull - MU * 10.0, 0.0) / (1.0 + MU**2)
    assert [law.kind for law in point.laws] == [kind]
    np.testing.assert_allclose(point.dq, over / STIFFNESS * np.array([-1.0, 0.0, MU]), rtol=1e-6, atol=1e-18)
    force = np.array([pull - over, 0.0, 10.0 + MU * over])
    np.testing.assert_allclose(contact_forces(problem, point)[0], force, rtol=0.0, atol=1e-11)


def make_problem(J: np.ndarray, Q: np.ndarray, b: np.ndarray) -> StepProblem:
    """Return a step over k closed contacts with the normal z."""
    k = len(J)
    return StepProblem(
        Q,
        b,
        np.zeros(k),
        np.tile([0.0, 0.0, 1.0], (k, 1)),
        J,
        np.full(k, MU),
        np.tile([1.0, 0.0, 0.0], (k, 1)),
        np.zeros(k, dtype=bool),
        np.arange(k),
    )
