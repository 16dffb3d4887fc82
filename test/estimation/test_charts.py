"""Charts of free and jointed objects: they add and compare consistently, and their transitions are derivatives."""

import numpy as np
import pytest

from contact_mpc import load_system
from contact_mpc.estimation.charts import FreeBodyChart, build_charts
from contact_mpc.model.rotations import quaternion_to_matrix, rotation_exp

TOLERANCE = 1e-9  # of five-point differences


@pytest.fixture(params=["allegro_ball", "planar_hand_ball"])
def chart_at(request):
    """Chart of a system's object and a configuration away from its origin."""
    system = load_system(request.param)
    (chart,) = build_charts(system)
    x0 = system.q_default[: system.n_q_u]
    return chart, chart.integrate(x0, 0.3 * np.random.default_rng(1).standard_normal(chart.n))


def test_difference_undoes_integrate(chart_at):
    chart, x = chart_at
    dx = np.linspace(-0.9, 0.8, chart.n)
    assert chart.difference(x, chart.integrate(x, dx)) == pytest.approx(dx, abs=1e-12)


def test_transition_is_the_derivative_of_the_motion(chart_at, check_jacobian):
    """d(x (+) dx (+) (v + dv) dt) at fast motion, 0.9 rad in one step, where the rotation of errors shows."""
    chart, x = chart_at
    v, dt = np.linspace(-3.0, 3.0, chart.n), 0.3
    end = chart.integrate(x, v * dt)
    A, B = chart.transition(v, dt)
    check_jacobian(A, lambda e: chart.difference(end, chart.integrate(chart.integrate(x, e), v * dt)), TOLERANCE)
    check_jacobian(B, lambda e: chart.difference(end, chart.integrate(x, (v + e) * dt)), TOLERANCE)


def test_free_body_turns_on_the_left():
    chart, R = FreeBodyChart(), rotation_exp(np.array([0.3, -0.4, 0.5]))
    x = chart.from_pose(R, np.array([1.0, 2.0, 3.0]), None)
    turn = np.array([0.1, 0.2, -0.3])
    moved = chart.integrate(x, np.concatenate([turn, [0.0, 0.0, 1.0]]))
    assert np.abs(quaternion_to_matrix(moved[:4]) - rotation_exp(turn) @ R).max() < 1e-12
    assert moved[4:] == pytest.approx([1.0, 2.0, 4.0])


def test_pose_noise_becomes_that_of_the_joints():
    """A disc on y, z and turn: the turn has the rotation noise, y and z the translation noise, uncorrelated."""
    system = load_system("planar_hand_ball")
    (chart,) = build_charts(system)
    P = chart.covariance(system.q_default[: system.n_q_u], 0.02, 0.001)
    assert np.abs(P - np.diag([0.001**2, 0.001**2, 0.02**2])).max() < 1e-10


@pytest.mark.parametrize("name", ["allegro_ball", "planar_hand_ball"])
def test_configuration_of_a_pose_is_found_again(name):
    system = load_system(name)
    (chart,) = build_charts(system)
    q = system.q_default.copy()
    q[: system.n_q_u] = chart.integrate(q[: system.n_q_u], np.linspace(-0.3, 0.4, chart.n))
    found = chart.from_pose(*system.object_pose(q), system.q_default[: system.n_q_u])
    assert found == pytest.approx(q[: system.n_q_u], abs=1e-9)


def test_error_of_a_displacement_may_point_anywhere_in_its_part(chart_at):
    chart, _ = chart_at
    dx = np.zeros(chart.n)
    dx[0] = -0.3
    spread = chart.spread(dx)
    assert spread.max() == pytest.approx(0.3)
    assert np.array_equal(chart.spread(-dx), spread)
    assert np.all(spread >= np.abs(dx))
