"""`contact-mpc import`: what it reads, what it proposes, and one line for every file that it cannot use."""

import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contact_mpc.cli.new.import_robot import read_limits
from contact_mpc.errors import ConfigError, ContactMpcError, ModelError
from contact_mpc.importing.prepare import JointOptions
from contact_mpc.importing.robot import ImportedRobot, import_robot
from contact_mpc.model.kinematics import forward_kinematics
from contact_mpc.model.system_builder import load_system

INERTIA = '<mass value="0.05"/><inertia ixx="1e-5" iyy="1e-5" izz="1e-5" ixy="0" ixz="0" iyz="0"/>'
LIMIT = '<limit lower="-0.2" upper="1.4" effort="0.7" velocity="6"/>'


def finger(name: str, y: float) -> str:
    """Return two links on hinges about y, the last with a ball at its end."""
    return f"""
  <link name="{name}_near"><inertial>{INERTIA}</inertial><visual><geometry><box size="1 1 1"/></geometry></visual>
    <collision><origin xyz="0.03 0 0"/><geometry><box size="0.06 0.02 0.02"/></geometry></collision></link>
  <link name="{name}_far"><inertial>{INERTIA}</inertial>
    <collision><origin xyz="0.05 0 0"/><geometry><sphere radius="0.01"/></geometry></collision></link>
  <joint name="{name}_1" type="revolute"><parent link="palm"/><child link="{name}_near"/>
    <origin xyz="0 {y} 0"/><axis xyz="0 -1 0"/>{LIMIT}</joint>
  <joint name="{name}_2" type="revolute"><parent link="{name}_near"/><child link="{name}_far"/>
    <origin xyz="0.06 0 0"/><axis xyz="0 -1 0"/>{LIMIT}</joint>"""


HAND = f'<robot name="hand"><link name="palm"/>{finger("a", -0.03)}{finger("b", 0.03)}</robot>'
Import = Callable[..., ImportedRobot]


@pytest.fixture
def bring(tmp_path: Path) -> Import:
    """Return an import of the two-fingered hand with some of its text replaced."""

    def run(*changes: tuple[str, str], **limits: dict[str, float]) -> ImportedRobot:
        text = HAND
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        (tmp_path / "hand.urdf").write_text(text)
        return import_robot(str(tmp_path / "hand.urdf"), "", tmp_path / "out", JointOptions(**limits))

    return run


def test_hand_becomes_a_system_that_a_person_can_read(bring: Import) -> None:
    found = bring()
    assert found.system.joint_names == ("a_1", "a_2", "b_1", "b_2")
    assert found.part.fingertips == ("a_far", "b_far")
    assert len(found.system_file.read_text().splitlines()) <= 20
    assert "visual" not in found.urdf.read_text()
    np.testing.assert_allclose(found.system.q_default, 0.6)
    assert repr(found.system).count("\n") == 0 and "q[0:4] hand: a_1, a_2, b_1, b_2" in repr(found.system)


def test_stiffness_follows_effort_and_damping_is_above_critical(bring: Import) -> None:
    system = bring().system
    # 0.7 N m at 0.07 rad is 10; 500 N/m at the end of a finger of 0.105 m is less
    np.testing.assert_allclose(system.kp, 5.5)
    assert np.all(system.kd > 2.0 * np.sqrt(system.kp * system.reflected_inertia))


def test_open_side_of_the_hand_is_up(bring: Import) -> None:
    """Hinges about -y bend fingers along x towards +z, the file's z; turned by half a turn the base turns back."""

    def tip_height(found: ImportedRobot) -> float:
        R, p = forward_kinematics(found.system.tree, found.system.q_default)
        body, _ = found.system.links["hand", "a_far"]
        return float((R[body] @ [0.05, 0.0, 0.0] + p[body])[2])

    assert tip_height(bring()) > 0.04
    assert tip_height(bring(('<axis xyz="0 -1 0"/>', '<axis xyz="0 1 0"/>'))) > 0.04


