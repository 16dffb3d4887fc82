"""``contact-mpc study metric``: what the local metric and contact sampling are worth (seeds/003, the ablation).

Trees of the same number of nodes: with the local metric and contact sampling, with the global metric in its place, and
without contact sampling. Coverage is the share of objects drawn uniformly from the problem's ranges that have a node
within a radius in the global metric. Many seeds run in parallel through joblib.
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
from contact_mpc.planning.metric import global_distances_into
from contact_mpc.planning.problem import Problem, RrtConfig, load_problem, object_from_coordinates
from contact_mpc.planning.rrt import GrownTree, TreePlanner
from contact_mpc.sim.campaign import check_backend, run_parallel

VARIANTS: dict[str, dict[str, Any]] = {
    "local metric, contact sampling": {},
    "global metric": {"metric": "global"},
    "no contact sampling": {"contact_probability": 0.0},
    "global metric, no contact sampling": {"metric": "global", "contact_probability": 0.0},
}
OURS, GLOBAL = "local metric, contact sampling", "global metric, no contact sampling"
SAMPLES = 2000
LEAST_RATIO = 2.0


def metric(
    problem: Annotated[str, typer.Argument(help="Name in config/planning or a YAML.")] = "planar_hand_ball",
    seeds: Annotated[int, typer.Option(min=2, max=10_000, help="Trees per variant.")] = 10,
    nodes: Annotated[int, typer.Option(min=10, max=100_000, help="Nodes per tree.")] = 1000,
    radius: Annotated[float, typer.Option(min=1e-3, help="Radius of coverage in the global metric, rad.")] = 0.15,
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
    ratio = table[OURS]["coverage"]["mean"] / max(table[GLOBAL]["coverage"]["mean"], 1e-9)
    result = {
        "problem": path, "seed": seed, "seeds": seeds, "nodes": nodes, "radius_rad": radius, "variants": table,
        "coverage_ratio": ratio, "goal_met": ratio >= LEAST_RATIO,
    }
    emit(result, as_json, _table(result))
    raise typer.Exit(0 if result["goal_met"] else EXIT_GOAL_MISSED)


def grow_variant(path: Path, name: str, seed: int, nodes: int, radius: float) -> dict[str, float]:
    """Grow one tree of a variant; return its coverage, share, and error to the goal, deg and mm."""
    problem = load_problem(path)
    rrt = problem.file.rrt.model_copy(update=VARIANTS[name])
    planner = TreePlanner(_replace_rrt(problem, rrt))
    grown = planner.grow(seed, nodes, stop_at_goal=False)
    angle, distance = problem.errors(grown.tree.q[grown.best_node])
    return {
        "coverage": coverage(planner, grown, radius), "reached": float(grown.is_reached), "nodes": len(grown.tree.q),
        "angle_error_deg": angle, "position_error_mm": distance,
    }


def _replace_rrt(problem: Problem, rrt: RrtConfig) -> Problem:
    return replace(problem, file=problem.file.model_copy(update={"rrt": rrt}))


def coverage(planner: TreePlanner, grown: GrownTree, radius: float) -> float:
    """Return the share of objects, drawn from the ranges, within `radius` (rad, global metric) of a node."""
    problem, rng = planner.problem, np.random.default_rng(0)  # the same objects for all trees
    count = len(grown.tree.q)
    x = problem.lower + rng.random((SAMPLES, len(problem.lower))) * (problem.upper - problem.lower)
    distances, near = np.empty(count), 0
    for row in x:
        q = problem.configuration(object_from_coordinates(problem.system, row))
        global_distances_into(planner.model.tree, planner.growth.weight, grown.tree.q, count, q, distances)
        near += np.sqrt(2.0 * distances.min()) <= radius
    return near / SAMPLES


def _summary(items: list[dict[str, float]]) -> dict[str, Any]:
    spread = {}
    for key in ("coverage", "angle_error_deg", "position_error_mm"):
        values = [item[key] for item in items]
        spread[key] = {
            "mean": float(np.mean(values)), "std": float(np.std(values, ddof=1)), "min": float(np.min(values)),
            "max": float(np.max(values)),
        }
    return {**spread, "reached": float(np.mean([item["reached"] for item in items]))}


def _table(result: dict[str, Any]) -> Table:
    title = f"{result['problem'].stem}: {result['seeds']} trees of {result['nodes']} nodes each"
    table = Table("", "coverage", "± std", "reached", "best error", title=title, title_justify="left")
    for name, item in result["variants"].items():
        covered = item["coverage"]
        error = f"{item['angle_error_deg']['mean']:.1f} deg, {item['position_error_mm']['mean']:.1f} mm"
        table.add_row(
            name, f"{100 * covered['mean']:.1f} %", f"{100 * covered['std']:.1f} %", f"{100 * item['reached']:.0f} %",
            error,
        )
    table.caption = f"first row over last: {result['coverage_ratio']:.1f} (goal: at least {LEAST_RATIO:g})"
    return table
