"""Parameters of turns: what is out of range is refused with the file, the key and what is allowed."""

import pytest

from contact_mpc.errors import ConfigError
from contact_mpc.planning.reorient.config import ReorientationConfig
from contact_mpc.planning.reorient.segments import build_planner
from contact_mpc.task.task import load_task


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("turn_deg", 0.0, "turn_deg.*greater than 0"),
        ("back_deg", 91.0, "back_deg.*<= 90|back_deg.*less than or equal"),
        ("turn", 1.0, "unknown key 'turn' .did you mean"),
    ],
)
def test_what_is_out_of_range_or_unknown_is_refused(key: str, value: float, words: str) -> None:
    task = load_task("allegro_ball_so3")
    task.planner[key] = value
    with pytest.raises(ConfigError, match=f"allegro_ball_so3.yaml: planner.*({words})"):
        build_planner(task)


def test_shipped_tasks_have_parameters_that_are_allowed() -> None:
    for name in ("allegro_ball_so3", "planar_hand_ball_180"):
        planner = build_planner(load_task(name))
        assert isinstance(planner.config, ReorientationConfig)
