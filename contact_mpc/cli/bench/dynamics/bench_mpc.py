"""``contact-mpc bench mpc``: one MPC iteration for the ball in the hand, beside MuJoCo's mjd_transitionFD.

An iteration is one compiled call: roll-out over T steps with the derivatives A and B, assembly and solution of the box
program. Setting a state, with the matching of contact forces, happens once per solve and is a row of its own. The peer
is one finite-difference linearisation (A and B) of the same hand, ball and contacts, in the same contact state, with
one position actuator per joint. Both run on one thread in turns, so that whatever else the machine
does slows both; the ratio is peer time over ours.
"""

import contact_mpc.cli.frame.single_thread  # noqa: F401, I001  before anything that imports numpy

import gc
import time
from collections.abc import Callable, Mapping
from typing import Annotated, Any

import typer
from rich.table import Table

from contact_mpc.cli.bench.dynamics.mpc_workload import make_iteration, make_transition_fd, settle
from contact_mpc.cli.frame.line_bar import LineBar
from contact_mpc.cli.frame.output import EXIT_GOAL_MISSED, emit
from contact_mpc.task.task import TaskConfig, load_task
from contact_mpc.planning.trajopt.task import plan_task
from contact_mpc.evaluation.statistics import statistics_of
from contact_mpc.loop.config import load_loop_config

HORIZONS = (1, 10, 20)
PEER = "mjd_transitionFD"
SETTING = "setting a state"
WARM_UP = 20
LARGEST_COST_T10 = 2.0  # in calls of the peer


def bench_mpc(
    samples: Annotated[int, typer.Option(min=300, max=100_000, help="Samples of each.")] = 400,
    task: Annotated[str, typer.Option(help="Task whose start is the contact state.")] = "allegro_ball",
    seed: Annotated[int, typer.Option(min=0, help="Seed of the states that the samples go through.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Measure one MPC iteration at horizons 1, 10 and 20, beside MuJoCo's mjd_transitionFD."""
    calls, preparations = build_calls(load_task(task), seed)
    times_ms = measure(calls, samples, preparations=preparations)
    result = make_result(task, seed, samples, times_ms)
    emit(result, as_json, make_table(result))
    raise typer.Exit(0 if result["goal_met"] else EXIT_GOAL_MISSED)


def build_calls(
    task: TaskConfig, seed: int
) -> tuple[dict[str, Callable[[int], None]], dict[str, Callable[[int], None]]]:
    """Return what is measured by name (horizons as text, the setting of a state, the peer), and what goes before."""
    plant, plan, tracker = settle(task), plan_task(task).plan, load_loop_config(task.name).tracker
    q, calls, preparations = plant.state().q, {}, {}
    for horizon in HORIZONS:
        config = tracker.model_copy(update={"horizon_steps": horizon})
        preparations[str(horizon)], calls[str(horizon)], _ = make_iteration(task, plan, config, q, seed)
    calls[SETTING] = make_iteration(task, plan, tracker, q, seed)[0]
    return {**calls, PEER: make_transition_fd(plant, task.start_u)}, preparations


def measure(
    calls: Mapping[str, Callable[[int], object]],
    samples: int,
    description: str = "bench mpc",
    preparations: Mapping[str, Callable[[int], object]] | None = None,
) -> dict[str, list[float]]:
    """Return the wall times, ms, of each call, taken in turns after a warm-up; the order rotates from turn to turn.

    What `preparations` has under the name of a call runs before it and is not timed.
    """
    times_ms: dict[str, list[float]] = {name: [] for name in calls}
    names = list(calls)
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        with LineBar() as bar:
            for sample in bar.track(range(-WARM_UP, samples), description=description):
                for k in range(len(names)):
                    name = names[(sample + k) % len(names)]
                    if preparations and name in preparations:
                        preparations[name](sample)
                    started = time.perf_counter_ns()
                    calls[name](sample)
                    elapsed_ms = 1e-6 * (time.perf_counter_ns() - started)
                    if sample >= 0:
                        times_ms[name].append(elapsed_ms)
    finally:
        gc.enable()
        gc.unfreeze()
    return times_ms


def make_result(task: str, seed: int, samples: int, times_ms: dict[str, list[float]]) -> dict[str, Any]:
    """Return the figures with the keys of ``--json``; ratios are of medians, peer over ours."""
    iterations = {name: statistics_of(values) for name, values in times_ms.items() if name.isdecimal()}
    peer, ours = statistics_of(times_ms[PEER]), iterations["10"]
    assert peer is not None and ours is not None
    ratio = peer["median"] / ours["median"]
    return {
        "task": task,
        "seed": seed,
        "samples": samples,
        "mpc_iteration_ms": iterations,
        "state_setting_ms": statistics_of(times_ms[SETTING]),
        "mjd_transition_fd_ms": peer,
        "ratio_mjd_transition_fd_t10": ratio,
        "goal_met": ratio >= 1.0 / LARGEST_COST_T10,
    }


def make_table(result: dict[str, Any]) -> Table:
    """Return what people see."""
    table = Table("", "median ms", "p99 ms", title=f"one MPC iteration, {result['task']}", title_justify="left")
    rows = {f"T = {name}": figures for name, figures in result["mpc_iteration_ms"].items()}
    rows[SETTING] = result["state_setting_ms"]
    for name, figures in {**rows, f"MuJoCo {PEER}": result["mjd_transition_fd_ms"]}.items():
        table.add_row(name, f"{figures['median']:.3f}", f"{figures['p99']:.3f}")
    table.caption = f"T = 10 costs {1.0 / result['ratio_mjd_transition_fd_t10']:.2f} calls of {PEER}; goal: at most 2"
    return table
