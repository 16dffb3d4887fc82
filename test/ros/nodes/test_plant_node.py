"""The plant node over real DDS: one step per command in lockstep, unusable commands without effect."""

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

pytest.importorskip("rclpy")
pytest.importorskip("mujoco")

from std_msgs.msg import Header
from trajectory_msgs.msg import JointTrajectory

from contact_mpc.errors import StackError
from contact_mpc.plants.registry import make_plant
from contact_mpc.ros.messages import conversions as messages
from contact_mpc.task.task import load_task

pytestmark = [pytest.mark.dds, pytest.mark.mujoco]

MS = 1_000_000
T0 = 1_000_000_000
TASK = load_task("planar_hand_ball")
SYSTEM = TASK.system
N_A = SYSTEM.n_a
PARAMETERS = {
    "system": "planar_hand_ball", "task": "planar_hand_ball", "engine": "mujoco", "gravity_compensation": "robot",
    "sensors": {"pose_noise_mm": 0.0, "pose_noise_deg": 0.0},
}  # fmt: skip


class PlantRig:
    """Bridge and estimator around a plant."""

    def __init__(self, make_rig: Callable[..., Any], clock: str, **parameters: Any) -> None:
        self.rig = make_rig(clock, plant=PARAMETERS | parameters).configure()
        self.commands = self.rig.publisher("effort_controller/commands")
        self.states, self.poses = self.rig.collect("joint_states"), self.rig.collect("object_pose")
        self.rig.collect("joint_states")  # the second of the two subscribers that a plant in lockstep waits for
        self.truth, self.clock = self.rig.collect("plant/object_odom"), self.rig.collect("/clock")
        self.rig.activate()
        self.rig.connect(self.commands)

    def restart(self) -> "PlantRig":
        assert self.rig.request("plant", "deactivate")
        self.rig.settle(0.05)
        for received in (self.states, self.poses, self.truth, self.clock):
            received.clear()
        assert self.rig.request("plant", "activate")
        return self

    def send(self, t_ns: int, tau: np.ndarray) -> None:
        self.commands.publish(messages.fill_commands(messages.make_commands(len(tau)), t_ns, tau))

    def wait_for(self, t_ns: int) -> Any:
        self.rig.wait_until(lambda: self.stamps() and self.stamps()[-1] >= t_ns, f"state at {t_ns}")
        return self.states[-1]

    def stamps(self) -> list[int]:
        return [messages.from_stamp(message.header.stamp) for message in self.states]


@pytest.fixture(scope="module")
def plant_rig(make_rig: Callable[..., Any]) -> PlantRig:
    return PlantRig(make_rig, "lockstep", run_for_s=0.05)


@pytest.fixture
def plant(plant_rig: PlantRig) -> PlantRig:
    return plant_rig.restart()


@pytest.fixture
def in_realtime(make_rig: Callable[..., Any]) -> Iterator[Callable[..., PlantRig]]:
    """Return a function that starts a plant in realtime, which ends with the test: its thread goes before others."""
    plants: list[PlantRig] = []

    def start(**parameters: Any) -> PlantRig:
        plants.append(PlantRig(make_rig, "realtime", **parameters))
        return plants[-1]

    yield start
    for plant in plants:
        plant.rig.stack.stop()


def test_each_command_makes_one_step_of_the_simulator(plant: PlantRig) -> None:
    expected = make_plant("mujoco", SYSTEM, gravity_compensation=True)
    expected.reset(TASK.start_q)
    for k in range(10):
        message = plant.wait_for(T0 + k * MS)
        assert list(message.position) == expected.state().q[SYSTEM.n_q_u :].tolist()
        tau = 0.1 * np.sin(k + np.arange(N_A))
        plant.send(T0 + k * MS, tau)
        expected.step(tau)
    assert plant.stamps() == [T0 + k * MS for k in range(len(plant.states))]


