"""Solve again from the measured state while a plan runs: the future work of the paper.

The horizon keeps its N stages and begins at the measured state, half a step ahead of it (see `plan_file`). The last
solution, moved on in time, names the modes and is the first guess, so that one solve with fixed modes is enough.

    a hit to come       solve with its mode: approach and force change so that the object stops at the goal; one that
                        nothing stops passes it when the first plan said, and its goal at the later end lies further
    a hit due           keep the plan: within a step of the impact the arm cannot change the impulse any more
    none to come        the object coasts: nothing can be done where it will stop at the goal or beyond it
    it will stop short  `push_again` solves for another push from where the object will rest

Neither changes anything: an outcome carries the horizon to continue from. `replanner` calls them in a loop.
"""

import time
from dataclasses import dataclass, replace
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from contact_mpc.errors import InputError
from contact_mpc.planning.push.checks import check_instance
from contact_mpc.planning.push.plan_file import PlanBuilder
from contact_mpc.planning.push.planner import ContactImplicitPlanner
from contact_mpc.planning.push.program.bounds import Modes
from contact_mpc.planning.push.program.instance import Instance, direction
from contact_mpc.planning.push.program.model import Model
from contact_mpc.planning.push.program.modes import force_to_goal, slide, sliding_steps
from contact_mpc.planning.push.result import ContactImplicitResult, Solution
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.task.plan import Plan


class ReplanStatus(Enum):
    """What came of solving again; each says what to do."""

    REPLANNED = "follow the new plan"
    HIT_DUE = "the tool is about to hit: keep the plan"
    COASTING = "the object coasts to its goal: keep the plan"
    OVERSHOOT = "the object will stop beyond its goal, which no push can mend: keep the plan"
    STOPS_SHORT = "the object will stop short: keep the plan, then push again"
    NOT_CONVERGED = "no solution from this state: keep the plan"
    INVALID_STATE = "the measured state is outside the limits: keep the plan"


@dataclass(frozen=True)
class ReplanOutcome:
    """A status, the plan from the measured instant on (only with REPLANNED), and the horizon to continue from.

    stops_at_m is where the object would stop if nothing touched it any more, less the goal, m.
    """

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

    @property
    def hits_s(self) -> FloatArray:
        """Instants of the steps in contact, s since the start of the motion."""
        return np.asarray(self.t_s + self.planner.model.dt_s * np.flatnonzero(self.solution.modes.contact))

    def replan(self, t_s: float, q: FloatArray, v: FloatArray) -> ReplanOutcome:
        """Solve from the state at t_s with the hits that are still to come.

        Parameters
        ----------
        t_s : float
            Time since the start of the motion, s.
        q, v : (n_q,), (n_v,) array
            Measured state of the system.
        """
        started = time.process_time()
        now = measured_instance(self.planner, self.instance, q, v)
        contact, x, u, is_due = self._move_on(t_s, now)
        if np.any(contact) and not self.planner.model.has_friction:
            now = replace(now, goal=self._goal_at_end(t_s, now, int(np.flatnonzero(contact)[0])))
        force = np.where(contact, np.maximum(u[:, self.planner.model.n_r], 1.0), 0.0)
        error = _coasted(self.planner.model, now) + now.start(self.planner.model) - now.goal
        if is_due or not np.any(contact):
            status = ReplanStatus.HIT_DUE if is_due else self._coasting(error)
            return ReplanOutcome(status, None, self, None, time.process_time() - started, error)
        modes = Modes(contact, sliding_steps(self.planner.model, now, force))
        if self.planner.model.has_friction:
            _push_to_goal(self.planner.model, now, force, x, u)
        result = self.planner.refine(now, self.planner.program.pack(x, u), modes)
        return self._outcome(t_s, now, result, started, error)

    def push_again(self, t_s: float, q: FloatArray, v: FloatArray, goal: float, heading_rad: float) -> ReplanOutcome:
        """Solve for another push of an object that rests, from a state at t_s.

        Parameters
        ----------
        t_s, q, v
            As of `replan`; the object where it is at rest.
        goal : float
            Value of d . w at the end, m (rad), along the new heading.
        heading_rad : float
            Direction of the push.
        """
        started = time.process_time()
        aim = replace(self.instance, heading_rad=heading_rad, goal=goal, aim_m=0.0)
        now = measured_instance(self.planner, aim, q, v)
        error = now.start(self.planner.model) - goal
        try:
            check_instance(self.planner.model, self.planner.geometry, now)
        except InputError:
            cpu_s = time.process_time() - started
            return ReplanOutcome(ReplanStatus.INVALID_STATE, None, self, None, cpu_s, error)
        return self._outcome(t_s, now, self.planner.plan_hit(now), started, error)

    def _goal_at_end(self, t_s: float, now: Instance, contact_step: int) -> float:
        """Return d . w at the end of the horizon from t_s, for an object that nothing stops and that is in time.

        After a hit in step c, n = N - 1 - c steps before the end, it has gone S(n) = sum_{j < n} r^j times its first
        step, r = 1 - dt D / M. The goal was for the end of the last horizon, s steps earlier, so it lies
        S(n) / S(n - s) times as far from the start.
        """
        model = self.planner.model
        keeps = 1.0 - model.dt_s * float(model.thing.damping[0] / model.thing.inertia[0])
        travel = np.cumsum(keeps ** np.arange(self.planner.program.steps - contact_step))
        earlier, start = round((t_s - self.t_s) / model.dt_s), now.start(model)
        return start + (now.goal - start) * float(travel[-1] / travel[-1 - earlier])

    def _coasting(self, error: float) -> ReplanStatus:
        if not self.planner.model.has_friction or abs(error) <= self.planner.model.settings.replan.stops_short_m:
            return ReplanStatus.COASTING
        return ReplanStatus.OVERSHOOT if error > 0.0 else ReplanStatus.STOPS_SHORT

    def _outcome(
        self, t_s: float, now: Instance, result: ContactImplicitResult, started: float, error: float
    ) -> ReplanOutcome:
        if result.solution is None:
            cpu_s = time.process_time() - started
            return ReplanOutcome(ReplanStatus.NOT_CONVERGED, None, self, result, cpu_s, error)
        plan = self.builder.build(now, result.solution, {"replanned_at_s": t_s})
        following = replace(self, instance=now, solution=result.solution, t_s=t_s)
        cpu_s = time.process_time() - started
        return ReplanOutcome(ReplanStatus.REPLANNED, plan, following, result, cpu_s, error)

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
        is_due = bool(np.any(self.solution.modes.contact[max(kept - model.settings.replan.due_steps, 0) : kept + 1]))
        return contact, x, u, is_due


