"""The pages: links and images lead somewhere, every concept is shown by a figure that `make figures` draws."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
WRITTEN_BY_SPHINX = re.compile(r"^(docs/)?(\.\./)*reference/|^_build")
PAGES = sorted(path for path in [ROOT / "README.md", *DOCS.rglob("*.md")] if "_build" not in path.parts)
CONCEPTS = sorted(path.stem for path in (DOCS / "concepts").glob("*.md") if path.stem != "structure")


def targets(page: Path) -> list[str]:
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    found = re.findall(r"\]\(([^)\s]+)\)", text)
    return [item.partition("#")[0] for item in found if "://" not in item and not item.startswith("#")]


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_local_link_and_image_leads_to_a_file(page: Path) -> None:
    gone = [item for item in targets(page) if not WRITTEN_BY_SPHINX.match(item) and not (page.parent / item).exists()]
    assert not gone


@pytest.mark.parametrize("concept", CONCEPTS)
def test_every_concept_is_shown_by_a_figure_of_our_own_data(concept: str) -> None:
    images = [Path(item) for item in targets(DOCS / "concepts" / f"{concept}.md") if item.endswith(".png")]
    tree = ast.parse((DOCS / "figures.py").read_text(encoding="utf-8"))
    drawn = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    assert images and all(image.stem in drawn or image.parent.name == "talks" for image in images)


def test_every_page_is_in_the_table_of_contents() -> None:
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"^([a-z_]+(?:/[a-z_]+)?)$", index, re.MULTILINE))
    pages = {str(page.relative_to(DOCS).with_suffix("")) for page in PAGES if page.is_relative_to(DOCS)} - {"index"}
    assert pages <= listed


@pytest.mark.parametrize("page", sorted((DOCS / "notebooks").glob("*.md")), ids=lambda path: path.stem)
def test_the_cells_of_a_notebook_run_and_hold_what_they_assert(page: Path) -> None:
    cells = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    assert any("assert" in cell for cell in cells)
    names: dict[str, object] = {}
    for cell in cells:
        exec(compile(cell, page.name, "exec"), names)
