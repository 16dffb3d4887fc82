"""The tables of ``contact-mpc evaluate`` for people: rates with intervals, by axis, by disturbance, failures."""

from typing import Any

from rich.console import Group, RenderableType
from rich.markup import escape
from rich.table import Table


def make_table(result: dict[str, Any], wanted: int) -> RenderableType:
    """Return all tables of a result; `wanted` trials were asked for."""
    tables: list[RenderableType] = [_make_summary(result, wanted)]
    if len(result["by_axis"]) > 1:
        tables.append(make_group_table("by axis", result["by_axis"]))
    if result["by_disturbance"] and result["trials"] > 1:
        groups = {
            f"{name} {bin_['from']:.3g} to {bin_['to']:.3g}": bin_
            for name, bins in result["by_disturbance"].items()
            for bin_ in bins
        }
        tables.append(make_group_table("by disturbance, in thirds of its range", groups))
    if result["failures"]:
        tables.append(_make_failures(result["failures"]))
    return Group(*tables)


def rate_text(figures: dict[str, Any], key: str) -> str:
    """Return a rate with its interval: "95.0 % (95 %: 90.1 to 98.2 %)"."""
    low, high = figures[f"{key}_interval_95"]
    return f"{100 * figures[f'{key}_rate']:.1f} % (95 %: {100 * low:.1f} to {100 * high:.1f} %)"


def make_group_table(title: str, groups: dict[str, dict[str, Any]]) -> Table:
    """Return one row of rates and errors (median / 90th percentile) per group; empty groups are left out."""
    table = Table(title=title, title_justify="left", title_style="bold")
    table.caption, table.caption_justify = "errors: median / 90th percentile", "left"
    for name in ("", "trials", "goal met", "looser", "drops", "error, deg", "error, mm"):
        table.add_column(name, justify="left" if not name else "right")
    for name, figures in groups.items():
        if figures["trials"]:
            rates = [f"{100 * figures[key]:.1f}%" for key in ("success_rate", "loose_success_rate")]
            errors = [_short(figures[key]) for key in ("angle_error_deg", "position_error_mm")]
            table.add_row(name, str(figures["trials"]), *rates, str(figures["drops"]), *errors)
    return table


def _make_summary(result: dict[str, Any], wanted: int) -> Table:
    title = f"{result['task']} on {result['plant']} by {result['controller']}"
    table = Table("", "value", title=title, title_justify="left", title_style="bold")
    trials = str(result["trials"])
    table.add_row("trials", f"{trials} of {wanted}, interrupted" if result["interrupted"] else trials)
    limits = (
        ("goal met", "success", result["tolerance_deg"], result["tolerance_mm"]),
        ("within looser", "loose_success", result["loose_tolerance_deg"], result["loose_tolerance_mm"]),
    )
    for name, key, deg, mm in limits:
        table.add_row(f"{name}: {deg:g} deg, {mm:g} mm", rate_text(result, key))
    table.add_row("object dropped", f"{result['drops']} (95 %: up to {100 * result['drop_interval_95'][1]:.1f} %)")
    for key, name, unit in (("angle_error_deg", "angle error", "deg"), ("position_error_mm", "position error", "mm")):
        table.add_row(name, _long(result[key], ("median", "p90", "max"), unit))
    table.add_row("at the goal after", _long(result["reached_s"], ("median", "p90", "max"), "s"))
    for plan in result["planned_errors"]:
        if plan["angle_error_deg"] > result["tolerance_deg"] or plan["position_error_mm"] > result["tolerance_mm"]:
            ends = f"ends {plan['angle_error_deg']:.1f} deg, {plan['position_error_mm']:.1f} mm from the goal"
            table.add_row(f"reference about {plan['axis'] or 'its axis'}", f"[red]{ends}: no tracking can meet it[/]")
    if "commands_max_abs_diff" in result:
        differences = result["commands_max_abs_diff"]
        equal = sum(item == 0.0 for item in differences)
        table.add_row("commands as in one process, bit for bit", f"{equal} of {len(differences)} trials")
    for kind, counts in result["reports"].items():
        table.add_row(
            escape(f"tracker reported: {kind}"), f"{counts['trials']} trials, {counts['goal_met']} met the goal"
        )
    for key, name in (("solve_cpu_ms", "CPU time"), ("solve_ms", "wall time")):
        table.add_row(f"{name} per command", _long(result[key], ("median", "p99", "max"), "ms"))
    return table


def _make_failures(failures: list[dict[str, Any]]) -> Table:
    table = Table(title="failures", title_justify="left", title_style="bold")
    table.add_column("run it again", overflow="fold")
    for name in ("axis", "reason"):
        table.add_column(name)
    for failure in failures:
        table.add_row(escape(failure["command"]), failure["axis"], escape(failure["reason"]))
    return table


def _long(figures: dict[str, float] | None, keys: tuple[str, ...], unit: str) -> str:
    return "-" if figures is None else ", ".join(f"{key} {figures[key]:.2f}" for key in keys) + f" {unit}"


def _short(figures: dict[str, float] | None) -> str:
    return "-" if figures is None else f"{figures['median']:.2f} / {figures['p90']:.2f}"
