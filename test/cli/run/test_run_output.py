"""What a run shows while it runs fits on a terminal of 80 columns."""

import pytest

from contact_mpc.cli.run.run_output import run_progress

pytest.importorskip("rclpy")

from contact_mpc.ros.stack.run_session import RunProgress


def test_bar_and_figures_of_a_run_are_whole_at_80_columns(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    with run_progress("iiwa_bimanual_box", 12.5) as show:
        show(RunProgress(6.0, 6.0 / 8.0, 12.34, 5.6))
    said = capfd.readouterr().err
    assert "iiwa_bimanual_box" in said and "6.0 / 12.5 s" in said and said.count("\u2501") >= 15
    assert "0.75 x real time, object at 12.3 deg, 5.6 mm from the goal" in said


def test_a_run_without_a_terminal_says_a_line_at_a_time_not_one_for_each_report(
    capfd: pytest.CaptureFixture[str],
) -> None:
    with run_progress("iiwa_bimanual_box", 12.5) as show:
        for k in range(50):
            show(RunProgress(0.01 * k, 0.01 * k / 8.0, 12.34, 5.6, "plan 2, fingers move freely"))
        said = capfd.readouterr().err
    assert "iiwa_bimanual_box 0.0 / 12.5 s, 0.00 x real time" in said and "plan 2, fingers move freely" in said
    assert said.count("real time") == 1
