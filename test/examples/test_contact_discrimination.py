"""The example of contact discrimination: what it finds, and a page with every minimum and the truth."""

from pathlib import Path

import pytest

from contact_mpc.errors import InputError
from contact_mpc.examples.contact_discrimination import contact_discrimination
from contact_mpc.examples.result import Settings


def test_example_finds_all_contacts_and_draws_them(tmp_path: Path) -> None:
    result = contact_discrimination(Settings())
    assert result.goal_met, [row for row in result.rows if row.is_met is False]
    assert {"iiwa_link_3", "iiwa_link_5", "iiwa_link_7", "allegro"} == set(result.pages)
    counts = {name: len(result.arrays[f"{name}_points"]) for name in result.pages}
    assert counts["iiwa_link_3"] > counts["iiwa_link_5"] >= counts["iiwa_link_7"] >= 1  # 3, 5 and 7 joints below
    page = result.pages["allegro"](tmp_path).read_text(encoding="utf-8")
    assert "index_0 to index_3" in page and "thumb_0 to thumb_3" in page


def test_a_time_step_is_refused() -> None:
    with pytest.raises(InputError, match="neither a formulation nor a time step"):
        contact_discrimination(Settings(h_s=0.1))
