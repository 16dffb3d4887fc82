"""``contact-mpc study generality``: hands x objects, each from nothing but their names to a closed-loop turn.

A cell takes the steps of a user who brings both: `new task`, `plan --grasp --write`, `evaluate`. Each keeps its files
and figures in a folder of its own, so that a later call goes on where one was stopped.
"""

import contact_mpc.cli.frame.single_thread  # noqa: F401, I001  before anything that imports numpy

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
from rich.table import Table

from contact_mpc.cli.run.run_output import StateBar
from contact_mpc.cli.frame.compiling import compile_first
from contact_mpc.cli.frame.output import EXIT_GOAL_MISSED, EXIT_INTERRUPTED, emit, page_values, require_writable
from contact_mpc.errors import ContactMpcError
from contact_mpc.evaluation.campaign import run_parallel
from contact_mpc.evaluation.cases import make_cases
from contact_mpc.evaluation.outcome_store import make_key
from contact_mpc.evaluation.starts.find_start import find_start, turns_to_try_deg
from contact_mpc.evaluation.starts.start_file import write_start
from contact_mpc.evaluation.statistics import statistics_of, wilson_interval
from contact_mpc.evaluation.summary import describe_worst, rates, solve_times
from contact_mpc.evaluation.trial_run import EvaluationSpec, run_trial
from contact_mpc.evaluation.trials import disturbance_of, trial_seeds
from contact_mpc.importing.objects import make_object
from contact_mpc.importing.prepare import JointOptions
from contact_mpc.importing.task import new_task, read_turn, require_robot
from contact_mpc.loop.config import load_loop_config
from contact_mpc.plants.registry import PLANTS
from contact_mpc.settings.extras import require_packages
from contact_mpc.settings.file_access import write_text
from contact_mpc.settings.plain_values import to_plain
from contact_mpc.task.node_parameters import default_parameter_file
from contact_mpc.task.task import TaskConfig, load_task

HANDS = ("allegro_right.urdf", "allegro_left.urdf", "leap_right.urdf", "dclaw.urdf")
OBJECTS = (
    "ball:0.03", "ball:0.04", "cube:0.05", "cube:0.06", "box:0.05,0.06,0.07", "cylinder:0.03,0.06",
    "capsule:0.025,0.04", "ellipsoid:0.06,0.07,0.08", "wedge:0.07,0.06,0.06", "bottle:0.03,0.12", "mug:0.035,0.07",
    "ell:0.07,0.035,0.04", "tee:0.07,0.03,0.04",
)  # fmt: skip
LEAST_POOLED, LEAST_PER_HAND, LEAST_PER_CELL = 0.95, 0.85, 0.60
NO_GRASP = "no grasp"


@dataclass(frozen=True)
class CellOptions:
    """What all cells share: trials, seed of trials and search, postures to try, turn, engine."""

    trials: int
    seed: int
    samples: int
    turn: str
    plant: str


