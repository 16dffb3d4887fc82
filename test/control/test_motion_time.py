"""A motion waits while the bridge holds, and goes on from what is held: with the bridge itself, and by properties."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contact_mpc.control.bridge.bridge import BridgeConfig, BridgeCore, BridgeMode, Cause
from contact_mpc.control.controller import Controller, ControllerSetup, PlainController
from contact_mpc.control.motion_time import MotionTime
from contact_mpc.control.tracking.config import TrackerConfig
from contact_mpc.control.tracking.follower import NO_REFERENCE, OK, Reference
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.task.loop_records import CommandPlan, EstimatedState
from contact_mpc.task.plan import Plan
from contact_mpc.task.task import load_task

MS = 1_000_000
T0_NS = 1_000_000_000
TASK = load_task("planar_hand_ball")
SYSTEM = TASK.system
CONFIG = TrackerConfig(horizon_steps=5)
PERIOD_NS = 50 * MS
LONGEST_NS = PERIOD_NS + round(CONFIG.plan_timeout_s * 1e9)  # from stamp to stamp, without a hold between
TRAVEL_RAD, MARGIN_RAD, DURATION_S = 1.2, 0.05, 3.0
ONE_STEP_RAD = 2e-3  # of the bridge, within its blending


class Following(PlainController):
    """Commands what the reference commands."""

    def begin(self, plan: Plan) -> None:
        self._plan = plan
        self.seen_s: list[float] = []

    def compute(self, t_s: float, state: EstimatedState, times_s: FloatArray) -> FloatArray:
        self.seen_s.append(t_s)
        return np.array([self._plan.sample_u(t) for t in times_s])


def reference(start_ns: int = T0_NS) -> Reference:
    """Return one that takes the joints within `DURATION_S` far beyond the bridge's `resume_distance_rad`."""
    times_s = np.array([0.0, DURATION_S])
    way = np.sign(0.5 * (SYSTEM.q_min + SYSTEM.q_max) - TASK.start_u) * TRAVEL_RAD
    u = np.array([TASK.start_u, np.clip(TASK.start_u + way, SYSTEM.q_min + MARGIN_RAD, SYSTEM.q_max - MARGIN_RAD)])
    q = np.tile(TASK.start_q, (2, 1))
    return Reference(start_ns, Plan(times_s, q, u, np.zeros_like(u), np.zeros((2, 0, 3))))


def state(t_ns: int) -> EstimatedState:
    rest = np.zeros(SYSTEM.n_a)
    return EstimatedState(t_ns, TASK.start_q, np.zeros(SYSTEM.n_v), rest, np.eye(SYSTEM.n_v_u))


def waiting() -> MotionTime:
    controller = MotionTime(Following(ControllerSetup(SYSTEM, CONFIG)), CONFIG)
    controller.set_reference(reference())
    return controller


def inner_of(controller: MotionTime) -> Following:
    following = controller.inner
    assert isinstance(following, Following)
    return following


class Loop:
    """A bridge with a robot that is where it is told to be, and a controller that ticks when it may."""

    def __init__(self, controller: Controller) -> None:
        policy = {"gravity_compensation": "robot", "start_guard_s": 0.0, "hold_policy": "last_command"}
        self.core = BridgeCore(SYSTEM, BridgeConfig(**policy), lockstep=False)
        self.core.activate()
        self.controller, self.q, self.dq = controller, TASK.start_u.copy(), np.zeros(SYSTEM.n_a)
        self.t_ns, self.u, self.causes = T0_NS, [], []

    def run(self, duration_s: float, tick: Callable[[int], CommandPlan | None] | None = None) -> "Loop":
        for _ in range(round(1e3 * duration_s)):
            command = self.core.step(self.t_ns, self.q, self.dq)
            assert command is not None
            self.q, self.dq = command.applied_q.copy(), (command.applied_q - self.q) / 1e-3
            self.u.append(self.q)
            self.causes.append(self.core.safety.cause)
            if self.t_ns % PERIOD_NS == 0:
                plan = self.controller.step(state(self.t_ns)).plan if tick is None else tick(self.t_ns)
                if plan is not None:
                    self.core.update_plan(plan)
            self.t_ns += MS
        return self


def stall(_t_ns: int) -> None:
    return None


@pytest.mark.parametrize("gap_s", [0.7, 2.5])
def test_after_a_stall_the_motion_goes_on_from_what_the_bridge_holds(gap_s: float) -> None:
    controller = waiting()
    loop = Loop(controller).run(1.0).run(gap_s, stall).run(DURATION_S)
    assert Cause.PLAN_STALE in loop.causes and Cause.PLAN_FAR not in loop.causes
    assert loop.core.safety.mode is BridgeMode.ACTIVE
    moved = np.abs(np.diff(loop.u, axis=0)).max()
    assert moved <= ONE_STEP_RAD, "no jump where it goes on"
    np.testing.assert_allclose(loop.u[-1], reference().plan.u[-1], atol=1e-6)
    assert controller.waited_ns(loop.t_ns) * 1e-9 == pytest.approx(gap_s - CONFIG.plan_timeout_s, abs=2e-9)


def test_without_it_the_commands_leap_after_the_reference_that_ran_on() -> None:
    """What the time of the motion is for: the same stall, with a controller whose reference goes on meanwhile."""
    plain = Following(ControllerSetup(SYSTEM, CONFIG))
    plain.set_reference(reference())
    loop = Loop(plain).run(1.0).run(0.9, stall).run(DURATION_S)
    assert np.abs(np.diff(loop.u, axis=0)).max() > 2.0 * ONE_STEP_RAD


