"""Start postures of a task: the search for one that serves all its turns, and one that is merely drawn."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from contact_mpc.errors import PlanError
from contact_mpc.optimisation.trajectory import TrajoptConfig
from contact_mpc.planning.grasp.candidate import Course, Courses, GraspCandidate, Hold
from contact_mpc.planning.grasp.free_turn import free_turns
from contact_mpc.planning.grasp.grasp_config import GraspSearchConfig
from contact_mpc.planning.grasp.scene import make_scene
from contact_mpc.planning.grasp.search import GraspSearch
from contact_mpc.planning.methods import grips_anew
from contact_mpc.planning.reorient.one_grasp import turns_of_one_grasp
from contact_mpc.planning.trajopt.task import object_path
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.task.task import Goal, TaskConfig


def make_search(
    task: TaskConfig,
    seed: int | tuple[int, ...],
    spread_rad: float = 0.0,
    hold: Hold | None = None,
    config: GraspSearchConfig | None = None,
) -> GraspSearch:
    """Return the search about the start of a task for postures that serve its turns, and that `hold` holds."""
    config = config or GraspSearchConfig()
    if task.goal.is_free:
        config = config.model_copy(update={"draws_fingers": True})
    elif grips_anew(task):
        config = config.model_copy(update={"is_lying": True})
    return GraspSearch(
        task.system, task.start_q, _free_courses(task, config) if task.goal.is_free else _given_course(task, config),
        seed, minimum_force_n=float(task.planner.get("minimum_force_n", 1.0)),
        friction=_cone_friction(task), spread_rad=spread_rad, hold=hold, config=config,
    )  # fmt: skip


def _given_course(task: TaskConfig, config: GraspSearchConfig) -> Courses:
    """Return what gives the paths of all turns of a task, or of one of its many grasps, whatever the grasp."""
    turns = turns_of_one_grasp(task) if grips_anew(task) else [task.about(axis) for axis in task.axes or ("",)]
    further = [_further(turn, config.turn_share) for turn in turns]
    return lambda q, _pairs: [Course([_path(turn, q, config) for turn in further])]


def _free_courses(task: TaskConfig, config: GraspSearchConfig) -> Courses:
    """Return what gives the turns by the task's angle that a grasp allows, each continued to its whole angle."""
    scene, angle_rad = make_scene(task.system), float(np.deg2rad(abs(task.goal.angle_deg)))

    def courses(q: FloatArray, pairs: NDArray[np.int64]) -> list[Course]:
        found = []
        for turn in free_turns(task.system, scene, q, pairs, config.turn_share * angle_rad, config.slip_share):
            share = angle_rad / turn.angle_rad
            if share <= config.most_continued:  # the search then tells how far of it the fingers roll
                goal = Goal(turn.axis_W, float(np.rad2deg(angle_rad)), share * turn.way_m, is_free=True)
                path = _path(_further(replace(task, goal=goal), config.turn_share), q, config)
                found.append(Course([path], goal))
        return found

    return courses


def _path(task: TaskConfig, q: FloatArray, config: GraspSearchConfig) -> FloatArray:
    return object_path(task, q, config.instants)[:, : task.system.n_q_u]


def at_start(task: TaskConfig, start: GraspCandidate) -> TaskConfig:
    """Return the task from a posture that was found, to the goal that this one has."""
    return replace(task, start_q=start.q, start_u=start.grasp.u, has_start=True, goal=start.goal or task.goal)


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
            return at_start(task, candidate)
    draws = search.config.most_draws
    raise PlanError(f"{task.path}: none of {draws} postures (seed {seed}) balances the object; move its start")


def _cone_friction(task: TaskConfig) -> float:
    """Return the friction of the cones that a plan of the task will roll in."""
    config = TrajoptConfig()
    given = task.planner.get("grasp_friction") or task.planner.get("friction", config.friction)
    return float(given)


def _further(task: TaskConfig, share: float) -> TaskConfig:
    goal = task.goal
    way_m = share * goal.translation_m if goal.is_free else goal.translation_m
    return replace(task, goal=replace(goal, angle_deg=share * goal.angle_deg, translation_m=way_m))
