"""Measurements of the command bridge over DDS: in the whole stack, and alone against a robot that only answers.

The figures of the bridge come from its own diagnostics, processor time from the kernel. Beside the stack, in the same
run, a bare thread of this process sleeps on the same absolute deadlines, first as any thread, then with the bridge's
scheduling: what the machine itself allows. At the end, while the stack goes on, an empty rclpy timer of 1 kHz runs in
a process of its own for a while: what rclpy alone makes of it. It comes last because it takes a third of a core.
"""

import json
import math
import os
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, suppress
from pathlib import Path
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from contact_mpc.errors import StackError
from contact_mpc.model.system_builder import load_system
from contact_mpc.ros.measure.resources import ResourceLog
from contact_mpc.ros.messages import conversions as messages
from contact_mpc.ros.messages.qos import TOPICS, qos_profile
from contact_mpc.ros.runtime.direct_reader import DirectReader
from contact_mpc.ros.runtime.parent_process import parent_environment
from contact_mpc.ros.runtime.realtime import STATISTICS, Distribution, run_on_deadlines
from contact_mpc.ros.stack.stack import ACTIVATION_ORDER, Stack, StackSpec
from contact_mpc.settings.tunable import REFERENCE_START
from contact_mpc.settings.units import NS_PER_S
from contact_mpc.task.task import TaskConfig

PERIOD_NS = 1_000_000
SLICE_S = 0.1
TIMER_S = 5.0
BARE_PRIORITY = 20  # the bridge's own default
CONNECT_TIMEOUT_S = 20.0
REFERENCE_TIMEOUT_S = 30.0
LAST_DIAGNOSTICS_S = 1.5
SAMPLES, LEAST_SAMPLE_S = 120, 0.5  # of what processes hold, over the measurement, and between two of them
T0_NS = NS_PER_S

Report = Callable[[float], None]


class BareThread(threading.Thread):
    """Sleeps on absolute deadlines of 1 kHz and does nothing else; `lateness` is how late it woke up.

    With a priority it asks for SCHED_FIFO; where that is refused it goes on without.
    """

    def __init__(self, priority: int = 0) -> None:
        super().__init__(daemon=True)
        self._priority = priority
        self.lateness = Distribution()
        self._is_over = threading.Event()

    def run(self) -> None:
        """Wake up until `finish`."""
        if self._priority:
            with suppress(PermissionError):
                os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(self._priority))
        run_on_deadlines(PERIOD_NS, self._count)

    def finish(self) -> None:
        """End the thread."""
        self._is_over.set()
        self.join()

    def _count(self, late_ns: int) -> bool:
        self.lateness.add(late_ns)
        return not self._is_over.is_set()


class DiagnosticsListener:
    """Newest diagnostics of each node: message and values by the node's name without namespace."""

    def __init__(self, stack: Stack) -> None:
        self.messages: dict[str, str] = {}
        self.values: dict[str, dict[str, str]] = {}
        self._first: dict[str, tuple[float, dict[str, str]]] = {}
        self._newest_s: dict[str, float] = {}
        self._measured_from_s = float("nan")
        self._said: dict[str, Counter[str]] = {}
        self._first_said: dict[str, dict[str, tuple[float, str]]] = {}
        profile = qos_profile(TOPICS["/diagnostics"].quality, "realtime")
        stack.node.create_subscription(DiagnosticArray, "/diagnostics", self._take, profile)

    def _take(self, message: DiagnosticArray) -> None:
        for status in message.status:
            name = status.name.rpartition("/")[2]
            self.messages[name] = status.message
            self.values[name] = messages.values_of(status)
            self._newest_s[name] = time.monotonic()
            if not math.isnan(self._measured_from_s):
                said, t_s = status.message.partition(":")[0], round(self._newest_s[name] - self._measured_from_s, 1)
                self._first.setdefault(name, (self._newest_s[name], self.values[name]))
                self._said.setdefault(name, Counter())[said] += 1
                self._first_said.setdefault(name, {}).setdefault(said, (t_s, status.message))

    def measure_slopes(self) -> None:
        """Take the next report of each node as the first for `slope`, `shares` and `first_said`."""
        self._measured_from_s = time.monotonic()

    def shares(self, name: str) -> dict[str, float]:
        """Return the share of each message, up to its colon, in a node's reports since `measure_slopes`."""
        said = self._said.get(name, Counter())
        return {message: round(count / said.total(), 4) for message, count in said.most_common()}

    def first_said(self, name: str) -> dict[str, tuple[float, str]]:
        """Return when each message, up to its colon, came first, s since `measure_slopes`, and all of it."""
        return dict(self._first_said.get(name, {}))

    def slope(self, name: str, key: str) -> float:
        """Return the mean growth of a value since `measure_slopes`, 1/s; NaN if it was not reported twice."""
        start_s, before = self._first.get(name, (0.0, {}))
        if key not in before or self._newest_s[name] <= start_s:
            return float("nan")
        return (float(self.values[name][key]) - float(before[key])) / (self._newest_s[name] - start_s)


