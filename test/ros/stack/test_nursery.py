"""Nodes that are forked: children of whoever asked, in all that others see of them like processes of their own."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from patience import HANG_S

pytest.importorskip("rclpy")

from contact_mpc.errors import StackError
from contact_mpc.ros.stack import adoption
from contact_mpc.ros.stack.adoption import AdoptedProcess, node_environment
from contact_mpc.ros.stack.domain import DomainLease
from contact_mpc.ros.stack.processes import NodeProcess


def start(folder: Path, name: str, lease: DomainLease, *arguments: str) -> NodeProcess:
    return NodeProcess(name, list(arguments), folder / f"{name}.log", {"ROS_DOMAIN_ID": str(lease.domain)})


@pytest.fixture
def lease() -> Iterator[DomainLease]:
    lease = DomainLease()
    yield lease
    lease.release()


def test_a_forked_node_is_a_child_with_a_group_a_command_line_and_a_log_of_its_own(
    tmp_path: Path, lease: DomainLease
) -> None:
    node = start(tmp_path, "recorder", lease, "-r", "__ns:=/robot")
    try:
        assert isinstance(node._process, AdoptedProcess)
        stat = Path(f"/proc/{node.pid}/stat").read_text().rpartition(")")[2].split()
        assert (int(stat[1]), int(stat[2])) == (os.getpid(), node.pid)
        words = Path(f"/proc/{node.pid}/cmdline").read_bytes().decode().rstrip("\0").split("\0")
        module = "contact_mpc.ros.nodes.recorder"
        assert words == [sys.executable, "-m", module, "--ros-args", "-r", "__ns:=/robot"]
        assert os.path.samefile(f"/proc/{node.pid}/fd/2", tmp_path / "recorder.log")
    finally:
        node.signal(signal.SIGKILL)
        node.wait()
    assert node.exit_code == -signal.SIGKILL


def test_what_forks_has_one_thread_and_nothing_of_ros(tmp_path: Path, lease: DomainLease) -> None:
    """A node that was forked beside the threads of lttng-ust, which rclpy loads, ended with SIGSEGV."""
    start(tmp_path, "no_such_node", lease).wait()  # so it has imported everything
    nursery = adoption._nursery
    assert nursery is not None
    of = Path(f"/proc/{nursery._process.pid}")
    assert len(list((of / "task").iterdir())) == 1
    libraries = {line.split("/")[-1] for line in (of / "maps").read_text().splitlines() if "/" in line}
    assert any("llvmlite" in name for name in libraries)
    assert not {name for name in libraries if "rcl" in name or "lttng" in name}


def test_the_exit_code_and_the_last_words_of_a_forked_node_are_its_own(tmp_path: Path, lease: DomainLease) -> None:
    node = start(tmp_path, "no_such_node", lease)
    node.wait()
    with pytest.raises(StackError, match=r"(?s)ended with exit code 1; .*No module named"):
        node.check()


def test_a_node_starts_by_itself_where_the_nursery_was_killed(tmp_path: Path, lease: DomainLease) -> None:
    start(tmp_path, "no_such_node", lease).wait()
    nursery = adoption._nursery
    assert nursery is not None
    nursery._process.kill()  # found dead at once, or with the request: either way the node starts
    node = start(tmp_path, "no_such_node", lease)
    node.wait()
    assert node.exit_code == 1
    assert "No module named" in node.log.read_text()


def test_a_variable_that_imports_may_read_has_a_nursery_of_its_own(
    tmp_path: Path, lease: DomainLease, monkeypatch: pytest.MonkeyPatch
) -> None:
    adoption.prepare()
    before = adoption._nursery
    assert before is not None
    assert before.fits({**node_environment(), "ROS_DOMAIN_ID": "7"})
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "0")
    assert not before.fits(node_environment())


def test_a_command_that_imports_everything_keeps_its_nursery() -> None:
    """joblib sets a variable when it is imported: the nursery that had begun before was closed for a second one."""
    code = (
        "from contact_mpc.ros.stack import adoption; adoption.prepare(); first = adoption._nursery;"
        "from contact_mpc.ros.stack.nursery import SHARED, import_shared; import_shared(SHARED);"
        "import contact_mpc.cli.run.run, contact_mpc.planning.trajopt.task;"
        "adoption.prepare(); assert adoption._nursery is first"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=HANG_S)


ORCHESTRATOR = """
import sys, time
from pathlib import Path
from contact_mpc.ros.stack import adoption
from contact_mpc.ros.stack.processes import NodeProcess
node = NodeProcess("recorder", [], Path(sys.argv[1]), {})
while len(list(Path(f"/proc/{node.pid}/task").iterdir())) == 1:  # until the middleware runs
    time.sleep(0.02)
print(node.pid, adoption._nursery._process.pid, flush=True)
time.sleep(3600)
"""


def test_nothing_is_left_where_the_process_that_asks_is_killed(tmp_path: Path, lease: DomainLease) -> None:
    """It cannot clean up: the nursery sees its line closed, and the node is ended by the kernel."""
    environment = {**os.environ, "ROS_DOMAIN_ID": str(lease.domain)}
    command = [sys.executable, "-c", ORCHESTRATOR, str(tmp_path / "recorder.log")]
    parent = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    assert parent.stdout is not None
    pids = [int(word) for word in parent.stdout.readline().split()]
    assert len(pids) == 2
    parent.kill()
    parent.wait()
    parent.stdout.close()
    deadline = time.monotonic() + HANG_S
    while any(Path(f"/proc/{pid}").exists() for pid in pids):
        assert time.monotonic() < deadline
        time.sleep(0.02)
