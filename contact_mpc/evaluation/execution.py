"""A tree's plan executed in a plant, from the plan's own start, and judged by the goal of its problem.

Eight ways: `playback` plays the commands, `tracked` follows the plan by the tracker, `replanned` follows it part by
part and plans again where the object is not where the plan has it (`contact_mpc.planning.tree.segments`), and
`corrected` plays each part as MuJoCo roll-outs corrected it. `played` does so too, but nothing stands between plan and
plant, and the true state is known between parts (`contact_mpc.loop.parts.plant_world`); so do, to tell what the
corrections are worth, `played_uncorrected`, `played_as_planned`: corrected, but neither mended nor planned again, and
`played_once`: the whole plan open loop. The others run in the loop of `contact_mpc.loop.closed_loop`, with its sensors,
estimator and bridge. The tracker never gives up here: what is asked is where a plan ends. Success is the true object
within `plan_task.tolerances`.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from contact_mpc.errors import PlanError, StackError
from contact_mpc.evaluation.trials import Disturbance, draw_trial
from contact_mpc.loop.closed_loop import ClosedLoop
from contact_mpc.loop.config import LoopConfig, load_loop_config
from contact_mpc.loop.log import ClosedLoopResult
from contact_mpc.loop.parts.confirmed_plan import confirm
from contact_mpc.loop.parts.plant_world import PlantWorld
from contact_mpc.planning.plan_task import goal_of_plan, tolerances
from contact_mpc.planning.tree.problem import Problem
from contact_mpc.planning.tree.segments import object_distance
from contact_mpc.plants.common.perturbation import PlantPerturbation
from contact_mpc.plants.common.sensors import SensorConfig
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.yaml_files import validate
from contact_mpc.task.node_parameters import default_parameter_file
from contact_mpc.task.plan import Plan, check_plan
from contact_mpc.task.task import TaskConfig

PLAYED, UNCORRECTED, AS_PLANNED, ONCE = "played", "played_uncorrected", "played_as_planned", "played_once"
WAYS = {  # by the controller that follows the plan
    "playback": "playback", "tracked": "tracker", ONCE: "", UNCORRECTED: "", AS_PLANNED: "", PLAYED: "",
    "replanned": "reorient", "corrected": "reorient_rollouts",
}  # fmt: skip
REPLANNED = ("replanned", "corrected")
NEVER_DEG, NEVER_M, NEVER_S = 1e4, 1e3, 1e4


@dataclass(frozen=True)
class Execution:
    """How one plan did.

    Attributes
    ----------
    way : str
        Of `WAYS`.
    is_success, is_lost : bool
        Within the tolerances at the end; lost on the way.
    angle_error_deg, position_error_mm : float
        True object against the problem's goal at the end.
    executed_s : float
        Time of the motion until the goal was reached, or the run ended, s.
    reason : str
        Why there is no success; "" where there is.
    times_s, q : (n,), (n, n_q) array
        The true motion, thinned out.
    identified_friction, identified_size : float
        Factors by which roll-outs explain the motion best, friction and size of the objects; NaN where none did.
    """

    way: str
    is_success: bool
    is_lost: bool
    angle_error_deg: float
    position_error_mm: float
    executed_s: float
    reason: str
    times_s: FloatArray
    q: FloatArray
    identified_friction: float = np.nan
    identified_size: float = np.nan


def task_of_plan(problem: Problem, plan: Plan, duration_s: float | None = None) -> TaskConfig:
    """Return the task of a plan: from its start to the problem's goal.

    Raises
    ------
    PlanError
        The plan is of another system or version, or its object does not start where the problem's does.
    """
    system, file = problem.system, problem.file
    check_plan(f"plan of {file.name}", plan, system)
    away = object_distance(problem, problem.configuration(problem.start_u), plan.q[0])
    allowed = max(file.parts.starts_rad, file.contacts.hold_m / file.rrt.length_m)
    if away > allowed:
        raise PlanError(
            f"the plan starts with the object {away:.3g} rad (global metric, 1 rad is {file.rrt.length_m:g} m) from "
            f"the start of {problem.path}, allowed {allowed:.2g}; plan again, or give the problem that it was made for"
        )
    time_s = float(plan.times_s[-1]) if duration_s is None else duration_s
    return TaskConfig(
        file.name, problem.path, file.description, system, plan.q[0], plan.u[0], goal_of_plan(problem, plan), time_s,
        file.parts.hold_s, *tolerances(problem), drop_distance_m=file.parts.drop_distance_m,
    )  # fmt: skip


def loop_of(problem: Problem, task: TaskConfig, way: str, engine: str, settings: tuple[str, ...] = ()) -> LoopConfig:
    """Return the loop that executes a plan: the parameters of the task's nodes, with a tracker that never gives up."""
    config = load_loop_config(default_parameter_file(task), engine, settings, WAYS[way])
    never = {
        "lost_angle_deg": NEVER_DEG, "lost_distance_m": NEVER_M, "give_up_s": NEVER_S, "slip_give_up_s": NEVER_S,
    }  # fmt: skip
    return replace(config, tracker=config.tracker.model_copy(update=never))


