"""An object is put over what it can lie on, at the gap that was asked for, and not turned."""

import numpy as np
import pytest

from contact_mpc.model.rotations import rotation_exp
from contact_mpc.planning.grasp.scene import make_scene
from contact_mpc.planning.grasp.support import is_at_rest, lie_down, nearest_support, unbalanced_share
from contact_mpc.task.task import TaskConfig, load_task

GAP_M, MARGIN_M, MOST_SHARE = 1.4e-3, 5e-3, 0.05


@pytest.mark.parametrize("name", ["allegro_ball", "allegro_cube"])
@pytest.mark.parametrize("turn", [0.0, 0.4])
def test_it_lies_at_the_gap_and_as_it_was_turned(name: str, turn: float) -> None:
    task = load_task(name)
    system, scene, q = task.system, make_scene(task.system), task.start_q.copy()
    R, p = system.object_pose(q)
    R = rotation_exp(np.array([turn, 0.5 * turn, 0.0])) @ R
    q[: system.n_q_u] = system.q_from_object_pose(R, p, q)
    laid = lie_down(system, scene, q, 2e-3)
    R_laid, p_laid = system.object_pose(laid)
    assert scene.gaps(laid)[scene.fingers < 0].min() == pytest.approx(2e-3, abs=1e-5)
    np.testing.assert_allclose(R_laid, R, atol=1e-12)
    np.testing.assert_allclose(p_laid[:2], p[:2], atol=1e-9)  # the palm looks up
    np.testing.assert_array_equal(laid[system.n_q_u :], q[system.n_q_u :])
    q[: system.n_q_u] = system.q_from_object_pose(R, p - np.array([0.0, 0.0, 0.06]), q)  # through the palm
    np.testing.assert_allclose(lie_down(system, scene, q, 2e-3), laid, atol=1e-5)
    part = scene.part(np.flatnonzero(scene.fingers < 0))
    np.testing.assert_allclose(lie_down(system, part, q, 2e-3), laid, atol=1e-5)


def test_beside_the_palm_nothing_is_below_it() -> None:
    task = load_task("allegro_ball")
    system, q = task.system, task.start_q.copy()
    R, p = system.object_pose(q)
    q[: system.n_q_u] = system.q_from_object_pose(R, p + np.array([3.0, 0.0, 0.0]), q)
    np.testing.assert_array_equal(lie_down(system, make_scene(system), q, 2e-3), q)


def test_without_a_support_it_stays() -> None:
    task = load_task("planar_hand_ball")
    scene = make_scene(task.system)
    assert nearest_support(scene, task.start_q) is None
    np.testing.assert_array_equal(lie_down(task.system, scene, task.start_q, 2e-3), task.start_q)


def beside(task: TaskConfig, offset_m: tuple[float, float], R: np.ndarray | None = None) -> np.ndarray:
    """Return q of the object that lies so far from where the start has it, turned to R."""
    system, q = task.system, task.start_q.copy()
    R_start, p = system.object_pose(q)
    p = p + np.array([*offset_m, 0.1])
    q[: system.n_q_u] = system.q_from_object_pose(R_start if R is None else R, p, q)
    return lie_down(system, make_scene(system), q, GAP_M)


@pytest.mark.parametrize("beyond_m", [0.0, 0.002, 0.012, 0.025])
def test_of_a_ball_on_an_edge_the_sine_of_the_slope_is_not_balanced(beyond_m: float) -> None:
    """A sphere of radius r, d beyond the edge of a box and a gap away from it, leans by asin(d / (r + gap))."""
    task = load_task("allegro_ball")
    system, scene = task.system, make_scene(task.system)
    palm = next(item for item in system.geometries if item.link == "palm_link")
    half_m = 0.5 * np.abs(palm.X_BG.R) @ palm.shape.size
    edge_m = float(palm.X_BG.p[0] - half_m[0])
    q = beside(task, (edge_m - beyond_m - float(system.object_pose(task.start_q)[1][0]), 0.0))
    radius_m = next(item for item in system.geometries if item.owner == "ball").shape.size[0]
    slope = beyond_m / (radius_m + GAP_M)
    assert unbalanced_share(system, scene, q) == pytest.approx(slope, abs=1e-4)  # lies to 1e-6 m
    assert is_at_rest(system, scene, q, GAP_M, 0.0, MOST_SHARE) == (slope < MOST_SHARE)
    assert not is_at_rest(system, scene, q, GAP_M, MARGIN_M, MOST_SHARE)  # the edge is within the margin
    q = beside(task, (edge_m + 2.0 * MARGIN_M - float(system.object_pose(task.start_q)[1][0]), 0.0))
    assert is_at_rest(system, scene, q, GAP_M, MARGIN_M, MOST_SHARE)


def test_a_cube_stays_on_its_face_and_not_with_half_of_it_beyond_the_palm_or_on_an_edge() -> None:
    task = load_task("allegro_cube")
    system, scene = task.system, make_scene(task.system)
    palm = next(item for item in system.geometries if item.link == "palm_link")
    x, y, _ = palm.X_BG.p - system.object_pose(task.start_q)[1]
    half_m = 0.5 * np.abs(palm.X_BG.R) @ palm.shape.size
    flat, edge = np.eye(3), rotation_exp(np.array([np.deg2rad(10.0), 0.0, 0.0]))
    assert is_at_rest(system, scene, beside(task, (x, y), flat), GAP_M, MARGIN_M, MOST_SHARE)
    beyond = beside(task, (x - half_m[0] - 5e-3, y), flat)
    assert unbalanced_share(system, scene, beyond) > MOST_SHARE
    assert not is_at_rest(system, scene, beside(task, (x - half_m[0] + 2e-3, y), flat), GAP_M, MARGIN_M, MOST_SHARE)
    assert not is_at_rest(system, scene, beside(task, (x, y), edge), GAP_M, 0.0, MOST_SHARE)


def test_where_nothing_draws_it_down_it_stays() -> None:
    task = load_task("planar_hand_ball")
    assert is_at_rest(task.system, make_scene(task.system), task.start_q, GAP_M, MARGIN_M, MOST_SHARE)
