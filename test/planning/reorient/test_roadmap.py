"""Which of several grasps takes an object where it lies."""

import numpy as np
import pytest

from contact_mpc.model.rotations import rotation_exp
from contact_mpc.planning.grasp.scene import make_scene
from contact_mpc.planning.reorient.config import ReorientationConfig
from contact_mpc.planning.reorient.roadmap import GraspRoadmap, reach_along
from contact_mpc.task.task import TaskConfig, load_task

UP = np.array([0.0, 0.0, 1.0])
YAWS_DEG = (0.0, 30.0, 60.0)
TURN_DEG, ROUNDING_RAD = 18.0, 1e-6


def yaw(deg: float) -> np.ndarray:
    return rotation_exp(np.deg2rad(deg) * UP)


def make_roadmap(task: TaskConfig) -> GraspRoadmap:
    """Return the roadmap of the task's posture with the object at `YAWS_DEG`, whatever its fingers do there."""
    system, starts = task.system, []
    for deg in YAWS_DEG:
        q = task.start_q.copy()
        q[: system.n_q_u] = system.q_from_object_pose(yaw(deg), system.object_pose(q)[1], q)
        starts.append((q, task.start_u))
    config = ReorientationConfig(turn_deg=TURN_DEG, back_deg=TURN_DEG)
    return GraspRoadmap(system, make_scene(system), starts, config)


@pytest.fixture(scope="module")
def roadmap() -> GraspRoadmap:
    return make_roadmap(load_task("allegro_cube"))


def best(roadmap: GraspRoadmap, at_deg: float, left_deg: float) -> int:
    found = roadmap.order(yaw(at_deg), np.deg2rad(left_deg) * UP)[0]
    return next(k for k, grasp in enumerate(roadmap.grasps) if grasp is found)


def test_a_grasp_turns_by_what_is_left_to_its_most_ahead_of_its_posture() -> None:
    most = np.deg2rad(TURN_DEG)
    for off_deg, left_deg, wanted_deg in ((0.0, 90.0, 18.0), (-10.0, 90.0, 28.0), (-10.0, -90.0, 8.0), (5.0, 7.0, 7.0)):
        reach = reach_along(np.deg2rad(off_deg) * UP, np.deg2rad(left_deg) * UP, most)
        assert np.rad2deg(reach) == pytest.approx(wanted_deg)
    assert reach_along(UP, 0.0 * UP, most) == 0.0


@pytest.mark.parametrize("quarters", [0, 1, 2, 3])
@pytest.mark.parametrize(
    ("at_deg", "left_deg", "wanted"), [(15.0, 90.0, 1), (15.0, -90.0, 0), (0.0, 5.0, 0), (75, 90, 0)]
)
def test_a_cube_is_taken_by_the_grasp_that_turns_it_furthest_whichever_side_is_in_front(
    roadmap: GraspRoadmap, quarters: int, at_deg: float, left_deg: float, wanted: int
) -> None:
    assert best(roadmap, at_deg + 90.0 * quarters, left_deg) == wanted


def test_turning_grasp_after_grasp_a_cube_comes_to_any_yaw(roadmap: GraspRoadmap) -> None:
    most = np.deg2rad(TURN_DEG)
    for goal_deg in np.random.default_rng(0).uniform(-180.0, 180.0, 20):
        at_rad, goal_rad = 0.0, np.deg2rad(goal_deg)
        for _ in range(int(np.ceil(180.0 / (2.0 * TURN_DEG - 30.0))) + 1):
            left = (goal_rad - at_rad) * UP
            if abs(goal_rad - at_rad) < ROUNDING_RAD:
                break
            grasp = roadmap.order(rotation_exp(at_rad * UP), left)[0]
            off = roadmap.turn_from(grasp, rotation_exp(at_rad * UP))
            at_rad += np.sign(goal_rad - at_rad) * reach_along(off, left, most)
        assert abs(goal_rad - at_rad) < ROUNDING_RAD


def test_where_no_grasp_fits_the_nearest_is_left(roadmap: GraspRoadmap) -> None:
    tilted = rotation_exp(np.deg2rad(40.0) * np.array([1.0, 0.0, 0.0])) @ yaw(28.0)
    order = roadmap.order(tilted, 1.0 * UP)
    assert len(order) == 1 and order[0] is roadmap.grasps[1]


def test_every_grasp_of_a_ball_fits_everywhere() -> None:
    roadmap = make_roadmap(load_task("allegro_ball_so3"))
    order = roadmap.order(rotation_exp(np.array([0.3, 2.0, -0.4])), 1.0 * UP)
    assert [id(grasp) for grasp in order] == [id(grasp) for grasp in roadmap.grasps]


def test_a_grasp_that_found_no_turn_is_left_out(roadmap: GraspRoadmap) -> None:
    refused = roadmap.order(yaw(15.0), 1.0 * UP)[0]
    assert roadmap.has_choice and all(grasp is not refused for grasp in roadmap.order(yaw(15.0), 1.0 * UP, refused))
