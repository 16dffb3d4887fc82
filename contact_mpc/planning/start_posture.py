"""Start postures of a task: the search for one that serves all its turns, and one that is merely drawn."""

from dataclasses import replace

from contact_mpc.errors import PlanError
from contact_mpc.optimisation.trajectory import TrajoptConfig
from contact_mpc.planning.grasp.grasp_config import GraspSearchConfig
from contact_mpc.planning.grasp.search import GraspSearch, Hold
from contact_mpc.planning.trajopt.task import object_path
from contact_mpc.task.task import TaskConfig


def make_search(
    task: TaskConfig,
    seed: int | tuple[int, ...],
    spread_rad: float = 0.0,
    hold: Hold | None = None,
    config: GraspSearchConfig | None = None,
) -> GraspSearch:
    """Return the search about the start of a task for postures that serve its turns, and that `hold` holds."""
    config = config or GraspSearchConfig()
    turns = [_further(task.about(axis), config.turn_share) for axis in task.axes or ("",)]
    return GraspSearch(
        task.system, task.start_q,
        lambda q: [object_path(turn, q, config.instants)[:, : task.system.n_q_u] for turn in turns],
        seed, minimum_force_n=float(task.planner.get("minimum_force_n", 1.0)),
        friction=_cone_friction(task), spread_rad=spread_rad, hold=hold, config=config,
    )  # fmt: skip


def draw_start(task: TaskConfig, seed: int, config: GraspSearchConfig | None = None) -> TaskConfig:
    """Return the task from the first posture drawn that balances the object: what a start is without a search.

    Raises
    ------
    PlanError
        None of `most_draws` postures balances it.
    """
    search = make_search(task, seed, config=config)
    for _ in range(search.config.most_draws):
        candidate = search.sample()
        if candidate is not None:
            return replace(task, start_q=candidate.q, start_u=candidate.grasp.u, has_start=True)
    draws = search.config.most_draws
    raise PlanError(f"{task.path}: none of {draws} postures (seed {seed}) balances the object; move its start")


def _cone_friction(task: TaskConfig) -> float:
    """Return the friction of the cones that a plan of the task will roll in."""
    config = TrajoptConfig()
    given = task.planner.get("grasp_friction") or task.planner.get("friction", config.friction)
    return float(given)


def _further(task: TaskConfig, share: float) -> TaskConfig:
    return replace(task, goal=replace(task.goal, angle_deg=share * task.goal.angle_deg))
