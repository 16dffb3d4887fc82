"""Solve again from the measured state while a plan runs: the future work of the paper.

The horizon keeps its N stages and begins at the measured state, half a step ahead of it (see `plan_file`). The last
solution, moved on in time, names the modes and is the first guess, so that one solve with fixed modes is enough.

    a hit to come       solve with its mode: approach and force change so that the object stops at the goal
    a hit due           keep the plan: within a step of the impact the arm cannot change the impulse any more
    none to come        the object coasts: nothing can be done where it will stop at the goal or beyond it
    it will stop short  search for another push, as long as the object is within reach

`replan` changes nothing: its outcome carries the horizon to continue from.
"""

import time
from dataclasses import dataclass, replace
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from contact_mpc.errors import InputError
from contact_mpc.model.plan import Plan
from contact_mpc.planning.contact_implicit.bounds import Modes
from contact_mpc.planning.contact_implicit.instance import Instance, direction
from contact_mpc.planning.contact_implicit.modes import slide, sliding_steps
from contact_mpc.planning.contact_implicit.plan_file import PlanBuilder
from contact_mpc.planning.contact_implicit.planner import ContactImplicitPlanner
from contact_mpc.planning.contact_implicit.result import ContactImplicitResult, Solution

FloatArray = NDArray[np.float64]
DUE_STEPS = 2
STOPS_SHORT_M = 0.005
REACH_M = 0.95


class ReplanStatus(Enum):
    """What came of solving again; each says what to do."""

    REPLANNED = "follow the new plan"
    HIT_DUE = "the tool is about to hit: keep the plan"
    COASTING = "the object coasts to its goal: keep the plan"
    OVERSHOOT = "the object will stop beyond its goal, which no push can mend: keep the plan"
    OUT_OF_REACH = "the object will stop short and is out of reach: keep the plan"
    NOT_CONVERGED = "no solution from this state: keep the plan"
    INVALID_STATE = "the measured state is outside the limits: keep the plan"


@dataclass(frozen=True)
class ReplanOutcome:
    """A status, the plan from the measured instant on (only with REPLANNED), and the horizon to continue from."""

    status: ReplanStatus
    plan: Plan | None
    horizon: "RecedingHorizon"
    result: ContactImplicitResult | None
    cpu_s: float
    stops_at_m: float


@dataclass(frozen=True)
class RecedingHorizon:
    """A solution under way: `solution` starts at t_s of the motion, `instance` is what it solves."""

    planner: ContactImplicitPlanner
    builder: PlanBuilder
    instance: Instance
    solution: Solution
    t_s: float = 0.0

    def replan(self, t_s: float, q: FloatArray, v: FloatArray) -> ReplanOutcome:
        """Solve from the state at t_s.

        Parameters
        ----------
        t_s : float
            Time since the start of the motion, s.
        q, v : (n_q,), (n_v,) array
            Measured state of the system.
        """
        started = time.process_time()
        now = self._measure(q, v)
        contact, x, u, is_due = self._move_on(t_s, now)
        force = np.where(contact, u[:, self.planner.model.n_r], 0.0)
        result: ContactImplicitResult | None
        error = slide(self.planner.model, now, np.zeros_like(force))[0] - (now.goal - now.start(self.planner.model))
        if is_due:
            result, status = None, ReplanStatus.HIT_DUE
        elif np.any(contact):
            modes = Modes(contact, sliding_steps(self.planner.model, now, np.maximum(force, 1.0) * contact))
            result = self.planner.refine(now, self.planner.program.pack(x, u), modes)
            status = ReplanStatus.REPLANNED
        else:
            result, status = self._without_contact(now, error)
        return self._outcome(t_s, now, result, status, time.process_time() - started, error)

    def _without_contact(self, now: Instance, error: float) -> tuple[ContactImplicitResult | None, ReplanStatus]:
        model = self.planner.model
        if not model.has_friction or abs(error) <= STOPS_SHORT_M:
            return None, ReplanStatus.COASTING
        if error > 0.0:
            return None, ReplanStatus.OVERSHOOT
        w = now.x_0[model.n_r : model.n_r + model.n_o]
        if float(np.linalg.norm(w[:2])) > REACH_M:
            return None, ReplanStatus.OUT_OF_REACH
        try:
            return self.planner.plan(now), ReplanStatus.REPLANNED
        except InputError:
            return None, ReplanStatus.INVALID_STATE

    def _outcome(
        self, t_s: float, now: Instance, result: ContactImplicitResult | None, status: ReplanStatus, cpu_s: float,
        error: float,
    ) -> ReplanOutcome:  # fmt: skip
        if result is None or result.solution is None:
            failed = ReplanStatus.NOT_CONVERGED if result is not None else status
            return ReplanOutcome(failed, None, self, result, cpu_s, error)
        plan = self.builder.build(now, result.solution, {"replanned_at_s": t_s})
        following = replace(self, instance=now, solution=result.solution, t_s=t_s)
        return ReplanOutcome(status, plan, following, result, cpu_s, error)

    def _measure(self, q: FloatArray, v: FloatArray) -> Instance:
        """Return the instance from a measured state: what the program does not know (turning, drift) is left out."""
        model, system = self.planner.model, self.planner.model.system
        q_u, v_u = q[: system.n_q_u], v[: system.n_v_u]
        d = direction(model, self.instance.heading_rad)
        w_dot = d * max(float(d @ model.thing.rates(q_u, v_u)), 0.0)
        half_step, v_a = 0.5 * model.dt_s, v[system.n_v_u :]
        q_a, w = q[system.n_q_u :] + half_step * v_a, model.thing.coordinates(q_u) + half_step * w_dot
        x_0 = np.concatenate([q_a, w, v_a, w_dot])
        return replace(self.instance, x_0=x_0, q_u=np.array(q_u), is_measured=True)

    def _move_on(self, t_s: float, now: Instance) -> tuple[NDArray[np.bool_], FloatArray, FloatArray, bool]:
        """Return contacts, states and inputs of the last solution from t_s on, and whether a hit is due.

        Behind the end of the last solution everything rests.
        """
        model, program = self.planner.model, self.planner.program
        steps = max(round((t_s - self.t_s) / model.dt_s), 0)
        last = np.array(self.solution.x[-1])
        last[model.n_r + model.n_o :] = 0.0
        kept = min(steps, program.steps)
        x = np.vstack([self.solution.x[kept:], np.tile(last, (kept, 1))])
        u = np.vstack([self.solution.u[kept:], np.zeros((kept, model.n_u))])
        contact = np.concatenate([self.solution.modes.contact[kept:], np.zeros(kept, dtype=np.bool_)])
        x[0] = now.x_0
        is_due = bool(np.any(self.solution.modes.contact[max(kept - DUE_STEPS, 0) : kept + 1]))
        return contact, x, u, is_due


def start_receding_horizon(
    planner: ContactImplicitPlanner, instance: Instance, result: ContactImplicitResult
) -> RecedingHorizon:
    """Return the horizon of a solved instance.

    Raises
    ------
    InputError
        The result has no solution.
    """
    if result.solution is None:
        raise InputError(f"receding horizon: there is no solution to continue from ({result.status}: {result.message})")
    return RecedingHorizon(planner, PlanBuilder(planner.model), instance, result.solution)
