"""The package built for real: a wheel as pip installs it, and an install space as colcon makes it."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
COLCON = Path(sys.executable).parent / "colcon"
NODES = {"state_estimator", "mpc_tracker", "trajectory_server", "command_bridge", "plant", "recorder"} | {
    "bag_player", "lifecycle_manager", "mock_driver", "goal_server", "object_frames", "viewer",
}  # fmt: skip
NOT_SOURCE = (".git", ".venv*", "out", "build", "install", "log", "*.egg-info", "__pycache__", ".*_cache")
READ_ALL = """
from contact_mpc.model.system_builder import load_system
from contact_mpc.report.page import PLOTLY, asset
from contact_mpc.settings.resources import resource_names
for name in resource_names("systems"): load_system(name)
for name in (PLOTLY, "scene.js", "player.html", "report.css"): asset(name)
"""
WHERE = "from contact_mpc.settings.resources import resource; print(resource('systems', 'allegro_ball'))"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A copy of the source tree, so that building leaves nothing behind in it."""
    folder = tmp_path / "src" / "contact_mpc"
    shutil.copytree(ROOT, folder, ignore=shutil.ignore_patterns(*NOT_SOURCE))
    return folder


def test_wheel_carries_code_data_and_scripts(source: Path, tmp_path: Path) -> None:
    pip_wheel = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "-w", str(tmp_path)]
    subprocess.run([*pip_wheel, "."], cwd=source, check=True, capture_output=True)
    with zipfile.ZipFile(next(tmp_path.glob("*.whl"))) as wheel:
        files = set(wheel.namelist())
        scripts = wheel.read(next(name for name in files if name.endswith("entry_points.txt"))).decode()
    data = {name.partition(".data/data/")[2] for name in files if ".data/data/" in name}
    tops = ("config", "urdf", "launch", "gazebo")
    shared = {path for top in tops for path in (ROOT / top).rglob("*.*") if path.suffix != ".pyc"}
    assert {f"share/contact_mpc/{path.relative_to(ROOT)}" for path in shared} <= data and len(shared) > 100
    assert "share/ament_index/resource_index/packages/contact_mpc" in data
    assert {str(path.relative_to(ROOT)) for path in (ROOT / "contact_mpc/report/assets").iterdir()} <= files
    assert {"contact_mpc/py.typed", "contact_mpc/cli/main.py", "contact_mpc/cli/bench/__init__.py"} <= files
    packaged = {str(path.relative_to(ROOT)) for path in (ROOT / "contact_mpc").rglob("*.py")}
    assert packaged <= files
    assert not any(".data/scripts/" in name for name in files), "pip writes the scripts itself, into bin"
    assert all(f"{name} = " in scripts for name in {*NODES, "contact-mpc"})


def test_an_installed_wheel_reads_its_data_from_an_empty_folder(source: Path, tmp_path: Path) -> None:
    """Of its data and pages nothing may be missing where no checkout is in sight."""
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    wheel = [*pip, "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", str(tmp_path), "."]
    subprocess.run(wheel, cwd=source, check=True, capture_output=True)
    prefix, empty = tmp_path / "prefix", tmp_path / "empty"
    empty.mkdir()
    file = str(next(tmp_path.glob("*.whl")))
    install = [*pip, "install", "-q", "--no-deps", "--no-index", "--ignore-installed", "--prefix", str(prefix), file]
    subprocess.run(install, cwd=empty, check=True, capture_output=True)
    (packages,) = prefix.rglob("site-packages")
    environment = {**os.environ, "PYTHONPATH": str(packages)}
    listed = [sys.executable, "-m", "contact_mpc", "list", "--json"]
    for line in (listed, [sys.executable, "-c", f"{WHERE}\n{READ_ALL}"]):
        done = subprocess.run(line, cwd=empty, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0 and "allegro_ball" in done.stdout, done.stderr
    assert Path(done.stdout.splitlines()[0]).is_relative_to(prefix)


@pytest.mark.skipif(not COLCON.exists(), reason="colcon is not installed in this environment: make .venv/.dev")
def test_colcon_puts_executables_where_ros2_run_looks_and_data_where_the_code_looks(
    source: Path, tmp_path: Path
) -> None:
    listing = subprocess.run([COLCON, "list"], cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    assert "(ros.ament_python)" in listing, "package.xml is not valid: colcon treats it as plain Python"
    subprocess.run([COLCON, "build"], cwd=tmp_path, check=True, capture_output=True)
    prefix = tmp_path / "install" / "contact_mpc"
    assert {path.name for path in (prefix / "lib" / "contact_mpc").iterdir()} == {*NODES, "contact-mpc"}
    packages = next(prefix.glob("lib/python*/site-packages"))
    environment = {**os.environ, "PYTHONPATH": str(packages)}
    run = subprocess.run(
        [sys.executable, "-c", WHERE], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )
    assert Path(run.stdout.strip()) == prefix / "share/contact_mpc/config/systems/allegro_ball.yaml"
