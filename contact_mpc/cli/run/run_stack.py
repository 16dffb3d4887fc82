"""The runs of ``contact-mpc run``, once its options are understood: of a task, of a tree's plan, or without an end."""

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.table import Table

from contact_mpc.cli.frame.compiling import compile_first
from contact_mpc.cli.frame.interrupts import interruptible
from contact_mpc.cli.frame.output import command_line
from contact_mpc.cli.run.endless import endless_domain, run_endless
from contact_mpc.cli.run.problem_plan import ProblemRun, task_of_problem, write_problem_plan
from contact_mpc.cli.run.run_output import run_progress, run_table
from contact_mpc.errors import ConfigError
from contact_mpc.planning.methods import CONTACT_IMPLICIT, is_push
from contact_mpc.task.plan import save_plan
from contact_mpc.task.task import TaskConfig

if TYPE_CHECKING:
    from contact_mpc.bags.metrics import RunMetrics
    from contact_mpc.ros.stack.run_parameters import RunOptions


@dataclass(frozen=True)
class RunRequest:
    """What a user asks of any run, whatever it is a run of.

    Attributes
    ----------
    plant, clock, seed, interface
        As of `RunOptions`.
    params : Path or None
        Parameter file of the nodes; None: the task's.
    settings : tuple of str
        "node.key=value" on top of it.
    receding_horizon : bool or None
        Of pushes: plan again or play the plan back; None: as the parameter file says.
    record, report : Path
        Where the run's folder is made, and the report goes; without a report folder beside the bag.
    domain : int or None
        ROS domain; None: one that is free.
    view_port : int or None
        Port of the page in which the run is shown; None: not shown.
    """

    plant: str
    clock: str
    seed: int
    interface: str | None
    params: Path | None
    settings: tuple[str, ...]
    receding_horizon: bool | None
    record: Path
    report: Path | None
    domain: int | None
    view_port: int | None

    def options(self, config: TaskConfig) -> "RunOptions":
        """Return the choices for the nodes; raises ConfigError where they do not fit the task."""
        from contact_mpc.ros.stack.run_parameters import RunOptions
        from contact_mpc.task.node_parameters import default_parameter_file

        settings = (*self.settings, *_mode(config, self.receding_horizon))
        file = self.params or default_parameter_file(config)
        return RunOptions(self.plant, self.clock, self.seed, file, self.interface, settings)


@dataclass(frozen=True)
class RunOutcome:
    """A judged run: what is printed as JSON and as a table, and whether the goal was met."""

    result: dict[str, Any]
    table: Table
    goal_met: bool


def run_task(config: TaskConfig, plan_file: Path | None, request: RunRequest) -> RunOutcome:
    """Run a task from its start, with its plan made meanwhile where no file holds one."""
    with _run_folder(request.record, config.name) as folder:
        options = request.options(config)
        execute(config, options, folder, plan_file, request)
    return _outcome(config, options, folder, plan_file, request)


def run_problem(asked: ProblemRun, request: RunRequest) -> RunOutcome:
    """Run a problem's plan from its own start to its own goal; made first where no file holds one."""
    with _run_folder(request.record, Path(asked.name).stem) as folder:
        file, plan = write_problem_plan(asked, folder) if asked.stored is None else asked.stored
        config = task_of_problem(asked, plan, file, folder)
        options = request.options(config)
        execute(config, options, folder, file, request)
    return _outcome(config, options, folder, file, request)


def run_goals(config: TaskConfig, request: RunRequest) -> tuple[dict[str, Any], str]:
    """Run the stack of a task until Ctrl-C and take goals; returns the counts of goals, and the same in words."""
    with _run_folder(request.record, config.name) as folder:
        domain = endless_domain(request.domain)
        view = viewed(config, folder.resolve(), domain, request.view_port)
        return run_endless(config, request.options(config), folder, domain, view)


def execute(
    config: TaskConfig,
    options: "RunOptions",
    folder: Path,
    plan_file: Path | None,
    request: RunRequest,
) -> None:
    """Start the stack, make the plan meanwhile (of a push before), and follow the run to its end."""
    from contact_mpc.ros.stack.run_parameters import build_parameters
    from contact_mpc.ros.stack.run_session import RunSession

    plan_path = (plan_file or folder / "plan.npz").resolve()
    if plan_file is None and is_push(config):  # what no push can reach is refused before anything starts
        write_plan(config, plan_path)
    parameters = build_parameters(config, options, folder.resolve(), plan_path)
    compile_first(options.plant)
    with (
        run_progress(config.name, parameters["plant"]["run_for_s"]) as show,
        RunSession(config, parameters, folder.resolve(), request.domain) as session,
    ):
        session.start()
        if plan_file is None and not is_push(config):
            write_plan(config, plan_path)
        with viewed(config, folder.resolve(), session.stack.domain, request.view_port):
            session.run(show)


