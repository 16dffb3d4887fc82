"""What every node process does: life cycle, signals, mistakes of its user, death of its orchestrator."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from free_port import free_port
from patience import HANG_S

pytest.importorskip("rclpy")

from contact_mpc.ros import nodes
from contact_mpc.ros.stack.domain import DomainLease

pytestmark = pytest.mark.dds

NODE = "state_estimator"


@pytest.fixture(scope="module")
def estimator(make_rig: Callable[..., Any]) -> Any:
    return make_rig("realtime", state_estimator={"system": "planar_hand_ball"})


def test_a_node_goes_through_its_life_cycle_again_and_again(estimator: Any) -> None:
    for transition in 2 * ("configure", "activate", "deactivate", "cleanup"):
        assert estimator.request(NODE, transition), transition


def test_a_transition_that_the_state_forbids_is_refused_and_the_node_lives(estimator: Any) -> None:
    assert not estimator.request(NODE, "activate")
    assert "refused transition 3 in state unconfigured; possible: configure, shutdown" in estimator.log(NODE)
    assert estimator.request(NODE, "configure")
    assert not estimator.request(NODE, "configure")
    assert estimator.request(NODE, "cleanup")


def test_diagnostics_come_about_once_a_second(estimator: Any) -> None:
    received = estimator.collect("/diagnostics")
    estimator.wait_until(lambda: len(received) >= 2, "diagnostics")
    assert received[0].status[0].name == "/robot/state_estimator"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["SIGINT", "SIGTERM"])
@pytest.mark.parametrize("state", ["unconfigured", "inactive", "active"])
def test_a_signal_ends_a_node_with_code_zero_from_every_state(
    make_rig: Callable[..., Any], tmp_path: Path, state: str, number: signal.Signals
) -> None:
    rig = make_rig("realtime", recorder={"system": "x", "bag": str(tmp_path / "bag")})
    steps = {"unconfigured": (), "inactive": ("configure",), "active": ("configure", "activate")}[state]
    for transition in steps:
        assert rig.request("recorder", transition)
    process = rig.stack.processes["recorder"]
    process.signal(number)
    process.signal(number)  # launch forwards a second one
    process.wait()
    assert process.exit_code == 0, rig.log("recorder")
    assert "Traceback" not in rig.log("recorder")


def test_an_unreadable_parameter_file_is_one_line_and_exit_code_two(tmp_path: Path) -> None:
    (tmp_path / "broken.yaml").write_text("/**: {ros__parameters: [")
    command = [
        sys.executable,
        "-m",
        "contact_mpc.ros.nodes.recorder",
        "--ros-args",
        "--params-file",
        str(tmp_path / "broken.yaml"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=HANG_S)
    assert done.returncode == 2
    assert "broken.yaml" in done.stderr and "Traceback" not in done.stderr


@pytest.fixture
def lease() -> Iterator[DomainLease]:
    lease = DomainLease()
    yield lease
    lease.release()


HANGING = """
import sys, threading
from contact_mpc.ros.runtime import node_process
from contact_mpc.ros.runtime.node import ContactNode

class Hanging(ContactNode):
    def spin_some(self, executor):
        print("spins", flush=True)
        super().spin_some(executor)

    def destroy_node(self):
        wait_for_ever()

def wait_for_ever():
    threading.Event().wait()

node_process.SHUTDOWN_LIMIT_S = 1
sys.exit(node_process.run_node(lambda: Hanging("hanging")))
"""


def test_a_shutdown_that_hangs_is_cut_and_says_where(lease: DomainLease) -> None:
    environment = os.environ | {"ROS_DOMAIN_ID": str(lease.domain)}
    command, pipe = [sys.executable, "-c", HANGING], subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=environment) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "spins\n"
        process.send_signal(signal.SIGTERM)
        said = process.communicate(timeout=HANG_S)[1]
    assert process.returncode == 1 and "in wait_for_ever" in said


def test_every_node_ends_with_the_process_that_started_it() -> None:
    sources = [path.read_text() for path in Path(nodes.__path__[0]).glob("*.py")]
    mains = [source for source in sources if "def main(" in source]
    assert len(mains) > 9
    for source in mains:
        assert "run_node(" in source or "    die_with_parent()" in source, source[:100]


ORCHESTRATOR = """
import os, subprocess, sys, time
from contact_mpc.ros.runtime.parent_process import parent_environment
os.environ.update(parent_environment())
child = subprocess.Popen([sys.executable, "-m", *sys.argv[1:]])
print(child.pid, flush=True)
time.sleep(3600)
"""


@pytest.mark.parametrize(
    ("node", "number"), [("recorder", signal.SIGKILL), ("viewer", signal.SIGTERM)], ids=["recorder", "viewer"]
)
def test_a_node_ends_with_its_orchestrator_however_that_dies(
    lease: DomainLease, node: str, number: signal.Signals
) -> None:
    if node == "viewer":
        pytest.importorskip("viser")
    environment = os.environ | {"ROS_DOMAIN_ID": str(lease.domain)}
    shown = ("-p", "system:=planar_hand_ball", "-p", f"port:={free_port()}") if node == "viewer" else ()
    command = [sys.executable, "-c", ORCHESTRATOR, f"contact_mpc.ros.nodes.{node}", "--ros-args", *shown]
    parent = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    time.sleep(1.0)
    parent.send_signal(number)
    parent.wait()
    parent.stdout.close()
    deadline = time.monotonic() + HANG_S
    while Path(f"/proc/{child}").exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)
