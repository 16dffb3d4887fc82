"""Pieces of pages: names from files stay text."""

import json

import pytest

from contact_mpc.report.page import inline_json, page_head
from contact_mpc.report.plotting.figures import GRID, INK, REFERENCE


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


def test_wide_tables_scroll_in_their_card() -> None:
    """At 390 px they made the whole page scroll sideways."""
    card = page_head("page").split(".card {")[1].split("}")[0]
    assert "overflow-x: auto" in card
