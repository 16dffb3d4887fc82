"""Play a recorded run through state estimator, tracker and bridge, and compare their answers with the recorded ones.

ros2 launch contact_mpc replay.launch.py bag:=/tmp/run/bag
"""

import tempfile
from pathlib import Path

from launch import LaunchContext, LaunchDescription
from launch.action import Action

from contact_mpc.bags.bag import read_run
from contact_mpc.errors import BagError
from contact_mpc.ros.launching.launching import (
    argument,
    describe,
    network_actions,
    node_actions,
    shared_arguments,
    value,
)
from contact_mpc.ros.runtime.lifecycle_client import REPLAY_ORDER
from contact_mpc.ros.stack.stack import to_parameter_file
from contact_mpc.task.node_parameters import load_node_parameters

NAMESPACE = "/replay"
ARGUMENTS = (
    argument("bag", None, "folder of a rosbag2 bag, or its .mcap or .db3 file"),
    argument("system", "", "system, name or path; empty: the bag says"),
    argument("params", "", "parameter file of the nodes; empty: the parameters in the bag"),
    argument("clock", "lockstep", "lockstep: wait for every answer; realtime: at the pace of the recording",
             ("lockstep", "realtime")),
    argument("robot_namespace", "", "namespace in the bag, where it holds several robots"),
    argument("tolerance", "1e-9", "largest difference that counts as the same, rad and N m"),
    argument("result", "", "JSON file for the comparison; empty: only the log"),
    *shared_arguments("discovery", "domain_id", "keystore"),
)  # fmt: skip


def start(context: LaunchContext) -> list[Action]:
    """Return the nodes of the replay, with their parameters in one file."""
    bag = Path(value(context, "bag")).expanduser().resolve()
    metadata = read_run(bag, value(context, "robot_namespace") or None).metadata
    system = value(context, "system") or metadata.get("system_file") or metadata.get("system")
    if not system:
        raise BagError(f"{bag}: it does not say which system it was recorded with; give system:=NAME")
    folder = Path(tempfile.mkdtemp(prefix="contact_mpc_"))
    source = value(context, "params") or folder / "recorded.yaml"
    if not value(context, "params"):
        if "parameters" not in metadata:
            raise BagError(f"{bag}: it does not hold the parameters of the nodes; give params:=FILE")
        source.write_text(metadata["parameters"])
    shared = {"system": system, "clock": value(context, "clock"), "recorded": False, "use_sim_time": False}
    parameters = {name: load_node_parameters(source, name) | shared for name in REPLAY_ORDER}
    parameters["bag_player"] = shared | {
        "bag": str(bag),
        "robot_namespace": value(context, "robot_namespace"),
        "tolerance": float(value(context, "tolerance")),
        "result_file": value(context, "result"),
    }
    parameters["lifecycle_manager"] = {"nodes": list(REPLAY_ORDER), "use_sim_time": False}
    file = folder / "parameters.yaml"
    file.write_text(to_parameter_file(NAMESPACE, parameters))
    nodes = node_actions(
        list(parameters), NAMESPACE, file, last="bag_player", is_secured=bool(value(context, "keystore"))
    )
    return [*network_actions(context), *nodes]


def generate_launch_description() -> LaunchDescription:
    """Return the arguments and what is started with them."""
    return describe(__file__, ARGUMENTS, start)
