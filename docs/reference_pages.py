"""Write the reference pages from the code: command line, topics, parameters, causes, systems and tasks."""

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import typer
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from contact_mpc.cli import bench, study
from contact_mpc.cli.list import describe_file
from contact_mpc.cli.main import COMMANDS
from contact_mpc.control.bridge.status import cause_table
from contact_mpc.settings.resources import resource_names


def write_all(folder: Path) -> None:
    """Write every page into `folder`."""
    folder.mkdir(exist_ok=True)
    pages = {
        "command_line": command_line_page(),
        "causes": f"# Causes that the bridge names\n\n{cause_table()}",
        "systems_and_tasks": systems_page(),
    }
    try:
        pages["topics"], pages["parameters"] = topics_page(), parameters_page()
    except ImportError as error:  # rclpy: the extra `ros`
        print(f"reference: topics and parameters are left out, {error.name} is missing", file=sys.stderr)
    for name, text in pages.items():
        (folder / f"{name}.md").write_text(text.rstrip() + "\n", encoding="utf-8")


def command_line_page() -> str:
    """Return all commands with their arguments, options and defaults."""
    groups = {"": COMMANDS, "bench ": bench.BENCHES, "study ": study.STUDIES}
    parts = [
        "# Command line",
        "Written from the commands' own declarations; `contact-mpc COMMAND --help` prints the same.",
    ]
    for prefix, commands in groups.items():
        for name, command in commands.items():
            app = typer.Typer(add_completion=False)
            app.command(name)(command.load(f"{prefix}{name}"))
            parts.append(
                f"## contact-mpc {prefix}{name}\n\n{command.summary}\n\n{_options(typer.main.get_command(app))}"
            )
    return "\n\n".join(parts)


def _options(command: Any) -> str:
    rows = ["| argument | meaning | default |", "|-|-|-|"]
    for item in command.params:
        names = ", ".join(f"`{name}`" for name in (*item.opts, *getattr(item, "secondary_opts", ())))
        names = names if item.param_type_name == "option" else f"`{item.name.upper()}`"
        default = "" if item.default in (None, False, "", ()) or callable(item.default) else f"`{item.default}`"
        rows.append(f"| {names} | {_cell(getattr(item, 'help', '') or '')} | {default} |")
    return "\n".join(rows)


def topics_page() -> str:
    """Return the topic table: name, type, quality of service."""
    from contact_mpc.ros.messages import qos

    rows = "\n".join(
        f"| `{t.name}` | `{t.msg_type.__module__.split('.')[0]}/{t.msg_type.__name__}` | {t.quality} | "
        f"{'yes' if t.recorded else 'no'} |"
        for t in qos.TOPICS.values()
    )
    head = "| topic | type | quality | in bags |\n|-|-|-|-|"
    text = (qos.__doc__ or "").partition("\n")[2].strip()
    return f"# Topics\n\nNames are relative to the robot's namespace.\n\n{text}\n\n{head}\n{rows}"


def parameters_page() -> str:
    """Return every parameter of every node: type, default, range and meaning."""
    from contact_mpc.ros.stack.run_parameters import CONFIGS

    parts = ["# Parameters of the nodes", "Units are in the names. A misspelt parameter is refused by name."]
    for node, (module, config_class) in CONFIGS.items():
        rows = [
            "| parameter | default | range | meaning |",
            "|-|-|-|-|",
            *_rows(getattr(import_module(module), config_class), ""),
        ]
        parts.append(f"## {node}\n\n" + "\n".join(rows))
    return "\n\n".join(parts)


def _rows(config: Any, prefix: str) -> list[str]:
    rows: list[str] = []
    for name, item in config.model_fields.items():
        if hasattr(item.annotation, "model_fields"):
            rows += _rows(item.annotation, f"{prefix}{name}.")
            continue
        default = "required" if item.default is PydanticUndefined and item.is_required() else f"`{item.get_default()}`"
        default = "" if default in ("``", "`None`") else default
        rows.append(f"| `{prefix}{name}` | {_cell(default)} | {_range(item)} | {_cell(item.description or '')} |")
    return rows


def _range(item: FieldInfo) -> str:
    signs = {"gt": "&gt;", "ge": "≥", "lt": "&lt;", "le": "≤"}
    found = [f"{sign} {getattr(m, key):g}" for m in item.metadata for key, sign in signs.items() if hasattr(m, key)]
    return ", ".join(found)


def systems_page() -> str:
    """Return what ships in config: systems, tasks and planning problems with their descriptions."""
    parts = ["# Systems, tasks and planning problems that ship"]
    for kind, title in (("systems", "Systems"), ("tasks", "Tasks"), ("planning", "Planning problems")):
        rows = [f"| `{name}` | {_cell(describe_file(kind, name))} |" for name in sorted(resource_names(kind))]
        parts.append(f"## {title}\n\n| name | what it is |\n|-|-|\n" + "\n".join(rows))
    return "\n\n".join(parts)


def _cell(text: str) -> str:
    return " ".join(str(text).split()).replace("|", "\\|").replace("<", "&lt;")
