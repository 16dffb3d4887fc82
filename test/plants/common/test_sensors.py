"""Sensors: when poses arrive, how far off they are, and that a seed gives the same readings."""

import numpy as np
import pytest
from pydantic import ValidationError

from contact_mpc.model.rotations import rotation_log
from contact_mpc.model.system import System
from contact_mpc.plants.common.plant import STEP_NS, T0_NS
from contact_mpc.plants.common.sensors import PoseReading, SensorConfig, SensorModel

MS = 1_000_000


def run(system: System, config: SensorConfig, steps: int, seed: int = 0) -> list[tuple[int, PoseReading]]:
    """Return (delivery time, pose) over `steps` ms; the object moves by 1 mm per ms along x."""
    sensors, delivered = SensorModel(system, config, seed), []
    for k in range(steps):
        q, t_ns = system.q_default.copy(), T0_NS + k * STEP_NS
        q[4] += 1e-3 * k
        sensors.sample(t_ns, q, np.zeros(system.n_v), np.zeros(system.n_a))
        delivered += [(t_ns, pose) for pose in sensors.object_poses_due(t_ns)]
    return delivered


def test_first_pose_arrives_at_the_start_with_the_stamp_of_a_delay_before(allegro: System) -> None:
    delivered = run(allegro, SensorConfig(pose_delay_s=0.02), 1)
    assert [(t, pose.stamp_ns) for t, pose in delivered] == [(T0_NS, T0_NS - 20 * MS)]


def test_poses_arrive_at_the_camera_rate_on_the_grid_of_a_millisecond(allegro: System) -> None:
    delivered = run(allegro, SensorConfig(pose_rate_hz=60.0), 1001)
    assert len(delivered) == 61
    times = np.array([t for t, _ in delivered])
    assert set(np.diff(times) // MS) == {16, 17}
    assert np.all(times % MS == 0)


@pytest.mark.parametrize("delay_s", [0.0, 0.02, 0.1])
def test_pose_shows_the_object_where_it_was_at_the_stamp(allegro: System, delay_s: float) -> None:
    exact = SensorConfig(pose_delay_s=delay_s, pose_noise_mm=0.0, pose_noise_deg=0.0)
    for t_ns, pose in run(allegro, exact, 300):
        assert t_ns - pose.stamp_ns == round(delay_s * 1e9)
        moved = max(0, pose.stamp_ns - T0_NS) // STEP_NS * 1e-3
        np.testing.assert_allclose(pose.p_WB[0], allegro.q_default[4] + moved, atol=1e-12)
        np.testing.assert_allclose(pose.R_WB, np.eye(3), atol=1e-12)


def test_pose_noise_has_the_configured_spread_per_axis(allegro: System) -> None:
    config = SensorConfig(pose_rate_hz=1000.0, pose_delay_s=0.0, pose_noise_mm=0.5, pose_noise_deg=0.5)
    poses = [pose for _, pose in run(allegro, config, 2000)]
    moved = np.arange(2000)[:, None] * np.array([1e-3, 0.0, 0.0])
    position = np.array([pose.p_WB for pose in poses]) - allegro.q_default[4:7] - moved
    rotation = np.rad2deg([rotation_log(pose.R_WB) for pose in poses])
    # The spread of 2000 samples has a standard error of 1.6 %, the mean one of 0.011.
    np.testing.assert_allclose(1e3 * position.std(axis=0), 0.5, rtol=0.07)
    np.testing.assert_allclose(rotation.std(axis=0), 0.5, rtol=0.07)
    np.testing.assert_allclose(1e3 * position.mean(axis=0), 0.0, atol=0.05)


def test_noise_of_successive_pictures_is_independent(allegro: System) -> None:
    config = SensorConfig(pose_rate_hz=1000.0, pose_delay_s=0.0)
    z = np.array([pose.p_WB[2] for _, pose in run(allegro, config, 2000)])
    z -= z.mean()
    assert abs(z[1:] @ z[:-1] / (z @ z)) < 0.08


def test_same_seed_gives_the_same_poses_and_another_seed_others(allegro: System) -> None:
    first, again, other = (run(allegro, SensorConfig(), 100, seed) for seed in (3, 3, 4))
    for (_, a), (_, b), (_, c) in zip(first, again, other, strict=True):
        assert np.array_equal(a.R_WB, b.R_WB) and np.array_equal(a.p_WB, b.p_WB)
        assert not np.array_equal(a.p_WB, c.p_WB)


def test_joint_noise_does_not_change_the_poses(allegro: System) -> None:
    quiet, noisy = SensorConfig(), SensorConfig(joint_position_noise_rad=0.01)
    for (_, a), (_, b) in zip(run(allegro, quiet, 50), run(allegro, noisy, 50), strict=True):
        assert np.array_equal(a.p_WB, b.p_WB)


def test_joint_readings_are_exact_without_noise_and_spread_with_it(allegro: System) -> None:
    q, v, tau = allegro.q_default, np.arange(allegro.n_v) * 0.1, np.arange(allegro.n_a) * 0.01
    exact = SensorModel(allegro, SensorConfig()).sample(T0_NS, q, v, tau)
    np.testing.assert_array_equal(exact.q_a, q[allegro.n_q_u :])
    np.testing.assert_array_equal(exact.v_a, v[allegro.n_v_u :])
    np.testing.assert_array_equal(exact.tau, tau)
    sensors = SensorModel(allegro, SensorConfig(joint_velocity_noise_rad_s=0.2, joint_torque_noise_nm=0.1))
    readings = [sensors.sample(T0_NS + k * STEP_NS, q, v, tau) for k in range(200)]
    assert np.std([reading.v_a - v[allegro.n_v_u :] for reading in readings]) == pytest.approx(0.2, rel=0.07)
    assert np.std([reading.tau - tau for reading in readings]) == pytest.approx(0.1, rel=0.07)
    assert all(np.array_equal(reading.q_a, q[allegro.n_q_u :]) for reading in readings)


def test_jointed_object_is_seen_through_its_joints(planar: System) -> None:
    q = planar.q_default.copy()
    q[:3] = [0.05, 0.35, 0.4]
    sensors = SensorModel(planar, SensorConfig(pose_noise_mm=0.0, pose_noise_deg=0.0))
    sensors.sample(T0_NS, q, np.zeros(planar.n_v), np.zeros(planar.n_a))
    (pose,) = sensors.object_poses_due(T0_NS)
    np.testing.assert_allclose(pose.p_WB, [0.0, 0.05, 0.35], atol=1e-12)
    np.testing.assert_allclose(rotation_log(pose.R_WB), [0.4, 0.0, 0.0], atol=1e-12)


@pytest.mark.parametrize("bad", [{"pose_rate_hz": 0.0}, {"pose_delay_s": -0.1}, {"pose_nois_mm": 1.0}])
def test_sensor_config_refuses_values_out_of_range_and_unknown_keys(bad: dict[str, float]) -> None:
    with pytest.raises(ValidationError):
        SensorConfig(**bad)
