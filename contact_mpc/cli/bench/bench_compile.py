"""``contact-mpc bench compile``: what the first run of a version compiles, and what each function costs.

Every part is compiled as `contact_mpc.loop.compile_ahead` does it, in a process of its own, into an empty cache that is
deleted afterwards. Seconds are those of the processor, without the functions that are called.
"""

import tempfile
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml
from rich.console import Console
from rich.table import Table

from contact_mpc.cli.frame.compiling import CompileBar, expected_seconds
from contact_mpc.cli.frame.output import emit
from contact_mpc.loop.compile_ahead import PARTS, compile_part
from contact_mpc.settings.file_access import write_text
from contact_mpc.settings.resources import resource

SHOWN = 20


def bench_compile(
    plant: Annotated[str, typer.Option(help="Plant of the loop.")] = "drake",
    write: Annotated[bool, typer.Option("--write", help="Keep the seconds, for the bar of a first run.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Compile everything that a run and a tree need into an empty cache; seconds by function."""
    seconds: dict[str, dict[str, float]] = {}
    for part in PARTS:
        seconds[part] = {}
        with (
            tempfile.TemporaryDirectory() as cache,
            CompileBar(Console(stderr=True), expected_seconds(part)) as bar,
        ):
            for name, spent in compile_part(plant, part, Path(cache)):
                seconds[part][name] = round(seconds[part].get(name, 0.0) + spent, 3)
                bar.advance(name, spent)
    if write:
        path = resource("config", "compile_seconds")
        header = "# CPU seconds of compiling, by function: what the bar of a first run expects; bench compile --write\n"
        write_text(path, header + yaml.safe_dump(seconds, sort_keys=False))
    totals = {f"{part}_cpu_s": round(sum(of.values()), 1) for part, of in seconds.items()}
    result: dict[str, Any] = {"plant": plant, **totals, "functions": seconds}
    emit(result, as_json, make_table(result))


def make_table(result: dict[str, Any]) -> Table:
    """Return what people see: the functions that cost most, of each part."""
    table = Table("part", "function", "CPU s", title="Compiling into an empty cache")
    for part, functions in result["functions"].items():
        ranked = sorted(functions.items(), key=lambda item: -item[1])
        for name, spent in ranked[:SHOWN]:
            table.add_row(part, name.removeprefix("contact_mpc."), f"{spent:.1f}")
        rest = sum(spent for _, spent in ranked[SHOWN:])
        table.add_row(part, f"{max(len(ranked) - SHOWN, 0)} others", f"{rest:.1f}")
        table.add_row(part, "all", f"{result[f'{part}_cpu_s']:.1f}", end_section=True)
    return table
