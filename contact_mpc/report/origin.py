"""Where a page comes from: the command or the line of Python that repeats it, the version, the machine."""

import time
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel

from contact_mpc.errors import ContactMpcError
from contact_mpc.settings.machine import describe_machine
from contact_mpc.settings.plain_values import to_plain
from contact_mpc.settings.resources import resource
from contact_mpc.task.task import TaskConfig, load_task
from contact_mpc.version import __version__

Plain = str | int | float | bool | None


def origin_rows(repeat: str = "", machine: dict[str, Any] | None = None) -> list[tuple[str, str]]:
    """Return the rows (name, value) of a page's provenance.

    Parameters
    ----------
    repeat : str
        What repeats the result: a command, or a line of Python; no row without it.
    machine : dict, optional
        Where it was measured, see `contact_mpc.settings.machine`; by default this machine.
    """
    rows = [("contact_mpc", __version__), ("written", time.strftime("%Y-%m-%d %H:%M:%S %Z"))]
    rows += [(name.replace("_", " "), str(value)) for name, value in (machine or describe_machine()).items()]
    return [*rows, ("run it again", repeat)] if repeat else rows


def describe_call(function: str, task: TaskConfig, **given: Any) -> str:
    """Return the line of Python that calls a function of ``contact_mpc`` again with a task.

    Fields of the task that are not those of its file stand in ``replace(...)``, arguments that are their defaults
    should not be given. What has no short text (a plan, a perturbation) stands as its own name.
    """
    values = "".join(f", {name}={_text(value, name)}" for name, value in given.items())
    return f"contact_mpc.{function}({_task_text(task)}{values})"


def _task_text(task: TaskConfig) -> str:
    name = task.path.stem if task.path == _shipped(task.path.stem) else task.path
    loaded = f'contact_mpc.load_task("{name}")'
    try:
        fresh = load_task(task.path)
    except ContactMpcError:  # the file has changed or gone since
        return loaded
    pairs = {item.name: (getattr(task, item.name), getattr(fresh, item.name)) for item in fields(TaskConfig)}
    del pairs["system"]  # of the same file
    changes = "".join(f", {key}={_text(new, key)}" for key, (new, old) in pairs.items() if not _is_same(new, old))
    return f"replace({loaded}{changes})" if changes else loaded


def _shipped(name: str) -> Path | None:
    try:
        return resource("tasks", name)
    except ContactMpcError:
        return None


def _is_same(value: Any, other: Any) -> bool:
    """Whether two values of a field are equal; goals hold arrays."""
    return bool(value == other) if isinstance(value, BaseModel) else bool(to_plain(value) == to_plain(other))


def _text(value: Any, name: str) -> str:
    if isinstance(value, np.ndarray):
        return f"np.array({value.tolist()})"
    if isinstance(value, tuple | list) and all(isinstance(item, Plain) for item in value):
        return repr(tuple(value))
    return repr(value) if isinstance(value, Plain) else name
