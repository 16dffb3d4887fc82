"""Packaging for pip and for colcon (ament_python); every file under config, urdf and launch goes to share/."""

from pathlib import Path

from setuptools import find_packages, setup

NAME = "contact_mpc"
ROOT = Path(__file__).resolve().parent
NODES = ("state_estimator", "mpc_tracker", "trajectory_server", "command_bridge", "plant", "recorder")
# nodes that the launch files need besides
TOOLS = ("bag_player", "lifecycle_manager", "mock_driver", "goal_server", "viewer", "object_frames")
# ament and colcon read the version here, Python code reads contact_mpc.version: test_package.py keeps them equal.
VERSION = "0.2.0"

ROS = ["ros-rclpy[fastrtps]==7.1.6", "ros-common-interfaces==5.3.6"]
DRAKE = ["drake>=1.51,<2"]
MUJOCO = ["mujoco>=4,<5"]
BAGS = ["rosbags>=0.11.9,<0.12"]
VIEW = ["trimesh>=4.5,<6", "viser>=1.0,<2"]
PENALTY = ["manifold3d>=3.5,<4", "pybullet>=3.2.7,<4"]
CONTACT_IMPLICIT = ["casadi>=3.8,<3.9"]
CLUSTER = ["distributed>=2025.1", "ray>=2.40,<3"]
DOCS = ["furo>=2025", "myst-parser>=5,<6", "pillow>=11", "sphinx>=9,<10", "websockets>=14"]
EXAMPLES = ["matplotlib>=3.9,<4"]
TEST = ["hypothesis>=6.170", "pytest>=8.3,<10", "pytest-timeout>=2.4,<3"]  # `colcon test` runs pytest where it is named
DEV = [
    *TEST,
    *DOCS,
    *VIEW,
    *EXAMPLES,
    *CONTACT_IMPLICIT,
    *PENALTY,
    *CLUSTER,
    "libigl>=2.6,<3",
    "colcon-common-extensions>=0.3",
    "ipython>=9,<10",
    "mcap>=1.6,<2",
    "mypy>=2.4,<3",
    "pre-commit>=4.7,<5",
    "pytest-rerunfailures>=16,<17",
    "pytest-xdist>=3.8,<4",
    "ruff>=0.17,<0.18",
    "setuptools>=70.1,<80",
    "uv>=0.9",
    "xacro>=2.1,<3",
]


def data_files() -> list[tuple[str, list[str]]]:
    """Return (directory below the prefix, files) for everything that is installed beside the code."""
    share = Path("share") / NAME
    found = [
        ("share/ament_index/resource_index/packages", [f"resource/{NAME}"]),
        (str(share), ["package.xml", "constraints.txt"]),
    ]
    for top in ("config", "urdf", "launch", "gazebo"):
        for folder in sorted({path.parent for path in (ROOT / top).rglob("*.*") if _is_data(path)}):
            files = sorted(str(path.relative_to(ROOT)) for path in folder.iterdir() if _is_data(path))
            found.append((str(share / folder.relative_to(ROOT)), files))
    return found


def _is_data(path: Path) -> bool:
    return path.is_file() and path.suffix != ".pyc" and not path.name.startswith(".")


setup(
    name=NAME,
    version=VERSION,
    description="Closed-loop control of contact-rich motion on quasi-dynamic contact models, with ROS 2 nodes",
    long_description=(ROOT / "README.md").read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    author="contact_mpc developers",
    maintainer="contact_mpc developers",
    maintainer_email="contact_mpc@example.org",
    license="BSD-3-Clause",
    python_requires=">=3.11,<3.14",
    packages=find_packages(include=[NAME, f"{NAME}.*"]),
    package_data={NAME: ["py.typed"], f"{NAME}.report": ["assets/*"]},
    data_files=data_files(),
    zip_safe=False,
    install_requires=[
        "clarabel>=0.11,<0.12",
        "joblib>=1.4,<2",
        "numba>=0.61,<0.69",
        "numpy>=2.0,<2.5",
        "pin>=4.1,<5",
        "pydantic>=2.10,<3",
        "PyYAML>=6,<7",
        "rich>=13.8,<16",
        "scipy>=1.14,<1.18",
        "typer>=0.20,<0.30",
    ],
    extras_require={
        "ros": ROS,
        "drake": DRAKE,
        "mujoco": MUJOCO,
        "bags": BAGS,
        "view": VIEW,
        "contact-implicit": CONTACT_IMPLICIT,
        "penalty": PENALTY,
        "cluster": CLUSTER,
        "examples": [*EXAMPLES, *DRAKE],
        "demo": [*ROS, *DRAKE, *BAGS],
        "demo-sourced-ros": [*DRAKE, *BAGS],
        "docs": [*DOCS, *EXAMPLES],
        "test": TEST,
        "dev": DEV,
    },
    entry_points={
        "console_scripts": [
            f"contact-mpc = {NAME}.cli.main:main",
            *(f"{node} = {NAME}.ros.nodes.{node}:main" for node in (*NODES, *TOOLS)),
        ]
    },
)
