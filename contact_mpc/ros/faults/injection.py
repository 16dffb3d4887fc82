"""One fault after another on a running rig: settle, inject, watch, mend, reset, and judge what happened."""

import resource
import signal
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from contact_mpc.errors import StackError
from contact_mpc.plants.common.plant import T0_NS
from contact_mpc.ros.faults.exit_watch import ExitWatch
from contact_mpc.ros.faults.kinds import KINDS, FaultKind
from contact_mpc.ros.faults.limits import DetectionLimits
from contact_mpc.ros.faults.rig import FaultRig

NAMING_TIMEOUT_S = 3.0  # beyond the time for which contacts carry an object that nobody sees
SETTLE_TIMEOUT_S, SETTLE_ATTEMPTS = 5.0, 4
SETTLED_NS = 60_000_000
OBSERVE_S = 0.4  # the hold and the ramp of a fault
UNDISTURBED_S = 0.4
SILENT_S = 0.5
SERVICE_TIMEOUT_S = 0.5
RECOVERY_ATTEMPT_S, RECOVERY_TIMEOUT_NS = 3.0, 60_000_000_000  # each attempt twice as long as the one before
ROBOT = "plant"  # in the kinds: whatever stands in for the robot
EXIT_TIMEOUT_S = 10.0
RESTARTS = 3
LAST_COMMANDS_S = 0.05
MOTION_S = 2.0  # of the task's three seconds; later faults would find the arm at rest
DISK_LEFT = 4096


@dataclass(frozen=True)
class Injection:
    """What one injection showed.

    Attributes
    ----------
    kind : str
        Kind of fault.
    named : str or None
        The expected name, if it was given.
    detection_ms : float
        From the limit of detection to the naming, ms; NaN where nothing is to be named or was.
    violations : dict
        Violations of limits on the wire by kind.
    recovery_s : float
        From when all was mended until the bridge was active again, s; NaN for a hang.
    problem : str
        What went wrong, empty if nothing did.
    exit_ms : float
        From the signal to the system's report that the process has ended, ms; NaN where none is killed.
    position_excess_rad, velocity_excess_rad_s : float
        How far the robot itself left its limits between the fault and the start of the recovery, NaN without states.
    examples : dict
        The first violation of each kind.
    is_injected : bool
        Whether the bridge followed plans before, so that it could be made.
    """

    kind: str
    named: str | None
    detection_ms: float
    violations: dict[str, int]
    recovery_s: float
    problem: str = ""
    exit_ms: float = float("nan")
    position_excess_rad: float = float("nan")
    velocity_excess_rad_s: float = float("nan")
    examples: dict[str, str] = field(default_factory=dict)
    is_injected: bool = True

    @property
    def is_hang(self) -> bool:
        """Whether the bridge did not come back."""
        return self.is_injected and not np.isfinite(self.recovery_s)


