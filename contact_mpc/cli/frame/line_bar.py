"""A bar of rich; where there is no terminal, a plain line now and then in its place."""

import time
from typing import Any

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TaskID

from contact_mpc.cli.frame.compiling import LINE_EVERY_S


class LineBar(Progress):
    """A bar on stderr, with rich's own columns where none are given, that goes when it is done.

    Where there is no terminal, what the columns say stands on a line of its own, at most every `LINE_EVERY_S`.
    """

    def __init__(self, *columns: str | ProgressColumn, transient: bool = True) -> None:
        super().__init__(*columns, console=Console(stderr=True), transient=transient)
        self._said_s = -np.inf

    def update(self, task_id: TaskID, *arguments: Any, **fields: Any) -> None:
        """See `rich.progress.Progress.update`."""
        super().update(task_id, *arguments, **fields)
        self._say(task_id)

    def advance(self, task_id: TaskID, advance: float = 1) -> None:
        """See `rich.progress.Progress.advance`."""
        super().advance(task_id, advance)
        self._say(task_id)

    def _say(self, task_id: TaskID) -> None:
        if self.console.is_terminal or time.monotonic() - self._said_s < LINE_EVERY_S:
            return
        self._said_s = time.monotonic()
        self.console.print(escape(self.line(self.tasks[self.task_ids.index(task_id)])), soft_wrap=True)

    def line(self, task: Task) -> str:
        """Return what stands in a bar's place."""
        return " ".join(str(column(task)) for column in self.columns if not isinstance(column, BarColumn | str))
