"""``contact-mpc bench bridge``: how well the 1 kHz bridge keeps time beside the whole stack, in realtime, over DDS."""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from contact_mpc.cli.frame.compiling import compile_first
from contact_mpc.cli.frame.line_bar import LineBar
from contact_mpc.cli.frame.output import EXIT_GOAL_MISSED, emit
from contact_mpc.task.task import TaskConfig, load_task

ROUND_TRIP_S = 5.0
MARGIN_S = 10.0  # the plant runs on after the measurement
TARGET_P99_LATENESS_MS, TARGET_MISSED_FRACTION = 0.5, 1e-3


def bench_bridge(
    duration_s: Annotated[float, typer.Option("--duration", min=2.0, max=3600.0, help="Time to measure, s.")] = 60.0,
    task: Annotated[str, typer.Option(help="Task that the stack works on.")] = "allegro_ball",
    plant: Annotated[str, typer.Option(help="Physics engine: drake or mujoco.")] = "drake",
    plan: Annotated[Path | None, typer.Option(help="Plan file; by default the plan is made first.")] = None,
    params: Annotated[
        Path | None, typer.Option(help="Parameter file of the nodes; by default config/nodes/TASK.yaml.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Run estimator, tracker, bridge and plant in realtime; report rate, lateness, missed ticks, latency and CPU.

    What the processes hold is told too, in the middle and at the end: `--duration 3600` shows whether it grows.

    Beside it bare threads on the same deadlines show what the machine allows, and an empty rclpy timer what rclpy
    does. A second, short run with the bridge alone gives the round trip of a joint state and its command.
    """
    from contact_mpc.ros.measure.bridge_bench import measure_round_trip, measure_stack

    config = load_task(task)
    with tempfile.TemporaryDirectory(prefix="contact_mpc_bench_") as temporary:
        folder = Path(temporary)
        config = replace(config, hold_s=duration_s + MARGIN_S)
        compile_first(plant)
        parameters = stack_parameters(config, plant, folder, plan, params)
        with _progress("whole stack", duration_s) as show:
            figures = measure_stack(config, parameters, folder, duration_s, show)
        with _progress("bridge alone", ROUND_TRIP_S) as show:
            bridge = parameters["command_bridge"]
            figures["round_trip_us"] = measure_round_trip(bridge["system"], bridge, folder, ROUND_TRIP_S, show)
    has_fault = figures["safety"].startswith("FAULT")
    missed_fraction = figures["missed_ticks"] / max(figures["commands"] + figures["missed_ticks"], 1)
    result = {
        "task": task,
        "plant": plant,
        **figures,
        "missed_fraction": missed_fraction,
        "target_p99_lateness_ms": TARGET_P99_LATENESS_MS,
        "target_missed_fraction": TARGET_MISSED_FRACTION,
        "targets_met": bool(
            figures["lateness_ms"]["p99"] <= TARGET_P99_LATENESS_MS and missed_fraction <= TARGET_MISSED_FRACTION
        ),
        "goal_met": not has_fault,
    }
    emit(result, as_json, _table(result))
    raise typer.Exit(EXIT_GOAL_MISSED if has_fault else 0)


def stack_parameters(
    config: TaskConfig,
    plant: str,
    folder: Path,
    plan: Path | None,
    params: Path | None,
    interface: str | None = None,
    recorded: bool = False,
) -> dict[str, dict[str, Any]]:
    """Return the parameters of all nodes, of the recorder only if asked for, in realtime; makes the plan if needed."""
    from contact_mpc.ros.stack.run_parameters import RunOptions, build_parameters

    plan_file = folder / "plan.npz" if plan is None else plan.resolve()
    if plan is None:
        from contact_mpc.cli.run.run_stack import write_plan

        write_plan(config, plan_file)
    options = RunOptions(plant, "realtime", 0, params or config.name, interface)
    parameters = build_parameters(config, options, folder, plan_file)
    if not recorded:
        parameters.pop("recorder")
    for values in parameters.values():
        values["recorded"] = False
    return parameters


def _resources(result: dict[str, Any]) -> str:
    """Return a line on what each process held in the middle and at the end, and how fast it grew."""
    return "; ".join(
        f"{name} {item['resident_mb_middle']:.1f} to {item['resident_mb_last']:.1f} MB "
        f"({item['growth_mb_per_h']:+.1f} MB/h), {item['descriptors_middle']} to {item['descriptors_last']} descriptors"
        for name, item in result["resources"].items()
    )


def _shares(shares: dict[str, float]) -> str:
    return ", ".join(f"{message} {share:.1%}" for message, share in shares.items())


@contextmanager
def _progress(title: str, total_s: float) -> Iterator[Callable[[float], None]]:
    with LineBar(transient=False) as bar:
        row = bar.add_task(title, total=total_s)
        yield lambda elapsed_s: bar.update(row, completed=min(elapsed_s, total_s))


def _table(result: dict[str, Any]) -> Table:
    table = Table("", "median", "p90", "p99", "p99.9", "max", title=f"bench bridge: {result['safety']}")
    for label, key in (
        ("lateness of commands after their states, ms", "lateness_ms"),
        ("lateness of a bare thread, ms", "bare_thread_lateness_ms"),
        ("lateness of a bare thread with SCHED_FIFO, ms", "bare_fifo_thread_lateness_ms"),
        ("lateness of an empty rclpy timer, ms", "empty_rclpy_timer_lateness_ms"),
        ("commands against the grid of stamps, ms", "grid_lateness_ms"),
        ("state published to command sent, us", "latency_us"),
        ("of the first half, us", "latency_halfway_us"),
        ("of it in the bridge, us", "processing_us"),
        ("round trip, bridge alone, us", "round_trip_us"),
    ):
        table.add_row(label, *(f"{value:.3g}" for value in result[key].values()))
    cpu = ", ".join(f"{name} {value:.0f} %" for name, value in result["cpu_percent"].items())
    table.caption = (
        f"{result['rate_hz']:.1f} Hz, {result['missed_ticks']} of {result['commands']} ticks missed "
        f"({100.0 * result['missed_fraction']:.3f} %), {result['real_time_factor']:.3f} x real time, "
        f"tracker at {result['tracker_rate_hz']:.1f} Hz ({_shares(result['tracker'])}); "
        f"bridge {_shares(result['safety_shares'])}; CPU: {cpu}\n"
        f"from the middle to the end: {_resources(result)}\n"
        f"targets (p99 <= {TARGET_P99_LATENESS_MS} ms, missed <= {100 * TARGET_MISSED_FRACTION:g} %): "
        f"{'met' if result['targets_met'] else 'not met'}"
    )
    table.caption_justify = "left"
    return table
