"""``contact-mpc run TASK``: the whole stack as processes over DDS, with an embedded plant, to the end of the task."""

import contact_mpc.cli.frame.single_thread  # noqa: F401, I001  before anything that imports numpy

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from contact_mpc.cli.frame.output import EXIT_GOAL_MISSED, emit, require_writable
from contact_mpc.cli.run.run_stack import RunRequest, run_goals, run_task, run_problem
from contact_mpc.cli.run.problem_plan import ProblemRun, is_problem_plan
from contact_mpc.errors import ConfigError
from contact_mpc.planning.methods import is_push
from contact_mpc.planning.plan_task import require_start
from contact_mpc.plants.gazebo.server import find_root
from contact_mpc.plants.registry import INTERFACES, PLANTS
from contact_mpc.settings.extras import require_packages
from contact_mpc.task.plan import check_plan, load_plan
from contact_mpc.task.task import TaskConfig, load_task

CLOCKS = ("lockstep", "realtime")


def run(
    task: Annotated[str, typer.Argument(help="Name of a task in config/tasks, or the path of a task file.")],
    axis: Annotated[str, typer.Option(help="Turn about +x, -x, +y, -y, +z or -z instead of the task's axis.")] = "",
    displacement: Annotated[
        float | None, typer.Option(help="Pushes: how far the object goes, m (a door: rad); the task's by default.")
    ] = None,
    receding_horizon: Annotated[
        bool | None,
        typer.Option(
            "--receding-horizon/--no-receding-horizon",
            help="Pushes: plan again while it runs, or play the plan back; by default as the parameter file says.",
        ),
    ] = None,
    plant: Annotated[str, typer.Option(help=f"Physics engine: {PLANTS.describe()}, or module:name.")] = "drake",
    clock: Annotated[str, typer.Option(help="lockstep (deterministic) or realtime (wall clock).")] = "lockstep",
    interface: Annotated[
        str | None, typer.Option(help="effort or position commands; by default as the parameter file says.")
    ] = None,
    record: Annotated[Path, typer.Option(help="Folder in which the run gets a folder of its own.")] = Path("out/runs"),
    report: Annotated[Path | None, typer.Option(help="Folder for the HTML report; by default beside the bag.")] = None,
    plan: Annotated[
        Path | None,
        typer.Option(
            help="Plan file; by default the plan is made first. A tree's plan runs from its own start to its own goal."
        ),
    ] = None,
    method: Annotated[
        str | None,
        typer.Option(
            help="Plan the planning problem of this name first, then run its plan: rrt grows a tree, regrasp turns the "
            "object from grasp to grasp."
        ),
    ] = None,
    plan_seed: Annotated[int, typer.Option(min=0, help="Seed of the tree, with --method rrt.")] = 0,
    params: Annotated[
        Path | None, typer.Option(help="Parameter file of the nodes; by default config/nodes/TASK.yaml.")
    ] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="node.key=value on top of the parameter file; may be repeated.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the sensor noise.")] = 0,
    duration_s: Annotated[
        float | None, typer.Option(min=0.1, max=600.0, help="Time of the motion instead of the task's, s.")
    ] = None,
    hold_s: Annotated[
        float | None, typer.Option(min=0.0, max=600.0, help="Time to hold at the goal instead of the task's, s.")
    ] = None,
    domain: Annotated[int | None, typer.Option(help="ROS domain; by default one that is free.")] = None,
    endless: Annotated[
        bool, typer.Option("--endless", help="Run without an end and take goals: see `contact-mpc goal`.")
    ] = False,
    view: Annotated[bool, typer.Option("--view", help="Show the run in a browser while it lasts.")] = False,
    port: Annotated[int, typer.Option(min=1024, max=65535, help="Port of the page of --view.")] = 8080,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Run a task in closed loop and judge it; the exit code is 0 only if the task's goal was met."""
    PLANTS.check(plant)
    _check_choices(clock=(clock, CLOCKS), interface=(interface, (None, *INTERFACES)))
    _require_packages(plant)
    if view:
        require_packages("run --view", "viser")
    if endless:
        reason = "--endless takes goals in place of a plan, and records nothing"
        _refuse_options(reason, plan=plan, method=method, report=report, duration_s=duration_s, hold_s=hold_s)
    require_writable(report)
    request = RunRequest(
        plant, clock, seed, interface, params, tuple(settings or ()), receding_horizon, record, report, domain,
        port if view else None,
    )  # fmt: skip
    stored = None if plan is None else (plan, load_plan(plan))
    if method is not None or (stored is not None and is_problem_plan(stored[1])):
        _refuse_options("a tree's plan has its own motion", axis=axis, displacement=displacement, duration_s=duration_s)
        outcome = run_problem(ProblemRun(task, method, plan_seed, hold_s, stored if method is None else None), request)
    else:
        config = _load(task, duration_s, hold_s).about(axis).moved_by(displacement)
        _check_push(config, displacement)
        if endless:
            result, summary = run_goals(config, request)
            emit(result, as_json, summary)
            return
        if stored is not None:
            check_plan(*stored, config.system)
            require_start(config, stored[1], stored[0])
        outcome = run_task(config, plan, request)
    emit(outcome.result, as_json, outcome.table)
    raise typer.Exit(0 if outcome.goal_met else EXIT_GOAL_MISSED)


def _check_push(config: TaskConfig, displacement: float | None) -> None:
    """Raise ConfigError where an option of pushes meets another task, or a push the want of its solver."""
    if is_push(config):
        require_packages(f"run {config.name}", "casadi")
    else:
        _refuse_options(f"{config.path} is no push", displacement=displacement)


def _load(task: str, duration_s: float | None, hold_s: float | None) -> TaskConfig:
    config = load_task(task)
    if duration_s is not None:
        config = replace(config, duration_s=duration_s)
    return config if hold_s is None else replace(config, hold_s=hold_s)


def _refuse_options(reason: str, **options: Any) -> None:
    """Raise ConfigError where an option was given that would be ignored."""
    for name, value in options.items():
        if value not in (None, ""):
            raise ConfigError(f"--{name.replace('_', '-')} {value}: {reason}; leave the option out")


def _require_packages(plant: str) -> None:
    """Raise ConfigError before anything starts if a run could not end for want of a package."""
    if plant == "gazebo":
        find_root()
    engine = [entry.needs for entry in (PLANTS[plant],) if entry.needs]
    require_packages(f"run --plant {plant}", "rclpy", "rosbags", *engine)


def _check_choices(**choices: tuple[str | None, tuple[str | None, ...]]) -> None:
    for name, (value, allowed) in choices.items():
        if value not in allowed:
            words = ", ".join(word for word in allowed if word is not None)
            raise ConfigError(f"--{name} {value} is unknown; allowed: {words}")