def test_while_estimates_are_stale_the_motion_waits_and_then_goes_on() -> None:
    controller = waiting()

    def blind(t_ns: int) -> CommandPlan:
        controller.hold(t_ns)
        return CommandPlan.hold(t_ns, SYSTEM.n_a)

    loop = Loop(controller).run(1.0).run(1.0, blind).run(DURATION_S)
    assert Cause.PLAN_HOLD in loop.causes and Cause.PLAN_FAR not in loop.causes
    assert np.abs(np.diff(loop.u, axis=0)).max() <= ONE_STEP_RAD
    np.testing.assert_allclose(loop.u[-1], reference().plan.u[-1], atol=1e-6)
    assert controller.waited_ns(loop.t_ns) == 1000 * MS


def test_the_first_plan_after_a_hold_begins_with_the_command_that_is_held() -> None:
    controller = waiting()
    first = controller.step(state(T0_NS)).plan
    after = controller.step(state(T0_NS + 800 * MS)).plan
    delay_ns = round(CONFIG.plan_delay_s * 1e9)
    held = first.sample_u(T0_NS + LONGEST_NS + delay_ns)  # where the plan before became stale
    assert after.stamp_ns == T0_NS + 800 * MS
    np.testing.assert_allclose(after.sample_u(after.stamp_ns + delay_ns), held, atol=1e-12)


@given(st.lists(st.tuples(st.integers(1, 40), st.booleans()), min_size=1, max_size=30))
def test_the_time_of_the_motion_is_the_stamp_less_what_was_waited(gaps: list[tuple[int, bool]]) -> None:
    """In any order of ticks, missed ticks and stale ones; and it never runs faster than the stamps."""
    controller = waiting()
    following = inner_of(controller)
    t_ns, waited_ns, held_ns, before_ns = T0_NS, 0, None, T0_NS
    controller.step(state(t_ns))
    for periods, is_stale in gaps:
        t_ns += periods * PERIOD_NS
        if held_ns is None:
            waited_ns += max(t_ns - before_ns - LONGEST_NS, 0)
        before_ns = t_ns
        if is_stale:
            controller.hold(t_ns)
            held_ns = t_ns if held_ns is None else held_ns
            continue
        waited_ns += 0 if held_ns is None else t_ns - held_ns
        held_ns = None
        assert controller.step(state(t_ns)).plan.stamp_ns == t_ns
        assert following.seen_s[-1] == pytest.approx((t_ns - waited_ns - T0_NS) * 1e-9, abs=1e-9)
        assert controller.waited_ns(t_ns) == waited_ns
    assert np.all(np.diff(following.seen_s) > 0.0)


def test_ticks_that_are_late_by_less_than_the_bridge_bears_are_no_wait() -> None:
    controller, plain = waiting(), Following(ControllerSetup(SYSTEM, CONFIG))
    plain.set_reference(reference())
    t_ns = T0_NS
    for gap_ns in (PERIOD_NS, LONGEST_NS, 55 * MS, LONGEST_NS, 45 * MS):
        t_ns += gap_ns
        output, expected = controller.step(state(t_ns)), plain.step(state(t_ns))
        assert np.array_equal(output.plan.u, expected.plan.u) and output.plan.stamp_ns == t_ns
    assert controller.waited_ns(t_ns) == 0


def test_another_reference_starts_when_it_says_and_has_not_waited() -> None:
    controller = waiting()
    following = inner_of(controller)
    controller.step(state(T0_NS))
    controller.step(state(T0_NS + 2000 * MS))
    assert controller.waited_ns(T0_NS + 2000 * MS) == 2000 * MS - LONGEST_NS
    controller.set_reference(reference(T0_NS + 2030 * MS))
    assert controller.waited_ns(T0_NS + 2030 * MS) == 0
    assert controller.step(state(T0_NS + 2050 * MS)).status == OK
    assert following.seen_s == [pytest.approx(0.02)]
    controller.set_reference(None)
    assert controller.step(state(T0_NS + 2100 * MS)).status == NO_REFERENCE


def test_a_clock_that_goes_back_begins_again_with_the_same_reference() -> None:
    controller = waiting()
    following = inner_of(controller)
    controller.step(state(T0_NS))
    controller.step(state(T0_NS + 2000 * MS))
    again = controller.step(state(T0_NS + 100 * MS))
    assert controller.waited_ns(T0_NS + 100 * MS) == 0
    assert again.status == OK and following.seen_s == [pytest.approx(0.1)]


def test_a_reset_forgets_commands_but_not_how_long_the_reference_stood_still() -> None:
    controller = waiting()
    controller.step(state(T0_NS))
    controller.step(state(T0_NS + 1000 * MS))
    waited_ns = controller.waited_ns(T0_NS + 1000 * MS)
    controller.reset()
    output = controller.step(replace(state(T0_NS), t_ns=T0_NS + 1050 * MS))
    assert controller.waited_ns(T0_NS + 1050 * MS) == waited_ns > 0
    expected = reference().plan.sample_u((1050 * MS - waited_ns) * 1e-9)
    np.testing.assert_allclose(output.plan.u[0], expected, atol=1e-12)
