"""The plans that the bridge has received: which is in effect, which are to come, and which one lockstep waits for.

A plan stamped t_k takes effect at t_k + plan_delay; one that arrives later than that takes effect on arrival. Plans
that follow one another by less than half a period are left out, so that a tracker run wild cannot crowd out its own.
"""

from collections import deque

from contact_mpc.control.bridge.config import BridgeConfig
from contact_mpc.control.bridge.guard.limits import PlanLimits
from contact_mpc.settings.units import NS_PER_S
from contact_mpc.task.loop_records import CommandPlan

MAX_PENDING = 8
SHORTEST_PERIODS = 0.5  # ticks lie on the grid of the estimates: periods of 45 to 55 ms, after a late one 30 ms
DELAY_WEIGHT = 0.1  # of the newest delay in the mean


class PlanBuffer:
    """Plans in the order of their stamps.

    Attributes
    ----------
    current : CommandPlan or None
        The plan in effect.
    refusal : tuple of (int, str) or None
        Stamp and reason of the newest plan that was refused for what it says.
    mean_delay_s : float
        Mean time from a plan's stamp to its arrival, s; 0 before the first.
    """

    def __init__(self, config: BridgeConfig, limits: PlanLimits) -> None:
        self._config, self._limits = config, limits
        self._n_a = len(limits.joint_names)
        self._pending: deque[CommandPlan] = deque(maxlen=MAX_PENDING)
        self._newest_ns: int | None = None
        self._first_tick_ns: int | None = None
        self.current: CommandPlan | None = None
        self.refusal: tuple[int, str] | None = None
        self.mean_delay_s = 0.0
        self._has_delay = False

    def clear(self) -> None:
        """Forget all plans and ticks."""
        self._pending.clear()
        self.current, self._newest_ns, self._first_tick_ns = None, None, None
        self.refusal, self.mean_delay_s, self._has_delay = None, 0.0, False

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
            "plan_old" (not newer than one before), "plan_future", "plan_rate" (less than half a period after the one
            before), or the reason that `PlanLimits.find_defect` gives.
        """
        reason = self._find_untimely(plan.stamp_ns, now_ns)
        if reason is not None:
            return reason
        if now_ns is not None:
            self._measure(max(now_ns - plan.stamp_ns, 0) * 1e-9)
        defect = self._limits.find_defect(plan)
        if defect is None:
            self._take(plan)
            return None
        self._refuse(plan.stamp_ns, ": ".join(filter(None, defect)))
        return defect[0]

    def refuse(self, stamp_ns: int, reason: str, now_ns: int | None) -> None:
        """Take note of a plan that could not even be read: it asks to hold."""
        if self._find_untimely(stamp_ns, now_ns) is None:
            self._refuse(stamp_ns, reason)

    def is_short(self, plan: CommandPlan) -> bool:
        """Whether a plan ends before twice the mean delay, so that the next one may come too late."""
        return not plan.is_hold and float(plan.times_s[-1]) < 2.0 * self.mean_delay_s

    def _find_untimely(self, stamp_ns: int, now_ns: int | None) -> str | None:
        if self._newest_ns is not None and stamp_ns <= self._newest_ns:
            return "plan_old"
        if now_ns is not None and stamp_ns - now_ns > self._config.clock_jump_s * NS_PER_S:
            return "plan_future"
        shortest_ns = SHORTEST_PERIODS * self._config.period_ns
        if self._newest_ns is not None and stamp_ns - self._newest_ns < shortest_ns:
            return "plan_rate"
        return None

    def _refuse(self, stamp_ns: int, reason: str) -> None:
        self.refusal = (stamp_ns, reason)
        self._take(CommandPlan.hold(stamp_ns, self._n_a))

    def _take(self, plan: CommandPlan) -> None:
        self._newest_ns = plan.stamp_ns
        self._pending.append(plan)

    def _measure(self, delay_s: float) -> None:
        weight = DELAY_WEIGHT if self._has_delay else 1.0
        self.mean_delay_s += weight * (delay_s - self.mean_delay_s)
        self._has_delay = True

    def advance(self, t_ns: int) -> None:
        """Put the newest plan that is due at t_ns into effect.

        Plans from further ahead than the clock may jump are forgotten: they came before the first state of a clock
        that has begun anew, and would make every plan to come look old.
        """
        if self._newest_ns is not None and self._newest_ns - t_ns > self._config.clock_jump_s * NS_PER_S:
            self.clear()
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
