"""Which topic of a bag is which: by the relative name that it ends with, whatever its namespace."""

from dataclasses import dataclass
from pathlib import Path

from contact_mpc.errors import BagError

JOINTS, POSE, ODOMETRY = "sensor_msgs/msg/JointState", "geometry_msgs/msg/PoseStamped", "nav_msgs/msg/Odometry"
TRAJECTORY, OBJECT_TRAJECTORY = "trajectory_msgs/msg/JointTrajectory", "trajectory_msgs/msg/MultiDOFJointTrajectory"
STATUS, STATUS_ARRAY = "diagnostic_msgs/msg/DiagnosticStatus", "diagnostic_msgs/msg/DiagnosticArray"
COMMANDS, TEXT = "std_msgs/msg/Float64MultiArray", "std_msgs/msg/String"


@dataclass(frozen=True)
class Topic:
    """Relative name and type of a topic."""

    suffix: str
    msgtype: str


TOPICS = {
    "metadata": Topic("run_metadata", TEXT),
    "joint_states": Topic("joint_states", JOINTS),
    "object_pose": Topic("object_pose", POSE),
    "plant_odom": Topic("plant/object_odom", ODOMETRY),
    "estimated_joints": Topic("state_estimator/joint_states", JOINTS),
    "estimated_odom": Topic("state_estimator/object_odom", ODOMETRY),
    "desired": Topic("command_bridge/desired", JOINTS),
    "applied": Topic("command_bridge/applied", JOINTS),
    "effort_commands": Topic("effort_controller/commands", COMMANDS),
    "position_commands": Topic("position_controller/commands", COMMANDS),
    "plans": Topic("mpc_tracker/plan", TRAJECTORY),
    "references": Topic("reference", TRAJECTORY),
    "object_references": Topic("object_reference", OBJECT_TRAJECTORY),
    "solve_status": Topic("mpc_tracker/solve_status", STATUS),
    "safety": Topic("command_bridge/safety", STATUS),
    "diagnostics": Topic("diagnostics", STATUS_ARRAY),
}


def assign_topics(path: Path, types: dict[str, str], namespace: str | None) -> dict[str, str]:
    """Return which series each topic of a bag feeds.

    Parameters
    ----------
    path : Path
        The bag, for messages.
    types : dict
        Type of each topic of the bag.
    namespace : str or None
        Where given, only topics directly under it count (and `/diagnostics`).

    Returns
    -------
    dict
        Series name by topic; topics that nobody needs are left out.

    Raises
    ------
    BagError
        Two topics claim one series.
    """
    claims: dict[str, list[str]] = {}
    for topic in sorted(types):
        key = _series_of(topic, types[topic], namespace)
        if key is not None:
            claims.setdefault(key, []).append(topic)
    for key, topics in claims.items():
        if len(topics) > 1:
            raise BagError(
                f"{path}: {TOPICS[key].suffix} is ambiguous: {', '.join(topics)}; "
                "choose one robot with --namespace (namespace=...)"
            )
    return {topics[0]: key for key, topics in claims.items()}


def _series_of(topic: str, msgtype: str, namespace: str | None) -> str | None:
    """Return the series with the longest relative name that `topic` ends with, if the type fits too."""
    fits = [key for key, known in TOPICS.items() if topic == f"/{known.suffix}" or topic.endswith(f"/{known.suffix}")]
    if not fits:
        return None
    key = max(fits, key=lambda name: len(TOPICS[name].suffix))
    known = TOPICS[key]
    if msgtype != known.msgtype:
        return None
    prefix = topic.removesuffix(known.suffix).rstrip("/")
    wanted = None if namespace is None else namespace.strip("/")
    allowed = wanted is None or prefix.strip("/") == wanted or (key == "diagnostics" and not prefix)
    return key if allowed else None
