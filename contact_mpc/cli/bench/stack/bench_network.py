"""``contact-mpc bench network``: the stack across two network namespaces, and a cut of the link between them."""

import contact_mpc.cli.frame.single_thread  # noqa: F401, I001  before anything that imports numpy

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.console import Console
from rich.table import Table

from contact_mpc.cli.bench.stack.bench_bridge import stack_parameters
from contact_mpc.cli.evaluate.node_trials import command_difference
from contact_mpc.cli.evaluate.trials import show_cases
from contact_mpc.cli.frame.compiling import compile_first
from contact_mpc.cli.frame.output import EXIT_GOAL_MISSED, emit
from contact_mpc.evaluation.cases import ALL
from contact_mpc.evaluation.trial_run import EvaluationSpec
from contact_mpc.evaluation.trials import disturbance_of
from contact_mpc.loop.config import load_loop_config
from contact_mpc.task.node_parameters import default_parameter_file
from contact_mpc.task.task import load_task

MARGIN_S = 240.0  # the plant runs on after it
FAR = {"robot": ("plant",), "bridge": ("plant", "command_bridge")}


def bench_network(
    duration_s: Annotated[
        float, typer.Option("--duration", min=1.0, max=3600.0, help="realtime: time with the link, s.")
    ] = 10.0,
    cut_s: Annotated[float, typer.Option("--cut", min=0.2, max=600.0, help="Time without the link, s.")] = 3.0,
    far: Annotated[
        Literal["robot", "bridge"],
        typer.Option(help="What is beyond the link: the robot alone, or the robot and its bridge."),
    ] = "bridge",
    clock: Annotated[
        Literal["lockstep", "realtime"],
        typer.Option(help="lockstep: a whole run, held against one process; realtime: latency, and what the cut does."),
    ] = "lockstep",
    simulated: Annotated[
        bool, typer.Option("--simulated", help="realtime: let the bridge wait for a slow simulator, as `run` does.")
    ] = False,
    task: Annotated[str, typer.Option(help="Task that the stack works on.")] = "planar_hand_ball",
    plant: Annotated[str, typer.Option(help="Physics engine: drake or mujoco.")] = "mujoco",
    seed: Annotated[int, typer.Option(min=0, help="lockstep: seed of the plant's deviations and noise.")] = 0,
    params: Annotated[
        Path | None, typer.Option(help="Parameter file of the nodes; by default config/nodes/TASK.yaml.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Run the stack on both sides of a link, and cut the link.

    Makes two network namespaces with a cable between, so it needs root and iproute2. Met in lockstep: the run goes on
    after the cut, and its commands are those of one process, bit for bit. Met in realtime: the bridge holds, names the
    cut, and is in no fault any more when the link is back (after a reset where that is latched).
    """
    compile_first(plant)
    with tempfile.TemporaryDirectory(prefix="contact_mpc_bench_") as temporary:
        folder = Path(temporary)
        if clock == "lockstep":
            result, table = _lockstep(task, plant, far, cut_s, seed, params, folder)
        else:
            result, table = _realtime(task, plant, far, (duration_s, cut_s), simulated, params, folder)
    emit({"task": task, "plant": plant, "far": list(FAR[far]), "clock": clock, **result}, as_json, table)
    raise typer.Exit(0 if result["goal_met"] else EXIT_GOAL_MISSED)


def _lockstep(
    task: str, plant: str, far: str, cut_s: float, seed: int, params: Path | None, folder: Path
) -> tuple[dict[str, Any], Table]:
    from contact_mpc.ros.measure.network_bench import run_across

    config = load_task(task)
    parameters = params or default_parameter_file(config)
    spec = EvaluationSpec(show_cases(config, ALL), load_loop_config(parameters, plant), disturbance_of(config))
    with Console(stderr=True).status(f"{task} across the link"):
        done, times_s = run_across(spec, seed, parameters, FAR[far], folder, cut_s)
    difference, outcome = command_difference(spec, seed, done.record.commands), done.outcome
    result = {
        "seed": seed,
        "cut_s": cut_s,
        "cut_at_simulated_s": times_s["cut_at_simulated"],
        "wall_s": times_s["wall"],
        "task_met": outcome.goal_met,
        "angle_error_deg": outcome.angle_error_deg,
        "position_error_mm": outcome.position_error_mm,
        "commands": 0 if done.record.commands is None else len(done.record.commands.t_ns),
        "commands_max_abs_diff": difference,
        "goal_met": difference == 0.0,
    }
    table = Table("", "", title=f"bench network, lockstep: beyond the link {', '.join(FAR[far])}")
    table.add_row("cut", f"{cut_s:g} s, at {result['cut_at_simulated_s']:.2f} s of simulated time")
    table.add_row("end", f"{outcome.angle_error_deg:.3g} deg, {outcome.position_error_mm:.3g} mm off the goal")
    table.add_row("difference to one process", f"{difference:g} in {result['commands']} commands")
    return result, table


def _realtime(
    task: str, plant: str, far: str, times_s: tuple[float, float], simulated: bool, params: Path | None, folder: Path
) -> tuple[dict[str, Any], Table]:
    from contact_mpc.ros.measure.network_bench import measure_network

    config = replace(load_task(task), hold_s=sum(times_s) + MARGIN_S)
    parameters = stack_parameters(config, plant, folder, None, params)
    parameters["command_bridge"]["simulated"] = simulated
    if not simulated:
        parameters["plant"]["controller_patience_s"] = 0.0
    with Console(stderr=True).status("bench network") as status:
        figures = measure_network(config, parameters, folder, FAR[far], *times_s, lambda word: status.update(word))
    is_named = bool(figures["cut"]["causes"])
    figures["goal_met"] = bool(figures["cut"]["held"] and is_named and figures["again"]["is_back"])
    return figures, _table(figures, far)


def _table(result: dict[str, Any], far: str) -> Table:
    linked, cut, again = result["linked"], result["cut"], result["again"]
    table = Table("", "", title=f"bench network, realtime: beyond the link {', '.join(FAR[far])}")
    table.add_row("from nothing to joint states", f"{result['bring_up_s']:.1f} s")
    for label, key in (
        ("lateness of commands after their states", "lateness_ms"),
        ("state published to command sent", "latency_us"),
    ):
        unit = key.rpartition("_")[2]
        table.add_row(label, f"median {linked[key]['median']:.3g}, p99 {linked[key]['p99']:.3g} {unit}")
    table.add_row("tracker", f"{linked['tracker_rate_hz']:.1f} Hz")
    table.add_row("said with the link", ", ".join(linked["causes"]) or linked["says"])
    named = "told when the link was back" if cut["named_after_ms"] is None else f"after {cut['named_after_ms']:.0f} ms"
    table.add_row(f"cut of {cut['duration_s']:g} s", f"{', '.join(cut['causes'])} ({named})")
    moved = f"joints {cut['joints_moved']:.2g} rad or m, object {1e3 * cut['object_moved_m']:.2g} mm"
    table.add_row("moved meanwhile", moved)
    table.add_row("states again", f"{cut['states_again_after_s']:.2f} s after the link")
    back = f"after {again['after_s']:.1f} s" if again["is_back"] else "no"
    table.add_row("no fault any more", f"{back}{', reset' if again['was_fault'] else ''}: {again['says']}")
    return table
