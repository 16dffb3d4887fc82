"""``contact-mpc study execution``: what plans through contact do in a physics engine that took no part in planning.

Each problem of config/planning is planned by its tree, seed by seed, and each plan is executed in the plant from the
plan's own start: open loop, tracked, with planning again from the measured state, and with parts corrected by MuJoCo
roll-outs. Plans are those that MuJoCo has confirmed (`contact_mpc.loop.parts.confirmed_plan`), unless --no-confirm.
They and their executions are kept in a folder and used again, so that a study may be made in pieces. Disturbances are
those of `evaluate`, drawn from the plan's seed.
"""

import contact_mpc.cli.frame.single_thread  # noqa: F401, I001  before anything that imports numpy

import time
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
from rich.table import Table

from contact_mpc.cli.run.run_output import StateBar
from contact_mpc.cli.plan.plan_tree import candidates
from contact_mpc.cli.frame.output import EXIT_GOAL_MISSED, EXIT_INTERRUPTED, emit, page_values, require_writable
from contact_mpc.cli.evaluate.trials import DisturbanceScale
from contact_mpc.errors import ConfigError, PlanError
from contact_mpc.evaluation.campaign import run_parallel
from contact_mpc.evaluation.execution import WAYS, Execution, execute, to_row
from contact_mpc.evaluation.execution_store import execution_key, load_execution, save_execution
from contact_mpc.evaluation.statistics import wilson_interval
from contact_mpc.loop.parts.confirmation import MujocoConfirmation
from contact_mpc.loop.parts.confirmed_plan import CANDIDATES, candidate_seed, confirm_best
from contact_mpc.loop.parts.confirmed_samples import confirm_samples
from contact_mpc.loop.parts.confirmed_turns import confirm_turns
from contact_mpc.planning.tree.plan import GlobalPlan, plan_globally
from contact_mpc.planning.tree.planner import TreePlanner
from contact_mpc.planning.tree.problem import Problem, load_problem
from contact_mpc.planning.random_goal import with_drawn_goal
from contact_mpc.settings.plain_values import to_plain
from contact_mpc.settings.resources import resource_names
from contact_mpc.task.plan import Plan, load_plan, save_plan

ENGINES = ("drake", "mujoco")
LEAST_RATE = 0.95  # of the last way, that every system shall reach
NO_PLAN = "no plan"
USUAL = ("playback", "tracked", "corrected")
OLD_NAMES = {"open_loop": "playback"}
ERRORS = ("angle_error_deg", "position_error_mm")


