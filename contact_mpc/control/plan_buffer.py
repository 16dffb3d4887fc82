"""The plans that the bridge has received: which is in effect, which are to come, and which one lockstep waits for.

A plan stamped t_k takes effect at t_k + plan_delay; one that arrives later than that takes effect on arrival.
"""

from collections import deque

from contact_mpc.control.bridge_config import BridgeConfig
from contact_mpc.control.plan_interpolation import find_plan_defect
from contact_mpc.model.state import CommandPlan

MAX_PENDING = 8


class PlanBuffer:
    """Plans in the order of their stamps.

    Attributes
    ----------
    current : CommandPlan or None
        The plan in effect.
    """

    def __init__(self, config: BridgeConfig, n_a: int) -> None:
        self._config = config
        self._n_a = n_a
        self._pending: deque[CommandPlan] = deque(maxlen=MAX_PENDING)
        self._newest_ns: int | None = None
        self._first_tick_ns: int | None = None
        self.current: CommandPlan | None = None

    def clear(self) -> None:
        """Forget all plans and ticks."""
        self._pending.clear()
        self.current, self._newest_ns, self._first_tick_ns = None, None, None

    def add(self, plan: CommandPlan, now_ns: int | None) -> str | None:
        """Take a plan; returns why it was refused, or None.

        A plan that is refused for what it says counts as one that asks to hold, so that the bridge does not go on with
        the one before it.

        Parameters
        ----------
        plan : CommandPlan
            The plan.
        now_ns : int or None
            Stamp of the newest joint state, if there is one, ns.

        Returns
        -------
        str or None
            "plan_old" (not newer than one before), "plan_future", or what `find_plan_defect` says.
        """
        if self._newest_ns is not None and plan.stamp_ns <= self._newest_ns:
            return "plan_old"
        if now_ns is not None and plan.stamp_ns - now_ns > self._config.clock_jump_s * 1e9:
            return "plan_future"
        defect = find_plan_defect(plan, self._n_a)
        self._newest_ns = plan.stamp_ns
        self._pending.append(plan if defect is None else CommandPlan.hold(plan.stamp_ns, self._n_a))
        return defect

    def advance(self, t_ns: int) -> None:
        """Put the newest plan that is due at t_ns into effect."""
        if self._first_tick_ns is None:
            self._first_tick_ns = self._tick_from(t_ns)
        while self._pending and self._pending[0].stamp_ns + self._config.plan_delay_ns <= t_ns:
            self.current = self._pending.popleft()

    def awaited_ns(self, t_ns: int) -> int | None:
        """Return the stamp of the plan that must be there before t_ns is answered in lockstep; None if all are.

        Plans are due for each multiple of the period from the first joint state on.
        """
        period_ns = self._config.period_ns
        due_ns = (t_ns - self._config.plan_delay_ns) // period_ns * period_ns
        first_ns = self._tick_from(t_ns) if self._first_tick_ns is None else self._first_tick_ns
        if due_ns < first_ns or (self._newest_ns is not None and self._newest_ns >= due_ns):
            return None
        return due_ns

    def _tick_from(self, t_ns: int) -> int:
        return -(-t_ns // self._config.period_ns) * self._config.period_ns
