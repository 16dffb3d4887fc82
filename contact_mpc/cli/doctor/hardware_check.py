"""``contact-mpc hardware-check ROBOT``: what a connected robot is like, by small motions, each with consent."""

import contact_mpc.cli.frame.single_thread  # noqa: F401, I001  before anything that imports numpy

import sys
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from contact_mpc.cli.frame.output import EXIT_GOAL_MISSED, emit, require_writable
from contact_mpc.commissioning.checks import Check, Finding, run_checks
from contact_mpc.commissioning.proposal import SIGNS, propose_robot_file, write_report
from contact_mpc.commissioning.robot import HeldRobot
from contact_mpc.errors import ConfigError
from contact_mpc.model.system_builder import load_system
from contact_mpc.settings.extras import require_packages
from contact_mpc.settings.file_access import write_text

DRIVERS = ("none", "mock")


def hardware_check(
    robot: Annotated[str, typer.Argument(help="Name of a robot in config/robots, or the path of a robot file.")],
    driver: Annotated[
        str, typer.Option(help="none: the robot's driver runs already; mock: drives in its place.")
    ] = "none",
    namespace: Annotated[str, typer.Option(help="Namespace of the driver; the robot's name where left out.")] = "",
    domain: Annotated[int | None, typer.Option(help="ROS domain; ROS_DOMAIN_ID where left out.")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Consent to every motion at once.")] = False,
    report: Annotated[Path | None, typer.Option(help="Folder for the report and the proposed robot file.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Measure a robot before anything else moves it: rates, limits, latency, friction, stiffness, stop, watchdog.

    Motions are small (0.05 rad, joint after joint), guarded, and asked for one check at a time. Nothing of the stack
    runs; commands go straight to the driver. Stand clear, with a hand on the emergency stop.
    """
    require_packages("hardware-check", "rclpy")
    if driver not in DRIVERS:
        raise ConfigError(f"--driver {driver} is unknown; allowed: {', '.join(DRIVERS)}")
    if not yes and not sys.stdin.isatty():
        raise ConfigError("nobody can be asked for consent here; run it in a terminal, or give --yes")
    require_writable(report)
    from contact_mpc.ros.driver.config import DriverConfig
    from contact_mpc.ros.driver.probe import DriverProbe
    from contact_mpc.ros.driver.robot_file import load_robot
    from contact_mpc.ros.stack.robot_node import node_of_robot
    from contact_mpc.ros.stack.robot_parameters import OF_BRIDGE, RobotRun, robot_parameters

    file = load_robot(robot)
    system = load_system(file.system)
    run = RobotRun("mock" if driver == "mock" else "none", file.parameters)
    parameters = robot_parameters(file, run, None, Path(), None)
    bridge: dict[str, Any] = OF_BRIDGE | parameters["command_bridge"]
    rate_hz = float(bridge["rate_hz"])
    config = DriverConfig(**parameters["command_bridge"]["driver"])
    console, found = Console(stderr=True), list[Finding]()
    with node_of_robot(namespace or f"/{system.config.robots[0].name}", domain, parameters.get("mock_driver")) as node:
        probe = DriverProbe(node, system, config, file.command_interface, 1.0 / rate_hz)
        held = HeldRobot(system, probe, file.command_interface, bridge["gravity_compensation"] == "robot")
        try:
            found = run_checks(held, rate_hz, lambda check: yes or _consent(check), lambda row: _say(console, row))
        finally:
            probe.close()
    counts = Counter(row.verdict for row in found)
    result: dict[str, Any] = {
        "robot": robot, "system": system.name, "driver": driver, "findings": [asdict(row) for row in found],
        **{verdict: counts[verdict] for verdict in ("ok", "warn", "fail", "skipped")},
        "goal_met": counts["fail"] == 0,
    }  # fmt: skip
    if report is not None:
        files = {"hardware_check.md": write_report(robot, system.name, found)}
        files["robot.yaml"] = propose_robot_file(file.model_dump(mode="json", exclude_defaults=True), found)
        for name, text in files.items():
            write_text(report / name, text)
        result |= {"report": str(report / "hardware_check.md"), "robot_file": str(report / "robot.yaml")}
    emit(result, as_json, _table(result))
    raise typer.Exit(0 if result["goal_met"] else EXIT_GOAL_MISSED)


def _consent(check: Check) -> bool:
    return typer.confirm(f"{check.name}: {check.motion}. Go on?", default=False, err=True)


def _say(console: Console, row: Finding) -> None:
    console.print(f"{SIGNS[row.verdict]:5s} {row.check} {row.joint} {row.value:.4g} {row.unit}: {row.remark}")


def _table(result: dict[str, Any]) -> Table:
    table = Table(title=f"check of {result['robot']}", title_justify="left")
    for head in ("check", "joint", "measured", "", "remark"):
        table.add_column(head)
    for row in result["findings"]:
        if row["verdict"] != "ok":
            table.add_row(
                row["check"], row["joint"], f"{row['value']:.4g} {row['unit']}", row["verdict"], row["remark"]
            )
    table.caption = ", ".join(f"{result[key]} {key}" for key in ("ok", "warn", "fail", "skipped"))
    return table
