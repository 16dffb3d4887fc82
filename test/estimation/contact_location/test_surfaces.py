"""Samples and motion on surfaces of links."""

import numpy as np
import pytest

from contact_mpc.estimation.contact_location.surfaces import (
    Surfaces,
    build_surfaces,
    height_over,
    retract,
    sample_surfaces,
    turning_of_normal,
)
from contact_mpc.model.kinematic_tree import Geometry
from contact_mpc.model.urdf import Pose, Shape

STILL = Pose(np.eye(3), np.zeros(3))
PRISM = np.array([(0, 0, 0), (0.1, 0, 0), (0, 0.08, 0), (0, 0, 0.2), (0.1, 0, 0.2), (0, 0.08, 0.2)], dtype=float)
SHAPES = {
    "sphere": (Shape("sphere", (0.05,), STILL), 4 * np.pi * 0.05**2),
    "capsule": (Shape("capsule", (0.03, 0.1), STILL), 4 * np.pi * 0.03**2 + 2 * np.pi * 0.03 * 0.1),
    "cylinder": (Shape("cylinder", (0.04, 0.1), STILL), 2 * np.pi * 0.04**2 + 2 * np.pi * 0.04 * 0.1),
    "box": (Shape("box", (0.1, 0.2, 0.06), STILL), 2 * (0.1 * 0.2 + 0.2 * 0.06 + 0.1 * 0.06)),
    "hull": (Shape("hull", (), STILL, PRISM), 0.1 * 0.08 + 0.2 * (0.1 + 0.08 + np.hypot(0.1, 0.08))),
}


def surfaces_of(*shapes: Shape, apart: bool = True) -> tuple[Surfaces, tuple[Geometry, ...]]:
    items = tuple(Geometry("arm", f"link_{k}", shape, k if apart else 0, shape.X_LG) for k, shape in enumerate(shapes))
    return build_surfaces(list(enumerate(items))), items


@pytest.mark.parametrize("kind", SHAPES)
def test_samples_lie_on_the_surface_and_share_its_area(kind: str) -> None:
    shape, area = SHAPES[kind]
    surfaces, items = surfaces_of(shape)
    samples = sample_surfaces(surfaces, items, 0.005)
    heights = [height_over(surfaces, 0, tuple(x)) for x in samples.x]
    np.testing.assert_allclose(heights, 0.0, atol=1e-9)
    np.testing.assert_allclose(np.linalg.norm(samples.normal, axis=1), 1.0, atol=1e-9)
    assert samples.area.sum() == pytest.approx(area, rel=1e-6)


@pytest.mark.parametrize("kind", SHAPES)
def test_samples_are_even(kind: str) -> None:
    """A point of a sparser set has one of the denser set within twice its spacing."""
    surfaces, items = surfaces_of(SHAPES[kind][0])
    dense, sparse = (sample_surfaces(surfaces, items, spacing).x for spacing in (0.005, 0.013))
    gaps = np.linalg.norm(sparse[:, None] - dense[None], axis=2).min(axis=1)
    assert gaps.max() < 0.01


@pytest.mark.parametrize("kind", SHAPES)
def test_retraction_follows_a_tangent_step_and_turns_the_normal(kind: str) -> None:
    """To first order: what is left shrinks with the square of the step; steps over an edge are left out."""
    surfaces, items = surfaces_of(SHAPES[kind][0])
    samples = sample_surfaces(surfaces, items, 0.02)
    small, checked = 1e-5, 0
    for x, n in zip(samples.x, samples.normal, strict=True):
        t = np.cross(n, [0.3, -0.5, 0.8])
        t /= np.linalg.norm(t)
        moved, normal = retract(surfaces, 0, tuple(x + small * t))
        turned = np.array(turning_of_normal(surfaces, 0, tuple(x), tuple(small * t)))
        if np.abs(np.array(normal) - n).max() > 0.01:
            continue
        checked += 1
        np.testing.assert_allclose(moved, x + small * t, atol=1e-8)
        np.testing.assert_allclose(np.array(normal) - n, turned, atol=1e-7)
    assert checked > 0.9 * len(samples.x)


def test_what_another_shape_of_the_body_covers_is_not_sampled() -> None:
    ball = Shape("sphere", (0.05,), STILL)
    shifted = Shape("sphere", (0.05,), Pose(np.eye(3), np.array([0.06, 0.0, 0.0])))
    surfaces, items = surfaces_of(ball, shifted, apart=False)
    samples = sample_surfaces(surfaces, items, 0.005)
    centres = np.array([[0.0, 0.0, 0.0], [0.06, 0.0, 0.0]])
    p = samples.x + surfaces.p_BG[samples.surface]
    assert np.linalg.norm(p[:, None] - centres[None], axis=2).min(axis=1) == pytest.approx(0.05)
    assert samples.area.sum() == pytest.approx(2 * 2 * np.pi * 0.05 * (0.05 + 0.03), rel=0.02)  # two caps are missing
