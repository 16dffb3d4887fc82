"""The live view beside a stack: a process of its own that listens."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from contact_mpc.model.system import System
from contact_mpc.ros.stack.discovery import loopback_environment
from contact_mpc.ros.stack.processes import NodeProcess, stop_processes
from contact_mpc.view.address import LOOPBACK

STOP_PATIENCE_S = 3.0


def viewer_arguments(system: System, namespace: str, port: int, host: str = LOOPBACK) -> list[str]:
    """Return what follows `--ros-args` to start the viewer of a stack; texts are quoted, for rcl reads them as YAML."""
    values = {"system": str(system.path), "port": port, "host": host}
    given = [f"{key}:={json.dumps(value, ensure_ascii=False)}" for key, value in values.items()]
    return ["-r", f"__ns:={namespace}", *(part for value in given for part in ("-p", value))]


@contextmanager
def viewing(system: System, folder: Path, domain: int, port: int) -> Iterator[None]:
    """Show a stack at http://127.0.0.1:PORT while the context lasts; what the viewer says is in folder/viewer.log."""
    arguments = viewer_arguments(system, f"/{system.config.robots[0].name}", port)
    environment = {**loopback_environment(), "ROS_DOMAIN_ID": str(domain)}
    process = NodeProcess("viewer", arguments, folder / "viewer.log", environment)
    try:
        yield
    finally:
        stop_processes([process], STOP_PATIENCE_S)
