"""Motion that contacts carry: rolling fingers against the path that they were made for, slip, few fingers, time."""

import numpy as np
import pytest

from contact_mpc.estimation.carried_motion import ContactCarry
from contact_mpc.estimation.config import EstimatorConfig
from contact_mpc.estimation.state_estimator import StateEstimator
from contact_mpc.model.rotations import rotation_exp
from contact_mpc.planning.grasp.balance import compute_grasp
from contact_mpc.planning.grasp.rolling import roll_along
from contact_mpc.task.task import TaskConfig

REACH_M = 4e-3
STEPS = 90
SECOND_ORDER = 0.02  # relative: steps of a third of a degree, Jacobians of one end for the motion to the other
MS = 1_000_000
PERIOD_NS = 5 * MS


def rolling_path(task: TaskConfig) -> np.ndarray:
    """Return q (STEPS + 1, n_q) of fingers that roll on the object along the task's motion."""
    system = task.system
    poses = [task.goal_pose(s) for s in np.linspace(0.0, 1.0, STEPS + 1)]
    path = np.array([system.q_from_object_pose(*pose, task.start_q) for pose in poses])
    force = task.planner["minimum_force_n"]
    grasp = compute_grasp(system, task.start_q, force, 0.65)
    result = roll_along(system, task.start_q, path, grasp.pairs, force, 0.65)
    assert result.is_complete, result.reason
    return result.q


def test_rolling_fingers_carry_the_object_along_its_path(each_task: TaskConfig) -> None:
    """The inverse of the rolling planner: object motion -> joint motion there, joint motion -> object motion here."""
    system, path = each_task.system, rolling_path(each_task)
    carry, n_u = ContactCarry(system, REACH_M), system.n_v_u
    for before, after in zip(path[:-1], path[1:], strict=True):
        dq = system.difference(before, after)
        dx = carry.displacement(system.integrate(before, 0.5 * dq), dq[n_u:])
        assert dx is not None
        np.testing.assert_allclose(dx, dq[:n_u], atol=SECOND_ORDER * np.linalg.norm(dq[:n_u]))


def test_a_finger_that_slips_loses_its_say_against_three_that_agree(each_task: TaskConfig) -> None:
    system, path = each_task.system, rolling_path(each_task)
    if system.name != "allegro_ball":
        pytest.skip("two fingers cannot outvote one of them")
    carry, dq = ContactCarry(system, REACH_M), system.difference(path[0], path[1])
    slipping = dq[6:].copy()
    slipping[4:8] += 0.01  # the middle finger by itself
    honest, disturbed = (carry.displacement(path[0], dq_a) for dq_a in (dq[6:], slipping))
    alone = np.zeros(16)
    alone[4:8] = 0.01
    lone = carry.displacement(path[0], alone)
    assert honest is not None and disturbed is not None and lone is not None
    share = 0.25 * 0.01 * 0.1  # one of four, of what its tip, 0.1 m away, moves: the say of a finger like the others
    assert np.linalg.norm(disturbed - honest) < share
    assert np.linalg.norm(lone) < share


def test_nothing_is_carried_where_fewer_than_two_fingers_touch(each_task: TaskConfig) -> None:
    system = each_task.system
    q = each_task.start_q.copy()
    R, p = system.object_pose(q)
    q[: system.n_q_u] = system.q_from_object_pose(R, p + np.array([0.0, 0.0, 0.2]), q)
    assert ContactCarry(system, REACH_M).displacement(q, np.full(system.n_a, 1e-3)) is None


def follow(task: TaskConfig, path: np.ndarray, config: EstimatorConfig, seed: int) -> np.ndarray:
    """Return the object's errors (n, n_v_u) with poses at 60 Hz, 20 ms late, and one step of the path per 20 ms."""
    system, rng = task.system, np.random.default_rng(seed)
    estimator, errors = StateEstimator(system, config), []
    still = np.tile(path[0], (50, 1))
    path = np.concatenate([still, path, np.tile(path[-1], (20, 1))])
    fine = [
        system.integrate(a, s * system.difference(a, b))
        for a, b in zip(path[:-1], path[1:], strict=True) for s in (0.0, 0.25, 0.5, 0.75)
    ]  # fmt: skip
    for k, q in enumerate(fine):
        if k % 4 == 0 and k >= 4:
            R, p = system.object_pose(fine[k - 4])
            R = rotation_exp(rng.normal(0.0, np.deg2rad(1.0), 3)) @ R
            estimator.update_object_pose((k - 4) * PERIOD_NS, R, p + rng.normal(0.0, 1e-3, 3))
        estimator.update_joints(k * PERIOD_NS, q[system.n_q_u :])
        state = estimator.estimate(k * PERIOD_NS)
        if state is not None and k > 200:
            errors.append(system.difference(q, state.q)[: system.n_v_u])
    return np.array(errors)


def test_contacts_halve_the_error_of_a_noisy_late_camera(each_task: TaskConfig) -> None:
    path = rolling_path(each_task)
    rms = {}
    for is_carried in (False, True):
        config = EstimatorConfig(contact_carry=is_carried)
        errors = np.concatenate([follow(each_task, path, config, seed) for seed in range(2)])
        rms[is_carried] = np.sqrt(np.mean(errors**2, axis=0))
    turns = slice(0, 3) if each_task.system.name == "allegro_ball" else slice(2, 3)
    assert np.linalg.norm(rms[True][turns]) < 0.5 * np.linalg.norm(rms[False][turns])
