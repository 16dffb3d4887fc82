"""The command bridge over real DDS, with this test as robot, tracker and operator."""

import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from patience import HANG_S

pytest.importorskip("rclpy")

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory

from contact_mpc import load_system
from contact_mpc.errors import StackError
from contact_mpc.ros.messages import conversions as messages
from contact_mpc.ros.messages.qos import TOPICS, qos_profile
from contact_mpc.ros.runtime.direct_reader import DirectReader
from contact_mpc.ros.runtime.lifecycle_client import LifecycleClient
from contact_mpc.ros.stack.stack import Stack, StackSpec
from contact_mpc.task.loop_records import CommandPlan

pytestmark = pytest.mark.dds

MS = 1_000_000
T0 = 1_000_000_000
SYSTEM = load_system("planar_hand_ball")
N = SYSTEM.n_a
NAMES = list(SYSTEM.joint_names)
Q = 0.5 * (SYSTEM.q_min + SYSTEM.q_max)
REST = np.zeros(N)

QUIET_S = 0.15  # long against the 1 ms in which an answer comes
MOST_OVERWRITTEN = 20  # answers in a row
PARAMETERS: dict[str, Any] = {
    "system": "planar_hand_ball", "gravity_compensation": "robot", "hold_policy": "last_command",
    "start_guard_s": 0.0, "state_timeout_s": 0.03, "state_fault_s": 0.15, "fault_hold_s": 0.05, "fault_ramp_s": 0.1,
}  # fmt: skip


