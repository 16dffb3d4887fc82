"""What a process can ask of the system to keep deadlines, and how well they were kept.

Each request may be refused (no permission, no such core); a refusal is reported, the process runs on without it.
"""

import ctypes
import os
import time
from array import array
from collections.abc import Callable, Sequence
from contextlib import suppress

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

MCL_CURRENT, MCL_FUTURE, MCL_ONFAULT = 1, 2, 4  # on fault: pages that were touched, not all of LLVM
STATISTICS = ("median", "p90", "p99", "p999", "max")


class RealtimeConfig(BaseModel):
    """Scheduling of the process in realtime; priority 0 leaves it as it is."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    priority: int = Field(
        default=20,
        ge=0,
        le=98,
        description="SCHED_FIFO priority, 0: none; without CAP_SYS_NICE or an rtprio limit refused, with a warning",
    )
    lock_memory: bool = Field(
        default=True, description="keep every page in memory once used; without a memlock limit refused, with a warning"
    )


def apply_realtime(config: RealtimeConfig) -> list[str]:
    """Ask the system for what the config says; returns the refusals, each with its remedy.

    Scheduling applies to every thread of the process: those of the middleware that receive and send are on the way
    from a message to its answer too.
    """
    refusals = []
    if config.lock_memory and ctypes.CDLL(None, use_errno=True).mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT) != 0:
        reason = os.strerror(ctypes.get_errno())
        refusals.append(f"realtime.lock_memory: {reason}; raise the memlock limit (ulimit -l) or set it to false")
    if config.priority > 0:
        parameter = os.sched_param(config.priority)
        reason = _for_all(lambda thread: os.sched_setscheduler(thread, os.SCHED_FIFO, parameter))
        if reason:
            refusals.append(
                f"realtime.priority {config.priority}: {reason}; allow rtprio in /etc/security/limits.conf, or set 0"
            )
    return refusals


def give_way(nice: int) -> None:
    """Raise the niceness of every thread of this process to `nice`; one that is higher already stays."""
    for name in os.listdir("/proc/self/task"):
        with suppress(ProcessLookupError):
            if os.getpriority(os.PRIO_PROCESS, int(name)) < nice:
                os.setpriority(os.PRIO_PROCESS, int(name), nice)


def stay_on(cores: Sequence[int]) -> str:
    """Keep every thread of this process on some cores, by their numbers; returns the refusal, or an empty text."""
    usable = sorted(os.sched_getaffinity(0))
    reason = _for_all(lambda thread: os.sched_setaffinity(thread, cores)) if cores else ""
    return f"cores {list(cores)}: {reason}; cores that may be used: {usable}" if reason else ""


def _for_all(request: Callable[[int], None]) -> str:
    """Make a request for each thread; returns the reason of the first refusal, or an empty text."""
    for name in os.listdir("/proc/self/task"):
        try:
            request(int(name))
        except ProcessLookupError:
            continue  # it ended meanwhile
        except OSError as error:
            return str(error.strerror)
    return ""


def run_on_deadlines(period_ns: int, work: Callable[[int], bool]) -> None:
    """Call `work` on absolute deadlines of the monotonic clock until it returns false.

    Parameters
    ----------
    period_ns : int
        Time between deadlines, ns. Deadlines that passed during `work` are left out.
    work : callable
        Called with the lateness of the wake-up, ns.
    """
    deadline_ns = time.monotonic_ns() + period_ns
    while True:
        sleep_until(deadline_ns)
        late_ns = time.monotonic_ns() - deadline_ns
        if not work(late_ns):
            return
        deadline_ns += max(1, -(-(time.monotonic_ns() - deadline_ns) // period_ns)) * period_ns


class PacedDeadlines:
    """Deadlines of a simulator that is to keep up with the clock, and with it what answers each of its steps.

    One that was held up makes its missing steps at twice the pace and not all at once: they would be made with the one
    command that there is, which to a controller is a delay. What is more than `BACKLOG_S` behind is given up.

    Parameters
    ----------
    period_s : float
        Time between deadlines, s.
    now_s : float
        The first one, monotonic clock, s.
    """

    BACKLOG_S = 0.02
    CATCH_UP_SHARE = 0.5  # of a period, at least, from one step to the next

    def __init__(self, period_s: float, now_s: float) -> None:
        self._period_s = period_s
        self._deadline_s = self._earliest_s = now_s

    @property
    def next_s(self) -> float:
        """When the next step may be made, monotonic clock, s."""
        return max(self._deadline_s, self._earliest_s)

    @property
    def reached_s(self) -> float:
        """The time that the steps made so far stand for, monotonic clock, s; time that was given up counts."""
        return self._deadline_s - self._period_s

    def meet(self, now_s: float) -> bool:
        """Take note of a step made now; returns whether time was given up."""
        is_overrun = now_s - self._deadline_s > self.BACKLOG_S
        if is_overrun:
            self._deadline_s = now_s
        self._deadline_s += self._period_s
        self._earliest_s = now_s + self.CATCH_UP_SHARE * self._period_s
        return is_overrun

    def rest(self, until_s: float) -> None:
        """Make no step before until_s, monotonic clock, s."""
        self._earliest_s = max(self._earliest_s, until_s)


def sleep_until(deadline_ns: int) -> None:
    """Sleep until an instant of the monotonic clock (time.sleep is clock_nanosleep with an absolute deadline)."""
    remaining_ns = deadline_ns - time.monotonic_ns()
    if remaining_ns > 0:
        time.sleep(remaining_ns * 1e-9)


class Distribution:
    """Counts of non-negative durations in bins, for percentiles without keeping every value.

    Bins are `FINE_NS` wide for the first 50 ms, then `COARSE_NS` for 10 s; the last one takes everything above.
    """

    FINE_NS, COARSE_NS, BINS = 5_000, 1_000_000, 10_000

    def __init__(self) -> None:
        self._fine = array("q", bytes(8 * self.BINS))
        self._coarse = array("q", bytes(8 * self.BINS))
        self.count = 0
        self.max_ns = 0

    def add(self, value_ns: int) -> None:
        """Count one duration; a negative one counts as zero."""
        fine = max(value_ns, 0) // self.FINE_NS
        if fine < self.BINS:
            self._fine[fine] += 1
        else:
            self._coarse[min(value_ns // self.COARSE_NS, self.BINS - 1)] += 1
        self.count += 1
        self.max_ns = max(self.max_ns, value_ns)

    def percentiles_ns(self, percents: Sequence[float]) -> list[float]:
        """Return the upper edges of the bins that the percentiles fall in, at most the maximum; NaN without values."""
        if self.count == 0:
            return [float("nan")] * len(percents)
        seen = np.cumsum(np.frombuffer(self._fine + self._coarse, dtype=np.int64))
        bins = np.searchsorted(seen, np.array(percents) / 100.0 * self.count)
        edges = np.where(bins < self.BINS, (bins + 1) * self.FINE_NS, (bins - self.BINS + 1) * self.COARSE_NS)
        return [float(min(edge, self.max_ns)) for edge in edges]

    def summary(self, unit_ns: float) -> dict[str, float]:
        """Return {median, p90, p99, p999, max} in a unit of so many ns."""
        values = [*self.percentiles_ns((50.0, 90.0, 99.0, 99.9)), float(self.max_ns) if self.count else float("nan")]
        return {name: value / unit_ns for name, value in zip(STATISTICS, values, strict=True)}
