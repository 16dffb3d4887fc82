"""The command bridge without ROS: plans and joint states in, one guarded command per joint state out.

Modes
-----
WAITING until a complete state has arrived: no command leaves. The first command starts from the measured position.
Then ACTIVE while a plan is in effect, HOLD (with a numbered cause) while not, FAULT (latched until `reset`) when the
state, the clock or the bridge itself cannot be relied on.

Every change of target, from hold to plan, from plan to plan or to a hold, closes the gap to the command before at a
bounded rate: with the gap e0 = u_before - u_target at the change, u = u_target(t) + w(t) e0, and w falls linearly from
1 to 0 within max|e0| / blend_rate.

In FAULT the bridge holds for `fault_hold_s` (by the impedance law where the state can be relied on, else at the last
torque), then ramps to zero torque, or goes on holding, by `fault_policy`. The position interface holds its setpoint.

All times are stamps of joint states; `receipt_ns` is a monotonic clock, used for the age of the state alone.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from contact_mpc.control.bridge_config import BridgeConfig
from contact_mpc.control.bridge_status import (
    UNTRUSTED_STATE,
    BridgeCommand,
    BridgeMode,
    Cause,
    Refusals,
    SafetyStatus,
)
from contact_mpc.control.command_guard import CommandGuard, GuardLimits
from contact_mpc.control.joint_impedance import GravityTorque, joint_impedance_torque
from contact_mpc.control.plan_buffer import PlanBuffer
from contact_mpc.control.plan_interpolation import interpolate_plan
from contact_mpc.control.state_monitor import StateMonitor
from contact_mpc.model.state import CommandPlan
from contact_mpc.model.system import System

FloatArray = NDArray[np.float64]
MAX_PERIODS = 5

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
        Whether stamps advance with the commands instead of with time: the age of the state is then not watched.

    Attributes
    ----------
    safety : SafetyStatus
        Mode and cause; a new object at every change.
    guard : CommandGuard
        The guard with its counters.
    refusals : Refusals
        Messages that were not used, by reason.
    """

    def __init__(self, system: System, config: BridgeConfig, lockstep: bool = False) -> None:
        self.config, self.lockstep = config, lockstep
        limits = GuardLimits.from_system(
            system, np.deg2rad(config.position_margin_deg), config.velocity_fraction, config.effort_fraction,
            config.torque_rate_per_s, config.command_jump_rad,
        )  # fmt: skip
        self.guard = CommandGuard(limits, system.joint_names)
        self.refusals = Refusals()
        self.safety = SafetyStatus(BridgeMode.INACTIVE)
        self.plans = PlanBuffer(config, system.n_a)
        self._state = StateMonitor(system, config, lockstep)
        self._kp, self._kd, self._q_min, self._q_max = system.kp, system.kd, system.q_min, system.q_max
        self._gravity_model = GravityTorque(system) if config.gravity_compensation == "bridge" else None
        self._nominal_dt_s = 1.0 / config.rate_hz
        vectors = [np.zeros(system.n_a) for _ in range(10)]
        self._target_u, self._target_du, self._target_tau, self._gap_u, self._gap_tau = vectors[:5]
        self._hold_u, self._hold_tau, self._tau_ff, self._fault_tau, self._gravity = vectors[5:]
        self._blend_s = self._blend_left_s = self._fault_elapsed_s = 0.0
        self._followed: CommandPlan | None = None
        self._jumped: CommandPlan | None = None
        self._has_started, self._is_state_trusted, self._state_refusal = False, True, ""
        guard, is_effort = self.guard, config.command_interface == "effort"
        self._command = BridgeCommand(
            guard.tau if is_effort else guard.u, np.zeros(system.n_a), np.zeros(system.n_a), np.zeros(system.n_a),
            guard.u, guard.du, guard.tau, self.safety,
        )  # fmt: skip

    @property
    def has_started(self) -> bool:
        """Whether a first command has left since the start or the last reset."""
        return self._has_started

    @property
    def newest_t_ns(self) -> int:
        """Stamp of the latest command, ns."""
        return self._command.t_ns

    # Life cycle.

    def activate(self) -> None:
        """Begin: wait for a complete state."""
        self.guard.start_from(self._state.q, np.zeros_like(self._hold_tau))
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

    def fault(self, cause: Cause, detail: str = "") -> None:
        """Latch a fault; the first one is reported until reset, a later one may only take trust from the state."""
        if self.safety.mode is BridgeMode.INACTIVE:
            return
        if self._is_state_trusted:
            self._fault_tau[:] = self.guard.tau
        self._is_state_trusted &= cause not in UNTRUSTED_STATE
        if self.safety.mode is BridgeMode.FAULT:
            return
        self._fault_elapsed_s = 0.0
        if self._has_started:
            self._latch_hold(measured=self.config.command_interface == "effort" and self._is_state_trusted)
        self._report(BridgeMode.FAULT, cause, detail)

    def _restart(self) -> None:
        self._state.clear()
        self.plans.clear()
        self._followed = self._jumped = None
        self._has_started, self._is_state_trusted, self._state_refusal = False, True, ""
        self._report(BridgeMode.WAITING)

    def _report(self, mode: BridgeMode, cause: Cause = Cause.NONE, detail: str = "") -> None:
        if self.safety.mode is not mode or self.safety.cause is not cause:
            self.safety = SafetyStatus(mode, cause, detail, self._state.t_ns or 0)

    # Messages.

    def update_plan(self, plan: CommandPlan) -> str | None:
        """Take a plan; returns why it was refused, or None."""
        reason = self.plans.add(plan, self._state.t_ns)
        return None if reason is None else self.refusals.add(reason)

    def refuse_plan(self, stamp_ns: int, reason: str) -> None:
        """Count a plan that cannot be read; it asks to hold instead of the one before it."""
        self.refusals.add(reason)
        self.plans.add(CommandPlan.hold(stamp_ns, self.guard.tau.size), self._state.t_ns)

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
        if self.safety.mode is BridgeMode.WAITING and self.safety.detail != self._state_refusal:
            self.safety = SafetyStatus(BridgeMode.WAITING, Cause.NONE, self._state_refusal)
        if not self.lockstep:
            return None
        self.fault(Cause.STATE_REFUSED, self._state_refusal)
        return self._hold_without_state(t_ns, self._nominal_dt_s)

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
        cause, detail = self._state.find_fault(t_ns, q_a, receipt_ns)
        if cause is not Cause.NONE:
            self.fault(cause, detail)
        self._state.accept(t_ns, q_a, v_a, receipt_ns)
        self._state_refusal = ""
        if not self._has_started:
            if self.safety.mode is BridgeMode.FAULT:
                return None
            self._start(tau)
            self._command.t_ns = t_ns - round(self._nominal_dt_s * 1e9)
        dt_s = min(max((t_ns - self._command.t_ns) * 1e-9, 0.0), MAX_PERIODS * self._nominal_dt_s)
        if self.safety.mode is BridgeMode.FAULT:
            return self._answer_in_fault(t_ns, dt_s)
        self._choose_target(t_ns)
        return self._answer(t_ns, dt_s)

    def check(self, receipt_ns: int) -> BridgeCommand | None:
        """Watch the age of the state in realtime: without one, repeat the last command, then fault.

        Returns
        -------
        BridgeCommand or None
            The command to send in place of the missing answer; None while the state is fresh or nothing has started.
        """
        age_ns = receipt_ns - self._state.receipt_ns
        if self.lockstep or not self._has_started or age_ns < self.config.state_timeout_s * 1e9:
            return None
        if self.safety.mode is not BridgeMode.FAULT:
            if age_ns >= self.config.state_fault_s * 1e9:
                cause = Cause.STATE_REFUSED if self._state_refusal else Cause.STATE_LOST
                self.fault(cause, self._state_refusal or f"none for {age_ns * 1e-6:.0f} ms")
            else:
                self._followed = None
                self._report(BridgeMode.HOLD, Cause.STATE_LATE, f"{age_ns * 1e-6:.0f} ms")
        t_ns = (self._state.t_ns or 0) + age_ns
        dt_s = min(max((t_ns - self._command.t_ns) * 1e-9, 0.0), MAX_PERIODS * self._nominal_dt_s)
        return self._hold_without_state(t_ns, dt_s)

    def wind_down(self) -> Iterator[FloatArray]:
        """Yield the last commands, one per period: torque to zero at the guard's rate, or once the last setpoint.

        Nothing is yielded if no command had left: no data is never turned into zeros.
        """
        if not self._has_started:
            return
        if self.config.command_interface == "position":
            yield self.guard.u.copy()
            return
        zero = np.zeros_like(self.guard.tau)
        while True:
            self.guard.pass_torque(zero, self._nominal_dt_s)
            yield self.guard.tau.copy()
            if not self.guard.tau.any():
                return

    # Targets.

    def _start(self, tau: FloatArray | None) -> None:
        """Start from the measured position, or from the setpoint whose torque is the measured effort."""
        u, tau_start = self._state.q.copy(), self.guard.tau.copy()
        if self._gravity_model is not None:
            self._gravity_model.compute(self._state.q, self._gravity)
        if self.config.start_from == "effort" and tau is not None and bool(np.all(np.isfinite(tau))):
            tau_start = np.clip(tau, -self.guard.limits.tau_max, self.guard.limits.tau_max)
            u += (tau_start - self._gravity) / self._kp
        self.guard.start_from(np.clip(u, self._q_min, self._q_max), tau_start)
        self._tau_ff[:] = 0.0
        self._has_started = True
        self._latch_hold(measured=False)
        self._report(BridgeMode.HOLD, Cause.NO_PLAN)

    def _choose_target(self, t_ns: int) -> None:
        """Follow the plan in effect, or hold."""
        self.plans.advance(t_ns)
        plan = self.plans.current
        cause = self._judge(plan, t_ns)
        if cause is Cause.NONE:
            if plan is not self._followed:
                self._begin_blend()
                self._followed = plan
            self._report(BridgeMode.ACTIVE)
            return
        if self.safety.mode is BridgeMode.ACTIVE or self.safety.cause is Cause.STATE_LATE:
            self._latch_hold(measured=True)
        self._copy_hold()
        self._report(BridgeMode.HOLD, cause)

    def _judge(self, plan: CommandPlan | None, t_ns: int) -> Cause:
        """Return why a plan may not be followed, or NONE with the plan's values at t_ns as target."""
        if plan is None:
            return Cause.NO_PLAN
        if plan.is_hold:
            return Cause.PLAN_HOLD
        age_ns = t_ns - plan.stamp_ns
        if age_ns > self.config.plan_max_age_ns or age_ns * 1e-9 > plan.times_s[-1]:
            return Cause.PLAN_STALE
        if plan is self._jumped:
            return Cause.COMMAND_JUMP
        interpolate_plan(
            plan.times_s, plan.u, plan.du, plan.tau_ff, age_ns * 1e-9,
            self._target_u, self._target_du, self._target_tau,
        )  # fmt: skip
        is_near = bool(np.abs(self._target_u - self.guard.u).max() <= self.config.resume_distance_rad)
        return Cause.NONE if plan is self._followed or is_near else Cause.PLAN_FAR

    def _latch_hold(self, measured: bool) -> None:
        """Hold from now on: at the last command, or if `measured` and the policy says so at the measured position."""
        if measured and self.config.hold_policy == "measured":
            np.clip(self._state.q, self._q_min, self._q_max, out=self._hold_u)
            self._hold_tau[:] = 0.0
        else:
            self._hold_u[:], self._hold_tau[:] = self.guard.u, self._tau_ff
        self._followed = None
        self._copy_hold()
        self._begin_blend()

    def _copy_hold(self) -> None:
        self._target_u[:], self._target_tau[:] = self._hold_u, self._hold_tau
        self._target_du[:] = 0.0

    def _begin_blend(self) -> None:
        """Start to close the gap between the command before and the target."""
        np.subtract(self.guard.u, self._target_u, out=self._gap_u)
        np.subtract(self._tau_ff, self._target_tau, out=self._gap_tau)
        self._blend_s = self._blend_left_s = float(np.abs(self._gap_u).max()) / self.config.blend_rate_rad_s

    def _request(self, dt_s: float) -> None:
        """Write target plus what is left of the gap to the desired setpoint and the feed-forward torque."""
        command = self._command
        self._blend_left_s = max(self._blend_left_s - dt_s, 0.0)
        command.desired_q[:], command.desired_dq[:] = self._target_u, self._target_du
        self._tau_ff[:] = self._target_tau
        if self._blend_left_s > 0.0:
            weight = self._blend_left_s / self._blend_s
            command.desired_q += weight * self._gap_u
            self._tau_ff += weight * self._gap_tau

    # Commands.

    def _answer(self, t_ns: int, dt_s: float) -> BridgeCommand:
        self._request(dt_s)
        refused = self.guard.pass_setpoint(self._command.desired_q, self._command.desired_dq, dt_s)
        if refused and self.safety.mode is BridgeMode.ACTIVE:
            self._jumped = self._followed
            self._report(BridgeMode.HOLD, Cause.COMMAND_JUMP)
            self._latch_hold(measured=True)
        self._compute_torque(1.0)
        self.guard.pass_torque(self._command.desired_tau, dt_s)
        return self._finish(t_ns)

    def _compute_torque(self, scale: float) -> None:
        """Write the law's torque to `desired_tau`; with the position interface, the feed-forward alone."""
        command, state = self._command, self._state
        if self.config.command_interface == "position":
            command.desired_tau[:] = self._tau_ff
            return
        if self._gravity_model is not None:
            self._gravity_model.compute(state.q, self._gravity)
        joint_impedance_torque(
            self._kp, self._kd, self.guard.u, self.guard.du, state.q, state.dq, self._tau_ff, self._gravity,
            command.desired_tau,
        )  # fmt: skip
        if scale != 1.0:
            command.desired_tau *= scale

    def _answer_in_fault(self, t_ns: int, dt_s: float) -> BridgeCommand | None:
        """Hold with the state where it can be relied on, and ramp down by the policy."""
        if not self._is_state_trusted:
            return self._hold_without_state(t_ns, dt_s)
        self._fault_elapsed_s += dt_s
        self._request(dt_s)
        self.guard.pass_setpoint(self._command.desired_q, self._command.desired_dq, dt_s)
        self._compute_torque(1.0 if self.config.fault_policy == "hold" else self._fault_scale())
        self.guard.pass_torque(self._command.desired_tau, dt_s)
        return self._finish(t_ns)

    def _hold_without_state(self, t_ns: int, dt_s: float) -> BridgeCommand | None:
        """Repeat the last command; in FAULT, ramp its torque to zero after the time to hold."""
        if not self._has_started:
            return None
        command = self._command
        command.desired_q[:], command.desired_dq[:] = self.guard.u, 0.0
        self.guard.pass_setpoint(command.desired_q, command.desired_dq, dt_s)
        command.desired_tau[:] = self.guard.tau
        if self.safety.mode is BridgeMode.FAULT:
            self._fault_elapsed_s += dt_s
            np.multiply(self._fault_tau, self._fault_scale(), out=command.desired_tau)
        self.guard.pass_torque(command.desired_tau, dt_s)
        return self._finish(t_ns)

    def _fault_scale(self) -> float:
        """Share of the torque that is left in FAULT: 1 for the time to hold, then linear to 0."""
        ramped_s = self._fault_elapsed_s - self.config.fault_hold_s
        return min(max(1.0 - ramped_s / self.config.fault_ramp_s, 0.0), 1.0)

    def _finish(self, t_ns: int) -> BridgeCommand:
        self.guard.count()
        self._command.t_ns, self._command.safety = t_ns, self.safety
        return self._command