class Rig:
    """A running bridge, and the ends of its topics."""

    def __init__(self, folder: Path, clock: str, **parameters: Any) -> None:
        values = PARAMETERS | {"clock": clock} | parameters
        self.interface = values.get("command_interface", "effort")
        self.stack = Stack(StackSpec("/hand", {"command_bridge": values}, folder))
        node, self.clock = self.stack.node, clock
        self._states = node.create_publisher(JointState, "joint_states", self._profile("joint_states"))
        self._plans = node.create_publisher(JointTrajectory, "mpc_tracker/plan", self._profile("mpc_tracker/plan"))
        self._reader = DirectReader(node)
        topic = f"{self.interface}_controller/commands"
        self._commands = self._reader.subscribe(Float64MultiArray, topic, self._profile(topic))
        applied = "command_bridge/applied"
        self._applied = self._reader.subscribe(JointState, applied, self._profile(applied))
        self.safety: list[DiagnosticStatus] = []
        self.diagnostics: list[DiagnosticArray] = []
        safety = "command_bridge/safety"
        node.create_subscription(DiagnosticStatus, safety, self.safety.append, self._profile(safety))
        node.create_subscription(DiagnosticArray, "/diagnostics", self.diagnostics.append, 10)
        services = ("stop", "reset_fault")
        self._services = {name: node.create_client(Trigger, f"command_bridge/{name}") for name in services}
        self.lifecycle = LifecycleClient(node, self.stack._executor, self.stack.check)
        self.t_ns, self._sent_ns = T0 - MS, time.monotonic_ns()

    def _profile(self, topic: str) -> Any:
        return qos_profile(TOPICS[topic].quality, self.clock)

    def start(self) -> "Rig":
        self.stack.start()
        self.stack.configure()
        self.lifecycle.connect(["command_bridge"], HANG_S)
        self.activate()
        return self

    def activate(self) -> None:
        assert self.lifecycle.request(["command_bridge"], "activate", HANG_S) == []
        for publisher in (self._states, self._plans):
            self.wait_until(lambda publisher=publisher: publisher.get_subscription_count() == 1)
        self._reader.drain()
        self.t_ns, self._sent_ns = T0 - MS, time.monotonic_ns()

    def restart(self) -> "Rig":
        assert self.lifecycle.request(["command_bridge"], "deactivate", HANG_S) == []
        self.safety.clear()
        self.activate()
        return self

    def wait_until(self, condition: Any) -> None:
        deadline = time.monotonic() + HANG_S
        while not condition():
            self.lifecycle.spin(0.01)
            assert time.monotonic() < deadline, f"safety: {[status.message for status in self.safety[-5:]]}"

    def wait_for_safety(self, text: str) -> DiagnosticStatus:
        self.wait_until(lambda: any(text in status.message for status in self.safety))
        return next(status for status in self.safety if text in status.message)

    def call(self, name: str) -> Trigger.Response:
        future = self._services[name].call_async(Trigger.Request())
        self.wait_until(future.done)
        return future.result()

    def send_state(self, q: np.ndarray = Q, dq: np.ndarray | None = REST, names: list[str] | None = None) -> int:
        """Send a state 1 ms after the one before, in realtime as far after it as the clock says."""
        now_ns = time.monotonic_ns()
        self.t_ns += max(MS, now_ns - self._sent_ns if self.clock == "realtime" else 0)
        self._sent_ns = now_ns
        return self.send_state_at(self.t_ns, q, dq, names)

    def send_state_at(self, t_ns: int, q: np.ndarray = Q, dq: np.ndarray | None = REST, names: Any = None) -> int:
        message = messages.make_joint_state(NAMES if names is None else names)
        self._states.publish(messages.fill_joint_state(message, t_ns, q, dq, None))
        return t_ns

    def send_plan(self, stamp_ns: int, u: np.ndarray = Q, names: list[str] | None = None) -> None:
        times, zero = np.array([0.0, 0.5]), np.zeros((2, len(u)))
        plan = CommandPlan(stamp_ns, times, np.stack([u, u]), zero, zero)
        self._plans.publish(messages.to_plan_message(plan, NAMES if names is None else names))

    def take(self, timeout_s: float = HANG_S) -> tuple[int, np.ndarray] | None:
        """Return stamp and data of the next command, or None in time."""
        deadline = time.monotonic() + timeout_s
        while (remaining := deadline - time.monotonic()) > 0.0:
            taken = self._reader.take(self._commands)
            if taken is not None:
                stamp_ns, data = messages.read_commands(taken[0], N)
                assert stamp_ns is not None
                return stamp_ns, data
            self._reader.wait(min(remaining, 0.05))
        return None

    def take_applied(self) -> JointState:
        deadline = time.monotonic() + HANG_S
        while (taken := self._reader.take(self._applied)) is None:
            assert time.monotonic() < deadline
            time.sleep(0.001)
        return taken[0]

    def exchange(self, *state: Any, **more: Any) -> np.ndarray:
        """Send a state and return the command that answers it.

        In realtime a reader that waits for a processor may find the answer overwritten by what the bridge repeats
        after it: then another state goes out.
        """
        for _ in range(MOST_OVERWRITTEN):
            t_ns = self.send_state(*state, **more)
            answer = self.take()
            while self.clock == "realtime" and answer is not None and answer[0] < t_ns:
                answer = self.take()
            assert answer is not None, "no answer"
            if answer[0] == t_ns:
                return answer[1]
            assert self.clock == "realtime", f"answer to {answer[0]}, expected {t_ns}"
        raise AssertionError(f"{MOST_OVERWRITTEN} answers were overwritten before they were read")

    def run(self, count: int, u: np.ndarray = Q) -> np.ndarray:
        """Exchange states, with the plans that are due in between."""
        data = REST
        for _ in range(count):
            tick = (self.t_ns + MS) // (50 * MS)
            if tick > self.t_ns // (50 * MS):
                self.send_plan(tick * 50 * MS, u)
            data = self.exchange()
        return data


@pytest.fixture(scope="module")
def lockstep_rig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    rig = Rig(tmp_path_factory.mktemp("lockstep"), "lockstep")
    with rig.stack:
        yield rig.start()


@pytest.fixture
def lockstep(lockstep_rig: Rig) -> Rig:
    return lockstep_rig.restart()


@pytest.fixture(scope="module")
def realtime_rig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    rig = Rig(tmp_path_factory.mktemp("realtime"), "realtime")
    with rig.stack:
        yield rig.start()


@pytest.fixture
def realtime(realtime_rig: Rig) -> Rig:
    return realtime_rig.restart()


