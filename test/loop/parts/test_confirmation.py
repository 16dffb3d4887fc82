"""Roll-outs in MuJoCo: the limits of a bridge hold in them, and plans are slowed to the joints' speed limits."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from contact_mpc.control.bridge.config import BridgeConfig
from contact_mpc.control.bridge.guard.limits import GuardLimits
from contact_mpc.loop.parts.confirmation import DRAWS, MujocoConfirmation, roll_outs, slowed
from contact_mpc.planning.tree.problem import Problem, load_problem
from contact_mpc.task.plan import Plan

PUSH_M, PUSH_S = 0.06, 2.0


def plan_of(u: np.ndarray) -> Plan:
    return Plan(0.1 * np.arange(len(u)), np.zeros((len(u), 3)), u, np.zeros_like(u), np.zeros((len(u), 0, 3)))


@given(arrays(float, (5, 2), elements=st.floats(-3.0, 3.0)))
def test_a_slowed_plan_keeps_its_commands_and_the_limits(u: np.ndarray) -> None:
    v_max = np.array([1.0, 0.5])
    plan = plan_of(u)
    found = slowed(plan, v_max)
    speed = np.abs(np.diff(found.u, axis=0)) / np.diff(found.times_s)[:, None]
    assert np.all(speed <= v_max * (1.0 + 1e-9)) and np.array_equal(found.u, u)
    assert found.times_s[-1] >= plan.times_s[-1]


def test_a_plan_within_the_limits_stays_as_it_is() -> None:
    plan = plan_of(np.array([[0.0, 0.0], [0.05, -0.04]]))
    assert slowed(plan, np.array([1.0, 0.5])) is plan


@pytest.fixture(scope="module")
def problem() -> Problem:
    return load_problem("planar_pushing")


def pushed_m(problem: Problem, limits: GuardLimits | None, robot: int = 1) -> tuple[float, float]:
    """Return how far a push along y moves the box and the pusher, m."""
    q = problem.configuration(problem.start_u, problem.start_a)
    u = np.tile(q[problem.system.n_q_u :], (2, 1))
    u[1, robot] += PUSH_M
    end = MujocoConfirmation(problem.system, limits=limits).ends(q, np.array([0.0, PUSH_S]), u[None], 1.0)[0, 0]
    return float(end[1] - q[1]), float(end[problem.system.n_q_u + robot] - q[problem.system.n_q_u + robot])


def test_the_limits_of_a_bridge_hold_in_roll_outs(problem: Problem) -> None:
    limits = GuardLimits.from_config(problem.system, BridgeConfig(gravity_compensation="bridge"))
    box_m, pusher_m = pushed_m(problem, None)
    assert pushed_m(problem, limits) == pytest.approx((box_m, pusher_m), abs=1e-6)  # far from all of them
    weak = replace(limits, tau_max=np.full_like(limits.tau_max, 1e-3))
    assert pushed_m(problem, weak)[0] < 0.1 * box_m  # too weak for the friction of the box
    q_a = problem.configuration(problem.start_u, problem.start_a)[problem.system.n_q_u :]
    near = replace(limits, q_max=np.minimum(limits.q_max, q_a + 0.5 * PUSH_M))
    assert pushed_m(problem, near)[1] == pytest.approx(0.5 * PUSH_M, abs=1e-2)


def test_a_draw_that_does_not_rest_at_the_start_takes_no_part(problem: Problem) -> None:
    """A box twice as large overlaps the pusher beside it, and is away before the part begins."""
    q = problem.configuration(problem.start_u, problem.start_a)
    u = np.tile(q[problem.system.n_q_u :], (3, 1))
    u[:, 1] += PUSH_M * np.array([0.0, 0.5, 1.0])
    plan = Plan(np.array([0.0, 0.5 * PUSH_S, PUSH_S]), np.tile(q, (3, 1)), u, np.zeros_like(u), np.zeros((3, 0, 3)))
    target = q.copy()
    target[1] += PUSH_M
    nominal, large = (1.0, 1.0, 1.0), (1.0, 1.0, 2.0)
    alone, both = (
        MujocoConfirmation(problem.system, draws).corrected(problem, q, plan, target, 0.01)
        for draws in ((nominal,), (nominal, large))
    )
    assert both.error == alone.error and np.array_equal(both.plan.u, alone.plan.u)


def test_a_part_that_needs_no_correction_is_played_as_it_was_rolled_out(problem: Problem) -> None:
    physics, q = MujocoConfirmation(problem.system), problem.configuration(problem.start_u, problem.start_a)
    u = np.tile(q[problem.system.n_q_u :], (2, 1))
    u[1, 1] += PUSH_M
    plan = Plan(np.array([0.0, PUSH_S]), np.tile(q, (2, 1)), u, np.zeros_like(u), np.zeros((2, 0, 3)))
    first = physics.ways(q, plan)
    found = physics.corrected(problem, q, plan, first.q[0, -1], 0.1)
    assert found.plan is plan and physics.ways(q, found.plan) is first
    further = replace(plan, u=u + np.array([[0.0, 0.0], [0.0, 0.01]]))
    assert not np.array_equal(physics.ways(q, further).q, first.q)
    assert np.array_equal(physics.ways(q, plan).q, first.q)  # rolled out again, the same


def test_what_is_learned_of_drives_counts_at_once(problem: Problem) -> None:
    physics, q = MujocoConfirmation(problem.system), problem.configuration(problem.start_u, problem.start_a)
    n_q_u = problem.system.n_q_u
    u = np.tile(q[n_q_u:], (2, 1))
    u[1, 1] -= PUSH_M  # away from the box
    plan = Plan(np.array([0.0, PUSH_S]), np.tile(q, (2, 1)), u, np.zeros_like(u), np.zeros((2, 0, 3)))
    ideal = physics.ways(q, plan)
    came = ideal.q.copy()
    came[..., n_q_u:] = q[n_q_u:] + 0.8 * (came[..., n_q_u:] - q[n_q_u:])
    physics.learn_drives(q, plan, replace(ideal, q=came))
    assert abs(physics.ways(q, plan).q[0, -1, n_q_u + 1] - u[1, 1]) > 0.1 * PUSH_M


def test_problems_with_slippery_motions_have_one_draw_more() -> None:
    plain, slippery = load_problem("allegro_pen"), load_problem("allegro_cube_so3")
    assert slippery.file.sampled is not None and slippery.file.sampled.least_friction is not None
    for problem, count in ((plain, len(DRAWS)), (slippery, len(DRAWS) + 1)):
        q = problem.configuration(problem.start_u, problem.start_a)
        u = q[problem.system.n_q_u :]
        assert roll_outs(problem).ends(q, np.array([0.0, 0.1]), u[None, None].repeat(2, axis=1), 0.1).shape[1] == count
