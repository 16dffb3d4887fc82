"""``contact-mpc new task``: a system and a task file from a robot, an object and a turn."""

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from contact_mpc.cli.frame.output import emit
from contact_mpc.cli.new.import_robot import LOCK_HELP, read_joint_options
from contact_mpc.importing.objects import OBJECTS
from contact_mpc.importing.task import NewTask, new_task
from contact_mpc.task.derived_values import derived_values
from contact_mpc.task.task import load_task


def task(
    robot: Annotated[
        str, typer.Option(help="URDF, xacro, MJCF or PACKAGE:ROBOT; or a system file, or a name in config/systems.")
    ],
    thing: Annotated[str, typer.Option("--object", help=f"{OBJECTS} (m), or a mesh file.")],
    turn: Annotated[
        str,
        typer.Option(help="AXIS:DEG, x, y or z of the world, any: that of a grasp; z:30, with --push z:0."),
    ] = "",
    push: Annotated[
        str, typer.Option(help="AXIS:METRES, e.g. x:0.1: an arm with a simple end pushes the object along a table.")
    ] = "",
    name: Annotated[str, typer.Option("--as", help="Name of the task; ROBOT_OBJECT by default.")] = "",
    into: Annotated[Path, typer.Option(help="Folder for the files.")] = Path("."),
    mass: Annotated[float | None, typer.Option("--mass-kg", min=1e-4, help="Of the object; else by density.")] = None,
    effort: Annotated[
        list[str] | None, typer.Option("--effort-nm", help="For joints without effort limit; NUMBER or JOINT=NUMBER.")
    ] = None,
    velocity: Annotated[
        list[str] | None,
        typer.Option("--velocity-rad-s", help="For joints without velocity limit; NUMBER or JOINT=NUMBER."),
    ] = None,
    lock_mimic: Annotated[bool, typer.Option("--lock-mimic", help=LOCK_HELP)] = False,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the places that are tried for the object.")] = 0,
    explain: Annotated[bool, typer.Option("--explain", help="Show every value that was derived.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Write a system and a task file of at most twenty lines each; all else is derived, see --explain."""
    options = read_joint_options(effort, velocity, lock_mimic)
    found = new_task(robot, thing, turn, name, into, mass, options, seed, push)
    derived = derived_values(load_task(found.task_file))
    result = {
        "task_file": found.task_file, "system_file": found.system_file, "object": found.item.name,
        "mass_kg": found.item.mass_kg, "object_position_m": found.position_m,
        "assumptions": list(found.assumptions), "derived": derived, "seed": seed,
    }  # fmt: skip
    emit(result, as_json, _table(found, derived if explain else {}))


def _table(found: NewTask, derived: dict[str, str]) -> Table:
    table = Table("", "value", title=f"task {found.task_file.stem}", title_justify="left", title_style="bold")
    table.add_row("task file", str(found.task_file))
    table.add_row("system file", str(found.system_file))
    table.add_row("object", f"{found.item.name}, {1e3 * found.item.mass_kg:g} g, at {found.position_m} m")
    for index, line in enumerate(found.assumptions):
        table.add_row("assumed" if index == 0 else "", escape(line))
    for key, value in derived.items():
        table.add_row(key, escape(value))
    what = "show" if found.has_start else "plan"
    table.add_row("next", f"contact-mpc {what} {found.task_file}{'' if found.has_start else ' --grasp --write'}")
    return table
