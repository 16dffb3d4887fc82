"""A task's push: its start and goal as an instance, solved, as a plan."""

import numpy as np

from contact_mpc.errors import ConfigError, InputError
from contact_mpc.model.rotations import rotation_from_rpy
from contact_mpc.planning.push.plan_file import PlanBuilder
from contact_mpc.planning.push.planner import ContactImplicitPlanner
from contact_mpc.planning.push.program.instance import Instance
from contact_mpc.planning.push.program.model import Model
from contact_mpc.planning.push.program.objects import Block
from contact_mpc.planning.push.program.settings import ContactImplicitSettings
from contact_mpc.planning.push.result import ContactImplicitResult
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.yaml_files import validate
from contact_mpc.task.plan import Plan
from contact_mpc.task.task import TaskConfig

METHOD = "contact_implicit"
TURNING_STEPS = 40
POSTURE_TOLERANCE_M = 1e-3


def read_settings(task: TaskConfig, changes: dict[str, object] | None = None) -> ContactImplicitSettings:
    """Return the settings in a task's planner section, with changes."""
    values = {key: value for key, value in task.planner.items() if key != "method"}
    return validate(
        ContactImplicitSettings, {"horizon_s": task.duration_s, **values, **(changes or {})}, f"{task.path}: planner"
    )


def build_instance(
    task: TaskConfig, planner: ContactImplicitPlanner, displacement: float | None, direction_deg: float | None
) -> Instance:
    """Return the task's start and goal.

    Parameters
    ----------
    displacement : float, optional
        How far the object goes, m (a door: rad); the task's goal by default.
    direction_deg : float, optional
        Direction of the push from the world's x axis, for a block; the task's by default. The block is turned on its
        place, and the arm starts with its tool at the same place behind the face.

    Raises
    ------
    InputError
        The direction is given for an object that has none, or the arm cannot start behind the face.
    ConfigError
        The task's goal is no push: a translation along the block's heading, or a turn of the door.
    """
    model, system = planner.model, task.system
    q_u, q_r = task.start_q[: system.n_q_u].copy(), task.start_q[system.n_q_u :].copy()
    heading, distance = _goal(model, task, q_u)
    if direction_deg is not None:
        q_u, q_r, heading = _turn(planner, q_u, q_r, np.deg2rad(direction_deg))
    w = model.thing.coordinates(q_u)
    start = Instance(np.concatenate([q_r, w, np.zeros(model.n_r + model.n_o)]), q_u, heading, 0.0)
    reach = distance if displacement is None else displacement
    return Instance(start.x_0, q_u, heading, start.start(model) + reach)


def plan_push(
    task: TaskConfig,
    settings: ContactImplicitSettings | None = None,
    displacement: float | None = None,
    direction_deg: float | None = None,
) -> tuple[ContactImplicitResult, Plan | None]:
    """Solve a task; without a solution there is no plan, and the result says why."""
    planner = ContactImplicitPlanner(task.system, settings or read_settings(task))
    instance = build_instance(task, planner, displacement, direction_deg)
    result = planner.plan(instance)
    if result.solution is None:
        return result, None
    about = {"task": task.name, "displacement": instance.goal - instance.start(planner.model)}
    return result, PlanBuilder(planner.model).build(instance, result.solution, about)


def _goal(model: Model, task: TaskConfig, q_u: FloatArray) -> tuple[float, float]:
    """Return heading and distance of the task's own goal."""
    if model.n_o == 1:
        return 0.0, np.deg2rad(task.goal.angle_deg)
    along = task.goal.translation_m[:2]
    heading, distance = float(np.arctan2(along[1], along[0])), float(np.linalg.norm(along))
    if isinstance(model.thing, Block):
        turned = model.thing.coordinates(q_u)[2]
        if abs(np.sin(0.5 * (heading - turned))) > 1e-6:
            raise ConfigError(
                f"{task.path}: goal.translation_m points along {np.rad2deg(heading):.1f} deg, the block along "
                f"{np.rad2deg(turned):.1f} deg; they must agree, for the block is pushed along its own x axis"
            )
        heading = float(turned)
    return heading, distance


def _turn(
    planner: ContactImplicitPlanner, q_u: FloatArray, q_r: FloatArray, heading: float
) -> tuple[FloatArray, FloatArray, float]:
    """Turn block and tool about the block's vertical."""
    model = planner.model
    if not isinstance(model.thing, Block):
        raise InputError("direction_deg: only a block can be turned; leave it out")
    w, turned = model.thing.coordinates(q_u), q_u.copy()
    turned[3] = heading
    angles = w[2] + np.linspace(0.0, 1.0, TURNING_STEPS) * _shortest(heading - w[2])
    start, _ = planner.geometry.head(q_r)
    centre = np.append(w[:2], 0.0)
    path = np.array([centre + rotation_from_rpy(np.array([0.0, 0.0, a - w[2]])) @ (start - centre) for a in angles])
    q = planner.geometry.follow(q_r, path)[-1]
    missed = float(np.linalg.norm(planner.geometry.head(q)[0] - path[-1]))
    if missed > POSTURE_TOLERANCE_M:
        raise InputError(
            f"direction_deg = {np.rad2deg(heading):.1f}: the arm cannot start behind the face there, it stays "
            f"{missed:.3f} m away; push in another direction"
        )
    return turned, q, heading


def _shortest(angle: float) -> float:
    return float(np.arctan2(np.sin(angle), np.cos(angle)))
