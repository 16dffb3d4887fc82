"""Pieces of pages: names from files stay text."""

import json
import re
from pathlib import Path

import pytest

from contact_mpc.report.page import PLOTLY, asset, inline_json, page_head
from contact_mpc.report.planning_study_report import write_metric_report, write_smoothing_report
from contact_mpc.report.plotting.figures import GRID, INK, REFERENCE
from contact_mpc.report.plotting.rate_figures import error_scatter, rate_matrix
from contact_mpc.report.study_report import write_generality_report
from contact_mpc.report.summary_page import render_page

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("name", ["<!--<script>", "</script><script>alert(1)</script>", "]]>", "a<b"])
def test_no_name_ends_or_opens_a_script(name: str) -> None:
    """Within <!--<script> a browser takes the next </script> for text: the page had no plots."""
    inlined = inline_json({"joint": name})
    assert "<" not in inlined
    assert json.loads(inlined) == {"joint": name}


def test_a_dark_page_has_a_colour_for_what_is_dark_or_white_in_plots() -> None:
    head = page_head("page")
    assert "@media (prefers-color-scheme: dark)" in head
    table = head.split("const DARK =")[1].split("};")[0]
    assert all(f'"{colour}":' in table for colour in (INK, GRID, REFERENCE)) and "white:" in table


def test_words_stand_on_the_left_and_numbers_on_the_right_of_a_table() -> None:
    """A command to repeat stood on the right in one line, beyond the edge of a phone."""
    page = render_page(
        "Heading", "", [], {"Rates": [["what", "%", "why"], ["a", "61.0 to 100.0", "it fell"]], "Empty": [["what"]]}
    )
    assert '<td class="number">61.0 to 100.0</td><td>it fell</td>' in page
    assert '<h2>Empty</h2><p class="caption">none</p>' in page


def test_wide_tables_scroll_in_their_card() -> None:
    """At 390 px they made the whole page scroll sideways."""
    head = page_head("page")
    assert "overflow-x: auto" in head.split(".card {")[1].split("}")[0]
    narrow = head.split("@media (max-width: 600px)")[1]
    assert "td.pass, td.fail { overflow-wrap: normal" in narrow, "they stood one letter below the other"


def test_the_sky_of_an_animation_is_dark_on_a_dark_page() -> None:
    head = page_head("page")
    assert head.count("--sky:") == 2 and "linear-gradient(var(--sky), var(--ground))" in head


def test_plots_are_drawn_by_the_small_bundle_in_the_version_that_make_names() -> None:
    """All of plotly.js made every page 4.8 MB larger."""
    (version,) = re.findall(r"^PLOTLY_VERSION := (\S+)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert f"plotly.js (basic - minified) v{version}\n" in asset(PLOTLY)[:200]


def test_the_matrix_of_hands_and_objects_needs_no_heat_map() -> None:
    """The small bundle draws scatter and bar alone."""
    cells = [{"hand": "allegro", "object": "ball", "trials": 2, "success_rate": 0.5},
             {"hand": "leap", "object": "ball", "trials": 0, "success_rate": 0.0}]  # fmt: skip
    (trace,) = rate_matrix(cells).traces
    assert (
        trace["type"] == "scatter" and trace["text"] == ["50", "no trial"] and trace["marker"]["color"] == [50.0, 0.0]
    )


@pytest.mark.parametrize("axis_name", ["xaxis", "yaxis"])
def test_a_log_axis_has_ticks_at_round_values(axis_name: str) -> None:
    """Plotly's own ticks of a short log axis were 0.764 and the like: one, two and five of each decade instead."""
    trials = [{"goal_met": True, "angle_error_deg": 0.6, "position_error_mm": 0.8, "seed": 1, "axis": "+x"},
              {"goal_met": False, "angle_error_deg": 0.9, "position_error_mm": 1.4, "seed": 2, "axis": ""}]  # fmt: skip
    drawn = error_scatter("errors", trials, 2.0, 5.0).layout[axis_name]
    assert drawn["type"] == "log" and drawn["dtick"] == "D2"


def test_counts_and_times_on_log_axes_have_round_ticks(tmp_path: Path) -> None:
    spread = [{"mean": 0.2, "std": 0.1}, {"mean": 0.5, "std": 0.1}]
    system = {"radius_rad": 0.1, "variants": {"metric": {"visited": spread, "packed": spread}}, "ratios": {}}
    page = write_metric_report(
        {"systems": {"hand": system}, "counts": [300, 700], "seeds": 2, "seed": 0, "nodes": 700}, tmp_path
    )
    costs = {"costs": [5.0, 4.0, 3.5], "times_s": [0.3, 0.5, 0.7], "elapsed_s": 0.7, "cost": 3.5,
             "angle_error_deg": 1.0, "position_error_mm": None}  # fmt: skip
    smoothing = {"problems": {"hand": {"analytic": costs}}, "iterations": 3, "seed": 0, "samples": 2}
    for path in (page, write_smoothing_report(smoothing, tmp_path)):
        figures = json.loads(path.read_text().split('id="data">')[1].split("</script>")[0])["figures"]
        drawn = [item["layout"][name] for item in figures.values() for name in ("xaxis", "yaxis")]
        logs = [item for item in drawn if item.get("type") == "log"]
        assert logs and all(item["dtick"] == "D2" for item in logs)


def test_the_page_of_hands_and_objects_names_every_cell_and_why_some_are_empty(tmp_path: Path) -> None:
    met = {"hand": "allegro", "object": "ball", "trials": 4, "success_rate": 0.75, "drops": 1, "reason": "",
           "angle_error_deg": {"median": 1.25}, "position_error_mm": None, "search_cpu_s": 3.0,
           "solve_cpu_ms": None}  # fmt: skip
    empty = {**met, "hand": "leap", "trials": 0, "success_rate": 0.0, "drops": 0, "reason": "no <grasp>"}
    result = {"turn": "z:30", "plant": "drake", "seed": 3, "trials": 4, "cells": [met, empty],
              "pooled_success_rate": 0.375, "pooled_interval_95": [0.1, 0.7],
              "command_line": "contact-mpc study"}  # fmt: skip
    page = write_generality_report(result, tmp_path).read_text()
    row = '<td>allegro, ball</td><td class="number">4</td><td class="number">75</td><td class="number">1</td>'
    assert f'{row}<td class="number">1.25</td><td class="number">-</td>' in page
    assert "<td>leap, ball</td><td>no &lt;grasp&gt;</td>" in page and "pooled 38 % (95 %: 10 to 70 %)" in page
    assert "<td>run it again</td><td>contact-mpc study</td>" in page
