"""What stands for a mesh: primitives where they are near, else the hull, and the error that is stated holds."""

from pathlib import Path

import numpy as np
import pytest

from contact_mpc.importing.mesh_shapes import shapes_of_mesh, write_hull
from contact_mpc.model.meshes import MAX_VERTICES, load_hull

ONE = (1.0, 1.0, 1.0)
ROUNDING = 1e-9  # m


def directions(count: int) -> np.ndarray:
    k = np.arange(count) + 0.5
    z, angle = 1.0 - 2.0 * k / count, np.pi * (1.0 + 5.0**0.5) * k
    sine = np.sqrt(1.0 - z * z)
    return np.column_stack([sine * np.cos(angle), sine * np.sin(angle), z])


def mesh(points: np.ndarray, path: Path) -> Path:
    write_hull(points, path)
    return path


def test_a_ball_stays_a_primitive(tmp_path: Path) -> None:
    found = shapes_of_mesh(mesh(0.02 * directions(400), tmp_path / "ball.obj"), ONE)
    assert [item.kind for item in found.primitives] == ["sphere"] and found.hull is None
    assert found.error_m < 1e-3


def test_a_wedge_is_its_hull_to_the_stated_error(tmp_path: Path) -> None:
    """Nothing round or rectangular is near a wedge."""
    corners = 0.05 * np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1], [0, 1, 1]], dtype=float)
    found = shapes_of_mesh(mesh(corners, tmp_path / "wedge.obj"), ONE)
    assert found.hull is not None and not found.primitives
    assert len(found.hull) == 6 and found.error_m < ROUNDING
    assert "hull of 6 vertices" in found.describe()


def test_hull_of_a_fine_mesh_has_few_vertices_and_is_as_near_as_it_says(tmp_path: Path) -> None:
    """An egg cut off at an angle."""
    points = directions(3000) * [0.012, 0.02, 0.012]
    points[:, 1] *= np.where(points[:, 1] > 0.0, 1.6, 0.4)
    file = mesh(points, tmp_path / "tip.obj")
    found = shapes_of_mesh(file, ONE)
    assert found.hull is not None and len(found.hull) <= MAX_VERTICES
    write_hull(found.hull, tmp_path / "hull.obj")
    again = load_hull(tmp_path / "hull.obj", np.ones(3))
    assert len(again.vertices) == len(found.hull)
    lost = np.max((points[:, None] * directions(300)[None]).sum(2), axis=0)
    lost -= np.max((again.vertices[:, None] * directions(300)[None]).sum(2), axis=0)
    assert lost.max() <= found.error_m + ROUNDING


@pytest.mark.parametrize("scale", [ONE, (0.001, 0.001, 0.001)])
def test_scale_of_the_file_counts(tmp_path: Path, scale: tuple[float, float, float]) -> None:
    size = 1.0 / scale[0]
    file = mesh(0.02 * size * directions(400), tmp_path / "ball.obj")
    (sphere,) = shapes_of_mesh(file, scale).primitives
    assert sphere.size[0] == pytest.approx(0.02, rel=0.02)
