"""Solids: volume, centre and moments as the formulas of their kind say; unions add up; hulls agree with boxes."""

import numpy as np
import pytest

from contact_mpc.errors import ConfigError
from contact_mpc.importing.objects import make_object
from contact_mpc.importing.solids import KINDS, hull_properties, mass_properties

SIZES = {1: (0.03,), 2: (0.03, 0.1), 3: (0.08, 0.03, 0.04)}
SAMPLES = 200_000
SHARE = 0.02  # of the size: what so many samples and 100 vertices in place of a curved side leave


@pytest.mark.parametrize("kind", KINDS)
def test_properties_are_those_of_points_drawn_inside(kind: str) -> None:
    """The oracle is a count of random points inside the pieces; the capsule's moments are its cylinder's."""
    shapes = KINDS[kind].make(SIZES[len(KINDS[kind].sizes)])
    found = mass_properties(shapes)
    low, high = found.bounds
    points = np.random.default_rng(3).uniform(low, high, (SAMPLES, 3))
    inside = points[_is_inside(shapes, points)]
    size = float(np.max(high - low))
    np.testing.assert_allclose(found.centre, inside.mean(axis=0), atol=SHARE * size)
    np.testing.assert_allclose(found.second / found.volume, np.cov(inside.T), atol=SHARE * size**2)
    volume = float(np.prod(high - low)) * len(inside) / SAMPLES
    assert found.volume == pytest.approx(volume, rel=0.3 if kind == "capsule" else 0.03)


def _is_inside(shapes, points):
    from scipy.spatial import ConvexHull

    if shapes.hull is not None:
        planes = ConvexHull(shapes.hull).equations
        return np.all(points @ planes[:, :3].T + planes[:, 3] < 0.0, axis=1)
    found = np.zeros(len(points), dtype=bool)
    for item in shapes.primitives:
        local = (points - item.X_MG.p) @ item.X_MG.R
        if item.kind == "box":
            found |= np.all(np.abs(local) < 0.5 * np.array(item.size), axis=1)
        elif item.kind == "cylinder":
            found |= (np.hypot(local[:, 0], local[:, 1]) < item.size[0]) & (np.abs(local[:, 2]) < 0.5 * item.size[1])
        else:
            half = 0.5 * item.size[1] if item.kind == "capsule" else 0.0
            along = np.clip(local[:, 2], -half, half)
            found |= np.linalg.norm(local - np.outer(along, [0.0, 0.0, 1.0]), axis=1) < item.size[0]
    return found


def test_a_box_as_a_hull_has_the_same_properties() -> None:
    box = mass_properties(KINDS["box"].make((0.02, 0.04, 0.06)))
    corners = [[x, y, z] for x in (-0.01, 0.01) for y in (-0.02, 0.02) for z in (-0.03, 0.03)]
    hull = hull_properties(np.array(corners))
    assert hull.volume == pytest.approx(box.volume)
    np.testing.assert_allclose(hull.second, box.second, rtol=1e-9, atol=1e-18)


def test_an_ell_is_made_of_pieces_and_lies_at_its_centre_of_mass() -> None:
    item = make_object("ell:0.08,0.03,0.03", None)
    assert [piece.kind for piece in item.shapes.primitives] == ["box", "box"]
    assert item.half_extent_m[0] == pytest.approx(item.half_extent_m[1])
    assert item.X_OM.p[0] == pytest.approx(item.X_OM.p[1]) and item.X_OM.p[0] < 0.0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sphere:0.03", "expected ball:radius"),
        ("wedge:0.1", "a wedge has x,y,z"),
        ("tee:0.03,0.05,0.03", "longer than"),
    ],
)
def test_mistakes_are_told_in_one_line(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message) as error:
        make_object(text, None)
    assert "\n" not in str(error.value)
