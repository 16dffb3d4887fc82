"""The extent of an object is that of the shapes it is made of, as its system places them."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from contact_mpc.geometry.extent import half_extent, times_usual, to_all_sides
from contact_mpc.importing.objects import make_object, write_object
from contact_mpc.model.system import System
from contact_mpc.model.system_builder import load_system

SYSTEM = """
name: alone
friction: {{default: 1.0}}
robots:
  - {{name: pusher, urdf: pusher_xyz.urdf, joint_stiffness_nm_per_rad: 100.0, joint_damping_nms_per_rad: 1.0}}
objects:
  - {{name: thing, urdf: {urdf}, mobility: free, position_m: [0.3, 0.2, 0.1], rpy_rad: [0.0, 0.0, {yaw}]}}
"""


@pytest.mark.parametrize(
    ("name", "half_m"),
    [("allegro_ball", (0.06, 0.06, 0.06)), ("allegro_cube", (0.03, 0.03, 0.03)), ("allegro_plate", (0.1, 0.125, 0.01)),
     ("planar_hand_ball", (0.25, 0.25, 0.25))],
)  # fmt: skip
def test_shipped_objects(named_system: Callable[[str], System], name: str, half_m: tuple[float, float, float]) -> None:
    np.testing.assert_allclose(half_extent(named_system(name)), half_m)


@pytest.mark.parametrize(
    "thing", ["box:0.05,0.06,0.07", "capsule:0.025,0.04", "cylinder:0.03,0.06", "wedge:0.07,0.06,0.06"]
)  # fmt: skip
@pytest.mark.parametrize("yaw", [0.0, 0.5 * np.pi])
def test_objects_of_ones_own_lie_as_they_are_placed(tmp_path: Path, thing: str, yaw: float) -> None:
    item = make_object(thing, None)
    write_object(item, tmp_path)
    path = tmp_path / "alone.yaml"
    path.write_text(SYSTEM.format(urdf=f"{item.name}.urdf", yaw=yaw))
    wanted = np.array(item.half_extent_m)
    np.testing.assert_allclose(half_extent(load_system(path)), wanted[[1, 0, 2]] if yaw else wanted, rtol=0.02)


@pytest.mark.parametrize(
    ("name", "times"), [("allegro_cube", 1.0), ("allegro_ball", 1.0), ("planar_hand_ball", 0.25 / 0.06)]
)
def test_lengths_grow_with_objects_that_are_larger_than_usual(
    named_system: Callable[[str], System], name: str, times: float
) -> None:
    assert times_usual(named_system(name), 0.06) == pytest.approx(times)


def test_to_all_sides_is_across_the_vertical() -> None:
    up = np.array([0.6, 0.0, 0.8])
    offsets = to_all_sides(up, 0.02)
    np.testing.assert_array_equal(offsets[0], 0.0)
    np.testing.assert_allclose(np.linalg.norm(offsets[1:], axis=1), 0.02)
    np.testing.assert_allclose(offsets @ up, 0.0, atol=1e-15)
    np.testing.assert_allclose(offsets.sum(axis=0), 0.0, atol=1e-15)
