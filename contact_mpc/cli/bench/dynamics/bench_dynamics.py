"""``contact-mpc bench dynamics``: one smoothed step with its derivatives, beside what others offer for the same.

Ours is compiled: a step at kappa = 1e4 1/J to 1e-18, and exact A and B, per state, over 32 states near the task's start
in one call, as a roll-out makes them. A step starts from the displacement of the state before, 1 mrad and 0.1 mm away,
as in the MPC, and as MuJoCo's solver starts every difference from the nominal solution; the figures called cold start
from nothing. Peers, in the same states and in turns with ours on one thread:
MuJoCo's mjd_transitionFD (A and B by differences), 100 steps of 1 ms by Drake's SAP, clarabel on the cone program of
the exact step (set-up and solve), and Drake's kinematics, distances and contact Jacobians through Python; single pairs
of shapes without closed form beside coal. Ratios are
of medians, peer over ours. Steps of SAP go through Python once per millisecond, which is a few percent of them.
"""

import contact_mpc.cli.frame.single_thread  # noqa: F401, I001  before anything that imports numpy

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.table import Table

from contact_mpc.settings.arrays import FloatArray
from contact_mpc.cli.bench.dynamics.bench_mpc import measure
from contact_mpc.cli.bench.dynamics.dynamics_workload import (
    DrakeGeometry,
    make_clarabel,
    make_geometry,
    make_rows,
    make_sap,
    make_steps,
)
from contact_mpc.cli.bench.dynamics.mpc_workload import STATES, make_transition_fd, settle, states_near
from contact_mpc.cli.bench.dynamics.pairs_workload import GOAL_US, measure_pairs
from contact_mpc.cli.frame.output import EXIT_GOAL_MISSED, emit
from contact_mpc.dynamics.batch import step_batch
from contact_mpc.dynamics.contact_dynamics import ContactDynamics
from contact_mpc.task.task import load_task
from contact_mpc.evaluation.statistics import statistics_of

KAPPA_PER_J = 1e4
OURS, COLD, GEOMETRY = "step with A and B", "the same, cold", "kinematics and geometry"
FD, SAP, SOCP, DRAKE = "mjd_transitionFD", "100 SAP steps", "clarabel SOCP", "Drake's geometry in Python"
GOALS = {  # ratio: (peer, ours, least)
    "ratio_mjd_transition_fd": (FD, OURS, 8.0),
    "ratio_drake_sap_100_steps": (SAP, OURS, 100.0),
    "ratio_clarabel_socp": (SOCP, OURS, 5.0),
    "ratio_drake_geometry": (DRAKE, GEOMETRY, 100.0),
}
BATCH = 1000
MEMORY_WARM_UP_STEPS, MEMORY_STEPS = 10_000, 1_000_000
LARGEST_GROWTH_PERCENT = 5.0