UNUSABLE = {
    "NaN position": {"q": Q * np.nan},
    "infinite velocity": {"dq": REST + np.inf},
    "no velocity": {"dq": None},
    "wrong name": {"names": [*NAMES[:3], "elbow"]},
    "name twice": {"names": [*NAMES[:3], NAMES[0]]},
    "three joints": {"q": Q[:3], "dq": REST[:3], "names": NAMES[:3]},
    "more values than names": {"q": np.append(Q, 0.0)},
    "degrees": {"q": np.rad2deg(Q) + 90.0},
}


@pytest.mark.realtime
def test_no_command_leaves_before_a_complete_state_and_the_reason_is_named(realtime: Rig) -> None:
    realtime.send_plan(T0)
    for case, state in UNUSABLE.items():
        realtime.send_state(**state)
        assert realtime.take(0.03) is None, case
    assert realtime.take(QUIET_S) is None
    assert realtime.wait_for_safety("WAITING STATE_UNUSABLE (110): ").level == DiagnosticStatus.WARN
    np.testing.assert_array_equal(realtime.exchange(), 0.0)
    applied = realtime.take_applied()
    assert list(applied.name) == NAMES
    np.testing.assert_array_equal(applied.position, Q)


def test_joints_are_matched_by_name_whatever_their_order(lockstep: Rig) -> None:
    q, order = Q + 0.01 * np.arange(N), np.array([2, 0, 3, 1])
    lockstep.exchange(q[order], REST, [NAMES[i] for i in order])
    np.testing.assert_array_equal(lockstep.take_applied().position, q)
    for _ in range(19):
        lockstep.exchange(q)
    lockstep.send_plan(T0, (q + 0.001)[order], [NAMES[i] for i in order])
    for _ in range(10):
        data = lockstep.exchange(q)
    np.testing.assert_allclose(data, 0.001 * SYSTEM.kp, rtol=1e-9)


def test_lockstep_answers_each_state_once_and_waits_for_the_plan_of_a_tick(lockstep: Rig) -> None:
    for _ in range(20):
        lockstep.exchange()
    t_ns = lockstep.send_state()
    assert lockstep.take(QUIET_S) is None
    lockstep.send_plan(T0, Q + 0.01)
    answer = lockstep.take()
    assert answer is not None
    assert answer[0] == t_ns == T0 + 20 * MS
    lockstep.wait_for_safety("ACTIVE")
    assert lockstep.take(QUIET_S) is None


@pytest.mark.parametrize("bad", [{"u": Q * np.nan}, {"names": [*NAMES[:3], "elbow"]}, {"u": Q[:3], "names": NAMES[:3]}])
def test_an_unusable_plan_holds_and_never_reaches_the_robot(lockstep: Rig, bad: dict[str, Any]) -> None:
    before = lockstep.run(50, Q + 0.01)
    lockstep.send_plan(T0 + 50 * MS, **bad)
    for _ in range(30):
        np.testing.assert_allclose(lockstep.exchange(), before)
    lockstep.wait_for_safety("HOLD PLAN_REFUSED (107)")


def is_ramped(data: np.ndarray, before: np.ndarray) -> bool:
    """Whether a torque is that before, or at most five periods into the ramp of a fault without a state (50 ms)."""
    return bool(np.all((before > 0.0) & (data <= before) & (data >= 0.9 * before - 1e-12)))


@pytest.mark.parametrize(
    ("state", "fault"),
    [
        (UNUSABLE["NaN position"], "STATE_REFUSED (202)"),
        (UNUSABLE["wrong name"], "STATE_REFUSED (202)"),
        ({"q": Q + 0.5}, "STATE_JUMP (203)"),
    ],
)
def test_lockstep_answers_an_unusable_state_with_a_named_fault_until_reset(
    lockstep: Rig, state: dict[str, Any], fault: str
) -> None:
    before = lockstep.run(60, Q + 0.01)
    assert is_ramped(lockstep.exchange(**state), before)
    assert lockstep.wait_for_safety(f"FAULT {fault}").level == DiagnosticStatus.ERROR
    for _ in range(160):
        data = lockstep.exchange()
    np.testing.assert_array_equal(data, 0.0)
    assert lockstep.call("reset_fault").success
    assert not lockstep.call("reset_fault").success
    lockstep.safety.clear()
    np.testing.assert_array_equal(lockstep.exchange(), 0.0)
    lockstep.wait_for_safety("HOLD NO_PLAN")


