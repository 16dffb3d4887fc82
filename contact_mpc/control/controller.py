"""What follows a reference: the face of every controller, and a base class that leaves two methods to write."""

import time
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from contact_mpc.control.tracking.command_plan import lay_out_commands
from contact_mpc.control.tracking.comparison.config import ComparisonConfig
from contact_mpc.control.tracking.config import TrackerConfig
from contact_mpc.control.tracking.tracker import (
    BAD_STATE,
    MODEL_FAILED,
    NO_REFERENCE,
    OBJECT_LOST,
    OK,
    Reference,
    TrackerOutput,
    object_error,
)
from contact_mpc.errors import InputError
from contact_mpc.model.system import System
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.units import NS_PER_S
from contact_mpc.task.loop_records import CommandPlan, EstimatedState
from contact_mpc.task.plan import Plan


@dataclass(frozen=True)
class ControllerSetup:
    """What a controller is built from: system, parameters, and the seed of one that draws at random."""

    system: System
    config: TrackerConfig
    comparison: ComparisonConfig = field(default_factory=ComparisonConfig)
    seed: int = 0


class Controller(Protocol):
    """What follows a reference; a function of the states that it is given, so that a run can be recomputed."""

    system: System
    period_ns: int

    def warm_up(self) -> None:
        """Compile, or load what is compiled, before the clock runs."""

    def set_reference(self, reference: Reference | None) -> None:
        """Follow another reference from now on; None holds."""

    def reset(self) -> None:
        """Forget the past, but not the reference."""

    def step(self, state: EstimatedState) -> TrackerOutput:
        """Return the commands from a state on; without points, on which the bridge holds, where there are none."""


class PlainController(ABC):
    """A controller of two methods; the rest is here: period, hold without a reference, a lost object, wrong commands.

    Parameters
    ----------
    setup : ControllerSetup
        System and parameters; `mpc_rate_hz`, `plan_delay_s`, `h_s`, `horizon_steps` and the limits of a lost object
        count for every controller.
    """

    def __init__(self, setup: ControllerSetup) -> None:
        self.system, self.config = setup.system, setup.config
        self.period_ns = NS_PER_S // setup.config.mpc_rate_hz
        self._instants_s: FloatArray = setup.config.h_s * np.arange(1.0, setup.config.horizon_steps + 1)
        self._reference: Reference | None = None
        self._last: CommandPlan | None = None
        self._is_lost = False

    @abstractmethod
    def begin(self, plan: Plan) -> None:
        """Take the plan to follow; called before the first `compute` and with every new plan."""

    @abstractmethod
    def compute(self, t_s: float, state: EstimatedState, times_s: FloatArray) -> FloatArray:
        """Return commands u (k, n_a), rad (m), at the instants times_s (k,), s of the motion, h_s apart.

        t_s is the time of the motion at the state, whose q (n_q,) and v (n_v,) are those of the system.
        """

    def warm_up(self) -> None:  # noqa: B027  most have nothing to do here
        """Compile, where there is something to."""

    def set_reference(self, reference: Reference | None) -> None:
        """Follow another reference from now on; None holds."""
        self._reference = reference
        if reference is not None:
            self.begin(reference.plan)

    def reset(self) -> None:
        """Forget the last commands, and that the object was lost."""
        self._last, self._is_lost = None, False

    def step(self, state: EstimatedState) -> TrackerOutput:
        """Return the commands of `compute`, linear from the command in force on."""
        started = time.perf_counter()
        try:
            self.system.check_q(state.q)
        except InputError:
            return self._hold(state, BAD_STATE)
        if self._reference is None:
            return self._hold(state, NO_REFERENCE)
        t_s = (state.t_ns - self._reference.start_ns) * 1e-9
        errors = object_error(self.system, self._reference.plan, t_s, state.q)
        self._is_lost |= errors[0] > self.config.lost_angle_deg or errors[1] > 1e3 * self.config.lost_distance_m
        if self._is_lost:
            return self._hold(state, OBJECT_LOST, errors)
        u = np.asarray(self.compute(t_s, state, t_s + self._instants_s), dtype=np.float64)
        expected = (len(self._instants_s), self.system.n_a)
        if u.shape != expected or not np.all(np.isfinite(u)):
            note = f"commands of shape {u.shape}, expected finite ones of {expected}"
            return self._hold(state, MODEL_FAILED, errors, note)
        delay_s = self.config.plan_delay_s
        at_delay = (delay_s, self._in_force(state.t_ns + round(delay_s * 1e9), t_s + delay_s)) if delay_s > 0 else None
        self._last = lay_out_commands(state.t_ns, self._in_force(state.t_ns, t_s), at_delay, self._instants_s, u)
        solve_ms = 1e3 * (time.perf_counter() - started)
        return TrackerOutput(self._last, OK, solve_ms, object_error_deg=errors[0], object_error_mm=errors[1])

    def _in_force(self, t_ns: int, t_s: float) -> FloatArray:
        """Return the command of the last plan at t_ns, of the reference where there is none."""
        assert self._reference is not None
        return self._reference.plan.sample_u(t_s) if self._last is None else self._last.sample_u(t_ns)

    def _hold(
        self, state: EstimatedState, status: str, errors: tuple[float, float] = (np.nan, np.nan), note: str = ""
    ) -> TrackerOutput:
        self._last = None
        plan = CommandPlan.hold(state.t_ns, self.system.n_a)
        return TrackerOutput(plan, status, object_error_deg=errors[0], object_error_mm=errors[1], note=note)
