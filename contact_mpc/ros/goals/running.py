"""What the tracker follows now: how far it is, and how it is left for something else without a jump."""

from contact_mpc.model.system import System
from contact_mpc.ros.goals.goal import HandOver
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.units import NS_PER_S
from contact_mpc.task.plan import Plan
from contact_mpc.task.spliced_plan import drop_past, splice_plans, stop_plan

STOP_S = 0.4  # in which a cancelled motion comes to rest


class Running:
    """The reference that was handed over last.

    Parameters
    ----------
    system : System
        Objects and joints of the plans.
    """

    def __init__(self, system: System) -> None:
        self._system = system
        self._start_ns = self._waited_ns = 0
        self._plan: Plan | None = None

    @property
    def end_s(self) -> float:
        """Duration of what is followed, s; 0 where nothing is."""
        return 0.0 if self._plan is None else float(self._plan.times_s[-1])

    @property
    def is_idle(self) -> bool:
        """Whether nothing is followed."""
        return self._plan is None

    def time_s(self, t_ns: int) -> float:
        """Return the time of the motion that is followed, s; infinite where none is."""
        return float("inf") if self._plan is None else (t_ns - self._start_ns - self._waited_ns) / NS_PER_S

    def wait(self, start_ns: int, waited_ns: int) -> None:
        """Take note that the reference that starts at start_ns has stood still for waited_ns so far."""
        if start_ns == self._start_ns:
            self._waited_ns = waited_ns

    def is_over(self, t_ns: int, by_s: float = 0.0) -> bool:
        """Whether it has ended, for `by_s`, s."""
        return self.time_s(t_ns) >= self.end_s + by_s

    def sample(self, t_s: float) -> tuple[FloatArray, FloatArray]:
        """Return state q (n_q,) and commands u (n_a,) of the plan at its time t_s."""
        assert self._plan is not None
        return self._plan.sample_q(self._system, t_s), self._plan.sample_u(t_s)

    def follow(self, plan: Plan | None, start_ns: int) -> HandOver:
        """Follow a plan from start_ns on; None: nothing."""
        self._plan, self._start_ns, self._waited_ns = plan, start_ns, 0
        return HandOver(start_ns, plan)

    def forget(self) -> None:
        """Note that nothing is followed any more: who followed gave up."""
        self._plan = None

    def switch(self, t_ns: int, switch_s: float, following: Plan) -> HandOver:
        """Go over at the time switch_s of the plan into one that begins where it is then."""
        assert self._plan is not None
        return self._go_on_with(splice_plans(self._plan, switch_s, following, self._system), t_ns)

    def stop(self, t_ns: int) -> HandOver | None:
        """Come to rest along the plan; None where it rests already."""
        if self._plan is None or self.is_over(t_ns):
            return None
        return self._go_on_with(stop_plan(self._plan, max(self.time_s(t_ns), 0.0), STOP_S, self._system), t_ns)

    def _go_on_with(self, plan: Plan, t_ns: int) -> HandOver:
        """Follow a plan that begins as the one that runs; without its past, under a stamp that is new: halves of
        references are told apart by it.
        """
        past_s = max(self.time_s(t_ns), 0.0)
        start_ns = self._start_ns + self._waited_ns + round(past_s * NS_PER_S) + 1
        return self.follow(drop_past(plan, past_s, self._system), start_ns)
