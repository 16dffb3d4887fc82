"""The command bridge without ROS: plans and joint states in, one guarded command per joint state out.

Modes
-----
WAITING until complete states have come at their rate for `start_guard_s`: no command leaves. The first command starts
from the measured position. Then ACTIVE while a plan is in effect, HOLD (with a numbered cause) while not, FAULT
(latched until `reset`) when the state, the clock or the bridge itself cannot be relied on. After a reset the bridge
goes on as in FAULT until it may start again, so that nothing jumps on the wire.

In FAULT the bridge holds for `fault_hold_s` by the impedance law, then ramps to zero torque or to damping, or goes on
holding, by `fault_policy`. Where the state cannot be relied on, the torque goes to that of the weight at once (see
`fault_response`), and with the ramp to zero. The position interface holds its setpoint.

All times are stamps of joint states; `receipt_ns` is a monotonic clock, used for age, lag and rate of the state alone.
"""

from collections.abc import Iterator
from typing import Literal

import numpy as np

from contact_mpc.control.bridge.clocks import RateMonitor, StartGuard
from contact_mpc.control.bridge.config import BridgeConfig
from contact_mpc.control.bridge.guard.guard import CommandGuard, GuardLimits
from contact_mpc.control.bridge.guard.limits import PlanLimits
from contact_mpc.control.bridge.guard.self_distance import SelfDistance
from contact_mpc.control.bridge.output import BridgeOutput
from contact_mpc.control.bridge.plan_buffer import PlanBuffer
from contact_mpc.control.bridge.state_monitor import StateMonitor
from contact_mpc.control.bridge.status import (
    UNTRUSTED_STATE,
    BridgeCommand,
    BridgeMode,
    Cause,
    Refusals,
    SafetyStatus,
)
from contact_mpc.control.bridge.target import BridgeTarget
from contact_mpc.errors import InputError
from contact_mpc.model.system import System
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.units import NS_PER_S
from contact_mpc.task.loop_records import CommandPlan
from contact_mpc.task.start_motion import StartMotion, describe_distance

START_ACCELERATION_SHARE = 0.1  # of the guard's limit, on the way to the start
WARNING_NS = NS_PER_S  # a warning stays for so long after what it warns of
UNTIMELY = {"plan_old": Cause.PLAN_OLD, "plan_future": Cause.PLAN_OLD, "plan_rate": Cause.PLAN_RATE}

__all__ = ["BridgeCommand", "BridgeConfig", "BridgeCore", "BridgeMode", "Cause", "SafetyStatus"]


