"""Bags are read back as they were written, whoever wrote them and however they ended."""

import shutil
from binascii import crc32

import numpy as np
import pytest
from mcap.reader import make_reader
from rosbags.rosbag2 import StoragePlugin

from contact_mpc.bags.bag import read_run
from contact_mpc.bags.recovery import CHUNK, CHUNK_HEAD, MAGIC, RECORD_HEAD
from contact_mpc.errors import BagError

CDR_HEAD = 4


@pytest.fixture
def bag(synthetic_run, tmp_path):
    return synthetic_run().write(tmp_path / "run")


def test_every_series_has_one_row_per_message_and_the_values_written(bag, synthetic_run):
    run, record = synthetic_run(), read_run(bag)
    stamps = run.stamps()
    np.testing.assert_array_equal(record.joint_states.t_ns, stamps)
    np.testing.assert_array_equal(record.joint_states.receive_ns, [run.wall(t) for t in stamps.tolist()])
    np.testing.assert_array_equal(record.effort_commands.t_ns, stamps)
    np.testing.assert_array_equal(record.effort_commands.values[0], [0.1, -0.05])
    poses = [run.pose(t) for t in stamps.tolist()]
    np.testing.assert_array_equal(record.plant_odom.quaternion_wxyz, [wxyz for wxyz, _ in poses])
    np.testing.assert_array_equal(record.plant_odom.position_m, [position for _, position in poses])
    assert record.joint_states.names == ("joint_one", "joint_two")
    assert len(record.plans) == len(stamps[::100])
    np.testing.assert_allclose(record.plans[0].times_s, [0.0, 0.1, 0.2], atol=1e-12)
    assert record.object_references[0].quaternion_wxyz.shape == (6, 1, 4)
    assert record.metadata["seed"] == 7
    assert record.solve_status[1].values == {"solve_ms": "2.0"}
    assert record.warnings == ()


def test_the_mcap_library_reads_the_same_commands(bag):
    record = read_run(bag)
    with (bag / "run.mcap").open("rb") as file:
        found = [
            np.frombuffer(message.data[-16:], dtype="<f8")
            for _, channel, message in make_reader(file).iter_messages(topics=["/finger/effort_controller/commands"])
            if channel.topic.endswith("commands")
        ]
    np.testing.assert_array_equal(record.effort_commands.values, found)


def test_sqlite_bag_gives_the_same_record(bag, synthetic_run, tmp_path):
    other = read_run(synthetic_run(storage=StoragePlugin.SQLITE3).write(tmp_path / "lite"))
    record = read_run(bag)
    np.testing.assert_array_equal(other.joint_states.position, record.joint_states.position)
    np.testing.assert_array_equal(other.plant_odom.t_ns, record.plant_odom.t_ns)
    assert other.topics == record.topics


def test_single_file_is_read_without_its_folder(bag):
    assert read_run(bag / "run.mcap").topics == read_run(bag).topics


@pytest.mark.parametrize("namespace", ["", "/robots/left/finger"])
def test_topics_are_found_under_any_namespace(synthetic_run, tmp_path, namespace):
    record = read_run(synthetic_run(namespace=namespace).write(tmp_path / "run"))
    assert record.joint_states.topic == f"{namespace}/joint_states"
    assert record.estimated_joints.topic == f"{namespace}/state_estimator/joint_states"


def test_two_robots_are_refused_by_name_until_one_is_chosen(bag_writer):
    writer, messages, path = bag_writer("two", namespace="")
    for robot, value in (("/left", 1.0), ("/right", 2.0)):
        state = messages.joints(10**9, ("a",), [value], [], [])
        writer.add(f"{robot[1:]}/joint_states", 5, state)
    writer.close()
    with pytest.raises(BagError, match="joint_states is ambiguous: /left/joint_states, /right/joint_states.*name"):
        read_run(path)
    assert read_run(path, namespace="/right").joint_states.position[0, 0] == 2.0
    with pytest.raises(BagError, match="none of its topics under /middle"):
        read_run(path, namespace="/middle")


def test_empty_fields_have_no_columns_and_reordered_joints_are_sorted_by_name(bag_writer):
    writer, messages, path = bag_writer("order")
    writer.add("joint_states", 1, messages.joints(10**9, ("a", "b"), [1.0, 2.0], [], []))
    writer.add("joint_states", 2, messages.joints(10**9 + 1, ("b", "a"), [20.0, 10.0], [], [], frame="123"))
    writer.add("joint_states", 3, messages.joints(10**9 + 2, ("gripper",), [0.5], [], []))
    writer.close()
    record = read_run(path)
    np.testing.assert_array_equal(record.joint_states.position, [[1.0, 2.0], [10.0, 20.0]])
    np.testing.assert_array_equal(record.joint_states.pose_stamp_ns, [-1, 123])
    assert record.joint_states.velocity.shape == (2, 0)
    assert "1 messages left out: their joints are gripper, not a, b" in record.warnings[0]
    with pytest.raises(BagError, match="carry no velocity"):
        record.joint_states.select("velocity", ("a",))
    with pytest.raises(BagError, match="no joint c; it has a, b"):
        record.joint_states.select("position", ("a", "c"))


def test_a_plan_without_points_is_kept_as_a_hold(bag_writer):
    writer, messages, path = bag_writer("hold")
    nothing = np.zeros((0, 2))
    writer.add("mpc_tracker/plan", 1, messages.trajectory(10**9, ("a", "b"), [], nothing, nothing, nothing))
    writer.close()
    plan = read_run(path).plans[0]
    assert plan.times_s.shape == (0,)
    assert plan.position.shape == (0, 2)


@pytest.fixture(scope="module")
def long_bag(synthetic_run, tmp_path_factory):
    return synthetic_run(motion_s=3.0, hold_s=1.0).write(tmp_path_factory.mktemp("long") / "run")


