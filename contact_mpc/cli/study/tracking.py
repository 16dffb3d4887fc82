"""``contact-mpc study tracking``: what each part of the loop is worth, how far it can be detuned, how others do.

All variants run the same trials (same plant, starts, noise), so that differences are counted in pairs: trials that a
variant gains and loses against the first row, with McNemar's p-value. Ctrl-C keeps what is done; with --out a later
call goes on from there.
"""

import contact_mpc.cli.frame.single_thread  # noqa: F401, I001  before anything that imports numpy

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.table import Table

from contact_mpc.cli.frame.compiling import compile_first
from contact_mpc.settings.plain_values import to_plain
from contact_mpc.cli.frame.output import EXIT_INTERRUPTED, emit, page_values, require_writable
from contact_mpc.cli.evaluate.trials import DisturbanceScale, NoiseScale, run_trials, show_cases
from contact_mpc.evaluation.cases import ALL
from contact_mpc.errors import ConfigError, StackError
from contact_mpc.task.node_parameters import default_parameter_file
from contact_mpc.task.task import TaskConfig, load_task
from contact_mpc.planning.start_posture import draw_start
from contact_mpc.evaluation.campaign import check_backend
from contact_mpc.evaluation.trial_run import Case, EvaluationSpec, TrialOutcome
from contact_mpc.loop.config import load_loop_config
from contact_mpc.evaluation.outcome_store import OutcomeStore, make_key
from contact_mpc.plants.registry import PLANTS
from contact_mpc.evaluation.statistics import paired_p_value, statistics_of
from contact_mpc.evaluation.summary import badness, describe_worst, rates, solve_times
from contact_mpc.evaluation.trials import disturbance_of, trial_seeds
from contact_mpc.evaluation.variants import STUDIES, Variant, build_variants

VERDICTS = {False: "All rows run", True: "Interrupted"}
MEDIANS = "deg, mm: median errors"
PAIRS = f"{MEDIANS}; + / -: trials gained and lost against the first row"
CAPTIONS = {
    "ablation": PAIRS,
    "grasp": f"{PAIRS}; a drawn start is the first posture drawn that balances the object",
    "sensitivity": MEDIANS,
    "cameras": f"{PAIRS}; 2 % of the poses are outliers of 20 mm and 20 deg",
    "torque": f"{PAIRS}; x: weight of the torques, as stretch of the joints' springs, over that of commands",
    "comparison": f"{PAIRS}; only the tracker has integral action on commands, the others have no B to project on",
}


