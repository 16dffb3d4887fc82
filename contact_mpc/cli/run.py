"""``contact-mpc run TASK``: the whole stack as processes over DDS, with an embedded plant, to the end of the task."""

import contact_mpc.cli.single_thread  # noqa: F401, I001  before anything that imports numpy

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn
from rich.table import Table

from contact_mpc.cli.compiling import compile_first
from contact_mpc.cli.endless import endless_domain, run_endless
from contact_mpc.cli.interrupts import interruptible
from contact_mpc.cli.tree_plan import is_tree_plan, require_start, task_of_plan_file, write_tree_plan
from contact_mpc.cli.output import EXIT_GOAL_MISSED, emit, require_writable
from contact_mpc.errors import ConfigError
from contact_mpc.task.plan import load_plan, save_plan
from contact_mpc.task.task import TaskConfig, load_task
from contact_mpc.planning.methods import CONTACT_IMPLICIT, is_push
from contact_mpc.plants.gazebo.server import find_root
from contact_mpc.plants.registry import INTERFACES, PLANTS
from contact_mpc.settings.extras import require_packages

if TYPE_CHECKING:
    from contact_mpc.bags.metrics import RunMetrics
    from contact_mpc.ros.stack.run_session import RunProgress

CLOCKS = ("lockstep", "realtime")


def run(
    task: Annotated[str, typer.Argument(help="Name of a task in config/tasks, or the path of a task file.")],
    axis: Annotated[str, typer.Option(help="Turn about +x, -x, +y, -y, +z or -z instead of the task's axis.")] = "",
    displacement: Annotated[
        float | None, typer.Option(help="Pushes: how far the object goes, m (a door: rad); the task's by default.")
    ] = None,
    receding_horizon: Annotated[
        bool | None,
        typer.Option(
            "--receding-horizon/--no-receding-horizon",
            help="Pushes: plan again while it runs, or play the plan back; by default as the parameter file says.",
        ),
    ] = None,
    plant: Annotated[str, typer.Option(help=f"Physics engine: {PLANTS.describe()}, or module:name.")] = "drake",
    clock: Annotated[str, typer.Option(help="lockstep (deterministic) or realtime (wall clock).")] = "lockstep",
    interface: Annotated[
        str | None, typer.Option(help="effort or position commands; by default as the parameter file says.")
    ] = None,
    record: Annotated[Path, typer.Option(help="Folder in which the run gets a folder of its own.")] = Path("out/runs"),
    report: Annotated[Path | None, typer.Option(help="Folder for the HTML report; by default beside the bag.")] = None,
    plan: Annotated[
        Path | None,
        typer.Option(
            help="Plan file; by default the plan is made first. A tree's plan runs from its own start to its own goal."
        ),
    ] = None,
    method: Annotated[
        str | None,
        typer.Option(help="rrt: grow a tree for the planning problem of this name first, then run its plan."),
    ] = None,
    plan_seed: Annotated[int, typer.Option(min=0, help="Seed of the tree, with --method rrt.")] = 0,
    params: Annotated[
        Path | None, typer.Option(help="Parameter file of the nodes; by default config/nodes/TASK.yaml.")
    ] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="node.key=value on top of the parameter file; may be repeated.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the sensor noise.")] = 0,
    duration_s: Annotated[
        float | None, typer.Option(min=0.1, max=600.0, help="Time of the motion instead of the task's, s.")
    ] = None,
    hold_s: Annotated[
        float | None, typer.Option(min=0.0, max=600.0, help="Time to hold at the goal instead of the task's, s.")
    ] = None,
    domain: Annotated[int | None, typer.Option(help="ROS domain; by default one that is free.")] = None,
    endless: Annotated[
        bool, typer.Option("--endless", help="Run without an end and take goals: see `contact-mpc goal`.")
    ] = False,
    view: Annotated[bool, typer.Option("--view", help="Show the run in a browser while it lasts.")] = False,
    port: Annotated[int, typer.Option(min=1024, max=65535, help="Port of the page of --view.")] = 8080,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Run a task in closed loop and judge it; the exit code is 0 only if the task's goal was met."""
    PLANTS.check(plant)
    _check_choices(clock=(clock, CLOCKS), interface=(interface, (None, *INTERFACES)))
    _require_packages(plant)
    if view:
        require_packages("run --view", "viser")
    from contact_mpc.ros.stack.run_parameters import RunOptions
    from contact_mpc.task.node_parameters import default_parameter_file

    by_tree = method is not None or (plan is not None and is_tree_plan(plan))
    if by_tree:
        _refuse_options("a tree's plan has its own motion", axis=axis, displacement=displacement, duration_s=duration_s)
    config = None if by_tree else _load(task, duration_s, hold_s).about(axis).moved_by(displacement)
    if config is not None and not is_push(config):
        _refuse_options(f"{config.path} is no push", displacement=displacement)
    elif config is not None:
        require_packages(f"run {task}", "casadi")
    require_writable(report)
    if config is not None and plan is not None:
        require_start(config, load_plan(plan, config.system), plan)
    folder = make_run_folder(record, Path(task).stem if config is None else config.name)
    with interruptible(signal.SIGINT, signal.SIGTERM, only_first=True), _removed_if_empty(folder):
        if config is None:
            plan = write_tree_plan(task, method, plan_seed, folder) if method is not None else plan
            config = task_of_plan_file(task, plan, folder, hold_s)
        chosen = (*(settings or ()), *_mode(config, receding_horizon))
        options = RunOptions(plant, clock, seed, params or default_parameter_file(config), interface, chosen)
        if endless:
            chosen_domain = endless_domain(domain)
            with viewed(config, folder.resolve(), chosen_domain, port if view else None):
                emit(*run_endless(config, options, folder, chosen_domain, as_json))
            return
        execute(config, options, folder, plan, domain, port if view else None)
    metrics, page = judge(folder, config, report, options, plan)
    result = {
        "task": config.name,
        "axis": config.axis or None,
        "displacement": displacement,
        "receding_horizon": receding_horizon,
        "plant": plant,
        "clock": clock,
        "seed": seed,
        **metrics.to_dict(),
        "bag": folder / "bag",
        "report": page,
    }
    emit(result, as_json, _table(config, metrics, result))
    raise typer.Exit(0 if metrics.goal_met else EXIT_GOAL_MISSED)


