"""A stack in two network namespaces: time to find each other, latency over the link, and what a cut of it does.

On the far side is the robot, with or without the bridge; the rest and this process are on the near side. After the cut
the bridge has to hold and to name the cause, and to run again once the link is there and a fault is reset.
"""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticStatus
from nav_msgs.msg import Odometry
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

from contact_mpc.errors import StackError
from contact_mpc.evaluation.trial_run import EvaluationSpec
from contact_mpc.ros.measure.bridge_bench import DiagnosticsListener, bridge_figures
from contact_mpc.ros.messages.conversions import values_of
from contact_mpc.ros.messages.qos import EVERY_CHANGE, qos_profile
from contact_mpc.ros.stack.networks import LinkedNetworks
from contact_mpc.ros.stack.node_trial import NodeTrial, run_node_trial
from contact_mpc.ros.stack.run_session import RunProgress
from contact_mpc.ros.stack.stack import Stack, StackSpec
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.task.task import TaskConfig

SLICE_S, PATIENCE_S, SETTLE_S = 0.005, 60.0, 2.0

Report = Callable[[str], None]


class _Watch:
    """What the near side hears: modes and causes of the bridge with the time since `mark`, newest joints and object."""

    def __init__(self, stack: Stack) -> None:
        node = stack.node
        self.said: list[tuple[float, str, str]] = []
        self.joints = self.object_m = np.empty(0)
        self.states = 0
        self._zero_s = time.monotonic()
        node.create_subscription(DiagnosticStatus, "command_bridge/safety", self._on_safety, EVERY_CHANGE)
        node.create_subscription(JointState, "joint_states", self._on_joints, qos_profile("BE1", "realtime"))
        node.create_subscription(Odometry, "plant/object_odom", self._on_object, qos_profile("BE1", "realtime"))

    def mark(self) -> None:
        """Begin a list and a clock anew; the mode of now stays the first."""
        self.said, self._zero_s = self.said[-1:], time.monotonic()

    @property
    def mode(self) -> str:
        """What the bridge said last."""
        return self.said[-1][1] if self.said else "UNKNOWN"

    @property
    def says(self) -> str:
        """Mode and cause of now."""
        return " ".join(self.said[-1][1:]) if self.said else "nothing"

    def names(self) -> list[str]:
        """Return the causes since `mark`, in order."""
        return [cause for _, _, cause in self.said[1:]]

    def _on_safety(self, message: DiagnosticStatus) -> None:
        values = values_of(message)
        if not self.said or self.said[-1][1:] != (values["mode"], values["cause"]):
            self.said.append((time.monotonic() - self._zero_s, values["mode"], values["cause"]))

    def _on_joints(self, message: JointState) -> None:
        self.joints, self.states = np.array(message.position), self.states + 1

    def _on_object(self, message: Odometry) -> None:
        p = message.pose.pose.position
        self.object_m = np.array([p.x, p.y, p.z])


def measure_network(
    task: TaskConfig,
    parameters: dict[str, dict[str, Any]],
    folder: Path,
    far: Sequence[str],
    duration_s: float,
    cut_s: float,
    report: Report,
) -> dict[str, Any]:
    """Run the stack in realtime over a link, cut the link, join it again; return figures of each part.

    Parameters
    ----------
    task : TaskConfig
        Task whose system is used.
    parameters : dict
        Parameters of every node that is to run, with the clock "realtime".
    folder : Path
        Existing folder for logs.
    far : sequence of str
        Nodes on the robot's side.
    duration_s, cut_s : float
        Time with the link, and without it, s.
    report : callable
        Called with a word about what is being done.

    Raises
    ------
    StackError
        A node refused, died, or the two sides do not find each other.
    """
    namespace = "/" + task.system.config.robots[0].name
    with LinkedNetworks() as networks, networks.inside():
        spec = StackSpec(namespace, parameters, folder, placement=networks.place(far))
        with Stack(spec) as stack:
            listener, watch, start_s = DiagnosticsListener(stack), _Watch(stack), time.monotonic()
            report("the two sides find each other")
            stack.start()
            stack.bring_up()
            _wait(stack, lambda: watch.states > 0, lambda: "joint states")
            figures: dict[str, Any] = {"bring_up_s": time.monotonic() - start_s}
            report("with the link")
            listener.measure_slopes()
            watch.mark()
            _spin(stack, duration_s)
            linked = bridge_figures(listener) | {"tracker_rate_hz": listener.slope("mpc_tracker", "solves")}
            figures["linked"] = linked | {"causes": watch.names(), "says": watch.says}
            figures["cut"] = _cut(stack, networks, watch, cut_s, report)
            figures["again"] = _recover(stack, watch, report)
    return figures


