"""What `evaluate` and `study` share: cases of a task, trials with a progress bar, Ctrl-C that keeps what is done.

References are planned in a process of their own. Libraries that numba loads share symbols, and the first one loaded
provides them to all: where planning comes first, the tracker's solves round differently than in a process that only
runs the loop, such as a node or a worker (seen: 6e-15 rad in the first plan, 1e-11 N m after 0.6 s).
"""

import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from contact_mpc.errors import ConfigError
from contact_mpc.evaluation.campaign import run_parallel
from contact_mpc.evaluation.trial_run import Case, EvaluationSpec, TrialOutcome, run_trial
from contact_mpc.planning.methods import make_plan
from contact_mpc.task.plan import load_plan
from contact_mpc.task.task import TaskConfig

ALL = "all"
DisturbanceScale = Annotated[
    float, typer.Option(min=0.0, max=4.0, help="Factor on the deviations of the plant; 0: the nominal plant.")
]
NoiseScale = Annotated[float, typer.Option(min=0.0, max=100.0, help="Factor on the pose noise of 1 mm and 1 degree.")]


@dataclass(frozen=True)
class Campaign:
    """Outcomes in the order of the trials, without those that an interrupt prevented."""

    outcomes: list[TrialOutcome]
    is_interrupted: bool


def make_cases(task: TaskConfig, axis: str, plan_file: Path | None = None, must_hold: bool = True) -> tuple[Case, ...]:
    """Return the turns of an evaluation, each with its reference.

    Parameters
    ----------
    task : TaskConfig
        The task.
    axis : str
        One of "+x" .. "-z", or "all": every axis of the task file's goal.rotation_axes, its own where there are none.
    plan_file : Path, optional
        Reference of a single turn; by default every turn is planned.
    must_hold : bool
        Refuse a start or goal that cannot be held.

    Raises
    ------
    ConfigError
        An unknown axis, or one plan file for several turns.
    """
    axes = (task.axes or ("",)) if axis == ALL else (axis,)
    if plan_file is not None:
        if len(axes) > 1:
            raise ConfigError(f"--plan {plan_file} holds one turn, not {len(axes)}; choose its --axis as well")
        return (Case(task.about(axes[0]), load_plan(plan_file, task.system)),)
    cases = []
    with Console(stderr=True).status("planning") as status, _other_process() as other:
        for name in axes:
            turned = task.about(name)
            status.update(f"planning {task.name} {name}")
            cases.append(Case(turned, other.submit(make_plan, turned, must_hold).result()))
    return tuple(cases)


@contextmanager
def _other_process() -> Iterator[ProcessPoolExecutor]:
    """Yield an executor of one fresh process, which Ctrl-C ends without a word."""
    pool = ProcessPoolExecutor(1, get_context("spawn"), signal.signal, (signal.SIGINT, signal.SIG_DFL))
    try:
        yield pool
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def run_trials(
    tasks: Sequence[tuple[EvaluationSpec, int]],
    jobs: int,
    title: str,
    backend: str = "loky",
    on_outcome: Callable[[int, TrialOutcome], None] | None = None,
) -> Campaign:
    """Run trials (spec, seed) with a progress bar; on_outcome(index, outcome) is called for each as it comes."""
    outcomes: dict[int, TrialOutcome] = {}
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    is_interrupted = False
    with Progress(*columns, TextColumn("{task.fields[state]}"), console=Console(stderr=True)) as bar:
        row = bar.add_task(title, total=len(tasks), state="")
        results = run_parallel(run_trial, tasks, jobs, backend)
        try:
            for index, outcome in results:
                outcomes[index] = outcome
                if on_outcome is not None:
                    on_outcome(index, outcome)
                met = sum(item.goal_met for item in outcomes.values())
                bar.update(row, advance=1, state=f"{met} of {len(outcomes)} met the goal")
        except KeyboardInterrupt:
            is_interrupted = True
        finally:
            results.close()
    return Campaign([outcomes[index] for index in sorted(outcomes)], is_interrupted)
