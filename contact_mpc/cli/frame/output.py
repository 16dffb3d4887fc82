"""Results for people and for machines, and errors without traceback, the same for every command."""

import json
import os
import shlex
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any, TextIO

import typer
from rich.console import Console, RenderableType

from contact_mpc.cli.frame.narrow_table import fitted
from contact_mpc.errors import ConfigError, ContactMpcError
from contact_mpc.settings.machine import describe_machine
from contact_mpc.settings.plain_values import to_plain
from contact_mpc.version import __version__

EXIT_GOAL_MISSED = 1
EXIT_USER_ERROR = 2
EXIT_INTERRUPTED = 130
WIDTH_IN_FILES = 200  # characters, of what no terminal wraps

_command: ContextVar[str] = ContextVar("command", default="")
_arguments: ContextVar[tuple[str, ...]] = ContextVar("arguments", default=())
_json_stream: ContextVar[TextIO | None] = ContextVar("json_stream", default=None)


def emit(
    result: dict[str, Any], as_json: bool, table: RenderableType | None = None, *, to_stderr: bool = False
) -> dict[str, Any]:
    """Print a result: `table` for people, or with `as_json` one JSON object on stdout and nothing else there.

    Parameters
    ----------
    result : dict
        Snake_case keys with a unit suffix. ``seed`` is null where nothing is drawn at random; ``goal_met`` is
        true where a command has no goal but to finish.
    as_json : bool
        Print the object instead of the table. Not-a-number and infinity become null, which JSON can carry.
    table : rich renderable, optional
        What people see; without it nothing is printed for them. As wide as the terminal, or as `WIDTH_IN_FILES`.
    to_stderr : bool
        Print the table there, where stdout is a file's content.

    Returns
    -------
    dict
        The result as printed, with ``command``, ``version``, ``seed``, ``machine`` and ``goal_met``.
    """
    complete = {
        "command": _command.get(),
        "version": __version__,
        "seed": None,
        "machine": describe_machine(),
        "goal_met": True,
        **result,
    }
    if as_json:
        stream = _json_stream.get() or sys.stdout
        print(json.dumps(to_plain(complete), indent=2, allow_nan=False), file=stream, flush=True)
    elif table is not None:
        console = Console(stderr=to_stderr)
        if not console.is_terminal and "COLUMNS" not in os.environ:
            console.width = WIDTH_IN_FILES
        console.print(fitted(table, console))
    return complete


def remember_arguments(arguments: Sequence[str]) -> None:
    """Keep what the user typed after the program's name, for the pages of a result."""
    _arguments.set(tuple(arguments))


def command_line() -> str:
    """Return the command that runs, as it may be typed again."""
    return shlex.join(("contact-mpc", *_arguments.get()))


def page_values(result: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return a result for its page: with the command that repeats it, and the machine."""
    return to_plain({**result, "command_line": command_line(), "machine": describe_machine(), **more})


@contextmanager
def running_command(title: str) -> Iterator[None]:
    """Name the command that runs, for the ``command`` key of its result."""
    token = _command.set(title)
    try:
        yield
    finally:
        _command.reset(token)


def require_writable(folder: Path | None, option: str = "--report") -> None:
    """Make the folder of an option before work starts; raises ConfigError where nothing can be written there."""
    if folder is None:
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise ConfigError(f"{option} {folder}: {error.strerror}; choose a folder that you may write to") from error


@contextmanager
def user_errors() -> Iterator[None]:
    """Turn a user's mistake into one line on stderr and exit code 2, and Ctrl-C into exit code 130.

    Any other exception is a defect of the package and keeps its traceback.
    """
    try:
        yield
    except ContactMpcError as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(EXIT_USER_ERROR) from error
    except KeyboardInterrupt as interrupt:
        typer.echo("interrupted", err=True)
        raise typer.Exit(EXIT_INTERRUPTED) from interrupt


@contextmanager
def reserved_stdout() -> Iterator[None]:
    """Keep stdout for `emit`: what libraries and child processes write to it goes to stderr meanwhile.

    Works on the file descriptor, so it also holds for compiled libraries that print.
    """
    sys.stdout.flush()
    kept, python_stdout = os.dup(1), sys.stdout
    stream = os.fdopen(kept, "w", encoding="utf-8")
    token = _json_stream.set(stream)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    try:
        yield
    finally:
        sys.stdout = python_stdout
        python_stdout.flush()
        os.dup2(kept, 1)
        _json_stream.reset(token)
        stream.close()
