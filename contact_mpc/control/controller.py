"""What follows a reference: the face of every controller, and a base class that leaves two methods to write."""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

import numpy as np

from contact_mpc.control.tracking.comparison.config import ComparisonConfig
from contact_mpc.control.tracking.config import TrackerConfig
from contact_mpc.control.tracking.follower import MODEL_FAILED, OK, Follower, Moment, Reference, TrackerOutput
from contact_mpc.model.system import System
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.task.loop_records import EstimatedState
from contact_mpc.task.plan import Plan
from contact_mpc.task.task import TaskConfig


@dataclass
class Patience:
    """Whether a step waits for what another process searches.

    Attributes
    ----------
    mode : "look", "wait" or "leave"
        Take what is there by now; wait for it, or leave it, as the recorded step did that is computed again.
    """

    mode: Literal["look", "wait", "leave"] = "look"


@dataclass(frozen=True)
class ControllerSetup:
    """What a controller is built from: system, parameters, and the seed of one that draws at random.

    With `patience`, parts of long ways are searched by another process; without, by the step that needs them, which
    then takes as long: right where no clock runs meanwhile. `task` is the one that runs, where its file, which
    `config.task` names, may say something else: a start that is being tried, for one.
    """

    system: System
    config: TrackerConfig
    comparison: ComparisonConfig = field(default_factory=ComparisonConfig)
    seed: int = 0
    patience: Patience | None = None
    task: TaskConfig | None = None


class Controller(Protocol):
    """What follows a reference; a function of the states that it is given, so that a run can be recomputed."""

    system: System
    period_ns: int

    def warm_up(self) -> None:
        """Compile, or load what is compiled, before the clock runs."""

    def set_reference(self, reference: Reference | None) -> None:
        """Follow another reference from now on; None holds."""

    def tune(self, changes: Mapping[str, float]) -> None:
        """Take valid values of tunable parameters of `TrackerConfig`, by name, from the next step on."""

    def reset(self) -> None:
        """Forget the past, but not the reference."""

    def step(self, state: EstimatedState) -> TrackerOutput:
        """Return the commands from a state on; without points, on which the bridge holds, where there are none."""


class PlainController(Follower):
    """A controller of two methods; the rest is here: period, hold without a reference, a lost object, wrong commands.

    Parameters
    ----------
    setup : ControllerSetup
        System and parameters; `mpc_rate_hz`, `plan_delay_s`, `h_s`, `horizon_steps` and the limits of a lost object
        count for every controller.
    """

    def __init__(self, setup: ControllerSetup) -> None:
        super().__init__(setup.system, setup.config)

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
        super().set_reference(reference)
        if reference is not None:
            self.begin(reference.plan)

    def _follow(self, state: EstimatedState, plan: Plan, moment: Moment) -> TrackerOutput:
        """Return the commands of `compute`, linear from the command in force on."""
        t_s = moment.t_s
        u = np.asarray(self.compute(t_s, state, t_s + self._instants_s), dtype=np.float64)
        expected = (len(self._instants_s), self.system.n_a)
        if u.shape != expected or not np.all(np.isfinite(u)):
            note = f"commands of shape {u.shape}, expected finite ones of {expected}"
            return self._hold(state, MODEL_FAILED, moment, note)
        commands = self._lay_out(state.t_ns, t_s, self._command_at(state.t_ns, t_s), u)
        return TrackerOutput(
            commands, OK, moment.solve_ms, object_error_deg=moment.angle_deg, object_error_mm=moment.distance_mm
        )
