"""``contact-mpc study tracking`` on a task of 0.1 s in which an object floats: rows, pairs, going on, the page."""

import json

import pytest
from typer.testing import CliRunner

from contact_mpc.cli.main import build_app
from contact_mpc.cli.study.tracking import choose_rows
from contact_mpc.evaluation.variants import Variant

TASK = """
name: float
system: planar_hand_ball
start:
  joints_rad: {left_1: -0.8, left_2: -0.3, right_1: 0.8, right_2: 0.3}
  commands_rad: {left_1: -0.8, left_2: -0.3, right_1: 0.8, right_2: 0.3}
  object_position_m: [0.0, 0.0, 0.8]
goal: {rotation_axis: [1.0, 0.0, 0.0], rotation_deg: 0.0}
duration_s: 0.1
hold_s: 0.0
tolerance_deg: 2.0
tolerance_mm: 2.5
planner: {initialisation: constant}   # of fingers that hold nothing
"""


@pytest.fixture
def study(tmp_path):
    path = tmp_path / "float.yaml"
    path.write_text(TASK)

    def call(*options: str):
        arguments = ["study", "tracking", "--task", str(path), "--params", "planar_hand_ball", *options]
        return CliRunner().invoke(build_app(arguments), arguments)

    return call


def test_rows_run_the_same_trials_and_count_pairs(study):
    result = json.loads(study("--what", "ablation", "--trials", "3", "--only", "one", "--json").stdout)
    assert [row["label"] for row in result["rows"]] == ["as configured", "one step", "one iteration per command"]
    for row in result["rows"]:  # nothing touches the object, so that no ingredient matters
        assert (row["trials"], row["gained"], row["lost"], row["p_value"]) == (3, 0, 0, 1.0)
        assert row["success_rate"] == result["rows"][0]["success_rate"]


def test_chosen_rows_count_against_the_row_that_all_count_against():
    rows = [Variant("ablation", label) for label in ("as configured", "one step", "ten steps")]
    assert [row.label for row in choose_rows(rows, "ten")] == ["as configured", "ten steps"]
    assert [row.label for row in choose_rows(rows, "configured")] == ["as configured"]
    points = [Variant("delay", str(value), value=float(value)) for value in (0, 10)]
    assert choose_rows(points, "10") == points[1:]  # rows over a value are not paired


def test_scaled_disturbances_are_other_trials(study):
    options = ["--what", "ablation", "--trials", "2", "--only", "one step", "--json"]
    plain, twice = (json.loads(study(*options, *more).stdout) for more in ((), ("--disturbance-scale", "2")))
    assert (plain["conditions"], twice["conditions"]) == ("drake", "drake, deviations x 2")
    offsets = [result["rows"][1]["position_error_mm"]["median"] for result in (plain, twice)]
    assert offsets[1] > 1.5 * offsets[0] > 0.0  # it floats where it was put


def test_later_call_goes_on_from_the_file(study, tmp_path):
    options = ["--what", "sensitivity", "--only", "noise", "--out", str(tmp_path / "o.jsonl"), "--json"]
    first = json.loads(study(*options, "--trials", "2").stdout)
    lines = (tmp_path / "o.jsonl").read_text().splitlines()
    assert len(lines) == 2 * len(first["rows"])  # no two rows are the same
    more = json.loads(study(*options, "--trials", "3").stdout)
    assert (tmp_path / "o.jsonl").read_text().splitlines()[: len(lines)] == lines
    assert len((tmp_path / "o.jsonl").read_text().splitlines()) == 3 * len(more["rows"])
    assert [row["trials"] for row in more["rows"]] == [3] * len(more["rows"])


def test_rows_that_are_the_same_run_once(study, tmp_path):
    out = tmp_path / "o.jsonl"
    options = ["--what", "sensitivity", "--only", "rotation_weight", "--trials", "2", "--out", str(out), "--json"]
    rows = json.loads(study(*options).stdout)["rows"]
    other = json.loads(study(*[*options[:3], "delay", *options[4:]]).stdout)["rows"]  # 20 ms are as configured
    assert [row["trials"] for row in [*rows, *other]] == [2] * 8
    assert len(out.read_text().splitlines()) == 2 * (3 + 4)


def test_page_has_a_plot_per_group_and_the_table(study, tmp_path):
    shown = study("--what", "sensitivity", "--only", "delay", "--trials", "1", "--report", str(tmp_path / "page"))
    assert shown.exit_code == 0
    page = (tmp_path / "page" / "sensitivity.html").read_text()
    data = json.loads(page.split('id="data">')[1].split("</script>")[0])
    (figure,) = data["figures"].values()
    assert figure["data"][0]["x"] == [0.0, 10.0, 20.0, 40.0, 60.0]
    assert all(f"<td>delay of poses, ms: {value}</td>" in page for value in (0, 10, 20, 40, 60))
    assert '<p class="verdict met">All rows run</p>' in page and "<h2>Worst trial of each row</h2>" in page
    assert "<h2>Worst trial: " in page and len(data["scene"]["times"]) > 2
    assert "<td>run it again</td>" in page and "study tracking --task" in page


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--what", "luck"], "allowed: ablation, grasp, sensitivity, comparison"),
        (["--what", "ablation", "--only", "magic"], "--only magic matches no row; there are: as configured"),
        (["--what", "ablation", "--plant", "bullet"], "allowed: drake, mujoco"),
    ],
)
def test_mistake_ends_in_one_line(study, options, message):
    shown = study(*options)
    assert shown.exit_code == 2
    assert message in shown.stderr
    assert len(shown.stderr.strip().splitlines()) == 1
