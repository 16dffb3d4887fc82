"""Compiling before a command computes anything, with a bar of the functions that are done."""

import time

import yaml
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from contact_mpc.loop.compile_ahead import LOOP, compile_ahead
from contact_mpc.settings.resources import resource

LINE_EVERY_S = 5.0  # where there is no terminal


def compile_first(engine: str, part: str = LOOP) -> None:
    """Compile ahead of everything else: what this process compiled itself would round differently (`compile_ahead`)."""
    console = Console(stderr=True)
    with CompileBar(console, expected_seconds(part)) as bar:
        compile_ahead(engine, part, bar.advance)


def expected_seconds(part: str) -> dict[str, float]:
    """Return the functions of a part with the seconds that each took where ``bench compile --write`` was run."""
    with resource("config", "compile_seconds").open(encoding="utf-8") as file:
        return dict(yaml.safe_load(file)[part])


class CompileBar:
    """A bar of functions done and seconds left, shown with the first function; lines where there is no terminal."""

    def __init__(self, console: Console, expected: dict[str, float]) -> None:
        self._console, self._expected = console, dict(expected)
        self._total_s, self._done_s, self._count = max(sum(expected.values()), 1e-3), 0.0, 0
        self._started_s, self._said_s = time.monotonic(), -LINE_EVERY_S
        columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[count]}"))
        self._bar = Progress(*columns, TimeRemainingColumn(), console=console, transient=True)

    def __enter__(self) -> "CompileBar":
        return self

    def __exit__(self, *_error: object) -> None:
        self._bar.stop()

    def advance(self, name: str, _seconds: float) -> None:
        """Count a function as done."""
        if self._count == 0 and self._console.is_terminal:
            self._bar.start()
            self._bar.add_task("compiling, once per version", total=self._total_s, count="")
        self._count += 1
        self._done_s += self._expected.pop(name, 0.0)
        total = self._count + len(self._expected)
        if self._console.is_terminal:
            task = self._bar.task_ids[0]
            self._bar.update(task, completed=self._done_s, count=f"{self._count} of {total} functions")
        elif time.monotonic() - self._said_s >= LINE_EVERY_S:
            self._said_s = time.monotonic()
            elapsed, share = self._said_s - self._started_s, self._done_s / self._total_s
            left = f", about {elapsed * (1.0 - share) / share:.0f} s left" if share > 0.05 else ""
            self._console.print(f"compiling, once per version: {self._count} of {total} functions{left}")
