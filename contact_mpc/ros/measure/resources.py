"""What the processes of a stack hold while they run: resident size, descriptors and threads, over time, from /proc."""

import os
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
S_PER_H = 3600.0
LATE_SHARE = 0.5  # of the samples, from the end, that tell the growth: before, caches fill


@dataclass
class ResourceLog:
    """Samples of every process, every `period_s`.

    Attributes
    ----------
    period_s : float
        Between samples, s.
    times_s : list of float
        Of the samples, since the measurement began.
    resident_mb, descriptors, threads : dict of lists
        By node, one value a sample.
    """

    period_s: float
    times_s: list[float] = field(default_factory=list)
    resident_mb: dict[str, list[float]] = field(default_factory=dict)
    descriptors: dict[str, list[int]] = field(default_factory=dict)
    threads: dict[str, list[int]] = field(default_factory=dict)

    def sample(self, elapsed_s: float, pids: dict[str, int]) -> None:
        """Take a sample of processes, by node, where one is due after elapsed_s, s."""
        if self.times_s and elapsed_s < self.times_s[-1] + self.period_s:
            return
        self.times_s.append(elapsed_s)
        for name, pid in pids.items():
            folder = Path(f"/proc/{pid}")
            pages = int((folder / "statm").read_text().split()[1])
            self.resident_mb.setdefault(name, []).append(pages * PAGE_BYTES / 1e6)
            self.descriptors.setdefault(name, []).append(len(os.listdir(folder / "fd")))
            self.threads.setdefault(name, []).append(len(os.listdir(folder / "task")))

    def summary(self) -> dict[str, dict[str, float]]:
        """Return of each node what it holds at the first, the middle and the last sample, and the growth after that.

        `growth_mb_per_h` is the least-squares slope of the resident size over the later half, MB/h; NaN with fewer than
        three samples there.
        """
        middle = int(len(self.times_s) * (1.0 - LATE_SHARE))
        return {
            name: {
                **_ends("resident_mb", sizes, middle),
                "growth_mb_per_h": slope(self.times_s[middle:], sizes[middle:]) * S_PER_H,
                **_ends("descriptors", self.descriptors[name], middle),
                **_ends("threads", self.threads[name], middle),
            }
            for name, sizes in self.resident_mb.items()
        }


def slope(times_s: list[float], values: list[float]) -> float:
    """Return the least-squares growth of values, 1/s; NaN with fewer than three."""
    return float(np.polyfit(times_s, values, 1)[0]) if len(values) > 2 else float("nan")


def _ends(name: str, values: list[float] | list[int], middle: int) -> dict[str, float]:
    return {f"{name}_first": values[0], f"{name}_middle": values[middle], f"{name}_last": values[-1]}