def disturbance_of(problem: Problem) -> Disturbance:
    """Return the ranges of a problem's draws: the usual ones, but for what its section `disturbance` says."""
    return validate(Disturbance, problem.file.disturbance, f"{problem.path}: disturbance")


def execute(
    problem: Problem, plan: Plan, way: str, engine: str, seed: int, scale: float, settings: tuple[str, ...] = ()
) -> Execution:
    """Execute a plan; the outcome depends on the arguments alone.

    Parameters
    ----------
    way, engine : str
        Of `WAYS`, and the plant.
    seed, scale
        Of the draws of `evaluation.trials`, and the factor on them; 0 is the nominal plant.
    settings : tuple of str
        "node.key=value" in place of parameters of the nodes.
    """
    if not WAYS[way]:
        trial = draw_trial(seed, disturbance_of(problem), SensorConfig(), scale)
        try:
            return _play(problem, plan, way, engine, trial.perturbation)
        except (StackError, PlanError) as error:
            return _failed(way, str(error))
    plan_s = float(plan.times_s[-1])
    duration_s = problem.file.parts.longest_s(plan_s) if way in REPLANNED else plan_s
    task = task_of_plan(problem, plan, duration_s)
    config = loop_of(problem, task, way, engine, settings)
    perturbation = None
    if scale > 0.0:
        trial = draw_trial(seed, disturbance_of(problem), config.sensors, scale)
        config, perturbation = replace(config, sensors=trial.sensors), trial.perturbation
    loop = ClosedLoop(problem.system, task, plan, config, perturbation, seed)
    try:
        result = loop.run(stop_when_dropped=way not in REPLANNED, stop_when_settled=way in REPLANNED)
    except StackError as error:
        return _failed(way, str(error))
    return _judge(problem, way, result, loop)


def _play(problem: Problem, plan: Plan, way: str, engine: str, perturbation: PlantPerturbation) -> Execution:
    """Play a plan, part by part or at once, in a plant whose state is known."""
    from contact_mpc.loop.parts.confirmation import roll_outs

    task_of_plan(problem, plan)
    world = PlantWorld(engine, problem.system, plan.q[0], perturbation)
    if way == ONCE:
        ways, reason, identified = world.ways(world.q, plan), "", None
        times_s, q = ways.times_s, ways.q[0]
    else:
        physics = None if way == UNCORRECTED else roll_outs(problem)
        done = confirm(problem, plan, physics, world, world.q, plans_again=way != AS_PLANNED)
        times_s, q, reason, identified = done.plan.times_s, done.plan.q, done.reason, done.identified
    angle, distance = problem.errors(world.q)
    deg, mm = tolerances(problem)
    is_success = angle <= deg and distance <= mm
    words = [reason] if reason else []
    reason = "" if is_success else "; ".join([*words, f"ends {angle:.1f} deg, {distance:.0f} mm off"])
    friction, size = identified or (np.nan, np.nan)
    return Execution(
        way, is_success, False, angle, distance, float(times_s[-1]), reason, times_s, q, friction, size
    )  # fmt: skip


def _judge(problem: Problem, way: str, result: ClosedLoopResult, loop: ClosedLoop) -> Execution:
    angle, distance = problem.errors(result.q[-1])
    deg, mm = tolerances(problem)
    is_success = angle <= deg and distance <= mm
    seconds = 1e-9 * (result.t_ns - loop.log.start_ns).astype(np.float64)
    reached = result.reached_s if np.isfinite(result.reached_s) else float(seconds[-1])
    reason = "" if is_success else _reason(result, angle, distance)
    thin = slice(None, None, 33)
    return Execution(
        way, is_success, result.dropped and not is_success, angle, distance, reached, reason,
        seconds[thin], result.q[thin],
    )  # fmt: skip


def _reason(result: ClosedLoopResult, angle: float, distance: float) -> str:
    last = result.plan_status[-1] if result.plan_status else ""
    words = ["lost"] if result.dropped else []
    words += [last] if last not in ("", "ok", "lagging", "regrasping") else []
    return "; ".join([*words, f"ends {angle:.1f} deg, {distance:.0f} mm off"])


def _failed(way: str, reason: str) -> Execution:
    return Execution(way, False, False, np.nan, np.nan, 0.0, reason, np.zeros(0), np.zeros((0, 0)))


def to_row(item: Execution) -> dict[str, Any]:
    """Return an execution without its motion."""
    return {key: value for key, value in vars(item).items() if key not in ("times_s", "q")}
