"""``contact-mpc study smoothing``: gradients of the smoothed model, exact ones, and randomized ones, by time and cost.

The same short motions from a trivial start, the same weights and iterations; only the gradients differ. Costs are those
of the result's commands in the unsmoothed model (seeds/003: the slide's table).
"""

import contact_mpc.cli.frame.single_thread  # noqa: F401, I001  before anything that imports numpy

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from contact_mpc.cli.frame.output import EXIT_GOAL_MISSED, emit, page_values, require_writable
from contact_mpc.optimisation.trajectory import RollOut
from contact_mpc.planning.tree.direct import DirectProblem
from contact_mpc.planning.trajopt.gradients import exact_roll_out, randomized_roll_out
from contact_mpc.planning.tree.problem import load_problem

PROBLEMS = ("planar_pushing", "planar_hand_ball", "allegro_ball")
GRADIENTS = ("smoothed", "exact", "randomized")


def smoothing(
    problems: Annotated[list[str] | None, typer.Argument(help="Names in config/planning with a trajopt.")] = None,
    iterations: Annotated[int, typer.Option(min=1, max=500, help="Iterations of each.")] = 20,
    samples: Annotated[int, typer.Option(min=1, max=10_000, help="Pairs of samples of randomized smoothing.")] = 10,
    sigma: Annotated[float, typer.Option(min=1e-6, help="Their first deviation of commands, rad (m).")] = 0.1,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the start and of the samples.")] = 0,
    report: Annotated[Path | None, typer.Option(help="Folder for an HTML page with table and plots.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Compare smoothed, exact and randomized gradients in trajectory optimisation."""
    require_writable(report)
    table: dict[str, dict[str, Any]] = {}
    with Console(stderr=True).status("study smoothing") as status:
        for name in problems or PROBLEMS:
            direct = DirectProblem(load_problem(name), seed)
            direct.solve(iterations=1)  # compiles
            table[name] = {}
            for kind in GRADIENTS:
                status.update(f"{name}, {kind}")
                roll = _roll(kind, direct, sigma, samples, seed)
                table[name][kind] = _figures(direct, roll, iterations)
    best = all(row["smoothed"]["cost"] <= min(_cost(row[kind]) for kind in GRADIENTS) * 1.2 for row in table.values())
    result = {
        "seed": seed,
        "iterations": iterations,
        "samples": samples,
        "sigma_rad": sigma,
        "problems": table,
        "goal_met": best,
    }
    if report is not None:
        from contact_mpc.report.pages import write_result_page

        result["report"] = write_result_page("smoothing", page_values(result), report)
    emit(result, as_json, _table(table))
    raise typer.Exit(0 if best else EXIT_GOAL_MISSED)


def _roll(kind: str, direct: DirectProblem, sigma: float, samples: int, seed: int) -> RollOut | None:
    if kind == "smoothed":
        return None
    if kind == "exact":
        return exact_roll_out(direct.unsmoothed)
    return randomized_roll_out(direct.unsmoothed, sigma, samples, np.random.default_rng(seed))


def _figures(direct: DirectProblem, roll: RollOut | None, iterations: int) -> dict[str, Any]:
    found = direct.solve(roll, iterations)
    return {
        "elapsed_s": found.elapsed_s,
        "cost": found.unsmoothed_cost,
        "angle_error_deg": found.angle_error_deg,
        "position_error_mm": found.position_error_mm,
        "costs": found.costs,
        "times_s": found.times_s,
    }


def _cost(figures: dict[str, Any]) -> float:
    return float(figures["cost"]) if np.isfinite(figures["cost"]) else np.inf


def _table(table: dict[str, dict[str, Any]]) -> Table:
    shown = Table("", "gradients", "wall clock s", "cost", "angle error", "position error", title="smoothing")
    for name, row in table.items():
        for kind, item in row.items():
            shown.add_row(
                name,
                kind,
                f"{item['elapsed_s']:.2f}",
                f"{item['cost']:.4g}",
                f"{item['angle_error_deg']:.2f} deg",
                f"{item['position_error_mm']:.2f} mm",
            )
    shown.caption = "costs in the unsmoothed model, same weights"
    return shown
