"""Primitives in place of meshes: exact where the mesh is one, with an honest error where it is not."""

from pathlib import Path

import numpy as np
import pytest

from contact_mpc.errors import ModelError
from contact_mpc.importing.primitives import fit_primitives, load_points

SPHERE_POINTS = 400


def unit_vectors(count: int) -> np.ndarray:
    points = np.random.default_rng(3).standard_normal((count, 3))
    return points / np.linalg.norm(points, axis=1)[:, None]


def test_sphere_is_found_with_its_centre() -> None:
    (found,) = fit_primitives(0.02 * unit_vectors(SPHERE_POINTS) + [0.1, 0.0, -0.05], "ball")
    assert found.kind == "sphere"
    np.testing.assert_allclose([*found.size, *found.X_MG.p], [0.02, 0.1, 0.0, -0.05], atol=3e-4)


def test_capsule_is_found_with_its_axis() -> None:
    u = unit_vectors(SPHERE_POINTS)
    points = 0.01 * u + np.outer(np.sign(u[:, 1]), [0.0, 0.03, 0.0])
    (found,) = fit_primitives(points, "finger")
    assert found.kind == "capsule"
    np.testing.assert_allclose(found.size, [0.01, 0.06], atol=5e-4)
    assert abs(found.X_MG.R[1, 2]) > 0.999


def test_box_is_exact() -> None:
    corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) * [0.01, 0.02, 0.03]
    (found,) = fit_primitives(corners, "brick")
    assert found.kind == "box" and found.error_m < 1e-9
    np.testing.assert_allclose(found.size, [0.02, 0.04, 0.06])


def test_what_is_not_convex_becomes_a_union_with_a_smaller_error() -> None:
    """An L: one box would fill its corner, off by half its size."""
    grid = np.stack(np.meshgrid(*[np.linspace(0.0, 1.0, 6)] * 3), axis=-1).reshape(-1, 3)
    points = np.vstack([grid * [0.1, 0.02, 0.02], grid * [0.02, 0.02, 0.1]])
    found = fit_primitives(points, "angle")
    assert len(found) > 1
    assert max(piece.error_m for piece in found) < 0.03


def test_flat_mesh_is_refused_by_name() -> None:
    with pytest.raises(ModelError, match=r"plate\.stl: the mesh is flat"):
        fit_primitives(np.column_stack([unit_vectors(20)[:, :2], np.zeros(20)]), "plate.stl")


def test_mesh_in_millimetres_is_noticed(tmp_path: Path) -> None:
    rows = [f"v {x} {y} {z}" for x, y, z in (20.0 * unit_vectors(8)).tolist()]
    (tmp_path / "tip.obj").write_text("\n".join([*rows, "f 1 2 3", "f 4 5 6", "f 6 7 8", ""]))
    with pytest.raises(ModelError, match=r"tip\.obj: the mesh is \d+\.?\d* m large; is it in mm\?"):
        load_points(tmp_path / "tip.obj", (1.0, 1.0, 1.0))
    assert np.ptp(load_points(tmp_path / "tip.obj", (1e-3, 1e-3, 1e-3))) < 0.05


def test_missing_mesh_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"none\.stl: the mesh file does not exist"):
        load_points(tmp_path / "none.stl", (1.0, 1.0, 1.0))
