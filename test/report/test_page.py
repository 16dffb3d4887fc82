"""Pieces of pages: names from files stay text."""

import json

import pytest

from contact_mpc.report.page import inline_json


@pytest.mark.parametrize("name", ["<!--<script>", "</script><script>alert(1)</script>", "]]>", "a<b"])
def test_no_name_ends_or_opens_a_script(name: str) -> None:
    """Within <!--<script> a browser takes the next </script> for text: the page had no plots."""
    inlined = inline_json({"joint": name})
    assert "<" not in inlined
    assert json.loads(inlined) == {"joint": name}
