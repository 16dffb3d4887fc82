"""``contact-mpc study metric``: what the local metric and contact sampling are worth (seeds/003, the ablation).

Trees of the same number of nodes, and what they cover after so many of them (`contact_mpc.planning.tree.coverage`). The
first rows are trees of this package with parts left out; those that end in "every step" grow as the paper's: no
progress is judged, no refusal is counted, every step that the model can make is a node. In its trees the metric is all
that keeps nodes from useless places; in ours a useless step costs an iteration, but no node.

The global metric is |q_u - q_u,ref| in fixed weights, rotation in rad and position in lengths of the object: for the
nearest node, for its progress, and in "every step" for the node to regrasp. Commands of an extension come from the
linearised step in all variants, as in the paper, and trees grow in one stage.

Objects turn all the way round in the plane, and in any direction in the hand (`SPACES`). Many seeds run in parallel
through joblib.
"""

import contact_mpc.cli.frame.single_thread  # noqa: F401, I001  before anything that imports numpy

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.table import Table

from contact_mpc.cli.frame.line_bar import LineBar
from contact_mpc.cli.frame.output import EXIT_GOAL_MISSED, emit, page_values, require_writable
from contact_mpc.planning.tree.coverage import ABLATION, EVERY_STEP, build_space, measure_coverage
from contact_mpc.planning.tree.problem import load_problem, with_ranges, with_rrt
from contact_mpc.planning.tree.problem_config import Range
from contact_mpc.planning.tree.planner import TreePlanner
from contact_mpc.report.pages import write_result_page
from contact_mpc.report.planning_study_report import ratio_text, share_text
from contact_mpc.evaluation.campaign import check_backend, run_parallel

VARIANTS: dict[str, dict[str, Any]] = {
    **ABLATION,
    "local metric, every step": EVERY_STEP,
    "global metric, every step": {**EVERY_STEP, "metric": "global"},
    "no contact sampling, every step": {**EVERY_STEP, "contact_probability": 0.0},
}
OURS, GLOBAL = "local metric, contact sampling", "global metric"
RATIOS = {  # coverage of the first over that of the second
    "ours": (OURS, GLOBAL),
    "every step": ("local metric, every step", "global metric, every step"),
    "contact sampling": (OURS, "no contact sampling"),
    "both": (OURS, "global metric, no contact sampling"),
}
SAMPLES = 2000
SHARES = (0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0)  # of the nodes, at which coverage is measured
SPREADS = ("iterations", "angle_error_deg", "position_error_mm", "reached")
LEAST_RATIO = 2.0
TURN, HALF = (-np.pi, np.pi), (-0.5 * np.pi, 0.5 * np.pi)


@dataclass(frozen=True)
class SpaceConfig:
    """Ranges in place of a problem's, and whether rotations alone count."""

    ranges: dict[str, Range] = field(default_factory=dict)
    only_turns: bool = False


SPACES = {
    "planar_pushing": SpaceConfig(),
    "planar_hand_ball": SpaceConfig({"disc_turn_rad": TURN}),
    "allegro_ball": SpaceConfig({"ball_roll_rad": TURN, "ball_pitch_rad": HALF, "ball_yaw_rad": TURN}, only_turns=True),
}


