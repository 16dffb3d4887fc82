"""``contact-mpc example NAME``: run one result of the talk; a table, plots, and data for other programs."""

import json
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.markup import escape
from rich.table import Table

from contact_mpc.cli.frame.output import EXIT_GOAL_MISSED, emit
from contact_mpc.examples.plotting import require_matplotlib, save
from contact_mpc.examples.registry import EXAMPLES, run_example
from contact_mpc.examples.result import ExampleResult, Settings, prepare_folder
from contact_mpc.settings.file_access import replacing, write_text
from contact_mpc.settings.plain_values import to_plain

LISTING = "; ".join(f"{name}: {EXAMPLES[name].summary}" for name in EXAMPLES)


def example(
    name: Annotated[str, typer.Argument(help=f"One of: {LISTING}.")],
    formulation: Annotated[
        str | None, typer.Option(help="lcp, qp, socp or log_barrier, as far as the example allows; its own by default.")
    ] = None,
    h_s: Annotated[float | None, typer.Option("--h", help="Time step, s; the example's own by default.")] = None,
    gripper: Annotated[str | None, typer.Option(help="Of penalty_grasp: 2p, 2, 3 or 4 fingers; 2 by default.")] = None,
    thing: Annotated[
        str | None, typer.Option("--object", help="Of grasps: sphere, box or bunny; sphere by default.")
    ] = None,
    duration: Annotated[float | None, typer.Option(help="Of grasps: simulated seconds; 1 by default.")] = None,
    out: Annotated[Path | None, typer.Option(help="Folder for plots and data; out/example/NAME by default.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of the table.")] = False,
) -> None:
    """Run an example: a table of what is found and expected, PNG and SVG plots, npz and JSON data."""
    require_matplotlib()
    if name in EXAMPLES:
        out = prepare_folder(out or Path("out") / "example" / name)
    result = run_example(name, Settings(formulation, h_s, gripper, thing, duration))
    files = _write(result, name, out or Path())
    checks = [
        {"quantity": row.quantity, "found": row.found, "expected": row.expected, "is_met": row.is_met}
        for row in result.rows
    ]
    values = {"example": name, **result.figures, "checks": checks, "files": files, "goal_met": result.goal_met}
    emit(values, as_json, _table(result, name, files))
    raise typer.Exit(0 if result.goal_met else EXIT_GOAL_MISSED)


def _write(result: ExampleResult, name: str, folder: Path) -> list[Path]:
    """Write plots, pages, time series and figures; return the files."""
    files = [path for title, draw in result.plots.items() for path in save(draw, folder, title)]
    files += [write(folder) for write in result.pages.values()]
    data, figures = folder / f"{name}.npz", folder / f"{name}.json"
    arrays: dict[str, Any] = dict(result.arrays)
    with replacing(data) as file:
        np.savez_compressed(file, **arrays)
    write_text(figures, json.dumps(to_plain(result.figures), indent=2, allow_nan=False) + "\n")
    return [*files, data, figures]


def _table(result: ExampleResult, name: str, files: list[Path]) -> Table:
    caption = "written: " + escape(", ".join(str(path) for path in files))
    table = Table("", "found", "expected", "", title=f"example {name}", title_justify="left", title_style="bold")
    table.caption, table.caption_justify = caption, "left"
    marks: dict[bool | None, Any] = {True: "[green]ok[/]", False: "[red]missed[/]", None: ""}
    for row in result.rows:
        table.add_row(row.quantity, row.found, row.expected, marks[row.is_met])
    return table
