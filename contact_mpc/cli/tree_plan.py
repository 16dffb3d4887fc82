"""Plans of trees as tasks for ``contact-mpc run``: grown first or read from a file, run from their own start."""

from pathlib import Path

from contact_mpc.errors import ConfigError, PlanError
from contact_mpc.planning.plan_task import (
    HOLD_S,
    TREE,
    is_problem,
    problem_of_plan,
    start_distance,
    write_plan_task,
)
from contact_mpc.settings.resources import resource_names
from contact_mpc.task.plan import Plan, load_plan, save_plan
from contact_mpc.task.task import TaskConfig

TASK_FILE, PLAN_FILE = "task.yaml", "plan.npz"
STARTS_AT = 0.02  # rad, m: a plan that starts further from where its task does is not followed


def is_tree_plan(path: Path) -> bool:
    """Whether a plan file was made by a tree."""
    return load_plan(path).provenance.get("planner") == TREE


def task_of_plan_file(name: str, path: Path | None, folder: Path, hold_s: float | None) -> TaskConfig:
    """Write the task of a tree's plan into the folder of the run and return it.

    Raises
    ------
    PlanError
        The plan is of another system, of another version of its files, or `name` names another system.
    """
    assert path is not None
    plan = load_plan(path)
    problem = problem_of_plan(name, plan)
    load_plan(path, problem.system)
    return write_plan_task(problem, plan, folder.resolve() / TASK_FILE, HOLD_S if hold_s is None else hold_s)


def write_tree_plan(name: str, method: str, seed: int, folder: Path) -> Path:
    """Grow a tree for the problem `name` and write its plan into the folder of the run.

    Raises
    ------
    ConfigError
        An unknown method, or no such problem.
    PlanError
        The tree does not reach the goal.
    """
    from contact_mpc.cli.plan_tree import REASONS, grow

    if method != TREE:
        raise ConfigError(f"--method {method}; allowed: {TREE} (a task is planned as its file says)")
    if not is_problem(name) and not Path(name).is_file():
        raise ConfigError(
            f"--method {TREE}: no planning problem '{name}'; known are {', '.join(resource_names('planning'))}, "
            "or give the path of one"
        )
    found = grow(name, seed)
    if not found.is_valid:
        reason = REASONS[found.status] or f"replayed, {found.replay.failure}"
        raise PlanError(f"{name}: no plan from --plan-seed {seed}: {reason}; try another seed")
    path = folder / PLAN_FILE
    save_plan(path, found.plan)
    return path


def require_start(task: TaskConfig, plan: Plan, path: Path) -> None:
    """Raise PlanError where a plan does not start where the plant of the task will be; the message says how far."""
    distance = start_distance(task, plan)
    if distance > STARTS_AT:
        raise PlanError(
            f"{path}: starts {distance:.3g} rad or m away from the start of '{task.name}' (at most {STARTS_AT:g}); "
            "plan again from there"
        )