def measure_stack(
    task: TaskConfig,
    parameters: dict[str, dict[str, Any]],
    folder: Path,
    duration_s: float,
    report: Report,
    beside: Callable[[Stack], AbstractContextManager[None]] | None = None,
) -> dict[str, Any]:
    """Run the stack in realtime for a time and return the figures of the bridge.

    Parameters
    ----------
    task : TaskConfig
        Task whose system is used.
    parameters : dict
        Parameters of every node that is to run, with the clock "realtime".
    folder : Path
        Existing folder for logs.
    duration_s : float
        Time to measure, s.
    report : callable
        Called with the time that has passed, s.
    beside : callable, optional
        Gives the context of what else runs, from before the nodes are active to the end.

    Raises
    ------
    StackError
        A node refused, died, or its diagnostics did not come.
    """
    namespace = "/" + task.system.config.robots[0].name
    with Stack(StackSpec(namespace, parameters, folder)) as stack, ExitStack() as others:
        listener = DiagnosticsListener(stack)
        stack.start()
        stack.configure()
        if beside is not None:
            others.enter_context(beside(stack))
        for name in ACTIVATION_ORDER:
            if name == "plant":
                _wait_for_reference(stack, listener)
            if name in parameters:
                stack.activate(name)
        bares = [BareThread(), BareThread(BARE_PRIORITY)]
        for bare in bares:
            bare.start()
        listener.measure_slopes()
        pids = {name: process.pid for name, process in stack.processes.items()}
        resources, halfway = ResourceLog(max(duration_s / SAMPLES, LEAST_SAMPLE_S)), dict[str, str]()
        start_s, cpu_before = time.monotonic(), _cpu_seconds(stack)
        while (elapsed_s := time.monotonic() - start_s) < duration_s:
            time.sleep(SLICE_S)
            _spin(stack)
            report(elapsed_s)
            resources.sample(elapsed_s, pids)
            if not halfway and elapsed_s >= duration_s / 2.0:
                halfway = listener.values.get("command_bridge", {})
        cpu_after, elapsed_s = _cpu_seconds(stack), time.monotonic() - start_s
        for bare in bares:
            bare.finish()
        _spin(stack, LAST_DIAGNOSTICS_S)
        figures = bridge_figures(listener)
        cpu = {name: 100.0 * (cpu_after[name] - cpu_before[name]) / elapsed_s for name in cpu_before}
        timer = _measure_timer(stack)
    return figures | {
        "cpu_percent": {name: round(value, 1) for name, value in cpu.items()},
        "latency_halfway_us": {item: float(halfway.get(f"latency_{item}_us", "nan")) for item in STATISTICS},
        "resources": resources.summary(),
        "bare_thread_lateness_ms": bares[0].lateness.summary(1e6),
        "bare_fifo_thread_lateness_ms": bares[1].lateness.summary(1e6),
        "empty_rclpy_timer_lateness_ms": timer,
        "real_time_factor": listener.slope("plant", "t_s"),
        "tracker": listener.shares("mpc_tracker"),
        "tracker_first_said": listener.first_said("mpc_tracker"),
        "tracker_rate_hz": listener.slope("mpc_tracker", "solves"),
        "plant_overruns": int(listener.values.get("plant", {}).get("overruns", 0)),
        "duration_s": elapsed_s,
    }


def bridge_figures(listener: DiagnosticsListener) -> dict[str, Any]:
    """Return rate, missed ticks and statistics from the bridge's newest diagnostics."""
    values = listener.values.get("command_bridge")
    if values is None or "rate_hz" not in values:
        raise StackError("no diagnostics of the node command_bridge arrived; see its log")
    figures: dict[str, Any] = {
        "rate_hz": float(values["rate_hz"]),
        "commands": int(values["commands"]),
        "missed_ticks": int(values["missed_ticks"]),
        "safety": listener.messages["command_bridge"],
        "safety_shares": listener.shares("command_bridge"),
    }
    for name, unit in (("lateness", "ms"), ("grid_lateness", "ms"), ("latency", "us"), ("processing", "us")):
        figures[f"{name}_{unit}"] = {item: float(values[f"{name}_{item}_{unit}"]) for item in STATISTICS}
    return figures