@pytest.mark.parametrize(("shift_ms", "fault"), [(-500, "CLOCK_BACKWARD (204)"), (500, "CLOCK_FORWARD (205)")])
def test_a_jump_of_the_clock_is_a_named_fault(lockstep: Rig, shift_ms: int, fault: str) -> None:
    before = lockstep.run(60, Q + 0.01)
    lockstep.t_ns += shift_ms * MS
    assert is_ramped(lockstep.exchange(), before)
    lockstep.wait_for_safety(f"FAULT {fault}")


def test_the_stop_service_ramps_the_torque_to_zero(lockstep: Rig) -> None:
    before = lockstep.run(60, Q + 0.01)
    assert lockstep.call("stop").success
    torques = np.array([lockstep.exchange() for _ in range(160)])
    np.testing.assert_allclose(torques[40], before, rtol=1e-9)
    assert np.all(np.diff(np.abs(torques), axis=0) <= 1e-12)
    np.testing.assert_array_equal(torques[-1], 0.0)
    lockstep.wait_for_safety("FAULT STOPPED (207)")


@pytest.mark.realtime
def test_without_states_the_command_is_repeated_then_ramped_to_zero_and_named(realtime: Rig) -> None:
    realtime.run(30, Q + 0.001)
    held = realtime.run(10, Q + 0.001)
    commands = []
    while (command := realtime.take(0.3)) is not None and command[1].any():
        commands.append(command[1])
        realtime.lifecycle.spin(0.0)
    assert command is not None
    data = np.array([*commands, command[1]])
    assert np.all(np.abs(data) <= np.abs(held) + 1e-12)
    assert np.any(np.abs(data) > 0.9 * np.abs(held))
    np.testing.assert_array_equal(data[-1], 0.0)
    realtime.wait_for_safety("STATE_LATE (106)")
    realtime.wait_for_safety("FAULT STATE_LOST (201)")
    realtime.exchange()
    assert realtime.call("reset_fault").success
    realtime.exchange()
    realtime.safety.clear()
    realtime.wait_for_safety("HOLD")


@pytest.mark.realtime
def test_a_repeated_stamp_is_not_answered(realtime: Rig) -> None:
    realtime.exchange()
    t_ns = realtime.send_state_at(realtime.t_ns)
    answer = realtime.take(0.02)
    assert answer is None or answer[0] != t_ns


def test_diagnostics_carry_timing_clamps_and_refusals(lockstep: Rig) -> None:
    lockstep.run(60, Q + 0.01)
    values: dict[str, str] = {}

    def have_all() -> bool:
        for array in lockstep.diagnostics:
            values.update({item.key: item.value for item in array.status[0].values})
        return values.get("commands") == "60"

    lockstep.diagnostics.clear()
    lockstep.wait_until(have_all)
    assert int(values["missed_ticks"]) == 0
    statistics = {"median", "p99", "p999", "max"}
    assert {f"lateness_{name}_ms" for name in statistics} | {f"latency_{name}_us" for name in statistics} <= set(values)
    assert {"mode", "cause", "number", "clamped_position", "clamped_torque_rate"} <= set(values)


@pytest.fixture
def stranger(lockstep: Rig) -> Iterator[Node]:
    """Another node on the bridge's topics."""
    node = Node("intruder", namespace="/elsewhere", context=lockstep.stack._context)
    yield node
    node.destroy_node()


