"""Closed-form distance of a point to each primitive: value and normal against coal, curvature against differences."""

from collections.abc import Callable

import coal
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from contact_mpc.geometry.sphere_distance import core_distance
from contact_mpc.model.kinematic_tree import BOX, CAPSULE, CYLINDER, SPHERE

# coal stops its iterations on curved shapes at 1e-6 m; sphere, box and capsule are closed form there, too.
COAL_TOLERANCE_M = 2e-6
BALL_RADIUS_M = 0.01
SHAPES = {
    "sphere": (SPHERE, (0.06, 0.0, 0.0), lambda: coal.Sphere(0.06)),
    "box": (BOX, (0.1, 0.05, 0.03), lambda: coal.Box(0.2, 0.1, 0.06)),
    "capsule": (CAPSULE, (0.03, 0.07, 0.0), lambda: coal.Capsule(0.03, 0.14)),
    "cylinder": (CYLINDER, (0.05, 0.04, 0.0), lambda: coal.Cylinder(0.05, 0.08)),
}
coordinate = st.floats(-0.2, 0.2).map(lambda x: round(x, 6))
points = st.tuples(coordinate, coordinate, coordinate)


def value_normal_curvature(shape: str, c: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    code, size, _ = SHAPES[shape]
    s, n, (xx, xy, xz, yy, yz, zz) = core_distance(code, size, tuple(float(x) for x in c))
    return s, np.array(n), np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def coal_distance(shape: str, c: np.ndarray) -> tuple[float, np.ndarray]:
    """Return distance and normal, from the shape to the point, of a small ball about the point."""
    result, ball = coal.DistanceResult(), coal.Sphere(BALL_RADIUS_M)
    poses = coal.Transform3s.Identity(), coal.Transform3s(np.eye(3), np.array(c))
    distance = coal.distance(SHAPES[shape][2](), poses[0], ball, poses[1], coal.DistanceRequest(), result)
    return distance + BALL_RADIUS_M, np.array(result.normal)


def kink_distance(shape: str, c: np.ndarray) -> float:
    """Distance of a point to where the normal jumps or the curvature does, m."""
    half = SHAPES[shape][1]
    rho = float(np.hypot(c[0], c[1]))
    if shape == "sphere":
        return float(np.linalg.norm(c))
    if shape == "capsule":
        return min(rho, abs(abs(c[2]) - half[1])) if abs(c[2]) < half[1] else abs(abs(c[2]) - half[1])
    if shape == "cylinder":
        depth = np.array([rho - half[0], abs(c[2]) - half[1]])
        return float(min(rho, np.abs(depth).min(), abs(c[2]), abs(depth[0] - depth[1])))
    depth = np.abs(c) - np.array(half)
    between = np.abs(np.subtract.outer(depth, depth))[np.triu_indices(3, 1)]
    return float(min(np.abs(depth).min(), np.abs(c).min(), between.min()))


def is_inside_cylinder(c: tuple[float, float, float]) -> bool:
    return np.hypot(c[0], c[1]) < 0.05 and abs(c[2]) < 0.04


@pytest.mark.parametrize("shape", SHAPES)
@given(c=points)
def test_distance_and_normal_are_those_of_coal(shape: str, c: tuple[float, float, float]) -> None:
    assume(kink_distance(shape, np.array(c)) > 1e-4)
    assume(shape != "cylinder" or not is_inside_cylinder(c))  # coal may take the wrong surface of a cylinder there
    s, n, _ = value_normal_curvature(shape, np.array(c))
    expected, normal = coal_distance(shape, np.array(c))
    assert s == pytest.approx(expected, abs=COAL_TOLERANCE_M)
    assert np.linalg.norm(n) == pytest.approx(1.0, abs=1e-12)
    if abs(expected - BALL_RADIUS_M) > 1e-3:  # where the ball just touches, coal's direction is round-off
        np.testing.assert_allclose(n, normal, atol=1e-3)


@pytest.mark.parametrize("shape", SHAPES)
@given(c=points)
def test_normal_is_the_gradient_and_curvature_its_derivative(
    shape: str, c: tuple[float, float, float], check_jacobian: Callable
) -> None:
    assume(kink_distance(shape, np.array(c)) > 1e-2)  # differences err by (step / distance)^4
    _, n, N = value_normal_curvature(shape, np.array(c))
    check_jacobian(n[None], lambda x: np.array([value_normal_curvature(shape, c + x)[0]]), 1e-8, step=1e-4)
    check_jacobian(N, lambda x: value_normal_curvature(shape, c + x)[1], 1e-5, step=1e-4, floor=1e-3)


def test_depth_inside_a_box_is_to_the_nearest_face() -> None:
    s, n, N = value_normal_curvature("box", np.array([0.095, 0.0, 0.01]))
    assert s == pytest.approx(-0.005, abs=1e-15)
    np.testing.assert_array_equal(n, [1.0, 0.0, 0.0])
    np.testing.assert_array_equal(N, 0.0)


def test_depth_inside_a_cylinder_is_to_the_nearest_point_of_its_surface() -> None:
    grids = np.meshgrid(np.linspace(0.0, 2.0 * np.pi, 400), np.linspace(0.0, 1.0, 200))
    angle, along = (grid.ravel() for grid in grids)
    round_ = np.stack([0.05 * np.cos(angle), 0.05 * np.sin(angle), 0.08 * along - 0.04], axis=1)
    cap = np.stack([0.05 * along * np.cos(angle), 0.05 * along * np.sin(angle), np.full_like(angle, 0.04)], axis=1)
    surface = np.vstack([round_, cap, cap * [1.0, 1.0, -1.0]])
    rng, spacing_m = np.random.default_rng(0), 8e-4
    for _ in range(50):
        c = np.array([*rng.uniform(-0.035, 0.035, 2), rng.uniform(-0.04, 0.04)])
        s, _, _ = value_normal_curvature("cylinder", c)
        nearest = np.linalg.norm(surface - c, axis=1).min()
        assert nearest - spacing_m <= -s <= nearest + 1e-12


@pytest.mark.parametrize("shape", SHAPES)
def test_centre_of_a_shape_has_a_finite_distance_and_normal(shape: str) -> None:
    s, n, N = value_normal_curvature(shape, np.zeros(3))
    assert s < 0.0 and np.all(np.isfinite(n)) and np.all(np.isfinite(N))
    assert np.linalg.norm(n) == pytest.approx(1.0, abs=1e-12)
