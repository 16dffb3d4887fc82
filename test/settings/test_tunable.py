"""Which parameters may change while a node runs."""

from pydantic import BaseModel, Field

from contact_mpc.control.tracking.config import TrackerConfig
from contact_mpc.settings.tunable import TUNABLE, is_tunable, tunable_names


class Config(BaseModel):
    fixed: float = Field(1.0, json_schema_extra={"unit": "s"})
    plain: float = 1.0
    weight: float = Field(1.0, json_schema_extra={TUNABLE: True})


def test_only_what_is_marked_may_change() -> None:
    assert tunable_names(Config) == ("weight",)
    assert not is_tunable(Config.model_fields["fixed"]) and not is_tunable(Config.model_fields["plain"])


def test_model_horizon_and_guards_of_the_tracker_never_change_while_it_runs() -> None:
    fixed = {"horizon_steps", "h_s", "friction", "mpc_rate_hz", "plan_delay_s", "torque_share", "limit_margin_rad"}
    assert not fixed & set(tunable_names(TrackerConfig))
    assert "command_weight" in tunable_names(TrackerConfig)
