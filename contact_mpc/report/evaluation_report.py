"""The page of ``contact-mpc evaluate``: rates by axis and by disturbance, errors of every trial, the failures."""

from pathlib import Path
from typing import Any

from contact_mpc.evaluation.summary import badness
from contact_mpc.report.page import write_text
from contact_mpc.report.plotting.figures import Figure
from contact_mpc.report.plotting.rate_figures import error_scatter, rate_bars
from contact_mpc.report.summary_page import render_page

CAPTION = "Bars: 95 % intervals (Wilson)."


def write_evaluation_report(result: dict[str, Any], folder: Path) -> Path:
    """Write evaluation.html into a folder from the command's JSON result, and return its path."""
    return write_text(folder.expanduser() / "evaluation.html", render_evaluation_report(result))


def render_evaluation_report(result: dict[str, Any]) -> str:
    """Return the page as text; failures without a `command` that repeats them are told by their seeds."""
    low, high = result["success_interval_95"]
    subtitle = (
        f"{result['plant']} · {result['controller']} · seed {result['seed']} · {result['trials']} trials · goal met "
        f"{100 * result['success_rate']:.1f} % (95 %: {100 * low:.1f} to {100 * high:.1f} %) · {result['drops']} drops"
    )
    tables = {"Rates": _rates(result), "Failures": _failures(result), "Trials, the worst first": _trials(result)}
    return render_page(result["task"], subtitle, build_figures(result), tables, result)


def _rates(result: dict[str, Any]) -> list[list[str]]:
    head = ["axis", "trials", "goal met, %", "95 %", "looser, %", "drops", "median deg", "median mm"]
    return [head, *(_rate(name, group) for name, group in {"all": result, **result["by_axis"]}.items())]


def _rate(name: str, group: dict[str, Any]) -> list[str]:
    low, high = group["success_interval_95"]
    errors = [group.get(key) for key in ("angle_error_deg", "position_error_mm")]
    return [
        name, str(group["trials"]), f"{100 * group['success_rate']:.1f}", f"{100 * low:.1f} to {100 * high:.1f}",
        f"{100 * group['loose_success_rate']:.1f}", str(group["drops"]),
        *("-" if item is None else f"{item['median']:.2f}" for item in errors),
    ]  # fmt: skip


def _failures(result: dict[str, Any]) -> list[list[str]]:
    rows = [["run it again", "axis", "reason"]]
    return rows + [[_again(item), item["axis"], item["reason"]] for item in result["failures"]]


def _trials(result: dict[str, Any]) -> list[list[str]]:
    """Return all trials: those that missed the goal, then the others, each by their errors in tolerances."""
    keys, tolerances = ("angle_error_deg", "position_error_mm"), (result["tolerance_deg"], result["tolerance_mm"])

    def how_bad(item: dict[str, Any]) -> tuple[bool, float]:
        return badness(item["goal_met"], [item[key] for key in keys], tolerances)

    rows = [["run it again", "axis", "goal met", "deg", "mm"]]
    for item in sorted(result["outcomes"], key=how_bad, reverse=True):
        errors = ("-" if item[key] is None else f"{item[key]:.2f}" for key in keys)
        rows.append([_again(item), item["axis"] or "own", "yes" if item["goal_met"] else "no", *errors])
    return rows


def _again(item: dict[str, Any]) -> str:
    return str(item.get("command", f"seed {item['seed']}"))


def build_figures(result: dict[str, Any]) -> list[Figure]:
    """Return the plots of an evaluation."""
    figures = [
        rate_bars("by_axis", "By axis", CAPTION, result["by_axis"]),
        error_scatter("errors", result["outcomes"], result["tolerance_deg"], result["tolerance_mm"]),
    ]
    for name, bins in result["by_disturbance"].items():
        groups = {f"{item['from']:.3g} to {item['to']:.3g}": item for item in bins}
        title = f"By {name.replace('_', ' ')}"
        figures.append(rate_bars(f"by_{name}", title, f"Thirds of the range. {CAPTION}", groups))
    return figures
