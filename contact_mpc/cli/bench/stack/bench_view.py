"""``contact-mpc bench view``: what the live view costs the 1 kHz bridge."""

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from contact_mpc.cli.bench.stack.bench_bridge import MARGIN_S, stack_parameters
from contact_mpc.cli.frame.compiling import compile_first
from contact_mpc.cli.frame.line_bar import LineBar
from contact_mpc.cli.frame.output import EXIT_GOAL_MISSED, emit
from contact_mpc.settings.extras import require_packages
from contact_mpc.task.task import load_task

MOST_DIFFERENCE_MS = 0.1


def bench_view(
    block_s: Annotated[float, typer.Option("--block", min=2.0, max=600.0, help="Time to measure in a block, s.")] = 15,
    rounds: Annotated[int, typer.Option(min=1, max=100, help="Blocks of each kind.")] = 3,
    task: Annotated[str, typer.Option(help="Task that the stack works on.")] = "allegro_ball",
    plant: Annotated[str, typer.Option(help="Physics engine: drake or mujoco.")] = "drake",
    port: Annotated[int, typer.Option(min=1024, max=65535, help="Port of the page.")] = 8090,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Run the stack in realtime alone, beside the viewer, and beside a headless Chromium that shows its page, in turn.

    The goal: the medians of the p99 lateness of commands differ by 0.1 ms at most. Without a Chromium the viewer has
    no page to serve, and that is measured.
    """
    require_packages("bench view", "viser")
    from contact_mpc.ros.measure.view_bench import CONDITIONS, find_browser, measure_blocks, summarise

    config = replace(load_task(task), hold_s=block_s + MARGIN_S)
    compile_first(plant)
    kinds = len(CONDITIONS) if find_browser() else len(CONDITIONS) - 1
    with tempfile.TemporaryDirectory(prefix="contact_mpc_view_") as temporary:
        folder = Path(temporary)
        parameters = stack_parameters(config, plant, folder, None, None)
        with LineBar(transient=False) as bar:
            row = bar.add_task("bench view", total=rounds * kinds * block_s)
            blocks = measure_blocks(
                config, parameters, folder, block_s, rounds, port, lambda done_s: bar.update(row, completed=done_s)
            )
    found = summarise(blocks)
    result = {
        "task": task,
        "plant": plant,
        "block_s": block_s,
        **found,
        "blocks": blocks,
        "most_difference_ms": MOST_DIFFERENCE_MS,
        "goal_met": max(found["p99_difference_ms"].values()) <= MOST_DIFFERENCE_MS,
    }
    emit(result, as_json, make_table(result))
    raise typer.Exit(0 if result["goal_met"] else EXIT_GOAL_MISSED)


def make_table(result: dict[str, Any]) -> Table:
    """Return one row per condition, one column per block."""
    rounds = max(map(len, result["p99_lateness_ms"].values()))
    heads = [f"block {number + 1}" for number in range(rounds)]
    heads += ["median minus alone", "bridge follows plans"]
    table = Table("beside the stack", *heads, title="bench view: p99 lateness, ms")
    table.title_justify = "left"
    for name, values in result["p99_lateness_ms"].items():
        difference = result["p99_difference_ms"].get(name)
        shown = [f"{value:.3f}" for value in values] + (rounds - len(values)) * [""]
        active = f"{result['bridge_active'][name]:.0%}"
        table.add_row(name, *shown, "" if difference is None else f"{difference:+.3f}", active)
    table.caption = (
        f"asked for: {result['most_difference_ms']:g} ms at most; blocks alone differ by "
        f"{result['p99_spread_alone_ms']:.3f} ms"
    )
    return table