def test_missing_limits_are_asked_for_by_name_and_filled_in(bring: Import) -> None:
    without = LIMIT.replace('effort="0.7" ', "")
    with pytest.raises(ConfigError, match=r"no effort limit of joints a_1, a_2, b_1, b_2; give --effort-nm NUMBER"):
        bring((LIMIT, without))
    system = bring((LIMIT, without), effort=read_limits(["0.5", "b_2=0.25"], "--effort-nm")).system
    np.testing.assert_allclose(system.tau_max_nm, [0.5, 0.5, 0.5, 0.25])
    with pytest.raises(ConfigError, match="no joint 'c' to limit; known: a_1, a_2"):
        bring(effort={"c": 1.0})


def test_links_without_inertia_get_one_and_it_is_said(bring: Import) -> None:
    found = bring((f"<inertial>{INERTIA}</inertial>", ""))
    assert all(found.system.tree.mass > 0.0)
    assert any("link 'a_near' has no mass; assumed 24.0 g" in line for line in found.assumptions)


def test_continuous_joints_and_unknown_tags_are_named(bring: Import) -> None:
    found = bring(('<joint name="a_1" type="revolute">', '<joint name="a_1" type="continuous"><sensor/>'))
    text = "; ".join(found.assumptions)
    assert "range of continuous joints is -pi to pi: a_1" in text and "<sensor> of <joint>" in text


def test_a_link_that_is_the_world_gets_a_name_that_engines_take(bring: Import) -> None:
    """UR and xArm of example-robot-data stand on such a link, as does every MJCF file."""
    found = bring(("palm", "world"))
    assert found.system.urdfs["hand"].root == "fixed_base"
    assert any("link 'world' is called 'fixed_base'" in note for note in found.assumptions)
    found.urdf.write_text(found.urdf.read_text().replace("fixed_base", "world"))
    with pytest.raises(ModelError, match="link 'world': engines have a world of their own"):
        load_system(found.system_file)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('<sphere radius="0.01"/>', '<mesh filename="package://my_hand/tip.stl"/>', "ROS_PACKAGE_PATH"),
        ('<sphere radius="0.01"/>', '<mesh filename="tip.stl"/>', "the mesh file does not exist"),
        ('<parent link="palm"/><child link="b_near"/>', '<parent link="b_far"/><child link="b_near"/>', "one tree"),
        ('type="revolute"', 'type="floating"', "allowed: fixed, revolute"),
        ('type="revolute"', 'type="fixed"', "no robot has a joint that moves"),
        ('lower="-0.2" ', "", "needs finite <limit>"),
        ("<robot", "<model", "expected <robot>"),
    ],
)
def test_what_cannot_be_used_ends_in_one_line(bring: Import, old: str, new: str, said: str) -> None:
    changes = [(old, new)] + ([("</robot", "</model")] if old == "<robot" else [])
    with pytest.raises(ContactMpcError, match=said) as caught:
        bring(*changes)
    assert "hand.urdf" in str(caught.value) and "\n" not in str(caught.value)


def test_robot_of_an_unknown_package_is_refused() -> None:
    with pytest.raises(ConfigError, match="'no-such-robots' is not installed"):
        import_robot("no-such-robots:panda", "", Path("."), JointOptions())


def test_coupled_joints_stay_coupled_and_ask_for_no_limits(bring: Import) -> None:
    """A last joint on a linkage: the hand has one degree of freedom less, which moves two axes."""
    coupled = '<joint name="a_2" type="revolute"><mimic joint="a_1" multiplier="0.5" offset="0.1"/>'
    found = bring(
        ('<joint name="a_2" type="revolute">', coupled),
        (f'<origin xyz="0.06 0 0"/><axis xyz="0 -1 0"/>{LIMIT}', '<origin xyz="0.06 0 0"/><axis xyz="0 -1 0"/>'),
        (
            '<child link="b_far"/>\n    <origin xyz="0.06 0 0"/><axis xyz="0 -1 0"/>',
            f'<child link="b_far"/>\n    <origin xyz="0.06 0 0"/><axis xyz="0 -1 0"/>{LIMIT}',
        ),
    )
    assert found.system.joint_names == ("a_1", "b_1", "b_2")
    assert any("'a_2' follows 'a_1'" in note for note in found.assumptions)
    q = np.array([0.4, 0.2, 0.3])  # both hinges of a finger about -y: 0.4, then 0.5 x 0.4 + 0.1
    R, _ = forward_kinematics(found.system.tree, q)
    body, _ = found.system.links["hand", "a_far"]
    base = R[found.system.links["hand", "a_near"][0]]
    assert np.arccos(0.5 * (np.trace(base.T @ R[body]) - 1.0)) == pytest.approx(0.3)


