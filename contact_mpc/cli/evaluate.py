"""``contact-mpc evaluate TASK``: a task many times, each with another plant, start and noise; how often it succeeds.

Trials run the cores of the nodes in lockstep within one process each, so that the outcome of a trial depends on its
seed alone, not on the number of jobs or the machine's load.
"""

import contact_mpc.cli.single_thread  # noqa: F401, I001  before anything that imports numpy

import signal
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from multiprocessing import active_children, get_context
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from contact_mpc.cli.output import EXIT_GOAL_MISSED, emit
from contact_mpc.errors import ConfigError
from contact_mpc.model.plan import Plan, load_plan
from contact_mpc.model.task import TaskConfig, load_task
from contact_mpc.planning.trajectory_optimisation import plan_task
from contact_mpc.sim.evaluation import EvaluationSpec, TrialOutcome, run_trial, summarise
from contact_mpc.sim.loop_config import load_loop_config
from contact_mpc.sim.plant import ENGINES
from contact_mpc.sim.trials import Disturbance, trial_seeds

_spec: list[EvaluationSpec] = []  # in a worker process: what its trials share, sent once


def evaluate(
    task: Annotated[str, typer.Argument(help="Name of a task in config/tasks, or the path of a task file.")],
    trials: Annotated[int, typer.Option(min=1, max=100_000, help="Number of trials.")] = 20,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the trials' seeds.")] = 0,
    plant: Annotated[str, typer.Option(help="Physics engine: drake or mujoco.")] = "drake",
    jobs: Annotated[int, typer.Option(min=1, max=256, help="Trials at the same time.")] = 1,
    trial_seed: Annotated[int | None, typer.Option(min=0, help="Run only the trial of this seed, again.")] = None,
    params: Annotated[
        Path | None, typer.Option(help="Parameter file of the nodes; by default config/nodes/TASK.yaml.")
    ] = None,
    plan: Annotated[Path | None, typer.Option(help="Plan file; by default the plan is made first.")] = None,
    disturbance_scale: Annotated[
        float, typer.Option(min=0.0, max=4.0, help="Factor on the deviations of the plant; 0: the nominal plant.")
    ] = 1.0,
    noise_scale: Annotated[
        float, typer.Option(min=0.0, max=100.0, help="Factor on the pose noise of 1 mm and 1 degree.")
    ] = 1.0,
    required_rate: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="Success rate from which the exit code is 0.")
    ] = 0.9,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Run a task many times with perturbed starts and plants, and report how often its goal is met."""
    if plant not in ENGINES:
        raise ConfigError(f"--plant {plant} is unknown; allowed: {', '.join(ENGINES)}")
    config = load_task(task)
    loop = load_loop_config(params or config.name, plant)
    spec = EvaluationSpec(config, _plan(config, plan), loop, Disturbance(), disturbance_scale, noise_scale)
    seeds = [trial_seed] if trial_seed is not None else trial_seeds(seed, trials)
    outcomes = run_trials(spec, seeds, jobs)
    figures = summarise(outcomes)
    goal_met = bool(figures["success_rate"] >= required_rate)
    result = {"task": config.name, "plant": plant, "seed": seed, **figures, "goal_met": goal_met}
    if trial_seed is not None:
        result["trial_seed"] = trial_seed
    emit(result, as_json, make_table(config, result))
    raise typer.Exit(0 if goal_met else EXIT_GOAL_MISSED)


def run_trials(spec: EvaluationSpec, seeds: list[int], jobs: int) -> list[TrialOutcome]:
    """Run the trials of seeds with a progress bar; the outcomes are in the order of the seeds."""
    outcomes: dict[int, TrialOutcome] = {}
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, TextColumn("{task.fields[state]}"), console=Console(stderr=True)) as bar:
        row = bar.add_task(f"{spec.task.name}: trials", total=len(seeds), state="")
        for outcome in _outcomes(spec, seeds, min(jobs, len(seeds))):
            outcomes[outcome.seed] = outcome
            met = sum(item.goal_met for item in outcomes.values())
            bar.update(row, advance=1, state=f"{met} of {len(outcomes)} met the goal")
    return [outcomes[seed] for seed in seeds]


def _outcomes(spec: EvaluationSpec, seeds: list[int], jobs: int) -> Iterator[TrialOutcome]:
    """Yield the outcomes as they come; whatever ends this early ends the worker processes too."""
    if jobs == 1:
        yield from (run_trial(spec, seed) for seed in seeds)
        return
    pool = ProcessPoolExecutor(jobs, get_context("spawn"), _start_worker, (spec,))
    try:
        with _deferred_interrupts():
            futures = [pool.submit(_run_in_worker, seed) for seed in seeds]
        for future in as_completed(futures):
            yield future.result()
    except BaseException:
        for process in active_children():
            process.terminate()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


@contextmanager
def _deferred_interrupts() -> Iterator[None]:
    """Hold back Ctrl-C; processes started meanwhile never see it, though it reaches the whole process group."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _start_worker(spec: EvaluationSpec) -> None:
    _spec[:] = [spec]


def _run_in_worker(seed: int) -> TrialOutcome:
    return run_trial(_spec[0], seed)


def _plan(task: TaskConfig, path: Path | None) -> Plan:
    if path is not None:
        return load_plan(path, task.system)
    return plan_task(task).plan


def make_table(task: TaskConfig, result: dict[str, Any]) -> Table:
    """Return what people see: rates with their intervals, errors, and the failures with their seeds."""
    low, high = result["success_interval_95"]
    table = Table("", "value", title=f"{task.name} on {result['plant']}", title_justify="left", title_style="bold")
    table.add_row("trials", str(result["trials"]))
    table.add_row("goal met", f"{100 * result['success_rate']:.1f} % (95 %: {100 * low:.1f} to {100 * high:.1f} %)")
    table.add_row("object dropped", f"{result['drops']} (95 %: up to {100 * result['drop_interval_95'][1]:.1f} %)")
    for key, name, unit in (
        ("angle_error_deg", "angle error", "deg"), ("position_error_mm", "position error", "mm"),
        ("solve_ms", "solve", "ms"),
    ):  # fmt: skip
        figures = result[key]
        text = "-" if figures is None else f"median {figures['median']:.2f}, p90 {figures['p90']:.2f} {unit}"
        table.add_row(name, text)
    for failure in result["failures"]:
        table.add_row(f"failed: --trial-seed {failure['seed']}", failure["reason"])
    return table
