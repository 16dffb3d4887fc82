"""The way back to the start along which the fingers came, so that the start's grasp is there again.

Fingers that roll on an object from one goal to the next do not come back by the shortest way: after a loop of turns
they touch elsewhere, and after some loops the grasp is used up. Backwards along the commands that they came by they do.
The path is gone through at the task's mean speed, with a smooth start and stop; by what the state differs from the end
of the trail at its beginning fades out along the way.
"""

from dataclasses import dataclass

import numpy as np

from contact_mpc.model.rotations import rotation_log
from contact_mpc.model.system import System
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.task.interpolation import interpolate_rows, smooth_step
from contact_mpc.task.plan import Plan, interpolate_q


@dataclass(frozen=True)
class Trail:
    """Configurations q (n, n_q) and commands u (n, n_a) that were followed since the start, which is the first."""

    q: FloatArray
    u: FloatArray


@dataclass(frozen=True)
class Pace:
    """How fast a way is gone: mean speed of the object, deg/s and m/s, and steps of the plan, s."""

    turn_deg_s: float
    way_m_s: float
    step_s: float


def plan_back(system: System, trail: Trail, q: FloatArray, u: FloatArray, pace: Pace) -> Plan:
    """Return the way from the state q (n_q,) under the commands u (n_a,), at the end of the trail, to its start."""
    places_s = np.cumsum(np.concatenate([[0.0], _durations_s(system, trail, pace)]))
    path_q, path_u = trail.q[::-1], trail.u[::-1]
    off_q, off_u = system.difference(path_q[0], q), u - path_u[0]
    steps = max(2, round(places_s[-1] / pace.step_s))
    done = smooth_step(np.linspace(0.0, 1.0, steps + 1))
    rows_q = [
        system.integrate(interpolate_q(system, places_s, path_q, s * places_s[-1]), (1.0 - s) * off_q) for s in done
    ]
    rows_u = [interpolate_rows(s * places_s[-1], places_s, path_u) + (1.0 - s) * off_u for s in done]
    q_plan, u_plan = np.array(rows_q), np.array(rows_u)
    q_plan[0], u_plan[0] = q, u
    return Plan(
        pace.step_s * np.arange(steps + 1), q_plan, u_plan, np.zeros_like(u_plan), np.zeros((steps + 1, 0, 3)),
    )  # fmt: skip


def turn_along(system: System, trail: Trail) -> float:
    """Return by how much the object was turned along a trail, to and fro, rad."""
    return float(sum(angle for angle, _ in _moves(system, trail.q)))


def loop_area(system: System, q_start: FloatArray, q: FloatArray, R_goal: FloatArray) -> float:
    """Return the area, rad^2, between start, q (n_q,) and goal among rotation vectors, which a loop of fingers has."""
    R_start, R = system.object_pose(q_start)[0], system.object_pose(q)[0]
    here, there = (rotation_log(np.ascontiguousarray(item @ R_start.T)) for item in (R, R_goal))
    return 0.5 * float(np.linalg.norm(np.cross(here, there)))


def _durations_s(system: System, trail: Trail, pace: Pace) -> FloatArray:
    """Return the times (n - 1,) between the places of a trail, from its end on, s."""
    moves = _moves(system, trail.q)[::-1]
    turn_rad_s = np.deg2rad(pace.turn_deg_s)
    return np.array([max(angle / turn_rad_s, way / pace.way_m_s, pace.step_s) for angle, way in moves])


def _moves(system: System, q: FloatArray) -> list[tuple[float, float]]:
    """Return angle, rad, and way, m, of the object from each configuration to the next."""
    poses = [system.object_pose(row) for row in q]
    return [
        (float(np.linalg.norm(rotation_log(np.ascontiguousarray(Rb @ Ra.T)))), float(np.linalg.norm(pb - pa)))
        for (Ra, pa), (Rb, pb) in zip(poses[:-1], poses[1:], strict=True)
    ]
