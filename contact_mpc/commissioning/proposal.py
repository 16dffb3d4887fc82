"""What the checks found as a page of text, and as a robot file to begin with."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import yaml

from contact_mpc.commissioning.checks import Finding

SIGNS = {"ok": "ok", "warn": "LOOK", "fail": "FAIL", "skipped": "-"}


def write_report(robot: str, system: str, found: list[Finding]) -> str:
    """Return a page in Markdown: every finding in the order of the checks."""
    lines = [f"# Check of {robot} ({system})", "", "| check | joint | measured | unit | | remark |", "|-|-|-|-|-|-|"]
    for row in found:
        value = f"{row.value:.4g}" if np.isfinite(row.value) else ""
        lines.append(f"| {row.check} | {row.joint} | {value} | {row.unit} | {SIGNS[row.verdict]} | {row.remark} |")
    return "\n".join(lines) + "\n"


def propose_robot_file(given: Mapping[str, Any], found: list[Finding]) -> str:
    """Return the robot file that was checked with what was measured in comments, and the rate as the states have it.

    Parameters
    ----------
    given : mapping
        Keys of the robot file as it is.
    found : list of Finding
        What was measured.
    """
    lines = ["# Proposed by `contact-mpc hardware-check`; measured values stand in comments, nothing is tuned to them."]
    for check, unit, words in (
        ("states", "Hz", "rate of the joint states"),
        ("latency", "s", "from a command to its motion, the slowest joint"),
        ("friction", "N m", "dry friction, the stiffest joint"),
        ("weight", "N m", "torque that compensation of weight leaves, the worst joint"),
    ):
        values = [row.value for row in found if (row.check, row.unit) == (check, unit) and np.isfinite(row.value)]
        if values:
            lines.append(f"# {words}: {max(values, key=abs):.4g} {unit}")
    rate = next((row.value for row in found if (row.check, row.unit) == ("states", "Hz")), None)
    if rate is not None:
        lines.append(f"# in the parameter file of the nodes: command_bridge.rate_hz: {round(rate)}")
    return "\n".join(lines) + "\n" + yaml.safe_dump(dict(given), sort_keys=False)
