"""``contact-mpc bench fuzz``: random and adversarial messages through the bridge's conversions, core and guard."""

from typing import Annotated, Any

import typer
from rich.table import Table

from contact_mpc.cli.frame.line_bar import LineBar
from contact_mpc.cli.frame.output import EXIT_GOAL_MISSED, emit
from contact_mpc.model.system_builder import load_system


def bench_fuzz(
    messages: Annotated[int, typer.Option(min=4, max=10**9, help="Messages altogether.")] = 1_000_000,
    system: Annotated[str, typer.Option(help="System, by name or path of its YAML.")] = "allegro_ball",
    seed: Annotated[int, typer.Option(min=0, help="Seed of the messages.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Send anything to bridges of both interfaces and clocks; nothing out of limits may leave, nothing may crash."""
    from contact_mpc.ros.faults.fuzz import fuzz_bridge

    model = load_system(system)
    with LineBar(transient=False) as bar:
        row = bar.add_task("messages", total=messages)
        result = fuzz_bridge(model, messages, seed, lambda count: bar.update(row, advance=count))
    result = {"system": model.name, "seed": seed, **result}
    emit(result, as_json, _table(result))
    raise typer.Exit(0 if result["goal_met"] else EXIT_GOAL_MISSED)


def _table(result: dict[str, Any]) -> Table:
    verdict = "[green]goal met[/]" if result["goal_met"] else "[red]goal not met[/]"
    table = Table("", "count", title=f"bench fuzz: {verdict}", title_justify="left")
    for key in ("messages", "commands", "violations", "crashes"):
        table.add_row(key, str(result[key]))
    for key in ("messages_by_kind", "commands_by_mode", "refusals"):
        for name, count in result[key].items():
            table.add_row(f"{key}: {name}", str(count))
    table.caption = "\n".join((*result["violation_examples"], *result["crash_examples"]))
    table.caption_justify = "left"
    return table
