"""Two network namespaces with a cable between: nodes find each other over it, and not without."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hearing_node import NODE
from patience import HANG_S

pytest.importorskip("rclpy")

from contact_mpc.errors import StackError
from contact_mpc.ros.stack.discovery import PROFILE_VARIABLE, RANGE_VARIABLE, discovery_environment
from contact_mpc.ros.stack.networks import NAMESPACES, LinkedNetworks


@pytest.fixture
def networks() -> Iterator[LinkedNetworks]:
    try:
        with LinkedNetworks() as made:
            yield made
    except StackError as error:
        pytest.skip(f"no network namespaces here: {error}")


def interfaces() -> set[str]:
    lines = Path("/proc/thread-self/net/dev").read_text().splitlines()[2:]
    return {line.partition(":")[0].strip() for line in lines}


def test_a_thread_is_elsewhere_only_meanwhile_and_nothing_is_left(networks: LinkedNetworks) -> None:
    before = interfaces()
    with networks.inside():
        seen = interfaces()
    assert interfaces() == before and len(seen - {"lo"}) == 1 and not (seen - {"lo"}) & before
    networks.remove()
    assert not list(NAMESPACES.glob(f"{networks.near.removesuffix('near')}*"))


def test_a_cut_link_carries_nothing_until_it_is_joined(networks: LinkedNetworks) -> None:
    def carrier() -> str:
        end = next(iter(interfaces() - {"lo"}))
        found = subprocess.run(["ip", "-o", "link", "show", end], capture_output=True, text=True, check=True)
        return "up" if "LOWER_UP" in found.stdout else "down"

    with networks.inside():
        seen = [carrier()]
        networks.cut()
        seen.append(carrier())
        networks.join()
        seen.append(carrier())
    assert seen == ["up", "down", "up"]


def test_nodes_of_two_networks_hear_each_other_without_shared_memory(networks: LinkedNetworks) -> None:
    kept = {key: value for key, value in os.environ.items() if key not in (RANGE_VARIABLE, PROFILE_VARIABLE)}
    environment, far = {**kept, **discovery_environment("SUBNET")}, networks.place(["far"]).prefixes["far"]
    with networks.inside():
        running = {
            name: subprocess.Popen(
                [*prefix, sys.executable, "-c", NODE, name], env=environment, stdout=subprocess.PIPE, text=True
            )
            for name, prefix in (("near", ()), ("far", far))
        }
    try:
        found = {name: json.loads(process.communicate(timeout=HANG_S)[0]) for name, process in running.items()}
    finally:
        for process in running.values():
            process.kill()
    assert found["near"]["heard"] == found["far"]["heard"] == ["far", "near"]
    assert found["near"]["shared"] == found["far"]["shared"] == []
