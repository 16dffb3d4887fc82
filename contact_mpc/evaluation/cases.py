"""The turns of an evaluation, each with its reference, planned in a process of its own (`contact_mpc.loop.apart`)."""

from collections.abc import Callable
from pathlib import Path

from contact_mpc.errors import ConfigError
from contact_mpc.evaluation.trial_run import Case
from contact_mpc.loop.apart import fresh_process
from contact_mpc.planning.methods import make_plan
from contact_mpc.task.plan import load_plan
from contact_mpc.task.task import TaskConfig

ALL = "all"


def make_cases(
    task: TaskConfig,
    axis: str = ALL,
    plan_file: Path | None = None,
    must_hold: bool = True,
    on_turn: Callable[[str], None] | None = None,
) -> tuple[Case, ...]:
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
    on_turn : callable, optional
        Told each axis before its turn is planned.

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
    with fresh_process() as other:
        for name in axes:
            turned = task.about(name)
            if on_turn is not None:
                on_turn(name)
            cases.append(Case(turned, other.submit(make_plan, turned, must_hold).result()))
    return tuple(cases)
