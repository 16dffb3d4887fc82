"""Pairs of convex shapes without closed form: distances and normals against coal, contacts of faces on each other."""

import numpy as np
import pytest
from coal_oracle import Pose, proved_distance, separation

from contact_mpc.geometry.convex.pair import collect_contacts
from contact_mpc.geometry.convex.records import GAP, NORMAL, POINT
from contact_mpc.geometry.convex.support import MOST_CONTACTS, Placed, make_scratch
from contact_mpc.model.polytopes import build_polytopes
from contact_mpc.model.rotations import rotation_exp
from contact_mpc.model.urdf import Pose as Placement
from contact_mpc.model.urdf import Shape

COAL_M = 1e-6  # coal on cylinders
ROUND_OFF_M = 1e-12
HERE = Placement(np.eye(3), np.zeros(3))
WEDGE = np.array([[0, 0, 0], [8, 0, 0], [0, 5, 0], [8, 5, 0], [0, 0, 4], [0, 5, 4]]) / 100.0 - 0.02
BALL = np.random.default_rng(4).normal(size=(40, 3)) * [0.05, 0.03, 0.04]
TURNS = (np.eye(3), rotation_exp(np.array([np.pi / 2, 0, 0])), rotation_exp(np.array([0, 0, 0.3])))


def make_hull(points: np.ndarray) -> Shape:
    from scipy.spatial import ConvexHull

    return Shape("hull", (), HERE, points[ConvexHull(points).vertices])


SHAPES = {
    "sphere": Shape("sphere", (0.03,), HERE),
    "capsule": Shape("capsule", (0.02, 0.08), HERE),
    "box": Shape("box", (0.06, 0.04, 0.08), HERE),
    "cylinder": Shape("cylinder", (0.03, 0.07), HERE),
    "wedge": make_hull(WEDGE),
    "ball": make_hull(BALL),
}
NAMES = list(SHAPES)
PAIRS = [("sphere", "ball"), ("capsule", "cylinder"), ("capsule", "wedge"), ("box", "cylinder"), ("box", "ball")]
PAIRS += [("cylinder", "cylinder"), ("cylinder", "wedge"), ("ball", "cylinder"), ("ball", "ball"), ("wedge", "box")]
POLYTOPES = build_polytopes(list(SHAPES.values()))
SCRATCH = make_scratch()
ORIGIN: Pose = (np.eye(3), np.zeros(3))


def place(name: str, X: Pose) -> Placed:
    shape, row = SHAPES[name], POLYTOPES.table[NAMES.index(name)]
    radius, half = (shape.size[0], 0.5 * shape.size[1]) if shape.kind == "cylinder" else (0.0, 0.0)
    axes = tuple(tuple(X[0][:, k].tolist()) for k in range(3))
    return Placed(axes, tuple(X[1].tolist()), float(row[0]), int(row[5]), int(row[6]), radius, half)


def contacts(a: str, X: Pose, b: str, limit: float = 1.0) -> np.ndarray:
    """Return the contacts (k, 7): gap, normal and point, of a at X with b at the origin."""
    found, *_ = collect_contacts(
        POLYTOPES, NAMES.index(a), place(a, X), NAMES.index(b), place(b, ORIGIN), limit, MOST_CONTACTS, SCRATCH
    )
    records = SCRATCH.records[:found]
    return np.column_stack([records[:, GAP], records[:, NORMAL : NORMAL + 3], records[:, POINT : POINT + 3]])


def poses(count: int, seed: int) -> list[Pose]:
    """Return random poses of A near B, apart and deep, every third with faces and axes aligned."""
    rng, found = np.random.default_rng(seed), []
    for k in range(count):
        R = TURNS[rng.integers(len(TURNS))] if k % 3 == 0 else rotation_exp(2.0 * rng.normal(size=3))
        d = np.eye(3)[rng.integers(3)] if k % 3 == 0 else rng.normal(size=3)
        found.append((R, d / np.linalg.norm(d) * rng.uniform(1e-3, 0.12)))
    return found