def _coasted(model: Model, now: Instance) -> float:
    """Return how far the object goes if nothing touches it any more, m."""
    return float(model.dt_s * slide(model, now, np.zeros(model.settings.stages - 1)).sum())


def _push_to_goal(model: Model, now: Instance, force: FloatArray, x: FloatArray, u: FloatArray) -> None:
    """Let the object of a guess x (N, n_x), u (N - 1, n_u) slide to the goal under scaled forces (N - 1,), N."""
    n, o, d = model.n_r, model.n_o, direction(model, now.heading_rad)
    force = force_to_goal(model, now, force)
    speed = slide(model, now, force)[:, None]
    x[1:, n : n + o] = now.x_0[n : n + o] + model.dt_s * np.cumsum(speed, axis=0) * d
    x[1:, 2 * n + o :] = speed * d
    u[:, n], u[:, n + 1] = force, model.thing.breakaway_n * (speed[:, 0] > 0.0)


def measured_instance(planner: ContactImplicitPlanner, instance: Instance, q: FloatArray, v: FloatArray) -> Instance:
    """Return the instance from a measured state (n_q,), (n_v,), for hits in postures near that of the given instance.

    What the program does not know (turning, drift) is left out, and what noise puts beyond the joints' limits.
    """
    model, system = planner.model, planner.model.system
    q_u, v_u = q[: system.n_q_u], v[: system.n_v_u]
    d = direction(model, instance.heading_rad)
    w_dot = d * max(float(d @ model.thing.rates(q_u, v_u)), 0.0)
    half_step, v_a = 0.5 * model.dt_s, v[system.n_v_u :]
    q_a = q[system.n_q_u :] + half_step * v_a
    inside = np.clip(q_a, system.q_min, system.q_max)
    q_a = np.where(np.abs(q_a - inside) <= model.settings.replan.limit_noise_rad, inside, q_a)
    w = model.thing.beside(model.thing.coordinates(q_u), instance.aim_m) + half_step * w_dot
    x_0 = np.concatenate([q_a, w, v_a, w_dot])
    posture = instance.hit_posture(model)
    return replace(instance, x_0=x_0, q_u=np.array(q_u), is_measured=True, posture=posture)


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
