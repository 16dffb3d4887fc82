"""Objects look the same after the turns of their symmetry, and after no others."""

from pathlib import Path

import numpy as np
import pytest

from contact_mpc.geometry.symmetry import Symmetry, object_symmetry
from contact_mpc.importing.objects import make_object, write_object
from contact_mpc.model.rotations import rotation_exp
from contact_mpc.model.system_builder import load_system

SYSTEM = """
name: alone
friction: {default: 1.0}
robots:
  - {name: pusher, urdf: pusher_xyz.urdf, joint_stiffness_nm_per_rad: 100.0, joint_damping_nms_per_rad: 1.0}
objects:
  - {name: thing, urdf: thing.urdf, mobility: free}
"""
ROUNDING = 1e-7
BOXES = {"box:0.06,0.06,0.06": 24, "box:0.06,0.06,0.04": 8, "box:0.05,0.06,0.06": 8, "box:0.05,0.06,0.07": 4}


def symmetry_of(tmp_path: Path, thing: str) -> Symmetry:
    item = make_object(thing, None)
    write_object(item, tmp_path)
    path = tmp_path / "alone.yaml"
    path.write_text(SYSTEM.replace("thing.urdf", f"{item.name}.urdf"))
    return object_symmetry(load_system(path))


def draw_rotations(count: int) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rotation_exp(rng.uniform(-2.0, 2.0, 3)) for _ in range(count)]


@pytest.mark.parametrize("thing", BOXES)
def test_a_box_is_put_onto_itself_by_as_many_turns_as_its_sides_allow(tmp_path: Path, thing: str) -> None:
    symmetry, sides = symmetry_of(tmp_path, thing), np.array([float(side) for side in thing[4:].split(",")])
    assert len(symmetry.rotations) == len(np.unique(symmetry.rotations, axis=0)) == BOXES[thing]
    corners = np.array(np.meshgrid(*np.stack([-sides, sides]).T)).reshape(3, -1).T
    for S in symmetry.rotations:
        assert np.linalg.det(S) == pytest.approx(1.0)
        assert {tuple(row) for row in np.round(corners @ S.T, 9)} == {tuple(row) for row in np.round(corners, 9)}


@pytest.mark.parametrize("thing", [*BOXES, "wedge:0.07,0.06,0.06"])
def test_the_turn_between_two_orientations_is_the_least_of_those_that_look_alike(tmp_path: Path, thing: str) -> None:
    symmetry = symmetry_of(tmp_path, thing)
    for R, R_other in zip(draw_rotations(12), draw_rotations(24)[12:], strict=True):
        turned = rotation_exp(symmetry.turn_between(R, R_other)) @ R
        off = [np.linalg.norm(turned @ S - R_other) for S in symmetry.rotations]
        assert min(off) < ROUNDING
        least = max(np.trace(R_other @ S.T @ R.T) for S in symmetry.rotations)  # 1 + 2 cos of the angle
        assert np.trace(turned @ R.T) == pytest.approx(least)


def test_a_cube_on_its_face_looks_the_same_after_a_quarter_turn_and_not_after_an_eighth(tmp_path: Path) -> None:
    symmetry, up = symmetry_of(tmp_path, "box:0.06,0.06,0.06"), np.array([0.0, 0.0, 1.0])
    for R in (rotation_exp(0.3 * up), rotation_exp(0.5 * np.pi * np.array([1.0, 0.0, 0.0]))):
        quarter, eighth = (symmetry.turn_between(R, rotation_exp(share * np.pi * up) @ R) for share in (0.5, 0.25))
        assert np.linalg.norm(quarter) < ROUNDING and np.linalg.norm(eighth) == pytest.approx(0.25 * np.pi)
        assert not symmetry.is_round_about(up, R)
    left = symmetry.turn_between(np.eye(3), rotation_exp(np.deg2rad(100.0) * up))
    np.testing.assert_allclose(left, np.deg2rad(10.0) * up, atol=ROUNDING)


@pytest.mark.parametrize("thing", ["cylinder:0.03,0.06", "capsule:0.025,0.04"])
def test_what_is_turned_has_an_axis_that_may_be_flipped(tmp_path: Path, thing: str) -> None:
    symmetry = symmetry_of(tmp_path, thing)
    for R in draw_rotations(6):
        axis = R @ symmetry.axis
        assert symmetry.is_round_about(1.3 * axis, R) and not symmetry.is_round_about(
            np.cross(axis, [0.6, 0.0, 0.8]), R
        )
        tilt = 0.4 * np.cross(axis, [0.6, 0.0, 0.8]) / np.linalg.norm(np.cross(axis, [0.6, 0.0, 0.8]))
        flipped = rotation_exp(tilt) @ R @ np.diag([1.0, -1.0, -1.0]) @ rotation_exp(0.7 * symmetry.axis)
        np.testing.assert_allclose(symmetry.turn_between(R, flipped), tilt, atol=ROUNDING)


def test_a_ball_is_never_turned_and_other_shapes_always(tmp_path: Path) -> None:
    (R, R_other), turn = draw_rotations(2), np.array([0.1, 0.0, 0.0])
    ball, wedge = (symmetry_of(tmp_path, thing) for thing in ("ball:0.03", "wedge:0.07,0.06,0.06"))
    assert not np.any(ball.turn_between(R, R_other)) and ball.is_round_about(turn, R)
    np.testing.assert_allclose(wedge.turn_between(R, rotation_exp(turn) @ R), turn, atol=ROUNDING)
    assert not wedge.is_round_about(turn, R)


@pytest.mark.parametrize(("thing", "parts"), [("box:0.06,0.06,0.04", (4, 2)), ("box:0.05,0.06,0.07", (2, 2)),
                                              ("wedge:0.07,0.06,0.06", (1, 1)), ("cylinder:0.03,0.06", (0, 2)),
                                              ("ball:0.03", (0, 0))])  # fmt: skip
def test_a_whole_turn_about_z_and_about_x_falls_into_parts_that_look_alike(
    tmp_path: Path, thing: str, parts: tuple[int, int]
) -> None:
    symmetry, R = symmetry_of(tmp_path, thing), draw_rotations(1)[0]
    assert (symmetry.parts_alike(R[:, 2], R), symmetry.parts_alike(R[:, 0], R)) == parts
