"""Goes to the reference's last pose, however far: segment after segment, each planned from the state that is there.

A segment is followed by the tracker (the object is held and moves) or played back (fingers let go and grip anew). When
a segment has ended, the planner says what comes next from the estimated state, so that what one segment missed the
next makes good; while it plans, the last command stays in force. Everything is a function of the states that were
given and, where another process plans, of the steps at which its answers were taken, so that a recorded run can be
recomputed.
"""

import time
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from contact_mpc.control.tracking.config import TrackerConfig
from contact_mpc.control.tracking.follower import (
    BAD_STATE,
    NO_REFERENCE,
    NOT_FOLLOWING,
    OBJECT_LOST,
    OK,
    Reference,
    TrackerOutput,
)
from contact_mpc.control.tracking.playback import Playback
from contact_mpc.control.tracking.tracker import Tracker
from contact_mpc.errors import InputError
from contact_mpc.model.kinematic_tree import REVOLUTE
from contact_mpc.model.system import System
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.units import NS_PER_S
from contact_mpc.task.loop_records import CommandPlan, EstimatedState
from contact_mpc.task.plan import Plan
from contact_mpc.task.segment import SEARCHING, Segment, SegmentPlanner

LOOK_NS = 300_000_000  # at the goal, until it is asked again whether the object is still there
REST_M_S, REST_RAD_S = 2e-3, 0.02  # speed of an object that counts as at rest
REGRASPING, PLANNING, NO_SEGMENT = "regrasping", "planning", "no_segment"


class Reorienting:
    """Turns without end: plans segments from the measured state and follows them. It has the face of `Tracker`.

    Parameters
    ----------
    system, config
        What moves, and the parameters of the tracker.
    planner : SegmentPlanner
        What comes next.
    """

    def __init__(self, system: System, config: TrackerConfig, planner: SegmentPlanner) -> None:
        self.system, self.config, self._planner = system, config, planner
        self._tracker, self._player = Tracker(system, config), Playback(system, config)
        self.period_ns = self._tracker.period_ns
        self._reference: Reference | None = None
        self._segment: Segment | None = None
        self._end_ns = 0
        self._is_searching, self._searched_s = False, 0.0
        self._last: CommandPlan | None = None
        self._failure = ""

    def warm_up(self) -> None:
        """Compile the tracker."""
        self._tracker.warm_up()

    def tune(self, changes: Mapping[str, float]) -> None:
        """Take valid values of tunable parameters, by name, from the next step on."""
        self._tracker.tune(changes)

    def reset(self) -> None:
        """Forget the segment: the next state begins a new one."""
        self._tracker.reset()
        self._segment, self._last, self._failure, self._is_searching = None, None, "", False

    def set_reference(self, reference: Reference | None) -> None:
        """Go to the last pose of another reference from now on; None holds."""
        self.reset()
        self._reference = reference
        self._tracker.set_reference(None)
        if reference is not None:
            self._planner.begin(reference.plan)

    def step(self, state: EstimatedState) -> TrackerOutput:
        """Follow the segment that is due, and plan the next where it has ended; solve_ms is without the planning."""
        started, self._searched_s = time.perf_counter(), 0.0
        if self._reference is None or state.t_ns < self._reference.start_ns:
            return self._hold(state, NO_REFERENCE)
        try:
            self.system.check_q(state.q)
        except InputError:
            return self._hold(state, BAD_STATE)
        if self._failure:
            return self._hold(state, self._failure)
        if self._is_due(state):
            self._go_on(state)
        output = self._follow(state)
        if output.status in (OBJECT_LOST, NOT_FOLLOWING):  # from the segment: let go and grip anew where it is now
            self._tracker.reset()
            self._go_on(state)
            output = self._follow(state)
        if not output.plan.is_hold:
            self._last = output.plan
        solve_ms = 1e3 * (time.perf_counter() - started - self._searched_s)
        return replace(output, solve_ms=solve_ms, part="" if self._segment is None else self._segment.note)

    def _is_due(self, state: EstimatedState) -> bool:
        """Whether to ask for the next segment."""
        if self._segment is None or self._is_searching:
            return True
        return state.t_ns >= self._end_ns and self._is_at_rest(state)

    def _go_on(self, state: EstimatedState) -> None:
        """Begin the next segment at the state; without one the last goes on resting at its end."""
        u, was_searching = self._command_at(state.t_ns), self._is_searching
        began = time.perf_counter()
        segment = self._planner.next_segment(state.q, u)
        self._searched_s += time.perf_counter() - began
        self._is_searching = segment is SEARCHING
        if self._is_searching:
            if not was_searching:
                self._rest(state, u)
            return
        if segment is None:
            if was_searching:  # at the goal: it looks again in a while
                self._end_ns = state.t_ns + LOOK_NS
            return
        if segment.plan is None:
            self._failure = f"{NO_SEGMENT}: {segment.reason}"
            return
        self._segment = segment
        self._end_ns = state.t_ns + round((float(segment.plan.times_s[-1]) + segment.settle_s) * NS_PER_S)
        reference = Reference(state.t_ns, segment.plan)
        if segment.is_tracked:
            self._tracker.set_reference(reference)
            self._tracker.go_on_from(self._last)
        else:
            self._player.set_reference(reference)

    def _rest(self, state: EstimatedState, u: FloatArray) -> None:
        """Play the command u (n_a,) from the state on, until there is something else."""
        q, u = np.tile(state.q, (2, 1)), np.tile(u, (2, 1))
        plan = Plan(np.array([0.0, 1.0]), q, u, np.zeros_like(u), np.zeros((2, 0, 3)))
        self._segment = Segment(plan, is_tracked=False)
        self._player.set_reference(Reference(state.t_ns, plan))

    def _is_at_rest(self, state: EstimatedState) -> bool:
        """Whether the objects rest, or have been waited for long enough."""
        assert self._segment is not None
        turns = self.system.tree.dof_kind[: self.system.n_v_u] == REVOLUTE
        limits = np.where(turns, REST_RAD_S, REST_M_S)
        is_late = state.t_ns >= self._end_ns + round(self._segment.rest_s * NS_PER_S)
        return is_late or bool(np.all(np.abs(state.v[: self.system.n_v_u]) <= limits))

    def _follow(self, state: EstimatedState) -> TrackerOutput:
        if self._failure or self._segment is None:
            return self._hold(state, self._failure or OK)
        if self._segment.is_tracked:
            return self._tracker.step(state)
        return replace(self._player.step(state), status=PLANNING if self._is_searching else REGRASPING)

    def _command_at(self, t_ns: int) -> FloatArray:
        """Return the command in force at t_ns: that of the last plan, of the reference before the first."""
        assert self._reference is not None
        return self._reference.plan.u[0].copy() if self._last is None else self._last.sample_u(t_ns)

    def _hold(self, state: EstimatedState, status: str) -> TrackerOutput:
        return TrackerOutput(CommandPlan.hold(state.t_ns, self.system.n_a), status)