def execute(
    config: TaskConfig,
    options: Any,
    folder: Path,
    plan_file: Path | None,
    domain: int | None,
    view_port: int | None = None,
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
        _progress(config.name, parameters["plant"]["run_for_s"]) as show,
        RunSession(config, parameters, folder.resolve(), domain) as session,
    ):
        session.start()
        if plan_file is None and not is_push(config):
            write_plan(config, plan_path)
        with viewed(config, folder.resolve(), session.stack.domain, view_port):
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
    folder: Path, config: TaskConfig, report: Path | None, options: Any, plan_file: Path | None
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
    return metrics, write_report(record, metrics, config.system, config, report or folder)


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


def _load(task: str, duration_s: float | None, hold_s: float | None) -> TaskConfig:
    config = load_task(task)
    if duration_s is not None:
        config = replace(config, duration_s=duration_s)
    return config if hold_s is None else replace(config, hold_s=hold_s)


def _mode(config: TaskConfig, receding_horizon: bool | None) -> tuple[str, ...]:
    """Return the setting that a choice of receding horizon means; raises ConfigError where the task is no push."""
    if receding_horizon is None:
        return ()
    if not is_push(config):
        flag = "--receding-horizon" if receding_horizon else "--no-receding-horizon"
        raise ConfigError(f"{flag}: {config.path} is no push; its planner.method is not {CONTACT_IMPLICIT}")
    return (f"mpc_tracker.controller={'receding_horizon' if receding_horizon else 'playback'}",)


def _refuse_options(reason: str, **options: Any) -> None:
    """Raise ConfigError where an option was given that would be ignored."""
    for name, value in options.items():
        if value not in (None, ""):
            raise ConfigError(f"--{name.replace('_', '-')} {value}: {reason}; leave the option out")


def _require_packages(plant: str) -> None:
    """Raise ConfigError before anything starts if a run could not end for want of a package."""
    if plant == "gazebo":
        find_root()
    engine = [entry.needs for entry in (PLANTS[plant],) if entry.needs]
    require_packages(f"run --plant {plant}", "rclpy", "rosbags", "plotly", *engine)


def _check_choices(**choices: tuple[str | None, tuple[str | None, ...]]) -> None:
    for name, (value, allowed) in choices.items():
        if value not in allowed:
            words = ", ".join(word for word in allowed if word is not None)
            raise ConfigError(f"--{name} {value} is unknown; allowed: {words}")


@contextmanager
def _removed_if_empty(folder: Path) -> Iterator[None]:
    """Leave no empty folder behind where nothing was started."""
    try:
        yield
    finally:
        with suppress(OSError):
            folder.rmdir()


@contextmanager
def _progress(title: str, total_s: float) -> Iterator[Callable[["RunProgress"], None]]:
    """Show a bar over simulated time on stderr, with real-time factor and object error."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:.1f} / {task.total:.1f} s"),
        TextColumn("{task.fields[figures]}"),
    )
    with Progress(*columns, console=Console(stderr=True)) as bar:
        row = bar.add_task(f"{title}: starting", total=total_s, figures="")

        def show(progress: "RunProgress") -> None:
            figures = (
                f"{progress.real_time_factor:.2f} x real time, object at {progress.angle_error_deg:.1f} deg, "
                f"{progress.position_error_mm:.1f} mm from the goal"
            )
            completed = min(progress.simulated_s, total_s)
            bar.update(row, description=title, completed=completed, figures=figures)

        yield show


def _table(config: TaskConfig, metrics: "RunMetrics", result: dict[str, Any]) -> Table:
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
