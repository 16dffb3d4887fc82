"""Plays a reference back: its own commands, velocities and feed-forward torques, without looking at the object.

With the joint impedance of the command bridge this is the control law of Sleiman et al. (seeds/004, equation (15)):

    tau = tau_opt(t) + Kp (q_opt(t) - q) + Kd (dq_opt(t) - dq)

with tau_opt held between the instants of the plan, q_opt and dq_opt linear. Where bridge or robot compensate gravity,
the plan's torques come without g(q_opt), and the law has g(q) in its place. Wrong where the object is not where the
plan expects it, unless a `Replanner` replaces the plan from some instant on while it runs.
"""

import time
from collections.abc import Mapping
from typing import Protocol

import numpy as np

from contact_mpc.control.tracking.config import TrackerConfig
from contact_mpc.control.tracking.follower import NO_REFERENCE, OK, PLAN_KEPT, Reference, TrackerOutput, object_error
from contact_mpc.model.system import System
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.units import NS_PER_S
from contact_mpc.task.interpolation import interpolate_rows
from contact_mpc.task.loop_records import CommandPlan, EstimatedState
from contact_mpc.task.plan import EDGE_S, Plan

REPLANNED = "replanned"


class Replanner(Protocol):
    """What may replace the plan that runs; a function of the calls since `begin`."""

    def begin(self, plan: Plan) -> None:
        """Take the plan that is about to run."""

    def replan(self, t_s: float, state: EstimatedState) -> tuple[float, Plan] | str | None:
        """Return an instant after t_s, s of the motion, and the plan to follow from then on; None: go on.

        A string says why a plan was searched in vain: the running one goes on as well.
        """


class Playback:
    """Hands out the part of the reference that lies ahead; has the face of `Tracker`.

    Before its start and after its end the reference rests at its first and last command, without feed-forward.

    Parameters
    ----------
    system, config
        What moves, and the parameters.
    replanner : Replanner, optional
        What replaces the plan while it runs; nothing by default.
    """

    def __init__(self, system: System, config: TrackerConfig, replanner: Replanner | None = None) -> None:
        self.system, self.config, self._replanner = system, config, replanner
        self.period_ns = NS_PER_S // config.mpc_rate_hz
        self._horizon_s = config.h_s * config.horizon_steps
        self._reference: Reference | None = None

    def warm_up(self) -> None:
        """Nothing to compile."""

    def tune(self, _changes: Mapping[str, float]) -> None:
        """Nothing to tune: no parameter that may change counts here."""

    def reset(self) -> None:
        """Nothing to forget: a step depends on the reference and the time alone."""

    def set_reference(self, reference: Reference | None) -> None:
        """Play another reference from now on; None holds."""
        self._reference = reference
        if reference is not None:
            self._times_s, self._rows = _lay_out(reference.plan)
            if self._replanner is not None:
                self._replanner.begin(reference.plan)

    def step(self, state: EstimatedState) -> TrackerOutput:
        """Return the reference from the state's stamp on, over the horizon."""
        started = time.perf_counter()
        if self._reference is None:
            return TrackerOutput(CommandPlan.hold(state.t_ns, self.system.n_a), NO_REFERENCE)
        t_s = (state.t_ns - self._reference.start_ns) / NS_PER_S
        angle_deg, distance_mm = object_error(self.system, self._reference.plan, t_s, state.q)
        found = None if self._replanner is None else self._replanner.replan(t_s, state)
        status, note, replacement = OK, "", None
        if isinstance(found, str):
            status, note = PLAN_KEPT, found
        elif found is not None:
            status, replacement = REPLANNED, found
            self._splice(*found)
        plan = self._cut(state.t_ns, t_s)
        return TrackerOutput(
            plan, status, 1e3 * (time.perf_counter() - started), object_error_deg=angle_deg,
            object_error_mm=distance_mm, replacement=replacement, note=note,
        )  # fmt: skip

    def _splice(self, start_s: float, plan: Plan) -> None:
        """Follow a plan from start_s on, and what was followed before until then."""
        times_s, rows = _lay_out(plan)
        edge_s = start_s - EDGE_S
        kept = self._times_s < edge_s - 0.5 * EDGE_S
        last = interpolate_rows(edge_s, self._times_s, self._rows)
        self._rows = np.vstack([self._rows[kept], last, rows[1:]])
        self._times_s = np.concatenate([self._times_s[kept], [edge_s], times_s[1:] + start_s])

    def _cut(self, stamp_ns: int, t_s: float) -> CommandPlan:
        """Return the points from t_s to the end of the horizon, with interpolated ones at both ends."""
        inside = (self._times_s > t_s + 0.5 * EDGE_S) & (self._times_s < t_s + self._horizon_s - 0.5 * EDGE_S)
        times_s = np.concatenate([[t_s], self._times_s[inside], [t_s + self._horizon_s]])
        n_a = self.system.n_a
        rows = np.stack([np.interp(times_s, self._times_s, column) for column in self._rows.T], axis=1)
        u, du, tau_ff = rows[:, :n_a], rows[:, n_a : 2 * n_a], rows[:, 2 * n_a :]
        return CommandPlan(stamp_ns, times_s - t_s, u.copy(), du.copy(), tau_ff.copy())


def _lay_out(plan: Plan) -> tuple[FloatArray, FloatArray]:
    """Return times (n,) and rows [u, du, tau_ff] (n, 3 n_a) of a plan, with a resting point beyond each end."""
    plan = plan.linear()
    du = plan.du
    if du is None:
        slopes = np.diff(plan.u, axis=0) / np.diff(plan.times_s)[:, None]
        du = np.vstack([slopes, np.zeros((1, plan.u.shape[1]))])
    rows = np.hstack([plan.u, du, plan.tau_ff])
    rest = np.hstack([plan.u, np.zeros_like(du), np.zeros_like(plan.tau_ff)])
    times_s = np.concatenate([[plan.times_s[0] - EDGE_S], plan.times_s, [plan.times_s[-1] + EDGE_S]])
    return times_s, np.vstack([rest[:1], rows, rest[-1:]])
