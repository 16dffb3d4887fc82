"""What plans a task: the face of every planner, and those of the package behind it."""

from dataclasses import dataclass
from typing import Protocol

from contact_mpc.errors import PlanError
from contact_mpc.task.plan import Plan
from contact_mpc.task.task import TaskConfig


class Planner(Protocol):
    """What plans a task; the same task gives the same plan, bit for bit."""

    def plan(self, task: TaskConfig) -> Plan:
        """Return a plan that begins at the task's start_q (n_q,) and start_u (n_a,), within its duration.

        Raises
        ------
        ConfigError
            A parameter of task.planner is unknown or out of range.
        PlanError
            There is no plan; the message says why.
        """


@dataclass(frozen=True)
class TrajoptPlanner:
    """Trajectory optimisation; with must_hold start and goal must be held where fingers shall roll."""

    must_hold: bool = True

    def plan(self, task: TaskConfig) -> Plan:
        """See `Planner.plan`."""
        from contact_mpc.planning.trajopt.feasibility import require_goal, require_grasp
        from contact_mpc.planning.trajopt.task import plan_task, read_config

        config = read_config(task)
        is_checked = self.must_hold and config.initialisation == "rolling"
        if is_checked:
            require_grasp(task, config.minimum_force_n, config.friction)
        result = plan_task(task)
        if is_checked:
            require_goal(task, result)
        return result.plan


@dataclass(frozen=True)
class PushPlanner:
    """Pushes by contact-implicit optimisation."""

    must_hold: bool = True

    def plan(self, task: TaskConfig) -> Plan:
        """See `Planner.plan`."""
        from contact_mpc.planning.push.task import plan_push

        result, plan = plan_push(task)
        if plan is None:
            raise PlanError(f"{task.path}: no plan: {result.status}: {result.message}; change start or goal")
        return plan


@dataclass(frozen=True)
class ReorientPlanner:
    """Turns and regrasps: the plan says where to go, the controller `reorient` plans the segments."""

    must_hold: bool = True

    def plan(self, task: TaskConfig) -> Plan:
        """See `Planner.plan`."""
        from contact_mpc.planning.reorient.segments import make_goal_plan

        return make_goal_plan(task)


@dataclass(frozen=True)
class ReferencePlanner:
    """What a task's section `reference` names: a stored plan, or a tree from a seed."""

    must_hold: bool = True

    def plan(self, task: TaskConfig) -> Plan:
        """See `Planner.plan`."""
        from contact_mpc.planning.reference import make_reference

        return make_reference(task)
