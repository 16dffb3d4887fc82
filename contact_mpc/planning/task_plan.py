"""The plan of a task by whatever method its file names."""

from contact_mpc.errors import PlanError
from contact_mpc.model.plan import Plan
from contact_mpc.model.task import TaskConfig
from contact_mpc.planning.trajectory_optimisation import plan_task

CONTACT_IMPLICIT = "contact_implicit"


def make_plan(task: TaskConfig) -> Plan:
    """Return the plan of a task.

    Raises
    ------
    ConfigError
        A parameter of the planner is unknown or out of range.
    PlanError
        There is no plan; the message says why.
    """
    if task.reference is not None:
        from contact_mpc.planning.task_reference import make_reference

        return make_reference(task)
    if task.planner.get("method") != CONTACT_IMPLICIT:
        return plan_task(task).plan
    from contact_mpc.planning.contact_implicit.task import plan_push

    result, plan = plan_push(task)
    if plan is None:
        raise PlanError(f"{task.path}: no plan: {result.status}: {result.message}; change start or goal")
    return plan
