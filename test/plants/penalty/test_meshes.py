"""Meshes that the penalty engine takes and refuses, against closed forms."""

from pathlib import Path

import numpy as np
import pytest

from contact_mpc.errors import ModelError
from contact_mpc.model.urdf import Pose, Shape
from contact_mpc.plants.penalty.meshes import TriangleMesh, check_mesh, read_obj
from contact_mpc.plants.penalty.solids import solid_of

AT_ORIGIN = Pose(np.eye(3), np.zeros(3))
BOX = solid_of(Shape("box", (0.2, 0.1, 0.05), AT_ORIGIN))


def test_box_has_its_volume_centre_and_inertia() -> None:
    moved = TriangleMesh(BOX.mesh.vertices + np.array([0.3, -0.2, 0.1]), BOX.mesh.triangles)
    assert moved.volume == pytest.approx(1e-3, rel=1e-12)
    np.testing.assert_allclose(moved.centroid, [0.3, -0.2, 0.1], atol=1e-14)
    x, y, z = 0.2, 0.1, 0.05
    expected = 3.0 / 12.0 * np.diag([y**2 + z**2, x**2 + z**2, x**2 + y**2])
    np.testing.assert_allclose(moved.inertia(3.0), expected, atol=1e-15)
    assert len(BOX.planes) == 6


@pytest.mark.parametrize(
    ("shape", "volume"),
    [
        (Shape("sphere", (0.06,), AT_ORIGIN), 4.0 / 3.0 * np.pi * 0.06**3),
        (Shape("capsule", (0.01, 0.05), AT_ORIGIN), np.pi * 1e-4 * (0.05 + 4.0 / 3.0 * 0.01)),
        (Shape("cylinder", (0.02, 0.05), AT_ORIGIN), np.pi * 4e-4 * 0.05),
    ],
    ids=["sphere", "capsule", "cylinder"],
)
def test_round_shapes_keep_their_volume(shape: Shape, volume: float) -> None:
    solid = solid_of(shape)
    check_mesh(solid.mesh, shape.kind)
    assert solid.mesh.volume == pytest.approx(volume, rel=1e-9)
    vertices = solid.mesh.vertices
    assert np.max(vertices @ solid.planes[:, :3].T + solid.planes[:, 3]) < 1e-12


def _two_boxes(shift: float) -> TriangleMesh:
    n = len(BOX.mesh.vertices)
    vertices = np.vstack([BOX.mesh.vertices, BOX.mesh.vertices + np.array([shift, 0.03, 0.02])])
    return TriangleMesh(vertices, np.vstack([BOX.mesh.triangles, BOX.mesh.triangles + n]))


@pytest.mark.parametrize(
    ("mesh", "message"),
    [
        (TriangleMesh(BOX.mesh.vertices, BOX.mesh.triangles[1:]), "not closed: 3 edges"),
        (TriangleMesh(BOX.mesh.vertices, BOX.mesh.triangles[:, ::-1]), "inside out"),
        (TriangleMesh(BOX.mesh.vertices * np.array([1.0, 1.0, 0.0]), BOX.mesh.triangles), "no volume"),
        (TriangleMesh(np.full((8, 3), np.nan), BOX.mesh.triangles), "non-finite"),
        (_two_boxes(0.1), "intersects itself: [1-9]"),
    ],
    ids=["open", "inverted", "flat", "nan", "self-intersecting"],
)
def test_meshes_that_cannot_be_used_are_refused_in_one_line(mesh: TriangleMesh, message: str) -> None:
    with pytest.raises(ModelError, match=f"thing: .*{message}") as caught:
        check_mesh(mesh, "thing")
    assert "\n" not in str(caught.value)


def test_two_boxes_apart_do_not_intersect() -> None:
    check_mesh(_two_boxes(0.3), "two boxes")


def test_obj_files_are_read_and_merged(tmp_path: Path) -> None:
    path = tmp_path / "tetrahedron.obj"
    path.write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nv 0 0 0\nf 1 2 3\nf 5/1 4/2 2/3\nf 1 3 4\nf 2 4 3\n")
    mesh = check_mesh(read_obj(path, 0.1), "tetrahedron")
    assert mesh.volume == pytest.approx(1e-3 / 6.0) and len(mesh.vertices) == 4
    path.write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 2 3 4\n")
    with pytest.raises(ModelError, match="4\\] corners"):
        read_obj(path)
    with pytest.raises(ModelError, match="does not exist"):
        read_obj(tmp_path / "none.obj")
