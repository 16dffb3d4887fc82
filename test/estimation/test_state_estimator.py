"""The state estimator on the package's systems: assembly, determinism, statuses, refusals."""

import numpy as np
import pytest

from contact_mpc import load_system
from contact_mpc.errors import InputError
from contact_mpc.estimation.config import EstimatorConfig
from contact_mpc.estimation.state_estimator import StateEstimator
from contact_mpc.loop.holding_effort import holding_effort
from contact_mpc.model.rotations import rotation_exp
from contact_mpc.task.task import load_task

T0 = 1_000_000_000
MS = 1_000_000
SYSTEMS = ("allegro_ball", "planar_hand_ball")


@pytest.fixture(params=SYSTEMS)
def system(request):
    return load_system(request.param)


@pytest.fixture
def allegro():
    return load_system("allegro_ball")


def feed(estimator, system, n_ms, seed=0, start_ns=T0):
    """Feed joints at 1 kHz and a noisy pose every 16 ms, delayed by 20 ms; the robot turns at 0.1 rad/s."""
    rng = np.random.default_rng(seed)
    R, p = system.object_pose(system.q_default)
    q_a = system.q_default[system.n_q_u :]
    for k in range(n_ms):
        t_ns = start_ns + k * MS
        if k % 16 == 0:
            noisy = rotation_exp(rng.normal(0.0, 0.003, 3)) @ R, p + rng.normal(0.0, 0.0003, 3)
            estimator.update_object_pose(t_ns - 20 * MS, *noisy)
        estimator.update_joints(t_ns, q_a + 0.1e-3 * k, np.full(system.n_a, 0.1), np.full(system.n_a, 0.2))
    return start_ns + (n_ms - 1) * MS


def test_there_is_no_estimate_before_joints_and_pose_were_seen(system):
    estimator = StateEstimator(system)
    assert estimator.estimate(T0) is None
    estimator.update_joints(T0, system.q_default[system.n_q_u :])
    assert estimator.estimate(T0) is None
    estimator.update_object_pose(T0, *system.object_pose(system.q_default))
    assert estimator.estimate(T0) is not None


def test_estimate_assembles_objects_then_joints(system):
    estimator = StateEstimator(system)
    t_ns = feed(estimator, system, 300)
    state = estimator.estimate(t_ns)
    assert (state.q.shape, state.v.shape, state.tau.shape) == ((system.n_q,), (system.n_v,), (system.n_a,))
    assert state.covariance_u.shape == (system.n_v_u, system.n_v_u)
    assert state.q[system.n_q_u :] == pytest.approx(system.q_default[system.n_q_u :] + 0.1e-3 * 299)
    assert state.v[system.n_v_u :] == pytest.approx(0.1)
    assert state.tau == pytest.approx(0.2)
    assert state.t_ns == t_ns
    assert state.status == "ok"


def test_object_at_rest_is_found_within_three_of_its_own_standard_deviations(system):
    estimator = StateEstimator(system)
    state = estimator.estimate(feed(estimator, system, 1000))
    error = system.difference(system.q_default, state.q)[: system.n_v_u]
    deviations = np.sqrt(np.diag(state.covariance_u))
    assert np.all(np.abs(error) < 3.0 * deviations)
    assert deviations.max() < 0.005


def test_same_inputs_give_the_same_bits_whatever_was_asked_in_between(system):
    once, often = StateEstimator(system), StateEstimator(system)
    feed(once, system, 200)
    for k in range(0, 200, 20):
        rest = StateEstimator(system)
        feed(rest, system, k + 1)
        rest.estimate(T0 + k * MS)
    t_ns = feed(often, system, 200)
    often.estimate(t_ns + 50 * MS)
    often.estimate(t_ns)
    a, b = once.estimate(t_ns), often.estimate(t_ns)
    assert all(np.array_equal(getattr(a, key), getattr(b, key)) for key in ("q", "v", "tau", "covariance_u"))


def test_moving_object_is_predicted_over_the_delay(allegro):
    """A ball turning at 10 deg/s, seen 20 ms late without noise, is estimated where it is now."""
    estimator = StateEstimator(allegro)
    rate, q_a = np.array([0.0, 0.0, np.radians(10.0)]), allegro.q_default[7:]
    R0, p = allegro.object_pose(allegro.q_default)
    for k in range(4000):
        if k % 16 == 0:
            estimator.update_object_pose(T0 + (k - 20) * MS, rotation_exp(rate * (k - 20) * 1e-3) @ R0, p)
        estimator.update_joints(T0 + k * MS, q_a)
    state = estimator.estimate(T0 + 3999 * MS)
    R, _ = allegro.object_pose(state.q)
    assert np.abs(R - rotation_exp(rate * 3.999) @ R0).max() < 1e-6
    assert state.v[:3] == pytest.approx(rate, abs=1e-6)


