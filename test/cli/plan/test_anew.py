"""A task without its start: its object lies among the fingertips, wherever it was before."""

from dataclasses import replace

import numpy as np
import pytest

from contact_mpc.cli.plan.anew import without_start
from contact_mpc.model.rotations import rotation_exp
from contact_mpc.planning.grasp.scene import make_scene
from contact_mpc.planning.grasp.support import nearest_support
from contact_mpc.task.task import load_task


@pytest.mark.parametrize("name", ["allegro_ball", "allegro_cube", "planar_hand_ball"])
def test_nothing_of_the_start_is_left(name: str) -> None:
    task = load_task(name)
    q = task.start_q.copy()
    R, p = task.system.object_pose(q)
    q[: task.system.n_q_u] = task.system.q_from_object_pose(rotation_exp(np.array([0.3, 0.0, 0.0])) @ R, p + 0.1, q)
    elsewhere = replace(task, start_q=q, start_u=task.start_u + 0.1)
    found, same = without_start(task, 1), without_start(elsewhere, 1)
    np.testing.assert_array_equal(found.start_q, same.start_q)
    np.testing.assert_array_equal(found.start_u, found.start_q[task.system.n_q_u :])
    assert not found.has_start and not np.array_equal(found.start_q, without_start(task, 2).start_q)


def test_it_lies_within_reach_of_the_shipped_grasp() -> None:
    task = load_task("allegro_ball")
    shipped = task.system.object_pose(task.start_q)[1]
    for seed in range(3):
        found = without_start(task, seed)
        assert np.linalg.norm(task.system.object_pose(found.start_q)[1] - shipped) < 0.04


def test_for_a_task_that_grips_anew_it_lies_on_the_palm() -> None:
    task = load_task("allegro_ball_so3")
    scene = make_scene(task.system)
    for seed in range(3):
        gap_m, normal = nearest_support(scene, without_start(task, seed).start_q)
        assert 0.0 < gap_m < 0.005 and normal[2] > 0.5


def test_between_two_arms_it_is_where_the_systems_file_has_it() -> None:
    task = load_task("iiwa_bimanual_box")
    found = without_start(task, 0)
    np.testing.assert_array_equal(found.start_q, task.system.q_default)
    assert not found.has_start
