"""Faults injected into the real stack, a few of them once; and what the figures say of them."""

import json
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from patience import HANG_S

pytest.importorskip("rclpy")
pytest.importorskip("mujoco")

from contact_mpc.control.bridge.config import BridgeConfig
from contact_mpc.control.bridge.status import BridgeMode, Cause
from contact_mpc.errors import ConfigError, StackError
from contact_mpc.estimation.config import EstimatorConfig
from contact_mpc.ros.driver.robot_file import load_robot
from contact_mpc.ros.faults.exit_watch import ExitWatch
from contact_mpc.ros.faults.injection import Injection, Injector
from contact_mpc.ros.faults.kinds import KINDS, LAG_GROWTH
from contact_mpc.ros.faults.limits import DetectionLimits
from contact_mpc.ros.faults.measure import check_kinds, mock_parameters, summarise
from contact_mpc.ros.faults.rig import Naming, to_monotonic_ns
from contact_mpc.ros.faults.spoilers import Delay, Flood, Multiply, Pad, Replay, Stop
from contact_mpc.task.plan import load_plan
from contact_mpc.task.task import load_task

MS = 1_000_000
SIGNS_OF_LOAD = (  # none of the injected kinds leads to these; before one, a tracker that comes too late holds
    *("STATE_RATE", "STATE_DELAYED", "STATE_LOST", "STATE_LATE"),
    "not active before: HOLD PLAN_HOLD",
)


def test_there_are_twenty_kinds_and_each_expects_a_name_that_exists() -> None:
    known = {cause.name for cause in Cause} | {mode.value for mode in BridgeMode}
    assert len(KINDS) >= 20
    for kind in KINDS.values():
        assert all(name in known or name.split()[0] in ("ended", "ERROR") for name in kind.expected), kind.name


def test_an_unknown_kind_is_refused_with_those_allowed() -> None:
    with pytest.raises(ConfigError, match="state_melted.*allowed: .*state_nan"):
        check_kinds(["state_nan", "state_melted"])
    assert check_kinds([]) == list(KINDS)


def test_the_end_of_a_killed_process_is_timed_by_the_system() -> None:
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"]) as process:
        watch = ExitWatch(process.pid)
        with pytest.raises(StackError, match=f"process {process.pid} still ran"):
            watch.wait_ns(0.05)
        before_ns = time.monotonic_ns()
        process.kill()
        assert before_ns < watch.wait_ns(HANG_S) <= time.monotonic_ns()


def test_spoilers_stop_delay_and_replay() -> None:
    assert Stop().take(b"a", 0) == ()
    delay = Delay(0.1)
    assert delay.take(b"a", 0) == () == delay.take(b"b", 50 * MS)
    assert delay.due(99 * MS) == []
    assert delay.due(100 * MS) == [b"a"]
    assert delay.due(150 * MS) == [b"b"]
    growing = Delay(0.0, growth=0.5)
    growing.take(b"a", 0)
    growing.take(b"b", 100 * MS)  # due at 150 ms
    assert growing.due(149 * MS) == [b"a"]
    assert growing.due(150 * MS) == [b"b"]
    replay = Replay([b"1", b"2"])
    assert [replay.take(b"x", 0) for _ in range(3)] == [(b"1",), (b"2",), ()]
    assert Replay([b"1", b"2"], frozen=True).take(b"x", 0) == (b"2",)


def test_a_flood_repeats_the_newest_message_and_padding_lengthens_it() -> None:
    flood = Flood(1e-4)
    assert flood.due(MS) == ()
    assert flood.take(b"a", 0) == (b"a",)
    assert flood.due(MS) == (b"a",) * 10
    assert flood.due(MS) == ()
    assert Pad(3).take(b"a", 0) == (b"a\0\0\0",)


def test_a_multiplied_plan_comes_at_once_and_again_with_later_stamps() -> None:
    from rclpy.serialization import serialize_message
    from trajectory_msgs.msg import JointTrajectory

    from contact_mpc.ros.messages import conversions as messages
    from contact_mpc.ros.messages.serialized import read_stamp_ns

    message = JointTrajectory(joint_names=["a"])
    messages.set_stamp(message.header.stamp, 10**9)
    data = serialize_message(message)
    many = Multiply(JointTrajectory, 3, 0.005)
    assert many.take(data, 0) == (data,)
    assert many.due(4 * MS) == []
    assert [read_stamp_ns(item) for item in many.due(10 * MS)] == [10**9 + 5 * MS, 10**9 + 10 * MS]


