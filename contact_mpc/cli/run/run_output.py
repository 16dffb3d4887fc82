"""What ``contact-mpc run`` shows: a bar over simulated time, and the table of figures against the task's limits.

Its bar, with a state in words on a line of its own, is that of evaluations and studies, too.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.console import RenderableType
from rich.markup import escape
from rich.progress import BarColumn, ProgressColumn, Task, TextColumn
from rich.table import Table
from rich.text import Text

from contact_mpc.cli.frame.line_bar import LineBar
from contact_mpc.task.task import TaskConfig

if TYPE_CHECKING:
    from contact_mpc.bags.metrics import RunMetrics
    from contact_mpc.ros.stack.run_session import RunProgress


class StateBar(LineBar):
    """A bar with the field `state` of its task below it.

    Beside the bar it would take its place: rich cuts cells that are too long for a line, the bar first.
    """

    def __init__(self, *columns: str | ProgressColumn) -> None:
        super().__init__(*columns, transient=False)

    def line(self, task: Task) -> str:
        """Return what stands in a bar's place, the state with it."""
        state = task.fields["state"].replace("\n", ";")
        return f"{super().line(task)}{', ' if state else ''}{state}"

    def get_renderables(self) -> Iterable[RenderableType]:
        """Return the table of bars, and the states that there are."""
        yield self.make_tasks_table(self.tasks)
        for task in self.tasks:
            if task.fields["state"]:
                yield Text(f"  {task.fields['state']}")


@contextmanager
def run_progress(title: str, total_s: float) -> Iterator[Callable[["RunProgress"], None]]:
    """Show a bar over simulated time on stderr, with real-time factor and object error."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:.1f} / {task.total:.1f} s"),
    )
    with StateBar(*columns) as bar:
        row = bar.add_task(f"{title}: starting", total=total_s, state="")

        def show(progress: "RunProgress") -> None:
            state = (
                f"{progress.real_time_factor:.2f} x real time, object at {progress.angle_error_deg:.1f} deg, "
                f"{progress.position_error_mm:.1f} mm from the goal"
            )
            state += f"\n  {progress.part}" if progress.part else ""
            completed = min(progress.simulated_s, total_s)
            bar.update(row, description=title, completed=completed, state=state)

        yield show


def run_table(config: TaskConfig, metrics: "RunMetrics", result: dict[str, Any]) -> Table:
    """Return the figures of a judged run beside the limits of its task."""
    from contact_mpc.report.result_table import result_rows

    verdict = (
        "[green]goal met[/]" if metrics.goal_met else "[red]goal not met[/]: " + escape("; ".join(metrics.reasons))
    )
    table = Table("", "value", "limit", title=f"{config.name}: {verdict}", title_justify="left", title_style="bold")
    for row in result_rows(metrics, config):
        colour = {None: "", True: "green", False: "red"}[row.passed]
        value = escape(row.value)
        table.add_row(escape(row.name), f"[{colour}]{value}[/]" if colour else value, escape(row.limit))
    lines = [*metrics.warnings, f"bag {result['bag']}", f"report {result['report']}"]
    table.caption = escape("\n".join(lines))
    table.caption_justify = "left"
    return table