def run_across(
    spec: EvaluationSpec, seed: int, parameter_file: Path | str, far: Sequence[str], folder: Path, cut_s: float
) -> tuple[NodeTrial, dict[str, float]]:
    """Run a trial in lockstep over a link that is cut half-way; return it and the time that each part took, s.

    Raises
    ------
    StackError
        A node refused, died, or did not go on after the cut.
    """
    case, halfway, times_s = spec.case(seed), {"left": True}, {"start": time.monotonic()}
    half_s = 0.5 * float(case.plan.times_s[-1]) + spec.config.start_delay_s

    def follow(progress: RunProgress) -> None:
        if halfway["left"] and progress.simulated_s >= half_s:
            halfway["left"] = False
            networks.cut()
            time.sleep(cut_s)
            networks.join()
            times_s["cut_at_simulated"] = progress.simulated_s

    with LinkedNetworks() as networks, networks.inside():
        done = run_node_trial(
            case, spec.draw(seed), parameter_file, spec.config.engine, (), folder, spec.config.start_delay_s,
            networks.place(far), follow,
        )  # fmt: skip
    return done, {"wall": time.monotonic() - times_s.pop("start"), **times_s}


def _cut(stack: Stack, networks: LinkedNetworks, watch: _Watch, cut_s: float, report: Report) -> dict[str, Any]:
    """Cut the link and join it; return what the bridge said and how far robot and object went meanwhile."""
    report("without the link")
    joints, object_m = watch.joints, watch.object_m
    watch.mark()
    networks.cut()
    _spin(stack, cut_s)
    heard, states = watch.said[1:], watch.states
    networks.join()
    start_s = time.monotonic()
    _wait(stack, lambda: watch.states > states, lambda: "joint states over the joined link")
    reconnect_s = time.monotonic() - start_s
    _wait(stack, lambda: len(watch.said) > 1, lambda: "the bridge to name the cut")
    return {
        "duration_s": cut_s,
        "causes": watch.names(),
        "named_after_ms": 1e3 * heard[0][0] if heard else None,  # None: told over the link, so later
        "held": all(mode in ("HOLD", "FAULT") for _, mode, _ in watch.said[1:2]),
        "joints_moved": _moved(joints, watch.joints),
        "object_moved_m": _moved(object_m, watch.object_m),
        "states_again_after_s": reconnect_s,
    }


def _recover(stack: Stack, watch: _Watch, report: Report) -> dict[str, Any]:
    """Reset the bridge if it is in fault; wait until it runs, or holds where its plan has gone on without it."""
    report("the link is back")
    start_s, was_fault = time.monotonic(), watch.mode == "FAULT"
    client = stack.node.create_client(Trigger, "command_bridge/reset_fault")
    while watch.mode not in ("RUNNING", "HOLD"):
        if watch.mode == "FAULT" and client.service_is_ready():
            client.call_async(Trigger.Request())
        _spin(stack, 0.5)
        if time.monotonic() - start_s > PATIENCE_S:
            return {"is_back": False, "after_s": None, "was_fault": was_fault, "says": watch.says}
    after_s = time.monotonic() - start_s
    _spin(stack, SETTLE_S)
    return {"is_back": True, "after_s": after_s, "was_fault": was_fault, "says": watch.says}


def _moved(before: FloatArray, after: FloatArray) -> float:
    return float(np.abs(after - before).max()) if before.size == after.size and before.size else float("nan")


def _wait(stack: Stack, condition: Callable[[], bool], what: Callable[[], str]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        _spin(stack, SLICE_S)
        if time.monotonic() > deadline:
            raise StackError(f"waited {PATIENCE_S:g} s in vain for {what()}")


def _spin(stack: Stack, duration_s: float) -> None:
    """Handle all messages for a time."""
    deadline = time.monotonic() + duration_s
    while True:
        for _ in range(8):
            stack.spin(0.0)
        if time.monotonic() >= deadline:
            return
        time.sleep(SLICE_S)
