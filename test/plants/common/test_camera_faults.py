"""Dropouts and outliers of a simulated camera: how long, how many, how far, and that they change nothing else."""

import numpy as np
import pytest

from contact_mpc.model.rotations import rotation_log
from contact_mpc.model.system import System
from contact_mpc.plants.common.camera_faults import FIRST_SEEN_S, CameraFaults
from contact_mpc.plants.common.plant import STEP_NS, T0_NS
from contact_mpc.plants.common.sensors import SensorConfig, SensorModel


def make_faults(dropout_s: float = 0.0, share: float = 0.0, seed: int = 0) -> CameraFaults:
    return CameraFaults(np.random.default_rng(seed), dropout_s, 4.0, share, 0.02, np.deg2rad(20.0))


@pytest.mark.parametrize("dropout_s", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("seed", range(3))
def test_each_span_has_one_dropout_of_the_given_length(dropout_s: float, seed: int) -> None:
    faults = make_faults(dropout_s, seed=seed)
    times = np.arange(0.0, FIRST_SEEN_S + 8.0, 1e-3)
    seen = np.array([faults.sees(t) for t in times])
    assert seen[times < FIRST_SEEN_S].all()
    for start in (FIRST_SEEN_S, FIRST_SEEN_S + 4.0):
        lost = times[~seen & (times >= start) & (times < start + 4.0)]
        assert len(lost) * 1e-3 == pytest.approx(dropout_s, abs=3e-3)
        assert lost[-1] - lost[0] == pytest.approx(dropout_s, abs=3e-3), "one piece"


def test_share_of_the_poses_is_off_by_the_given_amounts() -> None:
    faults, p = make_faults(share=0.1), np.array([0.1, -0.2, 0.3])
    poses = [faults.displace(np.eye(3), p) for _ in range(2000)]
    angles = np.rad2deg([np.linalg.norm(rotation_log(R)) for R, _ in poses])
    distances = np.linalg.norm([moved - p for _, moved in poses], axis=1)
    off = angles > 0.0
    # 200 of 2000 with a standard deviation of 13
    assert 140 < off.sum() < 260
    np.testing.assert_allclose(angles[off], 20.0, atol=1e-6)
    np.testing.assert_allclose(distances[off], 0.02, atol=1e-12)
    assert not distances[~off].any()


def poses_of(system: System, config: SensorConfig) -> dict[int, np.ndarray]:
    sensors, found = SensorModel(system, config, 5), {}
    for k in range(4000):
        t_ns = T0_NS + k * STEP_NS
        sensors.sample(t_ns, system.q_default, np.zeros(system.n_v), np.zeros(system.n_a))
        found |= {pose.stamp_ns: pose.p_WB for pose in sensors.object_poses_due(t_ns)}
    return found


def test_dropouts_leave_the_other_poses_as_they_are(allegro: System) -> None:
    every, some = poses_of(allegro, SensorConfig()), poses_of(allegro, SensorConfig(pose_dropout_s=1.0))
    assert 55 <= len(every) - len(some) <= 65
    assert all(np.array_equal(every[stamp], p) for stamp, p in some.items())


def test_joints_are_read_the_same_with_outliers(allegro: System) -> None:
    readings = []
    for share in (0.0, 0.5):
        config = SensorConfig(pose_outlier_share=share, joint_position_noise_rad=0.01)
        sensors = SensorModel(allegro, config, 5)
        readings.append(sensors.sample(T0_NS, allegro.q_default, np.zeros(allegro.n_v), np.zeros(allegro.n_a)).q_a)
    assert np.array_equal(*readings)
