"""The goal server over real DDS: what is no goal is refused by name, searches end, and no process is left behind."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from patience import HANG_S

pytest.importorskip("rclpy")

from geometry_msgs.msg import PoseStamped
from std_srvs.srv import Trigger

from contact_mpc.ros.messages import conversions as messages
from contact_mpc.ros.nodes.goal_server import SILENCE_S
from contact_mpc.ros.stack.run_parameters import RunOptions, build_parameters
from contact_mpc.task.object_motion import ObjectMotion
from contact_mpc.task.task import load_task

pytestmark = pytest.mark.dds

TASK = load_task("planar_hand_ball")
SYSTEM = TASK.system


def pose(frame: str = "world", lift_m: float = 0.0, **quaternion: float) -> PoseStamped:
    R, p = SYSTEM.object_pose(TASK.start_q)
    message = messages.to_pose_stamped(time.time_ns(), R, p + np.array([0.0, 0.0, lift_m]), frame)
    for key, value in quaternion.items():
        setattr(message.pose.orientation, key, value)
    return message


@pytest.fixture(scope="module")
def rig(make_rig: Callable[..., Any]) -> Any:
    """A goal server that is told where the object is: at the start of the task."""
    rig = make_rig("realtime", goal_server={"system": TASK.system.name, "task": str(TASK.path)})
    rig.configure().activate()
    joints, odometry = (rig.publisher(f"state_estimator/{name}") for name in ("joint_states", "object_odom"))
    goals = rig.publisher("goal_pose")
    rig.connect(joints, odometry, goals)
    state = messages.make_joint_state(SYSTEM.joint_names)
    q_a = TASK.start_q[SYSTEM.n_q_u :]
    motion = ObjectMotion(*SYSTEM.object_pose(TASK.start_q), np.zeros(6), np.zeros((6, 6)))
    rig.statuses = rig.collect("goal_status")

    def tell() -> None:
        stamp_ns = time.monotonic_ns()
        joints.publish(messages.fill_joint_state(state, stamp_ns, q_a, np.zeros(SYSTEM.n_a), None))
        odometry.publish(messages.fill_odometry(messages.make_odometry("ball"), stamp_ns, motion))

    def send(message: PoseStamped) -> None:
        tell()
        rig.settle(0.2)
        goals.publish(message)

    rig.send, rig.tell, rig.goals = send, tell, goals
    return rig


def wait_for(rig: Any, words: str) -> Any:
    """Wait for a status, with new estimates meanwhile."""

    def is_said() -> bool:
        rig.tell()
        return bool(rig.statuses) and words in rig.statuses[-1].message

    rig.wait_until(is_said, words)
    return {pair.key: pair.value for pair in rig.statuses[-1].values}


@pytest.mark.parametrize(
    ("message", "words"),
    [
        (pose("camera"), "frame 'camera' is not known here; send poses in 'world'"),
        (pose("bunny"), "frame 'bunny' is not known here"),
        (pose(w=float("nan")), "not finite"),
        (pose(w=0.3, x=0.0, y=0.0, z=0.0), "norm 0.3; send a unit quaternion"),
    ],
)
def test_what_is_no_goal_is_refused_by_name(rig: Any, message: PoseStamped, words: str) -> None:
    rig.send(message)
    assert wait_for(rig, words)["state"] == "refused"


def test_a_goal_out_of_reach_is_refused_with_what_fails_and_nothing_is_handed_over(rig: Any) -> None:
    references = rig.collect("reference")
    rig.send(pose(lift_m=0.5))
    wait_for(rig, "a plan is searched")
    assert wait_for(rig, "refused: ")["state"] == "refused"
    assert "cannot be held" in rig.statuses[-1].message, rig.statuses[-1].message
    assert not references


def test_without_new_estimates_a_goal_is_refused(rig: Any) -> None:
    rig.send(pose())
    rig.settle(SILENCE_S + 0.5)
    rig.goals.publish(pose())
    rig.wait_until(lambda: "no new estimate" in rig.statuses[-1].message, "what is missing")


def test_a_hold_takes_the_reference_away(rig: Any) -> None:
    references = rig.collect("reference")
    assert rig.call(Trigger, "goal_server/hold", Trigger.Request()).success
    rig.wait_until(lambda: any(not reference.points for reference in references), "an empty reference")
    assert wait_for(rig, "the bridge holds")["state"] == "holding" and not references[-1].points


def test_the_search_ends_with_the_node(rig: Any) -> None:
    pid = rig.stack.processes["goal_server"].pid
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    assert children
    rig.stack.stop()
    deadline = time.monotonic() + HANG_S
    while any(Path(f"/proc/{child}").exists() for child in children):
        assert time.monotonic() < deadline, "a search is left behind"
        time.sleep(0.05)


def test_an_endless_run_has_a_goal_server_and_no_end(tmp_path: Path) -> None:
    options = RunOptions("mujoco", "lockstep", 0, "planar_hand_ball", recorded=False, endless=True)
    parameters = build_parameters(TASK, options, tmp_path, tmp_path / "plan.npz")
    assert "trajectory_server" not in parameters and parameters["goal_server"]["task"] == str(TASK.path)
    assert parameters["plant"]["run_for_s"] == 0.0
