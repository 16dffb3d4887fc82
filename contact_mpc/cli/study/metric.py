"""``contact-mpc study metric``: what the local metric and contact sampling are worth (seeds/003, the ablation).

Trees of the same number of nodes: with the local metric and contact sampling, with the global metric in its place,
without contact sampling, and without both. Coverage is the paper's packing ratio: the share of objects drawn uniformly
from the problem's ranges whose local distance (q - mu)' Sigma^-1 (q - mu) to the best node of the tree is below 3, for
all trees alike (plot_iterations.py of the paper's public code, pangtao22/planning_through_contact). Beside it the share
that has a node within a radius in the global metric, which does not ask whether the node can move the object on. Many
seeds run in parallel through joblib.
"""

import contact_mpc.cli.single_thread  # noqa: F401, I001  before anything that imports numpy

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from contact_mpc.cli.output import EXIT_GOAL_MISSED, emit
from contact_mpc.planning.metric import global_distances_into, local_distances_into
from contact_mpc.planning.problem import Problem, RrtConfig, load_problem, object_from_coordinates
from contact_mpc.planning.rrt import GrownTree, TreePlanner
from contact_mpc.sim.campaign import check_backend, run_parallel

VARIANTS: dict[str, dict[str, Any]] = {
    "local metric, contact sampling": {},
    "global metric": {"metric": "global"},
    "no contact sampling": {"contact_probability": 0.0},
    "global metric, no contact sampling": {"metric": "global", "contact_probability": 0.0},
}
OURS, GLOBAL = "local metric, contact sampling", "global metric"  # the latter with contact sampling, too
SAMPLES = 2000
PACKING_DISTANCE = 3.0  # the paper's threshold
SPREADS = ("coverage", "near", "iterations", "angle_error_deg", "position_error_mm")
LEAST_RATIO = 2.0


def metric(
    problem: Annotated[str, typer.Argument(help="Name in config/planning or a YAML.")] = "planar_hand_ball",
    seeds: Annotated[int, typer.Option(min=2, max=10_000, help="Trees per variant.")] = 10,
    nodes: Annotated[int, typer.Option(min=10, max=100_000, help="Nodes per tree.")] = 1000,
    radius: Annotated[float, typer.Option(min=1e-3, help="Radius of nearness in the global metric, rad.")] = 0.15,
    seed: Annotated[int, typer.Option(min=0, help="First seed.")] = 0,
    jobs: Annotated[int, typer.Option(min=1, help="Trees at the same time.")] = 1,
    backend: Annotated[str, typer.Option(help="Who grows them, of joblib: loky, dask or ray.")] = "loky",
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Compare coverage with the local metric, the global one, and without contact sampling."""
    check_backend(backend)
    path = load_problem(problem).path
    tasks = [(path, name, seed + k, nodes, radius) for name in VARIANTS for k in range(seeds)]
    found: dict[str, list[dict[str, float]]] = {name: [] for name in VARIANTS}
    with Progress(console=Console(stderr=True), transient=True) as bar:
        row = bar.add_task("study metric", total=len(tasks))
        for index, figures in run_parallel(grow_variant, tasks, jobs, backend):
            found[tasks[index][1]].append(figures)
            bar.advance(row)
    table = {name: _summary(items) for name, items in found.items()}
    ratios = {name: table[OURS]["coverage"]["mean"] / max(row["coverage"]["mean"], 1e-9) for name, row in table.items()}
    result = {
        "problem": path, "seed": seed, "seeds": seeds, "nodes": nodes, "radius_rad": radius, "variants": table,
        "coverage_ratio": ratios[GLOBAL], "coverage_ratios": ratios, "goal_met": ratios[GLOBAL] >= LEAST_RATIO,
    }
    emit(result, as_json, _table(result))
    raise typer.Exit(0 if result["goal_met"] else EXIT_GOAL_MISSED)


def grow_variant(path: Path, name: str, seed: int, nodes: int, radius: float) -> dict[str, float]:
    """Grow one tree of a variant; return its coverage, the share of near objects, and its error to the goal."""
    problem = load_problem(path)
    rrt = problem.file.rrt.model_copy(update=VARIANTS[name])
    planner = TreePlanner(_replace_rrt(problem, rrt))
    grown = planner.grow(seed, nodes, stop_at_goal=False)
    angle, distance = problem.errors(grown.tree.q[grown.best_node])
    return {
        **coverage(planner, grown, radius), "reached": float(grown.is_reached), "iterations": grown.iterations,
        "angle_error_deg": angle, "position_error_mm": distance,
    }


def _replace_rrt(problem: Problem, rrt: RrtConfig) -> Problem:
    return replace(problem, file=problem.file.model_copy(update={"rrt": rrt}))


def coverage(planner: TreePlanner, grown: GrownTree, radius: float) -> dict[str, float]:
    """Return the packing ratio and the share of objects within `radius` (rad, global metric) of a node."""
    problem, rng = planner.problem, np.random.default_rng(0)  # the same objects for all trees
    tree, metrics = planner.model.tree, grown.tree.metrics
    count = len(grown.tree.q)
    x = problem.lower + rng.random((SAMPLES, len(problem.lower))) * (problem.upper - problem.lower)
    distances, packed, near = np.empty(count), 0, 0
    for row in x:
        q = problem.configuration(object_from_coordinates(problem.system, row))
        local_distances_into(tree, metrics, count, q, distances)
        packed += 2.0 * distances.min() < PACKING_DISTANCE
        global_distances_into(tree, planner.growth.weight, grown.tree.q, count, q, distances)
        near += np.sqrt(2.0 * distances.min()) <= radius
    return {"coverage": packed / SAMPLES, "near": near / SAMPLES}


def _summary(items: list[dict[str, float]]) -> dict[str, Any]:
    spread = {}
    for key in SPREADS:
        values = [item[key] for item in items]
        spread[key] = {
            "mean": float(np.mean(values)), "std": float(np.std(values, ddof=1)), "min": float(np.min(values)),
            "max": float(np.max(values)),
        }
    return {**spread, "reached": float(np.mean([item["reached"] for item in items]))}


def _table(result: dict[str, Any]) -> Table:
    title = f"{result['problem'].stem}: {result['seeds']} trees of {result['nodes']} nodes each"
    table = Table("", "coverage", "near", "iterations", "reached", "best error", title=title, title_justify="left")
    for name, item in result["variants"].items():
        error = f"{item['angle_error_deg']['mean']:.1f} deg, {item['position_error_mm']['mean']:.1f} mm"
        table.add_row(
            name, _share(item["coverage"]), _share(item["near"]), f"{item['iterations']['mean']:.0f}",
            f"{100 * item['reached']:.0f} %", error,
        )
    table.caption = f"coverage, first row over second: {result['coverage_ratio']:.2f} (asked {LEAST_RATIO:g})"
    return table


def _share(spread: dict[str, float]) -> str:
    return f"{100 * spread['mean']:.1f} ± {100 * spread['std']:.1f} %"
