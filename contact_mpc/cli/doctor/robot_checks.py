"""What ``contact-mpc doctor`` looks at for robots: ROS packages of driver and simulators, kernel, processor clock."""

import os
import platform
from collections.abc import Iterator
from pathlib import Path

from contact_mpc.cli.doctor.checks import Check, Need
from contact_mpc.errors import ConfigError
from contact_mpc.settings.resources import resource_names

CONTROL_PACKAGES = (
    *("controller_manager", "joint_state_broadcaster", "forward_command_controller"),
    *("robot_state_publisher", "xacro"),
)
HARMONIC_PACKAGES = ("ros_gz_sim", "ros_gz_bridge", "gz_ros2_control")
SOURCES = {"lbr_ros2_control": "build lbr_fri_ros2_stack in the workspace"}  # of packages that apt does not have
GOVERNORS = Path("/sys/devices/system/cpu")


def check_robots() -> Iterator[Check]:
    """Yield what a robot's driver, the simulators and a loop at 1 kHz on hardware need."""
    yield check_packages("ros2_control", CONTROL_PACKAGES, "hardware")
    yield from check_drivers()
    yield check_packages("Gazebo Harmonic", HARMONIC_PACKAGES, "gazebo")
    yield check_gazebo_classic()
    yield check_kernel(platform.version())
    yield check_governors(GOVERNORS)


def check_drivers() -> Iterator[Check]:
    """Yield the driver of every robot file; what reads them may itself be missing."""
    try:
        from contact_mpc.ros.driver.robot_file import load_robot
    except ImportError as error:
        yield Check("drivers", "warn", f"not looked at: {error}", "hardware", "install what is missing first")
        return
    for name in resource_names("robots"):
        robot = load_robot(name)
        if robot.description is not None:  # other drivers are started apart, by whatever name
            yield check_driver(name, robot.hardware_plugin)


def check_packages(name: str, packages: tuple[str, ...], need: Need) -> Check:
    """Every ROS package of a list is in the index of a sourced workspace."""
    absent = [package for package in packages if not is_ros_package(package)]
    if not absent:
        return Check(name, "ok", f"{len(packages)} packages", need)
    distribution = os.environ.get("ROS_DISTRO", "jazzy")
    from_apt = [f"ros-{distribution}-{package.replace('_', '-')}" for package in absent if package not in SOURCES]
    remedies = [f"apt install {' '.join(from_apt)}"] if from_apt else []
    remedies += [SOURCES[package] for package in absent if package in SOURCES]
    return Check(name, "warn", f"not found: {', '.join(absent)}", need, f"{'; '.join(remedies)}; source the workspace")


def check_driver(name: str, plugin: str | None) -> Check:
    """The ros2_control plugin that `hardware.launch.py robot:=NAME` loads."""
    if plugin is None:
        remedy = f"give yours: ros2 launch contact_mpc hardware.launch.py robot:={name} hardware_plugin:=package/Class"
        return Check(f"driver of {name}", "warn", "no public ros2_control plugin", "hardware", remedy)
    package = plugin.replace("::", "/").partition("/")[0]
    return check_packages(f"driver of {name}", (package,), "hardware")


def is_ros_package(name: str) -> bool:
    """Return whether the ament index of a sourced workspace knows a package."""
    prefixes = filter(None, os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep))
    return any((Path(prefix) / "share/ament_index/resource_index/packages" / name).exists() for prefix in prefixes)


def check_gazebo_classic() -> Check:
    """Gazebo classic 11 as a plant: `run --plant gazebo`."""
    try:
        from contact_mpc.plants.gazebo.server import find_root

        return Check("Gazebo classic", "ok", str(find_root()), "gazebo")
    except ImportError as error:
        return Check("Gazebo classic", "warn", f"not looked at: {error}", "gazebo", "install what is missing first")
    except ConfigError as error:
        found, _, remedy = str(error).partition("; ")
        return Check("Gazebo classic", "warn", found, "gazebo", remedy)


def check_kernel(version: str) -> Check:
    """A PREEMPT_RT kernel bounds the lateness of a loop at 1 kHz; others only keep it small most of the time."""
    if "PREEMPT_RT" in version:
        return Check("kernel", "ok", version, "hardware")
    remedy = "install a PREEMPT_RT kernel for an arm; `contact-mpc bench bridge` measures this one"
    return Check("kernel", "warn", version, "hardware", remedy)


def check_governors(folder: Path) -> Check:
    """A processor that saves power wakes up late."""
    found = {path.read_text().strip() for path in folder.glob("cpu[0-9]*/cpufreq/scaling_governor")}
    if found <= {"performance"}:
        return Check("CPU governor", "ok", ", ".join(found) or "fixed clock", "hardware")
    remedy = "cpupower frequency-set --governor performance"
    return Check("CPU governor", "warn", ", ".join(sorted(found)), "hardware", remedy)
