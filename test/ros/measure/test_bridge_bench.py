"""The measurement of the bridge, short: the figures are there and belong together; none is judged."""

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("rclpy")
pytest.importorskip("pydrake")

from contact_mpc.ros.measure.bridge_bench import measure_round_trip, measure_stack
from contact_mpc.ros.stack.run_parameters import RunOptions, build_parameters
from contact_mpc.task.plan import Plan, save_plan
from contact_mpc.task.task import load_task

pytestmark = [pytest.mark.dds, pytest.mark.drake, pytest.mark.realtime]

DURATIONS_S = (3.0, 12.0, 48.0)  # a busy machine may leave the bridge without a state for all of the first
PEERS = ("bare_thread_lateness_ms", "bare_fifo_thread_lateness_ms", "empty_rclpy_timer_lateness_ms")
KEYS = ["median", "p90", "p99", "p999", "max"]


@pytest.fixture(scope="module")
def parameters(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("plan")
    task = load_task("allegro_ball")
    rows, system = 11, task.system
    q, u = np.tile(task.start_q, (rows, 1)), np.tile(task.start_u, (rows, 1))
    contacts = np.zeros((rows, len(system.pairs), 3))
    plan = Plan(np.linspace(0.0, 1.0, rows), q, u, np.zeros_like(u), contacts, system.provenance())
    save_plan(folder / "plan.npz", plan)
    task = dataclasses.replace(task, hold_s=60.0)
    values = build_parameters(task, RunOptions("drake", "realtime", 0, task.name), folder, folder / "plan.npz")
    values.pop("recorder")
    return {name: parameter | {"recorded": False} for name, parameter in values.items()}


def test_the_whole_stack_in_realtime_gives_all_figures(parameters: dict[str, dict[str, Any]], tmp_path: Path) -> None:
    for duration_s in DURATIONS_S:
        times: list[float] = []
        figures = measure_stack(load_task("allegro_ball"), parameters, tmp_path, duration_s, times.append)
        assert times == sorted(times)
        if figures["commands"] > 0:
            break
    assert figures["commands"] > 0
    assert figures["missed_ticks"] >= 0
    assert not figures["real_time_factor"] <= 0.0  # NaN where an overloaded plant reported less than twice
    assert set(figures["cpu_percent"]) == set(parameters)
    assert figures["cpu_percent"]["command_bridge"] > 0.0
    assert set(figures["resources"]) == set(parameters)
    assert all(item["resident_mb_last"] > 1.0 for item in figures["resources"].values())
    for name in ("lateness_ms", "grid_lateness_ms", "latency_us", "processing_us", *PEERS):
        assert list(figures[name]) == KEYS
        assert np.all(np.diff(list(figures[name].values())) >= 0.0), name
    assert figures["latency_us"]["median"] > figures["processing_us"]["median"]
    assert figures["tracker_first_said"].keys() == figures["tracker"].keys()
    assert all(t_s >= 0.0 and text.startswith(said) for said, (t_s, text) in figures["tracker_first_said"].items())


def test_the_round_trip_is_longer_than_nothing(parameters: dict[str, dict[str, Any]], tmp_path: Path) -> None:
    bridge = parameters["command_bridge"]
    figures = measure_round_trip(bridge["system"], bridge, tmp_path, 0.5, lambda _elapsed_s: None)
    assert list(figures) == KEYS
    assert figures["median"] > 0.0
