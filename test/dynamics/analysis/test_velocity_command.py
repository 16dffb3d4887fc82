"""A pusher that moves as it is told: motion cone, Mason's vote, force up to a factor; grasps have none or many."""

from collections.abc import Callable

import numpy as np
import pytest

from contact_mpc import ContactDynamics
from contact_mpc.dynamics.analysis.velocity_command import motion_cone, push_by_velocity, squeezes
from contact_mpc.dynamics.exact.residuals import residuals_of_coulomb
from contact_mpc.dynamics.exact.step_problem import StepProblem
from contact_mpc.errors import InputError
from contact_mpc.model.system import System

C_M, MU, STEP_M = 0.3826, 0.667, 1e-3


def pusher_at(system: System, height_m: float) -> StepProblem:
    """Return the contact of a pusher at the box's left face, `height_m` above its centre."""
    dynamics = ContactDynamics(system, "lcp")
    q = np.array([0.0, 0.0, 0.0, -1.0, height_m])
    q[3] += dynamics.step(q, q[3:]).gaps[0]
    return dynamics.assemble(q, q[3:])


def slip(problem: StepProblem, d_a: np.ndarray, d_u: np.ndarray) -> float:
    d = problem.displacements(np.concatenate([d_u, d_a]))[0]
    return float(np.linalg.norm(d - (d @ problem.n[0]) * problem.n[0]))


@pytest.mark.parametrize("height_m", [0.0, 0.2, -0.35])
def test_pusher_sticks_within_the_motion_cone_alone(height_m: float, named_system: Callable) -> None:
    problem, W = pusher_at(named_system("planar_pushing"), height_m), np.diag([1.0, 1.0, C_M**2])
    mu = float(problem.mu[0])
    low, high = motion_cone(mu, C_M, -0.5, height_m)
    for slope, sticks in ((low + 0.02, True), (high - 0.02, True), (low - 0.02, False), (high + 0.02, False)):
        d_a = STEP_M * np.array([1.0, slope])
        found = push_by_velocity(problem, d_a, W)
        assert found.status == "converged"
        assert (slip(problem, d_a, found.d_u) < 1e-12) == sticks


def test_box_turns_as_pushing_direction_and_cone_vote(named_system: Callable) -> None:
    """Mason 1986: two of the ray of pushing and the cone's edges on one side of the centre decide."""
    problem, W = pusher_at(named_system("planar_pushing"), 0.1), np.diag([1.0, 1.0, C_M**2])
    mu, seen = float(problem.mu[0]), set()
    for slope in np.linspace(-1.5, 1.5, 13):
        found = push_by_velocity(problem, STEP_M * np.array([1.0, slope]), W)
        moments = [-0.5 * ty - 0.1 * tx for tx, ty in ((1.0, slope), (1.0, mu), (1.0, -mu))]
        vote = np.sign(np.sum(np.sign(moments)))
        assert np.sign(found.d_u[2]) == vote
        seen.add(vote)
    assert seen == {-1.0, 1.0}


def test_forces_are_known_up_to_a_factor(named_system: Callable) -> None:
    problem, W = pusher_at(named_system("planar_pushing"), 0.1), np.diag([1.0, 1.0, C_M**2])
    once, ten = (push_by_velocity(problem, STEP_M * np.array([1.0, 0.3]), factor * W) for factor in (1.0, 10.0))
    np.testing.assert_allclose(ten.d_u, once.d_u, atol=1e-15)
    np.testing.assert_allclose(ten.force, 10.0 * once.force, rtol=1e-9)


def held_ball(system: System) -> StepProblem:
    from contact_mpc.examples.parallel_gripper import start

    q = start(system)
    q[1] += 0.1  # above the ground
    q[2 + system.joint_names.index("lift")] += 0.1
    return ContactDynamics(system, "lcp").assemble(q, q[2:])


def test_fingers_told_to_squeeze_have_no_solution_and_fingers_that_move_along_have_any(named_system: Callable) -> None:
    system = named_system("parallel_gripper")
    problem, names = held_ball(system), system.joint_names
    squeeze = np.array([{"left_x": 1e-3, "right_x": -1e-3, "lift": 0.0}[name] for name in names])
    assert push_by_velocity(problem, squeeze, np.eye(2)).status == "ray_termination"
    lift = np.array([1e-3 if name == "lift" else 0.0 for name in names])
    found = push_by_velocity(problem, lift, np.eye(2))
    assert found.status == "converged" and squeezes(problem, found, lift) >= 1
    # Left behind without a grip and taken along with one: both meet all laws of contact.
    for way_m, grip_n in ((0.0, 0.0), (1e-3, 5.0)):
        dq = np.concatenate([[0.0, way_m], lift])
        force = grip_n * problem.n
        residuals = residuals_of_coulomb(problem, dq, force, 8)
        assert residuals.cone < 1e-12 and residuals.penetration < 1e-12 and residuals.complementarity < 1e-12


def test_metric_that_is_none_is_refused(named_system: Callable) -> None:
    problem = pusher_at(named_system("planar_pushing"), 0.0)
    with pytest.raises(InputError, match=r"W has shape \(2, 2\); expected a positive definite \(3, 3\)"):
        push_by_velocity(problem, np.zeros(2), np.eye(2))