ATTRIBUTES = ("xyz", "rpy", "lower", "upper", "effort", "velocity", "value", "link", "name", "type", "radius", "ixx")
VALUES = ("", "nan", "inf", "-1", "0", "1e300", "0 0 0", "a_near", "palm", "prismatic", "fixed", "ä / '")


@given(st.data())
def test_mutated_urdf_ends_in_a_system_or_in_one_line(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    robot = ET.fromstring(HAND)
    for _ in range(data.draw(st.integers(1, 3))):
        element = data.draw(st.sampled_from(list(robot.iter())))
        if data.draw(st.booleans()) and len(element):
            element.remove(data.draw(st.sampled_from(list(element))))
        else:
            element.set(data.draw(st.sampled_from(ATTRIBUTES)), data.draw(st.sampled_from(VALUES)))
    folder = tmp_path_factory.mktemp("mutated")
    (folder / "hand.urdf").write_text(ET.tostring(robot, encoding="unicode"))
    try:
        found = import_robot(str(folder / "hand.urdf"), "", folder / "out", JointOptions())
    except ContactMpcError as error:
        assert "\n" not in str(error)
    else:
        assert np.all(np.isfinite(found.system.kp)) and np.all(found.system.kp > 0.0)


MJCF = """<mujoco><default><geom type="sphere" size="0.01"/></default><worldbody><body name="base" pos="0 0 0.1">
  <body name="link" pos="0.1 0 0" euler="0 0 90"><inertial mass="0.2" pos="0.01 0 0" diaginertia="1e-4 1e-4 1e-4"/>
    <joint name="first" axis="0 0 1" pos="0 0.02 0" range="-60 60"/><joint name="second" axis="0 1 0" range="-30 90"/>
    <geom pos="0.05 0 0"/><geom type="ellipsoid" size="0.02 0.01 0.01" pos="0 0 0.1"/>
    <geom type="box" size="1 1 1" contype="0" conaffinity="0"/>
  </body></body></worldbody><actuator><motor joint="first" gear="2" ctrlrange="-1.5 1.5"/>
  <position joint="second" kp="3" forcerange="-0.4 0.4"/></actuator></mujoco>"""


def test_mjcf_moves_as_in_mujoco(tmp_path: Path) -> None:
    mujoco = pytest.importorskip("mujoco")
    (tmp_path / "arm.xml").write_text(MJCF)
    found = import_robot(str(tmp_path / "arm.xml"), "arm", tmp_path / "out", JointOptions(velocity={"": 3.0}))
    system = found.system
    np.testing.assert_allclose(system.tau_max_nm, [3.0, 0.4])
    np.testing.assert_allclose(np.rad2deg([system.q_min, system.q_max]), [[-60, -30], [60, 90]], atol=1e-9)
    model = mujoco.MjModel.from_xml_string(MJCF)
    state = mujoco.MjData(model)
    state.qpos[:] = (0.7, -0.3)
    mujoco.mj_forward(model, state)
    R, p = forward_kinematics(system.tree, np.array([0.7, -0.3]))
    ball = next(item for item in system.geometries if item.shape.kind == "sphere")
    centre, middle = R[ball.body] @ ball.X_BG.p + p[ball.body], R[1] @ system.tree.p_BC[1] + p[1]
    np.testing.assert_allclose(centre, state.geom_xpos[0], atol=1e-9)
    np.testing.assert_allclose(middle, state.xipos[model.body("link").id], atol=1e-9)
    assert len(system.geometries) == 2  # what cannot collide is left out


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('<joint name="first"', '<joint type="ball" name="first"', "MuJoCo cannot read it|is a ball"),
        ("</worldbody>", "</worldbody><equality><connect body1='link' anchor='0 0 0'/></equality>", "closes a loop"),
        ('range="-60 60"', 'reach="60"', "MuJoCo cannot read it"),
    ],
)
def test_mjcf_that_no_urdf_can_say_ends_in_one_line(tmp_path: Path, old: str, new: str, said: str) -> None:
    pytest.importorskip("mujoco")
    (tmp_path / "arm.xml").write_text(MJCF.replace(old, new))
    with pytest.raises(ModelError, match=said) as caught:
        import_robot(str(tmp_path / "arm.xml"), "", tmp_path / "out", JointOptions(velocity={"": 3.0}))
    assert "\n" not in str(caught.value)


