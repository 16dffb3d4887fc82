"""What ``contact-mpc doctor`` looks at: Python, packages, ROS 2, tools. Each check says what to do about it."""

import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from contact_mpc import model
from contact_mpc.planning.push.program.compiler import find_compiler
from contact_mpc.settings.middleware import middleware_remedy
from contact_mpc.settings.resources import share_directory

Status = Literal["ok", "warn", "missing"]
Need = Literal["demo", "mujoco plant", "pushes", "ROS 2 workspace", "hardware", "gazebo", "dev"]

PACKAGES: dict[Need, tuple[str, ...]] = {
    "demo": (
        *("numpy", "scipy", "numba", "clarabel", "pin", "joblib", "pydantic", "PyYAML", "typer", "rich"),
        *("drake", "rosbags"),
    ),
    "mujoco plant": ("mujoco",),
    "pushes": ("casadi",),
    "dev": ("pytest", "pytest-timeout", "hypothesis", "mcap", "ruff", "mypy", "pre-commit"),
}
EXTRAS: dict[Need, str] = {"demo": "demo", "mujoco plant": "mujoco", "pushes": "contact-implicit", "dev": "dev"}
CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_RCLPY_PROBE = """
import rclpy, diagnostic_msgs.msg, geometry_msgs.msg, lifecycle_msgs.srv, nav_msgs.msg, rosgraph_msgs.msg
import sensor_msgs.msg, std_srvs.srv, trajectory_msgs.msg, visualization_msgs.msg
from rclpy.utilities import get_rmw_implementation_identifier as rmw
print(rclpy.__file__, rmw(), sep="\\n")
"""


@dataclass(frozen=True)
class Check:
    """One line of the report: what was found, what it is needed for, what to do unless it is ok."""

    name: str
    status: Status
    found: str
    needed_for: Need
    remedy: str = ""


def check_software() -> Iterator[Check]:
    """Yield the checks of Python, packages, ROS 2 and tools."""
    yield check_python()
    pins = read_constraints()
    for need, names in PACKAGES.items():
        for name in names:
            yield check_package(name, need, pins.get(normalised(name)))
    yield check_compiler()
    yield check_rclpy()
    yield check_launch_ros()
    yield check_colcon()
    yield check_chromium()
    yield check_numba_cache()


def check_python() -> Check:
    """Python 3.11 to 3.13 are tested."""
    version = sys.version_info
    found = f"{version.major}.{version.minor}.{version.micro} at {sys.executable}"
    status: Status = "ok" if (3, 11) <= version[:2] <= (3, 13) else "warn"
    return Check("python", status, found, "demo", "" if status == "ok" else "use Python 3.11, 3.12 or 3.13")


def normalised(name: str) -> str:
    """Return a distribution's name as package indices compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def read_constraints() -> dict[str, str]:
    """Return {normalised name: version} of the pins that this version of the package is tested with."""
    text = (share_directory() / "constraints.txt").read_text(encoding="utf-8")
    pins = (line.split(";")[0].strip().partition("==") for line in text.splitlines() if "==" in line)
    return {normalised(name): version for name, _, version in pins}


def check_package(name: str, need: Need, pin: str | None) -> Check:
    """Installed at all, and in the version that the constraints pin."""
    try:
        version = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        command = f"pip install -c constraints.txt '.[{EXTRAS[need]}]' in the checkout"
        return Check(name, "missing", "not installed", need, command)
    if pin is None or version == pin:
        return Check(name, "ok", version, need)
    return Check(name, "warn", version, need, f"tested with {pin}: pip install {name}=={pin}")


def check_compiler() -> Check:
    """Contact-implicit planning compiles its program; it runs interpreted, slowly, where it cannot."""
    path = find_compiler()
    if path:
        return Check("C compiler", "ok", path, "pushes")
    return Check("C compiler", "warn", "not found", "pushes", "apt install gcc; plans take some twenty times as long")


def check_rclpy() -> Check:
    """Import rclpy and every message package in a process of its own, and tell where they come from."""
    probe = subprocess.run([sys.executable, "-c", _RCLPY_PROBE], capture_output=True, text=True, timeout=60)
    if probe.returncode != 0:
        reason = probe.stderr.strip().splitlines()[-1] if probe.stderr.strip() else f"exit code {probe.returncode}"
        return Check("rclpy", "missing", reason, "demo", middleware_remedy(probe.stderr) or _rclpy_remedy())
    path, rmw = probe.stdout.split("\n")[:2]
    return Check("rclpy", "ok", f"{_rclpy_origin(path)}, {rmw}", "demo")


def check_launch_ros() -> Check:
    """Launch files run where ROS 2 is installed; `contact-mpc run` starts the nodes itself and needs none."""
    if find_spec("launch_ros") is not None:
        return Check("launch_ros", "ok", "importable", "ROS 2 workspace")
    return Check("launch_ros", "warn", "not found", "ROS 2 workspace", "install ROS 2 and source it; not on PyPI")


def check_colcon() -> Check:
    """Colcon builds the package in a ROS 2 workspace."""
    path = shutil.which("colcon") or shutil.which("colcon", path=str(Path(sys.executable).parent))
    if path:
        return Check("colcon", "ok", path, "ROS 2 workspace")
    remedy = "apt install python3-colcon-common-extensions, or pip install colcon-common-extensions"
    return Check("colcon", "warn", "not found", "ROS 2 workspace", remedy)


def check_chromium() -> Check:
    """Tests open the HTML report in a headless browser."""
    path = next(filter(None, map(shutil.which, CHROMIUM_NAMES)), None)
    if path:
        return Check("chromium", "ok", path, "dev")
    return Check("chromium", "warn", "not found", "dev", "apt install chromium; its tests are skipped without")


def check_numba_cache() -> Check:
    """Compiled code is kept between processes; without, every node compiles anew for tens of seconds."""
    configured = os.environ.get("NUMBA_CACHE_DIR")
    package = Path(model.__file__).resolve().parent / "__pycache__"
    for folder in [Path(configured)] if configured else [package, Path.home() / ".cache" / "numba"]:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=folder):
                return Check("numba cache", "ok", f"{folder} is writable", "demo")
        except OSError as error:
            refused = f"{folder}: {error.strerror}"
    return Check("numba cache", "warn", refused, "demo", "set NUMBA_CACHE_DIR to a directory that you can write")


def _rclpy_origin(path: str) -> str:
    distribution = os.environ.get("ROS_DISTRO")
    if "site-packages" in path and Path(path).is_relative_to(sys.prefix):
        return f"PyPI wheels at {Path(path).parent}"
    return f"ROS 2 {distribution or ''}".rstrip() + f" at {Path(path).parent}"


def _rclpy_remedy() -> str:
    if os.environ.get("ROS_DISTRO"):
        distribution = os.environ["ROS_DISTRO"]
        return f"source /opt/ros/{distribution}/setup.bash; use its Python {sys.version_info.major}.x in the venv"
    return "pip install -c constraints.txt '.[ros]' in the checkout, or source a ROS 2 installation"
