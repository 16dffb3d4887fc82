"""What follows a reference: what it is given and gives, and what every one does first with a state."""

import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from contact_mpc.control.tracking.command_plan import lay_out_commands
from contact_mpc.control.tracking.config import TrackerConfig
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
    part: str
        Of ways in parts: which one it is, and what is expected of it.
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
    part: str = ""


@dataclass(frozen=True)
class Moment:
    """Where a step stands: its beginning on the wall clock, s; the time of the motion, s; the objects' errors."""

    started_s: float
    t_s: float
    angle_deg: float
    distance_mm: float

    @property
    def solve_ms(self) -> float:
        """Wall time since the beginning of the step, ms."""
        return 1e3 * (time.perf_counter() - self.started_s)


class Follower(ABC):
    """Follows a reference at a fixed rate: holds at a bad state, without a reference and where the object is lost.

    Commands are linear between the instants `h_s`, 2 `h_s`, ... after a state.

    Parameters
    ----------
    system, config
        What moves, and the parameters: `mpc_rate_hz`, `h_s`, `horizon_steps` and the limits of a lost object.
    """

    def __init__(self, system: System, config: TrackerConfig) -> None:
        self.system, self.config = system, config
        self.period_ns = NS_PER_S // config.mpc_rate_hz
        self._instants_s: FloatArray = config.h_s * np.arange(1.0, config.horizon_steps + 1)
        self._reference: Reference | None = None
        self._last: CommandPlan | None = None
        self._is_lost = False

    def set_reference(self, reference: Reference | None) -> None:
        """Follow another reference from now on, also after one that the object was lost from; None holds."""
        self._reference, self._is_lost = reference, False

    def tune(self, changes: Mapping[str, float]) -> None:
        """Take valid values of tunable parameters, by name, from the next step on; nothing is forgotten."""
        self.config = self.config.model_copy(update=dict(changes))

    def reset(self) -> None:
        """Forget the last commands, and that the object was lost."""
        self._last, self._is_lost = None, False

    def step(self, state: EstimatedState) -> TrackerOutput:
        """Return the commands from an estimated state on."""
        started_s = time.perf_counter()
        try:
            self.system.check_q(state.q)
        except InputError:
            return self._hold(state, BAD_STATE)
        if self._reference is None:
            return self._hold(state, NO_REFERENCE)
        t_s = (state.t_ns - self._reference.start_ns) / NS_PER_S
        moment = Moment(started_s, t_s, *object_error(self.system, self._reference.plan, t_s, state.q))
        config = self.config
        self._is_lost |= moment.angle_deg > config.lost_angle_deg or moment.distance_mm > 1e3 * config.lost_distance_m
        if self._is_lost:
            return self._hold(state, OBJECT_LOST, moment)
        return self._follow(state, self._reference.plan, moment)

    @abstractmethod
    def _follow(self, state: EstimatedState, plan: Plan, moment: Moment) -> TrackerOutput:
        """Return the commands from a good state on, with the object where it can be followed."""

    def _command_at(self, t_ns: int, t_s: float) -> FloatArray:
        """Return the command of the last plan at t_ns, of the reference where there is none."""
        if self._last is None:
            assert self._reference is not None
            return self._reference.plan.sample_u(t_s)
        return self._last.sample_u(t_ns)

    def _lay_out(self, stamp_ns: int, t_s: float, before: FloatArray, u: FloatArray) -> CommandPlan:
        """Keep and return commands u (T, n_a) after the one in force, with that at which they take effect between."""
        delay_s, at_delay = self.config.plan_delay_s, None
        if delay_s > 0.0:
            at_delay = (delay_s, self._command_at(stamp_ns + round(delay_s * NS_PER_S), t_s + delay_s))
        self._last = lay_out_commands(stamp_ns, before, at_delay, self._instants_s, u)
        return self._last

    def _hold(self, state: EstimatedState, status: str, moment: Moment | None = None, note: str = "") -> TrackerOutput:
        self._last = None
        errors = (np.nan, np.nan) if moment is None else (moment.angle_deg, moment.distance_mm)
        plan = CommandPlan.hold(state.t_ns, self.system.n_a)
        return TrackerOutput(plan, status, object_error_deg=errors[0], object_error_mm=errors[1], note=note)


def object_error(system: System, plan: Plan, t_s: float, q: FloatArray) -> tuple[float, float]:
    """Return rotation, degrees, and translation, mm, of the objects at q (n_q,) from where a plan has them at t_s."""
    error = system.difference(plan.sample_q(system, t_s), q)[: system.n_v_u]
    turns = system.tree.dof_kind[: system.n_v_u] == REVOLUTE
    return float(np.rad2deg(np.linalg.norm(error[turns]))), float(1e3 * np.linalg.norm(error[~turns]))
