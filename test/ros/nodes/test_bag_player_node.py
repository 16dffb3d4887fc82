"""A recorded run played through the nodes: estimator, tracker and bridge say again what they said."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from patience import HANG_S

pytest.importorskip("rclpy")
pytest.importorskip("mujoco")

from rclpy.serialization import serialize_message

from contact_mpc.bags.bag import read_run
from contact_mpc.errors import StackError
from contact_mpc.ros.messages import conversions as messages
from contact_mpc.ros.nodes.bag_player import first_of_each, poses_first

pytestmark = [pytest.mark.dds, pytest.mark.end_to_end, pytest.mark.mujoco]


@pytest.fixture(scope="module")
def bag(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run")
    command = [sys.executable, "-m", "contact_mpc", "run", "planar_hand_ball", "--plant", "mujoco"]
    command += ["--record", str(folder), "--duration-s", "0.4", "--hold-s", "0.1"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=HANG_S)
    assert done.returncode in (0, 1), done.stderr
    return next(folder.iterdir()) / "bag"


def replay_parameters(bag: Path, **player: Any) -> dict[str, dict[str, Any]]:
    """Return the recorded parameters of the nodes that take part, and those of the player."""
    recorded = yaml.safe_load(read_run(bag).metadata["parameters"])
    names = ("state_estimator", "mpc_tracker", "command_bridge")
    parameters = {name: recorded[f"/planar_hand/{name}"]["ros__parameters"] | {"recorded": False} for name in names}
    return parameters | {"bag_player": {"system": "planar_hand_ball", "bag": str(bag)} | player}


def test_a_pose_is_played_before_the_state_that_names_it() -> None:
    def message(frame_id: str, t_ns: int) -> bytes:
        header = messages.make_joint_state(["a"])
        header.header.frame_id = frame_id
        return serialize_message(messages.fill_joint_state(header, t_ns, np.zeros(1), None, None))

    first, late = ("object_pose", 0, message("", 5)), ("object_pose", 3, message("", 7))
    states = [("joint_states", k, message(str(named), 10 + k)) for k, named in ((1, 5), (2, 7), (4, 7))]
    received = [first, states[0], states[1], late, states[2]]
    assert list(poses_first(received)) == [first, states[0], late, states[1], states[2]]


def test_commands_of_the_winding_down_are_no_answers() -> None:
    found = first_of_each([1, 2, 2, 2], np.array([[1.0], [2.0], [0.5], [0.0]]))
    assert {stamp: command.item() for stamp, command in found.items()} == {1: 1.0, 2: 2.0}


def play(rig: Any, held_up: str = "") -> int:
    process = rig.stack.processes["bag_player"]
    rig.stack.bring_up()
    if held_up:
        rig.stack.processes[held_up].signal(signal.SIGSTOP)
        time.sleep(0.3)
        rig.stack.processes[held_up].signal(signal.SIGCONT)
    process.wait()
    return process.exit_code


def test_nodes_reproduce_a_recorded_run(make_rig: Callable[..., Any], bag: Path, tmp_path: Path) -> None:
    result = tmp_path / "result.json"
    rig = make_rig("lockstep", **replay_parameters(bag, result_file=str(result)))
    assert play(rig, held_up="command_bridge") == 0, rig.logs()
    compared = json.loads(result.read_text())
    record = read_run(bag)
    assert compared["is_reproduced"]
    assert compared["plans"] == len(record.plans)
    assert compared["commands"] == len(record.commands)
    assert compared["plans_max_abs_diff"] <= 1e-9
    assert compared["commands_max_abs_diff"] <= 1e-9


def test_another_controller_is_noticed(make_rig: Callable[..., Any], bag: Path, tmp_path: Path) -> None:
    result = tmp_path / "result.json"
    parameters = replay_parameters(bag, result_file=str(result))
    parameters["mpc_tracker"]["horizon_steps"] = 3
    assert play(make_rig("lockstep", **parameters)) == 1
    assert not json.loads(result.read_text())["is_reproduced"]


def test_a_bag_that_is_none_is_refused_in_one_line(make_rig: Callable[..., Any], tmp_path: Path) -> None:
    rig = make_rig("lockstep", bag_player={"system": "planar_hand_ball", "bag": str(tmp_path / "missing")})
    with pytest.raises(StackError, match="node bag_player: cannot configure: .*missing: no such bag"):
        rig.configure()
    assert "Traceback" not in rig.log("bag_player")
