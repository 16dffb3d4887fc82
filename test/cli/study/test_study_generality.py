"""`study generality`: what cells amount to, that they are kept, that refusals are told, the page."""

from dataclasses import replace
from pathlib import Path

import pytest

from contact_mpc.cli.study import generality
from contact_mpc.cli.study.generality import CellOptions, describe_cell, make_table, run_cell, summarise
from contact_mpc.errors import ConfigError
from contact_mpc.evaluation.starts.find_start import FoundStart
from contact_mpc.planning.start_posture import make_search
from contact_mpc.report.study_report import write_generality_report
from contact_mpc.settings import extras
from contact_mpc.task.task import TaskConfig, load_task

OPTIONS = CellOptions(trials=4, seed=0, samples=2, turn="z:30", plant="drake")
HUGE = "ball:0.5"


def cell(hand: str, thing: str, met: int, reason: str = "") -> dict:
    trials = 0 if reason else OPTIONS.trials
    return {
        "hand": hand, "object": thing, "reason": reason, "trials": trials, "drops": 0, "search_cpu_s": 20.0,
        "success_rate": met / OPTIONS.trials, "angle_error_deg": {"median": 0.4}, "position_error_mm": {"median": 0.5},
        "solve_cpu_ms": {"median": 3.0},
    }  # fmt: skip


ROWS = [cell("a", "ball", 4), cell("a", "cube", 2), cell("b", "ball", 3), cell("b", "cube", 0, "no grasp: too wide")]


def test_a_cell_without_a_grasp_counts_as_failed_trials() -> None:
    result = summarise(ROWS, OPTIONS, wanted=4)
    assert result["pooled_success_rate"] == pytest.approx(9 / 16)
    assert result["success_rate_by_hand"] == {"a": 0.75, "b": 0.375}
    assert not result["goal_met"]
    assert summarise(ROWS[:1], OPTIONS, wanted=1)["goal_met"] and not summarise(ROWS[:1], OPTIONS, wanted=2)["goal_met"]


def test_cells_are_told_in_a_few_words() -> None:
    assert [describe_cell(row) for row in ROWS] == ["4 of 4", "2 of 4", "3 of 4", "no grasp"]
    table = make_table(summarise(ROWS, OPTIONS, wanted=4))
    assert table.row_count == 3 and "b, cube: no grasp: too wide" in str(table.caption)


@pytest.mark.parametrize(
    "given", [
        {"objects": ["ball:0.03", "nonsense"]}, {"turn": "nonsense"}, {"hands": ["nonsense.urdf"]},
        {"hands": ["nonsense"]},
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_before_anything_runs(
    given: dict, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(generality, "compile_first", lambda _: pytest.fail("compiled before it read its options"))
    with pytest.raises(ConfigError, match="nonsense"):
        generality.generality(**given, folder=tmp_path / "cells")
    assert not (tmp_path / "cells").exists()


def test_a_missing_package_of_the_search_is_asked_for_before_any_cell_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    find = extras.find_spec
    monkeypatch.setattr(extras, "find_spec", lambda name: None if name == "mujoco" else find(name))
    monkeypatch.setattr(generality, "compile_first", lambda _: pytest.fail("compiled before it asked for packages"))
    with pytest.raises(ConfigError, match="study generality.* needs mujoco; install with"):
        generality.generality(folder=tmp_path / "cells")
    assert not (tmp_path / "cells").exists()


def test_a_refused_cell_says_why_and_is_kept(tmp_path: Path) -> None:
    row = run_cell("leap_right.urdf", HUGE, tmp_path, OPTIONS)
    assert row["hand"] == "leap_right" and "1000 mm across" in row["reason"] and row["trials"] == 0
    assert run_cell("leap_right.urdf", HUGE, tmp_path, OPTIONS) == row  # with the seconds that it took the first time


def test_a_start_that_was_found_serves_other_engines_and_trials(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def find(task: TaskConfig, *_: object) -> FoundStart:
        search = make_search(task, 0)
        while search.best is None:
            search.best = search.sample()
        search.best = replace(search.best, held=1.0)
        return FoundStart(search, "", met=1.0)

    monkeypatch.setattr(generality, "find_start", find)
    place = tmp_path / "cell"
    file, row = generality._provide_start("allegro_right.urdf", "ball:0.04", place, OPTIONS)
    assert file is not None and load_task(file).has_start
    monkeypatch.setattr(generality, "find_start", lambda *_: pytest.fail("searched again"))
    other = replace(OPTIONS, trials=9, plant="mujoco")
    assert generality._provide_start("allegro_right.urdf", "ball:0.04", place, other) == (file, row)
    with pytest.raises(pytest.fail.Exception, match="searched again"):
        generality._provide_start("allegro_right.urdf", "ball:0.04", place, replace(OPTIONS, seed=1))


def test_the_page_shows_the_matrix_and_why_cells_are_empty(tmp_path: Path) -> None:
    page = write_generality_report(summarise(ROWS, OPTIONS, wanted=4), tmp_path).read_text()
    assert "<h2>Goal met, %</h2>" in page and "no grasp: too wide" in page and "56 %" in page
