"""`contact-mpc doctor` tells what is there, what is missing and what to do."""

import json
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from contact_mpc import model
from contact_mpc.cli.doctor import checks, machine_checks, robot_checks
from contact_mpc.cli.doctor.checks import Check
from contact_mpc.cli.doctor.doctor import is_demo_ready


def test_report_is_one_json_object_whose_goal_is_the_exit_code() -> None:
    done = subprocess.run([sys.executable, "-m", "contact_mpc", "doctor", "--json"], capture_output=True, text=True)
    result = json.loads(done.stdout)
    assert result["command"] == "doctor"
    assert result["goal_met"] == (done.returncode == 0)
    named = {check["name"] for check in result["checks"]}
    assert {"python", "rclpy", "drake", "mujoco", "rosbags", "chromium", "numba cache", "SCHED_FIFO"} <= named
    for check in result["checks"]:
        assert check["status"] in ("ok", "warn", "missing")
        assert check["status"] == "ok" or check["remedy"], check


def test_demo_is_not_ready_when_a_part_of_it_is_missing() -> None:
    assert not is_demo_ready([Check("drake", "missing", "not installed", "demo", "install it")])


def test_demo_is_ready_without_hardware_and_development_parts() -> None:
    parts = [Check("ruff", "missing", "", "dev", "install it"), Check("memlock", "warn", "", "hardware", "raise it")]
    assert is_demo_ready([*parts, Check("drake", "warn", "1.0", "demo", "update")])


def test_absent_package_names_the_extra_to_install() -> None:
    check = checks.check_package("no-such-distribution", "mujoco plant", "1.0")
    assert check.status == "missing" and "[mujoco]" in check.remedy


def test_untested_version_is_a_warning_with_the_pin() -> None:
    check = checks.check_package("numpy", "demo", "0.0.1")
    assert check.status == "warn" and "numpy==0.0.1" in check.remedy


def test_pins_of_the_constraints_are_read_whatever_the_spelling() -> None:
    pins = checks.read_constraints()
    assert {"numpy", "pyyaml", "ros-rclpy", "typing-extensions"} <= set(pins)


def test_every_checked_package_is_pinned() -> None:
    pins = checks.read_constraints()
    for names in checks.PACKAGES.values():
        assert {checks.normalised(name) for name in names} <= set(pins)


def break_rclpy(monkeypatch: pytest.MonkeyPatch, folder: Path, text: str) -> None:
    """Let every process that is started find this rclpy first."""
    (folder / "rclpy.py").write_text(text)
    monkeypatch.setenv("PYTHONPATH", str(folder))


def test_broken_rclpy_is_missing_with_its_reason(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    break_rclpy(monkeypatch, tmp_path, "raise ImportError('librcl.so: cannot open')")
    monkeypatch.delenv("ROS_DISTRO", raising=False)
    check = checks.check_rclpy()
    assert check.status == "missing" and "librcl.so" in check.found and "[ros]" in check.remedy


def test_broken_rclpy_of_a_sourced_ros_points_to_its_setup(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    break_rclpy(monkeypatch, tmp_path, "import no_such_module_at_all")
    monkeypatch.setenv("ROS_DISTRO", "jazzy")
    assert "/opt/ros/jazzy" in checks.check_rclpy().remedy


def test_another_middleware_than_there_is_gets_its_own_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RMW_IMPLEMENTATION", "rmw_nobody_cpp")
    monkeypatch.delenv("ROS_DISTRO", raising=False)
    check = checks.check_rclpy()
    assert (
        check.status == "missing" and "unset RMW_IMPLEMENTATION" in check.remedy and "pip install" not in check.remedy
    )


def test_absent_browser_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(checks.sys, "executable", "/nowhere/python")
    assert checks.check_chromium().status == "warn"
    assert checks.check_colcon().status == "warn"


def test_unwritable_numba_cache_is_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    in_the_way = tmp_path / "file"
    in_the_way.write_text("", encoding="utf-8")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(in_the_way))
    check = checks.check_numba_cache()
    assert check.status == "warn" and str(in_the_way) in check.found


def test_the_cache_of_compiled_code_lies_beside_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    assert str(Path(model.__file__).parent / "__pycache__") in checks.check_numba_cache().found


def test_discovery_beyond_this_machine_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "SUBNET")
    assert machine_checks.check_discovery().status == "warn"
    monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    assert machine_checks.check_discovery().status == "ok"


