"""``contact-mpc plan TASK``: optimise the reference of a task and write a plan file, or search its start posture."""

import contact_mpc.cli.frame.single_thread  # noqa: F401, I001  before anything that imports numpy

import time
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.markup import escape
from rich.table import Table

from contact_mpc.cli.frame.output import EXIT_GOAL_MISSED, emit, require_writable
from contact_mpc.cli.plan.plan_grasp import GraspOptions, find_grasp, progress_bar
from contact_mpc.cli.plan.plan_grasps import find_more
from contact_mpc.cli.plan.plan_tree import plan_by_tree, read_goals
from contact_mpc.cli.plan.plan_played import plan_by_playing
from contact_mpc.errors import ConfigError
from contact_mpc.planning.parts import REGRASP, SAMPLED
from contact_mpc.planning.tree.problem import load_problem, with_goal
from contact_mpc.task.plan import save_plan
from contact_mpc.settings.resources import resource_names
from contact_mpc.settings.strict_yaml import parse_yaml
from contact_mpc.task.task import TaskConfig, load_task
from contact_mpc.planning.trajopt.feasibility import describe_refusal
from contact_mpc.planning.trajopt.task import TrajoptResult, plan_task

METHODS = ("trajopt", "rrt", REGRASP, SAMPLED)
START_SAMPLES, GRASP_SAMPLES = 1600, 12_000  # postures that a search tries at most


def plan(
    task: Annotated[
        str,
        typer.Argument(help="Name in config/tasks, or for other methods in config/planning, or path of such a YAML."),
    ],
    method: Annotated[
        str | None,
        typer.Option(
            help="trajopt, rrt, regrasp (turns, played in MuJoCo) or sampled (random motions, played in MuJoCo); by "
            "default trajopt where there is such a task, else sampled where the problem's file says how, else rrt."
        ),
    ] = None,
    goal: Annotated[
        list[str] | None,
        typer.Option(help="Goal COORDINATE=NUMBER of an object for problems, e.g. disc_turn_rad=1.57."),
    ] = None,
    nodes: Annotated[int | None, typer.Option(min=1, help="Nodes of each tree at most, for rrt.")] = None,
    report: Annotated[Path | None, typer.Option(help="Folder for the HTML report of rrt.")] = None,
    is_confirmed: Annotated[
        bool, typer.Option("--confirm", help="For rrt: play the plan in MuJoCo, and plan again where it fails there.")
    ] = False,
    axis: Annotated[str, typer.Option(help="Turn about +x, -x, +y, -y, +z or -z instead of the task's axis.")] = "",
    out: Annotated[
        Path | None, typer.Option(help="Plan file to write; TASK.plan.npz by default, TASK.failed.npz where it misses.")
    ] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="Planner parameter KEY=VALUE, e.g. kappa_per_j=1e4; repeatable.")
    ] = None,
    grasp: Annotated[
        bool, typer.Option("--grasp", help="Search a start posture instead and print it as YAML.")
    ] = False,
    samples: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=100000,
            help=f"Postures to try with --grasp, at most; {START_SAMPLES}, with --grasps {GRASP_SAMPLES}.",
        ),
    ] = None,
    spread_deg: Annotated[
        float | None,
        typer.Option(
            min=0.0,
            max=180.0,
            help="With --grasp: half width of the start's random turns, deg; 40 where the task has "
            "no start and its object is no ball, else 0.",
        ),
    ] = None,
    anew: Annotated[
        bool,
        typer.Option("--anew", help="With --grasp: forget the start of the task, place the object by --seed."),
    ] = False,
    grasps: Annotated[
        int,
        typer.Option(min=1, max=100, help="With --grasp: grasps of a task that grips anew, about its start's place."),
    ] = 1,
    write: Annotated[bool, typer.Option("--write", help="With --grasp: put the start into the task file.")] = False,
    seed: Annotated[
        int, typer.Option(min=0, help="Seed of the tree, of random motions, or of the search with --grasp.")
    ] = 0,
    displacement: Annotated[
        float | None, typer.Option(help="Pushes: how far the object goes, m (a door: rad); the task's by default.")
    ] = None,
    direction_deg: Annotated[
        float | None, typer.Option(help="Pushes of a block: direction from the world's x axis; the task's by default.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of the table.")] = False,
) -> None:
    """Plan a task by trajectory optimisation or a problem by a tree, or search the start posture of a task."""
    chosen = _choose_method(task, method)
    if chosen != "trajopt" and (settings or grasp or axis or write):
        raise ConfigError(
            f"--set, --grasp and --axis belong to --method trajopt; parameters of {chosen} are in its YAML"
        )
    if chosen in (REGRASP, SAMPLED):
        if nodes or report or is_confirmed:
            raise ConfigError(f"--nodes, --report and --confirm belong to --method rrt; {chosen} plays what it plans")
        if seed and chosen == REGRASP:
            raise ConfigError(f"--seed belongs to other methods than {REGRASP}, which draws nothing")
        plan_by_playing(with_goal(load_problem(task), read_goals(goal or [])), chosen, seed, out, as_json)
    if chosen == "rrt":
        require_writable(report)
        plan_by_tree(task, goal or [], seed, nodes, out, report, is_confirmed, as_json)
    if goal or nodes or report or is_confirmed:
        raise ConfigError(
            "--goal, --nodes, --report and --confirm belong to --method rrt; the goal of a task is in its YAML"
        )
    config = load_task(task).about(axis)
    if write and not grasp:
        raise ConfigError("--write belongs to --grasp: it puts the start that was found into the task file")
    if anew and not grasp:
        raise ConfigError("--anew belongs to --grasp: it searches as if the task had no start")
    if grasps > 1 and (not grasp or anew or spread_deg is not None):
        raise ConfigError("--grasps belongs to --grasp, without --anew and --spread-deg: it begins at the task's start")
    if grasps > 1:
        find_more(config, grasps, GraspOptions(samples or GRASP_SAMPLES, spread_deg, seed, write), as_json)
    if grasp:
        find_grasp(config, GraspOptions(samples or START_SAMPLES, spread_deg, seed, write, anew), as_json)
    if config.planner.get("method") == "contact_implicit":
        from contact_mpc.cli.plan.plan_push import plan_contact_implicit  # casadi, for such tasks alone

        plan_contact_implicit(config, out, _read_settings(settings or []), displacement, direction_deg, as_json)
    if displacement is not None or direction_deg is not None:
        raise ConfigError(f"task '{config.name}' is no push: --displacement and --direction-deg have no meaning for it")
    started = time.perf_counter()
    with progress_bar("optimising", "iterations", "cost") as show:
        result = plan_task(config, _read_settings(settings or []), show)
    goal_met = result.angle_error_deg <= config.tolerance_deg and result.position_error_mm <= config.tolerance_mm
    figures = _figures(config, result, time.perf_counter() - started)
    goal_met &= not figures["refused"]
    path = out or Path(f"{config.name}.{'plan' if goal_met else 'failed'}.npz")
    save_plan(path, result.plan)
    emit({"task": config.name, "plan": path, **figures, "goal_met": goal_met}, as_json, _table(config, path, figures))
    raise typer.Exit(0 if goal_met else EXIT_GOAL_MISSED)


