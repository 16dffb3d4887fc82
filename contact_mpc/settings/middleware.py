"""The middleware that RMW_IMPLEMENTATION asks for: whether this ROS 2 has it, before rclpy ends the process without."""

import os
import subprocess
import sys

from contact_mpc.errors import ConfigError

VARIABLE = "RMW_IMPLEMENTATION"
PROBE = "import rclpy"
PROBE_TIMEOUT_S = 60.0


def require_middleware() -> None:
    """Raise ConfigError where rclpy cannot be imported because of the middleware that the environment names.

    Importing rclpy would end this process with rcl's message, so a process of its own tries; where the variable is not
    set there is nothing to try.
    """
    if not os.environ.get(VARIABLE):
        return
    probe = subprocess.run([sys.executable, "-c", PROBE], capture_output=True, text=True, timeout=PROBE_TIMEOUT_S)
    remedy = middleware_remedy(probe.stderr) if probe.returncode != 0 else ""
    if remedy:
        raise ConfigError(f"{VARIABLE}={os.environ[VARIABLE]}: this ROS 2 does not have it; {remedy}")


def middleware_remedy(stderr: str) -> str:
    """Return what to do where rclpy failed with this on stderr for want of the middleware asked for, or ""."""
    name, distribution = os.environ.get(VARIABLE, ""), os.environ.get("ROS_DISTRO")
    if not name or name not in stderr:
        return ""
    if distribution:
        return f"apt install ros-{distribution}-{name.replace('_', '-')}, or unset {VARIABLE}"
    return f"unset {VARIABLE}; the wheels from PyPI bring rmw_fastrtps_cpp alone, others come with a ROS 2 installation"