@pytest.mark.parametrize("velocity", [None, [], "nan"])
def test_joint_velocity_is_derived_when_the_driver_sends_none(allegro, velocity):
    estimator = StateEstimator(allegro)
    v_a = np.full(allegro.n_a, np.nan) if velocity == "nan" else velocity
    for k in range(200):
        estimator.update_joints(T0 + k * MS, 0.5e-3 * k * np.arange(allegro.n_a), v_a)
    estimator.update_object_pose(T0, *allegro.object_pose(allegro.q_default))
    # exp(-200 ms / 10 ms) = 2e-9 of the step is left.
    assert estimator.estimate(T0 + 200 * MS).v[allegro.n_v_u :] == pytest.approx(0.5 * np.arange(allegro.n_a), abs=1e-6)


def test_unknown_torque_is_reported_as_nan_not_zero(allegro):
    estimator = StateEstimator(allegro)
    estimator.update_joints(T0, allegro.q_default[7:], None, [])
    estimator.update_object_pose(T0, *allegro.object_pose(allegro.q_default))
    assert np.isnan(estimator.estimate(T0).tau).all()


def test_statuses_name_what_is_wrong(allegro):
    config = EstimatorConfig()
    estimator = StateEstimator(allegro, config)
    t_ns = feed(estimator, allegro, 500)
    R, p = allegro.object_pose(allegro.q_default)
    assert estimator.estimate(t_ns + round(config.joints_stale_after_s * 1e9) + 1).status == "joints_stale"
    estimator.update_object_pose(t_ns, R, p + 0.05)
    assert estimator.estimate(t_ns).status == "pose_outlier"
    assert estimator.outliers == 1
    estimator.update_object_pose(t_ns + MS, R, p)
    assert estimator.estimate(t_ns + MS).status == "ok"
    for k in range(config.max_consecutive_outliers):
        estimator.update_object_pose(t_ns + (2 + k) * MS, R, p + 0.05)
    assert estimator.estimate(t_ns + 10 * MS).status == "pose_restarted"
    later_ns = t_ns + round(config.pose_stale_after_s * 1e9) + 20 * MS
    estimator.update_joints(later_ns, allegro.q_default[7:])
    assert estimator.estimate(later_ns).status == "pose_stale"


def test_clock_that_starts_again_restarts_the_estimator(allegro):
    estimator = StateEstimator(allegro)
    feed(estimator, allegro, 300)
    estimator.update_joints(T0, allegro.q_default[7:])
    assert estimator.time_jumps == 1
    assert estimator.estimate(T0) is None


def test_joint_state_that_overtook_another_is_left_out(allegro):
    estimator = StateEstimator(allegro)
    t_ns = feed(estimator, allegro, 300)
    before = estimator.estimate(t_ns).q
    estimator.update_joints(t_ns - MS, np.zeros(allegro.n_a))
    assert (estimator.late_joints, estimator.time_jumps) == (1, 0)
    assert np.array_equal(estimator.estimate(t_ns).q, before)


def bad_inputs():
    R, p, nan = np.eye(3), np.zeros(3), np.nan
    return [
        ("not finite", lambda e: e.update_object_pose(T0, R, np.array([0.0, nan, 0.0]))),
        ("not finite", lambda e: e.update_object_pose(T0, R * nan, p)),
        ("no rotation", lambda e: e.update_object_pose(T0, 1.01 * R, p)),
        ("no rotation", lambda e: e.update_object_pose(T0, np.diag([1.0, 1.0, -1.0]), p)),
        (r"\(4,\)", lambda e: e.update_object_pose(T0, np.zeros(4), p)),
        ("object_index 1", lambda e: e.update_object_pose(T0, R, p, 1)),
        ("ahead of the joint", lambda e: e.update_object_pose(T0 + 10**9, R, p)),
        ("expected 16", lambda e: e.update_joints(T0 + 9**9, np.zeros(15))),
        ("not finite for", lambda e: e.update_joints(T0 + 9**9, np.r_[np.zeros(15), np.inf])),
        ("velocity", lambda e: e.update_joints(T0 + 9**9, np.zeros(16), np.r_[np.zeros(15), nan])),
        ("effort", lambda e: e.update_joints(T0 + 9**9, np.zeros(16), None, np.zeros(3))),
    ]