def test_a_fast_clock_runs_at_its_pace_however_many_states_the_relay_misses() -> None:
    from rclpy.serialization import serialize_message
    from sensor_msgs.msg import JointState

    from contact_mpc.ros.messages import conversions as messages
    from contact_mpc.ros.messages.serialized import read_stamp_ns

    kind = KINDS["clock_fast"]
    assert kind.spoil is not None
    spoiler, stamps = kind.spoil(SimpleNamespace()), []  # type: ignore[arg-type]
    for t_ms in (1000, 1001, 1004, 1005, 1030):
        message = JointState(name=["a"], position=[0.0])
        messages.set_stamp(message.header.stamp, t_ms * MS)
        (data,) = spoiler.take(serialize_message(message), 0)
        stamps.append(read_stamp_ns(data) // MS)
    assert stamps == [1000, 1002, 1008, 1010, 1060]


def test_a_name_is_as_old_as_its_message() -> None:
    assert time.monotonic_ns() - to_monotonic_ns(time.time_ns() - 10**12) >= 10**12 - HANG_S * 10**9
    before_ns = time.monotonic_ns()
    assert before_ns <= to_monotonic_ns(0) <= time.monotonic_ns()  # where the middleware does not say


def test_spoilt_plans_may_be_empty() -> None:
    """The tracker holds now and then, also while a fault is on: nothing to spoil."""
    from rclpy.serialization import deserialize_message, serialize_message
    from trajectory_msgs.msg import JointTrajectory

    data = serialize_message(JointTrajectory(joint_names=["a"]))
    for kind in KINDS.values():
        if kind.channel == "plan" and kind.action == "message" and kind.name not in ("plan_old", "plan_flood"):
            assert kind.spoil is not None
            for item in kind.spoil(SimpleNamespace(history=[])).take(data, 0):  # type: ignore[arg-type]
                if len(item) == len(data):
                    assert not deserialize_message(item, JointTrajectory).points


class _FakeChannel:
    def __init__(self, **values: int) -> None:
        self.last_sent_ns = self.last_stamp_ns = self.offset_ns = 0
        self.first_spoilt_ns = self.first_spoilt_stamp_ns = None
        self.__dict__.update(values)


def test_limits_of_detection_follow_from_the_parameters() -> None:
    config = BridgeConfig(gravity_compensation="robot")
    limits = DetectionLimits(config, EstimatorConfig(), 0.005)
    channels = {
        "state": _FakeChannel(last_sent_ns=7 * MS, offset_ns=1000 * MS),
        "pose": _FakeChannel(last_stamp_ns=3 * MS),
        "plan": _FakeChannel(last_stamp_ns=5 * MS),
    }
    spoilt = _FakeChannel(first_spoilt_ns=11 * MS)

    def due_ms(limit: str) -> float:
        return limits.due_ns(limit, 10 * MS, channels, spoilt) / MS

    assert due_ms("act") == 10.0
    assert due_ms("first") == 11.0
    assert due_ms("lead") == pytest.approx(11.0 + 100.0)  # at twice the clock's pace
    assert due_ms("state_fault") == 7.0 + 50.0
    assert due_ms("lag") == pytest.approx(11.0 + 30.0 / LAG_GROWTH + 30.0)  # sent after 60 ms, 30 ms on the way
    assert due_ms("plan_age") == 1000.0 + 5.0 + 20.0 + 50.0 + 50.0
    assert due_ms("pose_age") == pytest.approx(1000.0 + 3.0 + 3500.0 + 5.0 + 20.0 + 50.0)
    assert due_ms("wind_down") == 10.0 + 9.0
    assert limits.pose_unknown_s == 3.5  # while contacts carry the object, nobody names poses that do not come


def test_figures_count_violations_hangs_late_and_missing_names() -> None:
    fine = Injection("state_nan", "STATE_REFUSED", 3.0, {}, 0.5)
    late = Injection("state_nan", "STATE_REFUSED", 21.0, {}, 0.5)
    hang = Injection("plan_nan", None, np.nan, {"torque": 2}, np.nan, "no recovery")
    assert summarise([fine])["goal_met"]
    figures = summarise([fine, late, hang])
    assert (figures["violations"], figures["hangs"], figures["late_namings"]) == (2, 1, 1)
    assert figures["named"] == {"state_nan": 2, "plan_nan": 0}
    assert figures["detection_ms"]["state_nan"]["max"] == 21.0
    assert not figures["goal_met"]


def test_a_fault_that_could_not_be_made_is_no_hang_and_no_success() -> None:
    fine = Injection("state_nan", "STATE_REFUSED", 3.0, {}, 0.5)
    unmade = Injection("plan_nan", None, np.nan, {}, np.nan, "not injected", is_injected=False)
    figures = summarise([fine, unmade])
    assert (figures["injections"], figures["not_injected"], figures["hangs"]) == (1, 1, 0)
    assert not figures["goal_met"] and "plan_nan" in figures["problems"][0]


def test_a_fault_that_cannot_be_made_says_all_that_the_bridge_said_before() -> None:
    """The last cause alone may be what the first led to: a plan is far once the machine has been too slow."""

    class Rig(SimpleNamespace):
        def clear(self) -> None:
            self.namings.clear()

        def run_until(self, _condition: Any, _timeout_s: float) -> bool:
            self.namings += [Naming(0, name) for name in ("HOLD", "STATE_RATE", "HOLD", "PLAN_FAR")]
            return False

    supervisor = SimpleNamespace(is_running=lambda _name: False, request=lambda *_request: None)
    told = {"mode": "HOLD", "cause": "PLAN_FAR", "robot": "mock_driver", "namings": [Naming(0, "STATE_LOST")]}
    rig = Rig(supervisor=supervisor, channels={}, **told)
    found = Injector(rig, SimpleNamespace()).run(KINDS["plan_nan"])  # type: ignore[arg-type]
    assert not found.is_injected
    assert found.problem.endswith("HOLD PLAN_FAR, after HOLD, STATE_RATE, PLAN_FAR; is the machine busy?")


@pytest.mark.dds
@pytest.mark.end_to_end
@pytest.mark.realtime
def test_faults_of_states_and_plans_are_named_and_harm_nothing(tmp_path: Path) -> None:
    """Times are not judged here: the machine may be busy. Where it is too busy for 1 kHz, nothing can be injected."""
    command = [sys.executable, "-m", "contact_mpc", "bench", "faults", "--runs", "1", "--json"]
    kinds = ["--kinds", "state_nan,plan_nan,stop_service", "--logs", str(tmp_path)]
    run = subprocess.run([*command, *kinds], capture_output=True, text=True, timeout=HANG_S)
    assert run.returncode in (0, 1), run.stderr
    result = json.loads(run.stdout)
    assert result["violations"] == 0, result["violation_examples"]
    if any(sign in problem for problem in result["problems"] for sign in SIGNS_OF_LOAD):
        pytest.skip(f"THIS MACHINE DOES NOT HOLD 1 kHz AT ITS PRESENT LOAD: {result['problems']}")
    assert result["hangs"] == 0, result["problems"]
    assert result["named"] == {"state_nan": 1, "plan_nan": 1, "stop_service": 1}, result["problems"]
    assert set(result["detection_ms"]["state_nan"]) == {"median", "p90", "p99", "max"}


@pytest.mark.dds
@pytest.mark.end_to_end
@pytest.mark.realtime
@pytest.mark.parametrize(("robot", "task"), [("allegro", "allegro_ball"), ("iiwa", "iiwa_bimanual_box")])
def test_faults_on_the_mock_of_a_robot_break_no_limit(robot: str, task: str, tmp_path: Path) -> None:
    """Under the robot's own topics, names and types; of the iiwa both arms have the faults."""
    command = [sys.executable, "-m", "contact_mpc", "bench", "faults", "--runs", "1", "--json"]
    kinds = ["--kinds", "state_nan,kill_plant", "--robot", robot, "--task", task, "--logs", str(tmp_path)]
    run = subprocess.run([*command, *kinds], capture_output=True, text=True, timeout=HANG_S)
    assert run.returncode in (0, 1), run.stderr
    result = json.loads(run.stdout)
    assert result["violations"] == 0, result["violation_examples"]
    if result["not_injected"]:
        pytest.skip(f"THIS MACHINE DOES NOT HOLD THE RATE OF {robot} AT ITS PRESENT LOAD: {result['problems']}")
    assert result["hangs"] == 0, result["problems"]
    assert result["named"] == {"state_nan": 1, "kill_plant": 1}, result["problems"]


def test_parameters_of_a_mock_are_the_robots_and_its_plan_rests(tmp_path: Path) -> None:
    task = load_task("allegro_ball")
    parameters = mock_parameters(load_robot("allegro"), task, tmp_path)
    assert "plant" not in parameters and parameters["command_bridge"]["rate_hz"] == 333
    assert parameters["mock_driver"]["start_rad"] == task.start_q[task.system.n_q_u :].tolist()
    plan = load_plan(tmp_path / "plan.npz", task.system)
    np.testing.assert_array_equal(plan.u[0], plan.u[-1])
