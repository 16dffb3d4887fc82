"""The page of ``contact-mpc evaluate``: rates by axis and by disturbance, errors of every trial, the failures."""

from pathlib import Path
from typing import Any

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
    failures = [["run it again", "axis", "reason"]]
    failures += [
        [item.get("command", f"seed {item['seed']}"), item["axis"], item["reason"]] for item in result["failures"]
    ]
    return render_page(result["task"], subtitle, build_figures(result), {"Failures": failures})


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
