"""Goals one after the other to a running stack, some replaced or cancelled on their way; what became of each.

The commands to the robot are judged on the wire from the URDF's limits alone. Random instants are real time, in both
clocks: nobody who sends goals knows the stack's.
"""

import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from rclpy.qos import QoSProfile, QoSReliabilityPolicy
from std_msgs.msg import Float64MultiArray

from contact_mpc.errors import InputError, StackError
from contact_mpc.model.rotations import random_rotation, rotation_exp
from contact_mpc.ros.client import GoalClient, GoalOutcome
from contact_mpc.ros.faults.wire_monitor import WireLimits, WireMonitor
from contact_mpc.ros.messages import conversions as messages
from contact_mpc.ros.runtime.direct_reader import DirectReader
from contact_mpc.ros.stack.stack import Stack, StackSpec
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.task.task import TaskConfig

Action = Literal["wait", "replace", "cancel"]
SHARES: dict[Action, float] = {"replace": 0.15, "cancel": 0.1}  # the rest is waited for
LONGEST_BEFORE_S = 6.0  # a goal is replaced or cancelled at a random time up to this
SETTLE_S = 1.0  # after a cancel, before the next goal
END_PATIENCE_S = 10.0
COMMANDS = QoSProfile(depth=1000, reliability=QoSReliabilityPolicy.RELIABLE)
ENDS = ("reached", "missed", "refused", "cancelled", "replaced", "lost", "hang")


@dataclass(frozen=True)
class Asked:
    """One goal: a rotation, applied to the object as it is (or to the start), and what is done on its way."""

    turn: FloatArray
    action: Action
    after_s: float


@dataclass(frozen=True)
class GoalRow:
    """What became of one goal."""

    end: str
    duration_s: float
    turn_deg: float
    angle_error_deg: float
    position_error_mm: float
    message: str


def draw_goals(count: int, seed: int, turn_deg: float | None, axes: FloatArray | None) -> list[Asked]:
    """Return random goals.

    Parameters
    ----------
    count, seed : int
        How many, and of which seed; more goals of one seed begin with the same.
    turn_deg : float or None
        Angle of each; None: any rotation, uniformly.
    axes : (n, 3) array or None
        Axes that may be turned about, W; None: any.
    """
    rng = np.random.default_rng(seed)
    asked = []
    for _ in range(count):
        any_turn, direction, pick = random_rotation(rng), rng.standard_normal(3), rng.integers(0, 1_000_000)
        chance, after_s = rng.uniform(), rng.uniform(0.0, LONGEST_BEFORE_S)
        axis = direction / np.linalg.norm(direction) if axes is None else axes[pick % len(axes)]
        turn = any_turn if turn_deg is None else rotation_exp(np.deg2rad(turn_deg) * axis)
        action: Action = "wait"
        if chance < SHARES["replace"] + SHARES["cancel"]:
            action = "replace" if chance < SHARES["replace"] else "cancel"
        asked.append(Asked(turn, action, float(after_s)))
    return asked