def test_states_name_the_newest_pose_and_it_was_sent_before(plant: PlantRig) -> None:
    for k in range(40):
        plant.wait_for(T0 + k * MS)
        plant.send(T0 + k * MS, np.zeros(N_A))
    sent = {messages.from_stamp(pose.header.stamp) for pose in plant.poses}
    named = [int(message.header.frame_id) for message in plant.states]
    assert set(named) <= sent
    assert named[0] == T0 - 20 * MS  # the picture taken one delay before the start
    assert sorted(sent) == [T0 - 20 * MS, T0 - 3 * MS, T0 + 13 * MS]  # 60 Hz on the grid of 1 ms


@pytest.mark.parametrize(
    ("t_ns", "tau"),
    [(T0 + MS, np.zeros(N_A)), (T0, np.zeros(N_A + 1)), (T0, np.full(N_A, math.nan)), (T0 - MS, np.zeros(N_A))],
    ids=["early", "too long", "NaN", "late"],
)
def test_a_command_that_does_not_answer_the_state_makes_no_step(plant: PlantRig, t_ns: int, tau: np.ndarray) -> None:
    plant.wait_for(T0)
    plant.send(t_ns, tau)
    plant.rig.settle()
    assert plant.stamps() == [T0]
    plant.send(T0, np.zeros(N_A))
    plant.wait_for(T0 + MS)


def test_the_clock_stops_at_the_end_of_the_run(plant: PlantRig) -> None:
    for k in range(51):
        plant.wait_for(T0 + k * MS)
        plant.send(T0 + k * MS, np.zeros(N_A))
    plant.rig.settle()
    assert plant.stamps()[-1] == T0 + 50 * MS
    assert [messages.from_stamp(message.clock) for message in plant.clock] == [T0 + k * 10 * MS for k in range(6)]
    assert len(plant.truth) == 11  # 200 Hz


def test_before_the_first_command_the_drives_hold_the_start(plant: PlantRig) -> None:
    effort = np.array(plant.wait_for(T0).effort)
    expected = SYSTEM.kp * (TASK.start_u - TASK.start_q[SYSTEM.n_q_u :])
    assert effort == pytest.approx(np.clip(expected, -SYSTEM.tau_max_nm, SYSTEM.tau_max_nm))


def test_commands_of_a_second_publisher_and_beyond_the_effort_limits_are_refused(plant: PlantRig) -> None:
    plant.wait_for(T0)
    plant.send(T0, np.full(N_A, 0.01))
    plant.wait_for(T0 + MS)
    stranger = plant.rig.publisher("effort_controller/commands")
    plant.rig.connect(stranger)
    plant.rig.settle(1.0)  # a bridge that is slow in lockstep keeps its place
    for label, tau in ((f"t_ns={T0 + MS}", 0.02), (f"t_ns={T0 + MS}", 1e6), ("t_ns=" + "9" * 5000, 0.0)):
        message = messages.fill_commands(messages.make_commands(N_A), T0 + MS, np.full(N_A, tau))
        message.layout.dim[0].label = label
        for publisher in (stranger,) if tau == 0.02 else (stranger, plant.commands):
            publisher.publish(message)
    plant.rig.settle(0.2)
    assert plant.stamps()[-1] == T0 + MS
    plant.send(T0 + MS, np.full(N_A, 0.03))
    plant.wait_for(T0 + 2 * MS)
    assert np.allclose(plant.states[-1].effort, 0.03)
    plant.rig.node.destroy_publisher(stranger)


def test_a_silent_bridge_ends_the_plant_with_its_name(make_rig: Callable[..., Any]) -> None:
    silent = PlantRig(make_rig, "lockstep", command_timeout_s=0.2)
    with pytest.raises(StackError, match="no command for t = 1.000 s.*command_bridge"):
        silent.rig.wait_until(lambda: False, "the end of the plant")


def test_in_realtime_the_clock_runs_without_commands(in_realtime: Callable[..., PlantRig]) -> None:
    free = in_realtime()
    free.wait_for(T0 + 50 * MS)
    assert all(message.header.frame_id == "" for message in free.states)


