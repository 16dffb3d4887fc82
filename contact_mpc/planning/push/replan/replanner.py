"""The receding horizon in the loop: at each tick, whether the plan that runs is replaced, by what, and from when on.

    at the start     a first push of a block aims short by `caution`, for friction and hit may be off before anything
                     was observed: what stops short can be pushed again, what went too far cannot; later pushes aim
                     short by a share of what is missing, `later_caution`
    before a hit     solve warm from the state at the next instant of the plan's grid that is at least `delay_s` ahead,
                     so that the hit keeps its instant, for a hit so far beside the central line of the face that the
                     block, where it will stop, faces its goal (`aim`); again and again until the hit is due
    after it         watch the object slide: friction and the effect of the hit (`slide_observer`)
    it stops short   once the hit of another push would find it at rest: search for one (cold, so its plan begins
                     `search_delay_s` later) with what the slide has told; on the way to that hit solve warm again

The state at the hand-over is predicted: of the arm, its reference then plus its deviation now; of the object, where it
rests. Everything is a function of the plan and the states that were given, so that a recorded run can be recomputed.
"""

from dataclasses import dataclass, replace

import numpy as np

from contact_mpc.errors import InputError
from contact_mpc.model.system import System
from contact_mpc.planning.push.planner import ContactImplicitPlanner
from contact_mpc.planning.push.program.instance import Instance, direction
from contact_mpc.planning.push.program.objects import Block
from contact_mpc.planning.push.program.settings import ContactImplicitSettings
from contact_mpc.planning.push.replan.aim import aim
from contact_mpc.planning.push.replan.receding_horizon import (
    RecedingHorizon,
    ReplanOutcome,
    ReplanStatus,
    start_receding_horizon,
)
from contact_mpc.planning.push.replan.slide_observer import SlideObserver
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.task.interpolation import interpolate_rows
from contact_mpc.task.loop_records import EstimatedState
from contact_mpc.task.plan import Plan

Outcome = tuple[float, Plan] | str | None
SEARCHED_IN_VAIN = (ReplanStatus.NOT_CONVERGED, ReplanStatus.INVALID_STATE)


@dataclass(frozen=True)
class Slide:
    """What follows a push: its planner and instance, and what is seen of the object."""

    planner: ContactImplicitPlanner
    instance: Instance
    observer: SlideObserver

    def travel(self, w: FloatArray) -> float:
        """Return how far along the push the object at w (n_o,) is from its start, m."""
        model = self.planner.model
        return float(direction(model, self.instance.heading_rad) @ w) - self.instance.start(model)


