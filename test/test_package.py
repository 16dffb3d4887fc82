"""The package as pip, colcon and a reader of its metadata see it."""

import ast
import re
import runpy
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.version import Version

import contact_mpc

ROOT = Path(__file__).resolve().parents[1]
HEAVY = ("numpy", "numba", "pinocchio", "pydrake", "mujoco", "rclpy", "rosbags")


@pytest.fixture(scope="module")
def setup_arguments() -> dict[str, Any]:
    """What setup.py passes to setuptools."""
    import setuptools

    seen: dict[str, Any] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(setuptools, "setup", lambda **arguments: seen.update(arguments))
        patch.chdir(ROOT)
        runpy.run_path(str(ROOT / "setup.py"))
    return seen


def pins_of(file: str) -> dict[str, str]:
    lines = (ROOT / file).read_text(encoding="utf-8").splitlines()
    pairs = (line.split(";")[0].strip().partition("==") for line in lines if "==" in line and line[0] != "#")
    return {re.sub(r"[-_.]+", "-", name).lower(): version for name, _, version in pairs}


def test_version_is_the_same_everywhere(setup_arguments: dict[str, Any]) -> None:
    manifest = ElementTree.parse(ROOT / "package.xml").getroot()
    version, citation = contact_mpc.version.__version__, yaml.safe_load((ROOT / "CITATION.cff").read_text())
    actions = ElementTree.parse(ROOT / "interfaces" / "package.xml").getroot()
    told = (manifest.findtext("version"), setup_arguments["version"], citation["version"], actions.findtext("version"))
    assert told == (version,) * len(told)


def test_the_changelog_begins_with_this_version_and_its_date_that_the_citation_has_too() -> None:
    changelog = (ROOT / "CHANGELOG.rst").read_text(encoding="utf-8")
    releases = re.findall(r"^(\d+\.\d+\.\d+) \((.+)\)\n-+$", changelog, re.MULTILINE)
    numbers = [tuple(map(int, version.split("."))) for version, _ in releases]
    assert numbers == sorted(set(numbers), reverse=True)
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert releases[0] == (contact_mpc.version.__version__, citation["date-released"].isoformat())


def test_manifest_is_valid_for_ament(setup_arguments: dict[str, Any]) -> None:
    manifest = ElementTree.parse(ROOT / "package.xml").getroot()
    address = manifest.find("maintainer").attrib["email"]  # type: ignore[union-attr]
    assert re.fullmatch(r"[a-zA-Z0-9._%+-]+@[a-zA-Z0-9._-]+\.[a-zA-Z]{2,6}", address), "demotes the package silently"
    assert manifest.findtext("export/build_type") == "ament_python"
    assert manifest.findtext("name") == setup_arguments["name"]
    assert manifest.findtext("license") == setup_arguments["license"]


def test_every_subpackage_is_packaged_and_says_what_it_is(setup_arguments: dict[str, Any]) -> None:
    folders = [path.parent for path in (ROOT / "contact_mpc").rglob("__init__.py")]
    assert set(setup_arguments["packages"]) == {".".join(folder.relative_to(ROOT).parts) for folder in folders}
    for folder in folders:
        assert ast.get_docstring(ast.parse((folder / "__init__.py").read_text(encoding="utf-8"))), folder


def test_every_data_file_is_installed(setup_arguments: dict[str, Any]) -> None:
    installed = {file for _, files in setup_arguments["data_files"] for file in files}
    for top, *suffixes in (("config", "yaml"), ("urdf", "urdf", "xacro"), ("launch", "py"), ("gazebo", "sdf", "cc")):
        for path in (item for suffix in suffixes for item in (ROOT / top).rglob(f"*.{suffix}")):
            assert str(path.relative_to(ROOT)) in installed
    assert {"package.xml", "constraints.txt", "resource/contact_mpc"} <= installed


def test_data_keep_their_folders_below_share(setup_arguments: dict[str, Any]) -> None:
    folders = dict(setup_arguments["data_files"])
    assert "config/systems/allegro_ball.yaml" in folders["share/contact_mpc/config/systems"]


def test_every_executable_has_a_main_function(setup_arguments: dict[str, Any]) -> None:
    scripts = setup_arguments["entry_points"]["console_scripts"]
    assert len(scripts) == 13
    for script in scripts:
        module, _, function = script.partition(" = ")[2].partition(":")
        source = (ROOT / f"{module.replace('.', '/')}.py").read_text(encoding="utf-8")
        assert function in {node.name for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)}, script


def test_colcon_runs_the_tests_with_pytest(setup_arguments: dict[str, Any]) -> None:
    """Where no extra `test` names pytest, `colcon test` finds 0 tests with unittest and is content."""
    assert any(Requirement(text).name == "pytest" for text in setup_arguments["extras_require"]["test"])


def test_pins_satisfy_every_declared_requirement(setup_arguments: dict[str, Any]) -> None:
    pins = pins_of("constraints.txt")
    extras = setup_arguments["extras_require"].values()
    for text in [*setup_arguments["install_requires"], *(item for extra in extras for item in extra)]:
        requirement = Requirement(text)
        pin = pins[re.sub(r"[-_.]+", "-", requirement.name).lower()]
        assert requirement.specifier.contains(Version(pin)), f"{text} refuses the pin {pin}"


@pytest.mark.parametrize(
    ("file", "extras"),
    [
        ("ros", {"ros"}),
        ("demo", {"demo-sourced-ros"}),
        ("view", {"demo-sourced-ros", "view"}),
        ("dev", {"demo-sourced-ros", "mujoco", "dev"}),
    ],
)
def test_whatever_make_installs_is_locked(setup_arguments: dict[str, Any], file: str, extras: set[str]) -> None:
    """After a change of setup.py or constraints.txt: `make locks`."""
    locked = pins_of(f"locks/{file}.txt")
    wanted = [
        *setup_arguments["install_requires"],
        *(text for e in extras for text in setup_arguments["extras_require"][e]),
    ]
    assert {re.sub(r"[-_.]+", "-", Requirement(text).name).lower() for text in wanted} <= set(locked)


@pytest.mark.parametrize("file", ["compiled", "ros", "demo", "view", "dev"])
def test_whatever_is_locked_has_its_pin_and_a_digest(file: str) -> None:
    assert {} != pins_of(f"locks/{file}.txt").items() <= pins_of("constraints.txt").items()
    entries = re.split(r"\n(?=\S)", (ROOT / f"locks/{file}.txt").read_text(encoding="utf-8"))
    assert all("--hash=sha256:" in entry for entry in entries if "==" in entry)


def test_importing_the_package_imports_nothing_heavy() -> None:
    code = f"import sys, contact_mpc; print([name for name in {HEAVY} if name in sys.modules])"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"


def test_exports_load_on_first_use_and_others_are_refused() -> None:
    assert set(dir(contact_mpc)) == set(contact_mpc.__all__)
    for name in contact_mpc.__all__:
        assert getattr(contact_mpc, name) is not None
    with pytest.raises(AttributeError, match="load_system"):
        contact_mpc.load_sistem  # noqa: B018
