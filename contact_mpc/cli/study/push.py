"""``contact-mpc study push``: pushes by several displacements with perturbed plants, played back and planned again.

Every trial runs the cores of the nodes in lockstep within one process, once without and once with receding horizon, in
the same perturbed plant. Beside the final errors it checks every hit: as many as planned, within 30 ms and 20 % of the
impulse. Without receding horizon the target is 60 mm, with it 20 mm, and always
the task's own tolerance of the turn.
"""

import contact_mpc.cli.frame.single_thread  # noqa: F401, I001  before anything that imports numpy

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.table import Table

from contact_mpc.cli.frame.compiling import compile_first
from contact_mpc.cli.frame.line_bar import LineBar
from contact_mpc.settings.plain_values import to_plain
from contact_mpc.cli.frame.output import EXIT_GOAL_MISSED, emit, page_values, require_writable
from contact_mpc.errors import ConfigError
from contact_mpc.task.node_parameters import default_parameter_file
from contact_mpc.task.task import TaskConfig, load_task
from contact_mpc.planning.methods import CONTACT_IMPLICIT, is_push, make_plan
from contact_mpc.report.result_table import describe_hit
from contact_mpc.evaluation.campaign import run_parallel
from contact_mpc.evaluation.trial_run import Case, EvaluationSpec
from contact_mpc.loop.config import load_loop_config
from contact_mpc.plants.registry import PLANTS
from contact_mpc.evaluation.push_trial import PushOutcome, run_push
from contact_mpc.evaluation.statistics import statistics_of
from contact_mpc.evaluation.trials import disturbance_of, trial_seeds

MODES = {"playback": 60.0, "receding_horizon": 20.0}  # and their targets, mm
DISPLACEMENTS = (0.7, 0.6, 0.4)


