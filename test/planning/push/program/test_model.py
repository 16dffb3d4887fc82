"""What a program is written for: sizes that fit together, and systems without a tool that are refused."""

import pytest

from contact_mpc.errors import ModelError
from contact_mpc.planning.push.planner import ContactImplicitPlanner
from contact_mpc.planning.push.program.model import build_model
from contact_mpc.planning.push.program.settings import ContactImplicitSettings
from contact_mpc.task.task import TaskConfig


def test_sizes_of_states_and_inputs_are_those_of_arm_and_block(planner: ContactImplicitPlanner) -> None:
    model = planner.model
    assert (model.n_r, model.n_o, model.n_x) == (5, 3, 16)
    assert model.has_friction and model.n_u == 7
    settings = model.settings
    assert model.dt_s * (settings.stages - 1) == pytest.approx(settings.horizon_s)
    assert planner.program.n_x == model.n_x


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"tool_link": "elbow"}, "link 'elbow' needs one sphere, the tool's head; 0 found"),
        ({"velocity_weights": (0.1, 0.1)}, "velocity_weights has 2 values; expected 5"),
    ],
)
def test_a_tool_without_a_head_and_weights_that_do_not_fit_are_refused(
    task: TaskConfig, settings: dict[str, object], words: str
) -> None:
    with pytest.raises(ModelError, match=words):
        build_model(task.system, ContactImplicitSettings.model_validate(settings))
