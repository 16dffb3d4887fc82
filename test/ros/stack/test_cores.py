"""Where the nodes of a simulation run, and that those of a run are told."""

import os
from pathlib import Path
from typing import Any

import pytest

from contact_mpc.ros.stack.cores import place_nodes
from contact_mpc.ros.stack.run_parameters import RunOptions, build_parameters
from contact_mpc.task.node_parameters import core_parameters
from contact_mpc.task.task import load_task

TASK = load_task("planar_hand_ball")
NODES = ("state_estimator", "mpc_tracker", "command_bridge", "plant", "recorder")


def nodes() -> dict[str, dict[str, Any]]:
    return {name: {} for name in NODES}


@pytest.mark.parametrize(("cores", "plant", "others"), [([0, 1], [1], [0]), ([2, 5, 7], [7], [2, 5])])
def test_the_plant_has_a_core_of_its_own_where_there_are_few(
    cores: list[int], plant: list[int], others: list[int]
) -> None:
    parameters = nodes()
    place_nodes(parameters, cores)
    assert parameters.pop("plant") == {"cores": plant}
    assert parameters.pop("recorder") == {}, "it takes what is left anywhere"
    assert all(values == {"cores": others} for values in parameters.values())


@pytest.mark.parametrize("cores", [[3], [0, 1, 2, 3]])
def test_nothing_is_placed_on_one_core_or_on_many(cores: list[int]) -> None:
    parameters = nodes()
    place_nodes(parameters, cores)
    assert parameters == nodes()


def test_who_places_one_node_places_them_all() -> None:
    parameters = nodes() | {"mpc_tracker": {"cores": [1]}}
    place_nodes(parameters, [0, 1])
    assert [name for name, values in parameters.items() if values] == ["mpc_tracker"]


@pytest.mark.parametrize(("clock", "is_placed"), [("realtime", True), ("lockstep", False)])
def test_a_run_in_realtime_tells_its_nodes(
    clock: str, is_placed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {0, 1})
    parameters = build_parameters(
        TASK, RunOptions("drake", clock, 0, "planar_hand_ball"), tmp_path, tmp_path / "plan.npz"
    )
    placed = {name: values["cores"] for name, values in parameters.items() if "cores" in values}
    expected = {"plant": [1], "state_estimator": [0], "mpc_tracker": [0], "command_bridge": [0]}
    assert placed == (expected if is_placed else {})
    assert "cores" not in core_parameters(parameters["mpc_tracker"]), "replays in one process read the same"
