"""Joint states under a robot's own topics and names, as the bag's metadata say: one series with the system's names.

What the estimator made of them while it ran is made here again: several topics, or parts of a message, become whole
states (`contact_mpc.task.joint_parts`), joints of others are left out, names are the system's.
"""

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from contact_mpc.bags import topics
from contact_mpc.bags.builders import make_builder
from contact_mpc.settings.units import NS_PER_S
from contact_mpc.task.joint_parts import FIELDS, JointParts

SERIES = "joint_states"
PARTS_WITHIN_S = 0.002  # the nodes' default


@dataclass
class DriverJoints:
    """Makes the joint states of a driver one series.

    Parameters
    ----------
    topics : sequence of str
        Topics as the nodes were told them, one for each group of joints.
    parts : JointParts
        Puts states together.
    joint_names : sequence of str
        The system's names of the joints, in the order of those of `parts`.
    """

    topics: tuple[str, ...]
    parts: JointParts
    joint_names: tuple[str, ...]

    def __post_init__(self) -> None:
        self._builder = make_builder(SERIES, ", ".join(self.topics), topics.JOINTS)

    def builder_of(self, topic: str, msgtype: str) -> "DriverTopic | None":
        """Return what takes the messages of a topic of the bag, None where it is not one of these."""
        if msgtype != topics.JOINTS:
            return None
        own = [k for k, name in enumerate(self.topics) if topic == name or topic.endswith(f"/{name.strip('/')}")]
        is_estimate = topic.endswith(f"/{topics.TOPICS['estimated_joints'].suffix}")
        return DriverTopic(self, own[0], topic) if own and not is_estimate else None

    def add(self, message: Any, group: int, receive_ns: int) -> None:
        """Take a message of a group's topic."""
        whole = self.parts.complete(message, group)
        if whole is None:
            return
        columns = [list(whole.name).index(name) for name in self.parts.names]
        values = {
            kind: [getattr(whole, kind)[k] for k in columns] if len(getattr(whole, kind)) else [] for kind in FIELDS
        }
        self._builder.add(SimpleNamespace(name=self.joint_names, header=whole.header, **values), receive_ns)

    def build(self) -> Any:
        """Return the series."""
        return self._builder.build()

    def warnings(self) -> list[str]:
        """Return what was wrong with messages."""
        return self._builder.warnings()


@dataclass
class DriverTopic:
    """One of the topics; the series is that of all."""

    joints: DriverJoints
    group: int
    topic: str
    key: str = SERIES

    def add(self, message: Any, receive_ns: int) -> None:
        """Take one deserialised message and its time of receipt, ns."""
        self.joints.add(message, self.group, receive_ns)

    def build(self) -> Any:
        """Return the series."""
        return self.joints.build()

    def warnings(self) -> list[str]:
        """Return what was wrong with messages, once for all topics."""
        return self.joints.warnings() if self.group == 0 else []


def driver_joints(metadata: dict[str, Any]) -> DriverJoints | None:
    """Return how a run's robot named its joint states; None where they were the package's own."""
    driver, joint_names = metadata.get("driver"), tuple(metadata.get("joint_names", ()))
    if not driver or not joint_names:
        return None
    sizes = driver.get("groups") or (len(joint_names),)
    ends = [sum(sizes[: k + 1]) for k in range(len(sizes))]
    slices = [slice(end - size, end) for end, size in zip(ends, sizes, strict=True)]
    within_ns = round(driver.get("parts_within_s", PARTS_WITHIN_S) * NS_PER_S)
    parts = JointParts(tuple(driver.get("joint_names") or joint_names), slices, within_ns)
    return DriverJoints(tuple(driver.get("joint_states_topics") or (SERIES,)), parts, joint_names)
