"""What is drawn: visuals as the URDF has them, in the colours of their materials, meshes as they are."""

import dataclasses
import logging
import re
from pathlib import Path

import numpy as np
import pytest

from contact_mpc.model.system import System
from contact_mpc.model.system_builder import load_system
from contact_mpc.report.scene.visuals import MOST_TRIANGLES, drawn_shapes


def with_visual(system: System, folder: Path, geometry: str) -> System:
    """The planar hand's disc with another visual."""
    urdf = system.urdfs["disc"]
    bare = re.sub(r"<visual>.*?</visual>", "", urdf.text, flags=re.DOTALL)
    text = bare.replace("<collision>", f"<visual><geometry>{geometry}</geometry></visual><collision>", 1)
    edited = dataclasses.replace(urdf, text=text, path=folder / "disc.urdf")
    return dataclasses.replace(system, urdfs={**system.urdfs, "disc": edited})


@pytest.fixture(scope="module")
def hand() -> System:
    return load_system("planar_hand_ball")


def test_an_arm_is_drawn_whole_where_its_tool_alone_collides() -> None:
    """Only the tool's rod and head were to be seen, and the feet of the block in place of the block."""
    drawn = drawn_shapes(load_system("anypulator_block"))
    assert {"base", "shoulder", "upper_arm", "forearm"} <= {item.link for item in drawn if item.owner == "anypulator"}
    (block,) = [item for item in drawn if item.owner == "block"]
    assert block.kind == "box" and block.size == (0.2, 0.3, 0.19)
    np.testing.assert_allclose(block.colour, (0.55, 0.40, 0.25))


def test_what_is_fixed_is_drawn_by_its_shape() -> None:
    drawn = drawn_shapes(load_system("anypulator_block"))
    assert [(item.kind, item.body) for item in drawn if item.owner == "ground"] == [("half_space", -1)]


def test_a_visual_mesh_is_drawn_as_it_is_not_as_its_hull(hand: System, tmp_path: Path) -> None:
    (tmp_path / "corner.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 2 3\nf 1 3 4\n")
    mesh = '<mesh filename="corner.obj" scale="0.1 0.1 0.1"/>'
    (drawn,) = [item for item in drawn_shapes(with_visual(hand, tmp_path, mesh)) if item.owner == "disc"]
    assert drawn.kind == "triangles" and drawn.corners.shape == (2, 3, 3) and drawn.corners.max() == pytest.approx(0.1)


def test_a_fine_mesh_is_thinned_out_and_keeps_its_size(hand: System, tmp_path: Path) -> None:
    side = 60
    x, y = np.meshgrid(np.arange(side), np.arange(side))
    points = np.stack([x.ravel(), y.ravel(), 5.0 * np.sin(0.2 * x.ravel())], axis=1) / side
    first = (np.arange(side - 1)[:, None] * side + np.arange(side - 1)).ravel() + 1
    halves = ((0, 1, side), (1, side + 1, side))
    faces = np.vstack([np.stack([first + corner for corner in half], axis=1) for half in halves])
    lines = [*("v {} {} {}".format(*point) for point in points), *("f {} {} {}".format(*face) for face in faces)]
    (tmp_path / "wave.obj").write_text("\n".join(lines))
    drawn = drawn_shapes(with_visual(hand, tmp_path, '<mesh filename="wave.obj"/>'))
    (corners,) = [item.corners for item in drawn if item.owner == "disc"]
    assert len(faces) > MOST_TRIANGLES >= len(corners) > MOST_TRIANGLES // 4
    np.testing.assert_allclose(np.ptp(corners.reshape(-1, 3), axis=0), np.ptp(points, axis=0), rtol=0.1)


def test_a_visual_that_cannot_be_read_leaves_the_collision_shape(
    hand: System, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        drawn = drawn_shapes(with_visual(hand, tmp_path, '<mesh filename="gone.obj"/>'))
    assert [item.kind for item in drawn if item.owner == "disc"] == ["sphere"]
    assert "gone.obj" in caplog.text and "collision shapes of link" in caplog.text
