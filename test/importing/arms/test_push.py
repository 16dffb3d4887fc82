"""Starts of pushes: where the face is pushed, postures behind it, and what cannot be pushed."""

from pathlib import Path

import numpy as np
import pytest

from contact_mpc.errors import ConfigError
from contact_mpc.importing.arms.push import GAP_M, MOST_SHARE, contact_offset, read_push, start_push
from contact_mpc.importing.objects import make_object
from contact_mpc.model.system import System
from contact_mpc.model.system_builder import load_system

Z = (0.0, 0.0, 1.0)
CUBE = make_object("cube:0.1", None)


@pytest.fixture(scope="module")
def arm(tmp_path_factory: pytest.TempPathFactory) -> System:
    """Return an arm of two links in a plane 0.06 m over the table, which slides up and down, with a ball at its end."""
    file = tmp_path_factory.mktemp("arm") / "arm.urdf"
    mass = '<inertial><mass value="1"/><inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>'
    limit = '<limit lower="-2.5" upper="2.5" effort="20" velocity="2"/>'
    ball = '<collision><origin xyz="0 0 0.1"/><geometry><sphere radius="0.02"/></geometry></collision>'
    parts = [
        ("lift", "prismatic", "base", "0 0 0.3", "0 0 0", "0 0 1"),
        ("upper", "revolute", "lift", "0 0 0", "0 0 0", "0 0 1"),
        ("fore", "revolute", "upper", "0.4 0 0", "0 0 0", "0 0 1"),
        ("tip", "revolute", "fore", "0.4 0 0", "3.14159265 0 0", "0 0 1"),
    ]
    text = '<robot name="arm"><link name="base"/>'
    for name, kind, parent, xyz, rpy, axis in parts:
        text += f'<link name="{name}">{mass}{ball if name == "tip" else ""}</link><joint name="j_{name}" type="{kind}">'
        text += f'<parent link="{parent}"/><child link="{name}"/><origin xyz="{xyz}" rpy="{rpy}"/>'
        text += f'<axis xyz="{axis}"/>{limit}</joint>'
    file.write_text(text + "</robot>")
    system = file.with_suffix(".yaml")
    system.write_text(
        "name: arm\nfriction: {default: 1.0}\nobjects: []\nrobots:\n  - {name: arm, urdf: arm.urdf, "
        "joint_stiffness_nm_per_rad: 100.0, joint_damping_nms_per_rad: 10.0}\n"
    )
    return load_system(system)


def test_a_push_without_turn_passes_the_centre_and_a_left_turn_its_right() -> None:
    assert contact_offset(CUBE, read_push("x:0.1", Z, 0.0)) == 0.0
    left = contact_offset(CUBE, read_push("x:0.1", Z, 10.0))
    assert left == pytest.approx(-0.5 * 0.1**2 * np.deg2rad(10.0) / 0.1)  # c^2 is half the square of the side
    assert contact_offset(CUBE, read_push("-y:0.1", Z, 10.0)) == pytest.approx(left)
    assert contact_offset(CUBE, read_push("x:0.01", Z, -60.0)) == pytest.approx(MOST_SHARE * 0.05)
    assert contact_offset(make_object("cylinder:0.05,0.1", None), read_push("x:0.1", Z, 10.0)) == 0.0


def test_the_end_of_the_arm_is_behind_the_face(arm: System) -> None:
    push = read_push("y:0.1", Z, 20.0)
    start = start_push(arm, "arm", "tip", CUBE, push, seed=1)
    q = arm.q_default.copy()
    q[arm.n_q_u :] = start.q_a
    upper, fore = start.q_a[1], start.q_a[1] + start.q_a[2]
    ball = np.array([0.4 * (np.cos(upper) + np.cos(fore)), 0.4 * (np.sin(upper) + np.sin(fore))])
    c, s = np.cos(start.yaw_rad), np.sin(start.yaw_rad)
    local = np.array([[c, s], [-s, c]]) @ (ball - start.position_m[:2])
    assert start.yaw_rad == pytest.approx(-0.5 * push.turn_rad)
    np.testing.assert_allclose(local[1], -(0.05 + 0.02 + GAP_M), atol=2e-3)
    np.testing.assert_allclose(-local[0], contact_offset(CUBE, push), atol=2e-3)
    assert start.room_rad > 0.0 and start.position_m[2] == pytest.approx(0.05)


@pytest.mark.parametrize(
    ("text", "axis", "turn_deg", "said"),
    [
        ("z:0.1", Z, 0.0, "expected AXIS:METRES"),
        ("x:far", Z, 0.0, "expected AXIS:METRES"),
        ("x:2", Z, 0.0, "0.005 to 0.5"),
        ("x:0.1", (1.0, 0.0, 0.0), 10.0, "turns about z alone"),
        ("x:0.1", Z, 90.0, "by at most 60 degrees"),
    ],
)
def test_pushes_that_do_not_read_are_told(
    text: str, axis: tuple[float, float, float], turn_deg: float, said: str
) -> None:
    with pytest.raises(ConfigError, match=said):
        read_push(text, axis, turn_deg)


def test_what_cannot_be_pushed_is_told(arm: System) -> None:
    push = read_push("x:0.1", Z, 0.0)
    with pytest.raises(ConfigError, match="the sides of a mug are not known; push one of ball, cube"):
        start_push(arm, "arm", "tip", make_object("mug:0.035,0.07", None), push, 0)
    with pytest.raises(ConfigError, match="reaches both ends of a push of 0.5 m nowhere"):
        start_push(arm, "arm", "tip", make_object("cube:0.9", None), read_push("x:0.5", Z, 0.0), 0)
    hand = load_system("leap_ball")
    assert Path(hand.path).is_file()
