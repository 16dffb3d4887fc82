"""The tracker: follows a reference of object poses and commands by receding-horizon MPC.

A pure function of the states it is given, so that a recorded run can be recomputed. The commands of a solve are linear
between the stages of the model: the command in force at the stamp, the same plan's at the time at which the new one
takes effect, then u_0 at h, u_1 at 2 h, ...
"""

import time
from dataclasses import dataclass

import numpy as np

from contact_mpc.control.tracking.command_adaptation import CommandAdaptation
from contact_mpc.control.tracking.command_plan import lay_out_commands
from contact_mpc.control.tracking.config import TrackerConfig
from contact_mpc.control.tracking.drive_watch import DriveWatch
from contact_mpc.control.tracking.lag_watch import LagWatch
from contact_mpc.control.tracking.mpc import Mpc
from contact_mpc.control.tracking.slip_watch import SlipWatch
from contact_mpc.errors import InputError
from contact_mpc.model.kinematic_tree import REVOLUTE
from contact_mpc.model.system import System
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.units import NS_PER_S
from contact_mpc.task.loop_records import CommandPlan, EstimatedState
from contact_mpc.task.plan import Plan

OK, LAGGING = "ok", "lagging"
NO_REFERENCE, OBJECT_LOST, NOT_FOLLOWING, MODEL_FAILED, BAD_STATE = (
    "no_reference",
    "object_lost",
    "not_following",
    "model_failed",
    "bad_state",
)
PLAN_KEPT = "plan_kept"
NOTE_SEPARATOR = "; "


@dataclass(frozen=True)
class Reference:
    """A plan that starts at start_ns; its q gives the objects' poses, its u the commands."""

    start_ns: int
    plan: Plan


@dataclass(frozen=True)
class TrackerOutput:
    """A solve.

    Attributes
    ----------
    plan : CommandPlan
        Commands; without points (hold) unless status is "ok", "lagging", "replanned" or "plan_kept".
    status : str
        "ok", "lagging" (the object is behind its reference), "no_reference", "object_lost", "not_following" (it has
        been lagging for too long, which is less where fingers slide), "model_failed" (the model has no next state) or
        "bad_state"; of plans that are played also "replanned", or "plan_kept": another one was
        searched in vain, and the running one goes on.
    solve_ms : float
        Wall time, ms.
    iterations : int
        Newton iterations of the last roll-out.
    residual : float
        Largest change of a command in the last linearisation, rad.
    object_error_deg, object_error_mm : float
        Rotation and translation error of the objects to the reference at the stamp.
    replacement : (float, Plan), optional
        A plan that takes the reference's place, and from when on, s of the motion.
    note : str
        With "plan_kept": why there is no other plan; else what else is seen: joints that lack torque, fingers that
        slide.
    """

    plan: CommandPlan
    status: str
    solve_ms: float = 0.0
    iterations: int = 0
    residual: float = 0.0
    object_error_deg: float = float("nan")
    object_error_mm: float = float("nan")
    replacement: tuple[float, Plan] | None = None
    note: str = ""


