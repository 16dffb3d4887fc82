"""``contact-mpc replay BAG``: recompute estimates and MPC commands of a recorded run without ROS, and compare."""

import contact_mpc.cli.frame.single_thread  # noqa: F401, I001  before anything that imports numpy
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table

from contact_mpc.cli.frame.output import EXIT_GOAL_MISSED, command_line, emit, require_writable
from contact_mpc.settings.extras import require_packages

if TYPE_CHECKING:
    from contact_mpc.bags.recompute import ReplayResult
    from contact_mpc.bags.record import RunRecord


def replay(
    bag: Annotated[Path, typer.Argument(help="Folder of a rosbag2 bag, or its .mcap or .db3 file.")],
    report: Annotated[Path | None, typer.Option(help="Also write the HTML report of the run into this folder.")] = None,
    tolerance: Annotated[float, typer.Option(min=0.0, help="Largest absolute difference that is the same.")] = 1e-9,
    system: Annotated[str | None, typer.Option(help="System, name or path; by default the bag says.")] = None,
    task: Annotated[str | None, typer.Option(help="Task for --report, name or path; by default the bag says.")] = None,
    params: Annotated[Path | None, typer.Option(help="Parameter file of the nodes; by default the bag's.")] = None,
    namespace: Annotated[str | None, typer.Option(help="Namespace, where the bag holds several robots.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Feed a bag to the same core without ROS; the exit code is 0 only if all comes out as recorded."""
    require_packages("replay", "rosbags")
    require_writable(report)
    from contact_mpc.bags.sources import describe_difference, find_system

    with _progress() as progress:
        record = _read(bag, namespace, progress)
        model = find_system(record, system)
        result = _recompute(record, model, params, tolerance, progress)
    warnings = [text for text in (*record.warnings, describe_difference(record, model), *result.skipped) if text]
    page = _report(record, task, report) if report is not None else None
    values = {"bag": bag, "seed": record.metadata.get("seed"), **result.to_dict(), "report": page, "warnings": warnings}
    for warning in warnings:
        typer.echo(f"warning: {warning}", err=True)
    emit({**values, "goal_met": result.is_reproduced}, as_json, make_table(bag, result, page))
    raise typer.Exit(0 if result.is_reproduced else EXIT_GOAL_MISSED)


def make_table(bag: Path, result: "ReplayResult", page: Path | None) -> Table:
    """Return what people see."""
    table = Table(title=f"Replay of {escape(str(bag))}", show_header=False)
    rows = [
        ("MPC commands, largest difference", _text(result.mpc_commands_max_abs_diff)),
        ("MPC plans compared (of them holds)", f"{result.plans} ({result.hold_plans})"),
        ("Estimates, largest difference", _text(result.estimates_max_abs_diff)),
        ("Estimates compared", str(result.estimates)),
        ("Not recomputed: plans, estimates", f"{result.plans_missing}, {result.estimates_missing}"),
        ("Messages", f"{result.messages}"),
        ("Duration", f"{result.duration_s:.3f} s"),
        ("First mismatch", result.first_mismatch or "none"),
        ("Result", f"reproduced within {result.tolerance:g}" if result.is_reproduced else "NOT reproduced"),
    ]
    for name, value in rows + ([("Report", str(page))] if page else []):
        table.add_row(name, escape(value))
    return table


def _progress() -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    console = Console(stderr=True)
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)


def _read(bag: Path, namespace: str | None, progress: Progress) -> "RunRecord":
    from contact_mpc.bags.bag import read_run

    reading = progress.add_task("reading messages", total=None)
    record = read_run(bag, namespace, lambda count: progress.update(reading, completed=count))
    progress.update(reading, completed=record.messages, total=record.messages)
    return record


def _recompute(
    record: "RunRecord", model: Any, params: Path | None, tolerance: float, progress: Progress
) -> "ReplayResult":
    from contact_mpc.bags.recompute import DEFAULT_RATE_HZ, ReplaySettings, replay_run
    from contact_mpc.bags.sources import node_config, node_parameters
    from contact_mpc.control.tracking.config import TrackerConfig
    from contact_mpc.estimation.config import EstimatorConfig

    rate_hz = int(node_parameters(record, "state_estimator", params).get("rate_hz", DEFAULT_RATE_HZ))
    settings = ReplaySettings(
        estimator=node_config(record, "state_estimator", EstimatorConfig, params, key="estimator"),
        tracker=node_config(record, "mpc_tracker", TrackerConfig, params),
        estimate_rate_hz=rate_hz,
        tolerance=tolerance,
    )
    bars = {what: progress.add_task(f"recomputing {what}", total=None) for what in ("estimates", "plans")}
    return replay_run(
        record, model, settings, lambda what, done, total: progress.update(bars[what], completed=done, total=total)
    )


def _report(record: "RunRecord", task: str | None, folder: Path) -> Path:
    from contact_mpc.bags.metrics import compute_metrics
    from contact_mpc.bags.sources import find_task
    from contact_mpc.report.run_report import write_report

    config = find_task(record, task)
    metrics = compute_metrics(record, config.system, config)
    return write_report(record, metrics, config.system, config, folder, command_line())


def _text(value: float | None) -> str:
    return "not recomputed" if value is None else f"{value:.3g}"
