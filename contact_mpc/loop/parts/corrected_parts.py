"""What plans the parts of a tree's plan: corrected by MuJoCo roll-outs, and planned anew where one misses."""

from dataclasses import replace

from contact_mpc.control.bridge.config import BridgeConfig
from contact_mpc.control.bridge.guard.limits import GuardLimits
from contact_mpc.errors import ConfigError
from contact_mpc.loop.parts.confirmation import SPEED_SHARE, roll_outs, slowed
from contact_mpc.model.system import System
from contact_mpc.planning.methods import is_problem
from contact_mpc.planning.parts import make_parts
from contact_mpc.planning.plan_task import problem_of_plan
from contact_mpc.planning.reference import make_reference
from contact_mpc.planning.tree.problem import load_problem
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.task.plan import Plan
from contact_mpc.task.segment import Segment, SegmentPlanner
from contact_mpc.task.task import load_task


def load_parts(name: str) -> SegmentPlanner:
    """Return what plans the parts of a planning problem, or of the plan of one that a task file names.

    Roll-outs know the limits of a bridge with the default parameters.

    Parameters
    ----------
    name : str
        Path of the problem, or of a task as `contact_mpc.planning.plan_task.write_plan_task` writes it.

    Raises
    ------
    ConfigError
        The file is neither, or wrong.
    PlanError
        The plan is of another system or version.
    """
    if is_problem(name):
        problem, plan = load_problem(name), None
    else:
        task = load_task(name)
        if not task.has_open_end:
            raise ConfigError(
                f"{task.path}: controller reorient_rollouts needs the plan of a tree; `run --method rrt` makes it"
            )
        plan = make_reference(task)
        problem = problem_of_plan(str(task.planner["problem"]), plan)
    limits = GuardLimits.from_config(problem.system, BridgeConfig.model_validate({"gravity_compensation": "bridge"}))
    parts = make_parts(problem, roll_outs(problem, limits), is_tracked=False)
    return CorrectedParts(problem.system, parts, plan)


class CorrectedParts:
    """Parts that are played as they were corrected, within the joints' speed limits.

    Parameters
    ----------
    system, parts
        What moves, and what plans.
    plan : Plan, optional
        The plan to follow, for a reference that came over topics does not tell when fingers are free; that reference by
        default.
    """

    def __init__(self, system: System, parts: SegmentPlanner, plan: Plan | None) -> None:
        self._system, self._parts, self._plan = system, parts, plan

    def begin(self, plan: Plan) -> None:
        """Follow the plan from its start."""
        self._parts.begin(plan if self._plan is None else self._plan)

    def next_segment(self, q: FloatArray, u: FloatArray) -> Segment | None:
        """See `SegmentPlanner`."""
        segment = self._parts.next_segment(q, u)
        if segment is None or segment.plan is None or segment.is_tracked:
            return segment
        return replace(segment, plan=slowed(segment.plan, SPEED_SHARE * self._system.v_max))