class Tracker:
    """Receding-horizon tracking of a reference.

    Parameters
    ----------
    system, config
        What moves, and the parameters.
    mpc : Mpc, optional
        What solves a step in place of the MPC on the smoothed linearisation, see `control.tracking.comparison`.
    """

    def __init__(self, system: System, config: TrackerConfig, mpc: Mpc | None = None) -> None:
        self.system, self.config = system, config
        self.period_ns = NS_PER_S // config.mpc_rate_hz
        self._mpc = Mpc(system, config) if mpc is None else mpc
        self._adaptation = CommandAdaptation(system, config.adaptation_gain)
        self._instants_s: FloatArray = config.h_s * np.arange(1.0, config.horizon_steps + 1)
        self._reference: Reference | None = None
        self._last: CommandPlan | None = None
        self._lag = LagWatch(config.lag_angle_deg, config.lag_distance_m)
        self._drives = DriveWatch(system, config.torque_shortfall)
        self._slip = SlipWatch(system, self._mpc.model, config.contact_reach_m, config.slip_speed_m_s)
        self._is_lost = self._has_given_up = False

    @property
    def mpc(self) -> Mpc:
        """The problem with its horizon."""
        return self._mpc

    def warm_up(self) -> None:
        """Compile, or load what is compiled, by one solve at the system's default configuration."""
        system, T = self.system, self.config.horizon_steps
        q, u = system.q_default, system.q_default[system.n_q_u :]
        self._mpc.u[:] = u
        self._mpc.solve(q, np.tile(q, (T + 1, 1)), np.tile(u, (T, 1)), u, iterations=1)
        self._mpc.reset()

    def set_reference(self, reference: Reference | None) -> None:
        """Follow another reference from now on, also after one that the object was lost from; None holds."""
        self._reference = reference
        self._is_lost = self._has_given_up = False
        self._adaptation.reset()
        self._lag.reset()

    def reset(self) -> None:
        """Forget the last solution, and that the object was lost or did not follow."""
        self._last, self._is_lost, self._has_given_up = None, False, False
        self._lag.reset()
        self._drives.reset()
        self._slip.reset()
        self._adaptation.reset()
        self._mpc.reset()

    def go_on_from(self, plan: CommandPlan | None) -> None:
        """Take a command plan, which is in force, as the last solution; None: the reference's commands are."""
        self._last = plan

    def step(self, state: EstimatedState) -> TrackerOutput:
        """Solve from an estimated state."""
        started = time.perf_counter()
        try:
            self.system.check_q(state.q)
        except InputError:
            return self._hold(state, BAD_STATE)
        if self._reference is None:
            return self._hold(state, NO_REFERENCE)
        t_s = (state.t_ns - self._reference.start_ns) / NS_PER_S
        angle_deg, distance_mm = object_error(self.system, self._reference.plan, t_s, state.q)
        config = self.config
        self._is_lost |= angle_deg > config.lost_angle_deg or distance_mm > 1e3 * config.lost_distance_m
        if self._is_lost:
            return self._hold(state, OBJECT_LOST, angle_deg, distance_mm)
        before = self._command_at(state.t_ns, t_s)
        note = "" if self._has_given_up else self._watch(state, before)
        lag_s = self._lag.update(state.t_ns, angle_deg, distance_mm)
        self._has_given_up |= lag_s >= config.give_up_s or min(lag_s, self._slip.sliding_s) >= config.slip_give_up_s
        if self._has_given_up:
            return self._hold(state, NOT_FOLLOWING, angle_deg, distance_mm, note)
        if not self._solve(state, t_s, before):
            self._mpc.reset()
            return self._hold(state, MODEL_FAILED, angle_deg, distance_mm)
        self._last = self._make_plan(state.t_ns, t_s, before)
        hz = self._mpc.horizon
        return TrackerOutput(
            self._last, LAGGING if self._lag.is_lagging else OK, 1e3 * (time.perf_counter() - started),
            int(hz.counts[0]), float(hz.last_change[0]), angle_deg, distance_mm, note=note,
        )  # fmt: skip

    def _watch(self, state: EstimatedState, u: FloatArray) -> str:
        """Return what is to be told of drives and fingers at a state under the command u (n_a,); "" for nothing."""
        weak = self._drives.update(state.t_ns, state.q[self.system.n_q_u :], u, state.tau)
        sliding = self._slip.update(state.t_ns, state.q)
        notes = [f"less torque than commanded: {', '.join(weak)}"] if weak else []
        notes += [f"fingers slide: {', '.join(sliding)}"] if sliding else []
        return NOTE_SEPARATOR.join(notes)

    def _solve(self, state: EstimatedState, t_s: float, before: FloatArray) -> bool:
        assert self._reference is not None
        plan, mpc = self._reference.plan, self._mpc
        times = t_s + self._instants_s
        q_ref = np.array([plan.sample_q(self.system, t) for t in (t_s, *times)])
        u_plan = np.array([plan.sample_u(t) for t in times])
        for k, stage_s in enumerate(self._instants_s):
            mpc.u[k] = self._command_at(state.t_ns + round(stage_s * NS_PER_S), times[k])
        if not mpc.solve(state.q, q_ref, u_plan + self._adaptation.offset, before):
            return False
        self._adaptation.update(mpc.horizon.B[0], mpc.u[0] - u_plan[0])
        return True

    def _command_at(self, t_ns: int, t_s: float) -> FloatArray:
        """Return the command of the last plan at t_ns, of the reference where there is none."""
        if self._last is None:
            assert self._reference is not None
            return self._reference.plan.sample_u(t_s)
        return self._last.sample_u(t_ns)

    def _make_plan(self, stamp_ns: int, t_s: float, before: FloatArray) -> CommandPlan:
        delay_s, at_delay = self.config.plan_delay_s, None
        if delay_s > 0.0:
            at_delay = (delay_s, self._command_at(stamp_ns + round(delay_s * NS_PER_S), t_s + delay_s))
        return lay_out_commands(stamp_ns, before, at_delay, self._instants_s, self._mpc.u)

    def _hold(
        self,
        state: EstimatedState,
        status: str,
        angle_deg: float = float("nan"),
        distance_mm: float = float("nan"),
        note: str = "",
    ) -> TrackerOutput:
        self._last = None
        plan = CommandPlan.hold(state.t_ns, self.system.n_a)
        return TrackerOutput(plan, status, object_error_deg=angle_deg, object_error_mm=distance_mm, note=note)


def object_error(system: System, plan: Plan, t_s: float, q: FloatArray) -> tuple[float, float]:
    """Return rotation, degrees, and translation, mm, of the objects at q (n_q,) from where a plan has them at t_s."""
    error = system.difference(plan.sample_q(system, t_s), q)[: system.n_v_u]
    turns = system.tree.dof_kind[: system.n_v_u] == REVOLUTE
    return float(np.rad2deg(np.linalg.norm(error[turns]))), float(1e3 * np.linalg.norm(error[~turns]))
