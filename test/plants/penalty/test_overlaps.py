"""Overlaps by three ways (convex clip, clip of any mesh, manifold3d) and by libigl agree; closed forms."""

import numpy as np
import pytest

from contact_mpc.model.rotations import rotation_exp
from contact_mpc.model.urdf import Pose, Shape
from contact_mpc.plants.penalty.clip import AREA, CENTRE, EXTENT, PIECES, TURN, VOLUME, WIDTH, clip_mesh
from contact_mpc.plants.penalty.convex_clip import MOST_CORNERS, POINTS, Facets, clip_convex
from contact_mpc.plants.penalty.meshes import TriangleMesh
from contact_mpc.plants.penalty.scene import _facets, _sphere, corners_of
from contact_mpc.plants.penalty.solids import Solid, mesh_solid, solid_of

AT_ORIGIN = Pose(np.eye(3), np.zeros(3))
BALL = solid_of(Shape("sphere", (0.05,), AT_ORIGIN), 2)
BOX = solid_of(Shape("box", (0.04, 0.03, 0.06), AT_ORIGIN))
CAPSULE = solid_of(Shape("capsule", (0.012, 0.03), AT_ORIGIN), 1)
ROUNDING = 1e-9  # of rows, relative: facets of 1e-4 m in bodies of 0.1 m


def by_convex_clip(a: Solid, b: Solid, R: np.ndarray, p: np.ndarray) -> np.ndarray:
    row, pieces = np.zeros(WIDTH), np.zeros((PIECES, 6))
    one, two = (Facets(corners_of(s), _facets(corners_of(s)), _sphere(s)) for s in (a, b))
    work = np.zeros(len(one.corners) + 14 * len(two.corners) + 6 * MOST_CORNERS + 3 * POINTS)
    clip_convex(one, two, R, p, work, row, pieces)
    return row


def by_clip(a: Solid, b: Solid, R: np.ndarray, p: np.ndarray) -> np.ndarray:
    corners = corners_of(a)
    room = 6 * len(corners) + 4096
    planes = np.column_stack([b.planes[:, :3] @ R.T, b.planes[:, 3] - b.planes[:, :3] @ R.T @ p])
    row = np.zeros(WIDTH)
    chains, caps = np.zeros((2, room, 9)), np.zeros((3, room))
    clip_mesh(corners, _sphere(a), planes, chains, caps, row, np.zeros((PIECES, 6)))
    return row


def by_manifold(a: Solid, b: Solid, R: np.ndarray, p: np.ndarray) -> np.ndarray:
    pytest.importorskip("manifold3d")
    from contact_mpc.plants.penalty.booleans import SolidMesh

    return SolidMesh(a.mesh).overlap(np.eye(3, 4), SolidMesh(b.mesh), np.column_stack([R, p]))[0]


