"""``contact-mpc import ROBOT_FILE``: a robot of one's own, from URDF, xacro or MJCF to a system file."""

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from contact_mpc.cli.frame.output import emit
from contact_mpc.errors import ConfigError
from contact_mpc.importing.arms.tool import TOOLS, read_tool
from contact_mpc.importing.prepare import JointOptions
from contact_mpc.importing.robot import ImportedRobot
from contact_mpc.importing.robot import import_robot as read_and_write

LOCK_HELP = "Make joints that follow others (<mimic>) fixed, in the middle of their way; else they stay coupled."


def import_robot(
    robot: Annotated[
        str, typer.Argument(help="URDF, xacro or MJCF file, or PACKAGE:ROBOT, e.g. example-robot-data:panda.")
    ],
    name: Annotated[str, typer.Option("--as", help="Name of the robot and its files; the file's by default.")] = "",
    into: Annotated[Path, typer.Option(help="Folder for NAME.yaml and NAME.urdf.")] = Path("."),
    effort: Annotated[
        list[str] | None,
        typer.Option("--effort-nm", help="NUMBER for joints without effort limit, or JOINT=NUMBER; N m or N."),
    ] = None,
    velocity: Annotated[
        list[str] | None,
        typer.Option("--velocity-rad-s", help="NUMBER for joints without velocity limit, or JOINT=NUMBER."),
    ] = None,
    lock_mimic: Annotated[bool, typer.Option("--lock-mimic", help=LOCK_HELP)] = False,
    mirror: Annotated[
        bool, typer.Option("--mirror", help="Make the left hand of a right one, or the reverse.")
    ] = False,
    tool: Annotated[
        str,
        typer.Option(
            help=f"LINK=KIND:SIZES of {TOOLS} (m), in the place of all beyond LINK, e.g. tool0=stick:0.2,0.01."
        ),
    ] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Read a robot file, propose what it lacks, and write a system file with a complete URDF beside it."""
    options = read_joint_options(effort, velocity, lock_mimic, mirror)
    found = read_and_write(robot, name, into, options, read_tool(tool) if tool else None)
    system, part = found.system, found.part
    result = {
        "system_file": found.system_file,
        "urdf": found.urdf,
        "joints": list(system.joint_names),
        "shapes": len(system.geometries),
        "mass_kg": robot_mass(found),
        "fingertips": list(part.fingertips),
        "assumptions": list(found.assumptions),
    }
    emit(result, as_json, _table(found))


def read_joint_options(
    effort: list[str] | None, velocity: list[str] | None, lock_mimic: bool, mirror: bool = False
) -> JointOptions:
    """Return what the options say about what a robot's file leaves open."""
    limits = (read_limits(effort or [], "--effort-nm"), read_limits(velocity or [], "--velocity-rad-s"))
    return JointOptions(*limits, lock_mimic, mirror)


def read_limits(items: list[str], option: str) -> dict[str, float]:
    """Return limits by joint name from NUMBER and JOINT=NUMBER; "" stands for all joints that have none."""
    limits = {}
    for item in items:
        joint, _, text = item.rpartition("=")
        try:
            value = float(text)
        except ValueError:
            value = 0.0
        if not 0.0 < value < float("inf"):
            raise ConfigError(f"{option} {item}: expected a positive NUMBER, or JOINT=NUMBER")
        limits[joint] = value
    return limits


def robot_mass(found: ImportedRobot) -> float:
    """Return the mass of all links, kg."""
    return sum(link.mass for link in found.system.urdfs[found.part.name].links.values())


def _table(found: ImportedRobot) -> Table:
    system, part = found.system, found.part
    kinds = [item.shape.kind for item in system.geometries]
    shapes = ", ".join(f"{kinds.count(kind)} {kind}" for kind in sorted(set(kinds)))
    table = Table("", "value", title=f"robot {part.name}", title_justify="left", title_style="bold")
    table.add_row("joints", f"{system.n_a}: {escape(', '.join(system.joint_names))}")
    table.add_row("collision shapes", f"{len(kinds)}: {shapes}" if kinds else "none: nothing of it can touch")
    table.add_row("mass", f"{robot_mass(found):.3f} kg")
    table.add_row("fingertips", escape(", ".join(part.fingertips)) or "none")
    for index, line in enumerate(found.assumptions):
        table.add_row("assumed" if index == 0 else "", escape(line))
    table.add_row("system file", str(found.system_file))
    is_arm = len(part.fingertips) < 2
    goal = "--object cube:0.1 --push x:0.1" if is_arm else "--object ball:0.03 --turn z:30"
    table.add_row("next", f"contact-mpc new task --robot {found.system_file} {goal}")
    return table