def test_xacro_is_expanded(tmp_path: Path) -> None:
    pytest.importorskip("xacro")
    head = '<robot name="hand" xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:property name="r" value="0.012"/>'
    text = HAND.replace('<robot name="hand">', head).replace('radius="0.01"', 'radius="${r}"')
    (tmp_path / "hand.urdf.xacro").write_text(text)
    found = import_robot(str(tmp_path / "hand.urdf.xacro"), "", tmp_path / "out", JointOptions())
    assert max(item.shape.size[0] for item in found.system.geometries if item.shape.kind == "sphere") == 0.012
    (tmp_path / "hand.urdf.xacro").write_text(text.replace("${r}", "${s}"))
    with pytest.raises(ModelError, match="xacro cannot expand it"):
        import_robot(str(tmp_path / "hand.urdf.xacro"), "", tmp_path / "out", JointOptions())


CORNERS = 0.01 * np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=float)  # m


def write_mesh(path: Path, corners: np.ndarray, faces: tuple[str, ...] = ("1 3 2", "1 2 4", "1 4 3", "2 3 4")) -> None:
    rows = [f"v {x} {y} {z}" for x, y, z in corners.tolist()] + [f"f {face}" for face in faces]
    path.write_text("\n".join([*rows, ""]))


@pytest.mark.parametrize(
    ("corners", "said"),
    [
        (CORNERS @ np.diag([1.0, 1.0, 0.0]) + [[0, 0, 0], [0, 0, 0], [0, 0, 0], [0.01, 0.01, 0]], "the mesh is flat"),
        (1e5 * CORNERS, "is it in mm"),
        (1e-6 * CORNERS, "is it in mm"),
        (CORNERS[:3], "expected 4 or more"),
    ],
)
def test_mesh_that_is_degenerate_or_huge_is_named_with_its_link(
    bring: Import, tmp_path: Path, corners: np.ndarray, said: str
) -> None:
    write_mesh(tmp_path / "tip.obj", corners, ("1 2 3",) if len(corners) == 3 else ("1 3 2", "1 2 4", "1 4 3", "2 3 4"))
    with pytest.raises(ContactMpcError, match=said) as caught:
        bring(('<sphere radius="0.01"/>', '<mesh filename="tip.obj"/>'))
    assert "link 'a_far'" in str(caught.value) and "tip.obj" in str(caught.value) and "\n" not in str(caught.value)


def test_open_mesh_is_taken_as_its_hull(bring: Import, tmp_path: Path) -> None:
    write_mesh(tmp_path / "tip.obj", CORNERS, ("1 3 2", "1 2 4"))
    found = bring(('<sphere radius="0.01"/>', '<mesh filename="tip.obj"/>'))
    kinds = {item.shape.kind for item in found.system.geometries if item.link == "a_far"}
    assert kinds == {"hull"} and any("convex hull of 4 vertices" in note for note in found.assumptions)
