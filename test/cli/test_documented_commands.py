"""Every command of the README and the site exists and takes the options that stand there."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main

from contact_mpc.cli.main import build_app

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("[!_]*/*.md"))]
WRITTEN_FROM_CODE = {"command_line.md"}
OPTIONAL = re.compile(r"\[(--[^\]]*)\]")
PLACEHOLDER = re.compile(r"[|…<>]|\.\.\.|\bWHAT\b")


def commands(page: Path) -> Iterator[str]:
    """Yield the commands of a page: lines of blocks, and what stands between backticks."""
    text = page.read_text(encoding="utf-8")
    blocks = re.findall(r"```[a-z]*\n(.*?)```", text, re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines()]
    spans = re.findall(r"`(contact-mpc [^`]+)`", re.sub(r"```.*?```", "", text, flags=re.DOTALL))
    for line in [*lines, *spans]:
        words = line.strip()
        if words.startswith("contact-mpc ") and not PLACEHOLDER.search(words.split(" #")[0]):
            yield OPTIONAL.sub(r"\1", words.split(" #")[0])


DOCUMENTED = sorted({
    (page.name, " ".join(line.split()))
    for page in PAGES if page.name not in WRITTEN_FROM_CODE for line in commands(page)
})  # fmt: skip


def check(words: list[str]) -> None:
    """Parse a command as the command line does, without running it; raises LookupError, or the parser's error."""
    command: Any = typer.main.get_command(build_app(words))
    context = command.context_class(command, info_name="contact-mpc")
    while hasattr(command, "get_command"):
        name, *words = words
        if name.startswith("-"):
            return
        inner = command.get_command(context, name)
        if inner is None:
            raise LookupError(f"no command {name}")
        command, context = inner, inner.context_class(inner, parent=context, info_name=name)
        if not words and hasattr(command, "get_command"):
            return
    given = command.make_parser(context).parse_args(words)[0]
    missing = [item.name for item in command.params if item.required and item.name not in given]
    if missing and words:  # a bare name stands for the command as such
        raise LookupError(f"{missing} is missing")


def test_the_pages_hold_commands() -> None:
    assert len(DOCUMENTED) > 40 and {"first_run.md", "your_hand.md", "README.md"} <= {page for page, _ in DOCUMENTED}


@pytest.mark.parametrize(("page", "line"), DOCUMENTED, ids=[f"{page}: {line[12:60]}" for page, line in DOCUMENTED])
def test_a_documented_command_parses(page: str, line: str) -> None:
    check(shlex.split(line)[1:])


def test_what_is_not_there_is_found() -> None:
    with pytest.raises(Exception, match="No such option: --no-such-option"):
        check(["run", "allegro_ball", "--no-such-option"])
    with pytest.raises(LookupError, match="no command fly"):
        check(["fly"])
