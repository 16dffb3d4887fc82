"""What plans the parts of a tree's plan: corrected by MuJoCo roll-outs, and planned anew where one misses."""

from contact_mpc.errors import ConfigError
from contact_mpc.loop.confirmation import MujocoConfirmation
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
        problem = load_problem(name)
        return make_parts(problem, MujocoConfirmation(problem.system))
    task = load_task(name)
    if not task.has_open_end:
        raise ConfigError(
            f"{task.path}: controller reorient_rollouts needs the plan of a tree; `run --method rrt` makes it"
        )
    plan = make_reference(task)
    problem = problem_of_plan(str(task.planner["problem"]), plan)
    return StoredParts(make_parts(problem, MujocoConfirmation(problem.system)), plan)


class StoredParts:
    """The parts of one stored plan: a reference that came over topics does not tell when fingers are free."""

    def __init__(self, parts: SegmentPlanner, plan: Plan) -> None:
        self._parts, self._plan = parts, plan

    def begin(self, _plan: Plan) -> None:
        """Follow the stored plan from its start."""
        self._parts.begin(self._plan)

    def next_segment(self, q: FloatArray, u: FloatArray) -> Segment | None:
        """See `SegmentPlanner`."""
        return self._parts.next_segment(q, u)
