"""Plans of trees as tasks for ``contact-mpc run``: grown first or read from a file, run from their own start."""

from dataclasses import dataclass
from pathlib import Path

from contact_mpc.errors import ConfigError, PlanError
from contact_mpc.planning.plan_task import (
    TREE,
    is_problem,
    problem_of_plan,
    write_plan_task,
)
from contact_mpc.settings.resources import resource_names
from contact_mpc.task.plan import Plan, check_plan, save_plan
from contact_mpc.task.task import TaskConfig

TASK_FILE, PLAN_FILE = "task.yaml", "plan.npz"


@dataclass(frozen=True)
class TreeRun:
    """What is asked of a run of a tree's plan.

    Attributes
    ----------
    name : str
        A planning problem, or the path of one.
    method : str or None
        "rrt" grows a tree first; None where `stored` holds a plan.
    seed : int
        Of the tree.
    hold_s : float or None
        Time to hold at the goal; None: `parts.hold_s` of the problem.
    stored : (Path, Plan) or None
        A plan with its file.
    """

    name: str
    method: str | None
    seed: int
    hold_s: float | None
    stored: tuple[Path, Plan] | None


def is_tree_plan(plan: Plan) -> bool:
    """Whether a plan was made by a tree."""
    return plan.provenance.get("planner") == TREE


def task_of_tree(tree: TreeRun, plan: Plan, path: Path, folder: Path) -> TaskConfig:
    """Write the task of a tree's plan, which stands in `path`, into the folder of the run and return it.

    Raises
    ------
    PlanError
        The plan is of another system, of another version of its files, or `name` names another system.
    """
    problem = problem_of_plan(tree.name, plan)
    check_plan(path, plan, problem.system)
    return write_plan_task(problem, plan, folder.resolve() / TASK_FILE, tree.hold_s)


def write_tree_plan(tree: TreeRun, folder: Path) -> tuple[Path, Plan]:
    """Grow a tree for a problem and write its plan into the folder of the run; returns the file and the plan.

    Raises
    ------
    ConfigError
        An unknown method, or no such problem.
    PlanError
        The tree does not reach the goal.
    """
    from contact_mpc.cli.plan.plan_tree import REASONS, grow

    if tree.method != TREE:
        raise ConfigError(f"--method {tree.method}; allowed: {TREE} (a task is planned as its file says)")
    if not is_problem(tree.name) and not Path(tree.name).is_file():
        raise ConfigError(
            f"--method {TREE}: no planning problem '{tree.name}'; known are {', '.join(resource_names('planning'))}, "
            "or give the path of one"
        )
    found = grow(tree.name, tree.seed)
    if not found.is_valid:
        reason = REASONS[found.status] or f"replayed, {found.replay.failure}"
        raise PlanError(f"{tree.name}: no plan from --plan-seed {tree.seed}: {reason}; try another seed")
    path = folder / PLAN_FILE
    save_plan(path, found.plan)
    return path, found.plan
