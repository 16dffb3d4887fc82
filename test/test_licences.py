"""What is installed is pinned, and its licence is in the table."""

import importlib.util
import re
from pathlib import Path

from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]


def needed() -> set[str]:
    specification = importlib.util.spec_from_file_location("licences", ROOT / "docs" / "licences.py")
    assert specification is not None and specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return set(module.installed())


def test_every_package_that_comes_in_is_pinned() -> None:
    """cffi and pycparser came in with clarabel, in whichever version was the newest."""
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pinned = {canonicalize_name(line.partition("==")[0]) for line in lines if "==" in line}
    assert len(needed()) > 20
    assert needed() <= pinned


def test_every_package_that_comes_in_has_its_licence_in_the_table() -> None:
    text = (ROOT / "docs" / "licences.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\S+) \| \S+ \| ([^|]+) \|", text, re.MULTILINE)
    table = {canonicalize_name(name): licence.strip() for name, licence in rows}
    assert needed() <= set(table), "make licences"
    assert "not stated" not in table.values()
    assert "mosek.com" in table["mosek"] and "Lesser" in table["casadi"]
