"""A start for a task: the search for postures, held in physics, planned from, and turned from in closed loop.

The plants of the search are drawn as the trials of an evaluation are, from seeds of their own, the first as there, each
one after it disturbed more: a start that merely serves the usual ones may be about to slip, and all good starts would
look alike. A start that too few plants keep, or from which too few turns in closed loop meet their goals, is followed
by another search; the best of `SEARCHES` is what was found. Turns alone do not tell: of eleven starts of a hand with
three fingers, eight that 19 of 20 plants kept met 18 to 20 of 20 in Drake, the others 15 to 18 (MuJoCo: 5 to 8 of 8).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from contact_mpc.errors import PlanError
from contact_mpc.evaluation.starts.start_turns import is_as_evaluated, share_of_turns
from contact_mpc.evaluation.trial_run import Case
from contact_mpc.evaluation.trials import Disturbance, disturbance_of, draw_trial
from contact_mpc.planning.free_goal import settle_goal
from contact_mpc.planning.grasp.candidate import GraspCandidate
from contact_mpc.planning.grasp.search import GraspSearch, search_grasp
from contact_mpc.planning.methods import make_plan
from contact_mpc.planning.start_posture import at_start, make_search
from contact_mpc.plants.common.perturbation import PlantPerturbation
from contact_mpc.plants.common.sensors import SensorConfig
from contact_mpc.settings.extras import require_packages
from contact_mpc.task.derived import derive_planner, least_force
from contact_mpc.task.task import TaskConfig

PLANTS = 24
MOST_SCALE, LEAST_FRICTION_SHARE = 3.0, 0.7  # of an evaluation's disturbances and friction, in the last of the plants
FIRST_SEED = 4_000_000_000  # of the plants; seeds of trials are drawn, so that they meet these by chance alone
SPREAD_DEG = 40.0  # of objects that are no balls, where the task has no start
LEAST_HELD = 0.3  # share of the plants in which a start holds the object: those disturbed less than by MOST_SCALE / 2
LEAST_MET, ENOUGH_MET = 0.3, 0.75  # share of the turns in closed loop that meet their goals, of a start that counts
ENOUGH_HELD = 0.9  # share of the plants that keep the object, of a start that no other search follows
LEAST_TURNED = 0.7  # share of the angle of a free turn that its plan brings
SEARCHES, GENTLE_SEARCHES = (
    4,
    2,
)  # from other seeds, until enough plants keep the object and enough turns meet their goals


@dataclass(frozen=True)
class FoundStart:
    """The search, its best candidate (None: nothing holds the object), and why it is not good enough, "" if it is.

    met is the share of the turns in closed loop that met their goals, NaN where none was played; grip_n the least force
    per contact that it was found with, N, where that is not the task's.
    """

    search: GraspSearch
    refused: str
    is_interrupted: bool = False
    met: float = np.nan
    grip_n: float | None = None

    @property
    def best(self) -> GraspCandidate | None:
        """The best posture so far."""
        return self.search.best

    @property
    def held(self) -> float:
        """The share of the plants that keep the object, 0 where there is no posture."""
        return 0.0 if self.best is None else self.best.held

    @property
    def is_enough(self) -> bool:
        """Whether no other search is worth its time."""
        return self.met >= ENOUGH_MET and self.held >= ENOUGH_HELD

    @property
    def is_hopeless(self) -> bool:
        """Whether a start is refused whose fingers have too few joints for a turn about a given axis."""
        best = self.best
        return bool(self.refused) and best is not None and best.goal is None and not self.search.leaves_choice(best)


Place = Callable[[TaskConfig, tuple[int, ...]], TaskConfig]
Search = Callable[[TaskConfig, tuple[int, ...]], FoundStart]


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
    place: Place | None = None,
) -> FoundStart:
    """Search a start about that of a task; Ctrl-C ends the search with the best so far.

    A strong hand's derived grip leaves less of the joints' efforts for the turn. Where nothing serves the task with it,
    the search begins anew with the grip of weak hands.

    Parameters
    ----------
    task : TaskConfig
        The task; every one of its turns must be served.
    samples, seed
        Postures to try in one search, and what draws them.
    spread_rad : float
        Half width of the start's random turns, rad.
    progress : callable, optional
        Told count and best score after each posture of a search.
    place : callable, optional
        Given the task and the seed of a search, the task with its object where that search begins.

    Raises
    ------
    ConfigError
        MuJoCo, in which starts are held, is not installed.
    """
    require_packages("the search of a start, which holds it in physics,", "mujoco")

    def search(of: TaskConfig, key: tuple[int, ...]) -> FoundStart:
        return search_once(of if place is None else place(of, key), samples, key, spread_rad, progress)

    found = find_with_grip(task, seed, search)
    grip_n = gentler_grip(task)
    if not found.refused or found.is_interrupted or found.is_hopeless or grip_n is None:
        return found
    gentle = replace(task, planner={**task.planner, "minimum_force_n": grip_n})
    other = find_with_grip(gentle, seed, search, GENTLE_SEARCHES)
    if found.best is not None and other.refused:
        return replace(found, is_interrupted=other.is_interrupted)
    return replace(other, grip_n=grip_n)


def gentler_grip(task: TaskConfig) -> float | None:
    """Return the grip of weak hands, N, where a task's own is the derived one of a strong hand; None elsewhere."""
    derived = derive_planner(task.system, task.planner).get("minimum_force_n")
    gentle = least_force(task.system, is_gentle=True)
    return gentle if derived is not None and task.planner.get("minimum_force_n") == derived > gentle else None


