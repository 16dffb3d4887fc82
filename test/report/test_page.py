"""Pieces of pages: names from files stay text."""

import json
import re
from pathlib import Path

import pytest

from contact_mpc.report.page import PLOTLY, asset, inline_json, page_head
from contact_mpc.report.plotting.figures import GRID, INK, REFERENCE
from contact_mpc.report.plotting.rate_figures import rate_matrix
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