def test_in_realtime_states_come_at_their_rate(in_realtime: Callable[..., PlantRig]) -> None:
    """333 Hz is the rate of the Allegro hand: 3 ms."""
    slow = in_realtime(rate_hz=333)
    slow.rig.wait_until(lambda: len(slow.states) > 5, "six states")  # best effort: a busy machine loses some
    assert np.all((np.array(slow.stamps()) - T0) % (3 * MS) == 0)


def test_in_realtime_a_bridge_that_is_held_up_is_waited_for(in_realtime: Callable[..., PlantRig]) -> None:
    """From 5 ms after the state that it answered last; when it is back, time goes on."""
    patient = in_realtime(controller_patience_s=10.0)
    answered_ns = patient.wait_for(T0 + 20 * MS) and patient.stamps()[-1]
    patient.send(answered_ns, np.zeros(N_A))
    patient.rig.wait_until(lambda: float(patient.rig.diagnosed("plant", "command_waits")) >= 1, "a wait")
    stood_ns = patient.stamps()[-1]
    patient.rig.settle(0.3)
    assert patient.stamps()[-1] == stood_ns
    patient.send(stood_ns, np.zeros(N_A))
    patient.wait_for(stood_ns + 5 * MS)
    patient.rig.wait_until(lambda: float(patient.rig.diagnosed("plant", "command_waited_s")) > 0.2, "what was waited")


def test_in_realtime_a_tracker_whose_plan_is_late_is_waited_for(in_realtime: Callable[..., PlantRig]) -> None:
    patient = in_realtime(controller_patience_s=10.0, plan_age_s=0.05)
    plans = patient.rig.publisher("mpc_tracker/plan")
    patient.rig.connect(plans)
    planned_ns = patient.wait_for(T0 + 20 * MS) and patient.stamps()[-1]
    plans.publish(JointTrajectory(header=Header(stamp=messages.to_stamp(planned_ns))))
    patient.rig.wait_until(lambda: float(patient.rig.diagnosed("plant", "plan_waits")) >= 1, "a wait")
    stood_ns = patient.stamps()[-1]
    assert stood_ns >= planned_ns + 50 * MS
    patient.rig.settle(0.3)
    assert patient.stamps()[-1] == stood_ns
    plans.publish(JointTrajectory(header=Header(stamp=messages.to_stamp(stood_ns))))
    patient.wait_for(stood_ns + 40 * MS)


@pytest.mark.parametrize("patience_s", [0.0, 0.2])
def test_a_bridge_that_is_gone_stops_the_time_of_a_robot_never_and_a_simulator_for_a_while(
    in_realtime: Callable[..., PlantRig], patience_s: float
) -> None:
    robot = in_realtime(controller_patience_s=patience_s)
    answered_ns = robot.wait_for(T0 + 20 * MS) and robot.stamps()[-1]
    robot.send(answered_ns, np.zeros(N_A))
    robot.wait_for(answered_ns + 500 * MS)
    robot.rig.wait_until(
        lambda: robot.rig.diagnosed("plant", "command_waits") == str(int(patience_s > 0.0)), "the count"
    )


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"engine": "bullet"}, "'bullet' is unknown; allowed: drake, mujoco, gazebo"),
        ({"task": "no_such_task"}, "no_such_task"),
        ({"clock_rate_hz": 300}, "clock_rate_hz = 300 is of no period in whole milliseconds; use 333"),
        ({"rate_hz": 500}, "rate_hz = 500 needs the clock realtime"),
        ({"perturbation": {"mass_scale": 0.0}}, "perturbation.mass_scale.*greater than 0"),
    ],
)
def test_wrong_parameters_are_refused_in_one_line(
    make_rig: Callable[..., Any], parameters: dict[str, Any], words: str
) -> None:
    rig = make_rig("lockstep", plant=PARAMETERS | parameters)
    with pytest.raises(StackError, match=f"node plant: cannot configure: .*{words}"):
        rig.configure()
    assert "Traceback" not in rig.log("plant")
