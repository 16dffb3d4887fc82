"""From the bridge's target to a guarded command: by the impedance law, in a fault, without a state, and at the end."""

from collections.abc import Iterator

import numpy as np

from contact_mpc.control.bridge.clocks import TimeBudget
from contact_mpc.control.bridge.config import BridgeConfig
from contact_mpc.control.bridge.fault_response import FaultResponse
from contact_mpc.control.bridge.guard.contact_force import ContactForce
from contact_mpc.control.bridge.guard.guard import CommandGuard
from contact_mpc.control.bridge.joint_impedance import JointImpedance
from contact_mpc.control.bridge.state_monitor import StateMonitor
from contact_mpc.control.bridge.status import BridgeCommand, SafetyStatus
from contact_mpc.control.bridge.target import BridgeTarget
from contact_mpc.model.system import System
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.units import NS_PER_S

MAX_PERIODS = 5
SLACK_PERIODS = 1.5  # by which limits of change may be ahead of the own clock: states come late and early
ON_ITS_WAY_PERIODS = 0.5  # from a state to its command that has left, which need not count; both are two on the wire
SIMULATOR_SLACK_NS = 25_000_000  # a simulator that fell behind makes up for it by so much


class BridgeOutput:
    """Makes the commands.

    Parameters
    ----------
    system : System
        System, for stiffness, damping and gravity.
    config : BridgeConfig
        Parameters.
    guard : CommandGuard
        What every command passes.
    target : BridgeTarget
        What is asked for.
    safety : SafetyStatus
        Mode and cause at the beginning.
    lockstep : bool
        Whether the stamps are the only clock.

    Attributes
    ----------
    command : BridgeCommand
        The latest command, reused by the next one.
    response : FaultResponse
        Time course of a fault.
    shares : (n_a,) array
        What the limit of contact forces left of the latest request, see `ContactForce.shares`.
    """

    def __init__(
        self, system: System, config: BridgeConfig, guard: CommandGuard, target: BridgeTarget, safety: SafetyStatus,
        lockstep: bool,
    ) -> None:  # fmt: skip
        self._guard, self._target = guard, target
        self.response = FaultResponse(config, system.n_a)
        self._law = JointImpedance(system, config.gravity_compensation == "bridge", config.gain_set)
        self._is_effort = config.command_interface == "effort"
        limit_n = config.contact_force_n
        self._contact_force = ContactForce(system, limit_n, self._law.kp) if limit_n else None
        self.shares = np.ones(system.n_a)
        self._nominal_dt_s = 1.0 / config.rate_hz
        self._no_gravity = np.zeros(system.n_a)
        slack_ns = SIMULATOR_SLACK_NS if config.simulated else round(SLACK_PERIODS * config.state_period_ns)
        self._on_its_way_ns = round(ON_ITS_WAY_PERIODS * config.state_period_ns)
        self._budget = None if lockstep else TimeBudget(slack_ns)
        self.command = BridgeCommand(
            guard.tau if self._is_effort else guard.u, target.u, target.du, np.zeros(system.n_a),
            guard.u, guard.du, guard.tau, safety,
        )  # fmt: skip

    def setpoint_of(self, tau: FloatArray, q: FloatArray) -> FloatArray:
        """Return the setpoint (n_a,), rad, whose torque at rest at q is tau: u = q + (tau - g) / Kp."""
        return q + (tau - self._law.gravity(q)) / self._law.kp

    def start(self, t_ns: int, own_ns: int) -> None:
        """Count time from a period before the first command on, whose stamp is t_ns."""
        self.command.t_ns = t_ns - round(self._nominal_dt_s * NS_PER_S)
        if self._budget is not None:
            self._budget.start(own_ns)

    def time_since(self, t_ns: int, own_ns: int) -> float:
        """Return the time since the command before that limits of change may count on, s; call once per command.

        That of the stamps, within [0, `MAX_PERIODS` periods], and in realtime what the own clock has seen of it.
        """
        dt_s = min(max((t_ns - self.command.t_ns) * 1e-9, 0.0), MAX_PERIODS * self._nominal_dt_s)
        return dt_s if self._budget is None else self._budget.spend(dt_s, own_ns)

    def note_left(self, own_ns: int) -> None:
        """Take note of when the command before had left, own clock, ns: on the wire the next one changes from then on.

        A process that stands still between a state and its command would else change the next one by all of that time.
        """
        if self._budget is not None:
            self._budget.begin_at(own_ns - self._on_its_way_ns)

    def request(self, state: StateMonitor, dt_s: float, scale: float = 1.0) -> bool:
        """Ask the guard for the target, the law's torque times `scale`; returns whether the setpoint was refused.

        With the position interface the torque is the feed-forward alone. What `scale` takes away, the damping torque
        replaces where the fault policy says so: scale tau - (1 - scale) Kd dq.
        """
        target, guard, desired = self._target, self._guard, self.command.desired_tau
        target.request(dt_s)
        if self._contact_force is not None:
            self._press_less(self._contact_force, state)
        refused = guard.pass_setpoint(target.u, target.du, target.rate, dt_s, self.shares)
        if not self._is_effort:
            desired[:] = target.tau_ff
        else:
            self._law.torque(guard.u, guard.du, state.q, state.dq, target.tau_ff, desired)
            if scale != 1.0:
                desired *= scale
                if self.response.with_damping:
                    desired -= (1.0 - scale) * self._law.kd * state.dq
        guard.pass_torque(desired, dt_s)
        return refused

    def _press_less(self, limit: ContactForce, state: StateMonitor) -> None:
        """Move the request towards the measured position until no end presses harder than is allowed."""
        target, q = self._target, state.q
        tau_ff = target.tau_ff if self._is_effort else self._no_gravity
        self.shares[:] = limit.shares(q, target.u, tau_ff)
        target.u[:] = q + self.shares * (target.u - q)
        for values in (target.du, target.rate, target.tau_ff):
            values *= self.shares

    def remember(self, state: StateMonitor) -> None:
        """Keep the torque of now and the share of the weight in it, for a fault without a state from here on."""
        self.response.remember(self._guard.tau, self._law.gravity(state.q) if self._is_effort else self._no_gravity)

    def request_in_fault(self, state: StateMonitor | None, dt_s: float) -> None:
        """Hold and ramp down: by the law where there is a state to rely on, else from what was remembered."""
        self.response.advance(dt_s)
        if state is not None:
            self.request(state, dt_s, self.response.law_scale)
            return
        self._stop_setpoint(dt_s)
        self.response.torque(self.command.desired_tau)
        self._guard.pass_torque(self.command.desired_tau, dt_s)

    def repeat(self, dt_s: float) -> None:
        """Ask for the command before once more."""
        self._stop_setpoint(dt_s)
        self.command.desired_tau[:] = self._guard.tau
        self._guard.pass_torque(self.command.desired_tau, dt_s)

    def finish(self, t_ns: int, safety: SafetyStatus) -> BridgeCommand:
        """Stamp and return the command."""
        self._guard.count()
        self.command.t_ns, self.command.safety = t_ns, safety
        return self.command

    def wind_down(self) -> Iterator[FloatArray]:
        """Yield the last commands, one per period: torque to zero at the guard's rate, or the setpoint to rest."""
        guard, dt_s = self._guard, self._nominal_dt_s
        zero, is_over = np.zeros_like(guard.tau), False
        while not is_over:
            if self._is_effort:
                guard.pass_torque(zero, dt_s)
                is_over = not guard.tau.any()
            else:
                self._stop_setpoint(dt_s)
                is_over = not guard.v.any()
            yield self.command.data.copy()

    def _stop_setpoint(self, dt_s: float) -> None:
        self._target.request_stop()
        self._guard.pass_setpoint(self._target.u, self._target.du, self._target.rate, dt_s)
