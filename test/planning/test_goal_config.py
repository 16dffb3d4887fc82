"""Speeds of goals at run time: the task's own where it says something about them, else the usual ones."""

from dataclasses import replace

import numpy as np
import pytest
from pydantic import ValidationError

from contact_mpc.planning.goal import CONFIG, speed_m_s, turn_speed_deg_s
from contact_mpc.planning.goal_config import GoalConfig
from contact_mpc.task.task import load_task

TASK = load_task("allegro_ball")


def test_a_task_that_hardly_moves_says_nothing_about_speeds() -> None:
    turns = replace(TASK, goal=replace(TASK.goal, angle_deg=3.0 * CONFIG.least_turn_deg), duration_s=6.0)
    stands = replace(TASK, goal=replace(TASK.goal, angle_deg=0.5 * CONFIG.least_turn_deg))
    assert turn_speed_deg_s(turns) == pytest.approx(0.5 * CONFIG.least_turn_deg)
    assert turn_speed_deg_s(stands) == CONFIG.usual_turn_deg_s
    moves = replace(TASK, goal=replace(TASK.goal, translation_m=np.array([0.0, 0.1, 0.0])), duration_s=4.0)
    assert speed_m_s(moves) == pytest.approx(0.025)
    assert speed_m_s(replace(moves, goal=replace(TASK.goal, translation_m=np.zeros(3)))) == CONFIG.usual_speed_m_s


@pytest.mark.parametrize("change", [{"far": 0.5}, {"force_shares": ()}, {"usual_speed_m_s": 0.0}, {"fast": 1.0}])
def test_what_is_out_of_range_or_misspelt_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(ValidationError, match=next(iter(change))):
        GoalConfig.model_validate(change)
