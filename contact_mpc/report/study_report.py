"""The pages of ``contact-mpc study tracking`` and ``study generality``: plots and tables of many trials."""

import re
from itertools import groupby
from pathlib import Path
from typing import Any

from contact_mpc.report.plotting.figures import Figure
from contact_mpc.report.plotting.rate_figures import rate_bars, rate_lines, rate_matrix
from contact_mpc.report.summary_page import write_page

CAPTION = "Bars: 95 % intervals (Wilson). The same trials in every row."


def write_study_report(result: dict[str, Any], folder: Path) -> Path:
    """Write WHAT.html into a folder from the command's JSON result, and return its path."""
    trials = f"up to {result['trials']} trials per row"
    subtitle = f"{result['task']} on {result['conditions']} · seed {result['seed']} · {trials}"
    path = folder.expanduser() / f"{result['what']}.html"
    tables = {"Table": table_rows(result["rows"]), "Worst trial of each row": _worst_rows(result["rows"])}
    return write_page(path, result["what"].capitalize(), subtitle, build_figures(result), tables, result)


def build_figures(result: dict[str, Any]) -> list[Figure]:
    """Return bars where the rows are labels, a line per group where they are values."""
    figures = []
    for group, found in groupby(result["rows"], key=lambda row: str(row["group"])):
        rows, key = list(found), re.sub(r"\W+", "_", group)
        if all(row["value"] is not None for row in rows):
            figures.append(rate_lines(key, group, CAPTION, [row["value"] for row in rows], rows))
        else:
            figures.append(rate_bars(key, "Success", CAPTION, {row["label"]: row for row in rows}, is_wide=True))
    return figures


def table_rows(rows: list[dict[str, Any]]) -> list[list[str]]:
    """Return the table as text."""
    rates, errors = ["goal met, %", "95 %", "looser, %", "drops"], ["median deg", "median mm"]
    head = ["", "trials", *rates, *errors, "median CPU ms", "p99 CPU ms"]
    return [head, *(_cells(row) for row in rows if row["trials"])]


def _cells(row: dict[str, Any]) -> list[str]:
    low, high = row["success_interval_95"]

    def figure(key: str, name: str) -> str:
        return "-" if row[key] is None else f"{row[key][name]:.2f}"

    return [
        _label(row), str(row["trials"]), f"{100 * row['success_rate']:.1f}", f"{100 * low:.1f} to {100 * high:.1f}",
        f"{100 * row['loose_success_rate']:.1f}", str(row["drops"]), figure("angle_error_deg", "median"),
        figure("position_error_mm", "median"), figure("solve_cpu_ms", "median"),
        figure("solve_cpu_ms", "p99"),
    ]  # fmt: skip


def _worst_rows(rows: list[dict[str, Any]]) -> list[list[str]]:
    """Return the trial of each row that came off worst, as text; none of rows that say none."""
    head = ["", "seed", "axis", "deg", "mm", "reasons"]
    found = [(_label(row), row["worst"]) for row in rows if row.get("worst")]
    return [head, *([label, str(item["seed"]), item["axis"] or "own", *_errors(item),
                     "; ".join(item["reasons"]) or "goal met"] for label, item in found)]  # fmt: skip


def _label(row: dict[str, Any]) -> str:
    return row["label"] if row["value"] is None else f"{row['group']}: {row['label']}"


def _errors(item: dict[str, Any]) -> list[str]:
    return ["-" if item[key] is None else f"{item[key]:.2f}" for key in ("angle_error_deg", "position_error_mm")]


def write_generality_report(result: dict[str, Any], folder: Path) -> Path:
    """Write generality.html, the matrix of hands and objects, into a folder and return its path."""
    low, high = result["pooled_interval_95"]
    subtitle = (
        f"{result['turn']} on {result['plant']} · seed {result['seed']} · {result['trials']} trials per cell · pooled "
        f"{100 * (result['pooled_success_rate'] or 0.0):.0f} % (95 %: {100 * low:.0f} to {100 * high:.0f} %)"
    )
    head = [
        "hand, object",
        "trials",
        "goal met, %",
        "drops",
        "median deg",
        "median mm",
        "search, CPU s",
        "command, CPU ms",
    ]
    tables = {"Cells": [head, *(_matrix_row(row) for row in result["cells"])]}
    reasons = [[f"{row['hand']}, {row['object']}", row["reason"]] for row in result["cells"] if row["reason"]]
    if reasons:
        tables["Cells without trials"] = [["hand, object", "why"], *reasons]
    path = folder.expanduser() / "generality.html"
    return write_page(path, "Generality", subtitle, [rate_matrix(result["cells"])], tables, result)


def _matrix_row(row: dict[str, Any]) -> list[str]:
    def figure(*keys: str) -> str:
        value: Any = row
        for key in keys:
            value = value.get(key) if isinstance(value, dict) else None
        return "-" if value is None else f"{value:.2f}" if isinstance(value, float) else str(value)

    return [
        f"{row['hand']}, {row['object']}", str(row["trials"]),
        f"{100 * row['success_rate']:.0f}" if row["trials"] else "-", figure("drops"),
        figure("angle_error_deg", "median"), figure("position_error_mm", "median"), figure("search_cpu_s"),
        figure("solve_cpu_ms", "median"),
    ]  # fmt: skip
