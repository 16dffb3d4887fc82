"""What plans corrected parts comes from the plan that a task names."""

import pytest

from contact_mpc.errors import ConfigError


def test_a_task_without_a_trees_plan_is_refused_with_what_makes_one() -> None:
    pytest.importorskip("mujoco")
    from contact_mpc.loop.parts.corrected_parts import load_parts

    with pytest.raises(ConfigError, match="run --method rrt"):
        load_parts("planar_hand_ball_180")