@pytest.mark.parametrize("wrong_rad", [1e300, 0.5])
def test_joint_states_that_cannot_be_leave_no_trace_in_what_contacts_carry(each_task, wrong_rad):
    """Before, joints that were 0.5 rad off for 3 ms left the estimate of a ball 48 mm off until the next pose."""
    system = each_task.system
    estimates = []
    for is_spoilt in (False, True):
        estimator = StateEstimator(system)
        q_a, pose = each_task.start_q[system.n_q_u :], system.object_pose(each_task.start_q)
        for k in range(400):
            t_ns = T0 + k * MS
            spoilt = wrong_rad if is_spoilt and k in (150, 151, 152) else 0.0
            moving = 1e-4 * max(k - 200, 0) * np.where(np.arange(system.n_a) % 4 == 1, 1.0, 0.0)
            estimator.update_joints(t_ns, q_a + moving + spoilt)
            if k < 180 and k % 16 == 0:
                estimator.update_object_pose(t_ns, *pose)
        estimates.append(estimator.estimate(T0 + 399 * MS))
    honest, after = (system.object_pose(state.q) for state in estimates)
    moved_m = np.linalg.norm(honest[1] - pose[1])
    assert moved_m > 1e-4  # contacts carried it while no pose came
    assert np.linalg.norm(after[1] - honest[1]) < 0.05 * moved_m
    assert np.abs(after[0] - honest[0]).max() < 1e-3


@pytest.mark.parametrize(("message", "call"), bad_inputs())
def test_bad_input_is_refused_and_changes_nothing(allegro, message, call):
    estimator = StateEstimator(allegro)
    t_ns = feed(estimator, allegro, 50, start_ns=T0 - 49 * MS)
    before = estimator.estimate(t_ns)
    with pytest.raises(InputError, match=message):
        call(estimator)
    after = estimator.estimate(t_ns)
    assert np.array_equal(before.q, after.q)
    assert before.status == after.status == "ok"


def test_each_parameter_set_off_its_default_changes_the_estimate(allegro):
    def outcome(**changes):
        estimator = StateEstimator(allegro, EstimatorConfig(**changes))
        rng, start_q = np.random.default_rng(5), load_task("allegro_ball").start_q  # fingers touch
        q_a, (R, p) = start_q[7:], allegro.object_pose(start_q)
        tau = holding_effort(allegro, load_task("allegro_ball"), "bridge")
        states = []
        for k in range(60):
            jump = 0.02 * (k > 45)
            shift = np.array([jump, 0.0, 0.0]) + rng.normal(0.0, 5e-4, 3)
            estimator.update_joints(T0 + 16 * k * MS, q_a + 1e-3 * k, tau=tau)
            estimator.update_object_pose(T0 + 16 * k * MS, rotation_exp(rng.normal(0.0, 0.008, 3)) @ R, p + shift)
            states.append(estimator.estimate(T0 + 16 * k * MS + 60 * MS))
        for k in range(60, 80):  # the camera sees nothing
            estimator.update_joints(T0 + 16 * k * MS, q_a + 1e-3 * k, tau=tau)
            states.append(estimator.estimate(T0 + 16 * k * MS))
        slow = StateEstimator(allegro, EstimatorConfig(**changes))
        for k in range(5):
            slow.update_joints(T0 + 200 * k * MS, q_a)
            slow.update_object_pose(T0 + 200 * k * MS, R, p)
        slow.update_joints(T0 + 1050 * MS, q_a)
        states.append(slow.estimate(T0 + 1050 * MS))
        try:
            estimator.update_object_pose(T0 + 1320 * MS, R, p)
            verdict = 1.0
        except InputError:
            verdict = 0.0
        parts = [np.r_[s.q, s.v, s.covariance_u.ravel(), len(s.status)] for s in states]
        return np.r_[np.concatenate(parts), verdict]

    changes = {
        "pose_noise_rad": 0.01, "pose_noise_m": 0.002, "accel_noise_rad_s2": 0.1, "accel_noise_m_s2": 0.01,
        "initial_velocity_rad_s": 0.2, "initial_velocity_m_s": 0.1, "gate_probability": 0.6,
        "max_consecutive_outliers": 2, "pose_stale_after_s": 0.03, "joints_stale_after_s": 0.1,
        "joint_velocity_filter_s": 0.1, "clock_tolerance_s": 0.01, "contact_carry": False, "carry_reach_m": 0.0002,
        "carry_error": 1.0, "carried_accel_share": 0.5, "noise_adaptation": 0.1,
        "longest_pose_age_s": 0.04, "carry_through_s": 0.0, "known_rotation_rad": 1e-4, "known_position_m": 1e-5,
        "slip_probability": 1.0, "slip_window_s": 0.05, "slip_hold_s": 0.0, "slip_carry_error": 0.3,
        "touch": True,
    }  # fmt: skip
    of_touch = {"touch_noise_m": 0.01, "touch_torque_noise_nm": 0.2}
    assert {*changes, *of_touch} == set(EstimatorConfig.model_fields)
    nominal, touched = outcome(), outcome(touch=True)
    for name, value in changes.items():
        assert not np.array_equal(outcome(**{name: value}), nominal), name
    for name, value in of_touch.items():
        assert not np.array_equal(outcome(touch=True, **{name: value}), touched), name