def execution(
    systems: Annotated[list[str] | None, typer.Argument(help="Problems in config/planning, or YAML files.")] = None,
    seeds: Annotated[int, typer.Option(min=1, max=10_000, help="Plans per problem.")] = 20,
    seed: Annotated[int, typer.Option(min=0, help="First seed.")] = 0,
    plant: Annotated[str, typer.Option(help="Physics: drake or mujoco.")] = "drake",
    disturbance_scale: DisturbanceScale = 0.0,
    plans: Annotated[Path, typer.Option(help="Folder that plans and executions are kept in.")] = Path("out/execution"),
    way: Annotated[list[str] | None, typer.Option(help=f"Of {', '.join(WAYS)}; repeat it.")] = None,
    settings: Annotated[list[str] | None, typer.Option("--set", help="NODE.KEY=VALUE, as in `run`.")] = None,
    report: Annotated[Path | None, typer.Option(help="Folder for an HTML page with table and animation.")] = None,
    is_confirmed: Annotated[
        bool, typer.Option("--confirm/--no-confirm", help="Plans that MuJoCo has confirmed, or as trees leave them.")
    ] = True,
    jobs: Annotated[int, typer.Option(min=1, help="Problems and seeds at the same time.")] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Execute plans of trees in a plant: open loop, tracked, and with planning again."""
    require_writable(report)
    if plant not in ENGINES:
        raise ConfigError(f"--plant {plant} is unknown; allowed: {', '.join(ENGINES)}")
    way = [OLD_NAMES.get(name, name) for name in way or ()]
    if unknown := sorted(set(way) - set(WAYS)):
        raise ConfigError(f"--way {unknown[0]} is unknown; allowed: {', '.join(WAYS)}")
    ways = [name for name in WAYS if name in (way or USUAL)]
    paths = {Path(name).stem: load_problem(name).path for name in systems or resource_names("planning")}
    options = (plans, is_confirmed, ways, plant, disturbance_scale, tuple(settings or ()))
    tasks = [(path, seed + k, *options) for path in paths.values() for k in range(seeds)]
    trials: dict[str, list[dict[str, Any]]] = {name: [] for name in paths}
    is_interrupted = False
    with StateBar(TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()) as bar:
        row = bar.add_task("study execution", total=len(tasks), state="")
        try:
            for index, trial in run_parallel(run_seed, tasks, jobs):
                trials[tasks[index][0].stem].append(trial)
                bar.update(row, advance=1, state=_line(tasks[index][0].stem, trial))
        except KeyboardInterrupt:
            is_interrupted = True
    found = {name: summarise(items, ways) for name, items in trials.items() if items}
    result = {
        "seed": seed, "plant": plant, "disturbance_scale": disturbance_scale, "ways": ways, "systems": found,
        "goal_met": len(found) == len(paths) and all(item["success_rate"] >= LEAST_RATE for item in found.values()),
    }  # fmt: skip
    if report is not None:
        result["report"] = _write_report(result, trials, paths, report)
    emit(result, as_json, _table(result))
    if is_interrupted:
        raise typer.Exit(EXIT_INTERRUPTED)
    raise typer.Exit(0 if result["goal_met"] else EXIT_GOAL_MISSED)


def run_seed(
    path: Path,
    seed: int,
    folder: Path,
    is_confirmed: bool,
    ways: list[str],
    engine: str,
    scale: float,
    settings: tuple[str, ...],
) -> dict[str, Any]:
    """Plan one problem with one seed, or take the plan that is there, and execute it; return figures and motions."""
    plan, cpu_s, reason = stored_plan(path, seed, folder, is_confirmed)
    trial: dict[str, Any] = {
        "seed": seed, "is_planned": plan is not None, "plan_cpu_s": cpu_s, "reason": reason,
        "is_confirmed": plan is not None and bool(plan.provenance.get("confirmed", False)),
    }  # fmt: skip
    if plan is None:
        return {**trial, "executions": {}}
    problem, executions = with_drawn_goal(load_problem(path), seed), {}
    for way in ways:
        done, way_cpu_s = stored_execution(problem, plan, way, engine, seed, scale, settings, folder)
        executions[way] = {"outcome": done, "cpu_s": way_cpu_s}
    return {**trial, "executions": executions, "duration_s": float(plan.times_s[-1])}


def stored_execution(
    problem: Problem,
    plan: Plan,
    way: str,
    engine: str,
    seed: int,
    scale: float,
    settings: tuple[str, ...],
    folder: Path,
) -> tuple[Execution, float]:
    """Return an execution and its CPU time, s; kept in the folder for the same sources, plan and draws."""
    key = execution_key(plan, problem.file.model_dump(mode="json"), way, engine, seed, scale, settings)
    kind = "confirmed." if plan.provenance.get("confirmed") is not None else ""
    file = folder / f"{problem.file.name}.{seed}.{kind}{way}.{engine}.{scale:g}.npz"
    if (kept := load_execution(file, key)) is not None:
        return kept
    started = time.process_time()
    done = execute(problem, plan, way, engine, seed, scale, settings)
    cpu_s = time.process_time() - started
    save_execution(file, key, done, cpu_s)
    return done, cpu_s


def stored_plan(path: Path, seed: int, folder: Path, is_confirmed: bool = False) -> tuple[Plan | None, float, str]:
    """Return the plan of a problem and seed, its CPU time, and why there is none; kept in the folder.

    Trees of up to three seeds are grown until one arrives, and all of them count. With is_confirmed it is what MuJoCo
    has played, see `contact_mpc.loop.parts.confirmed_plan`, to the goal or not.
    """
    problem = with_drawn_goal(load_problem(path), seed)
    file = folder / f"{problem.file.name}.{seed}{'.confirmed' if is_confirmed else ''}.npz"
    if file.is_file() and _is_of(load_plan(file), problem):
        return _result(load_plan(file, problem.system))
    started = time.process_time()
    if problem.file.turns is not None or problem.file.sampled is not None:
        done = confirm_samples(problem, seed) if problem.file.turns is None else confirm_turns(problem)
        plan = done.plan
        return _kept(plan, file, time.process_time() - started)
    if is_confirmed:
        raw, cpu_s, reason = stored_plan(path, seed, folder)
        if raw is None:
            return None, cpu_s, reason
        started = time.process_time()
        plan = confirm_best(
            problem, candidates(problem, raw, raw.provenance["seed"]), MujocoConfirmation(problem.system)
        ).plan
        record = {**plan.provenance, "is_valid": True, "reason": ""}  # of whichever tree it is
        return _kept(replace(plan, provenance=record), file, cpu_s + time.process_time() - started)
    found, reason = _first_valid(TreePlanner(problem), seed)
    cpu_s = time.process_time() - started
    if found is None:
        return None, cpu_s, reason
    record = {**found.plan.provenance, "is_valid": found.is_valid, "reason": reason}
    return _kept(replace(found.plan, provenance=record), file, cpu_s)


def _kept(plan: Plan, file: Path, cpu_s: float) -> tuple[Plan | None, float, str]:
    """Save a plan with its CPU time, s, and return what `stored_plan` does."""
    plan = replace(plan, provenance={**plan.provenance, "plan_cpu_s": cpu_s})
    save_plan(file, plan)
    return _result(plan)


def _first_valid(planner: TreePlanner, seed: int) -> tuple[GlobalPlan | None, str]:
    """Return the first valid of the plans that are tried, else the last there is, and why it is not valid."""
    found, reason = None, ""
    for k in range(CANDIDATES):
        try:
            found = plan_globally(planner, candidate_seed(seed, k))
        except PlanError as error:
            reason = str(error)
            continue
        reason = "" if found.is_valid else found.replay.failure or found.status
        if found.is_valid:
            break
    return found, reason


def _is_of(plan: Plan, problem: Problem) -> bool:
    """Whether a plan was made for a problem as it is now, and kept to its end."""
    is_same = "is_valid" in plan.provenance and plan.provenance.get("system_digest") == problem.system.digest
    return is_same and plan.provenance.get("parameters") == to_plain(problem.file.model_dump(mode="json"))


def _result(plan: Plan) -> tuple[Plan | None, float, str]:
    record = plan.provenance
    return (plan if record["is_valid"] else None), record["plan_cpu_s"], "" if record["is_valid"] else record["reason"]


def summarise(trials: list[dict[str, Any]], ways: list[str]) -> dict[str, Any]:
    """Return the figures of one problem; `success_rate` is that of the last way."""
    rows = {way: [item["executions"].get(way) for item in trials] for way in ways}
    rates = {way: sum(_is_success(item) for item in rows[way]) / len(trials) for way in ways}
    last = ways[-1]
    done = [item["outcome"] for item in rows[last] if item is not None]
    successes = sum(_is_success(item) for item in rows[last])
    return {
        "trials": len(trials),
        "planned": sum(item["is_planned"] for item in trials),
        "confirmed": sum(item["is_confirmed"] for item in trials),
        **{f"{way}_success": rate for way, rate in rates.items()},
        "success_rate": rates[last],
        "success_interval_95": wilson_interval(successes, len(trials)),
        "plan_cpu_s": _spread([item["plan_cpu_s"] for item in trials]),
        "executed_s": _spread([item.executed_s for item in done]),
        "angle_error_deg": _spread([item.angle_error_deg for item in done]),
        "position_error_mm": _spread([item.position_error_mm for item in done]),
        "identified": [[o.identified_friction, o.identified_size] for o in done],
        "execution_cpu_s": _spread([item["cpu_s"] for item in rows[last] if item is not None]),
        "failures": [failure for item in trials for failure in _failures(item)],
        "outcomes": [
            {**to_row(part["outcome"]), "seed": item["seed"]} for item in trials for part in item["executions"].values()
        ],
    }


def _is_success(item: dict[str, Any] | None) -> bool:
    return item is not None and item["outcome"].is_success


def _failures(trial: dict[str, Any]) -> list[dict[str, Any]]:
    if not trial["is_planned"]:
        return [{"seed": trial["seed"], "way": NO_PLAN, "reason": trial["reason"]}]
    outcomes = [part["outcome"] for part in trial["executions"].values()]
    return [{"seed": trial["seed"], "way": o.way, "reason": o.reason} for o in outcomes if not o.is_success]


def _spread(values: list[float]) -> dict[str, float]:
    known = [value for value in values if np.isfinite(value)]
    if not known:
        return dict.fromkeys(("median", "p90", "max"), float("nan"))
    return {"median": float(np.median(known)), "p90": float(np.percentile(known, 90)), "max": float(np.max(known))}


def _line(name: str, trial: dict[str, Any]) -> str:
    ends = [f"{way}: {part['outcome'].reason or 'reached'}" for way, part in trial["executions"].items()]
    return f"{name} {trial['seed']}: " + ("; ".join(ends) or f"{NO_PLAN}: {trial['reason']}")


def _table(result: dict[str, Any]) -> Table:
    title = (
        f"plans executed in {result['plant']}, disturbances x {result['disturbance_scale']:g}, seed {result['seed']}"
    )
    table = Table(title=title, title_justify="left", title_style="bold")
    heads = (
        "",
        "plans",
        "confirmed",
        *(f"{way.replace('_', ' ')}, %" for way in result["ways"]),
        "CPU per plan, s",
        "executed, s",
    )
    last_heads = ("identified: friction, size", "failures of the last way")
    for head in (*heads, "deg, median / p90", "mm, median / p90", *last_heads):
        table.add_column(head)
    for name, item in result["systems"].items():
        last = [f for f in item["failures"] if f["way"] in (result["ways"][-1], NO_PLAN)]
        table.add_row(
            name, f"{item['planned']} of {item['trials']}", str(item["confirmed"]),
            *(f"{100 * item[f'{way}_success']:.0f}" for way in result["ways"]),
            f"{item['plan_cpu_s']['median']:.1f}", f"{item['executed_s']['median']:.1f}",
            *(f"{item[key]['median']:.1f} / {item[key]['p90']:.1f}" for key in ERRORS),
            _identified(item["identified"]), "\n".join(f"{f['seed']}: {f['reason']}" for f in last) or "none",
            end_section=True,
        )  # fmt: skip
    return table


def _identified(factors: list[list[float]]) -> str:
    """Return the factors on friction and size that were found, trial by trial; "-" where none were looked for."""
    known = [f"{friction:.2f}, {size:.3f}" for friction, size in factors if np.isfinite(friction)]
    return "\n".join(known) or "-"


def _write_report(
    result: dict[str, Any], trials: dict[str, list[dict[str, Any]]], paths: dict[str, Path], folder: Path
) -> Path:
    from contact_mpc.report.execution_report import write_execution_report

    worst: dict[str, tuple[Problem, Execution] | None] = {}
    for name, items in trials.items():
        last = [(item["seed"], part["outcome"]) for item in items for part in list(item["executions"].values())[-1:]]
        moving = [(seed, outcome) for seed, outcome in last if len(outcome.times_s)]
        found = max(moving, key=lambda run: (not run[1].is_success, run[1].angle_error_deg), default=None)
        worst[name] = None if found is None else (with_drawn_goal(load_problem(paths[name]), found[0]), found[1])
    return write_execution_report(page_values(result), worst, folder)
