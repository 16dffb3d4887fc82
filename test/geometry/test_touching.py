"""Contacts at gaps down to round-off, and below it: no normal may turn because two shapes just touch."""

from collections.abc import Callable
from itertools import product

import numpy as np
import pytest

from contact_mpc.dynamics.contact_dynamics import build_model
from contact_mpc.dynamics.smoothed.newton import Newton, make_newton, measure_gaps
from contact_mpc.geometry.segment_box import segment_box_motion, segment_to_box
from contact_mpc.geometry.sphere_distance import core_distance
from contact_mpc.geometry.turning import across
from contact_mpc.model.kinematic_tree import BOX, CAPSULE, CYLINDER, SPHERE
from contact_mpc.model.system import System

HALF = (0.02, 0.15, 0.3)
GAPS_M = [0.0, 5e-324, 1e-300, 1e-160, *(10.0**e for e in range(-20, -8))]
BOTH_SIDES_M = [sign * gap for gap in GAPS_M for sign in (1.0, -1.0)]
CONE_TOLERANCE = 1e-12
DEEPEST_TOLERANCE_M = 2e-11  # the deepest point of a segment is found to 1e-9 of its length
CORNER_Z_M = 0.0411  # height of the cube's centre on the palm
PALM_X_M = (0.0, 0.095)
CUBE_HALF_M = 0.03


def distance(shape: int, size: tuple, c: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    s, n, N = core_distance(shape, size, tuple(float(x) for x in c))
    return s, np.array(n), np.array(N)


def test_corner_that_touches_a_face_from_outside_has_the_normal_of_that_face() -> None:
    s, n, N = distance(BOX, (0.02, 0.15, 0.3), np.array([np.nextafter(0.02, 1.0), 0.0, 0.0]))
    assert 0.0 < s < 1e-17
    np.testing.assert_array_equal(n, [1.0, 0.0, 0.0])
    np.testing.assert_array_equal(N, 0.0)


@pytest.mark.parametrize("gap", BOTH_SIDES_M)
def test_normal_over_the_faces_of_a_box_and_a_cylinder_does_not_depend_on_the_gap(gap: float) -> None:
    for axis, side in product(range(3), (1.0, -1.0)):
        normal = side * np.eye(3)[axis]
        for shape, size in ((BOX, HALF), (CYLINDER, (0.05, 0.08, 0.0))):
            half = HALF[axis] if shape == BOX else (0.05, 0.05, 0.08)[axis]
            _, n, N = distance(shape, size, normal * (half + gap))
            np.testing.assert_array_equal(n, normal)
            assert np.abs(N).max() < 30.0  # 1 / radius
        for shape, radius in ((SPHERE, 0.06), (CAPSULE, 0.06)):
            half_length = 0.07 if shape == CAPSULE and axis == 2 else 0.0
            _, n, _ = distance(
                shape, (radius, 0.07 if shape == CAPSULE else 0.0, 0.0), normal * (half_length + radius + gap)
            )
            np.testing.assert_allclose(n, normal, atol=CONE_TOLERANCE)


@pytest.mark.parametrize("gap", BOTH_SIDES_M)
def test_normal_at_edges_corners_and_rims_stays_between_those_of_the_faces(gap: float) -> None:
    """A direction of the order of round-off is not defined, but it must not leave the cone of the faces' normals."""
    for signs in product((1.0, 0.0, -1.0), repeat=3):
        if np.count_nonzero(signs) < 2:
            continue
        outward = np.array(signs)
        s, n, N = distance(BOX, HALF, outward * HALF + gap * outward)
        assert np.all(n * outward >= -CONE_TOLERANCE) and np.linalg.norm(n) == pytest.approx(1.0)
        assert np.abs(n[outward == 0.0]).max(initial=0.0) <= CONE_TOLERANCE
        assert np.isfinite(s) and np.all(np.isfinite(N))
        if gap >= 1e-9:
            np.testing.assert_allclose(n, outward / np.linalg.norm(outward), atol=1e-6)
    s, n, N = distance(CYLINDER, (0.05, 0.08, 0.0), np.array([0.05 + gap, 0.0, 0.08 + gap]))
    assert n[0] >= 0.0 and n[2] >= 0.0 and np.linalg.norm(n) == pytest.approx(1.0) and np.all(np.isfinite(N))


def test_axis_of_a_long_cylinder_has_a_unit_normal_across_it() -> None:
    _, n, N = distance(CYLINDER, (0.01, 0.5, 0.0), np.zeros(3))
    assert np.linalg.norm(n) == pytest.approx(1.0) and n[2] == 0.0 and np.all(np.isfinite(N))


@pytest.mark.parametrize("gap", BOTH_SIDES_M)
def test_capsule_whose_axis_touches_a_box_leaves_it_through_the_face(gap: float) -> None:
    """As deep in the box as its radius: over each face, by an end and lying along it, and over an edge."""
    for axis, side in product(range(3), (1.0, -1.0)):
        normal = side * np.eye(3)[axis]
        along = np.roll(np.eye(3)[axis], 1)
        for u, length in ((normal, 0.01), (along, 0.01), ((normal + along) / np.sqrt(2.0), 0.01)):
            lowest = -length * abs(float(u @ normal))
            c = normal * (HALF[axis] + gap - lowest)
            t, s, n, free, slides = segment_to_box(tuple(c), tuple(u), length, HALF)
            np.testing.assert_allclose(n, normal, atol=CONE_TOLERANCE)
            assert s == pytest.approx(gap, abs=DEEPEST_TOLERANCE_M)
            assert abs(t) <= length
            blocks = [np.full((1, 3, 3), np.nan) for _ in range(4)]
            axes = tuple(tuple(row) for row in np.eye(3))
            segment_box_motion(0, s, n, tuple(u), axes, free, slides, *blocks)
            assert np.all(np.isfinite(blocks))


def test_two_capsules_whose_axes_cross_part_across_both() -> None:
    n = np.array(across((1.0, 0.0, 0.0), (0.6, 0.8, 0.0)))
    np.testing.assert_allclose(np.abs(n), [0.0, 0.0, 1.0], atol=CONE_TOLERANCE)
    n = np.array(across((1.0, 0.0, 0.0), (1.0, 0.0, 0.0)))
    assert n[0] == 0.0 and np.linalg.norm(n) == pytest.approx(1.0)


def touching(system: System, ws: Newton, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the normals (k, 3) and gaps (k,) of all contacts nearer than 1 um."""
    measure_gaps(build_model(system), ws, q)
    near = ws.con.phi < 1e-6
    return ws.con.n[near], ws.con.phi[near]


@pytest.mark.parametrize("gap", BOTH_SIDES_M[::2] + [-1e-16, -1e-12, -1e-9])
def test_cube_on_the_palm_is_carried_upwards_wherever_it_lies(gap: float, named_system: Callable) -> None:
    """In the middle, and with a side flush with the palm's own, inside and outside by round-off."""
    system = named_system("allegro_cube")
    ws, q = make_newton(build_model(system)), system.q_default.copy()
    q[system.n_q_u :] = 0.0
    flush = PALM_X_M[0] + CUBE_HALF_M
    for x in (0.0475, flush, np.nextafter(flush, 1.0), np.nextafter(flush, 0.0), flush - 1e-13):
        q[:7] = [1.0, 0.0, 0.0, 0.0, x, 0.0, CORNER_Z_M + gap]
        normals, gaps = touching(system, ws, q)
        assert len(gaps) >= 4
        np.testing.assert_allclose(normals @ [0.0, 0.0, 1.0], 1.0, atol=1e-9)
        np.testing.assert_allclose(gaps, gap, atol=2e-9)
