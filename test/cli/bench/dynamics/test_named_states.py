"""States in which steps were once wrong: a few of each are judged right, and a wrong normal is seen."""

import pytest

from contact_mpc.cli.bench.dynamics import named_states
from contact_mpc.cli.bench.dynamics.named_states import judge_bimanual, judge_corners, judge_named_states


def test_named_states_are_judged_right(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, few in (("PALM_STEPS", 2), ("PRESS_STARTS", 2), ("PRESS_STEPS", 1), ("BIMANUAL_STEPS", 10)):
        monkeypatch.setattr(named_states, name, few)
    rows = judge_named_states(3, seed=4)
    assert {row["case"].partition(",")[0] for row in rows} == {"corner", "palm", "pressed", "bimanual"}
    assert all(row["steps"] > 0 and row["wrong_steps"] == 0 for row in rows), rows


def test_a_wrong_normal_and_a_step_without_balance_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(named_states, "core_distance", lambda *_shape: (0.0, (0.0, 0.0, 1.0), 0.0))
    assert judge_corners()["wrong_steps"] == 5
    monkeypatch.setattr(named_states, "judge_step", lambda *_step: False)
    assert judge_bimanual("socp", 2, seed=4)["wrong_steps"] == 2