def find_with_grip(task: TaskConfig, seed: int, search: Search, searches: int = SEARCHES) -> FoundStart:
    """Search with the task's own grip until a start is good enough; see `find_start`."""
    best = search(task, (seed,))
    for count in range(1, searches):
        if best.is_interrupted or best.is_enough or best.is_hopeless:
            break
        found = search(task, (seed, count))
        best = replace(max(best, found, key=_worth), is_interrupted=found.is_interrupted)
    return best


def _worth(found: FoundStart) -> tuple[bool, float, float]:
    """Return what makes one search better than another: that it counts, its turns and plants, its posture."""
    score = -np.inf if found.best is None else found.best.score
    return not found.refused, -1.0 if np.isnan(found.met) else found.met * found.held, score


def search_once(
    task: TaskConfig,
    samples: int,
    seed: tuple[int, ...],
    spread_rad: float,
    progress: Callable[[int, float], None] | None,
) -> FoundStart:
    """Search, plan every turn from what was found, and play them in closed loop."""
    from contact_mpc.loop.start_holding import StartHolding

    search = make_search(task, seed, spread_rad, StartHolding(task.system, draw_plants(disturbance_of(task))).share)
    try:
        search_grasp(search, samples, progress)
    except KeyboardInterrupt:
        refused = "no posture holds the object" if search.best is None else plan_turns(task, search.best)[0]
        return FoundStart(search, refused, is_interrupted=True)
    if search.best is None:
        return FoundStart(search, "no posture holds the object")
    refused, cases = plan_turns(task, search.best)
    met = np.nan
    if not refused:
        if task.goal.is_free:
            search.best = replace(search.best, goal=cases[0].task.goal)
        try:
            met = share_of_turns(cases)
        except KeyboardInterrupt:
            return FoundStart(search, "", is_interrupted=True)
        refused = "" if met >= LEAST_MET else describe_turns(met, is_as_evaluated(task))
    advice = advise_turn(task, search, search.best) if refused else ""
    return FoundStart(search, refused + advice, met=met)


def draw_plants(usual: Disturbance) -> list[PlantPerturbation]:
    """Return the plants in which starts are held: the first disturbed as in an evaluation, the last by most."""
    plants = []
    for k, share in enumerate(np.linspace(0.0, 1.0, PLANTS)):
        ranges = usual.with_friction(1.0 - float(share) * (1.0 - LEAST_FRICTION_SHARE))
        scale = 1.0 + float(share) * (MOST_SCALE - 1.0)
        plants.append(draw_trial(FIRST_SEED + k, ranges, SensorConfig(), scale).perturbation)
    return plants


def plan_turns(task: TaskConfig, start: GraspCandidate) -> tuple[str, tuple[Case, ...]]:
    """Return why a start is not good enough, "" where it is, and its turns, each with its plan.

    It is not where it lets the object go, or where a turn cannot be planned.
    """
    if start.fraction < 1.0:
        return f"fingers roll along {100 * start.fraction:.0f} % of the way of the turns alone", ()
    if start.held < LEAST_HELD:
        return (
            f"fingers that roll from the start keep the object in {100 * start.held:.0f} % of {PLANTS} plants (asked "
            f"for: {100 * LEAST_HELD:.0f} %): friction, size, mass and place of the object as an evaluation draws "
            f"them, up to {MOST_SCALE:g} times as far off"
        ), ()
    cases = []
    for axis in task.axes or ("",):
        turn = at_start(task.about(axis), start)
        try:
            case = Case(*settle_goal(turn)) if turn.goal.is_free else Case(turn, make_plan(turn))
        except PlanError as error:
            return str(error), ()
        if case.task.goal.is_free and case.task.goal.angle_deg < LEAST_TURNED * abs(task.goal.angle_deg):
            return f"the plan turns the object by {case.task.goal.angle_deg:.0f} degrees alone", ()
        cases.append(case)
    return "", tuple(cases)


def advise_turn(task: TaskConfig, search: GraspSearch, start: GraspCandidate) -> str:
    """Return which turn to ask for in place of one without a good start; "" where that is open."""
    if task.goal.is_free:
        turned_deg = np.floor(search.config.turn_share * start.fraction * abs(task.goal.angle_deg))
        is_less = 1.0 <= turned_deg < abs(task.goal.angle_deg)
        return f"; try `contact-mpc new task` with --turn any:{turned_deg:g}" if is_less else ""
    if search.leaves_choice(start):
        return ""
    return (
        f"; fingers with so few joints choose the axis themselves: try `contact-mpc new task` with --turn "
        f"any:{abs(task.goal.angle_deg):g}"
    )


def describe_turns(met: float, is_usual: bool) -> str:
    """Return what is wrong with a start from which too few turns meet their goals."""
    times = "" if is_usual else "twice "
    return (
        f"{100 * met:.0f} % of the turns in closed loop meet their goals in MuJoCo, disturbed {times}as much as in an "
        f"evaluation (asked for: {100 * LEAST_MET:.0f} %)"
    )
