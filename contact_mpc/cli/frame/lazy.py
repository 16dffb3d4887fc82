"""A command group that lists every command at once and imports only the one that is called.

``contact-mpc --help`` must not import Drake, numba or ROS. So the listing comes from a table of texts, and the
module of a command is imported when its name stands on the command line.
"""

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import typer

from contact_mpc.cli.frame.output import running_command, user_errors


@dataclass(frozen=True)
class Command:
    """Where a command lives and how it is listed; the function has the name of the module's last part."""

    module: str
    summary: str

    def load(self, title: str) -> Callable[..., Any]:
        """Import the module and return its function, wrapped so that user errors end in one line.

        Parameters
        ----------
        title : str
            What the user typed, ``bench mpc``: it becomes ``command`` in the JSON result.
        """
        function = getattr(import_module(self.module), self.module.rpartition(".")[2])

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            with running_command(title), user_errors():
                return function(*args, **kwargs)

        return call


def build_group(commands: Mapping[str, Command], wanted: str | None, prefix: str = "", **settings: Any) -> typer.Typer:
    """Return a typer group of `commands` in which only the `wanted` one is imported; the others are listed."""
    group = typer.Typer(
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
        **settings,
    )
    for name, command in commands.items():
        function = command.load(f"{prefix}{name}") if name == wanted else _listed
        group.command(name, short_help=command.summary)(function)
    return group


def first_word(arguments: list[str]) -> str | None:
    """Return the first argument that is not an option: the name of the command that is meant."""
    return next((argument for argument in arguments if not argument.startswith("-")), None)


def _listed() -> None:
    """Stand in the listing for a command whose name is not on the command line, so it cannot be called."""