def push(
    task: Annotated[str, typer.Argument(help="Task with a contact-implicit planner, or the path of its file.")] = (
        "anypulator_block"
    ),
    displacements: Annotated[
        list[float] | None, typer.Option("--displacement", help="How far, m (a door: rad); may be repeated.")
    ] = None,
    modes: Annotated[list[str] | None, typer.Option("--mode", help="playback or receding_horizon; both.")] = None,
    trials: Annotated[int, typer.Option(min=1, max=10_000, help="Perturbed runs per displacement and mode.")] = 5,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the trials' seeds.")] = 0,
    plant: Annotated[str, typer.Option(help=f"Physics engine: {PLANTS.describe()}, or module:name.")] = "drake",
    disturbance_scale: Annotated[
        float, typer.Option(min=0.0, max=4.0, help="Factor on the deviations of the plant; 0: the nominal plant.")
    ] = 1.0,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="node.key=value on top of the parameter file; may be repeated.")
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, max=256, help="Runs at the same time.")] = 1,
    report: Annotated[Path | None, typer.Option(help="Folder for an HTML page with plots and tables.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Push an object with perturbed friction, mass and start, without and with planning again while it runs."""
    require_writable(report)
    chosen = modes or list(MODES)
    unknown = [mode for mode in chosen if mode not in MODES]
    PLANTS.require(plant)
    if unknown:
        raise ConfigError(f"--mode {unknown} is unknown; allowed: {', '.join(MODES)}")
    config = load_task(task)
    if not is_push(config):
        raise ConfigError(f"{config.path}: no push; its planner.method is not {CONTACT_IMPLICIT}")
    compile_first(plant)
    lengths: list[Any] = displacements or (list(DISPLACEMENTS) if config.name == "anypulator_block" else [None])
    specs = _specs(config, lengths, chosen, plant, tuple(settings or ()), disturbance_scale)
    seeds = trial_seeds(seed, trials)
    tasks = [(spec, item) for spec in specs.values() for item in seeds]
    found: dict[int, PushOutcome] = {}
    with LineBar() as bar:
        row = bar.add_task("study push", total=len(tasks))
        for index, outcome in run_parallel(run_push, tasks, jobs):
            found[index] = outcome
            bar.advance(row)
    rows = [
        _describe(*key, config.tolerance_deg, [found[k * trials + i] for i in range(trials)])
        for k, key in enumerate(specs)
    ]  # fmt: skip
    result: dict[str, Any] = {
        "task": config.name, "plant": plant, "seed": seed, "trials": trials, "disturbance_scale": disturbance_scale,
        "disturbance": disturbance_of(config).model_dump(), "rows": rows,
        "goal_met": all(row["within_target"] == trials for row in rows),
    }  # fmt: skip
    if report is not None:
        from contact_mpc.report.push_report import PushRun, write_push_report

        runs = [
            PushRun(f"{length or 'own'} {mode}", spec.cases[0].plan, found[k * trials].series)
            for k, ((length, mode), spec) in enumerate(specs.items())
        ]
        worst = _animate_worst(specs, [found[index] for index in range(len(tasks))], trials)
        result["report"] = write_push_report(page_values(result, animation=worst), config.system, runs, report)
    emit(result, as_json, make_table(result))
    raise typer.Exit(0 if result["goal_met"] else EXIT_GOAL_MISSED)


def _animate_worst(
    specs: dict[tuple[float | None, str], EvaluationSpec], outcomes: list[PushOutcome], trials: int
) -> dict[str, Any]:
    """Return the run that ended furthest from its goal as an animation; outcomes are those of the first key first."""
    from contact_mpc.report.push_report import SCENE_CAPTION
    from contact_mpc.report.scene.trial import scene_of_run

    index = int(np.argmax([item.position_error_mm for item in outcomes]))
    (length, mode), spec = list(specs.items())[index // trials]
    task, worst = spec.cases[0].task, outcomes[index]
    return {
        "title": f"Worst run: {length or 'own'} {mode}, seed {worst.seed}, {worst.position_error_mm:.1f} mm",
        "caption": SCENE_CAPTION,
        "scene": scene_of_run(task.system, worst.series.t_s, worst.series.q, task.goal_pose()),
    }


def _specs(
    config: TaskConfig, lengths: list[Any], modes: list[str], plant: str, settings: tuple[str, ...], scale: float
) -> dict[tuple[float | None, str], EvaluationSpec]:
    """Return what is run, by displacement and mode."""
    file, specs = default_parameter_file(config), {}
    for length in lengths:
        moved = config.moved_by(length)
        case = Case(moved, make_plan(moved))
        for mode in modes:
            loop = load_loop_config(file, plant, settings, mode)
            specs[length, mode] = EvaluationSpec((case,), loop, disturbance_of(config), scale)
    return specs


def _describe(length: float | None, mode: str, target_deg: float, outcomes: list[PushOutcome]) -> dict[str, Any]:
    """Return one row: a displacement in one mode."""
    target = MODES[mode]
    return {
        "displacement": length, "mode": mode, "target_mm": target, "target_deg": target_deg,
        "within_target": sum(
            item.position_error_mm <= target and item.angle_error_deg <= target_deg for item in outcomes
        ),
        "position_error_mm": statistics_of([item.position_error_mm for item in outcomes]),
        "angle_error_deg": statistics_of([item.angle_error_deg for item in outcomes]),
        "sequences_as_planned": sum(item.contacts.is_sequence_as_planned for item in outcomes),
        "hits": sum(len(item.hits) for item in outcomes),
        "hits_as_planned": sum(item.contacts.as_planned for item in outcomes),
        "replans": sum(item.replans for item in outcomes),
        "failed_replans": sum(item.failed_replans for item in outcomes),
        "holds": sum(item.holds for item in outcomes),
        "runs": [to_plain(replace(item, series=None)) for item in outcomes],  # type: ignore[arg-type]
    }  # fmt: skip


def make_table(result: dict[str, Any]) -> Table:
    """Return one line per run, and one per displacement and mode."""
    title = f"pushes of {result['task']} on {result['plant']}, {result['trials']} perturbed runs each"
    table = Table(title=title, title_justify="left", title_style="bold")
    for name in ("displacement", "mode", "run", "error, mm", "along, mm", "deg", "hits: planned / measured s, N s"):
        table.add_column(name)
    for row in result["rows"]:
        length = "own" if row["displacement"] is None else f"{row['displacement']:g}"
        for number, run in enumerate(row["runs"]):
            table.add_row(
                length, row["mode"], str(number), f"{run['position_error_mm']:.1f}", f"{run['along_mm']:+.1f}",
                f"{run['angle_error_deg']:.1f}", "; ".join(describe_hit(hit) for hit in run["hits"]),
            )  # fmt: skip
        table.add_row(
            length, row["mode"],
            f"[bold]{row['within_target']} of {result['trials']} within {row['target_mm']:g} mm "
            f"and {row['target_deg']:g} deg[/]",
            f"median {row['position_error_mm']['median']:.1f}", "",
            f"{row['angle_error_deg']['median']:.1f}",
            f"{row['hits_as_planned']} of {row['hits']} within 30 ms and 20 %; plans searched again: "
            f"{row['replans']} found, {row['failed_replans']} not", end_section=True,
        )  # fmt: skip
    return table
