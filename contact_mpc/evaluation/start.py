"""A start for a task: the search for postures, played in physics, and planned from.

The plants of the search are drawn as the trials of an evaluation are, from seeds of their own.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from contact_mpc.errors import PlanError
from contact_mpc.evaluation.trials import disturbance_of, draw_trial
from contact_mpc.planning.grasp.search import GraspCandidate, GraspSearch, search_grasp
from contact_mpc.planning.start_posture import make_search
from contact_mpc.planning.trajopt.feasibility import describe_refusal
from contact_mpc.planning.trajopt.task import plan_task
from contact_mpc.plants.common.sensors import SensorConfig
from contact_mpc.settings.extras import require_packages
from contact_mpc.task.derived import derive_planner, least_force
from contact_mpc.task.task import TaskConfig

PLANTS = 12
FIRST_SEED = 4_000_000_000  # of the plants; seeds of trials are drawn, so that they meet these by chance alone
SPREAD_DEG = 40.0  # of objects that are no balls, where the task has no start
LEAST_HELD = 0.75  # share of the plants in which a start holds the object


@dataclass(frozen=True)
class FoundStart:
    """The search, its best candidate (None: nothing holds the object), and why it is not good enough, "" if it is.

    grip_n is the least force per contact that it was found with, N, where that is not the task's.
    """

    search: GraspSearch
    refused: str
    is_interrupted: bool = False
    grip_n: float | None = None

    @property
    def best(self) -> GraspCandidate | None:
        """The best posture so far."""
        return self.search.best


def turns_to_try_deg(task: TaskConfig) -> float:
    """Return the half width of the turns of a start that are worth trying: 0 for balls, and about a start given."""
    shapes = [item.shape.kind for item in task.system.geometries if item.owner in task.system.object_names]
    return 0.0 if task.has_start or shapes == ["sphere"] else SPREAD_DEG


def find_start(
    task: TaskConfig,
    samples: int,
    seed: int = 0,
    spread_rad: float = 0.0,
    progress: Callable[[int, float], None] | None = None,
) -> FoundStart:
    """Search a start about that of a task; Ctrl-C ends the search with the best so far.

    A strong hand's derived grip leaves less of the joints' efforts for the turn. Where nothing serves the task with it,
    the search begins anew with the grip of weak hands.

    Parameters
    ----------
    task : TaskConfig
        The task; every one of its turns must be served.
    samples, seed
        Postures to try, and what draws them.
    spread_rad : float
        Half width of the start's random turns, rad.
    progress : callable, optional
        Told count and best score after each posture.

    Raises
    ------
    ConfigError
        MuJoCo, in which starts are held, is not installed.
    """
    require_packages("the search of a start, which holds it in physics,", "mujoco")
    found = find_with_grip(task, samples, seed, spread_rad, progress)
    grip_n = gentler_grip(task)
    if not found.refused or found.is_interrupted or grip_n is None:
        return found
    gentle = replace(task, planner={**task.planner, "minimum_force_n": grip_n})
    other = find_with_grip(gentle, samples, seed, spread_rad, progress)
    if found.best is not None and other.refused:
        return replace(found, is_interrupted=other.is_interrupted)
    return replace(other, grip_n=grip_n)


def gentler_grip(task: TaskConfig) -> float | None:
    """Return the grip of weak hands, N, where a task's own is the derived one of a strong hand; None elsewhere."""
    derived = derive_planner(task.system, task.planner).get("minimum_force_n")
    gentle = least_force(task.system, is_gentle=True)
    return gentle if derived is not None and task.planner.get("minimum_force_n") == derived > gentle else None


def find_with_grip(
    task: TaskConfig, samples: int, seed: int, spread_rad: float, progress: Callable[[int, float], None] | None
) -> FoundStart:
    """Search with the task's own grip; see `find_start`."""
    from contact_mpc.loop.start_holding import StartHolding

    ranges, nominal = disturbance_of(task), SensorConfig()
    plants = [draw_trial(FIRST_SEED + k, ranges, nominal).perturbation for k in range(PLANTS)]
    search = make_search(task, seed, spread_rad, StartHolding(task.system, plants).share)
    is_interrupted = False
    try:
        search_grasp(search, samples, progress)
    except KeyboardInterrupt:
        is_interrupted = True
    refused = "no posture holds the object" if search.best is None else describe_start(task, search.best)
    return FoundStart(search, refused, is_interrupted)


def describe_start(task: TaskConfig, start: GraspCandidate) -> str:
    """Return why a start is not good enough: it lets the object go, or a turn cannot be planned; "" where it is."""
    if start.fraction < 1.0:
        return f"fingers roll along {100 * start.fraction:.0f} % of the way of the turns alone"
    if start.held < LEAST_HELD:
        return (
            f"fingers that roll from the start keep the object in {100 * start.held:.0f} % of {PLANTS} plants (asked "
            f"for: {100 * LEAST_HELD:.0f} %): friction, size, mass and place of the object as an evaluation draws them"
        )
    for axis in task.axes or ("",):
        turn = replace(task.about(axis), start_q=start.q, start_u=start.grasp.u, has_start=True)
        try:
            refused = describe_refusal(turn, plan_task(turn))
        except PlanError as error:
            refused = str(error)
        if refused:
            return refused
    return ""
