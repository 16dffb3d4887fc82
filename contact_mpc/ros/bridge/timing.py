"""How the bridge kept time since activation."""

import time

from contact_mpc.control.bridge.clocks import GridLateness
from contact_mpc.ros.runtime.realtime import Distribution


class Timing:
    """How the bridge kept time since activation.

    latency: from the publication of a joint state, which triggers the bridge, until its command is sent, through DDS;
    lateness: by how much that exceeds the least latency of the last 0.1 s; processing: the bridge's part of it, from
    the receipt of the state; grid_lateness: command sent, against the grid of the stamps, with the sender's lateness.
    """

    def __init__(self, period_ns: int) -> None:
        self._period_ns = period_ns
        self._grid, self._trigger = GridLateness(), GridLateness()
        self._before_ns: int | None = None
        self._start_ns = 0
        self.latency, self.lateness, self.processing, self.grid_lateness = (Distribution() for _ in range(4))
        self.missed_ticks = 0

    def add(self, t_ns: int, published_ns: int, receipt_ns: int, sent_ns: int) -> None:
        """Count one answered joint state.

        Parameters
        ----------
        t_ns : int
            Its stamp, ns.
        published_ns : int
            When it was published, system clock, ns; 0 where the middleware does not say.
        receipt_ns, sent_ns : int
            When it was received and its command was sent, monotonic clock, ns.
        """
        if self._before_ns is None:
            self._start_ns = sent_ns
        else:
            self.missed_ticks += max((t_ns - self._before_ns) // self._period_ns - 1, 0)
        self._before_ns = t_ns
        self.processing.add(sent_ns - receipt_ns)
        self.grid_lateness.add(self._grid.measure(sent_ns, t_ns))
        if published_ns:
            sent_system_ns = time.time_ns() - (time.monotonic_ns() - sent_ns)
            self.latency.add(sent_system_ns - published_ns)
            self.lateness.add(self._trigger.measure(sent_system_ns, published_ns))

    def values(self) -> dict[str, object]:
        """Return the figures for /diagnostics."""
        elapsed_s = (time.monotonic_ns() - self._start_ns) * 1e-9
        out: dict[str, object] = {
            "commands": self.processing.count,
            "rate_hz": self.processing.count / elapsed_s if self.processing.count else 0.0,
            "missed_ticks": self.missed_ticks,
        }
        for name, distribution, unit, unit_ns in (
            ("lateness", self.lateness, "ms", 1e6),
            ("grid_lateness", self.grid_lateness, "ms", 1e6),
            ("latency", self.latency, "us", 1e3),
            ("processing", self.processing, "us", 1e3),
        ):
            for statistic, value in distribution.summary(unit_ns).items():
                out[f"{name}_{statistic}_{unit}"] = round(value, 4)
        return out