@pytest.mark.parametrize("part", [0.5, 0.9, 0.999])
def test_truncated_bag_is_recovered_up_to_the_last_complete_chunk(long_bag, tmp_path, part):
    whole = read_run(long_bag)
    data = (long_bag / "run.mcap").read_bytes()
    folder = tmp_path / "cut"
    folder.mkdir()
    (folder / "cut.mcap").write_bytes(data[: int(part * len(data))])
    record = read_run(folder)
    count = len(record.joint_states)
    assert count > 0.2 * len(whole.joint_states)
    np.testing.assert_array_equal(record.joint_states.position, whole.joint_states.position[:count])
    assert "metadata.yaml is missing" in record.warnings[0] or "cut off" in record.warnings[0]
    assert any("cut.mcap is cut off or damaged" in warning for warning in record.warnings)


def test_unclosed_bag_without_metadata_file_is_complete(long_bag, tmp_path):
    folder = tmp_path / "unclosed"
    folder.mkdir()
    shutil.copy(long_bag / "run.mcap", folder / "run.mcap")
    record = read_run(folder)
    assert record.topics == read_run(long_bag).topics
    assert "metadata.yaml is missing" in record.warnings[0]


def chunks(data):
    """Return (start, length) of the content of every chunk."""
    found, at = [], len(MAGIC)
    while data[at : at + len(MAGIC)] != MAGIC:
        opcode, length = RECORD_HEAD.unpack_from(data, at)
        at += RECORD_HEAD.size
        if opcode == CHUNK:
            found.append((at, length))
        at += length
    return found


def test_every_chunk_has_the_checksum_that_the_format_asks_for(long_bag):
    data = (long_bag / "run.mcap").read_bytes()
    found = chunks(data)
    assert len(found) > 2
    for start, length in found:
        _, _, size, crc = CHUNK_HEAD.unpack_from(data, start)
        assert crc == crc32(data[start + length - size : start + length]) != 0


@pytest.mark.parametrize("damaged", [(0,), (1,), (0, 2)])
def test_a_flipped_bit_is_reported_and_costs_its_chunk_alone(long_bag, tmp_path, damaged):
    """Read without a word, one bit made -0.138 of -0.277 rad."""
    data, whole = bytearray((long_bag / "run.mcap").read_bytes()), read_run(long_bag)
    found = chunks(data)
    for index in damaged:
        start, length = found[index]
        data[start + length // 2] ^= 0x10
    folder = tmp_path / "flipped"
    shutil.copytree(long_bag, folder)
    (folder / "run.mcap").write_bytes(data)
    record = read_run(folder)
    assert [warning for warning in record.warnings if "does not fit its checksum" in warning] == [
        *record.warnings[: len(damaged)]
    ]
    assert len(damaged) == sum(f"at byte {found[index][0] - 9} of" in "".join(record.warnings) for index in damaged)
    kept = np.isin(whole.joint_states.t_ns, record.joint_states.t_ns)
    assert 0 < kept.sum() == len(record.joint_states) < len(whole.joint_states)
    np.testing.assert_array_equal(record.joint_states.position, whole.joint_states.position[kept])


def test_damaged_chunk_ends_the_recovery_there(long_bag, tmp_path):
    data = bytearray((long_bag / "run.mcap").read_bytes())
    second_chunk = data.index(b"\x06", 1_200_000)
    data[second_chunk : second_chunk + 500_000] = b"\xff" * 500_000
    path = tmp_path / "damaged.mcap"
    path.write_bytes(data)
    record, whole = read_run(path), read_run(long_bag)
    assert 0 < len(record.joint_states) < len(whole.joint_states)
    assert "damaged.mcap is cut off or damaged" in record.warnings[0]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda p: None, "no such bag"),
        (lambda p: p.mkdir(), "no .mcap or .db3 file"),
        (lambda p: (p.mkdir(), (p / "a.mcap").touch()), "the file is empty"),
        (lambda p: (p.mkdir(), (p / "a.mcap").write_bytes(b"not an mcap file")), "no message can be recovered"),
        (lambda p: (p.mkdir(), (p / "a.db3").write_bytes(b"not a database")), "no message can be recovered"),
        (lambda p: p.write_text("x"), "not a rosbag2 bag"),
        (lambda p: ((p / "bag").mkdir(parents=True), (p / "bag" / "a.mcap").touch()), "there is one in .*thing/bag"),
    ],
)
def test_what_is_no_bag_is_refused_with_its_path(tmp_path, make, message):
    path = tmp_path / "thing"
    make(path)
    with pytest.raises(BagError, match=message) as error:
        read_run(path)
    assert str(path) in str(error.value)


def test_bag_of_something_else_names_its_topics(bag_writer):
    writer, messages, path = bag_writer("foreign", namespace="/camera")
    writer.add("image_note", 1, messages.text("hello"))
    writer.close()
    with pytest.raises(BagError, match="none of its topics belongs to a run .*/camera/image_note"):
        read_run(path)


def test_missing_topic_is_named_with_what_there_is(synthetic_run, tmp_path):
    record = read_run(synthetic_run(without=("mpc_tracker/plan",)).write(tmp_path / "run"))
    record.need("joint_states", "applied")
    with pytest.raises(BagError, match="no messages on mpc_tracker/plan; it has .*/finger/joint_states"):
        record.need("joint_states", "plans")


def test_metadata_that_is_no_json_is_refused(bag_writer):
    writer, messages, path = bag_writer("odd")
    writer.add("run_metadata", 1, messages.types["std_msgs/msg/String"]("{not json"))
    writer.close()
    with pytest.raises(BagError, match="/finger/run_metadata: not valid JSON"):
        read_run(path)
