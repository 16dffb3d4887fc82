"""What loses people: missing extras, options that do not apply, misspelt names, folders that cannot be written."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from contact_mpc.cli import main
from contact_mpc.errors import ConfigError
from contact_mpc.settings import extras
from contact_mpc.settings.extras import install_command, require_packages


def invoke(*arguments: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(main.build_app(list(arguments)), list(arguments))
    return result.exit_code, result.stdout, result.stderr


def without(monkeypatch: pytest.MonkeyPatch, *missing: str) -> None:
    """Make some packages look as if they were not installed."""
    find = extras.find_spec
    for module in ("extras", "registry"):
        monkeypatch.setattr(
            f"contact_mpc.settings.{module}.find_spec", lambda name: None if name in missing else find(name)
        )


def test_missing_packages_are_named_with_the_extra_that_has_them(monkeypatch: pytest.MonkeyPatch) -> None:
    without(monkeypatch, "rosbags", "casadi")
    with pytest.raises(
        ConfigError, match=r"replay needs rosbags, casadi; install with: pip install .*\[bags,contact-i"
    ):
        require_packages("replay", "rosbags", "casadi")


def test_advice_installs_from_the_checkout_that_the_package_runs_from() -> None:
    checkout = Path(extras.__file__).resolve().parents[2]
    assert install_command({"bags": None}) == f"pip install -c {checkout}/constraints.txt -e '{checkout}[bags]'"


@pytest.mark.parametrize(
    ("arguments", "package", "extra"),
    [
        (("replay", "no_such_bag"), "rosbags", "bags"),
        (("run", "anypulator_block"), "casadi", "contact-implicit"),
        (("plan", "anypulator_block"), "casadi", "contact-implicit"),
        (("evaluate", "allegro_ball"), "pydrake", "drake"),
        (("study", "tracking", "--what", "ablation"), "pydrake", "drake"),
        (("study", "generality"), "pydrake", "drake"),
    ],
)
def test_a_missing_extra_is_one_line_before_work_starts(
    arguments: tuple[str, ...], package: str, extra: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    without(monkeypatch, package)
    monkeypatch.chdir(tmp_path)
    code, _, errors = invoke(*arguments)
    assert code == 2 and f"needs {package}" in errors and f"[{extra}]" in errors and "Traceback" not in errors
    assert not list(tmp_path.iterdir())


def test_options_that_do_not_apply_are_refused() -> None:
    code, _, errors = invoke("run", "allegro_ball", "--displacement", "0.6")
    assert code == 2 and "--displacement 0.6" in errors and "is no push" in errors


@pytest.mark.parametrize(
    "option", [("--plan", "p.npz"), ("--method", "rrt"), ("--report", "page"), ("--hold-s", "1.0")]
)
def test_what_an_endless_run_would_not_heed_is_refused(
    option: tuple[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    code, _, errors = invoke("run", "allegro_ball", "--endless", *option)
    assert code == 2 and f"{option[0]} {option[1]}: --endless takes goals" in " ".join(errors.split())
    assert not list(tmp_path.iterdir())


def test_a_misspelt_task_is_answered_with_the_one_meant() -> None:
    code, _, errors = invoke("run", "alegro_bal")
    assert code == 2 and "did you mean allegro_ball?" in errors


@pytest.mark.parametrize("is_there", [False, True], ids=["missing", "of another kind"])
@pytest.mark.parametrize("name", ["[/b]", "[red]", "[red]x[/red]/[/b].yaml"])
@pytest.mark.parametrize(
    "command", [("show",), ("evaluate",), ("run",), ("plan",), ("run", "planar_hand_ball", "--plan"), ("replay",)]
)
def test_a_name_that_is_markup_is_said_as_it_is_in_one_line(
    command: tuple[str, ...], name: str, is_there: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if command == ("replay",):
        pytest.importorskip("rosbags")
    monkeypatch.chdir(tmp_path)
    if is_there:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("'[/b]': '[red]'")
    code, _, errors = invoke(*command, name)
    (line,) = (line for line in errors.splitlines() if line)
    assert code == 2 and line.startswith("error: ") and name in line


@pytest.mark.parametrize(
    "command",
    [
        ("run", "allegro_ball"),
        ("evaluate", "allegro_ball"),
        ("show", "planar_hand_ball"),
        ("plan", "planar_hand_ball", "--method", "rrt"),
        ("replay", "no_such_bag"),
        ("study", "tracking", "--what", "ablation"),
        ("study", "generality"),
        ("study", "execution"),
        ("study", "push"),
        ("study", "metric"),
        ("study", "smoothing"),
    ],
)
def test_an_unusable_report_folder_is_found_before_the_run(command: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    code, _, errors = invoke(*command, "--report", str(tmp_path / "file" / "page"))
    assert code == 2 and "--report" in errors and "choose a folder" in errors


def test_list_names_what_ships() -> None:
    code, out, _ = invoke("list", "tasks", "--json")
    assert code == 0 and "allegro_ball" in json.loads(out)["tasks"]
    code, _, errors = invoke("list", "hands")
    assert code == 2 and "allowed: tasks" in errors
