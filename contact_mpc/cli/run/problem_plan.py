"""Plans of problems as tasks for ``contact-mpc run``: made first or read from a file, run from their own start."""

from dataclasses import dataclass
from pathlib import Path

from contact_mpc.errors import ConfigError, PlanError
from contact_mpc.planning.parts import REGRASP, SAMPLED
from contact_mpc.planning.plan_task import (
    OF_PROBLEMS,
    is_problem,
    problem_of_plan,
    write_plan_task,
)
from contact_mpc.planning.tree.problem import load_problem
from contact_mpc.settings.resources import resource_names
from contact_mpc.task.plan import Plan, check_plan, save_plan
from contact_mpc.task.task import TaskConfig

TASK_FILE, PLAN_FILE = "task.yaml", "plan.npz"


@dataclass(frozen=True)
class ProblemRun:
    """What is asked of a run of a problem's plan.

    Attributes
    ----------
    name : str
        A planning problem, or the path of one.
    method : str or None
        "rrt" grows a tree first, "regrasp" plays turns in MuJoCo, "sampled" random motions; None where `stored` holds
        a plan.
    seed : int
        Of the asked.
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


def is_problem_plan(plan: Plan) -> bool:
    """Whether a plan is that of a planning problem, by a tree, by turns or by random motions."""
    return plan.provenance.get("planner") in OF_PROBLEMS


def task_of_problem(asked: ProblemRun, plan: Plan, path: Path, folder: Path) -> TaskConfig:
    """Write the task of a problem's plan, which stands in `path`, into the folder of the run and return it.

    Raises
    ------
    PlanError
        The plan is of another system, of another version of its files, or `name` names another system.
    """
    problem = problem_of_plan(asked.name, plan)
    check_plan(path, plan, problem.system)
    return write_plan_task(problem, plan, folder.resolve() / TASK_FILE, asked.hold_s, path)


def write_problem_plan(asked: ProblemRun, folder: Path) -> tuple[Path, Plan]:
    """Plan a problem and write the plan into the folder of the run; return the file and the plan.

    Raises
    ------
    ConfigError
        An unknown method, or no such problem.
    PlanError
        The plan does not reach the goal.
    """
    from contact_mpc.cli.plan.plan_played import plan_in_physics
    from contact_mpc.cli.plan.plan_tree import REASONS, grow

    if asked.method not in OF_PROBLEMS:
        raise ConfigError(
            f"--method {asked.method}; allowed: {', '.join(OF_PROBLEMS)} (a task is planned as its file says)"
        )
    if not is_problem(asked.name) and not Path(asked.name).is_file():
        known = ", ".join(resource_names("planning"))
        raise ConfigError(
            f"--method {asked.method}: no planning problem '{asked.name}'; known are {known}, or give the path of one"
        )
    path = folder / PLAN_FILE
    if asked.method in (REGRASP, SAMPLED):
        played = plan_in_physics(load_problem(asked.name), asked.method, asked.seed)
        if not played.is_confirmed:
            raise PlanError(f"{asked.name}: no plan by --method {asked.method}: {played.reason}")
        save_plan(path, played.plan)
        return path, played.plan
    found = grow(asked.name, asked.seed)
    if not found.is_valid:
        reason = REASONS[found.status] or f"replayed, {found.replay.failure}"
        raise PlanError(f"{asked.name}: no plan from --plan-seed {asked.seed}: {reason}; try another seed")
    save_plan(path, found.plan)
    return path, found.plan