def metric(
    problems: Annotated[list[str] | None, typer.Argument(help="Names in config/planning or YAML files.")] = None,
    seeds: Annotated[int, typer.Option(min=2, max=10_000, help="Trees per variant.")] = 10,
    nodes: Annotated[int, typer.Option(min=10, max=100_000, help="Nodes per tree.")] = 1000,
    seed: Annotated[int, typer.Option(min=0, help="First seed.")] = 0,
    jobs: Annotated[int, typer.Option(min=1, help="Trees at the same time.")] = 1,
    backend: Annotated[str, typer.Option(help="Who grows them, of joblib: loky, dask or ray.")] = "loky",
    report: Annotated[Path | None, typer.Option(help="Folder for an HTML page with table and plots.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Compare coverage with the local metric, the global one, and without contact sampling."""
    require_writable(report)
    check_backend(backend)
    paths = {Path(name).stem: load_problem(name).path for name in problems or SPACES}
    tasks = [
        (paths[name], variant, seed + k, nodes) for name in paths for variant in VARIANTS for k in range(seeds)
    ]  # fmt: skip
    found: dict[tuple[Path, str], list[dict[str, Any]]] = {(task[0], task[1]): [] for task in tasks}
    with LineBar() as bar:
        row = bar.add_task("study metric", total=len(tasks))
        for index, figures in run_parallel(grow_variant, tasks, jobs, backend):
            found[tasks[index][:2]].append(figures)
            bar.advance(row)
    systems = {name: _system(found, path) for name, path in paths.items()}
    least = min(item["ratios"][key][-1]["ratio"] for item in systems.values() for key in ("ours", "every step"))
    result = {
        "seed": seed, "seeds": seeds, "nodes": nodes, "counts": _counts(nodes), "systems": systems,
        "coverage_ratio": {name: item["ratios"]["ours"][-1]["ratio"] for name, item in systems.items()},
        "goal_met": least >= LEAST_RATIO,
    }  # fmt: skip
    if report is not None:
        result["report"] = write_result_page("metric", page_values(result), report)
    emit(result, as_json, _table(result))
    raise typer.Exit(0 if result["goal_met"] else EXIT_GOAL_MISSED)


def grow_variant(path: Path, variant: str, seed: int, nodes: int) -> dict[str, Any]:
    """Grow one tree of a variant; return its coverage by number of nodes, and its error to the goal."""
    config = SPACES.get(path.stem, SpaceConfig())
    problem = with_ranges(load_problem(path), config.ranges)
    planner = TreePlanner(with_rrt(problem, stage_nodes=nodes, **VARIANTS[variant]))
    grown = planner.grow(seed, nodes, stop_at_goal=False)
    space = build_space(planner, nodes, SAMPLES, config.only_turns)
    covered = measure_coverage(planner, grown, space, _counts(nodes))
    angle, distance = problem.errors(grown.tree.q[grown.best_node])
    return {
        "visited": covered.visited, "packed": covered.packed, "radius_rad": space.radius,
        "nodes": len(grown.tree.q), "reached": float(grown.is_reached), "iterations": grown.iterations,
        "angle_error_deg": angle, "position_error_mm": distance,
    }  # fmt: skip


def _counts(nodes: int) -> tuple[int, ...]:
    return tuple(max(1, round(share * nodes)) for share in SHARES)


def _system(found: dict[tuple[Path, str], list[dict[str, Any]]], path: Path) -> dict[str, Any]:
    """Return the spreads of each variant of one problem, and the ratios between them by number of nodes."""
    variants = {variant: _summary(found[path, variant]) for variant in VARIANTS}
    radius_rad = found[path, OURS][0]["radius_rad"]
    ratios, packing_ratios = _ratios(variants, "visited"), _ratios(variants, "packed")
    return {"radius_rad": radius_rad, "variants": variants, "ratios": ratios, "packing_ratios": packing_ratios}


def _ratios(variants: dict[str, dict[str, Any]], measure: str) -> dict[str, list[dict[str, float]]]:
    return {
        key: [_ratio(a, b) for a, b in zip(variants[one][measure], variants[other][measure], strict=True)]
        for key, (one, other) in RATIOS.items()
    }


def _summary(items: list[dict[str, Any]]) -> dict[str, Any]:
    curves = {
        key: [_spread(column) for column in np.transpose([item[key] for item in items])]
        for key in ("visited", "packed")
    }
    return {**curves, **{key: _spread([item[key] for item in items]) for key in SPREADS}}


def _spread(values: Any) -> dict[str, float]:
    return {
        "mean": float(np.mean(values)), "std": float(np.std(values, ddof=1)), "min": float(np.min(values)),
        "max": float(np.max(values)),
    }  # fmt: skip


def _ratio(one: dict[str, float], other: dict[str, float]) -> dict[str, float]:
    """Return the ratio of two means and the spread of the ratio of two trees, to first order."""
    ratio = one["mean"] / max(other["mean"], 1e-9)
    relative = np.hypot(one["std"] / max(one["mean"], 1e-9), other["std"] / max(other["mean"], 1e-9))
    return {"ratio": ratio, "std": float(ratio * relative)}


def _table(result: dict[str, Any]) -> Table:
    shown = [k for k, count in enumerate(result["counts"]) if k in (0, 1, 2, 4) or count == result["nodes"]]
    counts = [str(result["counts"][k]) for k in shown]
    title = f"share of configurations visited and packed (the paper's measure), {result['seeds']} trees each"
    table = Table(title=title, title_justify="left", caption_justify="left")
    table.add_column(no_wrap=True)
    for header in ("nodes", *counts, "iterations", "reached"):
        table.add_column(header)
    for name, item in result["systems"].items():
        table.add_row(f"[bold]{name}[/]", f"r {item['radius_rad']:.3f} rad")
        for variant, row in item["variants"].items():
            ends = f"{row['iterations']['mean']:.0f}", f"{100 * row['reached']['mean']:.0f} %"
            table.add_row(variant, "visited", *(share_text(row["visited"][k]) for k in shown), *ends)
            table.add_row("", "packed", *(share_text(row["packed"][k]) for k in shown))
        for key in RATIOS:
            ratios, packing = item["ratios"][key], item["packing_ratios"][key]
            table.add_row(f"ratio: {key}", "visited", *(ratio_text(ratios[k]) for k in shown))
            table.add_row("", "packed", *(ratio_text(packing[k]) for k in shown))
    asked = f"%: mean ± standard deviation; asked of the first two ratios of visits: {LEAST_RATIO:g}"
    table.caption = "\n".join([asked, *(f"{key}: {one} / {other}" for key, (one, other) in RATIOS.items())])
    return table
