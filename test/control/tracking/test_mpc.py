"""The MPC's parts that are off by default: what their parameters ask of the horizon's program."""

import numpy as np
import pytest

from contact_mpc.control.tracking.config import TrackerConfig
from contact_mpc.control.tracking.mpc import Mpc
from contact_mpc.model.gravity_torque import GravityTorque
from contact_mpc.task.task import TaskConfig

T = 3


def solved(task: TaskConfig, q: np.ndarray | None = None, **settings: float) -> Mpc:
    """Solve for resting at the start, from q."""
    mpc = Mpc(task.system, TrackerConfig(horizon_steps=T, **settings))
    mpc.u[:] = task.start_u
    q = task.start_q if q is None else q
    assert mpc.solve(q, np.tile(task.start_q, (T + 1, 1)), np.tile(task.start_u, (T, 1)), task.start_u)
    return mpc


def lifted(task: TaskConfig) -> np.ndarray:
    """The start with the object 3 cm away from all fingers."""
    system, q = task.system, task.start_q.copy()
    R, p = system.object_pose(q)
    q[: system.n_q_u] = system.q_from_object_pose(R, p + np.array([0.0, 0.0, 0.03]), q)
    return q


def test_without_them_the_program_has_no_rows_and_no_limits_of_stretch(each_task: TaskConfig) -> None:
    mpc = solved(each_task)
    assert mpc.horizon.contact_trust.watched.size == mpc.horizon.contact_trust.rows.size == 0
    assert np.all(np.isinf(mpc.limits.stretch_max)) and np.all(np.isinf(mpc.limits.stretch_min))


def test_fingers_out_of_reach_are_not_in_the_trust_region() -> None:
    from contact_mpc.task.task import load_task

    task = load_task("allegro_ball")
    assert np.all(solved(task, lifted(task), contact_trust_weight=1.0).horizon.contact_trust.watched == -1)


def test_trust_region_watches_the_closest_contact_of_each_finger(each_task: TaskConfig) -> None:
    trust = solved(each_task, contact_trust_weight=4.0).horizon.contact_trust
    np.testing.assert_array_equal(trust.root, 2.0)
    np.testing.assert_array_equal(trust.finger[trust.watched], np.arange(len(trust.watched)))


@pytest.mark.parametrize("share", [0.5, 1.0])
def test_springs_and_weight_together_stay_within_the_share_of_the_limits(each_task: TaskConfig, share: float) -> None:
    mpc, system = solved(each_task, torque_share=share), each_task.system
    weight = np.zeros(system.n_a)
    GravityTorque(system).compute(each_task.start_q[system.n_q_u :], weight)
    limit = share * system.tau_max_nm
    np.testing.assert_allclose(system.kp * mpc.limits.stretch_max + weight, limit, atol=1e-12)
    np.testing.assert_allclose(system.kp * mpc.limits.stretch_min + weight, -limit, atol=1e-12)
