"""The view's cost: blocks take turns, their medians are compared, and no page is asked for without a browser."""

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("rclpy")

from contact_mpc.cli.bench.stack.bench_view import make_table
from contact_mpc.ros.measure import view_bench
from contact_mpc.ros.measure.view_bench import NOTHING, PAGE, VIEW, measure_blocks, summarise
from contact_mpc.task.task import load_task


def block(beside: str, p99: float) -> dict[str, Any]:
    said = {"ACTIVE": 0.5, "ACTIVE SIMULATOR_SLOW (305)": 0.25, "HOLD PLAN_HOLD (102)": 0.25}
    return {"beside": beside, "lateness_ms": {"p99": p99}, "safety_shares": said}


def test_medians_of_blocks_are_compared_with_those_alone() -> None:
    found = summarise(
        [block(NOTHING, 0.2), block(VIEW, 0.25), block(NOTHING, 0.4), block(VIEW, 0.25), block(NOTHING, 0.3)]
    )
    assert found["p99_difference_ms"] == {VIEW: pytest.approx(-0.05)}
    assert found["bridge_active"] == {NOTHING: 0.75, VIEW: 0.75}
    assert found["p99_spread_alone_ms"] == pytest.approx(0.2)
    table = make_table({**found, "most_difference_ms": 0.1})
    assert [str(cell) for cell in table.columns[-2].cells] == ["", "-0.050"] and len(table.columns) == 6


@pytest.mark.parametrize(("browser", "kinds"), [(None, [NOTHING, VIEW]), ("/usr/bin/true", [NOTHING, VIEW, PAGE])])
def test_blocks_take_turns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, browser: str | None, kinds: list[str]
) -> None:
    seen: list[bool] = []
    done: list[float] = []

    def measure(_task: object, _parameters: object, folder: Path, *arguments: Any) -> dict[str, Any]:
        block_s, report, beside = arguments
        assert folder.is_dir()
        seen.append(beside is not None)
        report(block_s)
        return {"lateness_ms": {"p99": 0.1}}

    monkeypatch.setattr(view_bench, "find_browser", lambda: browser)
    monkeypatch.setattr(view_bench, "measure_stack", measure)
    blocks = measure_blocks(load_task("planar_hand_ball"), {}, tmp_path, 3.0, 2, 8090, done.append)
    assert [item["beside"] for item in blocks] == 2 * kinds
    assert seen == 2 * [kind != NOTHING for kind in kinds]
    assert done == [3.0 * (k + 1) for k in range(2 * len(kinds))]
