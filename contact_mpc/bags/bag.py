"""Read a bag of a run into numpy arrays, whoever recorded it.

Accepted: MCAP and sqlite3 bags of the stack's recorder and of ``ros2 bag record``, under any namespace, closed or cut
off. Only standard messages of ROS 2 are read, by their Jazzy definitions. Memory: the arrays alone are kept, about
1 kB per millisecond of a 16-joint run.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rosbags.typesys import Stores, get_typestore

from contact_mpc.bags.builders import Builder, make_builder
from contact_mpc.bags.driver_joints import DriverJoints, DriverTopic, driver_joints
from contact_mpc.bags.record import RunRecord
from contact_mpc.bags.storage import DamagedBagError, raw_messages
from contact_mpc.bags.topics import TOPICS, assign_topics
from contact_mpc.errors import BagError

Progress = Callable[[int], None]


@dataclass
class _Scan:
    """State of one pass over a bag."""

    path: Path
    warnings: list[str] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    types: dict[str, str] = field(default_factory=dict)
    builders: dict[str, Builder] = field(default_factory=dict)
    driver: DriverJoints | None = None


def read_run(path: str | Path, namespace: str | None = None, progress: Progress | None = None) -> RunRecord:
    """Read a bag.

    Parameters
    ----------
    path : str or Path
        Folder of a rosbag2 bag, or its .mcap or .db3 file.
    namespace : str, optional
        Namespace of the robot; needed only where the bag holds several.
    progress : callable, optional
        Told the number of messages read so far, every thousand messages.

    Returns
    -------
    RunRecord
        One series per known topic; `warnings` says what is wrong with a bag that was cut off or damaged.

    Raises
    ------
    BagError
        There is no bag, nothing in it is readable, it holds none of the topics, two topics claim the same place, or a
        message contradicts its type; names file and topic.
    """
    path = Path(path).expanduser()
    try:
        scan = _scan(path, namespace, progress, recover=False)
    except DamagedBagError:
        scan = _scan(path, namespace, progress, recover=True)
    return _record(scan, namespace)


def _scan(path: Path, namespace: str | None, progress: Progress | None, *, recover: bool) -> _Scan:
    scan = _Scan(path)
    typestore = get_typestore(Stores.ROS2_JAZZY)
    for number, raw in enumerate(raw_messages(path, scan.warnings.append, recover=recover), start=1):
        if raw.topic not in scan.types:
            _meet_topic(scan, raw.topic, raw.msgtype, namespace)
        scan.counts[raw.topic] += 1
        builder = scan.builders.get(raw.topic)
        if builder is not None:
            try:
                builder.add(typestore.deserialize_cdr(raw.data, raw.msgtype), raw.receive_ns)
            except BagError:
                raise
            except Exception as error:  # a foreign definition makes the library raise nearly anything
                raise BagError(f"{path}: topic {raw.topic}: a message is no {raw.msgtype} ({error})") from error
            if builder.key == "metadata":  # the recorder's first message: it names a robot's own topics
                scan.driver = driver_joints(builder.build())
        if progress is not None and number % 1000 == 0:
            progress(number)
    return scan


def _meet_topic(scan: _Scan, topic: str, msgtype: str, namespace: str | None) -> None:
    """Register a topic at its first message and build its series if the run needs it."""
    scan.types[topic] = msgtype
    scan.counts[topic] = 0
    own = None if scan.driver is None else scan.driver.builder_of(topic, msgtype)
    if own is not None:
        scan.builders[topic] = own
        return
    known = {name: kind for name, kind in scan.types.items() if name == topic or _is_assigned(scan, name)}
    key = assign_topics(scan.path, known, namespace).get(topic)
    if key is not None:
        scan.builders[topic] = make_builder(key, topic, TOPICS[key].msgtype)


def _is_assigned(scan: _Scan, topic: str) -> bool:
    """Whether a topic feeds a series by its name."""
    return topic in scan.builders and not isinstance(scan.builders[topic], DriverTopic)


def _record(scan: _Scan, namespace: str | None) -> RunRecord:
    topics = {name: (scan.types[name], scan.counts[name]) for name in sorted(scan.types)}
    if not scan.builders:
        where = "" if namespace is None else f" under {namespace}"
        raise BagError(
            f"{scan.path}: none of its topics{where} belongs to a run ({', '.join(topics) or 'it is empty'}); expected "
            f"{', '.join(topic.suffix for topic in TOPICS.values())}"
        )
    fields: dict[str, Any] = {builder.key: builder.build() for builder in scan.builders.values()}
    for builder in scan.builders.values():
        scan.warnings.extend(builder.warnings())
    return RunRecord(path=scan.path, topics=topics, warnings=tuple(scan.warnings), **fields)
