"""The URDF reader: what it reads, and a clear refusal of what it cannot use."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from contact_mpc.errors import ModelError
from contact_mpc.model.kinematic_tree import TreeBuilder
from contact_mpc.model.urdf import Pose, Urdf, read_urdf

ARM = """<robot name="arm" xmlns:drake="http://drake.mit.edu">
  <link name="base"/>
  <link name="upper">
    <inertial><origin xyz="0.1 0 0" rpy="0 0 1.5707963267948966"/><mass value="2"/>
      <inertia ixx="1" iyy="2" izz="3" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><origin xyz="0 0 1"/><geometry><drake:capsule radius="0.1" length="0.4"/></geometry></collision>
  </link>
  <joint name="turn" type="revolute"><parent link="base"/><child link="upper"/><axis xyz="0 0 2"/>
    <limit lower="-1" upper="1.5" effort="3" velocity="4"/></joint>
</robot>"""
BALL = '<collision><geometry><sphere radius="1"/></geometry></collision>'


@pytest.fixture
def read(tmp_path: Path) -> Callable[..., Urdf]:
    """Return a reader of the arm with some of its text replaced."""

    def make(*changes: tuple[str, str]) -> Urdf:
        text = ARM
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        (tmp_path / "arm.urdf").write_text(text)
        return read_urdf(tmp_path / "arm.urdf")

    return make


def test_joint_and_link_are_read(read: Callable) -> None:
    urdf = read()
    joint, link = urdf.joints[0], urdf.links["upper"]
    assert (urdf.name, urdf.root, joint.name, joint.kind) == ("arm", "base", "turn", "revolute")
    assert (joint.lower, joint.upper, joint.effort, joint.velocity) == (-1.0, 1.5, 3.0, 4.0)
    np.testing.assert_array_equal(joint.axis, [0.0, 0.0, 1.0])
    assert link.collisions[0].kind == "capsule" and link.collisions[0].size == (0.1, 0.4)


def test_inertia_is_turned_into_the_axes_of_the_link(read: Callable) -> None:
    np.testing.assert_allclose(read().links["upper"].inertia, np.diag([2.0, 1.0, 3.0]), atol=1e-12)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('<drake:capsule radius="0.1" length="0.4"/>', '<mesh filename="a.stl"/>', ("upper", "a.stl", "not exist")),
        ('<drake:capsule radius="0.1" length="0.4"/>', '<cone radius="1"/>', ("upper", "cone", "sphere, box", "mesh")),
        ('radius="0.1"', 'radius="-0.1"', ("upper", "positive")),
        ('radius="0.1" ', "", ("radius",)),
        ('xyz="0 0 2"', 'xyz="0 0 0"', ("turn", "axis")),
        ('xyz="0 0 2"', 'xyz="0 0"', ("xyz", "3 finite")),
        ('xyz="0 0 2"', 'xyz="0 0 up"', ("xyz", "numbers")),
        ('lower="-1"', 'lower="-90deg"', ("lower", "-90deg", "number")),
        ('effort="3"', 'effort="inf"', ("effort", "finite")),
        ('value="2"', 'value="-2"', ("upper", "mass")),
        ('type="revolute"', 'type="floating"', ("turn", "floating", "revolute")),
        ('<parent link="base"/>', "", ("turn", "parent")),
        ('<parent link="base"/>', '<parent link="bass"/>', ("bass",)),
        ('<link name="base"/>', '<link name="base"/><link name="loose"/>', ("loose", "one tree")),
        ('<link name="base"/>', '<link name="base"/><link name="base"/>', ("link", "base", "2 time")),
        ('joint name="turn"', "joint", ("joint", "name")),
        ('<link name="base"/>', "", ("base",)),
        ("</robot>", "", ("XML",)),
    ],
)
def test_defect_is_named(old: str, new: str, words: tuple[str, ...], read: Callable) -> None:
    with pytest.raises(ModelError) as caught:
        read((old, new))
    for word in ("arm.urdf", *words):
        assert word in str(caught.value)


def test_links_in_a_loop_beside_the_tree_are_refused(read: Callable) -> None:
    loop = "".join(
        f'<link name="{a}"/><joint name="to_{b}" type="fixed"><parent link="{a}"/><child link="{b}"/></joint>'
        for a, b in ("xy", "yx")
    )
    with pytest.raises(ModelError, match="one tree"):
        read(("</robot>", loop + "</robot>"))


def test_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"none\.urdf"):
        read_urdf(tmp_path / "none.urdf")


@pytest.mark.parametrize("length", [1e-8, 1.0, 1e200, 1e308])
def test_an_axis_of_any_length_is_a_direction(read: Callable, length: float) -> None:
    joint = read(("0 0 2", f"0 {length} {length}")).joints[0]
    np.testing.assert_allclose(joint.axis, [0.0, np.sqrt(0.5), np.sqrt(0.5)], rtol=1e-15)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('ixx="1"', 'ixx="-1"', "principal moments of inertia .* expected 0 or more"),
        ('ixy="0"', 'ixy="5"', "principal moments of inertia .* expected 0 or more"),
        ('<link name="base"/>', '<link name="base"/>' + "<a>" * 60 + "</a>" * 60, "nested deeper than"),
        ("<robot", '<?xml version="1.0" encoding="klingon"?><robot', "not valid XML"),
        ("<robot", '<?xml version="1.0" encoding="utf-7"?><robot', "not valid XML"),
        ("</robot>", "".join(f'<link name="l{i}"/>' for i in range(2000)) + "</robot>", "links; at most 1000"),
        ("</robot>", '<link name="l">' + BALL * 20_000 + "</link></robot>", "20001 collision elements; at most 2000"),
        ('name="turn"', 'name="\u00fc"', "byte 0xfc|not well-formed|invalid token"),
    ],
)
def test_hostile_files_are_refused_in_one_line(tmp_path: Path, old: str, new: str, words: str) -> None:
    assert old in ARM
    path = tmp_path / "arm.urdf"
    path.write_bytes(ARM.replace(old, new, 1).encode("latin-1"))
    with pytest.raises(ModelError, match=words):
        read_urdf(path)


def test_a_chain_as_long_as_a_file_may_have_links_is_laid_out_from_its_base_to_its_tip(tmp_path: Path) -> None:
    count, path = 1000, tmp_path / "chain.urdf"
    joints = (
        f'<joint name="j{i}" type="{"fixed" if i % 2 else "continuous"}"><origin xyz="0 0 1"/>'
        f'<parent link="l{i}"/><child link="l{i + 1}"/></joint>'
        for i in range(count - 1)
    )
    links = "".join(f'<link name="l{i}"/>' for i in range(count))
    path.write_text(f'<robot name="c">{links}{"".join(joints)}</robot>')
    builder = TreeBuilder()
    builder.add(read_urdf(path), "chain", Pose(np.eye(3), np.zeros(3)), free=False)
    assert [joint.name for joint in builder.joints] == [f"j{i}" for i in range(0, count - 1, 2)]
    assert [body.parent for body in builder.bodies] == list(range(-1, count // 2 - 1))
    body, X_BL = builder.links["chain", f"l{count - 1}"]
    assert body == count // 2 - 1
    np.testing.assert_array_equal(X_BL.p, np.zeros(3))


def test_joints_of_a_branched_tree_come_depth_first_in_the_order_of_the_file(tmp_path: Path) -> None:
    path, pairs = tmp_path / "branched.urdf", ("ab", "ac", "be", "bd", "cf")
    links = "".join(f'<link name="{name}"/>' for name in "abcdef")
    joints = "".join(
        f'<joint name="{a}{b}" type="continuous"><parent link="{a}"/><child link="{b}"/></joint>' for a, b in pairs
    )
    path.write_text(f'<robot name="b">{links}{joints}</robot>')
    builder = TreeBuilder()
    builder.add(read_urdf(path), "branched", Pose(np.eye(3), np.zeros(3)), free=True)
    assert [joint.name for joint in builder.joints] == ["ab", "be", "bd", "ac", "cf"]
    assert [body.parent for body in builder.bodies] == [-1, 0, 1, 1, 0, 4]
