"""Judges how fast commands change, as somebody would who knows the limit of the rate, the stamps and a clock.

From one command to the next |x - x_before| <= rate (stamp - stamp_before + one period). Against the clock, with all
commands since the last pause: |x_j - x_i| <= rate (t_j - t_i + `CLOCK_SLACK_PERIODS` periods) for every i < j. The
slack is what a command may be early or late by; it is granted once, not with every command.
"""

import numpy as np

from contact_mpc.settings.arrays import FloatArray

STAMP_SLACK_PERIODS = 1
CLOCK_SLACK_PERIODS = 2
ROUNDING = 1e-9


class ChangeJudge:
    """Judges the commands of one bridge in their order.

    Parameters
    ----------
    rate : (n_a,) array
        Limit of the change, N m/s or rad/s.
    period_ns : int
        Time between commands, ns.
    judges_own_clock : bool
        Whether the clock counts beside the stamps.
    """

    def __init__(self, rate: FloatArray, period_ns: int, judges_own_clock: bool = True) -> None:
        self._rate, self._period_ns, self._judges_own_clock = rate, period_ns, judges_own_clock
        self.forget()

    def forget(self) -> None:
        """Take the next command for the first one."""
        self._before: FloatArray | None = None
        self._stamp_ns = 0

    def judge(self, stamp_ns: int, own_ns: int, values: FloatArray) -> str | None:
        """Return what is wrong with a command, or None.

        Parameters
        ----------
        stamp_ns : int
            Its stamp, ns.
        own_ns : int
            When it left, ns.
        values : (n_a,) array
            Torque, N m, or setpoint, rad; finite.
        """
        before, advance_ns = self._before, max(stamp_ns - self._stamp_ns, 0)
        self._before, self._stamp_ns = values, stamp_ns
        if before is None:
            self._start_ns, self._low, self._high = own_ns, values, values
            return None
        by_stamps = self._rate * (advance_ns + STAMP_SLACK_PERIODS * self._period_ns) * 1e-9
        excess = float((np.abs(values - before) - by_stamps).max())
        if excess > ROUNDING:
            return f"changed from {before} to {values}, {excess:.3g} more than its stamp allows"
        return self._judge_by_clock(own_ns, values) if self._judges_own_clock else None

    def _judge_by_clock(self, own_ns: int, values: FloatArray) -> str | None:
        """Hold a command against what each one before allows by now.

        x_j <= low_j = min_i (x_i + rate (t_j - t_i)), which grows with time until a lower command comes; likewise from
        above with high_j = max_i (x_i - rate (t_j - t_i)).
        """
        reach = self._rate * (own_ns - self._start_ns) * 1e-9
        self._start_ns = own_ns
        ceiling, floor = self._low + reach, self._high - reach
        self._low, self._high = np.minimum(ceiling, values), np.maximum(floor, values)
        slack = self._rate * CLOCK_SLACK_PERIODS * self._period_ns * 1e-9
        excess = float(np.maximum(values - ceiling - slack, floor - slack - values).max())
        return (
            f"{values} is {excess:.3g} beyond what the time since an earlier one allows" if excess > ROUNDING else None
        )