class Injector:
    """Injects faults.

    Parameters
    ----------
    rig : FaultRig
        A rig whose nodes are active.
    limits : DetectionLimits
        When naming is due.
    """

    def __init__(self, rig: FaultRig, limits: DetectionLimits) -> None:
        self._rig, self._limits = rig, limits
        self._bags = 0
        self._exit: ExitWatch | None = None

    def run(self, kind: FaultKind) -> Injection:
        """Inject one fault and come back to the bridge following plans."""
        rig = self._rig
        rig.clear()
        if not self._settle(kind):
            said = ", ".join(dict.fromkeys(naming.name for naming in rig.namings)) or "nothing"
            problem = f"not injected; not active before: {rig.mode} {rig.cause}, after {said}; is the machine busy?"
            return Injection(kind.name, None, np.nan, {}, np.nan, problem, is_injected=False)
        rig.clear()
        rig.monitor.clear()
        before = Counter(rig.monitor.violations)
        act_ns = self._act(kind)
        named, detection_ms = self._await_name(kind, act_ns)
        rig.run_for(OBSERVE_S)
        problem = self._judge_end(kind)
        excess = (rig.monitor.largest_position_excess_rad, rig.monitor.largest_velocity_excess_rad_s)
        recovery_s = self._recover(kind)
        violations = dict(rig.monitor.violations - before)
        if kind.expected and named is None:
            problem = f"not named; the bridge said {[naming.name for naming in rig.namings][:8]}"
        if not np.isfinite(recovery_s):
            problem = f"no recovery: {rig.mode} {rig.cause}"
        return Injection(
            kind.name,
            named,
            detection_ms,
            violations,
            recovery_s,
            problem,
            self._exit_ms(act_ns),
            *excess,
            dict(rig.monitor.examples),
        )

    def run_or_restore(self, kind: FaultKind) -> Injection:
        """Inject one fault; where the stack itself does not come back, that is a hang, and all processes start anew."""
        try:
            return self.run(kind)
        except StackError as error:
            self._rig.mend()
            self._restart()
            return Injection(kind.name, None, np.nan, {}, np.nan, str(error)[:300])

    def _restart(self) -> None:
        """Start all processes anew; raises StackError where that fails time and again."""
        for attempt in range(RESTARTS):
            try:
                return self._rig.restart()
            except StackError:
                if attempt == RESTARTS - 1:
                    raise

    # Before.

    def _settle(self, kind: FaultKind) -> bool:
        """Come to a bridge that follows plans, in motion, with the recorder where the kind needs it."""
        rig = self._rig
        self._provide_recorder(kind.node == "recorder")
        is_late = rig.robot == ROBOT and (rig.time_ns - T0_NS) * 1e-9 > MOTION_S  # a mock moves nothing
        for _ in range(SETTLE_ATTEMPTS):
            if is_late or rig.mode != "ACTIVE":
                self._start_over()
            if rig.run_until(lambda: self._is_settled(kind), SETTLE_TIMEOUT_S):
                return True
        return False

    def _is_settled(self, kind: FaultKind) -> bool:
        rig = self._rig
        has_history = kind.channel is None or len(rig.channels[kind.channel].history) >= kind.history
        is_unnamed = rig.cause not in kind.expected  # a warning of the fault before would hide this one's
        return rig.mode == "ACTIVE" and is_unnamed and has_history and time.monotonic_ns() - rig.changed_ns > SETTLED_NS

    def _provide_recorder(self, is_needed: bool) -> None:
        supervisor = self._rig.supervisor
        if is_needed and not supervisor.is_running("recorder"):
            self._bags += 1
            supervisor.start("recorder", "-p", f"bag:={self._rig.folder / f'bag_{self._bags}'}")
        elif not is_needed and supervisor.is_running("recorder"):
            supervisor.end("recorder", signal.SIGINT)

    # The fault.

    def _act(self, kind: FaultKind) -> int:
        """Cause the fault; returns when, monotonic clock, ns."""
        rig, now_ns = self._rig, time.monotonic_ns()
        self._exit = None
        if kind.action == "message":
            assert kind.channel is not None and kind.spoil is not None
            for channel in rig.channels_of(kind.channel):
                channel.spoil(kind.spoil(channel))
        elif kind.action in ("kill", "signal"):
            assert kind.node is not None
            node = rig.robot if kind.node == ROBOT else kind.node
            if kind.action == "kill":
                self._exit = rig.supervisor.watch_exit(node)
                now_ns = time.monotonic_ns()
            rig.supervisor.signal(node, kind.number)
        elif kind.action == "stop_service":
            rig.supervisor.call("stop", SERVICE_TIMEOUT_S)
        elif kind.action == "stranger":
            assert kind.channel is not None and kind.spoil is not None
            channel = rig.channels[kind.channel]
            now_ns = channel.intrude(kind.spoil(channel), lambda done: rig.run_until(done, SERVICE_TIMEOUT_S))
        elif kind.action == "disk_full":
            self._fill_disk()
        else:
            now_ns = self._discover_late()
        return now_ns

    def _fill_disk(self) -> None:
        """Let the recorder's files grow by no more than a page: writing then fails as on a full disk."""
        pid = self._rig.supervisor.pid("recorder")
        sizes = [path.stat().st_size for path in (self._rig.folder / f"bag_{self._bags}").iterdir()]
        limit = max(sizes, default=0) + DISK_LEFT
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (limit, limit))

    def _discover_late(self) -> int:
        """Activate the bridge before there is anybody to discover that sends joint states."""
        rig = self._rig
        rig.supervisor.request("command_bridge", "deactivate")
        for channel in rig.channels_of("state"):
            channel.disconnect()
        rig.run_for(LAST_COMMANDS_S)
        rig.clear()
        rig.supervisor.request("command_bridge", "activate")
        return time.monotonic_ns()

    def _await_name(self, kind: FaultKind, act_ns: int) -> tuple[str | None, float]:
        rig = self._rig
        if not kind.expected:
            rig.run_for(UNDISTURBED_S)
            return None, np.nan
        timeout_s = NAMING_TIMEOUT_S + (self._limits.pose_unknown_s if kind.limit == "pose_age" else 0.0)
        if not rig.run_until(lambda: rig.find_naming(kind.expected) is not None, timeout_s):
            return None, np.nan
        naming = rig.find_naming(kind.expected)
        assert naming is not None
        spoilt = None if kind.channel is None or kind.action != "message" else rig.channels[kind.channel]
        due_ns = self._limits.due_ns(kind.limit, self._limit_base_ns(kind, act_ns), rig.channels, spoilt)
        return naming.name, (naming.given_ns - due_ns) * 1e-6

    def _limit_base_ns(self, kind: FaultKind, act_ns: int) -> int:
        """Return from when on the fault could be seen: the act, or the end of the process that it killed."""
        if kind.limit != "exit":
            return act_ns
        assert self._exit is not None
        return self._exit.wait_ns(EXIT_TIMEOUT_S)

    def _exit_ms(self, act_ns: int) -> float:
        return np.nan if self._exit is None else 1e-6 * (self._exit.wait_ns(EXIT_TIMEOUT_S) - act_ns)

    # Afterwards.

    def _judge_end(self, kind: FaultKind) -> str:
        """Return what is wrong with how things stand at the end of the fault."""
        rig = self._rig
        if kind.action == "late_discovery":
            count = rig.monitor.commands
            rig.run_for(SILENT_S)
            return "commands left before a state had arrived" if rig.monitor.commands > count else ""
        if kind.action == "signal":
            return self._judge_exit()
        if kind.action == "disk_full" and not self._has_ended("recorder"):
            return "the process did not end"
        if not kind.expected or kind.node in ("recorder", "trajectory_server"):
            names = [naming.name for naming in rig.namings]
            return f"the bridge went into fault: {', '.join(names)}" if "FAULT" in names else ""
        return ""

    def _judge_exit(self) -> str:
        rig = self._rig
        if not self._has_ended("command_bridge"):
            return "the process did not end"
        if rig.supervisor.exit_code("command_bridge") != 0:
            return f"exit code {rig.supervisor.exit_code('command_bridge')}"
        newest = rig.monitor.newest
        if rig.interface == "effort" and newest is not None and newest.any():
            return f"the last torque on the wire was {newest}"
        return ""

    def _has_ended(self, name: str) -> bool:
        """Whether a process ends by itself before long."""
        return self._rig.run_until(lambda: not self._rig.supervisor.is_running(name), EXIT_TIMEOUT_S)

    def _recover(self, kind: FaultKind) -> float:
        """Mend everything, then reset until the bridge is back; returns how long the latter took, s, NaN for never.

        Where a reset alone does not help (the object is lost, say), arm and object go back to the start.
        """
        rig = self._rig
        self._mend()
        start_ns, attempt_s = time.monotonic_ns(), RECOVERY_ATTEMPT_S
        while time.monotonic_ns() - start_ns < RECOVERY_TIMEOUT_NS:
            if rig.mode == "FAULT":
                self._reset()
            rig.run_until(lambda: self._is_back(kind) or rig.mode == "FAULT", attempt_s)
            if self._is_back(kind):
                return (time.monotonic_ns() - start_ns) * 1e-9
            if rig.mode != "FAULT":
                self._start_over()
                attempt_s *= 2.0
        return float("nan")

    def _mend(self) -> None:
        """End faults of messages and start nodes anew that have ended; the recorder only when it is needed again."""
        rig = self._rig
        rig.mend()
        for name in [name for name in rig.stack.processes if not rig.supervisor.is_running(name)]:
            if name == "recorder":
                del rig.stack.processes[name]
                rig.supervisor.ended.pop(name, None)
            else:
                rig.supervisor.start(name)

    def _is_back(self, kind: FaultKind) -> bool:
        """Whether the bridge follows plans, or gets plans that it rightly does not follow: the arm is elsewhere now."""
        rig = self._rig
        is_elsewhere = rig.cause == "PLAN_FAR" and "PLAN_FAR" not in kind.expected
        return is_elsewhere or rig.mode == "ACTIVE" and not rig.cause.startswith("PLAN_")

    def _start_over(self) -> None:
        """Put arm and object back to the start, as an operator would; the stamps of the plant begin anew.

        The bridge is inactive meanwhile, so that the plant's own drives hold the grip until it takes over.
        """
        rig = self._rig
        rig.supervisor.request("command_bridge", "deactivate")
        for transition in ("deactivate", "activate"):
            rig.supervisor.request(rig.robot, transition)
        rig.supervisor.request("command_bridge", "activate")
        for channel in rig.channels.values():
            channel.history.clear()

    def _reset(self) -> None:
        """Reset a fault; where the call fails or the fault stays, there is no recovery to be seen."""
        rig = self._rig
        rig.supervisor.call("reset_fault", SERVICE_TIMEOUT_S)
        rig.run_until(lambda: rig.mode != "FAULT", SERVICE_TIMEOUT_S)


def run_all(injector: Injector, kinds: list[str], runs: int, report: Callable[[Injection], None]) -> None:
    """Inject every kind once, then every kind again, `runs` times: a measurement that is cut short knows them all."""
    for _ in range(runs):
        for name in kinds:
            report(injector.run_or_restore(KINDS[name]))
