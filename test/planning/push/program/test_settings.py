"""Settings of pushes: a task's section `planner` reaches them, nested ones included, and what is wrong is refused."""

from dataclasses import replace

import pytest

from contact_mpc.errors import ConfigError
from contact_mpc.planning.push.program.settings import ContactImplicitSettings
from contact_mpc.planning.push.task import read_settings
from contact_mpc.task.task import TaskConfig


def test_a_tasks_section_reaches_the_settings_also_those_of_planning_again(task: TaskConfig) -> None:
    changed = replace(task, planner={**task.planner, "replan": {"most_searches": 1}, "braking_steps": 5})
    settings = read_settings(changed)
    assert (settings.replan.most_searches, settings.braking_steps) == (1, 5)
    assert settings.replan.moving_m_s == ContactImplicitSettings().replan.moving_m_s


@pytest.mark.parametrize(
    ("values", "words"),
    [({"replan": {"most_serches": 1}}, "most_serches"), ({"replan": {"largest_share": 2.0}}, "largest_share"),
     ({"clear_m": -0.1}, "clear_m")],
)  # fmt: skip
def test_wrong_settings_are_named_with_their_file(task: TaskConfig, values: dict[str, object], words: str) -> None:
    with pytest.raises(ConfigError, match=f"{task.path.name}: planner.*{words}"):
        read_settings(replace(task, planner={**task.planner, **values}))
