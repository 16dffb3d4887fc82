"""The first page of executions: every way has its bars and rates, whatever their number."""

from pathlib import Path

from contact_mpc.evaluation.execution import WAYS
from contact_mpc.report.execution_report import write_execution_report


def test_every_way_of_executing_has_bars_of_its_own_colour(tmp_path: Path) -> None:
    medians = {key: {"median": 1.5} for key in ("plan_cpu_s", "executed_s", "angle_error_deg", "position_error_mm")}
    system = {"trials": 2, "planned": 2, "failures": [], **medians, **{f"{way}_success": 0.5 for way in WAYS}}
    result = {
        "plant": "drake", "disturbance_scale": 1.0, "seed": 0, "ways": [*WAYS], "systems": {"planar_pushing": system},
    }  # fmt: skip
    text = write_execution_report(result, {"planar_pushing": None}, tmp_path).read_text(encoding="utf-8")
    data = text[text.index('"figures":') :]
    assert len(WAYS) > 3 and data.count('"type":"bar"') == len(WAYS)
    assert all(f'"name":"{way.replace("_", " ")}"' in data for way in WAYS)
