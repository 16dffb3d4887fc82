"""Start postures of a task: the search for one that serves all its turns, and one that is merely drawn."""

from dataclasses import replace

from contact_mpc.errors import PlanError
from contact_mpc.optimisation.trajectory import TrajoptConfig
from contact_mpc.planning.grasp.search import GraspSearch, Hold
from contact_mpc.planning.trajopt.task import object_path
from contact_mpc.task.task import TaskConfig

INSTANTS = 8
TURN_FACTOR = 1.1  # of the turns that a start must serve, so that it has some to spare
MOST_DRAWS = 1000


def make_search(task: TaskConfig, seed: int, spread_rad: float = 0.0, hold: Hold | None = None) -> GraspSearch:
    """Return the search about the start of a task for postures that serve its turns, and that `hold` holds."""
    turns = [_further(task.about(axis)) for axis in task.axes or ("",)]
    return GraspSearch(
        task.system, task.start_q,
        lambda q: [object_path(turn, q, INSTANTS)[:, : task.system.n_q_u] for turn in turns],
        seed, minimum_force_n=float(task.planner.get("minimum_force_n", 1.0)),
        friction=_cone_friction(task), spread_rad=spread_rad, hold=hold,
    )  # fmt: skip


def draw_start(task: TaskConfig, seed: int) -> TaskConfig:
    """Return the task from the first posture drawn that balances the object: what a start is without a search.

    Raises
    ------
    PlanError
        None of `MOST_DRAWS` postures balances it.
    """
    search = make_search(task, seed)
    for _ in range(MOST_DRAWS):
        candidate = search.sample()
        if candidate is not None:
            return replace(task, start_q=candidate.q, start_u=candidate.grasp.u, has_start=True)
    raise PlanError(f"{task.path}: none of {MOST_DRAWS} postures (seed {seed}) balances the object; move its start")


def _cone_friction(task: TaskConfig) -> float:
    """Return the friction of the cones that a plan of the task will roll in."""
    config = TrajoptConfig()
    given = task.planner.get("grasp_friction") or task.planner.get("friction", config.friction)
    return float(given)


def _further(task: TaskConfig) -> TaskConfig:
    return replace(task, goal=replace(task.goal, angle_deg=TURN_FACTOR * task.goal.angle_deg))
