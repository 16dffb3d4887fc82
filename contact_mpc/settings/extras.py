"""Packages that extras of the installation bring: asked for before work starts, missing ones named with the remedy."""

from importlib.util import find_spec
from pathlib import Path

from contact_mpc.errors import ConfigError
from contact_mpc.settings.middleware import require_middleware

EXTRA_OF = {
    "rclpy": "ros",
    "pydrake": "drake",
    "mujoco": "mujoco",
    "rosbags": "bags",
    "viser": "view",
    "casadi": "contact-implicit",
    "matplotlib": "examples",
    "manifold3d": "penalty",
    "pybullet": "penalty",
}


def require_packages(purpose: str, *packages: str) -> None:
    """Raise ConfigError where a package is not installed; says what for, which extra has it, and how to get it.

    Of rclpy also where it lacks the middleware that the environment asks for, see `require_middleware`.

    Parameters
    ----------
    purpose : str
        What needs them, as the user would name it: "replay", "run --plant drake".
    packages : str
        Import names, keys of `EXTRA_OF`.
    """
    missing = [name for name in packages if find_spec(name) is None]
    if missing:
        advice = install_command(dict.fromkeys(EXTRA_OF[name] for name in missing))
        ros = ", or source a ROS 2 installation" if "rclpy" in missing else ""
        raise ConfigError(f"{purpose} needs {', '.join(missing)}; install with: {advice}{ros}")
    if "rclpy" in packages:
        require_middleware()


def install_command(extras: "dict[str, None]") -> str:
    """Return the pip command that adds extras to this installation, from the checkout where it runs from one."""
    names = ",".join(extras)
    checkout = Path(__file__).resolve().parents[2]
    if (checkout / "constraints.txt").is_file() and (checkout / "setup.py").is_file():
        return f"pip install -c {checkout}/constraints.txt -e '{checkout}[{names}]'"
    return f"pip install 'contact_mpc[{names}]'"