def let_meet(rig: Rig, node: Node, topic: str, message: Any, cause: str) -> tuple[DiagnosticStatus, dict[str, str]]:
    """Publish a message as another node until the bridge says so; commands equal the last one before until then.

    Once is not enough: a reader takes nothing from a writer that it has not found yet, and may know its name later.
    Returns the first status that names the cause, and the values of the one that names the node.
    """
    publisher = node.create_publisher(type(message), f"/hand/{topic}", rig._profile(topic))
    before, values = rig.run(60, Q + 0.01), {}

    def is_met() -> bool:
        publisher.publish(message)
        command = rig.run(1, Q + 0.01)
        rig.lifecycle.spin(0.05)
        met = any(cause in status.message for status in rig.safety)
        if not met:
            np.testing.assert_allclose(command, before)
        return met

    def is_named() -> bool:
        values.update({pair.key: pair.value for pair in rig.safety[-1].values})
        return is_met() and any("/elsewhere/intruder (" in value for value in values.values())

    rig.wait_until(is_met)
    rig.wait_until(is_named)
    return rig.wait_for_safety(cause), values


def test_the_plan_of_a_second_publisher_is_not_followed_but_named(lockstep: Rig, stranger: Node) -> None:
    plan = CommandPlan(T0 + 60 * MS, np.array([0.0, 1.0]), *np.stack([[Q - 0.1] * 2, *np.zeros((2, 2, N))]))
    message = messages.to_plan_message(plan, NAMES)
    status, values = let_meet(lockstep, stranger, "mpc_tracker/plan", message, "ACTIVE PLAN_STRANGER (306)")
    assert status.level == DiagnosticStatus.WARN
    assert int(values["refused_plan_stranger"]) > 0 and "/elsewhere/intruder" in values["plan_strangers"]


def test_joint_states_of_a_second_publisher_are_a_fault_that_names_it(lockstep: Rig, stranger: Node) -> None:
    """It holds on the states of the robot that it has known."""
    state = messages.fill_joint_state(messages.make_joint_state(NAMES), T0 + 61 * MS, Q + 0.1, REST, None)
    _, values = let_meet(lockstep, stranger, "joint_states", state, "FAULT STATE_STRANGER (213)")
    assert "/elsewhere/intruder" in values["state_strangers"]


@pytest.mark.parametrize("count", [300, 100_000])
def test_a_plan_of_many_points_is_refused_by_its_length(lockstep: Rig, count: int) -> None:
    before = lockstep.run(50, Q + 0.01)
    message = messages.to_plan_message(CommandPlan(T0 + 50 * MS, np.arange(300.0), *np.zeros((3, 300, N))), NAMES)
    message.points *= count // 300
    lockstep._plans.publish(message)
    start_s = time.monotonic()
    for _ in range(30):
        np.testing.assert_allclose(lockstep.exchange(), before)
    assert time.monotonic() - start_s < HANG_S
    assert "plan_" in lockstep.wait_for_safety("HOLD PLAN_REFUSED (107)").message


@pytest.mark.parametrize(("interface", "number"), [("effort", signal.SIGINT), ("position", signal.SIGTERM)])
def test_a_signal_ends_with_zero_torque_or_the_setpoint_and_exit_code_zero(
    tmp_path: Path, interface: str, number: signal.Signals
) -> None:
    rig = Rig(tmp_path, "lockstep", command_interface=interface)
    with rig.stack:
        before = rig.start().run(120, Q + 0.01)
        process = rig.stack.processes["command_bridge"]
        process.signal(number)
        process.signal(number)
        process.wait()
        last = None
        while (command := rig.take(QUIET_S)) is not None:
            last = command[1]
        assert last is not None
        np.testing.assert_allclose(last, 0.0 if interface == "effort" else before)
        assert process.exit_code == 0


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"hold_polcy": "measured"}, "hold_policy"),
        ({"mpc_rate_hz": 30}, "does not divide 1000"),
        ({"gravity_compensation": "nobody"}, "gravity_compensation"),
        ({"system": "no_such_hand"}, "no_such_hand"),
    ],
)
def test_a_wrong_parameter_is_refused_at_configuration_in_one_line(
    tmp_path: Path, parameters: dict[str, Any], message: str
) -> None:
    rig = Rig(tmp_path, "lockstep", **parameters)
    with rig.stack, pytest.raises(StackError, match=message):
        rig.start()
