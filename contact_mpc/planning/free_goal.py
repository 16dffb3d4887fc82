"""The goal of a free turn: where plans of it end.

Fingers that roll end in one pose, and on the straight way there they follow in part. So the end of a plan becomes the
goal of the next, until a plan ends at its goal: 6.7, 4.3, 1.7 degrees off for a ball in three fingers of one joint each
and a thumb of two.
"""

from dataclasses import replace

import numpy as np

from contact_mpc.model.rotations import rotation_log
from contact_mpc.planning.methods import make_plan
from contact_mpc.task.plan import Plan
from contact_mpc.task.task import Goal, TaskConfig

ROUNDS = 6
NEAR_DEG, NEAR_MM = 1.0, 0.5  # of a goal at which a plan ends


def settle_goal(task: TaskConfig) -> tuple[TaskConfig, Plan]:
    """Return a task of a free turn to a goal at which its plan ends, or nearly so after `ROUNDS`, and that plan.

    Raises
    ------
    PlanError
        No plan is found, or it does not hold the object.
    """
    plan = make_plan(task)
    for _ in range(ROUNDS):
        reached = _goal_at_end(task, plan)
        (R0, p0), (R1, p1) = task.goal_pose(), replace(task, goal=reached).goal_pose()
        off_deg = np.rad2deg(np.linalg.norm(rotation_log(np.ascontiguousarray(R1 @ R0.T))))
        if off_deg < NEAR_DEG and 1e3 * np.linalg.norm(p1 - p0) < NEAR_MM:
            break
        task = replace(task, goal=reached)
        plan = make_plan(task)
    return task, plan


def _goal_at_end(task: TaskConfig, plan: Plan) -> Goal:
    (R0, p0), (R1, p1) = task.system.object_pose(plan.q[0]), task.system.object_pose(plan.q[-1])
    turn = rotation_log(np.ascontiguousarray(R1 @ R0.T))
    angle = float(np.linalg.norm(turn))
    return Goal(turn / angle if angle > 0.0 else task.goal.axis_W, float(np.rad2deg(angle)), p1 - p0, is_free=True)
