"""Messages that nobody should send: nothing out of limits leaves the bridge, and what should be found is found."""

import numpy as np
import pytest

pytest.importorskip("rclpy")

from hypothesis import given, settings
from hypothesis import strategies as st

from contact_mpc.control.bridge.bridge import BridgeCore
from contact_mpc.control.bridge.clocks import TimeBudget
from contact_mpc.control.bridge.config import BridgeConfig
from contact_mpc.model.system import System
from contact_mpc.ros.faults.fuzz import BridgeFuzz, fuzz_bridge

MESSAGES = 300


@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_whatever_is_sent_nothing_out_of_limits_leaves_and_nothing_crashes(planar: System, seed: int) -> None:
    counts: list[int] = []
    result = fuzz_bridge(planar, 4 * MESSAGES, seed, counts.append)
    assert result["violation_examples"] == result["crash_examples"] == []
    assert result["goal_met"]
    assert result["messages"] == 4 * MESSAGES
    assert result["commands"] > MESSAGES


def test_the_same_seed_sends_the_same(planar: System) -> None:
    first, second, other = (fuzz_bridge(planar, 2000, seed, lambda _count: None) for seed in (3, 3, 4))
    assert first == second
    assert first != other


def test_every_way_to_refuse_and_every_mode_is_reached(planar: System) -> None:
    result = fuzz_bridge(planar, 8_000, 0, lambda _count: None)
    assert {"HOLD", "FAULT", "WAITING", "ACTIVE"} <= set(result["commands_by_mode"])
    reasons = {"plan_old", "plan_rate", "plan_unreadable", "state_old", "state_unreadable", "pose", "commands"}
    assert reasons <= set(result["refusals"])


@pytest.mark.parametrize("interface", ["effort", "position"])
@pytest.mark.parametrize("defect", [1.0, np.nan])
def test_a_defective_guard_is_found_out(
    planar: System, monkeypatch: pytest.MonkeyPatch, interface: str, defect: float
) -> None:
    """The guard lets one joint run off by a little more than the largest change, or turn into not-a-number."""
    fuzz = BridgeFuzz(planar, BridgeConfig(command_interface=interface, gravity_compensation="robot"), True, 0)
    guard = fuzz._core.guard

    def pass_anything(*_arguments: object) -> bool:
        guard.u[0] += 1.1 * defect * 2.0 * planar.v_max[0] * 0.001
        guard.tau[0] += 1.1 * defect * 2.0 * 100.0 * planar.tau_max_nm[0] * 0.001
        return False

    monkeypatch.setattr(guard, "pass_setpoint", pass_anything)
    monkeypatch.setattr(guard, "pass_torque", pass_anything)
    result = fuzz.run(50, lambda _count: None)
    assert result.violations or result.crashes  # a command that is not finite cannot even be read back


def test_a_bridge_that_believes_the_stamps_is_found_out(planar: System, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stamps that run faster than the clock bought speed, and the judge did not see it."""
    monkeypatch.setattr(TimeBudget, "spend", lambda _self, wanted_s, _own_ns: wanted_s)
    result = fuzz_bridge(planar, 8000, 0, lambda _count: None)
    assert any("what the time since an earlier one allows" in text for text in result["violation_examples"])


def test_a_crash_is_counted(planar: System, monkeypatch: pytest.MonkeyPatch) -> None:
    fuzz = BridgeFuzz(planar, BridgeConfig(gravity_compensation="robot"), True, 0)
    monkeypatch.setattr(BridgeCore, "reset", lambda _self: 1 / 0)
    assert any("ZeroDivisionError" in crash for crash in fuzz.run(1000, lambda _count: None).crashes)
