"""``contact-mpc doctor``: what is installed, what is missing, and what to do about it."""

from typing import Annotated

import typer
from rich.console import Group
from rich.table import Table
from rich.text import Text

from contact_mpc.cli.doctor.checks import Check, check_software
from contact_mpc.cli.doctor.machine_checks import check_machine
from contact_mpc.cli.doctor.robot_checks import check_robots
from contact_mpc.cli.frame.output import EXIT_GOAL_MISSED, emit

_COLOURS = {"ok": "green", "warn": "yellow", "missing": "red"}


def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Check Python, packages against the tested versions, ROS 2, tools, real-time settings, drivers and simulators.

    The exit code is 0 if the demo can run.
    """
    checks = [*check_software(), *check_machine(), *check_robots()]
    ready = is_demo_ready(checks)
    emit({"goal_met": ready, "checks": checks}, as_json, _report(checks, ready))
    raise typer.Exit(0 if ready else EXIT_GOAL_MISSED)


def is_demo_ready(checks: list[Check]) -> bool:
    """Return whether nothing is missing that the demo needs."""
    return not any(check.status == "missing" and check.needed_for == "demo" for check in checks)


def _report(checks: list[Check], ready: bool) -> Group:
    table = Table("check", "status", "needed for", title="contact-mpc doctor", title_justify="left")
    table.add_column("found", overflow="fold")
    for check in checks:
        table.add_row(check.name, f"[{_COLOURS[check.status]}]{check.status}[/]", check.needed_for, check.found)
    remedies = [f"  {check.name}: {check.remedy}" for check in checks if check.remedy]
    heading = ["What to do, if you need what it is for:"] if remedies else []
    verdict = "The demo can run." if ready else "The demo cannot run: see the lines marked missing."
    return Group(table, *(Text(line) for line in [*heading, *remedies, verdict]))