def poses(a: Solid, b: Solid, count: int, depth_m: float) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return poses of b that reach at most depth_m into a, at random."""
    rng, found = np.random.default_rng(1), []
    for _ in range(count):
        R, d = rotation_exp(rng.normal(size=3)), rng.normal(size=3)
        d /= np.linalg.norm(d)
        touch = np.max(a.mesh.vertices @ d) - np.min(b.mesh.vertices @ R.T @ d)
        found.append((R, (touch - depth_m * rng.uniform(0.1, 1.0)) * d))
    return found


def assert_rows_agree(row: np.ndarray, other: np.ndarray) -> None:
    assert row[VOLUME] == pytest.approx(other[VOLUME], rel=1e-6)
    np.testing.assert_allclose(row[CENTRE], other[CENTRE], atol=1e-8)
    np.testing.assert_allclose(row[AREA], other[AREA], atol=ROUNDING * np.linalg.norm(other[AREA]) + 1e-15)
    np.testing.assert_allclose(row[TURN], other[TURN], atol=1e-10)
    assert row[EXTENT] == pytest.approx(other[EXTENT], abs=1e-9)


@pytest.mark.parametrize(
    ("a", "b", "depth_m"),
    [(BALL, BOX, 0.003), (BOX, CAPSULE, 0.015), (CAPSULE, BALL, 0.003)],
    ids=["ball", "box", "capsule"],
)
def test_clips_agree_with_manifold(a: Solid, b: Solid, depth_m: float) -> None:
    found = 0
    for R, p in poses(a, b, 15, depth_m):
        row, other = by_convex_clip(a, b, R, p), by_manifold(a, b, R, p)
        if other[VOLUME] < 1e-13:
            continue
        found += 1
        assert_rows_agree(row, other)
        if b is BOX:
            assert_rows_agree(by_clip(a, b, R, p), other)
    assert found >= 3


def test_clip_of_a_mesh_with_a_dent_agrees_with_manifold() -> None:
    """Two fused boxes as one mesh are not convex; manifold makes the union, and the clip its overlap with a box."""
    manifold3d = pytest.importorskip("manifold3d")
    union = manifold3d.Manifold.cube([0.04, 0.02, 0.02], True) + manifold3d.Manifold.cube([0.02, 0.06, 0.02], True)
    mesh = union.to_mesh64()
    cross = mesh_solid(TriangleMesh(mesh.vert_properties[:, :3].copy(), mesh.tri_verts.astype(np.int64)))
    for R, p in poses(cross, BOX, 10, 0.01):
        other = by_manifold(cross, BOX, R, p)
        row = by_clip(cross, BOX, R, p)
        assert row[VOLUME] == pytest.approx(other[VOLUME], rel=1e-9, abs=1e-16)
        np.testing.assert_allclose(row[AREA], other[AREA], atol=1e-12)


def test_libigl_finds_the_same_volumes() -> None:
    cgal = pytest.importorskip("igl.copyleft.cgal")
    for R, p in poses(BALL, CAPSULE, 2, 0.004):
        vertices = CAPSULE.mesh.vertices @ R.T + p
        V, F = cgal.mesh_boolean(
            BALL.mesh.vertices, BALL.mesh.triangles, vertices, CAPSULE.mesh.triangles, "intersect"
        )[:2]
        expected = TriangleMesh(V, F).volume if len(F) else 0.0
        assert by_convex_clip(BALL, CAPSULE, R, p)[VOLUME] == pytest.approx(expected, rel=1e-9, abs=1e-16)


def test_clip_without_room_says_so_and_writes_nowhere_else() -> None:
    corners = corners_of(BALL)
    chains, caps = np.zeros((2, 8, 9)), np.zeros((3, len(corners)))
    with pytest.raises(ValueError, match="too many triangles"):
        clip_mesh(corners, _sphere(BALL), BOX.planes, chains, caps, np.zeros(WIDTH), np.zeros((PIECES, 6)))


def test_box_on_a_plane_overlaps_by_its_footprint() -> None:
    ground = solid_of(Shape("half_space", (), AT_ORIGIN))
    row = by_convex_clip(BOX, ground, np.eye(3), np.array([0.0, 0.0, -0.03 + 1e-3]))
    assert row[VOLUME] == pytest.approx(0.04 * 0.03 * 1e-3, rel=1e-9)
    np.testing.assert_allclose(row[AREA], [0.0, 0.0, -0.04 * 0.03], atol=1e-12)
    np.testing.assert_allclose(row[CENTRE], [0.0, 0.0, -0.03 + 0.5e-3], atol=1e-12)
    assert row[EXTENT] == pytest.approx(1e-3, rel=1e-9)


def test_flush_faces_count_once() -> None:
    """Equal boxes shifted along x: four of their faces lie in common planes."""
    row = by_convex_clip(BOX, BOX, np.eye(3), np.array([0.039, 0.0, 0.0]))
    assert row[VOLUME] == pytest.approx(0.001 * 0.03 * 0.06, rel=1e-9)


def test_faces_that_touch_share_no_volume() -> None:
    for way in (by_convex_clip, by_clip, by_manifold):
        assert way(BOX, BOX, np.eye(3), np.array([0.04, 0.0, 0.0]))[VOLUME] == pytest.approx(0.0, abs=1e-16)


def test_area_and_turn_are_the_gradient_of_the_volume() -> None:
    """dv/dt = S . u for a translation of A, T . omega for a turn of A about the centre of the overlap."""
    (R, p), step = poses(BALL, BOX, 3, 0.004)[2], 1e-7
    row = by_convex_clip(BALL, BOX, R, p)
    for k in range(3):
        d = step * np.eye(3)[k]
        change = by_convex_clip(BALL, BOX, R, p - d)[VOLUME] - by_convex_clip(BALL, BOX, R, p + d)[VOLUME]
        assert change / (2.0 * step) == pytest.approx(row[AREA][k], abs=1e-4 * np.linalg.norm(row[AREA]))
        turned = [
            by_convex_clip(BALL, BOX, Q.T @ R, row[CENTRE] + Q.T @ (p - row[CENTRE]))[VOLUME]
            for Q in (rotation_exp(d * 100.0), rotation_exp(-d * 100.0))
        ]
        assert (turned[0] - turned[1]) / (200.0 * step) == pytest.approx(row[TURN][k], abs=1e-10)
