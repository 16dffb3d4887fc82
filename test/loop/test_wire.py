"""The roundings of messages in one process are those of the messages themselves, bit for bit."""

import numpy as np
import pytest

from contact_mpc import load_system
from contact_mpc.loop.wire import plan_over_wire, pose_over_wire, reference_over_wire, state_over_wire
from contact_mpc.model.rotations import rotation_exp
from contact_mpc.task.loop_records import CommandPlan, EstimatedState
from contact_mpc.task.plan import Plan

pytest.importorskip("rclpy")
from contact_mpc.ros.messages import conversions as messages  # noqa: E402  needs rclpy
from contact_mpc.ros.messages.references import read_reference, to_object_reference, to_reference  # noqa: E402

T_NS = 1_234_567_890


@pytest.fixture(params=["allegro_ball", "planar_hand_ball"])
def system(request):
    return load_system(request.param)


@pytest.fixture
def rng():
    return np.random.default_rng(7)


def random_q(system, rng, scale=0.1):
    return system.integrate(system.q_default, scale * rng.standard_normal(system.n_v))


def test_pose_equals_that_of_its_message(rng):
    from geometry_msgs.msg import Pose

    for _ in range(50):
        R, p = rotation_exp(rng.standard_normal(3)), rng.standard_normal(3)
        received = messages.read_pose(messages.fill_pose(Pose(), R, p))
        assert all(np.array_equal(a, b) for a, b in zip(pose_over_wire(R, p), received, strict=True))


def test_command_plan_equals_that_of_its_message(system, rng):
    times = np.array([0.0, 0.02, 0.1, 0.2 + 1e-10, 0.30000000004])
    plan = CommandPlan(T_NS, times, *rng.standard_normal((3, 5, system.n_a)))
    order = messages.JointOrder(system.joint_names)
    received = messages.read_plan(messages.to_plan_message(plan, system.joint_names), order)
    ours = plan_over_wire(plan)
    assert ours.stamp_ns == received.stamp_ns
    for name in ("times_s", "u", "du", "tau_ff"):
        assert np.array_equal(getattr(ours, name), getattr(received, name))
    assert not np.array_equal(ours.times_s, times)


def test_plan_that_holds_stays_one(system):
    assert plan_over_wire(CommandPlan.hold(T_NS, system.n_a)).is_hold


def test_reference_equals_that_of_its_messages(system, rng):
    q = np.array([random_q(system, rng) for _ in range(4)])
    u, tau = rng.standard_normal((2, 4, system.n_a))
    plan = Plan(np.array([0.0, 0.1, 0.3, 1.0 / 3.0]), q, u, tau, np.zeros((4, 0, 3)))
    order = messages.JointOrder(system.joint_names)
    received = read_reference(system, order, to_reference(system, plan, T_NS), to_object_reference(system, plan, T_NS))
    ours = reference_over_wire(system, plan)
    for name in ("times_s", "q", "u", "tau_ff"):
        assert np.array_equal(getattr(ours, name), getattr(received, name))
    assert np.abs(ours.q[:, : system.n_q_u] - q[:, : system.n_q_u]).max() < 1e-9


def test_estimate_equals_that_of_its_messages(system, rng):
    from contact_mpc.task.object_motion import object_motion, state_from_motion

    q, v, tau = random_q(system, rng), rng.standard_normal(system.n_v), rng.standard_normal(system.n_a)
    root = rng.standard_normal((system.n_v_u, system.n_v_u))
    state = EstimatedState(T_NS, q, v, tau, 1e-6 * root @ root.T, "pose_outlier")
    odometry = messages.make_odometry(system.object_names[0])
    received_motion = messages.read_odometry(messages.fill_odometry(odometry, T_NS, object_motion(system, state)))
    joints = messages.make_joint_state(system.joint_names)
    messages.fill_joint_state(joints, T_NS, q[system.n_q_u :], v[system.n_v_u :], tau)
    order = messages.JointOrder(system.joint_names)
    received = state_from_motion(
        system, T_NS, received_motion, messages.read_joint_state(joints, order), system.q_default
    )
    ours = state_over_wire(system, state, system.q_default)
    for name in ("q", "v", "tau", "covariance_u"):
        assert np.array_equal(getattr(ours, name), getattr(received, name))
    assert (ours.t_ns, ours.status) == (T_NS, "pose_outlier")
    assert system.difference(q, ours.q) == pytest.approx(0.0, abs=1e-9)
