"""A tool on an arm: what is beyond its link goes, the shape is where it should be, mistakes are told."""

import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

from contact_mpc.errors import ConfigError
from contact_mpc.importing.arms.tool import TOOL, mount_tool, read_tool
from contact_mpc.model.urdf import read_urdf

JOINT = '<joint name="{0}" type="fixed"><parent link="{1}"/><child link="{2}"/></joint>'
ARM = (
    '<robot name="arm"><link name="base"/><link name="flange"/><link name="hand"/><link name="finger"/>'
    + JOINT.format("a", "base", "flange") + JOINT.format("b", "flange", "hand") + JOINT.format("c", "hand", "finger")
    + "</robot>"
)  # fmt: skip
FILE = Path("arm.urdf")


def mounted(text: str) -> tuple[ET.Element, str]:
    robot = ET.fromstring(ARM)
    return robot, mount_tool(robot, FILE, read_tool(text))


def test_everything_beyond_the_link_is_cut_off() -> None:
    robot, note = mounted("flange=ball:0.1,0.02")
    assert [link.get("name") for link in robot.findall("link")] == ["base", "flange", TOOL]
    assert [joint.get("name") for joint in robot.findall("joint")] == ["a", f"{TOOL}_mount"]
    assert "in the place of hand, finger" in note


@pytest.mark.parametrize(
    ("text", "kind", "size", "middle_m"),
    [
        ("flange=stick:0.2,0.01", "capsule", (0.01, 0.19), 0.095),  # its end is 0.2 beyond the flange
        ("flange=ball:0.1,0.02", "sphere", (0.02,), 0.1),
        ("flange=palm:0.1,0.02,0.08", "box", (0.02, 0.08, 0.08), 0.1),
    ],
)
def test_the_tool_has_its_shape(tmp_path: Path, text: str, kind: str, size: tuple[float, ...], middle_m: float) -> None:
    robot, _ = mounted(text)
    ET.ElementTree(robot).write(tmp_path / "arm.urdf")
    tool = read_urdf(tmp_path / "arm.urdf").links[TOOL]
    (shape,) = tool.collisions
    assert shape.kind == kind and shape.size == pytest.approx(size)
    np.testing.assert_allclose(shape.X_LG.p, [0.0, 0.0, middle_m])
    assert tool.mass > 0.0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("flange", "expected LINK=KIND:SIZES"),
        ("flange=stick:0.2", "expected LINK=KIND:SIZES"),
        ("flange=stick:0.02,0.01", "longer than thick"),
        ("flange=spoon:0.2,0.01", "stick:length,radius"),
        ("flange=ball:0.1,nan", "expected LINK=KIND:SIZES"),
        ("tip=ball:0.1,0.02", "no link 'tip'; known: base, flange, hand, finger"),
    ],
)
def test_mistakes_are_told_in_one_line(text: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said) as caught:
        mounted(text)
    assert "\n" not in str(caught.value)