def generality(
    hands: Annotated[
        list[str] | None, typer.Option("--hands", help=f"Robot file, or NAME.urdf of: {', '.join(HANDS)}; repeat it.")
    ] = None,
    objects: Annotated[
        list[str] | None, typer.Option("--objects", help="As `new task --object`; repeat it. All kinds by default.")
    ] = None,
    trials: Annotated[int, typer.Option(min=1, max=10_000, help="Disturbed trials per cell.")] = 20,
    seed: Annotated[int, typer.Option(min=0, help="Of the search, and of the trials' seeds.")] = 0,
    samples: Annotated[int, typer.Option(min=1, max=100_000, help="Postures that a search tries at most.")] = 1600,
    turn: Annotated[str, typer.Option(help="AXIS:DEG about an axis of the world.")] = "z:30",
    plant: Annotated[str, typer.Option(help=f"Physics engine of the trials: {PLANTS.describe()}.")] = "drake",
    folder: Annotated[Path, typer.Option(help="Files and figures of the cells; a later call goes on from there.")] = (
        Path("out/generality")
    ),
    jobs: Annotated[int, typer.Option(min=1, max=256, help="Cells at the same time.")] = 1,
    report: Annotated[Path | None, typer.Option(help="Folder for an HTML page with the matrix.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Bring hands and objects together: grasp search, plan, disturbed trials; two minutes of CPU time per cell."""
    require_writable(report)
    PLANTS.require(plant)
    require_packages("study generality, whose starts are held in physics,", "mujoco")
    read_turn(turn)
    for thing in objects or ():
        make_object(thing, None)  # refuses what cannot be before anything runs
    for hand in hands or ():
        require_robot(hand)
    compile_first(plant)
    options = CellOptions(trials, seed, samples, turn, plant)
    cells = [(hand, thing, folder, options) for hand in hands or HANDS for thing in objects or OBJECTS]
    rows: dict[int, dict[str, Any]] = {}
    is_interrupted = False
    with StateBar(TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()) as bar:
        line = bar.add_task("study generality", total=len(cells), state="")
        try:
            for index, row in run_parallel(run_cell, cells, jobs):
                rows[index] = row
                bar.update(line, advance=1, state=f"{row['hand']}, {row['object']}: {describe_cell(row)}")
        except KeyboardInterrupt:
            is_interrupted = True
    result = summarise([rows[index] for index in sorted(rows)], options, len(cells))
    if report is not None:
        from contact_mpc.report.pages import write_result_page

        page = page_values(result, animation=_animate_worst(result["cells"], folder, options))
        result["report"] = write_result_page("generality", page, report)
    emit(result, as_json, make_table(result))
    raise typer.Exit(EXIT_INTERRUPTED if is_interrupted else 0 if result["goal_met"] else EXIT_GOAL_MISSED)


def run_cell(hand: str, thing: str, folder: Path, options: CellOptions) -> dict[str, Any]:
    """Return the figures of one hand with one object, from the folder where they are there."""
    place, key = folder / _cell_name(hand, thing), make_key(hand, thing, vars(options))
    kept = place / f"figures.{options.plant}.json"
    known = read_kept(kept, key)
    if known is not None:
        return known
    started = time.process_time()
    row = {"hand": Path(hand).stem, "object": thing, "reason": "", "trials": 0}
    try:
        row |= _run_new_cell(hand, thing, place, options)
    except ContactMpcError as error:
        row["reason"] = str(error)
    row["cpu_s"] = time.process_time() - started
    write_text(kept, json.dumps({"key": key, "row": to_plain(row)}, indent=1))
    return row


def read_kept(path: Path, key: str) -> dict[str, Any] | None:
    """Return the row of a file that an earlier study wrote; None where there is none of this key, or it is damaged."""
    try:
        known = json.loads(path.read_bytes())
        return dict(known["row"]) if known["key"] == key else None
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def _cell_name(hand: str, thing: str) -> str:
    return "".join(c if c.isalnum() else "_" for c in f"{Path(hand).stem}__{thing}")


def _run_new_cell(hand: str, thing: str, place: Path, options: CellOptions) -> dict[str, Any]:
    """Run the trials from the start that was found, now or by an earlier call."""
    task_file, row = _provide_start(hand, thing, place, options)
    if task_file is None:
        return row
    task, spec = _spec(task_file, options)
    outcomes = [run_trial(spec, item) for item in trial_seeds(options.seed, options.trials)]
    return {
        **row, **rates(outcomes), **solve_times(outcomes),
        "angle_error_deg": statistics_of([item.angle_error_deg for item in outcomes]),
        "position_error_mm": statistics_of([item.position_error_mm for item in outcomes]),
        "worst": describe_worst(outcomes, (task.tolerance_deg, task.tolerance_mm)),
        "failures": ["; ".join((*item.reasons, *item.reports)) for item in outcomes if not item.goal_met],
    }  # fmt: skip


def _spec(task_file: Path, options: CellOptions) -> tuple[TaskConfig, EvaluationSpec]:
    task = load_task(task_file)
    loop = load_loop_config(default_parameter_file(task), options.plant)
    return task, EvaluationSpec(make_cases(task), loop, disturbance_of(task))


def _animate_worst(rows: list[dict[str, Any]], folder: Path, options: CellOptions) -> dict[str, Any] | None:
    """Return the animation of the worst trial of the cell that fared worst; None where none tells its trials."""
    from contact_mpc.report.scene.trial import animate_trial

    run = [row for row in rows if row.get("worst")]
    if not run:
        return None
    row = min(run, key=lambda item: (item["success_rate"], not item["worst"]["goal_met"]))
    name = _cell_name(row["hand"], row["object"])
    task_file = folder / name / f"{name}.yaml"
    return animate_trial(_spec(task_file, options)[1], row["worst"], f"{row['hand']}, {row['object']}")


def _provide_start(hand: str, thing: str, place: Path, options: CellOptions) -> tuple[Path | None, dict[str, Any]]:
    """Return the task file with a start, None where none is good enough, and the figures of its search.

    What an earlier search with the same options found is taken over: engines and trials do not count among them.
    """
    kept, key = place / "start.json", make_key(hand, thing, options.seed, options.samples, options.turn)
    task_file = place / f"{place.name}.yaml"
    known = read_kept(kept, key) if task_file.is_file() else None
    if known is not None:
        return None if known.get("reason") else task_file, known
    new_task(hand, thing, options.turn, place.name, place, None, JointOptions(), options.seed)
    task = load_task(task_file)
    started = time.process_time()
    start = find_start(task, options.samples, options.seed, float(np.deg2rad(turns_to_try_deg(task))))
    row: dict[str, Any] = {"search_cpu_s": time.process_time() - started, "why": start.search.why()}
    if start.best is None or start.refused:
        row["reason"] = f"{NO_GRASP}: {start.refused}"
    else:
        row |= {"held_in_plants": start.best.held, "turns_met": start.met, "fingers": len(start.best.grasp.pairs)}
        given = f"--seed {options.seed} --samples {options.samples}"
        write_start(task.path, task.system, start.best, start.grip_n, given)
    write_text(kept, json.dumps({"key": key, "row": to_plain(row)}, indent=1))
    return None if start.refused else task_file, row


def summarise(rows: list[dict[str, Any]], options: CellOptions, wanted: int) -> dict[str, Any]:
    """Return all rows with what they amount to; a cell without a grasp counts as so many failed trials."""
    met = {index: round(row["success_rate"] * row["trials"]) if row["trials"] else 0 for index, row in enumerate(rows)}
    count, total = sum(met.values()), options.trials * len(rows)
    hands = {
        hand: sum(met[i] for i, row in enumerate(rows) if row["hand"] == hand)
        / (options.trials * sum(row["hand"] == hand for row in rows))
        for hand in dict.fromkeys(row["hand"] for row in rows)
    }
    is_met = len(rows) == wanted and total > 0 and count / total >= LEAST_POOLED
    is_met = is_met and min(hands.values()) >= LEAST_PER_HAND and min(met.values()) >= LEAST_PER_CELL * options.trials
    return {
        **vars(options), "cells": rows, "pooled_success_rate": count / total if total else None,
        "pooled_interval_95": list(wilson_interval(count, total)), "success_rate_by_hand": hands,
        "drops": sum(row.get("drops", 0) for row in rows), "goal_met": is_met,
    }  # fmt: skip


def describe_cell(row: dict[str, Any]) -> str:
    """Return how a cell went in a few words."""
    if not row["trials"]:
        return NO_GRASP if row["reason"].startswith(NO_GRASP) else "refused"
    return f"{round(row['success_rate'] * row['trials'])} of {row['trials']}"


def make_table(result: dict[str, Any]) -> Table:
    """Return one row per object, one column per hand, and why cells are empty."""
    rows = result["cells"]
    hands = list(dict.fromkeys(row["hand"] for row in rows))
    table = Table(title=f"turn {result['turn']} on {result['plant']}", title_justify="left", title_style="bold")
    for name in ("", *hands):
        table.add_column(name, justify="left" if not name else "right")
    for thing in dict.fromkeys(row["object"] for row in rows):
        found = {row["hand"]: describe_cell(row) for row in rows if row["object"] == thing}
        table.add_row(thing, *(found.get(hand, "-") for hand in hands))
    shares = (f"{100 * result['success_rate_by_hand'][hand]:.0f} %" for hand in hands)
    table.add_row("[bold]all[/]", *shares, end_section=True)
    reasons = [f"{row['hand']}, {row['object']}: {row['reason']}" for row in rows if row["reason"]]
    table.caption, table.caption_justify = "\n".join(["goal met, of trials", *reasons]), "left"
    return table
