"""The plan of a task by whatever method its file names."""

from typing import TYPE_CHECKING

from contact_mpc.errors import ConfigError, PlanError
from contact_mpc.task.plan import Plan
from contact_mpc.task.task import TaskConfig, load_task

if TYPE_CHECKING:
    from contact_mpc.planning.push.replan.replanner import PushReplanner
    from contact_mpc.planning.reorient.segments import ReorientationPlanner

CONTACT_IMPLICIT, REGRASP = "contact_implicit", "regrasp"


def is_push(task: TaskConfig) -> bool:
    """Whether a task's plan is a push, found by contact-implicit optimisation."""
    return bool(task.planner.get("method") == CONTACT_IMPLICIT)


def make_plan(task: TaskConfig, must_hold: bool = True) -> Plan:
    """Return the plan of a task.

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
    if task.reference is not None:
        from contact_mpc.planning.reference import make_reference

        return make_reference(task)
    if task.planner.get("method") == REGRASP:
        from contact_mpc.planning.reorient.segments import make_goal_plan

        return make_goal_plan(task)
    if not is_push(task):
        return _optimise(task, must_hold)
    from contact_mpc.planning.push.task import plan_push

    result, plan = plan_push(task)
    if plan is None:
        raise PlanError(f"{task.path}: no plan: {result.status}: {result.message}; change start or goal")
    return plan


def _optimise(task: TaskConfig, must_hold: bool) -> Plan:
    """Return the optimised plan of a task; with must_hold, start and goal must be held where fingers shall roll."""
    from contact_mpc.planning.trajopt.feasibility import require_goal, require_grasp
    from contact_mpc.planning.trajopt.task import plan_task, read_config

    config = read_config(task)
    is_checked = must_hold and config.initialisation == "rolling"
    if is_checked:
        require_grasp(task, config.minimum_force_n, config.friction)
    result = plan_task(task)
    if is_checked:
        require_goal(task, result)
    return result.plan


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
    try:
        from contact_mpc.planning.push.replan.replanner import PushReplanner
        from contact_mpc.planning.push.task import read_settings
    except ImportError as error:
        if error.name != "casadi":
            raise
        raise ConfigError("receding_horizon needs casadi: pip install 'contact_mpc[contact-implicit]'") from error
    return PushReplanner(task.system, read_settings(task), delay_s)


def make_segment_planner(name: str) -> "ReorientationPlanner":
    """Return what plans the turns and new grasps of a task, of which `name` is the name or the path of its file.

    Raises
    ------
    ConfigError
        The task does not say so, or a parameter is unknown or out of range.
    """
    from contact_mpc.planning.reorient.segments import build_planner

    task = load_task(name)
    if task.planner.get("method") != REGRASP:
        raise ConfigError(f"{task.path}: mode reorient needs planner.method: {REGRASP}")
    return build_planner(task)
