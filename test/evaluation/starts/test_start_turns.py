"""Turns from a start in closed loop: a shipped start meets its goals, one that no finger touches none."""

from dataclasses import replace

import pytest

from contact_mpc.evaluation.starts import start_turns
from contact_mpc.evaluation.starts.start_turns import share_of_turns
from contact_mpc.evaluation.trial_run import Case
from contact_mpc.planning.methods import make_plan
from contact_mpc.task.task import load_task


def test_turns_tell_a_start_that_is_held_from_one_that_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(start_turns, "TURNS", 2)
    task = load_task("allegro_ball").about("+z")
    plan = make_plan(task)
    assert share_of_turns((Case(task, plan),)) >= 0.5
    q = task.start_q.copy()
    q[6] += 0.05  # the ball above all fingers
    assert share_of_turns((Case(replace(task, start_q=q), replace(plan, q=plan.q + (q - task.start_q))),)) == 0.0
