"""The machine that a figure was measured on, as results and pages name it."""

import os
import platform
from pathlib import Path
from typing import Any


def describe_machine() -> dict[str, Any]:
    """Return what a figure depends on: processor, cores that may be used, memory, system, Python."""
    return {
        "processor": _processor_name(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
    }


def _processor_name() -> str:
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines() if Path("/proc/cpuinfo").exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