def tracking(
    what: Annotated[str, typer.Option(help=f"{', '.join(STUDIES[:-1])} or {STUDIES[-1]}.")],
    task: Annotated[str, typer.Option(help="Name of a task in config/tasks, or the path of a task file.")] = (
        "allegro_ball"
    ),
    axis: Annotated[str, typer.Option(help="Turn about +x, -x, +y, -y, +z or -z; all: those of the task file.")] = ALL,
    trials: Annotated[int, typer.Option(min=1, max=100_000, help="Trials per row.")] = 24,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the trials' seeds.")] = 0,
    plant: Annotated[str, typer.Option(help=f"Physics engine: {PLANTS.describe()}, or module:name.")] = "drake",
    jobs: Annotated[int, typer.Option(min=1, max=256, help="Trials at the same time.")] = 1,
    backend: Annotated[str, typer.Option(help="Who runs them, of joblib: loky, dask or ray.")] = "loky",
    disturbance_scale: DisturbanceScale = 1.0,
    noise_scale: NoiseScale = 1.0,
    only: Annotated[str, typer.Option(help="Only rows with this text in group or label, and the first.")] = "",
    params: Annotated[
        Path | None, typer.Option(help="Parameter file of the nodes; by default that of the task in config/nodes.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="File of outcomes; a later call goes on from there.")] = None,
    report: Annotated[Path | None, typer.Option(help="Folder for an HTML page with table and plots.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Run variants of the tracking loop on the same trials: ablation, drawn starts, sensitivity, controllers, torques.

    CPU time: 3 s per trial and row of allegro_ball; it has 12 rows of ablation, 5 of starts, 24 of sensitivity that
    differ, and 6 of comparison, of which the last, of 40 samples, takes several times as long; 18 of cameras, 10 of
    torques.
    """
    require_writable(report)
    if what not in STUDIES:
        raise ConfigError(f"--what {what} is unknown; allowed: {', '.join(STUDIES)}")
    PLANTS.require(plant)
    check_backend(backend)
    config, store = load_task(task), OutcomeStore(out)
    parameters = params or default_parameter_file(config)
    base = load_loop_config(parameters, plant)
    friction = float(np.mean([pair.mu for pair in config.system.pairs]))
    variants = choose_rows(build_variants(what, base, friction), only)
    compile_first(plant)
    cases = {start: _make_cases(config, axis, start) for start in dict.fromkeys(item.start_seed for item in variants)}
    specs = [
        EvaluationSpec(
            cases[item.start_seed], load_loop_config(parameters, plant, item.settings, item.controller),
            disturbance_of(config), disturbance_scale, noise_scale * item.noise_scale,
        )
        for item in variants
    ]  # fmt: skip
    seeds = trial_seeds(seed, trials, len(specs[0].cases))
    found, is_interrupted = _run(specs, seeds, store, jobs, backend, f"{config.name}: {what}")
    rows = summarise_rows(
        variants, [[row.get(item) for item in seeds] for row in found], (config.tolerance_deg, config.tolerance_mm)
    )
    conditions = _describe_conditions(plant, disturbance_scale, noise_scale)
    result: dict[str, Any] = {
        "task": config.name, "what": what, "plant": plant, "conditions": conditions, "seed": seed, "trials": trials,
        "disturbance_scale": disturbance_scale, "noise_scale": noise_scale, "rows": rows,
        "interrupted": is_interrupted, "goal_met": not is_interrupted,
    }  # fmt: skip
    if report is not None:
        from contact_mpc.report.pages import write_result_page

        page = page_values(result, animation=_animate_worst(specs, rows, config), verdict=VERDICTS[is_interrupted])
        result["report"] = write_result_page("tracking", page, report)
    emit(result, as_json, make_table(result))
    raise typer.Exit(EXIT_INTERRUPTED if is_interrupted else 0)


def choose_rows(variants: list[Variant], only: str) -> list[Variant]:
    """Return the rows whose group or label contains a text, after the first row where all count against that.

    Raises
    ------
    ConfigError
        No row contains it.
    """
    chosen = [item for item in variants if only in item.group or only in item.label]
    if not chosen:
        labels = dict.fromkeys(item.label if item.value is None else item.group for item in variants)
        raise ConfigError(f"--only {only} matches no row; there are: {', '.join(labels)}")
    first = variants[0]
    return chosen if first.value is not None or first in chosen else [first, *chosen]


def _describe_conditions(plant: str, disturbance_scale: float, noise_scale: float) -> str:
    """Return the plant, and by how much its deviations and the poses' noise are scaled where they are."""
    scales = (("deviations", disturbance_scale), ("noise", noise_scale))
    return ", ".join([plant, *(f"{name} x {scale:g}" for name, scale in scales if scale != 1.0)])


def _make_cases(task: TaskConfig, axis: str, start_seed: int | None) -> tuple[Case, ...]:
    """Return the turns from the task's start, or from one that is drawn; of those, none is refused."""
    if start_seed is None:
        return show_cases(task, axis)
    return show_cases(draw_start(task, start_seed), axis, must_hold=False)


def _run(
    specs: list[EvaluationSpec], seeds: list[int], store: OutcomeStore, jobs: int, backend: str, title: str
) -> tuple[list[dict[int, TrialOutcome]], bool]:
    """Return the outcomes of each spec by seed; trials go round the specs, so that all of them get on together.

    Specs that are the same, such as every factor 1, run once.
    """
    keys = [make_key(*_identity(spec)) for spec in specs]
    spec_of = dict(zip(keys, specs, strict=True))
    missing = [(key, item) for item in seeds for key in dict.fromkeys(keys) if store.find(key, item) is None]

    def keep(index: int, outcome: TrialOutcome) -> None:
        store.add(missing[index][0], outcome)

    campaign = run_trials([(spec_of[key], item) for key, item in missing], jobs, title, backend, keep)
    found = [{item: known for item in seeds if (known := store.find(key, item)) is not None} for key in keys]
    if campaign.failure:
        raise StackError(campaign.failure)
    return found, campaign.is_interrupted


def _identity(spec: EvaluationSpec) -> tuple[Any, ...]:
    """Return what the outcomes of a spec depend on, as plain values."""
    loop = spec.config
    parts = [part.model_dump() for part in (loop.tracker, loop.estimator, loop.bridge, loop.sensors, loop.comparison)]
    own = (loop.engine, loop.estimate_rate_hz, loop.start_delay_s, loop.controller, spec.scale, spec.noise_scale)
    return parts, own, spec.disturbance.model_dump(), [_describe_case(case) for case in spec.cases]


def _describe_case(case: Case) -> dict[str, Any]:
    task: TaskConfig = case.task
    goal = to_plain(asdict(task.goal))
    times = (task.duration_s, task.hold_s, task.tolerance_deg, task.tolerance_mm)
    return {
        "task": task.name, "start": task.start_q.tolist(), "goal": goal, "times": times, "digest": task.system.digest,
        "u": case.plan.u.tolist(),
    }  # fmt: skip


def summarise_rows(
    variants: list[Variant], outcomes: list[list[TrialOutcome | None]], tolerances: tuple[float, float]
) -> list[dict[str, Any]]:
    """Return the figures of each variant; outcomes are by variant and trial, None where a trial was not run.

    Trials gained and lost count against the first variant of a study of ablations or controllers; rows of a
    sensitivity have none.
    """
    return [
        {
            **asdict(variant), **rates(done := [item for item in row if item is not None]),
            **_paired(outcomes[0], row, variant.value is None),
            "angle_error_deg": statistics_of([item.angle_error_deg for item in done]),
            "position_error_mm": statistics_of([item.position_error_mm for item in done]),
            **solve_times(done),
            "worst": describe_worst(done, tolerances),
        }
        for variant, row in zip(variants, outcomes, strict=True)
    ]  # fmt: skip


def _paired(first: list[TrialOutcome | None], row: list[TrialOutcome | None], is_paired: bool) -> dict[str, Any]:
    if not is_paired:
        return {}
    pairs = [(a, b) for a, b in zip(first, row, strict=True) if a is not None and b is not None]
    gained = sum(b.goal_met and not a.goal_met for a, b in pairs)
    lost = sum(a.goal_met and not b.goal_met for a, b in pairs)
    return {"gained": gained, "lost": lost, "p_value": paired_p_value(gained, lost)}


def _animate_worst(specs: list[EvaluationSpec], rows: list[dict[str, Any]], task: TaskConfig) -> dict[str, Any] | None:
    """Return the animation of the worst trial of all rows."""
    from contact_mpc.report.scene.trial import animate_trial

    def how_bad(index: int) -> tuple[bool, float]:
        worst = rows[index]["worst"]
        errors = (worst["angle_error_deg"], worst["position_error_mm"])
        return badness(worst["goal_met"], errors, (task.tolerance_deg, task.tolerance_mm))

    run = [index for index, row in enumerate(rows) if row["worst"]]
    if not run:
        return None
    index = max(run, key=how_bad)
    return animate_trial(specs[index], rows[index]["worst"], rows[index]["label"])


def make_table(result: dict[str, Any]) -> Table:
    """Return one row per variant."""
    is_paired = "gained" in result["rows"][0]
    title = f"{result['what']} of {result['task']} on {result['conditions']}"
    table = Table(title=title, title_justify="left", title_style="bold")
    names = ["", "n", "goal met (95 %)", "looser", "drops", "deg", "mm", "CPU ms: median, p99"]
    for name in [*names, *(["+ / - (p)"] if is_paired else [])]:
        table.add_column(name, justify="left" if not name else "right")
    group = ""
    for row in result["rows"]:
        if row["value"] is not None and row["group"] != group:
            group = row["group"]
            table.add_row(f"[bold]{group}[/]")
        table.add_row(*_cells(row, is_paired))
    table.caption = CAPTIONS[result["what"]]
    table.caption_justify = "left"
    return table


def _cells(row: dict[str, Any], is_paired: bool) -> list[str]:
    if not row["trials"]:
        return [row["label"], "0"]
    low, high = row["success_interval_95"]
    found = (row["angle_error_deg"], row["position_error_mm"])
    errors = ["-" if item is None else f"{item['median']:.2f}" for item in found]
    solve = row["solve_cpu_ms"]
    cells = [
        row["label"], str(row["trials"]), f"{100 * row['success_rate']:.0f}% ({100 * low:.0f}-{100 * high:.0f})",
        f"{100 * row['loose_success_rate']:.0f}%", str(row["drops"]), *errors,
        "-" if solve is None else f"{solve['median']:.2f}, {solve['p99']:.2f}",
    ]  # fmt: skip
    return [*cells, f"{row['gained']} / {row['lost']} ({row['p_value']:.2g})"] if is_paired else cells
