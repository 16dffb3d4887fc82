"""Whether a start holds its object and a goal can be held on the way, and by which margin not.

The start's grasp is refused where no contact forces balance the object with the task's least force, within the task's
friction cones and the effort limits. What fails is found by giving in on one of the three at a time.
"""

from collections.abc import Callable

import numpy as np

from contact_mpc.errors import PlanError
from contact_mpc.model.system import System
from contact_mpc.planning.grasp.balance import EFFORT_SHARE, compute_grasp
from contact_mpc.planning.grasp.rolling import RollingPath, roll_along
from contact_mpc.planning.trajopt.task import TrajoptResult, object_path, read_config
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.task.task import TaskConfig

LARGEST_FRICTION, LARGEST_EFFORT_SHARE, LEAST_FORCE_N = 5.0, 20.0, 1e-3
BISECTIONS = 20
INSTANTS = 21


def describe_refusal(task: TaskConfig, result: TrajoptResult) -> str:
    """Return why a plan would be refused: start or goal cannot be held where fingers shall roll; "" where both can."""
    config = read_config(task)
    if config.initialisation != "rolling":
        return ""
    try:
        require_grasp(task, config.minimum_force_n, config.friction)
        require_goal(task, result)
    except PlanError as error:
        return str(error)
    return ""


def require_grasp(task: TaskConfig, minimum_force_n: float, friction: float) -> None:
    """Check that the start holds the object.

    Raises
    ------
    PlanError
        It does not; names the margin that fails, and what it would take.
    """
    reason = describe_failure(task.system, task.start_q, minimum_force_n, friction)
    if reason:
        raise PlanError(f"{task.path}: the start does not hold the object: {reason}")


def describe_failure(system: System, q: FloatArray, minimum_force_n: float, friction: float) -> str:
    """Return why the contacts at q (n_q,) do not hold the objects, "" where they do."""

    def holds(force_n: float, mu: float, share: float) -> bool:
        return compute_grasp(system, q, force_n, mu, effort_share=share).is_balanced

    grasp = compute_grasp(system, q, minimum_force_n, friction)
    if grasp.is_balanced:
        return ""
    if "no robot link" in grasp.reason:
        return f"{grasp.reason}; close the fingers, or move the object"
    found = []
    if holds(minimum_force_n, LARGEST_FRICTION, EFFORT_SHARE):
        mu = _least(friction, LARGEST_FRICTION, lambda value: holds(minimum_force_n, value, EFFORT_SHARE))
        found.append(f"a friction of at least {mu:.2f} (the cones have {friction:g})")
    if holds(LEAST_FORCE_N, friction, EFFORT_SHARE):
        force = _least(-minimum_force_n, -LEAST_FORCE_N, lambda value: holds(-value, friction, EFFORT_SHARE))
        found.append(f"a least force of at most {-force:.2f} N (asked for: {minimum_force_n:g} N)")
    if holds(minimum_force_n, friction, LARGEST_EFFORT_SHARE):
        share = _least(EFFORT_SHARE, LARGEST_EFFORT_SHARE, lambda value: holds(minimum_force_n, friction, value))
        found.append(f"{100 * share:.0f} % of the effort limits (allowed: {100 * EFFORT_SHARE:.0f} %)")
    if not found:
        return f"{grasp.reason}, nor would more friction, less force or more effort alone"
    return f"it would take {', or '.join(found)}"


def _least(fails: float, suffices: float, holds: Callable[[float], bool]) -> float:
    """Return the value between the two from which on `holds`, by bisection."""
    for _ in range(BISECTIONS):
        middle = 0.5 * (fails + suffices)
        fails, suffices = (fails, middle) if holds(middle) else (middle, suffices)
    return suffices


def require_goal(task: TaskConfig, result: TrajoptResult) -> None:
    """Check that a plan reaches its goal, or at least that fingers could roll there.

    Raises
    ------
    PlanError
        Neither is so; says how far the plan ends from the goal, and what stops the fingers.
    """
    if result.angle_error_deg <= task.tolerance_deg and result.position_error_mm <= task.tolerance_mm:
        return
    rolled = roll_to_goal(task)
    if not rolled.is_complete:
        raise PlanError(
            f"{task.path}: the goal cannot be held{f' about {task.axis}' if task.axis else ''}: the plan ends "
            f"{result.angle_error_deg:.1f} deg and {result.position_error_mm:.1f} mm from it (allowed "
            f"{task.tolerance_deg:g} deg, {task.tolerance_mm:g} mm); rolling along stops at {rolled.reason}"
        )


def require_way(task: TaskConfig) -> None:
    """Check that fingers can roll to the goal, before a plan is searched.

    Raises
    ------
    PlanError
        The start does not hold the object, or rolling stops on the way; says what stops it.
    """
    config = read_config(task)
    require_grasp(task, config.minimum_force_n, config.friction)
    rolled = roll_to_goal(task)
    if not rolled.is_complete:
        raise PlanError(f"{task.path}: the goal cannot be held: rolling along stops at {rolled.reason}")


def roll_to_goal(task: TaskConfig) -> RollingPath:
    """Return how far fingers roll from the start to the goal with the least force of the task."""
    config = read_config(task)
    friction = config.friction if config.grasp_friction is None else config.grasp_friction
    grasp = compute_grasp(task.system, task.start_q, config.minimum_force_n, friction)
    if not grasp.is_balanced:
        nothing = np.zeros((0, task.system.n_q)), np.zeros((0, task.system.n_a))
        reason = describe_failure(task.system, task.start_q, config.minimum_force_n, friction)
        return RollingPath(*nothing, f"the start, whose grasp is used up: {reason}")
    path = object_path(task, task.start_q, INSTANTS)[:, : task.system.n_q_u]
    return roll_along(task.system, task.start_q, path, grasp.pairs, config.minimum_force_n, friction)
