"""The frame of the command line: listing, exit codes, one JSON object on stdout, no traceback for a user's mistake."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import pytest
import typer
from rich.table import Table

from contact_mpc.cli import bench, main, study
from contact_mpc.cli.frame.lazy import Command, build_group, first_word
from contact_mpc.cli.frame.output import emit, running_command, user_errors
from contact_mpc.errors import ConfigError
from contact_mpc.settings.plain_values import to_plain
from contact_mpc.version import __version__

ALL_COMMANDS = {**main.COMMANDS, **bench.BENCHES, **study.STUDIES}
HEAVY = ("numba", "pinocchio", "pydrake", "mujoco", "rclpy", "rosbags")


def run_cli(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "contact_mpc", *arguments], capture_output=True, text=True)


def exit_code_of(action: Callable[[], object]) -> int:
    with pytest.raises(typer.Exit) as stop, user_errors():
        action()
    return stop.value.exit_code


def test_help_lists_every_command_with_its_text() -> None:
    shown = run_cli("--help")
    assert shown.returncode == 0
    for name, command in main.COMMANDS.items():
        assert name in shown.stdout and command.summary.split()[0] in shown.stdout
    assert "bench" in shown.stdout


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys\nfrom contact_mpc.cli.main import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
        f"print([name for name in {HEAVY} if name in sys.modules], file=sys.stderr)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stderr.strip() == "[]"


@pytest.mark.parametrize("flag", ["-V", "--version"])
def test_version_is_printed(flag: str) -> None:
    assert run_cli(flag).stdout == f"contact-mpc {__version__}\n"


def test_misspelt_command_is_refused_with_a_suggestion() -> None:
    refused = run_cli("doctr")
    assert refused.returncode == 2
    assert "doctor" in refused.stderr and "Traceback" not in refused.stderr


def test_no_command_shows_the_help() -> None:
    assert "doctor" in run_cli().stdout + run_cli().stderr


@pytest.mark.parametrize("command", ALL_COMMANDS.values(), ids=ALL_COMMANDS)
def test_every_listed_command_can_be_loaded_and_explains_itself(command: Command) -> None:
    function = command.load("any")
    assert callable(function) and function.__doc__


@pytest.mark.parametrize("name", main.COMMANDS)
def test_every_command_has_json_output(name: str) -> None:
    shown = subprocess.run(
        [sys.executable, "-m", "contact_mpc", name, "--help"],
        capture_output=True,
        text=True,
        env={**os.environ, "COLUMNS": "200"},
    )
    assert shown.returncode == 0 and "--json" in shown.stdout


def test_first_word_skips_options() -> None:
    assert first_word(["--json", "run", "x"]) == "run"
    assert first_word(["-V"]) is None


def test_only_the_wanted_command_is_imported() -> None:
    commands = {"broken": Command("contact_mpc.no_such_module", "Never imported."), "ok": main.COMMANDS["doctor"]}
    build_group(commands, wanted="ok")
    with pytest.raises(ModuleNotFoundError):
        build_group(commands, wanted="broken")


def test_user_error_is_one_line_and_exit_code_2(capsys: pytest.CaptureFixture[str]) -> None:
    def fail() -> None:
        raise ConfigError("key 'kapa' in x.yaml is unknown; allowed: kappa")

    assert exit_code_of(fail) == 2
    assert capsys.readouterr().err == "error: key 'kapa' in x.yaml is unknown; allowed: kappa\n"


def test_interrupt_is_exit_code_130() -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    assert exit_code_of(interrupt) == 130


def test_defects_keep_their_traceback() -> None:
    with pytest.raises(ZeroDivisionError), user_errors():
        1 / 0  # noqa: B018


def test_result_always_has_the_common_keys(capsys: pytest.CaptureFixture[str]) -> None:
    with running_command("bench mpc"):
        emit({"angle_error_deg": 1.5}, as_json=True)
    result = json.loads(capsys.readouterr().out)
    assert result["command"] == "bench mpc" and result["version"] == __version__
    assert result["seed"] is None and result["goal_met"] is True
    assert {"processor", "cores", "memory_gb", "system", "python"} <= set(result["machine"])


def test_own_values_of_a_command_are_kept(capsys: pytest.CaptureFixture[str]) -> None:
    emit({"seed": 3, "goal_met": False}, as_json=True)
    result = json.loads(capsys.readouterr().out)
    assert result["seed"] == 3 and result["goal_met"] is False


@dataclass(frozen=True)
class Sample:
    path: Path
    values: np.ndarray


def test_values_become_plain_json() -> None:
    sample = Sample(Path("/a"), np.array([1.0, np.nan]))
    plain = to_plain({"x": sample, 3: np.float64("inf"), "n": np.int64(2), "t": (True, None)})
    assert plain == {"x": {"path": "/a", "values": [1.0, None]}, "3": None, "n": 2, "t": [True, None]}


def test_value_that_json_cannot_carry_is_refused() -> None:
    with pytest.raises(TypeError, match="object"):
        to_plain({"x": object()})


def test_people_see_the_table_and_no_json(capsys: pytest.CaptureFixture[str]) -> None:
    emit({"x": 1}, as_json=False, table="the table")
    assert capsys.readouterr().out == "the table\n"


NOISY = """
import os, subprocess, sys
from contact_mpc.cli.frame.output import emit, reserved_stdout
with reserved_stdout():
    print("noise of Python")
    os.write(1, b"noise of a library\\n")
    subprocess.run(["echo", "noise of a child"])
    emit({"x": 1}, as_json=True)
print("after")
"""


def test_stdout_carries_the_json_object_and_nothing_else() -> None:
    done = subprocess.run([sys.executable, "-c", NOISY], capture_output=True, text=True, check=True)
    text, after = done.stdout.rsplit("after", 1)
    assert json.loads(text)["x"] == 1 and after == "\n"
    assert done.stderr.count("noise") == 3


def test_json_flag_is_understood_where_typer_sees_it() -> None:
    """The group passes options of the loaded command through unchanged."""
    seen = []

    def probe(as_json: Annotated[bool, typer.Option("--json")] = False) -> None:
        """Probe."""
        seen.append(as_json)

    app = build_group({}, None)
    app.command("probe")(probe)
    app.callback()(lambda: None)
    app(["probe", "--json"], standalone_mode=False)
    assert seen == [True]


@pytest.mark.parametrize(("columns", "is_whole"), [(None, True), ("80", False)])
def test_tables_in_files_are_as_wide_as_they_need(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, columns: str | None, is_whole: bool
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    if columns is not None:
        monkeypatch.setenv("COLUMNS", columns)
    table = Table()
    table.add_row("a cell of many words " * 5, "another one")
    emit({}, False, table)
    assert ("a cell of many words " * 5 in capsys.readouterr().out) == is_whole