def bench_dynamics(
    samples: Annotated[int, typer.Option(min=10, max=100_000, help="Samples of each.")] = 100,
    task: Annotated[str, typer.Option(help="Task whose start is the contact state.")] = "allegro_ball",
    seed: Annotated[int, typer.Option(min=0, help="Seed of the states that the samples go through.")] = 0,
    memory: Annotated[bool, typer.Option("--memory", help="Also watch memory over a million steps.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Measure one smoothed step with A and B, and kinematics with geometry, beside MuJoCo, Drake and clarabel."""
    config = load_task(task)
    system, plant = config.system, settle(config)
    q = states_near(config, plant.state().q, seed)
    u = np.tile(config.start_u, (STATES, 1))
    dynamics = ContactDynamics(system, kappa=KAPPA_PER_J)
    drake = DrakeGeometry(system)
    q_drake = [drake.order(system, row) for row in q]
    calls: dict[str, Callable[[int], object]] = {
        OURS: make_steps(dynamics, make_rows(system, q, u), warm=True),
        COLD: make_steps(dynamics, make_rows(system, q, u), warm=False),
        GEOMETRY: make_geometry(dynamics, q),
        FD: make_transition_fd(plant, config.start_u),
        SAP: make_sap(system, q[0], config.start_u),
        SOCP: make_clarabel(system, q, u),
        DRAKE: lambda sample: drake.update(q_drake[sample % STATES]),
    }
    times_us = {name: 1e3 * np.array(values) for name, values in measure(calls, samples, "bench dynamics").items()}
    for name in (OURS, COLD, GEOMETRY):
        times_us[name] /= STATES
    result = {
        "task": task,
        "seed": seed,
        "samples": samples,
        "kappa_per_j": KAPPA_PER_J,
        **make_figures(times_us),
        "geometry_max_difference_m": compare_geometry(dynamics, drake, q, q_drake, u),
        "batch_1000_ms": measure_batches(dynamics, q, u),
        "pairs": measure_pairs(),
    }
    if memory:
        result["memory_growth_percent"] = measure_memory(dynamics, q, u)
    result["goal_met"] = is_goal_met(result)
    emit(result, as_json, make_table(result, times_us))
    raise typer.Exit(0 if result["goal_met"] else EXIT_GOAL_MISSED)


def make_figures(times_us: dict[str, FloatArray]) -> dict[str, Any]:
    """Return the statistics and ratios of ``--json``."""
    medians = {name: float(np.median(values)) for name, values in times_us.items()}
    return {
        "step_with_derivatives_us": statistics_of(times_us[OURS].tolist()),
        "cold_step_with_derivatives_us": statistics_of(times_us[COLD].tolist()),
        "geometry_us": statistics_of(times_us[GEOMETRY].tolist()),
        "mjd_transition_fd_us": statistics_of(times_us[FD].tolist()),
        "drake_sap_100_steps_us": statistics_of(times_us[SAP].tolist()),
        "clarabel_socp_us": statistics_of(times_us[SOCP].tolist()),
        "drake_geometry_us": statistics_of(times_us[DRAKE].tolist()),
        **{key: medians[peer] / medians[ours] for key, (peer, ours, _least) in GOALS.items()},
        "ratio_mjd_transition_fd_cold": medians[FD] / medians[COLD],
    }


def compare_geometry(
    dynamics: ContactDynamics, drake: DrakeGeometry, q: FloatArray, q_drake: list[FloatArray], u: FloatArray
) -> float:
    """Return the largest difference of distances between Drake and ours, m: both do the same work."""
    ours = np.array([dynamics.step(q_i, u_i).gaps for q_i, u_i in zip(q, u, strict=True)])
    return float(np.abs(ours - [drake.update(row) for row in q_drake]).max())


def measure_batches(dynamics: ContactDynamics, q: FloatArray, u: FloatArray) -> dict[str, float]:
    """Return the wall time, ms, of 1000 samples with derivatives by number of threads, up to the cores there are."""
    rows = np.arange(BATCH) % len(q)
    found = {}
    for threads in sorted({1, len(os.sched_getaffinity(0))}):
        started = time.perf_counter()
        step_batch(dynamics, q[rows], u[rows], threads=threads)
        found[str(threads)] = 1e3 * (time.perf_counter() - started)
    return found


def measure_memory(dynamics: ContactDynamics, q: FloatArray, u: FloatArray) -> float:
    """Return how much the resident size grows over a million steps with derivatives, percent."""
    call = make_steps(dynamics, make_rows(dynamics.system, q, u), warm=False)
    sizes = []
    for steps in (MEMORY_WARM_UP_STEPS, MEMORY_STEPS):
        for _ in range(-(-steps // len(q))):
            call(0)
        sizes.append(int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]))
    return 100.0 * (sizes[1] - sizes[0]) / sizes[0]


def is_goal_met(result: dict[str, Any]) -> bool:
    """Whether every ratio and pair reaches its goal, and memory stays flat where it was watched."""
    is_flat = result.get("memory_growth_percent", 0.0) <= LARGEST_GROWTH_PERCENT
    is_fast = all(pair["us"] <= GOAL_US for pair in result.get("pairs", {}).values())
    return is_flat and is_fast and all(result[key] >= least for key, (_peer, _ours, least) in GOALS.items())


def make_table(result: dict[str, Any], times_us: dict[str, FloatArray]) -> Table:
    """Return what people see."""
    table = Table("", "median us", "p99 us", "ratio", "goal", title=f"bench dynamics, {result['task']}")
    ratios = {peer: (result[key], least) for key, (peer, _ours, least) in GOALS.items()}
    for name, values in times_us.items():
        ratio, least = (f"{value:.0f}" for value in ratios[name]) if name in ratios else ("", "")
        table.add_row(name, f"{np.median(values):.1f}", f"{np.percentile(values, 99):.1f}", ratio, least)
    for name, pair in result["pairs"].items():
        table.add_row(f"{name}, beside coal", f"{pair['us']:.1f}", "", f"{pair['ratio']:.1f}", f"{GOAL_US:.0f} us")
    batches = ", ".join(f"{value:.0f} ms on {threads}" for threads, value in result["batch_1000_ms"].items())
    table.caption = f"1000 samples with A and B: {batches} thread(s)"
    if "memory_growth_percent" in result:
        table.caption += f"; memory over {MEMORY_STEPS} steps: {result['memory_growth_percent']:+.1f} %"
    return table
