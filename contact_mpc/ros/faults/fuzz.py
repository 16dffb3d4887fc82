"""A bridge in this process under random and adversarial messages, clocks and requests, judged at its outlet.

Everything goes the way that it goes in the node: message -> conversion -> core -> conversion -> message. What leaves
is read back and judged by what the URDF says, and by the change from one command to the next; the guard is not asked.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from contact_mpc.control.bridge.bridge import BridgeCore
from contact_mpc.control.bridge.config import BridgeConfig
from contact_mpc.control.bridge.status import BridgeCommand, BridgeMode
from contact_mpc.errors import InputError
from contact_mpc.model.system import System
from contact_mpc.ros.bridge.input import BridgeInput
from contact_mpc.ros.faults.adversary import MS, Adversary
from contact_mpc.ros.faults.change_judge import ChangeJudge
from contact_mpc.ros.messages import conversions as messages

ROUNDING = 1e-9
SILENCE_MS = 60
SHARES = {"state": 0.70, "plan": 0.84, "pose": 0.87, "commands": 0.90, "silence": 0.92, "reset": 0.995, "stop": 0.998}
START_GUARD_S = 0.003


@dataclass
class FuzzResult:
    """Counts of a run.

    Attributes
    ----------
    messages : Counter
        What was sent to the bridge and the conversions, by kind.
    commands : int
        Commands that left.
    refusals : Counter
        Messages that were refused, by reason.
    modes : Counter
        Commands by the mode in which they left.
    violations : list of str
        Commands out of limits.
    crashes : list of str
        Exceptions other than a refusal.
    """

    messages: Counter[str] = field(default_factory=Counter)
    commands: int = 0
    refusals: Counter[str] = field(default_factory=Counter)
    modes: Counter[str] = field(default_factory=Counter)
    violations: list[str] = field(default_factory=list)
    crashes: list[str] = field(default_factory=list)


class OutletJudge:
    """Judges the commands of one bridge by the URDF's limits, and their changes by `ChangeJudge`.

    Parameters
    ----------
    system : System
        Limits.
    config : BridgeConfig
        Interface, and the torque rate.
    lockstep : bool
        Whether the stamps are the only clock.
    """

    def __init__(self, system: System, config: BridgeConfig, lockstep: bool) -> None:
        self._system, self._is_effort = system, config.command_interface == "effort"
        rate = config.torque_rate_per_s * system.tau_max_nm if self._is_effort else system.v_max
        self._changes = ChangeJudge(rate, config.state_period_ns, judges_own_clock=not lockstep)

    def forget(self) -> None:
        """Take the next command for the first one after an activation."""
        self._changes.forget()

    def judge(self, command: BridgeCommand, own_ns: int) -> str | None:
        """Return what is wrong with a command as it is read back from its message, or None; own_ns: when it left."""
        system = self._system
        message = messages.fill_commands(messages.make_commands(system.n_a), command.t_ns, command.data)
        stamp_ns, data = messages.read_commands(message, system.n_a)
        assert stamp_ns is not None
        if self._is_effort:
            is_inside = bool(np.all(np.abs(data) <= system.tau_max_nm))
        else:
            is_inside = bool(np.all((data >= system.q_min) & (data <= system.q_max)))
        change = self._changes.judge(stamp_ns, own_ns, data)
        return change if is_inside else f"out of limits: {data}"


class BridgeFuzz:
    """Sends messages of an adversary to a bridge.

    Parameters
    ----------
    system : System
        System of the bridge.
    config : BridgeConfig
        Parameters of the bridge.
    lockstep : bool
        Its clock.
    seed : int
        Seed of the adversary.
    """

    def __init__(self, system: System, config: BridgeConfig, lockstep: bool, seed: int) -> None:
        self._config, self._lockstep = config, lockstep
        self._core = BridgeCore(system, config, lockstep)
        self._input = BridgeInput(self._core, system.joint_names)
        self._adversary = Adversary(system, seed)
        self._judge = OutletJudge(system, config, lockstep)
        self._n_a = system.n_a
        self._receipt_ns = 0
        self.result = FuzzResult()
        self._core.activate()

    def run(self, count: int, report: Callable[[int], None], every: int = 1000) -> FuzzResult:
        """Send `count` messages; `report` is called with the number sent since its last call."""
        for k in range(1, count + 1):
            kind = self._draw()
            self.result.messages[kind] += 1
            try:
                getattr(self, f"_send_{kind}")()
            except Exception as error:  # any at all is what this looks for, and is counted
                self.result.crashes.append(f"{kind}: {error!r}")
            if k % every == 0:
                report(every)
        self.result.refusals.update(self._core.refusals)
        return self.result

    def _draw(self) -> str:
        chance = self._adversary.chance()
        return next((kind for kind, share in SHARES.items() if chance < share), "cycle")

    def _send_state(self) -> None:
        self._receipt_ns += self._adversary.pause_ns()
        message = self._adversary.state()
        t_ns = messages.from_stamp(message.header.stamp)
        if self._core.awaited_plan_ns(t_ns) is not None:
            self._input.take_plan(self._adversary.plan())
        self._check(self._input.take_state(message, t_ns, None if self._lockstep else self._receipt_ns))

    def _send_plan(self) -> None:
        self._input.take_plan(self._adversary.plan())

    def _send_pose(self) -> None:
        try:
            R_WB, p_WB = messages.read_pose(self._adversary.pose().pose)
        except InputError:
            self.result.refusals["pose"] += 1
            return
        if not (np.isfinite(p_WB).all() and np.allclose(R_WB @ R_WB.T, np.eye(3), atol=ROUNDING)):
            self.result.violations.append(f"pose {R_WB} {p_WB} is none")

    def _send_commands(self) -> None:
        try:
            _, values = messages.read_commands(self._adversary.commands(), self._n_a)
        except InputError:
            self.result.refusals["commands"] += 1
            return
        if values.shape != (self._n_a,) or not np.isfinite(values).all():
            self.result.violations.append(f"commands {values} were accepted")

    def _send_silence(self) -> None:
        for _ in range(1 + int(self._adversary.chance() * SILENCE_MS)):
            self._receipt_ns += MS
            self._check(self._core.check(self._receipt_ns))

    def _send_reset(self) -> None:
        self._core.reset()

    def _send_stop(self) -> None:
        self._core.stop()

    def _send_cycle(self) -> None:
        """Deactivate and activate: the last command is zero torque or the setpoint at rest."""
        data = None
        for data in self._core.wind_down():  # noqa: B007  the last one counts
            if not np.isfinite(data).all():
                self.result.violations.append(f"winding down with {data}")
        if data is not None and self._config.command_interface == "effort" and data.any():
            self.result.violations.append(f"ended with {data}")
        self._core.deactivate()
        self._core.activate()
        self._judge.forget()

    def _check(self, command: BridgeCommand | None) -> None:
        if command is None:
            return
        self.result.commands += 1
        mode = command.safety.mode
        self.result.modes[mode.value] += 1
        defect = self._judge.judge(command, self._receipt_ns)
        if defect is not None or mode is BridgeMode.INACTIVE:
            self.result.violations.append(f"{mode.value} {command.safety.cause.name}: {defect}")


def fuzz_bridge(system: System, count: int, seed: int, report: Callable[[int], None]) -> dict[str, Any]:
    """Send `count` messages to four bridges, of both interfaces and both clocks, and return the counts of all.

    Parameters
    ----------
    system : System
        System of the bridges.
    count : int
        Messages altogether.
    seed : int
        Seed; the bridges get seed, seed + 1, ...
    report : callable
        Called with the number of messages since its last call.
    """
    total, k = FuzzResult(), 0
    for interface in ("effort", "position"):
        for lockstep in (False, True):
            config = BridgeConfig(
                command_interface=interface, gravity_compensation="robot", start_guard_s=START_GUARD_S,
                fault_policy="hold" if lockstep else "damping", start_from="effort" if lockstep else "position",
                hold_policy="last_command" if lockstep else "measured", rate_tolerance=1.0,
                fault_hold_s=0.01, fault_ramp_s=0.02,
            )  # fmt: skip
            part = BridgeFuzz(system, config, lockstep, seed + k).run(count // 4, report)
            for name in ("messages", "refusals", "modes"):
                getattr(total, name).update(getattr(part, name))
            total.commands += part.commands
            total.violations += part.violations
            total.crashes += part.crashes
            k += 1
    return {
        "messages": sum(total.messages.values()),
        "messages_by_kind": dict(total.messages),
        "commands": total.commands,
        "commands_by_mode": dict(total.modes),
        "refusals": dict(sorted(total.refusals.items())),
        "violations": len(total.violations),
        "violation_examples": total.violations[:10],
        "crashes": len(total.crashes),
        "crash_examples": total.crashes[:10],
        "goal_met": not (total.violations or total.crashes),
    }
