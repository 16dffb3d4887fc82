"""``contact-mpc study metric`` and ``study smoothing``: rows, ratios, and pages with curves and tables."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from contact_mpc.cli.main import build_app
from contact_mpc.cli.study.metric import GLOBAL, OURS, VARIANTS


def call(*arguments: str):
    words = ["study", *arguments]
    return CliRunner().invoke(build_app(words), words)


def figures_of(path: Path) -> dict:
    page = path.read_text()
    return json.loads(page.split('id="data">')[1].split("</script>")[0])["figures"]


def test_metric_grows_all_variants_and_draws_coverage_over_nodes(tmp_path):
    options = ("planar_hand_ball", "--nodes", "40", "--seeds", "2", "--report", str(tmp_path), "--json")
    result = json.loads(call("metric", *options).stdout)
    system = result["systems"]["planar_hand_ball"]
    assert list(system["variants"]) == list(VARIANTS) and result["counts"][-1] == 40
    ours, other = (system["variants"][name]["visited"][-1]["mean"] for name in (OURS, GLOBAL))
    assert system["ratios"]["ours"][-1]["ratio"] == pytest.approx(ours / other)
    assert result["coverage_ratio"] == {"planar_hand_ball": pytest.approx(ours / other)}
    drawn = figures_of(tmp_path / "metric.html")
    assert set(drawn) == {"planar_hand_ball_visited", "planar_hand_ball_packed"}
    lines = [trace for trace in drawn["planar_hand_ball_visited"]["data"] if trace.get("name")]
    assert [line["name"] for line in lines] == list(VARIANTS)
    assert lines[0]["x"] == result["counts"] and lines[0]["y"][-1] == pytest.approx(100.0 * ours)
    bands = [trace for trace in drawn["planar_hand_ball_visited"]["data"] if trace.get("fill")]
    assert len(bands) == len(VARIANTS)
    assert "<td>ratio: ours</td>" in (tmp_path / "metric.html").read_text()


def test_smoothing_draws_costs_over_iterations_and_over_time(tmp_path):
    options = ("planar_pushing", "--iterations", "3", "--samples", "1", "--report", str(tmp_path), "--json")
    result = json.loads(call("smoothing", *options).stdout)
    row = result["problems"]["planar_pushing"]
    for item in row.values():
        assert len(item["costs"]) == len(item["times_s"]) <= 3
        assert all(a < b for a, b in zip(item["times_s"], item["times_s"][1:], strict=False))
        assert item["times_s"][-1] <= item["elapsed_s"]
    drawn = figures_of(tmp_path / "smoothing.html")
    assert set(drawn) == {"planar_pushing_iteration", "planar_pushing_times_s"}
    assert [line["name"] for line in drawn["planar_pushing_iteration"]["data"]] == ["smoothed", "exact", "randomized"]
    assert drawn["planar_pushing_times_s"]["data"][0]["x"] == row["smoothed"]["times_s"]


def test_unknown_problem_ends_in_one_line():
    shown = call("metric", "nothing", "--seeds", "2")
    assert shown.exit_code == 2 and len(shown.stderr.strip().splitlines()) == 1