class BridgeCore:
    """State machine of the bridge.

    Parameters
    ----------
    system : System
        System, for joints, limits, stiffness and gravity.
    config : BridgeConfig
        Parameters.
    lockstep : bool
        Whether stamps advance with the commands instead of with time: age and rate of the state are then not watched.

    Attributes
    ----------
    safety : SafetyStatus
        Mode and cause; a new object at every change.
    guard : CommandGuard
        The guard with its counters.
    refusals : Refusals
        Messages that were not used, by reason.
    plans : PlanBuffer
        The plans received.
    state_rate : RateMonitor
        Rate of the joint states by their receipt (realtime).
    stalls : int
        How often states were late and the bridge held.
    """

    def __init__(self, system: System, config: BridgeConfig, lockstep: bool = False) -> None:
        self.config, self.lockstep = config, lockstep
        apart = SelfDistance(system, config.self_distance_m) if config.self_distance_m else None
        self.guard = CommandGuard(GuardLimits.from_config(system, config), system.joint_names, apart)
        self.refusals = Refusals()
        self.safety = SafetyStatus(BridgeMode.INACTIVE)
        self.plans = PlanBuffer(config, PlanLimits.from_config(system, config))
        self.state_rate = RateMonitor(config.state_period_ns, config.rate_tolerance, config.rate_hz)
        self._state = StateMonitor(system, config, lockstep)
        self._target = BridgeTarget(system, config, self.guard)
        self._output = BridgeOutput(system, config, self.guard, self._target, self.safety, lockstep)
        self._start_guard = StartGuard(
            config.state_period_ns, config.rate_tolerance, 0 if lockstep else round(config.start_guard_s * NS_PER_S),
            round(config.state_fault_s * NS_PER_S),
        )  # fmt: skip
        self._q_min, self._q_max = system.q_min, system.q_max
        self._is_effort = config.command_interface == "effort"
        self._warning, self._warned_ns = Cause.NONE, 0
        self._has_started, self._is_state_trusted, self._state_refusal = False, True, ""
        self._sent_receipt_ns = 0
        self._state_fault_ns = round(
            (config.simulator_patience_s if config.simulated else config.state_fault_s) * NS_PER_S
        )
        self.stalls = 0
        self._joint_names = system.joint_names
        self._motion: StartMotion | None = None

    @property
    def has_started(self) -> bool:
        """Whether commands leave: from the first one after activation until deactivation."""
        return self._has_started

    @property
    def is_waiting(self) -> bool:
        """Whether the next usable state may be the one to start from."""
        return self.safety.mode is BridgeMode.WAITING

    @property
    def newest_t_ns(self) -> int:
        """Stamp of the latest command, ns."""
        return self._output.command.t_ns

    # Life cycle.

    def activate(self) -> None:
        """Begin: wait for complete states."""
        self.guard.start_from(np.clip(self._state.q, self._q_min, self._q_max), np.zeros_like(self.guard.tau))
        self._has_started = False
        self._restart()

    def deactivate(self) -> None:
        """End: no command leaves any more."""
        self._has_started = False
        self._report(BridgeMode.INACTIVE)

    def reset(self) -> bool:
        """Leave FAULT and start again from the next complete state; returns whether there was a fault."""
        was_fault = self.safety.mode is BridgeMode.FAULT
        if was_fault:
            self._restart()
        return was_fault

    def stop(self) -> None:
        """Stop on request: a latched fault."""
        self.fault(Cause.STOPPED)

    def go_to(self, goal: FloatArray) -> str:
        """Move slowly to a posture (n_a,), rad, by joint angles alone, and hold there; returns what will happen.

        Collisions are not checked. A fault, `stop` or deactivation ends the motion; plans are not followed meanwhile.

        Raises
        ------
        InputError
            The bridge does not hold, or the posture is out of the limits.
        """
        if self.safety.mode is not BridgeMode.HOLD:
            raise InputError(f"go to the start only from HOLD; the bridge is {self.safety.describe()}")
        limits = self.guard.limits
        outside = np.flatnonzero((goal < limits.q_min) | (goal > limits.q_max) | ~np.isfinite(goal))
        if len(outside):
            i = int(outside[0])
            raise InputError(
                f"start of {self._joint_names[i]} = {goal[i]:.4f} rad is outside of {limits.q_min[i]:.4f} to "
                f"{limits.q_max[i]:.4f} rad, the limits with position_margin_deg; move the task's start"
            )
        slow, soft = self.config.start_motion_fraction * limits.v_max, START_ACCELERATION_SHARE * limits.a_max
        motion = StartMotion(self._state.t_ns or 0, self.guard.u, goal, slow, soft)
        distance = describe_distance(self.guard.u, goal, self._joint_names)
        self._target.latch_hold()
        self._motion = motion
        return (
            f"going to the start within {motion.duration_s:.1f} s, at {100 * self.config.start_motion_fraction:g} % of "
            f"the velocity limits, collisions not checked: {distance}"
        )

    def fault(self, cause: Cause, detail: str = "") -> None:
        """Latch a fault; the first one is reported until reset, a later one may only take trust from the state."""
        if self.safety.mode is BridgeMode.INACTIVE:
            return
        self._motion = None
        if self._is_state_trusted:
            self._output.remember(self._state)
        self._is_state_trusted &= cause not in UNTRUSTED_STATE
        if self.safety.mode is BridgeMode.FAULT:
            return
        if not self.is_waiting:
            self._output.response.begin()
            self._target.latch_hold(self._state.q if self._is_effort and self._is_state_trusted else None)
        self._report(BridgeMode.FAULT, cause, detail)

    def _restart(self) -> None:
        self._state.clear()
        self.plans.clear()
        self._start_guard.clear()
        self.state_rate.clear()
        self._state_refusal, self._warning, self._motion = "", Cause.NONE, None
        if not self._has_started:
            self._is_state_trusted = True
            self._target.clear()
        self._report(BridgeMode.WAITING, Cause.NONE, "no joint state yet")

    def _report(self, mode: BridgeMode, cause: Cause = Cause.NONE, detail: str = "") -> None:
        if self.safety.mode is not mode or self.safety.cause is not cause:
            self.safety = SafetyStatus(mode, cause, detail, self._state.t_ns or 0)

    # Messages.

    def update_plan(self, plan: CommandPlan) -> str | None:
        """Take a plan; returns why it was refused, or None."""
        reason = self.plans.add(plan, self._state.t_ns)
        if reason is None:
            if self.plans.is_short(plan):
                self._warn(Cause.PLAN_HORIZON)
            return None
        self._warn(UNTIMELY.get(reason, Cause.NONE))
        return self.refusals.add(reason)

    def refuse_plan(self, stamp_ns: int, reason: str, detail: str = "") -> None:
        """Count a plan that cannot be read; it asks to hold instead of the one before it."""
        self.plans.refuse(stamp_ns, f"{self.refusals.add(reason)} {detail}".strip(), self._state.t_ns)

    def meet_stranger(self, what: Literal["state", "plan"], who: str) -> None:
        """Count a message of another publisher than the one listened to; of joint states that is a fault."""
        self.refusals.add(f"{what}_stranger")
        if what == "state":
            self.fault(Cause.STATE_STRANGER, who)
        else:
            self._warn(Cause.PLAN_STRANGER)

    def awaited_plan_ns(self, t_ns: int) -> int | None:
        """Return the stamp of the plan that lockstep waits for before it answers t_ns, or None."""
        if not self.lockstep or self.safety.mode in (BridgeMode.FAULT, BridgeMode.INACTIVE):
            return None
        if self._state.is_beyond_jump(t_ns):
            return None  # a fault: no tracker has seen the time in between
        return self.plans.awaited_ns(t_ns)

    def refuse_state(self, reason: str, t_ns: int, detail: str = "") -> BridgeCommand | None:
        """Count a joint state that cannot be used; in lockstep, where each new one must be answered, it is a fault."""
        if self.safety.mode is BridgeMode.INACTIVE:
            return None
        self.refusals.add(reason)
        if self.lockstep and reason == "state_old":
            return None
        self._state_refusal = f"{reason} {detail}".strip()
        if self.is_waiting and self.safety.detail != self._state_refusal:
            self.safety = SafetyStatus(BridgeMode.WAITING, Cause.STATE_UNUSABLE, self._state_refusal)
        if not self.lockstep:
            return None
        self.fault(Cause.STATE_REFUSED, self._state_refusal)
        return self._hold_without_state(t_ns, 1.0 / self.config.rate_hz)

    def _warn(self, cause: Cause) -> None:
        if cause.is_warning:
            self._warning, self._warned_ns = cause, self._state.t_ns or 0

    def _warning_at(self, t_ns: int) -> Cause:
        """Return what to warn of at t_ns: what happened last before what lasts, which then comes back."""
        if self._warning is not Cause.NONE and 0 <= t_ns - self._warned_ns < WARNING_NS:
            return self._warning
        self._warning = Cause.NONE
        return Cause.STATE_RATE_OFF if not self.lockstep and self.state_rate.is_off else Cause.NONE

    # Commands.

    def step(
        self, t_ns: int, q_a: FloatArray, v_a: FloatArray, receipt_ns: int | None = None, tau: FloatArray | None = None
    ) -> BridgeCommand | None:
        """Answer a joint state.

        Parameters
        ----------
        t_ns : int
            Its stamp, ns.
        q_a, v_a : (n_a,) array
            Positions, rad, and velocities, rad/s, in the order of the system's joints; anything, also NaN.
        receipt_ns : int, optional
            When it was received, on a monotonic clock, ns; by default its stamp.
        tau : (n_a,) array, optional
            Measured effort, N m; used for the first command with `start_from: effort`.

        Returns
        -------
        BridgeCommand or None
            The command, reused by the next call; None where none may leave.
        """
        receipt_ns = t_ns if receipt_ns is None else receipt_ns
        if self.safety.mode is BridgeMode.INACTIVE:
            return None
        reason = self._state.find_refusal(t_ns, q_a, v_a)
        if reason is not None:
            return self.refuse_state(reason, t_ns)
        cause, detail = self._state.find_fault(t_ns, q_a, v_a, receipt_ns)
        if cause.is_fault:
            self.fault(cause, detail)
        self._warn(cause)
        self._state.accept(t_ns, q_a, v_a, receipt_ns)
        self.state_rate.add(receipt_ns)
        self._state_refusal = ""
        self._sent_receipt_ns = receipt_ns
        if self.is_waiting and self._start_guard.add(t_ns if self.config.simulated else receipt_ns):
            self._start(t_ns, receipt_ns, tau)
        dt_s = self._output.time_since(t_ns, receipt_ns)
        if self.safety.mode in (BridgeMode.FAULT, BridgeMode.WAITING):
            self._report_waiting()
            return self._answer_in_fault(t_ns, dt_s)
        self._choose_target(t_ns)
        return self._answer(t_ns, dt_s)

    def note_left(self, sent_ns: int) -> None:
        """Take note of when the command before had left, monotonic clock, ns, so that the next is bounded by that."""
        self._output.note_left(sent_ns)

    def check(self, receipt_ns: int) -> BridgeCommand | None:
        """Watch the age of the state in realtime: without one, repeat the last command, then fault.

        A simulator that falls behind has stopped its time with it: the same command is repeated, and only after
        `simulator_patience_s` is that a fault.

        Returns
        -------
        BridgeCommand or None
            The command to send in place of the missing answer; None while the state is fresh or nothing has started.
        """
        age_ns = receipt_ns - self._state.receipt_ns
        if self.lockstep or not self._has_started or age_ns < self.config.state_timeout_s * NS_PER_S:
            return None
        if self.safety.mode in (BridgeMode.ACTIVE, BridgeMode.HOLD):
            if age_ns >= self._state_fault_ns:
                cause = Cause.STATE_REFUSED if self._state_refusal else Cause.STATE_LOST
                self.fault(cause, self._state_refusal or self._explain_loss(receipt_ns))
            else:
                self._interrupt(f"{age_ns * 1e-6:.0f} ms")
        is_waiting = self.config.simulated and self.safety.mode is BridgeMode.HOLD
        passed_ns = 0 if is_waiting else max(receipt_ns - self._sent_receipt_ns, 0)
        t_ns, self._sent_receipt_ns = self._output.command.t_ns + passed_ns, receipt_ns
        return self._hold_without_state(t_ns, self._output.time_since(t_ns, receipt_ns))

    def _interrupt(self, detail: str) -> None:
        """Hold for want of a state."""
        if self.safety.cause is not Cause.STATE_LATE:
            self.stalls += 1
        self._target.interrupt()
        self._report(BridgeMode.HOLD, Cause.STATE_LATE, detail)

    def wind_down(self) -> Iterator[FloatArray]:
        """Yield the last commands, one per period: torque to zero at the guard's rate, or the setpoint to rest.

        Nothing is yielded if no command had left: no data is never turned into zeros.
        """
        return self._output.wind_down() if self._has_started else iter(())

    def _explain_loss(self, receipt_ns: int) -> str:
        """Say for how long no state came, and for how much of that the bridge itself was not running."""
        age_ns, own_ns = receipt_ns - self._state.receipt_ns, receipt_ns - self._sent_receipt_ns
        return f"none for {age_ns * 1e-6:.0f} ms; this process last ran {own_ns * 1e-6:.0f} ms ago"

    def _start(self, t_ns: int, receipt_ns: int, tau: FloatArray | None) -> None:
        """Start from the measured position, or from the setpoint whose torque is the measured effort.

        Where commands have been leaving (after a reset), torque and position setpoint go on from the last ones.
        """
        guard, u, tau_start = self.guard, self._state.q.copy(), self.guard.tau.copy()
        if self.config.start_from == "effort" and tau is not None and bool(np.all(np.isfinite(tau))):
            tau_start = np.clip(tau, -guard.limits.tau_max, guard.limits.tau_max)
            u = self._output.setpoint_of(tau_start, self._state.q)
        if not self._has_started:
            self._output.start(t_ns, receipt_ns)
            guard.start_from(np.clip(u, self._q_min, self._q_max), tau_start)
        elif self._is_effort:
            guard.start_from(np.clip(u, self._q_min, self._q_max), guard.tau.copy())
        self._has_started = self._is_state_trusted = True
        self._target.clear()
        self._target.latch_hold()
        self._report(BridgeMode.HOLD, Cause.NO_PLAN)

    def _report_waiting(self) -> None:
        """Say what the start waits for: time, or a rate of the joint states that is not the configured one."""
        if self.is_waiting:
            rate = self._start_guard.rate
            if rate.is_off:
                self._report(BridgeMode.WAITING, Cause.STATE_RATE, rate.describe())
            else:
                self._report(BridgeMode.WAITING, Cause.START_GUARD)

    def _choose_target(self, t_ns: int) -> None:
        """Follow the plan in effect, or hold."""
        self.plans.advance(t_ns)
        if self._motion is not None:
            self._go_on_to_start(self._motion, t_ns)
            return
        plan = self.plans.current
        cause = self._target.judge(plan, t_ns)
        detail = self._explain_far() if cause is Cause.PLAN_FAR else ""
        if cause is Cause.NONE and plan is not None:
            self._target.follow(plan)
            warning = self._warning_at(t_ns)
            self._report(BridgeMode.ACTIVE, warning)
            return
        if self.safety.mode is BridgeMode.ACTIVE or self.safety.cause is Cause.STATE_LATE:
            self._target.latch_hold(self._state.q)
        self._target.keep_hold()
        refusal = self.plans.refusal
        if cause is Cause.PLAN_HOLD and refusal is not None and plan is not None and refusal[0] == plan.stamp_ns:
            self._report(BridgeMode.HOLD, Cause.PLAN_REFUSED, refusal[1])
        else:
            self._report(BridgeMode.HOLD, cause, detail)

    def _go_on_to_start(self, motion: StartMotion, t_ns: int) -> None:
        """Move the hold along the way to the start."""
        self._target.move_hold(*motion.sample(t_ns))
        self._report(BridgeMode.HOLD, Cause.GOING_TO_START, f"{motion.duration_s:.1f} s")
        if motion.is_over(t_ns):
            self._motion = None

    def _explain_far(self) -> str:
        """Say which joint is furthest from the plan, and by how much."""
        away = self._target.plan_distance
        i = int(np.argmax(away))
        return f"{self._joint_names[i]} by {away[i]:.3f} rad (allowed: {self.config.resume_distance_rad:g})"

    def _answer(self, t_ns: int, dt_s: float) -> BridgeCommand:
        refused = self._output.request(self._state, dt_s)
        if np.any(self._output.shares < 1.0):
            self._warn(Cause.CONTACT_FORCE)
        if refused and self.safety.mode is BridgeMode.ACTIVE:
            self._target.give_up()
            near = self.guard.approach
            self._report(BridgeMode.HOLD, Cause.SELF_DISTANCE if near else Cause.COMMAND_JUMP, near)
            self._target.latch_hold(self._state.q)
        return self._output.finish(t_ns, self.safety)

    def _answer_in_fault(self, t_ns: int, dt_s: float) -> BridgeCommand | None:
        """Hold with the state where it can be relied on, and ramp down by the policy."""
        if not self._has_started:
            return None
        self._output.request_in_fault(self._state if self._is_state_trusted else None, dt_s)
        return self._output.finish(t_ns, self.safety)

    def _hold_without_state(self, t_ns: int, dt_s: float) -> BridgeCommand | None:
        """Repeat the last command; in FAULT, ramp its torque to zero after the time to hold."""
        if not self._has_started:
            return None
        if self.safety.mode in (BridgeMode.FAULT, BridgeMode.WAITING):
            self._output.request_in_fault(None, dt_s)
        else:
            self._output.repeat(dt_s)
        return self._output.finish(t_ns, self.safety)