@pytest.mark.parametrize(("a", "b"), PAIRS, ids=lambda value: value)
def test_gap_and_normal_are_proved_by_planes_and_no_shallower_ones_are_known_to_coal(a: str, b: str) -> None:
    """Planes across the normal support both shapes at the distance of the gap, so it is one of their local depths."""
    compared = 0
    for X in poses(60, seed=1):
        gap, n = (found := contacts(a, X, b))[0, 0], found[0, 1:4]
        assert separation(n, SHAPES[a], X, SHAPES[b], ORIGIN) == pytest.approx(gap, abs=1e-9)
        theirs = proved_distance(SHAPES[a], X, SHAPES[b], ORIGIN, COAL_M)
        if theirs is not None:
            compared += 1
            assert gap >= theirs[0] - COAL_M
            assert gap <= theirs[0] + COAL_M or theirs[0] < 0.0  # coal may miss the shallowest way out
    assert compared > 40


@pytest.mark.parametrize(("a", "b"), PAIRS, ids=lambda value: value)
def test_no_contact_is_deeper_than_the_depth_allows(a: str, b: str) -> None:
    for X in poses(60, seed=2):
        found = contacts(a, X, b)
        assert np.all(np.isfinite(found))
        assert np.all(found[1:, 1:4] @ found[0, 1:4] > 0.97)
        assert np.all(found[:, 0] >= min(found[0, 0] / 0.97, found[0, 0]) - 1e-9)


@pytest.mark.parametrize(
    ("a", "b", "height", "corners"),
    [
        ("box", "cylinder", 0.04 + 0.035, 4),  # the faces overlap in a disc cut by two sides
        ("cylinder", "cylinder", 0.07, 8),
        ("cylinder", "box", 0.035 + 0.04, 4),
        ("wedge", "box", 0.02 + 0.04, 4),
    ],
)
def test_faces_on_each_other_touch_at_points_around_their_middle(a: str, b: str, height: float, corners: int) -> None:
    found = contacts(a, (np.eye(3), np.array([0.0, 0.0, height + 1e-4])), b)
    assert len(found) >= corners
    np.testing.assert_allclose(found[:, 0], 1e-4, atol=ROUND_OFF_M)
    np.testing.assert_allclose(found[:, 1:4], np.tile([0.0, 0.0, 1.0], (len(found), 1)), atol=1e-9)
    assert found[:, 4].min() < -0.015 < 0.015 < found[:, 4].max()
    assert found[:, 5].min() < -0.015 < 0.015 < found[:, 5].max()


@pytest.mark.parametrize(("a", "b", "height"), [("cylinder", "box", 0.03 + 0.04), ("capsule", "wedge", 0.02 + 0.02)])
def test_a_side_that_lies_on_a_face_touches_at_two_ends(a: str, b: str, height: float) -> None:
    R = np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]])  # the axis along x
    top = np.array([0.0, 0.0, height - 1e-4]) if b == "box" else np.array([0.0, 0.0, -height + 1e-4])
    found = contacts(a, (R, top), b)
    np.testing.assert_allclose(found[:, 0], -1e-4, atol=ROUND_OFF_M)
    assert np.ptp(found[:, 4]) > 0.04


def test_shapes_further_apart_than_the_limit_are_not_resolved() -> None:
    for distance in (0.3, 2.0):
        X = (np.eye(3), np.array([distance, 0.0, 0.0]))
        found, bound, n = collect_contacts(
            POLYTOPES,
            NAMES.index("ball"),
            place("ball", X),
            NAMES.index("box"),
            place("box", ORIGIN),
            0.01,
            12,
            SCRATCH,
        )
        theirs = proved_distance(SHAPES["ball"], X, SHAPES["box"], ORIGIN, COAL_M)
        assert found == 0
        assert theirs is not None
        assert 0.01 < bound <= theirs[0] + COAL_M
        assert n[0] > 0.5
