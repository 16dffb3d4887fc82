"""``contact-mpc evaluate TASK``: a task many times, each with another plant, start and noise; how often it succeeds.

Trials run the cores of the nodes in lockstep within one process each, so that the outcome of a trial depends on its
seed alone, not on the number of jobs or the machine's load.
"""

import contact_mpc.cli.frame.single_thread  # noqa: F401, I001  before anything that imports numpy

import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

from contact_mpc.cli.evaluate.evaluation_table import make_table
from contact_mpc.cli.frame.compiling import compile_first
from contact_mpc.cli.frame.output import EXIT_GOAL_MISSED, EXIT_INTERRUPTED, emit, page_values, require_writable
from contact_mpc.cli.evaluate.trials import DisturbanceScale, NoiseScale, run_trials, show_cases
from contact_mpc.evaluation.cases import ALL
from contact_mpc.settings.extras import require_packages
from contact_mpc.errors import ConfigError, StackError
from contact_mpc.task.node_parameters import default_parameter_file
from contact_mpc.task.task import load_task
from contact_mpc.evaluation.campaign import check_backend
from contact_mpc.evaluation.result import describe_evaluation
from contact_mpc.evaluation.trial_run import EvaluationSpec
from contact_mpc.loop.config import load_loop_config
from contact_mpc.loop.controllers import CONTROLLERS
from contact_mpc.plants.registry import PLANTS
from contact_mpc.evaluation.trials import disturbance_of, trial_seeds


def evaluate(
    task: Annotated[str, typer.Argument(help="Name of a task in config/tasks, or the path of a task file.")],
    axis: Annotated[str, typer.Option(help="Turn about +x, -x, +y, -y, +z or -z; all: those of the task file.")] = ALL,
    displacement: Annotated[
        float | None, typer.Option(help="Pushes: how far the object goes, m (a door: rad); the task's by default.")
    ] = None,
    trials: Annotated[int, typer.Option(min=1, max=100_000, help="Number of trials.")] = 20,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the trials' seeds.")] = 0,
    plant: Annotated[str, typer.Option(help=f"Physics engine: {PLANTS.describe()}, or module:name.")] = "drake",
    controller: Annotated[
        str | None,
        typer.Option(
            help=f"What follows the plan: {CONTROLLERS.describe()}, or module:name; by default as the file says."
        ),
    ] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="node.key=value on top of the parameter file; may be repeated.")
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, max=256, help="Trials at the same time.")] = 1,
    backend: Annotated[str, typer.Option(help="Who runs them, of joblib: loky, dask or ray.")] = "loky",
    through_nodes: Annotated[
        bool, typer.Option("--through-nodes", help="Run the real nodes over DDS, and compare their commands.")
    ] = False,
    trial_seed: Annotated[int | None, typer.Option(min=0, help="Run only the trial of this seed, again.")] = None,
    params: Annotated[
        Path | None, typer.Option(help="Parameter file of the nodes; by default that of the task in config/nodes.")
    ] = None,
    plan: Annotated[Path | None, typer.Option(help="Plan file of one turn; by default all are planned first.")] = None,
    disturbance_scale: DisturbanceScale = 1.0,
    noise_scale: NoiseScale = 1.0,
    report: Annotated[
        Path | None, typer.Option(help="Folder for an HTML page: plots, tables, the worst trial.")
    ] = None,
    required_rate: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="Success rate from which the exit code is 0.")
    ] = 0.9,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Run a task many times with perturbed starts and plants, and report how often its goal is met.

    CPU time: half a second per simulated one, so 3 s for a trial of allegro_ball and 20 s for one of allegro_ball_so3.
    """
    PLANTS.require(plant)
    check_backend(backend)
    require_writable(report)
    config = load_task(task).moved_by(displacement)
    parameters = params or default_parameter_file(config)
    loop = load_loop_config(parameters, plant, settings or (), controller)
    compile_first(plant)
    cases = show_cases(config, axis, plan)
    spec = EvaluationSpec(cases, loop, disturbance_of(config), disturbance_scale, noise_scale)
    seeds = [trial_seed] if trial_seed is not None else trial_seeds(seed, trials, len(cases))
    extra: dict[str, Any] = {}
    if through_nodes:
        _check_nodes(jobs)
        from contact_mpc.cli.evaluate.node_trials import run_node_trials

        campaign, differences = run_node_trials(
            spec, seeds, parameters, (*(settings or ()), f"mpc_tracker.controller={loop.controller}")
        )
        extra["commands_max_abs_diff"] = differences
    else:
        campaign = run_trials([(spec, item) for item in seeds], jobs, f"{config.name}: trials", backend)
    if not campaign.outcomes:
        raise StackError(campaign.failure) if campaign.failure else KeyboardInterrupt
    result = {**describe_evaluation(config, spec, campaign.outcomes, seed), **extra}
    goal_met = bool(result["success_rate"] >= required_rate)
    goal_met &= all(item == 0.0 for item in extra.get("commands_max_abs_diff", []))
    result |= {"interrupted": campaign.is_interrupted or bool(campaign.failure), "goal_met": goal_met}
    if trial_seed is not None:
        result["trial_seed"] = trial_seed
    repeat = _repeat_command(
        task, {
            "axis": (axis, ALL), "displacement": (displacement, None), "plant": (plant, "drake"),
            "controller": (controller, None),
            "params": (params, None), "plan": (plan, None), "disturbance-scale": (disturbance_scale, 1.0),
            "noise-scale": (noise_scale, 1.0),
        }, settings or [],
    )  # fmt: skip
    for trial in (*result["failures"], *result["outcomes"]):
        trial["command"] = f"{repeat} --trial-seed {trial['seed']}"
    if report is not None:
        from contact_mpc.report.pages import write_result_page
        from contact_mpc.report.scene.trial import animate_trial

        page = page_values(result, animation=animate_trial(spec, result["worst"]))
        result["report"] = write_result_page("evaluation", page, report)
    emit(result, as_json, make_table(result, len(seeds)))
    if campaign.failure:
        raise StackError(campaign.failure)
    raise typer.Exit(EXIT_INTERRUPTED if campaign.is_interrupted else 0 if goal_met else EXIT_GOAL_MISSED)


def _check_nodes(jobs: int) -> None:
    """Raise ConfigError where the nodes cannot run what was asked for."""
    if jobs > 1:
        raise ConfigError(f"--through-nodes runs one trial at a time, not --jobs {jobs}; each starts six processes")
    require_packages("--through-nodes", "rclpy", "rosbags")


def _repeat_command(task: str, options: dict[str, tuple[Any, Any]], settings: list[str]) -> str:
    """Return the command that runs a trial again, but for its seed; options are (value, default)."""
    given = [f"--{name} {value}" for name, (value, default) in options.items() if value != default]
    return shlex.join(" ".join(["contact-mpc evaluate", task, *given, *(f"--set {item}" for item in settings)]).split())
