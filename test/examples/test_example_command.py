"""``contact-mpc example``: plots and data are written, JSON is one object, mistakes end in one line."""

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from contact_mpc.cli.main import build_app
from contact_mpc.examples.registry import EXAMPLES

pytest.importorskip("matplotlib")


def run(*arguments: str):
    return CliRunner().invoke(build_app(["example"]), ["example", *arguments])


def test_plots_and_data_are_written_and_named(tmp_path: Path) -> None:
    result = run("pusher_1d", "--out", str(tmp_path / "new" / "folder"), "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["command"] == "example" and found["example"] == "pusher_1d" and found["goal_met"] is True
    names = {Path(path).name for path in found["files"]}
    assert names == {"pusher_1d.png", "pusher_1d.svg", "pusher_1d.npz", "pusher_1d.json", "pusher_1d.html"}
    folder = tmp_path / "new" / "folder"
    assert (folder / "pusher_1d.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (folder / "pusher_1d.svg").read_text()
    data = np.load(folder / "pusher_1d.npz")
    assert np.abs(data["exact_m"] - data["exact_closed_form_m"]).max() < 1e-7
    assert json.loads((folder / "pusher_1d.json").read_text())["formulation"] == "qp"


def test_table_lists_what_is_found_and_expected(tmp_path: Path) -> None:
    result = run("parallel_gripper", "--formulation", "lcp", "--h", "0.01", "--out", str(tmp_path))
    assert result.exit_code == 0, result.output
    assert "LCP" in result.output and "QP" not in result.output and "16 N" in result.output
    times_s = np.load(tmp_path / "parallel_gripper.npz")["lcp_times_s"]
    np.testing.assert_allclose(np.diff(times_s), 0.01)


def test_missed_expectation_ends_with_exit_code_1(tmp_path: Path) -> None:
    result = run("pusher_1d", "--h", "3.0", "--out", str(tmp_path), "--json")
    assert result.exit_code == 1, result.output
    assert json.loads(result.stdout)["goal_met"] is False


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("gripper",), ("unknown example 'gripper'", "parallel_gripper")),
        (("cube", "--formulation", "log_barrier"), ("formulation 'log_barrier'", "lcp, qp, socp")),
        (("cube", "--h", "0"), ("h = 0.0 s", "from 1e-05 to 0.05 s")),
    ],
)
def test_mistakes_end_in_one_line_and_exit_code_2(arguments, words, tmp_path: Path) -> None:
    result = run(*arguments, "--out", str(tmp_path))
    assert result.exit_code == 2
    assert result.output.startswith("error: ") and all(word in result.output for word in words)
    assert "Traceback" not in result.output


def test_folder_that_cannot_be_written_is_refused_before_anything_runs(tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setattr("contact_mpc.cli.example.run_example", lambda *_: pytest.fail("ran"))
    result = run("cube", "--out", str(tmp_path / "file" / "below"))
    assert result.exit_code == 2 and "cannot be written to" in result.output


def test_every_example_is_named_in_the_help() -> None:
    result = run("--help")
    assert all(name in result.output for name in EXAMPLES)
