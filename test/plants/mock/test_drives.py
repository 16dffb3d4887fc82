"""The mock's joints: second order, friction that holds, a torque limit, a delay, and weight."""

import numpy as np
import pytest

from contact_mpc import load_system
from contact_mpc.model.gravity_torque import GravityTorque
from contact_mpc.plants.mock.drives import DriveSettings, MockDrives

SYSTEM = load_system("anypulator_block")
Q = 0.5 * (SYSTEM.q_min + SYSTEM.q_max)
N = SYSTEM.n_a
ZERO = np.zeros(N)


def run(drives: MockDrives, command: np.ndarray | None, steps: int) -> np.ndarray:
    rows = []
    for _ in range(steps):
        drives.step(command)
        rows.append(drives.q.copy())
    return np.array(rows)


def test_a_position_is_reached_without_much_overshoot() -> None:
    drives = MockDrives(SYSTEM, "position", DriveSettings(), Q)
    rows = run(drives, Q + 0.1, 8000)
    np.testing.assert_allclose(rows[-1], Q + 0.1, atol=1e-4)
    assert (rows - Q).max() < 0.1 * 1.05


@pytest.mark.parametrize("damping", [0.05, 10.0])
def test_a_small_torque_does_not_overcome_dry_friction_and_a_larger_one_does(damping: float) -> None:
    friction = DriveSettings(friction_fraction=0.1, damping_fraction=damping)
    held = MockDrives(SYSTEM, "effort", friction, Q)
    np.testing.assert_array_equal(run(held, 0.09 * SYSTEM.tau_max_nm, 200)[-1], Q)
    moving = MockDrives(SYSTEM, "effort", friction, Q)
    assert np.all(run(moving, 0.11 * SYSTEM.tau_max_nm, 200)[-1] > Q)


def test_torque_is_limited() -> None:
    drives = MockDrives(SYSTEM, "effort", DriveSettings(), Q)
    drives.step(100.0 * SYSTEM.tau_max_nm)
    np.testing.assert_array_equal(drives.tau, SYSTEM.tau_max_nm)


def test_a_command_acts_after_its_delay() -> None:
    drives = MockDrives(SYSTEM, "effort", DriveSettings(delay_s=0.005), Q)
    rows = run(drives, 0.1 * SYSTEM.tau_max_nm, 8)
    first = int(np.argmax(np.any(rows != Q, axis=1)))
    assert first == 5


def test_without_a_command_an_effort_drive_is_off_and_a_position_drive_holds() -> None:
    weight, bent = np.zeros(N), Q + 0.3
    GravityTorque(SYSTEM).compute(bent, weight)
    assert np.abs(weight).max() > 0.1
    off = MockDrives(SYSTEM, "effort", DriveSettings(carries_weight=False), bent)
    moved = run(off, None, 5)[-1] - bent
    heavy = np.abs(weight) > 0.1
    np.testing.assert_array_equal(np.sign(moved[heavy]), -np.sign(weight[heavy]))
    held = MockDrives(SYSTEM, "position", DriveSettings(), Q)
    assert np.abs(run(held, None, 100)[-1] - Q).max() == pytest.approx(0.0, abs=1e-12)
