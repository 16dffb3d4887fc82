"""The bridge's state machine: starts, follows, holds, faults, and never sends what it should not."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from pydantic import ValidationError

from contact_mpc import load_system
from contact_mpc.control.bridge import status as bridge_status
from contact_mpc.control.bridge.bridge import BridgeCommand, BridgeConfig, BridgeCore, BridgeMode, Cause
from contact_mpc.control.bridge.joint_impedance import JointImpedance
from contact_mpc.control.bridge.status import UNTRUSTED_STATE, cause_table
from contact_mpc.task.loop_records import CommandPlan

MS = 1_000_000
T0 = 1_000_000_000
SYSTEM = load_system("planar_hand_ball")
N = SYSTEM.n_a
Q = 0.5 * (SYSTEM.q_min + SYSTEM.q_max)
REST = np.zeros(N)
ROUNDING = 1e-12
RATE_ROUNDING = 1e-9  # of a difference quotient over 1 ms


def make_plan(
    stamp_ns: int, u: np.ndarray, tau_ff: float = 0.0, slope: float = 0.0, horizon_s: float = 1.0
) -> CommandPlan:
    times = np.array([0.0, horizon_s])
    us = np.stack([u, u + slope * horizon_s])
    return CommandPlan(stamp_ns, times, us, np.full((2, N), slope), np.full((2, N), tau_ff))


class Loop:
    """A bridge and the time of the joint states that it answers."""

    def __init__(self, lockstep: bool = True, **config: Any) -> None:
        config = {"gravity_compensation": "robot", "start_guard_s": 0.0} | config
        self.core = BridgeCore(SYSTEM, BridgeConfig(**config), lockstep)
        self.core.activate()
        self.t_ns = T0 - MS
        self.q, self.dq = Q.copy(), REST.copy()

    @property
    def limits(self):
        return self.core.guard.limits

    def step(self, count: int = 1, advance_ns: int = MS) -> BridgeCommand | None:
        command = None
        for _ in range(count):
            self.t_ns += advance_ns
            command = self.core.step(self.t_ns, self.q, self.dq)
        return command

    def plan(self, u: np.ndarray = Q, **values: float) -> None:
        """Send a plan that is due at the next step."""
        self.core.update_plan(make_plan(self.t_ns + MS - self.core.config.plan_delay_ns, u, **values))

    @property
    def cause(self) -> Cause:
        return self.core.safety.cause

    @property
    def mode(self) -> BridgeMode:
        return self.core.safety.mode


def test_no_command_leaves_before_activation_or_a_complete_state() -> None:
    loop = Loop(lockstep=False)
    assert loop.mode is BridgeMode.WAITING
    assert loop.core.check(T0) is None
    assert list(loop.core.wind_down()) == []
    for q, dq in ((Q[:2], REST[:2]), (Q * np.nan, REST), (Q, REST + np.inf), (np.rad2deg(Q), REST)):
        assert loop.core.step(T0, q, dq) is None
    assert loop.core.refusals == {"state_length": 1, "state_non_finite": 2, "state_out_of_limits": 1}
    assert "state_out_of_limits" in loop.core.safety.describe()
    assert loop.core.step(T0 + MS, Q, REST) is not None
    loop.core.deactivate()
    assert loop.core.step(T0 + 2 * MS, Q, REST) is None
    assert loop.mode is BridgeMode.INACTIVE


def test_the_first_command_starts_at_the_measured_position_without_torque() -> None:
    loop = Loop()
    command = loop.step()
    assert command is not None
    np.testing.assert_array_equal(command.applied_q, Q)
    np.testing.assert_array_equal(command.data, 0.0)
    assert (loop.mode, loop.cause) == (BridgeMode.HOLD, Cause.NO_PLAN)


def test_the_first_command_reproduces_the_measured_effort_if_asked_to() -> None:
    loop, tau = Loop(start_from="effort"), np.array([1.0, -0.5, 0.2, 0.0])
    command = loop.core.step(T0, Q, REST, tau=tau)
    assert command is not None
    np.testing.assert_allclose(command.data, tau, atol=1e-12)
    np.testing.assert_allclose(command.applied_q, Q + tau / SYSTEM.kp)


def test_effort_follows_the_impedance_law_and_position_sends_the_setpoint() -> None:
    u, dq = Q + 0.01, np.array([0.1, -0.1, 0.0, 0.2])
    for interface in ("effort", "position"):
        loop = Loop(command_interface=interface)
        loop.step()
        loop.plan(u, tau_ff=0.3, horizon_s=0.07)
        loop.dq = dq
        command = loop.step(30)
        assert command is not None
        assert loop.mode is BridgeMode.ACTIVE
        law = 0.3 + SYSTEM.kp * 0.01 - SYSTEM.kd * dq
        np.testing.assert_allclose(command.data, law if interface == "effort" else u, atol=ROUNDING)
        np.testing.assert_allclose(command.applied_q, u)


def test_a_plan_is_interpolated_by_the_stamp_of_the_state() -> None:
    loop = Loop(mpc_rate_hz=10)
    loop.step()
    loop.core.update_plan(make_plan(T0, Q, slope=0.5))
    command = loop.step(19)
    assert command is not None
    np.testing.assert_array_equal(command.applied_q, Q)  # not before the delay of 20 ms
    command = loop.step(40)
    assert command is not None
    np.testing.assert_allclose(command.desired_q, Q + 0.5 * 0.059, atol=ROUNDING)
    np.testing.assert_allclose(command.desired_dq, 0.5)


def test_the_gap_to_a_plan_is_closed_at_a_bounded_rate() -> None:
    loop = Loop(blend_rate_rad_s=2.0)
    loop.step()
    loop.plan(Q + 0.1)
    setpoints = [Q.copy()]
    for _ in range(80):
        command = loop.step()
        assert command is not None
        setpoints.append(command.applied_q.copy())
    rates = np.diff(setpoints, axis=0) / 0.001
    assert np.all((rates >= -RATE_ROUNDING) & (rates <= 2.0 + RATE_ROUNDING))
    accelerations = np.abs(np.diff(rates, axis=0)) / 0.001
    assert np.all(accelerations <= 0.5 * loop.limits.a_max + RATE_ROUNDING / 0.001)
    duration_ms = 1.5 * 0.1 / 2.0 * 1e3  # of a cubic with the largest slope 2 rad/s
    assert round(duration_ms) == 75
    np.testing.assert_allclose(setpoints[38], Q + 0.05, atol=0.002)  # half a step from the middle
    np.testing.assert_allclose(setpoints[75], Q + 0.1)
    assert loop.core.guard.counts.sum() == 0


@pytest.mark.parametrize(("policy", "shift", "tau_ff"), [("last_command", 0.05, 0.2), ("measured", 0.0, 0.0)])
def test_a_stale_plan_holds_by_the_policy_until_a_fresh_one(policy: str, shift: float, tau_ff: float) -> None:
    loop = Loop(hold_policy=policy)
    loop.step()
    loop.plan(Q + 0.05, tau_ff=0.2)
    loop.step(101)  # period and timeout are 50 ms each
    assert loop.mode is BridgeMode.ACTIVE
    command = loop.step(200)
    assert command is not None
    assert (loop.mode, loop.cause) == (BridgeMode.HOLD, Cause.PLAN_STALE)
    np.testing.assert_allclose(command.applied_q, Q + shift)
    np.testing.assert_allclose(command.data, tau_ff + SYSTEM.kp * shift)
    loop.plan(Q + 0.05)
    loop.step()
    assert loop.mode is BridgeMode.ACTIVE


def test_a_plan_is_not_followed_past_its_horizon() -> None:
    loop = Loop(plan_timeout_s=5.0)
    loop.step()
    loop.plan(Q, horizon_s=0.04)
    loop.step(21)
    assert loop.mode is BridgeMode.ACTIVE
    loop.step()
    assert loop.cause is Cause.PLAN_STALE


def test_a_plan_without_points_holds() -> None:
    loop = Loop()
    loop.step()
    loop.plan()
    loop.step(50)
    loop.core.update_plan(CommandPlan.hold(loop.t_ns - 20 * MS, N))
    loop.step()
    assert (loop.mode, loop.cause) == (BridgeMode.HOLD, Cause.PLAN_HOLD)


def test_a_far_plan_is_not_followed_until_a_close_one_comes() -> None:
    loop = Loop()
    loop.step()
    loop.plan(Q + 0.3)
    command = loop.step()
    assert command is not None
    assert (loop.mode, loop.cause) == (BridgeMode.HOLD, Cause.PLAN_FAR)
    np.testing.assert_array_equal(command.applied_q, Q)
    loop.step(49)
    loop.plan(Q + 0.1)
    loop.step()
    assert loop.mode is BridgeMode.ACTIVE


def test_a_plan_faster_than_the_joints_is_clamped_then_refused() -> None:
    loop = Loop(mpc_rate_hz=1, hold_policy="last_command")
    loop.step()
    u, zero = np.stack([Q - 0.4, Q + 0.6, Q + 0.6]), np.zeros((3, N))  # 20 rad/s, at Q when it takes effect
    loop.core.update_plan(
        CommandPlan(loop.t_ns + MS - loop.core.config.plan_delay_ns, np.array([0.0, 0.05, 2.0]), u, zero, zero)
    )
    loop.step(30)
    assert (loop.mode, loop.cause) == (BridgeMode.HOLD, Cause.COMMAND_JUMP)
    assert loop.core.guard.counts_by_kind()["velocity"] > 0
    assert loop.core.guard.counts_by_kind()["jump"] > 0
    loop.step(500)
    assert loop.cause is Cause.COMMAND_JUMP
    loop.plan(loop.core.guard.u.copy())
    loop.step()
    assert loop.mode is BridgeMode.ACTIVE


@pytest.mark.parametrize(
    ("values", "reason"),
    [({"u": Q + 50.0}, "plan_position"), ({"slope": 1e9}, "plan_velocity"), ({"tau_ff": 1e9}, "plan_effort")],
)
def test_a_plan_beyond_the_limits_is_refused_and_named(values: dict[str, Any], reason: str) -> None:
    loop = Loop()
    before = loop.step().data.copy()
    loop.plan(**{"horizon_s": 0.1} | values)
    command = loop.step(30)
    assert command is not None
    np.testing.assert_array_equal(command.data, before)
    assert (loop.mode, loop.cause) == (BridgeMode.HOLD, Cause.PLAN_REFUSED)
    assert SYSTEM.joint_names[0] in loop.core.safety.detail
    assert list(loop.core.refusals) == [loop.core.safety.detail.partition(":")[0]]
    assert reason in loop.core.refusals or reason == "plan_velocity"  # its positions run away as well


def test_refused_plans_never_change_the_command() -> None:
    loop = Loop()
    before = loop.step().data.copy()
    bad = make_plan(T0, Q)
    bad.u[1, 0] = np.nan
    assert loop.core.update_plan(bad) == "plan_non_finite"
    command = loop.step(30)
    assert command is not None
    np.testing.assert_array_equal(command.data, before)
    assert loop.core.refusals == {"plan_non_finite": 1}


def _reach(cause: Cause) -> Loop:
    """Run an active bridge (realtime, effort) into a fault."""
    loop = Loop(lockstep=False, hold_policy="last_command")
    loop.step()
    loop.plan(Q + 0.02)
    loop.step(40)
    assert loop.mode is BridgeMode.ACTIVE
    match cause:
        case Cause.STATE_LOST:
            loop.core.check(loop.t_ns + 51 * MS)
        case Cause.STATE_REFUSED:
            loop.core.step(loop.t_ns + 40 * MS, Q * np.nan, REST)
            loop.core.check(loop.t_ns + 51 * MS)
        case Cause.STATE_JUMP:
            loop.core.step(loop.t_ns + MS, Q + 0.3, REST)
        case Cause.CLOCK_BACKWARD:
            loop.core.step(loop.t_ns - 101 * MS, Q, REST)
        case Cause.CLOCK_FORWARD:
            loop.core.step(loop.t_ns + 150 * MS, Q, REST, receipt_ns=loop.t_ns + MS)
        case Cause.STOPPED:
            loop.core.stop()
        case _:
            loop.core.fault(cause, "reason")
    return loop


FAULTS = [cause for cause in Cause if cause.is_fault]


@pytest.mark.parametrize("cause", FAULTS, ids=lambda cause: cause.name)
def test_a_fault_is_latched_named_and_ends_without_torque(cause: Cause) -> None:
    loop = _reach(cause)
    assert (loop.mode, loop.cause) == (BridgeMode.FAULT, cause)
    assert f"{cause.name} ({cause.number})" in loop.core.safety.describe()
    assert cause.remedy in loop.core.safety.describe()
    loop.t_ns += 60 * MS
    loop.core.step(loop.t_ns, loop.q, loop.dq, receipt_ns=loop.t_ns)
    loop.plan(Q)
    gone = loop.step(1000)
    assert gone is not None
    np.testing.assert_array_equal(gone.data, 0.0)
    assert (loop.mode, loop.cause) == (BridgeMode.FAULT, cause)


@pytest.mark.parametrize("cause", [cause for cause in FAULTS if cause not in UNTRUSTED_STATE], ids=lambda c: c.name)
def test_a_fault_with_a_state_to_rely_on_holds_then_ramps_down(cause: Cause) -> None:
    loop = _reach(cause)
    np.testing.assert_allclose(loop.step(100).data, SYSTEM.kp * 0.02, rtol=1e-9)
    middle = loop.step(350)
    assert np.all((middle.data > 0.1 * SYSTEM.kp * 0.02) & (middle.data < 0.9 * SYSTEM.kp * 0.02))


@pytest.mark.parametrize("cause", UNTRUSTED_STATE, ids=lambda c: c.name)
def test_without_a_state_to_rely_on_nothing_presses_on(cause: Cause) -> None:
    loop = _reach(cause)
    before = loop.core.guard.tau.copy()
    assert np.all(before > 0.0)
    loop.t_ns += 160 * MS
    loop.core.step(loop.t_ns, loop.q + 0.4, loop.dq, receipt_ns=loop.t_ns)  # no law may follow this state
    command = loop.step(50)
    np.testing.assert_array_equal(command.data, 0.0)


@pytest.mark.parametrize("cause", [Cause.STATE_LOST, Cause.STATE_JUMP, Cause.CLOCK_FORWARD], ids=lambda c: c.name)
def test_without_a_state_the_weight_is_carried_for_the_time_to_hold_and_ramped(cause: Cause) -> None:
    arm = load_system("anypulator_block")
    config = BridgeConfig(gravity_compensation="bridge", start_guard_s=0.0, hold_policy="last_command")
    core, q, rest = BridgeCore(arm, config), 0.5 * (arm.q_min + arm.q_max) + 0.8, np.zeros(arm.n_a)
    weight = JointImpedance(arm, with_gravity=True).gravity(q).copy()
    assert np.abs(weight).max() > 10.0  # N m; the first joint turns about the vertical and carries none
    core.activate()
    t_ns = T0
    for _ in range(300):
        core.step(t_ns := t_ns + MS, q, rest)
    np.testing.assert_allclose(core.guard.tau, weight, atol=ROUNDING)
    core.fault(cause)
    sent = [core.check(t_ns + (11 + k) * MS).data.copy() for k in range(900)]
    np.testing.assert_allclose(sent[150], weight, atol=ROUNDING)
    share = sent[450][1:] / weight[1:]
    assert np.all((share > 0.1) & (share < 0.9))
    np.testing.assert_array_equal(sent[-1], 0.0)


def test_the_damping_stays_with_its_policy_as_long_as_the_state_is_fresh() -> None:
    end = {}
    for policy in ("damping", "zero_torque"):
        loop = Loop(lockstep=False, fault_policy=policy)
        loop.step()
        loop.core.stop()
        loop.dq = np.array([0.5, -0.5, 0.1, 0.0])
        end[policy] = loop.step(1000).data.copy()
    np.testing.assert_allclose(end["damping"], -SYSTEM.kd * loop.dq)
    np.testing.assert_array_equal(end["zero_torque"], 0.0)
    loop = Loop(lockstep=False, fault_policy="damping")
    loop.step()
    loop.core.stop()
    loop.dq = np.full(N, 0.5)
    loop.step(1000)
    assert [loop.core.check(loop.t_ns + k * MS) for k in range(50, 150)][-1] is not None
    np.testing.assert_array_equal(loop.core.guard.tau, 0.0)


@pytest.mark.parametrize("cause", FAULTS, ids=lambda cause: cause.name)
def test_reset_starts_again_from_the_measured_position(cause: Cause) -> None:
    loop = _reach(cause)
    assert loop.core.reset()
    assert not loop.core.reset()
    assert loop.mode is BridgeMode.WAITING
    loop.q = Q + 0.1
    loop.t_ns += 60 * MS
    command = loop.step()
    assert command is not None
    np.testing.assert_array_equal(command.applied_q, loop.q)
    loop.plan(loop.q)
    loop.step(5)
    assert loop.mode is BridgeMode.ACTIVE


def test_numbers_of_causes_are_unique_each_has_a_remedy_and_the_table_is_written_down() -> None:
    assert len({cause.number for cause in Cause}) == len(Cause)
    assert all(cause.remedy for cause in Cause if cause is not Cause.NONE)
    assert (Path(bridge_status.__file__).parent / "CAUSES.md").read_text().endswith(cause_table())


def test_nothing_leaves_until_states_have_come_at_their_rate_for_the_start_guard() -> None:
    loop = Loop(lockstep=False, start_guard_s=0.25)
    assert loop.step(250) is None
    assert (loop.mode, loop.cause) == (BridgeMode.WAITING, Cause.START_GUARD)
    assert loop.step() is not None
    late = Loop(lockstep=False, start_guard_s=0.25)
    late.step(200)
    assert late.step(advance_ns=60 * MS) is None  # a gap: the wait begins anew
    assert late.step(249) is None
    assert late.step(2) is not None


@pytest.mark.parametrize(("period_us", "starts"), [(1000, True), (1150, True), (1300, False), (700, False)])
def test_nothing_starts_on_joint_states_off_their_rate(period_us: int, starts: bool) -> None:
    loop = Loop(lockstep=False, start_guard_s=0.25)
    command = loop.step(1000, advance_ns=period_us * 1000)
    assert (command is not None) is starts
    if not starts:
        assert (loop.mode, loop.cause) == (BridgeMode.WAITING, Cause.STATE_RATE)
        assert f"{1e6 / period_us:.0f} Hz, expected 1000 Hz" in loop.core.safety.describe()


def test_a_rate_that_falls_off_while_active_is_a_warning() -> None:
    loop = Loop(lockstep=False, mpc_rate_hz=1, plan_timeout_s=5.0)
    loop.step()
    loop.plan(Q, horizon_s=10.0)
    loop.step(1500)
    assert (loop.mode, loop.cause) == (BridgeMode.ACTIVE, Cause.NONE)
    loop.step(1500, advance_ns=1300_000)
    assert (loop.mode, loop.cause) == (BridgeMode.ACTIVE, Cause.STATE_RATE_OFF)


def test_a_warning_that_lasts_does_not_hide_one_of_the_moment() -> None:
    loop = Loop(lockstep=False, mpc_rate_hz=1, plan_timeout_s=5.0)
    loop.step()
    loop.plan(Q, horizon_s=10.0)
    loop.step(1500, advance_ns=1300_000)
    assert loop.cause is Cause.STATE_RATE_OFF
    loop.core.update_plan(loop.core.plans.current)
    loop.step(1, advance_ns=1300_000)
    assert loop.cause is Cause.PLAN_OLD
    loop.step(800, advance_ns=1300_000)
    assert loop.cause is Cause.STATE_RATE_OFF


@pytest.mark.parametrize("interface", ["effort", "position"])
def test_a_reset_goes_on_without_a_jump_on_the_wire(interface: str) -> None:
    """From the fault through the wait of the restart to the plan, no command differs more than the limits allow."""
    loop = Loop(lockstep=False, start_guard_s=0.1, command_interface=interface, hold_policy="last_command")
    loop.step(101)
    loop.plan(Q + 0.05)
    sent = [loop.step(60).data.copy()]
    loop.core.stop()
    sent += [loop.step().data.copy() for _ in range(300)]
    assert loop.core.reset()
    for _ in range(99):
        sent.append(loop.step().data.copy())
        assert (loop.mode, loop.cause) == (BridgeMode.WAITING, Cause.START_GUARD)
    sent += [loop.step().data.copy() for _ in range(10)]
    assert loop.mode is BridgeMode.HOLD
    loop.plan(Q + 0.04)
    sent += [loop.step().data.copy() for _ in range(40)]
    assert loop.mode is BridgeMode.ACTIVE
    x = loop.limits
    most = (x.tau_rate if interface == "effort" else x.v_max) * 0.001
    assert np.all(np.abs(np.diff(sent, axis=0)) <= most + ROUNDING)


def test_states_that_fall_behind_the_clock_are_a_fault() -> None:
    loop = Loop(lockstep=False)
    loop.step()
    receipt_ns, fault_ms = loop.t_ns, None
    for k in range(400):
        loop.t_ns += MS
        receipt_ns += round(1.25 * MS)  # each state a quarter of a period later than the one before
        loop.core.step(loop.t_ns, Q, REST, receipt_ns)
        if loop.mode is BridgeMode.FAULT:
            fault_ms = 0.25 * (k + 1)
            break
    assert loop.cause is Cause.STATE_DELAYED
    assert fault_ms == pytest.approx(30.0, abs=0.3)  # state_lag_s, on the grid of the states


def test_a_plant_slower_than_real_time_is_no_delay() -> None:
    loop = Loop(lockstep=False)
    receipt_ns = loop.t_ns
    for _ in range(3000):
        loop.t_ns += MS
        receipt_ns += round(1.1 * MS)
        loop.core.step(loop.t_ns, Q, REST, receipt_ns)
    assert loop.mode is BridgeMode.HOLD


def _activate_with_plans(loop: Loop) -> None:
    loop.step()
    loop.core.update_plan(make_plan(loop.t_ns, Q))
    loop.step(40)
    assert (loop.mode, loop.cause) == (BridgeMode.ACTIVE, Cause.NONE)


def test_plans_that_come_too_often_are_left_out_and_named() -> None:
    loop = Loop()
    _activate_with_plans(loop)
    taken = 0
    for _ in range(100):  # ten times the rate
        taken += loop.core.update_plan(make_plan(loop.t_ns, Q)) is None
        loop.step(5)
        assert loop.mode is BridgeMode.ACTIVE
    assert loop.cause is Cause.PLAN_RATE
    assert taken == 500 // 25
    for _ in range(25):
        loop.core.update_plan(make_plan(loop.t_ns, Q))
        loop.step(50)
    assert (loop.mode, loop.cause) == (BridgeMode.ACTIVE, Cause.NONE)


def test_old_and_future_plans_are_left_out_and_named() -> None:
    for shift_ms in (-100, 150):
        loop = Loop()
        _activate_with_plans(loop)
        loop.core.update_plan(make_plan(loop.t_ns + shift_ms * MS, Q + 0.1))
        loop.step()
        assert (loop.mode, loop.cause) == (BridgeMode.ACTIVE, Cause.PLAN_OLD)


def test_a_plan_from_before_the_clock_began_anew_does_not_make_those_to_come_look_old() -> None:
    loop = Loop(lockstep=False)
    _activate_with_plans(loop)
    before_ns = loop.t_ns
    loop.t_ns = T0 - 500 * MS  # the plant starts again
    loop.core.step(loop.t_ns, Q, REST, loop.t_ns)
    assert loop.cause is Cause.CLOCK_BACKWARD
    assert loop.core.reset()
    loop.core.update_plan(make_plan(before_ns, Q))  # was on its way, and no state has come since to tell its age
    loop.step(2)
    loop.core.update_plan(make_plan(loop.t_ns, Q))
    loop.step(21)
    assert (loop.mode, loop.cause) == (BridgeMode.ACTIVE, Cause.NONE)


def test_a_plan_that_cannot_be_used_is_named_with_its_defect() -> None:
    loop = Loop()
    _activate_with_plans(loop)
    bad = make_plan(loop.t_ns, Q)
    bad.u[1, 0] = np.nan
    loop.core.update_plan(bad)
    loop.step(21)
    assert (loop.mode, loop.cause) == (BridgeMode.HOLD, Cause.PLAN_REFUSED)
    assert "plan_non_finite" in loop.core.safety.describe()


def test_a_horizon_below_twice_the_mean_delay_is_a_warning() -> None:
    loop = Loop()
    loop.step()
    for _ in range(10):
        loop.core.update_plan(make_plan(loop.t_ns - 35 * MS, Q, horizon_s=0.11))
        loop.step(50)
    assert loop.core.plans.mean_delay_s == pytest.approx(0.035)
    assert loop.cause is Cause.NONE
    loop.core.update_plan(make_plan(loop.t_ns - 35 * MS, Q, horizon_s=0.065))
    loop.step()
    assert (loop.mode, loop.cause) == (BridgeMode.ACTIVE, Cause.PLAN_HORIZON)


def test_the_position_interface_holds_its_setpoint_in_fault() -> None:
    loop = Loop(command_interface="position")
    loop.step()
    loop.plan(Q + 0.02)
    loop.step(40)
    loop.core.stop()
    command = loop.step(2000)
    assert command is not None
    np.testing.assert_allclose(command.data, Q + 0.02)


def test_a_fault_can_hold_for_good_while_the_state_is_fresh() -> None:
    loop = Loop(fault_policy="hold", hold_policy="last_command")
    loop.step()
    loop.plan(Q + 0.02)
    loop.step(40)
    loop.core.stop()
    command = loop.step(2000)
    assert command is not None
    np.testing.assert_allclose(command.data, SYSTEM.kp * 0.02, rtol=1e-9)


def test_a_late_state_repeats_the_command_and_a_fresh_one_resumes() -> None:
    loop = Loop(lockstep=False)
    loop.step()
    loop.plan(Q + 0.02)
    sent = loop.step(40).data.copy()
    assert loop.core.check(loop.t_ns + 9 * MS) is None
    command = loop.core.check(loop.t_ns + 11 * MS)
    assert command is not None
    assert (loop.mode, loop.cause) == (BridgeMode.HOLD, Cause.STATE_LATE)
    np.testing.assert_array_equal(command.data, sent)
    assert command.t_ns == loop.t_ns + 11 * MS
    loop.step(advance_ns=12 * MS)
    assert loop.mode is BridgeMode.ACTIVE


def test_repeated_and_slightly_old_stamps_are_not_answered() -> None:
    loop = Loop(lockstep=False)
    loop.step(5)
    assert loop.core.step(loop.t_ns, Q, REST) is None
    assert loop.core.step(loop.t_ns - 3 * MS, Q, REST) is None
    assert loop.core.refusals["state_old"] == 2
    assert loop.mode is BridgeMode.HOLD


def test_lockstep_answers_every_state_once_and_names_an_unusable_one() -> None:
    loop = Loop()
    sent = loop.step(3).data.copy()
    command = loop.core.step(loop.t_ns + MS, Q * np.nan, REST)
    assert command is not None
    assert command.t_ns == loop.t_ns + MS
    np.testing.assert_array_equal(command.data, sent)
    assert (loop.mode, loop.cause) == (BridgeMode.FAULT, Cause.STATE_REFUSED)
    assert "state_non_finite" in loop.core.safety.detail


def test_lockstep_waits_for_the_plan_of_a_tick_but_not_in_fault() -> None:
    loop = Loop()
    loop.step()
    assert loop.core.awaited_plan_ns(T0 + 20 * MS) == T0
    assert loop.core.awaited_plan_ns(T0 + 200 * MS) is None  # a jump of the clock, which is a fault at once
    loop.core.fault(Cause.PLAN_LATE, "none within 20 s")
    assert loop.core.awaited_plan_ns(T0 + 20 * MS) is None
    assert Loop(lockstep=False).core.awaited_plan_ns(T0 + 20 * MS) is None


def test_a_lost_state_during_a_stop_takes_the_state_out_of_the_law() -> None:
    loop = _reach(Cause.STOPPED)
    held = loop.step().data.copy()
    command = loop.core.step(loop.t_ns + MS, Q + 0.5, REST)
    assert command is not None
    np.testing.assert_allclose(command.data, held * (1.0 - 0.001 / loop.core.config.blind_ramp_s))
    assert loop.cause is Cause.STOPPED


def test_the_end_brings_the_torque_to_zero_within_the_rate_limit() -> None:
    loop = Loop()
    loop.step()
    loop.plan(Q + 0.1)
    loop.step(90)
    torques = [loop.core.guard.tau.copy(), *loop.core.wind_down()]
    assert np.abs(torques[0]).min() > 1.0
    assert np.all(np.abs(np.diff(torques, axis=0)) <= loop.limits.tau_rate * 0.001 + ROUNDING)
    np.testing.assert_array_equal(torques[-1], 0.0)


def test_the_end_repeats_the_setpoint_of_the_position_interface() -> None:
    loop = Loop(command_interface="position")
    loop.step(3)
    np.testing.assert_array_equal(list(loop.core.wind_down()), [Q])


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"mpc_rate_hz": 30}, "does not divide 1000"),
        ({"plan_delay_s": 0.05}, "plan_delay_s"),
        ({"state_fault_s": 0.005}, "state_fault_s"),
        ({"command_interface": "position", "gravity_compensation": "bridge"}, "gravity_compensation"),
        ({"hold_policy": "relax"}, "hold_policy"),
        ({"effort_fraction": 1.0}, "effort_fraction"),
        ({"state_timeout": 0.01}, "state_timeout"),
    ],
)
def test_an_inconsistent_config_is_refused_naming_the_key(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        BridgeConfig(**({"gravity_compensation": "robot"} | values))


ANYTHING = st.one_of(st.floats(), st.floats(-3.0, 3.0), st.sampled_from([0.0, 1e308, -1e308]))
VECTOR = arrays(np.float64, N, elements=ANYTHING)
NEAR = arrays(np.float64, N, elements=st.floats(-0.3, 0.3))
EVENT = st.one_of(
    st.tuples(st.just("state"), st.sampled_from([MS, MS, 2 * MS, -MS, 0, 200 * MS, -200 * MS]), NEAR, NEAR),
    st.tuples(st.just("state"), st.just(MS), VECTOR, VECTOR),
    st.tuples(st.just("plan"), st.integers(-30 * MS, 10 * MS), VECTOR, VECTOR),
    st.tuples(st.just("plan"), st.integers(-30 * MS, 10 * MS), NEAR, NEAR),
    st.tuples(st.sampled_from(["stop", "reset", "silence"]), st.just(0), st.just(REST), st.just(REST)),
)


@settings(max_examples=150, deadline=None)
@given(events=st.lists(EVENT, min_size=1, max_size=40), lockstep=st.booleans())
def test_whatever_arrives_no_command_leaves_the_limits(events: list[Any], lockstep: bool) -> None:
    loop = Loop(lockstep=lockstep)
    guard, x = loop.core.guard, loop.limits
    tau_before = np.zeros(N)
    loop.step()
    for kind, shift_ns, a, b in events:
        command = None
        if kind == "state":
            loop.t_ns += shift_ns
            command = loop.core.step(loop.t_ns, Q + a, b, receipt_ns=loop.t_ns)
        elif kind == "plan":
            times, u = np.array([0.0, 0.1]), np.stack([Q + a, Q + b])
            loop.core.update_plan(CommandPlan(loop.t_ns + shift_ns, times, u, np.stack([b, a]), np.stack([a, b])))
        elif kind == "silence":
            loop.t_ns += 15 * MS
            command = loop.core.check(loop.t_ns)
        else:
            loop.core.stop() if kind == "stop" else loop.core.reset()
        if command is not None:
            assert np.all(np.isfinite(command.data))
            assert np.all(np.abs(command.applied_tau) <= x.tau_max)
            assert np.all(np.abs(command.applied_tau - tau_before) <= 5 * 0.001 * x.tau_rate + ROUNDING)
            assert np.all((guard.u >= SYSTEM.q_min) & (guard.u <= SYSTEM.q_max))
            tau_before = command.applied_tau.copy()
