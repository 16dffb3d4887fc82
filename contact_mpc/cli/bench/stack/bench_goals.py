"""``contact-mpc bench goals``: random goals in a row to a running stack, with others in between and cancels."""

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table

from contact_mpc.cli.frame.compiling import compile_first
from contact_mpc.cli.frame.output import EXIT_GOAL_MISSED, EXIT_INTERRUPTED, emit
from contact_mpc.errors import ConfigError
from contact_mpc.task.task import load_task

if TYPE_CHECKING:
    from contact_mpc.ros.measure.goal_bench import GoalRow

CLOCKS = ("lockstep", "realtime")
COLUMNS = ("reached", "missed", "refused", "cancelled", "replaced", "lost", "hang", "violations", "orphans")
SPATIAL = 6  # velocities of a free body; others turn about their task's axis


def bench_goals(
    task: Annotated[str, typer.Option(help="Task that the stack works on; its planner finds the ways.")] = (
        "allegro_ball_so3"
    ),
    goals: Annotated[int, typer.Option(min=1, max=10_000, help="Goals, one after the other.")] = 100,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the goals.")] = 0,
    turn_deg: Annotated[float, typer.Option(min=0.0, max=180.0, help="Turn of each; 0: any orientation.")] = 30.0,
    is_from_start: Annotated[
        bool, typer.Option("--from-start/--from-here", help="Turns of the start's orientation, or of the newest.")
    ] = False,
    plant: Annotated[str, typer.Option(help="Physics engine: drake or mujoco.")] = "drake",
    clock: Annotated[str, typer.Option(help="lockstep or realtime.")] = "realtime",
    timeout_s: Annotated[float, typer.Option(min=1.0, help="A goal that has not ended by then hangs, s.")] = 300.0,
    params: Annotated[
        Path | None, typer.Option(help="Parameter file of the nodes; by default config/nodes/TASK.yaml.")
    ] = None,
    settings: Annotated[list[str] | None, typer.Option("--set", help="NODE.KEY=VALUE, as in `run`.")] = None,
    logs: Annotated[Path | None, typer.Option(help="Folder that keeps the logs of the nodes.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Send goals as a program of one's own would: 15 % are replaced and 10 % cancelled at random times on their way.

    The goal: no drop, no hang, no violation of the URDF's limits on the wire, and no process left behind.
    """
    from contact_mpc.ros.measure.goal_bench import GoalBench, draw_goals, summarise
    from contact_mpc.ros.stack.run_parameters import RunOptions, build_parameters

    if clock not in CLOCKS:
        raise ConfigError(f"--clock {clock} is unknown; allowed: {', '.join(CLOCKS)}")
    config, rows, end = load_task(task), list["GoalRow"](), ""
    is_free = config.system.n_v_u >= SPATIAL
    asked = draw_goals(
        goals, seed, turn_deg or None, None if is_free else np.array([config.goal.axis_W, -config.goal.axis_W])
    )
    with tempfile.TemporaryDirectory(prefix="contact_mpc_goals_") as temporary:
        folder = Path(temporary) if logs is None else logs.resolve()
        folder.mkdir(parents=True, exist_ok=True)
        options = RunOptions(
            plant, clock, seed, params or config.name, settings=settings or (), recorded=False, endless=True
        )
        parameters = build_parameters(config, options, folder, folder / "plan.npz")
        compile_first(plant)
        rate = _torque_rate(parameters)
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
        with (
            Progress(*columns, console=Console(stderr=True)) as bar,
            GoalBench(config, parameters, folder, rate, is_from_start) as bench,
        ):
            line = bar.add_task("goals", total=goals)

            def report(row: "GoalRow") -> None:
                rows.append(row)
                bar.update(line, advance=1, description=row.end)
                if not bar.console.is_terminal:
                    bar.console.print(f"{len(rows)}/{goals} {row.end} {row.duration_s:.1f} s: {row.message}")

            try:
                end = bench.run(asked, timeout_s, report)
            except KeyboardInterrupt:
                end = "interrupted"
            orphans = bench.close()
    result: dict[str, Any] = {
        "task": config.name, "plant": plant, "clock": clock, "seed": seed, "turn_deg": turn_deg,
        "asked": goals, **summarise(rows, bench.monitor, orphans, end),
    }  # fmt: skip
    result["goal_met"] = not (end or result["hang"] or result["violations"] or orphans)
    emit(result, as_json, _table(result))
    missed = EXIT_INTERRUPTED if end == "interrupted" else EXIT_GOAL_MISSED
    raise typer.Exit(0 if result["goal_met"] else missed)


def _torque_rate(parameters: dict[str, dict[str, Any]]) -> float:
    """Return the bridge's torque rate in effort limits per second: what it promises is what it is judged by."""
    from contact_mpc.control.bridge.config import BridgeConfig

    default = BridgeConfig.model_fields["torque_rate_per_s"].default
    return float(parameters["command_bridge"].get("torque_rate_per_s", default))


def _table(result: dict[str, Any]) -> Table:
    table = Table(title=f"{result['goals']} of {result['asked']} goals to {result['task']}, {result['clock']}")
    for name in COLUMNS:
        table.add_column(name, justify="right")
    table.add_row(*(str(result[name]) for name in COLUMNS))
    table.caption = (
        f"reached {100 * result['reached_share']:.0f} % of those waited for, in {result['reach_s']['median']:.1f} s, "
        f"{result['angle_error_deg']['median']:.1f} deg, {result['position_error_mm']['median']:.1f} mm (medians)"
        + (f"\n{result['ended_early']}" if result["ended_early"] else "")
    )
    return table
