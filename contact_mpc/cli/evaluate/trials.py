"""What `evaluate` and `study` share: cases of a task, trials with a progress bar, Ctrl-C that keeps what is done."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn

from contact_mpc.cli.run.run_output import StateBar
from contact_mpc.errors import StackError
from contact_mpc.evaluation.campaign import run_parallel
from contact_mpc.evaluation.cases import make_cases
from contact_mpc.evaluation.trial_run import Case, EvaluationSpec, TrialOutcome, run_trial
from contact_mpc.task.task import TaskConfig

DisturbanceScale = Annotated[
    float, typer.Option(min=0.0, max=4.0, help="Factor on the deviations of the plant; 0: the nominal plant.")
]
NoiseScale = Annotated[float, typer.Option(min=0.0, max=100.0, help="Factor on the pose noise of 1 mm and 1 degree.")]


@dataclass(frozen=True)
class Campaign:
    """Outcomes in the order of the trials, without those that an interrupt or a failure (which one) prevented."""

    outcomes: list[TrialOutcome]
    is_interrupted: bool
    failure: str = ""


def show_cases(task: TaskConfig, axis: str, plan_file: Path | None = None, must_hold: bool = True) -> tuple[Case, ...]:
    """Return the turns of an evaluation as `make_cases`, with a word about which is being planned."""
    with Console(stderr=True).status("planning") as status:
        return make_cases(task, axis, plan_file, must_hold, lambda name: status.update(f"planning {task.name} {name}"))


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
    is_interrupted, failure = False, ""
    with StateBar(*columns) as bar:
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
        except StackError as error:
            failure = str(error)
        finally:
            results.close()
    return Campaign([outcomes[index] for index in sorted(outcomes)], is_interrupted, failure)
