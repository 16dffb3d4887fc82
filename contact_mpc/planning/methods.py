"""The planners by name; adding one is a file and a line of `PLANNERS`. A task's file says which is its own."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from contact_mpc.errors import ConfigError
from contact_mpc.planning.planner import Planner
from contact_mpc.settings.extras import require_packages
from contact_mpc.settings.registry import Entry, Registry
from contact_mpc.settings.yaml_files import read_yaml
from contact_mpc.task.plan import Plan
from contact_mpc.task.task import TaskConfig, load_task

if TYPE_CHECKING:
    from contact_mpc.planning.push.replan.replanner import PushReplanner
    from contact_mpc.task.segment import SegmentPlanner

CONTACT_IMPLICIT, REGRASP = "contact_implicit", "regrasp"
HERE = "contact_mpc.planning.planner"
PLANNERS: Registry[Callable[[bool], Planner]] = Registry(
    "planner",
    {
        "trajopt": Entry(f"{HERE}:TrajoptPlanner", "trajectory optimisation with the grasp of the start"),
        CONTACT_IMPLICIT: Entry(
            f"{HERE}:PushPlanner", "pushes by contact-implicit optimisation", "casadi", "contact-implicit"
        ),
        REGRASP: Entry(f"{HERE}:ReorientPlanner", "turns and regrasps, segment by segment"),
        "tree": Entry(f"{HERE}:ReferencePlanner", "a tree through contact, grown from a seed"),
        "stored": Entry(f"{HERE}:ReferencePlanner", "a plan file"),
    },
)


def is_push(task: TaskConfig) -> bool:
    """Whether a task's plan is a push, found by contact-implicit optimisation."""
    return bool(task.planner.get("method") == CONTACT_IMPLICIT)


def grips_anew(task: TaskConfig) -> bool:
    """Whether a task's way is cut into turns of one grasp after the other."""
    return planner_of(task) == REGRASP


def make_plan(task: TaskConfig, must_hold: bool = True) -> Plan:
    """Return the plan of a task by the planner that its file names, see `planner_of`.

    Parameters
    ----------
    task : TaskConfig
        The task.
    must_hold : bool
        Refuse a start or goal that cannot be held, where fingers roll.

    Raises
    ------
    ConfigError
        A parameter of the planner is unknown or out of range.
    PlanError
        There is no plan, or start or goal cannot be held; the message says why, and which margin fails.
    """
    return PLANNERS.load(planner_of(task))(must_hold).plan(task)


def planner_of(task: TaskConfig) -> str:
    """Return the name of a task's planner: as planner.method says, else by its reference, else by optimisation.

    Raises
    ------
    ConfigError
        It is unknown.
    """
    if task.reference is not None:
        return "stored" if task.reference.plan_file is not None else "tree"
    return PLANNERS.check(str(task.planner.get("method", "trajopt")))


def make_replanner(name: str, delay_s: float) -> "PushReplanner":
    """Return what plans a task's push again while it runs.

    Parameters
    ----------
    name : str
        Name of the task, or the path of its file.
    delay_s : float
        A new plan takes effect at least so long after the state that it was solved from.

    Raises
    ------
    ConfigError
        The task is no push, or casadi is missing.
    """
    task = load_task(name)
    if not is_push(task):
        raise ConfigError(f"{task.path}: no push; mode receding_horizon needs planner.method: {CONTACT_IMPLICIT}")
    require_packages("receding_horizon", "casadi")
    from contact_mpc.planning.push.replan.replanner import PushReplanner
    from contact_mpc.planning.push.task import read_settings

    return PushReplanner(task.system, read_settings(task), delay_s)


def make_segment_planner(task: str | TaskConfig) -> "SegmentPlanner":
    """Return what plans the parts of a long way.

    Parameters
    ----------
    task : str or TaskConfig
        A task with turns and new grasps, or a planning problem with its trees or turns: itself, its name, or the path
        of its file.

    Raises
    ------
    ConfigError
        The file is neither, or a parameter is unknown or out of range.
    """
    name = task if isinstance(task, str) else str(task.path)
    if is_problem(name):
        from contact_mpc.planning.parts import make_parts
        from contact_mpc.planning.tree.problem import load_problem

        return make_parts(load_problem(name))
    from contact_mpc.planning.reorient.segments import build_planner

    found = load_task(task) if isinstance(task, str) else task
    if not grips_anew(found):
        raise ConfigError(f"{found.path}: mode reorient needs planner.method: {REGRASP}")
    return build_planner(found)


def is_problem(name: str) -> bool:
    """Whether `name` is the path of a planning problem: a YAML file that says how trees grow."""
    path = Path(name)
    return path.is_file() and isinstance(content := read_yaml(path), dict) and "rrt" in content
