"""An object is put over what it can lie on, at the gap that was asked for, and not turned."""

import numpy as np
import pytest

from contact_mpc.model.rotations import rotation_exp
from contact_mpc.planning.grasp.scene import make_scene
from contact_mpc.planning.grasp.support import lie_down, nearest_support
from contact_mpc.task.task import load_task


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
