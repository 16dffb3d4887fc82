"""Capsules hold every point of the shape that they stand for, and not much more."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contact_mpc.control.bridge.guard.capsule_cover import Capsule, box_capsules, cover
from contact_mpc.model.kinematic_tree import Geometry
from contact_mpc.model.rotations import rotation_exp
from contact_mpc.model.urdf import Pose, Shape

HERE = Pose(np.eye(3), np.zeros(3))
ROUNDING_M = 1e-9
EDGE = st.floats(0.005, 0.3)
UNIT = st.floats(-1.0, 1.0)


def gap(capsule: Capsule, point: np.ndarray) -> float:
    """Return the signed distance of a point to a capsule, m."""
    along = np.clip(capsule.axis @ (point - capsule.centre), -capsule.half_length, capsule.half_length)
    return float(np.linalg.norm(point - capsule.centre - along * capsule.axis)) - capsule.radius


@given(half=st.tuples(EDGE, EDGE, EDGE), at=st.tuples(UNIT, UNIT, UNIT), turn=st.tuples(UNIT, UNIT, UNIT))
def test_every_point_of_a_box_is_in_one_of_its_capsules(
    half: tuple[float, ...], at: tuple[float, ...], turn: tuple[float, ...]
) -> None:
    X = Pose(rotation_exp(np.array(turn)), np.array([0.1, -0.2, 0.3]))
    point = X.R @ (np.array(half) * np.array(at)) + X.p
    assert min(gap(item, point) for item in box_capsules("palm", -1, X, np.array(half))) <= ROUNDING_M


def test_capsules_of_a_palm_stand_out_of_its_widest_faces_by_less_than_half_its_thickness() -> None:
    half = np.array([0.02, 0.056, 0.0475])
    capsules = box_capsules("palm", -1, HERE, half)
    assert len(capsules) == 3
    assert max(abs(item.centre[0]) + item.radius for item in capsules) < 0.02 * np.sqrt(2.0)


@pytest.mark.parametrize("kind", ["sphere", "capsule"])
def test_round_shapes_are_kept_as_they_are(kind: str) -> None:
    shape = Shape(kind, (0.01, 0.06), HERE)
    (capsule,) = cover(Geometry("hand", "tip", shape, 4, HERE))
    assert (capsule.body, capsule.radius, capsule.half_length) == (4, 0.01, 0.03 if kind == "capsule" else 0.0)


def test_a_hull_lies_in_the_capsules_of_the_box_around_it() -> None:
    vertices = np.random.default_rng(3).uniform([0.0, -0.02, 0.1], [0.2, 0.02, 0.16], (40, 3))
    shape = Shape("hull", (), HERE, vertices)
    X = Pose(rotation_exp(np.array([0.3, -0.4, 1.0])), np.array([0.5, 0.0, 0.0]))
    capsules = cover(Geometry("hand", "link", shape, 2, X))
    assert all(min(gap(item, X.R @ vertex + X.p) for item in capsules) <= ROUNDING_M for vertex in vertices)


def test_a_half_space_is_no_part_of_a_robot() -> None:
    assert cover(Geometry("ground", "ground", Shape("half_space", (), HERE), -1, HERE)) == []
