"""The bridge under any order of states, plans, silence, clock jumps, stops and resets: what must always hold."""

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from contact_mpc import load_system
from contact_mpc.control.bridge.bridge import BridgeCore
from contact_mpc.control.bridge.config import BridgeConfig
from contact_mpc.control.bridge.status import BridgeCommand, BridgeMode
from contact_mpc.task.loop_records import CommandPlan

MS = 1_000_000
SYSTEM = load_system("planar_hand_ball")
N = SYSTEM.n_a
Q = 0.5 * (SYSTEM.q_min + SYSTEM.q_max)
ROUNDING = 1e-12
PERIOD_S = 0.001
LONGEST_S = 0.005  # of change from one command to the next
GUARD_MS, HOLD_MS, RAMP_MS = 3, 4, 6
NEAR = arrays(np.float64, N, elements=st.floats(-0.1, 0.1))
ANYTHING = arrays(np.float64, N, elements=st.one_of(st.floats(), st.floats(-3.0, 3.0)))


class BridgeMachine(RuleBasedStateMachine):
    """Drives a bridge in realtime; `outputs` are the commands since the last activation."""

    @initialize(interface=st.sampled_from(["effort", "position"]), policy=st.sampled_from(["measured", "last_command"]))
    def start(self, interface: str, policy: str) -> None:
        self.config = BridgeConfig(
            command_interface=interface, gravity_compensation="robot", hold_policy=policy, rate_tolerance=1.0,
            start_guard_s=GUARD_MS * 1e-3, fault_hold_s=HOLD_MS * 1e-3, fault_ramp_s=RAMP_MS * 1e-3,
        )  # fmt: skip
        self.core = BridgeCore(SYSTEM, self.config)
        self.t_ns = self.receipt_ns = 10**9
        self.q = Q.copy()
        self.fault_cause = None
        self.good_states = 0
        self.activate()

    def activate(self) -> None:
        self.core.activate()
        self.before: np.ndarray | None = None
        self.good_states, self.fault_cause, self.has_plan = 0, None, False

    def take(self, command: BridgeCommand | None) -> None:
        """Check what leaves, and that nothing leaves too early."""
        if command is None:
            return
        assert self.good_states > GUARD_MS, "a command left before the states had come for the start guard"
        data, effort = command.data.copy(), self.config.command_interface == "effort"
        assert np.isfinite(data).all()
        if effort:
            assert np.all(np.abs(data) <= 0.9 * SYSTEM.tau_max_nm)
        else:
            assert np.all((data >= SYSTEM.q_min) & (data <= SYSTEM.q_max))
        rate = 100.0 * SYSTEM.tau_max_nm if effort else SYSTEM.v_max
        if self.before is None:  # rest; the feed-forward of a plan that came before may begin at the rate allowed
            rest = np.zeros(N) if effort else self.q
            assert np.all(np.abs(data - rest) <= (rate * PERIOD_S + ROUNDING if effort and self.has_plan else 0.0))
        else:
            assert np.all(np.abs(data - self.before) <= rate * LONGEST_S + ROUNDING)
        self.before = data

    def send_good(self) -> None:
        self.t_ns += MS
        self.receipt_ns += MS
        self.good_states += 1
        self.take(self.core.step(self.t_ns, self.q, np.zeros(N), self.receipt_ns))

    @rule(count=st.integers(1, 15), move=NEAR)
    def states(self, count: int, move: np.ndarray) -> None:
        for k in range(count):
            self.q = np.clip(self.q + 0.02 * move * (k % 2), SYSTEM.q_min, SYSTEM.q_max)
            self.send_good()

    @rule(q=ANYTHING, dq=ANYTHING)
    def unusable_state(self, q: np.ndarray, dq: np.ndarray) -> None:
        self.t_ns += MS
        self.receipt_ns += MS
        finite = np.isfinite(q).all() and np.isfinite(dq).all()
        self.good_states += bool(finite)  # one that is finite may be the one that ends the wait
        self.q = np.clip(q, SYSTEM.q_min, SYSTEM.q_max) if finite else self.q
        self.take(self.core.step(self.t_ns, q, dq, self.receipt_ns))

    @rule(jump_ms=st.sampled_from([-2000, -150, -3, 150, 2000]))
    def clock_jump(self, jump_ms: int) -> None:
        self.t_ns += jump_ms * MS

    @rule(u=st.one_of(ANYTHING, NEAR), tau=ANYTHING, delay_ms=st.integers(-5, 60))
    def plan(self, u: np.ndarray, tau: np.ndarray, delay_ms: int) -> None:
        times, us = np.array([0.0, 0.2]), np.stack([self.q + u, self.q - u])
        taus = np.stack([tau, -tau])
        self.has_plan = True
        self.core.update_plan(CommandPlan(self.t_ns - delay_ms * MS, times, us, np.zeros((2, N)), taus))

    @rule(count=st.integers(1, 80))
    def silence(self, count: int) -> None:
        for _ in range(count):
            self.receipt_ns += MS
            self.take(self.core.check(self.receipt_ns))

    @rule()
    def stop(self) -> None:
        self.core.stop()
        assert self.core.safety.mode is BridgeMode.FAULT

    @precondition(lambda self: self.core.safety.mode is BridgeMode.FAULT)
    @rule()
    def reset(self) -> None:
        assert self.core.reset()
        self.fault_cause = None

    @rule()
    def end(self) -> None:
        last = None
        for data in self.core.wind_down():
            assert self.before is not None, "an end that was no beginning"
            last = data
        if last is not None and self.config.command_interface == "effort":
            np.testing.assert_array_equal(last, 0.0)
        self.core.deactivate()
        assert self.core.step(self.t_ns + MS, self.q, np.zeros(N), self.receipt_ns) is None
        assert self.core.check(self.receipt_ns + 100 * MS) is None
        self.activate()

    @precondition(lambda self: self.core.safety.mode is BridgeMode.FAULT and self.before is not None)
    @rule()
    def wait_out_a_fault(self) -> None:
        for _ in range(HOLD_MS + RAMP_MS + 60):
            self.receipt_ns += MS
            self.take(self.core.check(self.receipt_ns))
        if self.config.command_interface == "effort":
            np.testing.assert_array_equal(self.core.guard.tau, 0.0)

    @invariant()
    def a_fault_is_latched_with_its_first_cause(self) -> None:
        if not hasattr(self, "core"):
            return
        safety = self.core.safety
        if self.fault_cause is not None:
            assert (safety.mode, safety.cause) == (BridgeMode.FAULT, self.fault_cause)
        elif safety.mode is BridgeMode.FAULT:
            assert safety.cause.is_fault
            self.fault_cause = safety.cause

    @invariant()
    def the_setpoint_is_within_the_limits_and_can_stop_there(self) -> None:
        if not hasattr(self, "core"):
            return
        guard = self.core.guard
        x = guard.limits
        assert np.all((guard.u >= SYSTEM.q_min) & (guard.u <= SYSTEM.q_max))
        assert np.all(np.abs(guard.v) <= x.v_max + ROUNDING)
        ahead = np.where(guard.v > 0.0, x.q_max - guard.u, guard.u - x.q_min)
        assert np.all(guard.v**2 / (2.0 * x.a_max) <= np.maximum(ahead, 0.0) + 1e-9)


TestBridgeMachine = BridgeMachine.TestCase
TestBridgeMachine.settings = settings(max_examples=25, stateful_step_count=25, deadline=None)
