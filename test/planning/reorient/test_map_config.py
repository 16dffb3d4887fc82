"""Parameters of the search of grasps at other orientations reach it, and are kept in their ranges."""

import numpy as np
import pytest
from pydantic import ValidationError

from contact_mpc.planning.reorient.map_config import GraspMapConfig
from contact_mpc.planning.reorient.more_grasps import GraspMap
from contact_mpc.task.task import load_task

VARIATIONS, ROUNDING_M = 12, 1e-9


@pytest.mark.parametrize("values", [{"stones": 0}, {"turn_rad": 0.0}, {"reach_m": np.nan}, {"unknown": 1.0}])
def test_values_out_of_range_are_refused(values: dict[str, float]) -> None:
    with pytest.raises(ValidationError):
        GraspMapConfig.model_validate(values)


@pytest.mark.parametrize("place_m", [0.0, 3e-3])
def test_an_object_whose_place_is_not_varied_stays_where_the_start_has_it(place_m: float) -> None:
    task = load_task("allegro_cube_yaw")
    config = GraspMapConfig(stones=40, turn_rad=0.05, joint_rad=0.01, place_m=place_m)
    grasps = GraspMap(task, 1, seed=0, config=config)
    for _ in range(VARIATIONS):
        grasps.vary()
    places = np.array([task.system.object_pose(item.q)[1] for item in grasps.kept])
    off_m = np.linalg.norm(places - task.system.object_pose(task.start_q)[1], axis=1)
    assert len(places) > 1 and (off_m.max() < ROUNDING_M) == (place_m == 0.0)
