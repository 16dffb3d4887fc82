"""What every test starts from: no DDS traffic leaves the machine, one BLAS thread, repeatable property tests.

Also the two systems, and the one check of derivatives that all tests share.
"""

import functools
import os
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
for _library in ("OPENBLAS", "OMP", "MKL"):
    os.environ.setdefault(f"{_library}_NUM_THREADS", "1")

import numpy as np  # noqa: E402  (numpy must find the thread counts set)
import pytest  # noqa: E402
from held_tasks import held_task  # noqa: E402
from hypothesis import settings  # noqa: E402

from contact_mpc.model.system import System  # noqa: E402
from contact_mpc.model.system_builder import load_system  # noqa: E402
from contact_mpc.task.task import TaskConfig  # noqa: E402

pytest_plugins = ["synthetic_bag"] if find_spec("rosbags") is not None else []
if find_spec("rclpy") is not None:
    from contact_mpc.ros.stack.discovery import loopback_environment

    os.environ.update(loopback_environment())

# No deadline: the first example compiles. Derandomised: a failure in CI is the same failure here.
settings.register_profile("contact_mpc", deadline=None, derandomize=True, max_examples=50)
settings.load_profile("contact_mpc")


@pytest.fixture(scope="session")
def allegro() -> System:
    return load_system("allegro_ball")


@pytest.fixture(scope="session")
def planar() -> System:
    return load_system("planar_hand_ball")


@pytest.fixture(scope="session")
def named_system() -> Callable[[str], System]:
    """Return a loader of the package's systems and of those in test/systems, by name; each is loaded once."""

    @functools.cache
    def load(name: str) -> System:
        path = Path(__file__).parent / "systems" / f"{name}.yaml"
        return load_system(path if path.is_file() else name)

    return load


@pytest.fixture(scope="session", params=["allegro_ball", "planar_hand_ball"])
def each_task(request: pytest.FixtureRequest) -> TaskConfig:
    return held_task(request.param)


@pytest.fixture(scope="session")
def check_jacobian() -> Callable[..., float]:
    """Return a check of J = df/dx at x = 0 against five-point differences, whose error is O(step^4).

    f maps a displacement (n,) to a displacement (m,) or an array of values. The largest entry of the deviation,
    relative to the largest entry of the differences (or to `floor`, if that is larger), must be at most `tolerance`;
    it is returned.
    """

    def check(
        J: np.ndarray,
        f: Callable[[np.ndarray], np.ndarray],
        tolerance: float,
        step: float = 1e-4,
        floor: float = 1e-300,
    ) -> float:
        columns = []
        for unit in np.eye(J.shape[-1]):
            near, far = (f(s * unit) - f(-s * unit) for s in (step, 2.0 * step))
            columns.append((8.0 * near - far) / (12.0 * step))
        differences = np.stack(columns, axis=-1)
        assert differences.shape == J.shape
        error = np.abs(J - differences).max() / max(np.abs(differences).max(), floor)
        assert error <= tolerance, f"relative error {error:.2e}"
        return float(error)

    return check


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print why tests ran twice: what a second run passes may still be a fault of the code."""
    for report in terminalreporter.stats.get("rerun", []):
        terminalreporter.section(f"first run of {report.nodeid}", sep="-")
        terminalreporter.write_line(report.longreprtext)
