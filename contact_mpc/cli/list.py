"""``contact-mpc list``: the systems, tasks, planning problems, robots and examples that a name can mean."""

from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from contact_mpc.cli.frame.output import emit
from contact_mpc.errors import ConfigError
from contact_mpc.examples.registry import EXAMPLES
from contact_mpc.settings.resources import resource, resource_names
from contact_mpc.settings.yaml_files import read_yaml

KINDS = {"tasks": "run, plan, evaluate", "planning": "plan --method rrt", "systems": "in a task", "robots": "hardware"}


def list(  # noqa: A001  the command's own name
    kind: Annotated[str, typer.Argument(help="tasks, planning, systems, robots or examples; all where left out.")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """List what ships with the package, by name, each with a line about it."""
    kinds = (*KINDS, "examples")
    if kind and kind not in kinds:
        raise ConfigError(f"'{kind}' is unknown; allowed: {', '.join(kinds)}")
    found = {item: _describe(item) for item in kinds if kind in ("", item)}
    table = Table("name", "what it is", title="what ships with contact_mpc", title_justify="left")
    for item, names in found.items():
        use = KINDS.get(item, "example")
        table.add_section()
        table.add_row(f"[bold]{item}[/]", f"[dim]for {use}[/]")
        for name, text in names.items():
            table.add_row(escape(name), escape(text))
    emit({**found, "goal_met": True}, as_json, table)


def _describe(kind: str) -> dict[str, str]:
    if kind == "examples":
        return {name: EXAMPLES[name].summary for name in EXAMPLES}
    return {name: describe_file(kind, name) for name in resource_names(kind)}


def describe_file(kind: str, name: str) -> str:
    """Return the description of a file, or its first line where that is a comment."""
    path = resource(kind, name)
    first = path.read_text(encoding="utf-8").lstrip().partition("\n")[0]
    return str(read_yaml(path).get("description") or (first.lstrip("# ") if first.startswith("#") else ""))
