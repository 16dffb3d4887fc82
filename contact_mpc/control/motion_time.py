"""The time of a motion, which stands still while the bridge holds for want of plans, so that the motion goes on later.

The bridge follows the plan stamped t_k from t_k + plan_delay on, at most until it is older than that, one period and
`plan_timeout_s`; and it holds at a plan without points, which is what comes of an estimate that is stale. A reference
whose time ran on meanwhile would be far from the command that is held, further with every such hold, and would be
refused for that. So a controller is given, in place of a stamp t, the time t - w, w the time for which the bridge has
held. Its own last plan, at that time, then gives the command that is held, and the reference goes on from where it was:

    next plan at t > t_k + T_p + T_timeout:  w <- w + t - (t_k + T_p + T_timeout)
    stale estimates from t_s on, next plan at t:  w <- w + t - t_s

Both follow from the stamps of the states alone, so that a run that was recorded is computed again with the same. Where
neither happens nothing differs from a controller without it.
"""

from collections.abc import Mapping
from dataclasses import replace

from contact_mpc.control.controller import Controller
from contact_mpc.control.tracking.config import TrackerConfig
from contact_mpc.control.tracking.follower import Reference, TrackerOutput
from contact_mpc.settings.units import NS_PER_S
from contact_mpc.task.loop_records import EstimatedState


class MotionTime:
    """A controller whose reference stands still while the bridge holds; has the face of `Controller`.

    Parameters
    ----------
    controller : Controller
        What follows the reference, given the time of the motion as the stamp of its states.
    config : TrackerConfig
        For the age at which the bridge takes a plan for stale: `plan_timeout_s`.
    """

    def __init__(self, controller: Controller, config: TrackerConfig) -> None:
        self._controller = controller
        self.system, self.period_ns = controller.system, controller.period_ns
        self._longest_ns = controller.period_ns + round(config.plan_timeout_s * NS_PER_S)
        self._reference: Reference | None = None
        self._waited_ns = self._waited_before_ns = 0  # in all; before the reference was set
        self._newest_ns: int | None = None  # stamp of the state before
        self._held_ns: int | None = None  # since when estimates have been stale

    @property
    def inner(self) -> Controller:
        """The controller itself."""
        return self._controller

    def waited_ns(self, t_ns: int) -> int:
        """Return for how long the reference that is followed has stood still by t_ns, ns."""
        standing_ns = 0 if self._held_ns is None else max(t_ns - self._held_ns, 0)
        return self._waited_ns - self._waited_before_ns + standing_ns

    def warm_up(self) -> None:
        """Compile, or load what is compiled, before the clock runs."""
        self._controller.warm_up()

    def tune(self, changes: Mapping[str, float]) -> None:
        """Take valid values of tunable parameters, by name, from the next step on."""
        self._controller.tune(changes)

    def reset(self) -> None:
        """Forget the past, but not the reference, nor for how long it has stood still."""
        self._controller.reset()

    def set_reference(self, reference: Reference | None) -> None:
        """Follow another reference from now on; None holds."""
        self._reference, self._waited_before_ns = reference, self._waited_ns
        if reference is not None and self._waited_ns:
            reference = replace(reference, start_ns=reference.start_ns - self._waited_ns)
        self._controller.set_reference(reference)

    def hold(self, t_ns: int) -> None:
        """Take note that the bridge is told to hold from the stamp t_ns on, until the next step."""
        self._count_gap(t_ns)
        if self._held_ns is None:
            self._held_ns = t_ns

    def step(self, state: EstimatedState) -> TrackerOutput:
        """Return the commands from a state on; without points, on which the bridge holds, where there are none."""
        self._count_gap(state.t_ns)
        if self._held_ns is not None:
            self._waited_ns += max(state.t_ns - self._held_ns, 0)
            self._held_ns = None
        if not self._waited_ns:
            return self._controller.step(state)
        output = self._controller.step(replace(state, t_ns=state.t_ns - self._waited_ns))
        return replace(output, plan=replace(output.plan, stamp_ns=state.t_ns))

    def _count_gap(self, t_ns: int) -> None:
        """Add the time for which the plan before was too old by t_ns; where the clock went back, begin again."""
        if self._newest_ns is not None and t_ns < self._newest_ns:
            self._begin_again()
        elif self._newest_ns is not None and self._held_ns is None:
            self._waited_ns += max(t_ns - self._newest_ns - self._longest_ns, 0)
        self._newest_ns = t_ns

    def _begin_again(self) -> None:
        """Forget the past and what was waited, but not the reference."""
        self._controller.reset()
        self._held_ns = None
        if self._waited_ns:
            self._waited_ns = 0
            self.set_reference(self._reference)