def _measure_timer(stack: Stack) -> dict[str, float]:
    """Return the statistics of an empty rclpy timer beside the running stack, ms."""
    environment = {**os.environ, "ROS_DOMAIN_ID": str(stack.domain), **parent_environment()}
    command = [sys.executable, "-m", "contact_mpc.ros.measure.timer_peer", f"{TIMER_S:g}"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        while process.poll() is None:
            _spin(stack)
            time.sleep(SLICE_S)
        assert process.stdout is not None
        output = process.stdout.read()
    if process.returncode != 0:
        raise StackError(f"the empty rclpy timer ended with exit code {process.returncode}")
    return dict(json.loads(output))


def _wait_for_reference(stack: Stack, listener: DiagnosticsListener) -> None:
    """Wait until the tracker has what it will follow, so that it solves from the first tick on."""
    deadline = time.monotonic() + REFERENCE_TIMEOUT_S
    while not listener.values.get("mpc_tracker", {}).get(REFERENCE_START):
        _spin(stack)
        time.sleep(SLICE_S)
        if time.monotonic() > deadline:
            raise StackError(f"the tracker received no reference within {REFERENCE_TIMEOUT_S:g} s; see its log")


def _spin(stack: Stack, duration_s: float = 0.0) -> None:
    deadline = time.monotonic() + duration_s
    while True:
        for _ in range(4):
            stack.spin(0.0)
        if time.monotonic() >= deadline:
            return
        time.sleep(0.02)


def _cpu_seconds(stack: Stack) -> dict[str, float]:
    """Return user and system time of every process so far, s."""
    ticks = os.sysconf("SC_CLK_TCK")
    seconds = {}
    for name, process in stack.processes.items():
        fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
        seconds[name] = (int(fields[11]) + int(fields[12])) / ticks
    return seconds


def measure_round_trip(
    system: str, parameters: dict[str, Any], folder: Path, duration_s: float, report: Report
) -> dict[str, float]:
    """Return statistics, us, of the time from publishing a joint state to holding its command, with the bridge alone.

    Both ends are taken in this process, on its monotonic clock: two hops over DDS and the bridge in between. The
    states are sent on absolute deadlines of 1 kHz; `parameters` are those of the bridge.
    """
    model = load_system(system)
    namespace = "/" + model.config.robots[0].name
    at_once = {"command_bridge": {**parameters, "start_guard_s": 0.0}}
    with Stack(StackSpec(namespace, at_once, folder)) as stack:
        stack.start()
        stack.configure()
        robot = _AnsweringRobot(stack, model.joint_names, parameters.get("command_interface", "effort"))
        stack.activate("command_bridge")
        robot.connect()
        end_ns = time.monotonic_ns() + round(duration_s * NS_PER_S)
        q = np.clip(model.q_default[model.n_q_u :], model.q_min, model.q_max)

        def tick(_late_ns: int) -> bool:
            now_ns = time.monotonic_ns()
            if robot.sent % 100 == 0:
                stack.check()
                report(duration_s - (end_ns - now_ns) * 1e-9)
            robot.exchange(q, now_ns + PERIOD_NS - PERIOD_NS // 10)
            return now_ns < end_ns

        run_on_deadlines(PERIOD_NS, tick)
    return robot.round_trip.summary(1e3)


class _AnsweringRobot:
    """Publishes joint states of a robot at rest and waits for their commands."""

    def __init__(self, stack: Stack, joint_names: tuple[str, ...], interface: str) -> None:
        node, self._stack = stack.node, stack
        profile = qos_profile("BE1", "realtime")
        self._states = node.create_publisher(JointState, "joint_states", profile)
        self._reader = DirectReader(node)
        topic = f"{interface}_controller/commands"
        self._commands = self._reader.subscribe(Float64MultiArray, topic, qos_profile("R1", "realtime"))
        self._message = messages.make_joint_state(joint_names)
        self._zero = np.zeros(len(joint_names))
        self._t_ns = T0_NS
        self.sent = 0
        self.round_trip = Distribution()

    def connect(self) -> None:
        deadline = time.monotonic() + CONNECT_TIMEOUT_S
        while not (self._states.get_subscription_count() and self._commands.get_publisher_count()):
            self._stack.spin(SLICE_S)
            if time.monotonic() > deadline:
                raise StackError(f"the bridge did not connect within {CONNECT_TIMEOUT_S:g} s; see its log")

    def exchange(self, q: np.ndarray, deadline_ns: int) -> None:
        """Send a state and wait for its command until a deadline."""
        self._t_ns += PERIOD_NS
        self.sent += 1
        messages.fill_joint_state(self._message, self._t_ns, q, self._zero, None)
        sent_ns = time.monotonic_ns()
        self._states.publish(self._message)
        while (remaining_ns := deadline_ns - time.monotonic_ns()) > 0:
            self._reader.wait(remaining_ns * 1e-9)
            taken = self._reader.take(self._commands)
            if taken is not None and messages.read_commands(taken[0], q.size)[0] == self._t_ns:
                self.round_trip.add(time.monotonic_ns() - sent_ns)
                return
