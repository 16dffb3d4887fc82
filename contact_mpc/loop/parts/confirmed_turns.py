"""A problem's plan by turns and new grasps of one hand, as MuJoCo has played it; see `contact_mpc.planning.parts`."""

from dataclasses import replace

import numpy as np

from contact_mpc.loop.parts.confirmation import MujocoConfirmation
from contact_mpc.loop.parts.confirmed_plan import ROWS_S, ConfirmedPlan, confirm
from contact_mpc.planning.parts import plan_of_turns
from contact_mpc.planning.tree.problem import Problem
from contact_mpc.task.plan import Plan


def confirm_turns(problem: Problem) -> ConfirmedPlan:
    """Return the turns that lead to a problem's goal, played in MuJoCo from its task's start.

    The plan's last row has the object at the goal itself, for that is where who follows the plan shall go.
    """
    reference = plan_of_turns(problem)
    done = confirm(problem, reference, MujocoConfirmation(problem.system))
    is_reached = problem.is_reached(done.plan.q[-1])
    angle_deg, distance_mm = problem.errors(done.plan.q[-1])
    reason = done.reason or ("" if is_reached else f"ends {angle_deg:.1f} deg, {distance_mm:.0f} mm off")
    plan = _to_goal(done.plan, reference.q[-1, : problem.system.n_q_u])
    record = {**plan.provenance, "confirmed": is_reached, "is_valid": is_reached, "reason": reason}
    return replace(done, plan=replace(plan, provenance=record), is_confirmed=is_reached, reason=reason)


def _to_goal(plan: Plan, goal_u: np.ndarray) -> Plan:
    """Return a plan with one more row, in which the object is at goal_u (n_q_u,)."""
    row = plan.q[-1].copy()
    row[: len(goal_u)] = goal_u
    last = [np.concatenate([item, item[-1:]]) for item in (plan.u, plan.tau_ff, plan.contact_impulses)]
    times_s = np.append(plan.times_s, plan.times_s[-1] + ROWS_S)
    return Plan(times_s, np.vstack([plan.q, row]), last[0], last[1], last[2], plan.provenance)