def _choose_method(name: str, method: str | None) -> str:
    if method not in (None, *METHODS):
        raise ConfigError(f"--method {method}; allowed: {', '.join(METHODS)}")
    is_problem = name in resource_names("planning") and name not in resource_names("tasks")
    if method is not None or not is_problem:
        return method or "trajopt"
    return SAMPLED if load_problem(name).file.sampled is not None else "rrt"


def _read_settings(settings: list[str]) -> dict[str, Any]:
    values = {}
    for item in settings:
        key, equals, text = item.partition("=")
        if not equals:
            raise ConfigError(f"--set {item}: expected KEY=VALUE, e.g. --set kappa_per_j=1e4")
        value = parse_yaml(text, f"--set {item}")
        values[key] = float(value) if isinstance(value, str) and _is_number(value) else value
    return values


def _is_number(text: str) -> bool:
    """YAML 1.1 reads 1e4 as text."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def _figures(config: TaskConfig, result: TrajoptResult, elapsed_s: float) -> dict[str, Any]:
    forces = np.linalg.norm(result.plan.contact_impulses[1:], axis=2) / np.diff(result.plan.times_s)[:, None]
    q_a = result.plan.q[:, config.system.n_q_u :]
    room = np.minimum(q_a - config.system.q_min, config.system.q_max - q_a).min()
    return {
        "angle_error_deg": result.angle_error_deg,
        "position_error_mm": result.position_error_mm,
        "cost": float(np.min(result.costs)),
        "iterations": len(result.costs),
        "elapsed_s": elapsed_s,
        "largest_contact_force_n": float(forces.max()),
        "joint_limit_room_rad": float(room),
        "duration_s": float(result.plan.times_s[-1]),
        "refused": describe_refusal(config, result),
    }


def _table(config: TaskConfig, path: Path, figures: dict[str, Any]) -> Table:
    table = Table("", "value", "limit", title=f"plan of {config.name}", title_justify="left", title_style="bold")
    table.add_row("angle error, model", f"{figures['angle_error_deg']:.2f} deg", f"{config.tolerance_deg:g} deg")
    table.add_row("position error, model", f"{figures['position_error_mm']:.2f} mm", f"{config.tolerance_mm:g} mm")
    table.add_row("cost", f"{figures['cost']:.4g} after {figures['iterations']} iterations", "")
    table.add_row("largest contact force", f"{figures['largest_contact_force_n']:.2f} N", "")
    table.add_row("room to joint limits", f"{figures['joint_limit_room_rad']:.3f} rad", "> 0 rad")
    table.add_row("elapsed", f"{figures['elapsed_s']:.2f} s", "")
    table.add_row("plan file", escape(str(path)), "")
    if figures["refused"]:
        table.add_row("refused by run and evaluate", f"[red]{escape(figures['refused'])}[/]", "")
    return table
