"""Goals that a seed draws: any rotation of an object that moves freely, uniform in SO(3).

The object's frame goes to where the file has it, but as high as it has to be for the object to reach as far down as it
does at the start: a box that rests on its face there stands on an edge or a corner.
"""

from contact_mpc.errors import ConfigError
from contact_mpc.geometry.extent import half_extent
from contact_mpc.model.rotations import random_rotation, rpy_from_rotation
from contact_mpc.planning.tree.problem import FREE_COORDINATES, Problem, with_goal
from contact_mpc.task.task import goal_generator


def with_drawn_goal(problem: Problem, seed: int) -> Problem:
    """Return a problem with the goal that a seed draws where its file says `is_random`, else the problem itself.

    Raises
    ------
    ConfigError
        The problem has not one object that moves freely.
    InputError
        What was drawn is outside the coordinates' ranges.
    """
    if not problem.file.is_random:
        return problem
    objects = problem.system.config.objects
    if [item.mobility for item in objects] != ["free"]:
        raise ConfigError(f"{problem.path}: is_random: allowed with one object that moves freely; leave it out")
    roll, pitch, yaw = rpy_from_rotation(random_rotation(goal_generator(seed)))
    names = [f"{objects[0].name}_{coordinate}" for coordinate in FREE_COORDINATES]
    turned = with_goal(problem, dict(zip(names[3:], map(float, (roll, pitch, yaw)), strict=True)))
    start, goal = (half_extent(problem.system, problem.configuration(q)) for q in (problem.start_u, turned.goal_u))
    height_m = problem.file.objects[names[2]].start + float(goal[2] - start[2])
    return with_goal(turned, {names[2]: height_m})
