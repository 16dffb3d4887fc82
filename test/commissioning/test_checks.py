"""The checks on drives of the second order whose faults are known, in simulated time and without ROS."""

import numpy as np
import pytest

from contact_mpc import load_system
from contact_mpc.commissioning.checks import CHECKS, Check, Finding, run_checks
from contact_mpc.commissioning.robot import HeldRobot, Reading
from contact_mpc.model.system import System
from contact_mpc.plants.mock.drives import DriveSettings, MockDrives
from contact_mpc.settings.arrays import FloatArray

RATE_HZ = 1000.0
TIMEOUT_S = 0.1


class SimulatedRobot:
    """Mock drives that step by 1 ms with each state that is read; without commands they act as a driver does."""

    def __init__(self, system: System, interface: str, settings: DriveSettings) -> None:
        start = 0.5 * (system.q_min + system.q_max)
        self.drives = MockDrives(system, interface, settings, start)  # type: ignore[arg-type]
        self.t_s, self.silent_from_s = 0.0, np.inf
        self._command: FloatArray | None = None
        self._sent_s = -np.inf
        self.commands = 0

    def read(self, timeout_s: float) -> Reading | None:
        if self.t_s >= self.silent_from_s:
            return None
        self.drives.step(self._command if self.t_s - self._sent_s <= TIMEOUT_S else None)
        self.t_s += 1e-3
        drives = self.drives
        return Reading(self.t_s, drives.q.copy(), drives.dq.copy(), drives.tau.copy())

    def send(self, values: FloatArray) -> float:
        self._command, self._sent_s = values.copy(), self.t_s
        self.commands += 1
        return self.t_s


def check(
    system: System, interface: str, settings: DriveSettings, only: str = ""
) -> tuple[list[Finding], SimulatedRobot]:
    wire = SimulatedRobot(system, interface, settings)
    held = HeldRobot(system, wire, interface, settings.carries_weight)
    found = run_checks(held, RATE_HZ, lambda item: not only or item.name == only, lambda _row: None)
    return found, wire


@pytest.fixture(scope="module")
def arm() -> System:
    return load_system("planar_hand_ball")


def values(found: list[Finding], name: str, unit: str = "") -> list[float]:
    return [row.value for row in found if row.check == name and row.verdict != "skipped" and unit in ("", row.unit)]


@pytest.mark.parametrize("interface", ["effort", "position"])
def test_a_good_robot_passes_and_its_properties_are_those_of_the_drives(arm: System, interface: str) -> None:
    settings = DriveSettings(delay_s=0.006, friction_fraction=0.02, damping_fraction=0.0)
    found, _ = check(arm, interface, settings)
    assert {row.check for row in found} >= {"states", "hold", "friction", "latency", "stop", "watchdog", "stiffness"}
    assert not [row for row in found if row.verdict == "fail"], found
    np.testing.assert_allclose(values(found, "latency"), 0.006, atol=0.003)
    np.testing.assert_allclose(values(found, "friction"), 0.02 * arm.tau_max_nm, rtol=0.3)
    np.testing.assert_allclose(values(found, "stiffness"), arm.kp, rtol=0.1)
    assert values(found, "states", "Hz") == [pytest.approx(RATE_HZ)]


def test_torques_that_go_off_without_commands_are_seen() -> None:
    hand = load_system("allegro_ball")  # whose weight the law carries here
    found, _ = check(hand, "effort", DriveSettings(friction_fraction=0.05, carries_weight=False), "watchdog")
    assert found[-1].verdict == "ok" and found[-1].value == pytest.approx(TIMEOUT_S, abs=0.02)


def test_where_no_torque_is_needed_to_hold_nothing_can_go_off(arm: System) -> None:
    found, _ = check(arm, "effort", DriveSettings(friction_fraction=0.02), "watchdog")
    assert found[-1].verdict == "skipped" and "that could go off" in found[-1].remark


def test_without_consent_nothing_is_sent(arm: System) -> None:
    wire = SimulatedRobot(arm, "effort", DriveSettings())
    held = HeldRobot(arm, wire, "effort", True)
    found = run_checks(held, RATE_HZ, lambda _item: False, lambda _row: None)
    assert wire.commands == 0
    assert [row.remark for row in found].count("no consent") == len(CHECKS) - 1


def test_a_robot_that_falls_silent_ends_the_checks(arm: System) -> None:
    wire = SimulatedRobot(arm, "effort", DriveSettings())
    wire.silent_from_s = 2.5
    found = run_checks(HeldRobot(arm, wire, "effort", True), RATE_HZ, lambda _item: True, lambda _row: None)
    assert found[-1].verdict == "fail" and "no joint states" in found[-1].remark
    sent = wire.commands
    assert sent < 600, "nothing more is sent"


def test_a_joint_that_runs_away_stops_the_checks(arm: System) -> None:
    class Reversed(SimulatedRobot):
        def send(self, values: FloatArray) -> float:
            return super().send(-values)

    wire = Reversed(arm, "effort", DriveSettings())
    wire.drives.q[0] += 1e-3
    found = run_checks(HeldRobot(arm, wire, "effort", True), RATE_HZ, lambda _item: True, lambda _row: None)
    last = found[-1]
    assert last.verdict == "fail" and arm.joint_names[0] in last.remark or "sagged" in last.remark


def test_a_rate_other_than_the_parameters_is_named(arm: System) -> None:
    held = HeldRobot(arm, SimulatedRobot(arm, "effort", DriveSettings()), "effort", True)
    rate = CHECKS[0].run(held, 333.0)[0]
    assert rate.verdict == "warn" and "333" in rate.remark and rate.value == pytest.approx(RATE_HZ)


def test_every_check_says_what_moves() -> None:
    assert [item.name for item in CHECKS if not item.motion] == ["states"]
    assert all(isinstance(item, Check) for item in CHECKS)
