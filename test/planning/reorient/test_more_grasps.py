"""Grasps at other orientations: found from one to the next, where the start has the object."""

from dataclasses import replace

import numpy as np
import pytest

from contact_mpc.errors import PlanError
from contact_mpc.geometry.fingers import closest_pair_per_finger, touching_shapes
from contact_mpc.geometry.symmetry import object_symmetry
from contact_mpc.model.fingertips import fingertip_links
from contact_mpc.model.rotations import rotation_exp
from contact_mpc.planning.grasp.grasp_config import GraspSearchConfig
from contact_mpc.planning.grasp.scene import make_scene
from contact_mpc.planning.reorient.map_config import GraspMapConfig
from contact_mpc.planning.reorient.more_grasps import GraspMap
from contact_mpc.task.task import TaskConfig, load_task

COUNT, MOST_VARIATIONS = 4, 2000  # some hundred reach all orientations
QUARTER_DEG, ROUNDING = 90.0, 1e-9
TOUCHING_M = 1e-4  # over the gap of a touch


@pytest.fixture(scope="module")
def task() -> TaskConfig:
    """Return the task with turns so small that most grasps that hold serve them."""
    task = load_task("allegro_cube_yaw")
    return replace(task, planner={**task.planner, "turn_deg": 2.0, "back_deg": 2.0})


@pytest.fixture(scope="module")
def found(task: TaskConfig) -> GraspMap:
    grasps = GraspMap(task, COUNT, seed=0)
    for _ in range(MOST_VARIATIONS):
        if all(item is not None for item in grasps.found):
            break
        grasps.vary()
    return grasps


def test_from_one_grasp_to_the_next_it_comes_all_the_way_to_where_the_object_looks_the_same(
    task: TaskConfig, found: GraspMap
) -> None:
    (R_start, p_start), symmetry = task.system.object_pose(task.start_q), object_symmetry(task.system)
    for k, item in enumerate(found.found):
        assert item is not None
        R, p = task.system.object_pose(item.q)
        assert abs(p[2] - p_start[2]) < ROUNDING  # it lies as high
        wanted = rotation_exp(np.deg2rad(QUARTER_DEG * k / COUNT) * task.goal.axis_W) @ R_start
        off_deg = np.rad2deg(np.linalg.norm(symmetry.turn_between(R, wanted)))
        assert off_deg <= 0.5 * QUARTER_DEG / (COUNT * GraspMapConfig().stones) + ROUNDING


def test_every_grasp_touches_with_fingertips_alone_and_enough_of_them(task: TaskConfig, found: GraspMap) -> None:
    scene, reach_m = make_scene(task.system), GraspSearchConfig().contact_gap_m + TOUCHING_M
    tips = fingertip_links(task.system)
    shapes = touching_shapes(task.system)
    for item in found.found:
        assert item is not None
        touching = closest_pair_per_finger(scene.fingers, scene.gaps(item.q), reach_m)
        assert len(touching) >= 3 and all((shapes[c].owner, shapes[c].link) in tips for c in item.grasp.pairs)


def test_a_ball_needs_no_other_grasp() -> None:
    with pytest.raises(PlanError, match="looks the same however it is turned"):
        GraspMap(load_task("allegro_ball_so3"), COUNT, seed=0)
