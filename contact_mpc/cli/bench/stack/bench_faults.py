"""``contact-mpc bench faults``: faults injected into the running stack, judged by a monitor on the wire."""

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from contact_mpc.cli.bench.stack.bench_bridge import stack_parameters
from contact_mpc.cli.frame.compiling import compile_first
from contact_mpc.cli.frame.output import EXIT_GOAL_MISSED, EXIT_INTERRUPTED, emit
from contact_mpc.errors import StackError
from contact_mpc.task.task import load_task

if TYPE_CHECKING:
    from contact_mpc.ros.faults.injection import Injection


def bench_faults(
    runs: Annotated[int, typer.Option(min=1, max=1000, help="Injections of each kind.")] = 20,
    kinds: Annotated[str, typer.Option(help="Kinds, separated by commas; by default all.")] = "",
    task: Annotated[str, typer.Option(help="Task that the stack works on.")] = "planar_hand_ball",
    plant: Annotated[str, typer.Option(help="Physics engine: drake or mujoco.")] = "mujoco",
    interface: Annotated[str, typer.Option(help="Commands on the wire: effort or position.")] = "effort",
    robot: Annotated[
        str, typer.Option(help="Robot file: its mock driver in place of a plant, with --task of that robot.")
    ] = "",
    params: Annotated[
        Path | None, typer.Option(help="Parameter file of the nodes; by default config/nodes/TASK.yaml.")
    ] = None,
    logs: Annotated[Path | None, typer.Option(help="Folder that keeps the logs of the nodes.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Inject faults into the real processes over DDS, in realtime, on the embedded plant or a robot's mock driver.

    Messages are spoilt by a relay between plant, tracker and bridge; nodes are killed, interrupted and restarted.
    The goal: no violation of the URDF's limits on the wire, no hang, every fault named within 20 ms of its limit of
    detection, and the bridge back after a reset.
    """
    from contact_mpc.ros.driver.robot_file import load_robot
    from contact_mpc.ros.faults.injection import Injection
    from contact_mpc.ros.faults.measure import check_kinds, measure_faults, mock_parameters, summarise

    names = check_kinds([name.strip() for name in kinds.split(",") if name.strip()])
    config, done, end = load_task(task), list[Injection](), ""
    with tempfile.TemporaryDirectory(prefix="contact_mpc_faults_") as temporary:
        folder = Path(temporary) if logs is None else logs.resolve()
        folder.mkdir(parents=True, exist_ok=True)
        if robot:
            parameters = mock_parameters(load_robot(robot), config, folder)
            interface, plant = parameters["command_bridge"]["command_interface"], f"mock of {robot}"
        else:
            parameters = stack_parameters(config, plant, folder, None, params, interface, recorded=True)
        compile_first("" if robot else plant)
        with _reporting(done, len(names) * runs) as report:
            try:
                measure_faults(config, parameters, folder, names, runs, report)
            except KeyboardInterrupt:
                end = "interrupted"
            except StackError as error:
                end = str(error)
    result = {"task": task, "plant": plant, "interface": interface, "runs": runs, **summarise(done), "ended_early": end}
    result["goal_met"] &= not end
    emit(result, as_json, _table(result))
    missed = EXIT_INTERRUPTED if end == "interrupted" else EXIT_GOAL_MISSED
    raise typer.Exit(0 if result["goal_met"] else missed)


@contextmanager
def _reporting(done: "list[Injection]", total: int) -> "Iterator[Callable[[Injection], None]]":
    """Yield what keeps an injection and shows it: a bar, and a line where there is a problem or no terminal."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        row, start_s = bar.add_task("starting", total=total), time.monotonic()

        def report(injection: "Injection") -> None:
            done.append(injection)
            bar.update(row, advance=1, description=injection.kind)
            trouble = injection.problem or injection.violations
            if trouble or not bar.console.is_terminal:
                bar.console.print(
                    f"{len(done)}/{total} {time.monotonic() - start_s:.0f} s {injection.kind}: {injection.named} "
                    f"{injection.detection_ms:.1f} ms, back after {injection.recovery_s:.1f} s, "
                    f"robot beyond its limits by {1e3 * injection.position_excess_rad:.1f} mrad and "
                    f"{injection.velocity_excess_rad_s:.1f} rad/s {trouble or ''}",
                    highlight=False, markup=False, soft_wrap=True,
                )  # fmt: skip

        yield report


def _table(result: dict[str, Any]) -> Table:
    verdict = "[green]goal met[/]" if result["goal_met"] else "[red]goal not met[/]"
    verdict += f", {result['ended_early']}" if result["ended_early"] else ""
    table = Table(
        "kind", "named", "detection after its limit, ms: median", "max", "recovery, s: median", "max",
        "robot beyond its stops, mrad", "beyond its speed limit, rad/s",
        title=f"bench faults: {verdict}", title_justify="left",
    )  # fmt: skip
    for name, detection in result["detection_ms"].items():
        recovery = result["recovery_s"][name]
        excess = 1e3 * result["robot_position_excess_rad"][name], result["robot_velocity_excess_rad_s"][name]
        figures = (detection["median"], detection["max"], recovery["median"], recovery["max"], *excess)
        table.add_row(name, str(result["named"][name]), *(f"{value:.1f}" for value in figures))
    table.caption = (
        f"{result['injections']} injections of {result['kinds']} kinds ({result['not_injected']} more could not be "
        f"made): {result['violations']} violations on the wire "
        f"{result['violations_by_kind'] or ''}, {result['hangs']} hangs, {result['late_namings']} named later than "
        f"20 ms after the limit\n" + "\n".join((*result["problems"], *result["late"], *result["violation_examples"]))
    )
    table.caption_justify = "left"
    return table