@contextmanager
def viewed(config: TaskConfig, folder: Path, domain: int, port: int | None) -> Iterator[None]:
    """Show a stack in a browser where a port is given."""
    if port is None:
        yield
        return
    from contact_mpc.ros.stack.viewing import viewing

    typer.echo(f"the view is at http://127.0.0.1:{port}", err=True)
    with viewing(config.system, folder, domain, port):
        yield


def write_plan(config: TaskConfig, path: Path) -> None:
    """Plan a task and write its plan file."""
    from contact_mpc.planning.methods import make_plan

    save_plan(path, make_plan(config))


def judge(
    folder: Path, config: TaskConfig, report: Path | None, options: "RunOptions", plan_file: Path | None
) -> tuple["RunMetrics", Path]:
    """Read the bag back, compute the figures and write the report."""
    from contact_mpc.bags.bag import read_run
    from contact_mpc.bags.metrics import compute_metrics
    from contact_mpc.report.run_report import write_report

    record = read_run(folder / "bag")
    metrics = compute_metrics(record, config.system, config)
    if is_push(config):
        from contact_mpc.ros.stack.push_contacts import check_recorded_contacts

        plan = plan_file or folder / "plan.npz"
        contacts, reason = check_recorded_contacts(config, options, folder, plan, record.commands)
        warnings = metrics.warnings if contacts else (*metrics.warnings, reason)
        metrics = replace(metrics, contacts=contacts.to_dict() if contacts else None, warnings=warnings)
    return metrics, write_report(record, metrics, config.system, config, report or folder, command_line())


def _outcome(
    config: TaskConfig, options: "RunOptions", folder: Path, plan_file: Path | None, request: RunRequest
) -> RunOutcome:
    metrics, page = judge(folder, config, request.report, options, plan_file)
    result = {
        "task": config.name,
        "axis": config.axis or None,
        "displacement": config.displacement,
        "receding_horizon": request.receding_horizon,
        "plant": options.plant,
        "clock": options.clock,
        "seed": options.seed,
        **metrics.to_dict(),
        "bag": folder / "bag",
        "report": page,
    }
    return RunOutcome(result, run_table(config, metrics, result), metrics.goal_met)


@contextmanager
def _run_folder(parent: Path, name: str) -> Iterator[Path]:
    """Make the folder of a run, within which the first Ctrl-C or SIGTERM is an orderly end."""
    folder = make_run_folder(parent, name)
    with interruptible(signal.SIGINT, signal.SIGTERM, only_first=True), _removed_if_empty(folder):
        yield folder


def make_run_folder(parent: Path, name: str) -> Path:
    """Make a folder `name-YYYYmmdd-HHMMSS` for bag, logs and parameters; raises ConfigError if that is impossible."""
    folder = parent.expanduser() / f"{name}-{time.strftime('%Y%m%d-%H%M%S')}"
    for suffix in ("", *(f"-{i}" for i in range(2, 100))):
        try:
            candidate = folder.with_name(folder.name + suffix)
            candidate.mkdir(parents=True)
        except FileExistsError:
            continue
        except OSError as error:
            raise ConfigError(f"--record {parent}: {error.strerror}; choose a folder that you may write to") from error
        return candidate
    raise ConfigError(f"--record {parent}: too many runs in one second; choose another folder")


def _mode(config: TaskConfig, receding_horizon: bool | None) -> tuple[str, ...]:
    """Return the setting that a choice of receding horizon means; raises ConfigError where the task is no push."""
    if receding_horizon is None:
        return ()
    if not is_push(config):
        flag = "--receding-horizon" if receding_horizon else "--no-receding-horizon"
        raise ConfigError(f"{flag}: {config.path} is no push; its planner.method is not {CONTACT_IMPLICIT}")
    return (f"mpc_tracker.controller={'receding_horizon' if receding_horizon else 'playback'}",)


@contextmanager
def _removed_if_empty(folder: Path) -> Iterator[None]:
    """Leave no empty folder behind where nothing was started."""
    try:
        yield
    finally:
        with suppress(OSError):
            folder.rmdir()