class PushReplanner:
    """Plans pushes again while they run; see the module.

    Parameters
    ----------
    system : System
        Arm and object.
    settings : ContactImplicitSettings
        As of the plans that it is given.
    delay_s : float
        A new plan takes effect at least so long after the state that it was solved from.
    """

    def __init__(self, system: System, settings: ContactImplicitSettings, delay_s: float) -> None:
        self._system, self._settings, self._delay_s = system, settings, delay_s
        self._planner = ContactImplicitPlanner(system, settings)
        self._horizon: RecedingHorizon | None = None
        self._slide: Slide | None = None
        self._resting: list[FloatArray] = []
        self._searches, self._is_pending = 0, False

    def begin(self, plan: Plan) -> None:
        """Take the plan that is about to run, and solve for the first push instead.

        Raises
        ------
        InputError
            It is no push, or its start or goal cannot be.
        """
        self._horizon, self._slide, self._resting, self._searches = None, None, [], 0
        instance = self._read_instance(plan)
        result = self._planner.plan(instance)
        if result.solution is None:
            raise InputError(f"reference: no plan for its first push: {result.message}")
        self._horizon = start_receding_horizon(self._planner, instance, result)
        self._plan, self._start_s = self._horizon.builder.build(instance, result.solution), 0.0
        self._is_pending = True

    def replan(self, t_s: float, state: EstimatedState) -> Outcome:
        """Return an instant after t_s, s, and the plan from then on; None where the running plan goes on.

        A string says why there is no other plan than the running one.
        """
        if self._horizon is None:
            return None
        if self._is_pending:
            self._wait(t_s, state)
            return self._start(t_s)
        hit_s = float(self._horizon.hits_s.min())
        if t_s < hit_s:
            self._wait(t_s, state)
        if t_s < self._start_s:
            return None
        handover_s = self._next_instant(t_s + self._delay_s)
        if handover_s < hit_s:
            return self._approach(t_s, handover_s, state)
        return (
            self._watch(t_s, state)
            if t_s >= hit_s + self._settings.replan.watch_after_steps * self._planner.model.dt_s
            else None
        )

    def _read_instance(self, plan: Plan) -> Instance:
        """Return the push that a plan describes, aimed short."""
        model = self._planner.model
        w = np.array([model.thing.coordinates(q[: self._system.n_q_u]) for q in (plan.q[0], plan.q[-1])])
        moved = w[1] - w[0]
        if float(np.linalg.norm(moved)) < self._settings.replan.least_travel_m:
            raise InputError("reference: the object does not move in it; receding horizon needs a push")
        heading = float(np.arctan2(moved[1], moved[0])) if model.n_o > 1 else 0.0
        self._final_w, d = w[1], direction(model, heading)
        distance, settings = float(d @ moved), self._settings
        short = min(settings.caution * distance + settings.caution_m, 0.5 * distance)
        goal = float(d @ w[1]) - (short if isinstance(model.thing, Block) else 0.0)
        x_0 = np.concatenate([plan.u[0], w[0], np.zeros(model.n_r + model.n_o)])
        return Instance(x_0, plan.q[0, : self._system.n_q_u], heading, goal)

    # Before a hit.

    def _wait(self, t_s: float, state: EstimatedState) -> None:
        """See whether the object rests, and where."""
        if self._slide is not None:
            self._observe(t_s, state)
        if self._slide is None or self._slide.observer.is_resting:
            self._resting.append(self._planner.model.thing.coordinates(state.q[: self._system.n_q_u]))

    def _start(self, t_s: float) -> Outcome:
        """Hand the first push out; too late for its start, the reference is played as it is."""
        self._is_pending = False
        if t_s + self._delay_s > self._start_s:
            self._horizon = None
            late_s = t_s + self._delay_s - self._start_s
            return f"the first push was found {late_s:.3f} s too late: the reference is played as it is"
        return self._start_s, self._plan

    def _approach(self, t_s: float, handover_s: float, state: EstimatedState) -> Outcome:
        assert self._horizon is not None
        q, v = self._predict(t_s, handover_s, state)
        if self._slide is not None:
            self._horizon = replace(self._horizon, planner=self._learn(self._slide, state))
        rest = self._rest(state)
        q[: self._system.n_q_u] = self._resting_q_u(rest, state)
        return self._take(self._aimed(self._horizon, rest).replan(handover_s, q, v), handover_s)

    def _aimed(self, horizon: RecedingHorizon, rest: FloatArray) -> RecedingHorizon:
        """Return a horizon that hits a block, which rests at (n_o,), where it will then face the goal."""
        instance, thing = horizon.instance, self._planner.model.thing
        if not isinstance(thing, Block):
            return horizon
        travel = instance.goal - float(direction(self._planner.model, instance.heading_rad) @ rest)
        aim_m = aim(thing, self._settings, rest, travel, self._final_w)
        return replace(horizon, instance=replace(instance, aim_m=aim_m))

    def _next_instant(self, t_s: float) -> float:
        """Return the first instant of the running plan's grid from t_s on."""
        assert self._horizon is not None
        dt = self._planner.model.dt_s
        return self._horizon.t_s + dt * max(float(np.ceil((t_s - self._horizon.t_s) / dt - 1e-6)), 0.0)

    def _predict(self, t_s: float, handover_s: float, state: EstimatedState) -> tuple[FloatArray, FloatArray]:
        """Return the state at the hand-over: the arm keeps its deviation from the reference, the object rests."""
        system = self._system
        q, v = state.q.copy(), np.zeros(system.n_v)
        (u_now, du_now), (u_then, du_then) = self._reference(t_s), self._reference(handover_s)
        q[system.n_q_u :] += u_then - u_now
        v[system.n_v_u :] = state.v[system.n_v_u :] + du_then - du_now
        return q, v

    def _reference(self, t_s: float) -> tuple[FloatArray, FloatArray]:
        plan, t = self._plan, t_s - self._start_s
        assert plan.du is not None
        u, du = (interpolate_rows(t, plan.times_s, rows) for rows in (plan.u, plan.du))
        return u, du if t <= plan.times_s[-1] else np.zeros_like(du)

    # After it.

    def _watch(self, t_s: float, state: EstimatedState) -> Outcome:
        """Observe the slide; search for another push once its hit would find the object at rest."""
        assert self._horizon is not None
        planner = self._horizon.planner
        model = planner.model
        if not isinstance(model.thing, Block):
            return None
        if self._slide is None or self._slide.instance is not self._horizon.instance:
            observer = SlideObserver(model.thing.breakaway_n / float(model.thing.inertia[0]), self._settings.replan)
            self._slide, self._resting = Slide(planner, self._horizon.instance, observer), []
        self._wait(t_s, state)
        start_s = self._next_instant(t_s + self._settings.search_delay_s)
        stop = self._slide.observer.stop()
        hit_s = start_s + min(self._settings.contact_times_s)
        if (
            stop is None
            or stop[0] > hit_s
            or not self._slide.observer.is_settled
            or self._searches >= self._settings.replan.most_searches
        ):
            return None
        return self._push_again(t_s, start_s, state)

    def _observe(self, t_s: float, state: EstimatedState) -> None:
        assert self._slide is not None
        w = self._slide.planner.model.thing.coordinates(state.q[: self._system.n_q_u])
        self._slide.observer.add(t_s, self._slide.travel(w))

    def _push_again(self, t_s: float, start_s: float, state: EstimatedState) -> Outcome:
        assert self._horizon is not None and self._slide is not None
        model = self._planner.model
        rest = self._rest(state)
        d = direction(model, float(rest[2]))
        missing = float(d @ (self._final_w - rest))
        if missing < self._settings.correct_from_m:
            return None
        q, v = self._predict(t_s, start_s, state)
        q[: self._system.n_q_u] = self._resting_q_u(rest, state)
        horizon = replace(self._horizon, planner=self._learn(self._slide, state))
        self._searches += 1
        goal = float(d @ self._final_w) - self._settings.later_caution * missing
        return self._take(horizon.push_again(start_s, q, v, goal, float(rest[2])), start_s)

    def _rest(self, state: EstimatedState) -> FloatArray:
        """Return w (n_o,) of the object where it rests, or where it will, turned as it is now."""
        slide = self._slide
        if self._resting or slide is None:
            return np.asarray(np.mean(self._resting, axis=0))
        model, stop = slide.planner.model, slide.observer.stop()
        assert stop is not None
        d, w = direction(model, slide.instance.heading_rad), model.thing.coordinates(state.q[: self._system.n_q_u])
        return np.asarray(w + d * (stop[1] - slide.travel(w)))

    def _resting_q_u(self, rest: FloatArray, state: EstimatedState) -> FloatArray:
        assert self._horizon is not None
        heading = float(rest[2]) if isinstance(self._planner.model.thing, Block) else self._horizon.instance.heading_rad
        return self._planner.model.thing.q_u(rest, state.q[: self._system.n_q_u], heading)

    def _learn(self, slide: Slide, state: EstimatedState) -> ContactImplicitPlanner:
        """Return the planner with friction and restitution as the slide shows them."""
        model, instance, observer = slide.planner.model, slide.instance, slide.observer
        learnt = model.settings.replan
        travel = max(slide.travel(self._rest(state)), learnt.least_travel_m)
        ratio = observer.effect_of_hit(travel, instance.goal - instance.start(model))
        restitution = float(np.clip((1.0 + model.settings.restitution) * ratio - 1.0, 0.0, learnt.largest_restitution))
        return slide.planner.adapted(observer.slowing * float(model.thing.inertia[0]), restitution)

    def _take(self, outcome: ReplanOutcome, start_s: float) -> Outcome:
        if outcome.plan is None:
            return _reason(outcome, start_s) if outcome.status in SEARCHED_IN_VAIN else None
        self._horizon, self._plan, self._start_s = outcome.horizon, outcome.plan, start_s
        return start_s, outcome.plan


def _reason(outcome: ReplanOutcome, start_s: float) -> str:
    """Return why there is no plan from start_s on, with the residuals of the best try."""
    message = "" if outcome.result is None else f" ({outcome.result.message})"
    return f"from {start_s:.3f} s on: {outcome.status.value}{message}"