@pytest.mark.parametrize("value", ["-1", "ten", "300"])
def test_impossible_domain_is_a_warning(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROS_DOMAIN_ID", value)
    assert machine_checks.check_domain().status == "warn"


def test_domain_is_in_use_when_one_of_its_ports_is_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    assert machine_checks.domain_ports_in_use(10, {53, 9899, 9900, 9912, 10150}) == [9900, 9912]
    bound = machine_checks.bound_udp_ports()
    free = next(domain for domain in range(60, 0, -1) if not machine_checks.domain_ports_in_use(domain, bound))
    monkeypatch.setenv("ROS_DOMAIN_ID", str(free))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as open_socket:
        open_socket.bind(("127.0.0.1", 7400 + 250 * free + 12))
        assert machine_checks.check_domain().status == "warn"
        assert f"UDP {7400 + 250 * free + 12}" in machine_checks.check_domain().found


def test_bound_ports_of_this_machine_are_seen() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as open_socket:
        open_socket.bind(("127.0.0.1", 0))
        assert open_socket.getsockname()[1] in machine_checks.bound_udp_ports()


def test_rclpy_origin_tells_wheels_from_a_sourced_ros(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROS_DISTRO", "jazzy")
    wheels = f"{sys.prefix}/lib/python3.11/site-packages/rclpy/__init__.py"
    assert checks._rclpy_origin(wheels).startswith("PyPI wheels")
    assert "ROS 2 jazzy" in checks._rclpy_origin("/opt/ros/jazzy/lib/python3.12/site-packages/rclpy/__init__.py")


# Robots and simulators.


def make_workspace(folder: Path, *packages: str) -> Path:
    index = folder / "share/ament_index/resource_index/packages"
    index.mkdir(parents=True)
    for package in packages:
        (index / package).touch()
    return folder


def test_absent_ros_packages_are_named_with_what_installs_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROS_DISTRO", "jazzy")
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(make_workspace(tmp_path, "controller_manager", "xacro")))
    check = robot_checks.check_packages("ros2_control", robot_checks.CONTROL_PACKAGES, "hardware")
    assert check.status == "warn" and "controller_manager" not in check.found
    assert "ros-jazzy-forward-command-controller" in check.remedy


def test_a_driver_is_found_in_the_workspace_or_its_source_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plugin = "lbr_ros2_control::SystemInterface"
    monkeypatch.delenv("AMENT_PREFIX_PATH", raising=False)
    absent = robot_checks.check_driver("iiwa", plugin)
    assert absent.status == "warn" and "lbr_fri_ros2_stack" in absent.remedy and "apt" not in absent.remedy
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(make_workspace(tmp_path, "lbr_ros2_control")))
    assert robot_checks.check_driver("iiwa", plugin).status == "ok"


def test_a_robot_without_public_driver_says_how_to_give_one() -> None:
    assert "hardware_plugin:=" in robot_checks.check_driver("anypulator", None).remedy


def test_a_kernel_that_is_not_for_real_time_is_a_warning() -> None:
    assert robot_checks.check_kernel("#1 SMP PREEMPT_DYNAMIC").status == "warn"
    assert robot_checks.check_kernel("#1 SMP PREEMPT_RT Debian 6.1").status == "ok"


@pytest.mark.parametrize("governor, status", [("performance", "ok"), ("powersave", "warn")])
def test_a_processor_that_saves_power_is_a_warning(governor: str, status: str, tmp_path: Path) -> None:
    frequency = tmp_path / "cpu0" / "cpufreq"
    frequency.mkdir(parents=True)
    (frequency / "scaling_governor").write_text(f"{governor}\n")
    assert robot_checks.check_governors(tmp_path).status == status


@pytest.mark.parametrize(
    ("content", "status"), [(b"..builtin.PKI-DH..", "ok"), (b"....", "warn"), (None, "warn")], ids=str
)
def test_a_middleware_without_security_is_a_warning(tmp_path: Path, content: bytes | None, status: str) -> None:
    if content is not None:
        (tmp_path / "libfastrtps.so").write_bytes(content)
    assert machine_checks.check_dds_security([tmp_path]).status == status