class GoalBench:
    """A stack with a client and a judge of its commands; a context manager.

    Parameters
    ----------
    task : TaskConfig
        What the stack works on.
    parameters : dict
        Parameters of every node, with a goal server.
    folder : Path
        Existing folder for logs.
    torque_rate_per_s : float
        Largest change of the torque in URDF effort limits per second.
    is_from_start : bool
        Whether goals are turns of the start's orientation, not of the object as it is.
    """

    def __init__(
        self,
        task: TaskConfig,
        parameters: dict[str, dict[str, Any]],
        folder: Path,
        torque_rate_per_s: float,
        is_from_start: bool = False,
    ) -> None:
        system, bridge = task.system, parameters["command_bridge"]
        self._task, self._is_from_start, self._n_a = task, is_from_start, system.n_a
        self._R_start, self._p_start = system.object_pose(task.start_q)
        interface = bridge.get("command_interface", "effort")
        self._is_lockstep = bridge.get("clock") == "lockstep"
        limits = WireLimits(
            system.q_min, system.q_max, system.v_max, system.tau_max_nm, torque_rate_per_s * system.tau_max_nm
        )
        self.monitor = WireMonitor(limits, interface)
        self._stack = Stack(StackSpec("/" + system.config.robots[0].name, parameters, folder))
        self._reader = DirectReader(self._stack.node)
        self._commands = self._reader.subscribe(Float64MultiArray, f"{interface}_controller/commands", COMMANDS)
        self._client: GoalClient | None = None

    def __enter__(self) -> "GoalBench":
        try:
            self._stack.start()
            self._stack.bring_up()
            self._client = GoalClient(domain=self._stack.domain)
        except BaseException:
            self._stack.stop()
            raise
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> list[int]:
        """End the stack; returns the processes that it leaves behind."""
        started = [pid for process in self._stack.processes.values() for pid in descendants(process.pid)]
        if self._client is not None:
            self._client.close()
        self._stack.stop()
        deadline = time.monotonic() + END_PATIENCE_S
        while (left := [pid for pid in started if is_running(pid)]) and time.monotonic() < deadline:
            time.sleep(0.05)
        return left

    def run(self, asked: list[Asked], timeout_s: float, report: Callable[[GoalRow], None]) -> str:
        """Send the goals; returns why not all could be: the object was dropped, or a node died. "" is the rule."""
        for item in asked:
            try:
                report(self._follow(item, timeout_s))
            except StackError as error:
                return str(error)
            if (distance_m := self._distance_m()) > self._task.drop_distance_m:
                return f"dropped: the object is {1e3 * distance_m:.0f} mm from where it was held"
        return ""

    def _follow(self, asked: Asked, timeout_s: float) -> GoalRow:
        assert self._client is not None
        before = self._spin()
        R = asked.turn @ (self._R_start if self._is_from_start else before.R)
        sent_ns, started = self._client.send(R, self._p_start), time.monotonic()
        while True:
            outcome, elapsed_s = self._spin(), time.monotonic() - started
            if outcome.goal_ns == sent_ns and outcome.has_ended:
                return self._row(outcome.state, elapsed_s, asked, outcome)
            if asked.action != "wait" and elapsed_s >= asked.after_s:
                return self._interrupt(asked, elapsed_s)
            if elapsed_s > timeout_s:
                return self._row("hang", elapsed_s, asked, outcome)

    def _interrupt(self, asked: Asked, elapsed_s: float) -> GoalRow:
        """Cancel the goal, or leave it to the next to replace it."""
        assert self._client is not None
        if asked.action == "cancel":
            self._client.cancel()
            until = time.monotonic() + SETTLE_S
            while time.monotonic() < until:
                self._spin()
        return self._row("cancelled" if asked.action == "cancel" else "replaced", elapsed_s, asked, self._spin())

    def _row(self, end: str, elapsed_s: float, asked: Asked, outcome: GoalOutcome) -> GoalRow:
        turn_deg = float(np.rad2deg(np.arccos(np.clip(0.5 * (np.trace(asked.turn) - 1.0), -1.0, 1.0))))
        return GoalRow(end, elapsed_s, turn_deg, outcome.angle_error_deg, outcome.position_error_mm, outcome.message)

    def _spin(self) -> GoalOutcome:
        """Judge what was commanded and return what the stack says."""
        assert self._client is not None
        self._stack.check()
        while (taken := self._reader.take(self._commands)) is not None:
            try:
                stamp_ns, values = messages.read_commands(taken[0], self._n_a)
            except InputError as error:
                self.monitor.add_command_error(error)
            else:
                self.monitor.add_command(stamp_ns, values, (stamp_ns or 0) if self._is_lockstep else taken[1])
        return self._client.status

    def _distance_m(self) -> float:
        return float(np.linalg.norm(self._spin().p - self._p_start))


def descendants(pid: int) -> list[int]:
    """Return a process and all that it started, and they."""
    found, children = [pid], ""
    with suppress(OSError):
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii")
    for child in children.split():
        found += descendants(int(child))
    return found


def is_running(pid: int) -> bool:
    """Whether a process is there and no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def summarise(rows: list[GoalRow], monitor: WireMonitor, orphans: list[int], ended_early: str) -> dict[str, Any]:
    """Return counts of the ends, times and errors of what was reached, and what must not be."""
    ends = Counter(row.end for row in rows)
    waited = [row for row in rows if row.end not in ("cancelled", "replaced")]
    reached = [row for row in rows if row.end == "reached"]
    return {
        "goals": len(rows), **{end: ends[end] for end in ENDS},
        "reached_share": len(reached) / max(len(waited), 1),
        "drops": int(ended_early.startswith("dropped")),
        "reach_s": _spread([row.duration_s for row in reached]),
        "angle_error_deg": _spread([row.angle_error_deg for row in reached]),
        "position_error_mm": _spread([row.position_error_mm for row in reached]),
        "commands": monitor.commands, "violations": int(monitor.violations.total()),
        "violation_examples": dict(monitor.examples), "orphans": len(orphans), "ended_early": ended_early,
        "reasons": dict(Counter(row.message for row in rows if row.end in ("refused", "missed", "lost", "hang"))),
    }  # fmt: skip


def _spread(values: list[float]) -> dict[str, float]:
    if not values:
        return dict.fromkeys(("median", "p90", "max"), float("nan"))
    return {"median": float(np.median(values)), "p90": float(np.percentile(values, 90)), "max": float(np.max(values))}
