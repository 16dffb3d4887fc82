"""Who may find the nodes of a stack, and through what they talk."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hearing_node import NODE
from patience import HANG_S

pytest.importorskip("rclpy")

from contact_mpc.ros.stack.discovery import PROFILE_VARIABLE, RANGE_VARIABLE, loopback_environment
from contact_mpc.ros.stack.domain import DomainLease

LOOPBACK = "0100007F"  # 127.0.0.1 as the kernel writes it


def start(name: str, domain: int, variables: dict[str, str]) -> subprocess.Popen[str]:
    kept = {key: value for key, value in os.environ.items() if key not in (RANGE_VARIABLE, PROFILE_VARIABLE)}
    environment = {**kept, **variables, "ROS_DOMAIN_ID": str(domain)}
    command = [sys.executable, "-c", NODE, name]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)


def test_nodes_listen_on_the_loopback_alone_share_no_memory_and_are_found_by_others_of_this_machine() -> None:
    lease = DomainLease()
    variables = {"ours": loopback_environment(), "theirs": {RANGE_VARIABLE: "LOCALHOST"}}
    running = {name: start(name, lease.domain, chosen) for name, chosen in variables.items()}
    try:
        found = {name: json.loads(process.communicate(timeout=HANG_S)[0]) for name, process in running.items()}
    finally:
        for process in running.values():
            process.kill()
    lease.release()
    assert found["ours"]["heard"] == found["theirs"]["heard"] == ["ours", "theirs"]
    assert found["ours"]["addresses"] == [LOOPBACK]
    assert found["ours"]["shared"] == []


def test_a_profile_that_the_user_has_chosen_stays(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(PROFILE_VARIABLE, str(tmp_path / "mine.xml"))
    assert loopback_environment() == {RANGE_VARIABLE: "LOCALHOST"}


def test_another_middleware_does_not_read_the_profile(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "contact_mpc.ros.stack.discovery.get_rmw_implementation_identifier", lambda: "rmw_cyclonedds_cpp"
    )
    assert loopback_environment() == {RANGE_VARIABLE: "LOCALHOST"}
