"""A process that has imported what nodes share, and forks one node after the other: each starts at once.

A node that starts as a process of its own imports numpy, numba, scipy and the package: 1.5 to 2.5 s of the processor,
for each of eight nodes. The nursery imports these once. For every request it forks twice: the child between ends, and
the node becomes a child of the process that asked, which is a reaper of orphans for that moment
(PR_SET_CHILD_SUBREAPER). So that process reads the node's exit code, and the kernel ends the node with it, as if it
had started it itself. The nursery has one thread, and nothing of ROS: its libraries begin threads when they are loaded
(those of lttng-ust), which a forked process does not have but cancels at its end.

    python -m contact_mpc.ros.stack.nursery FD PADDING

FD is the nursery's end of a socket of packets; PADDING makes room for the command line that a node shows. A request is
a `Request` as JSON with the file descriptor of the log; a node answers with its process id, or 0. The nursery ends when
the other end is closed.
"""

import ctypes
import gc
import json
import os
import socket
import sys
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path

NODES = "contact_mpc.ros.nodes"
SHARED = (
    "contact_mpc.bags.checked_writer",
    "contact_mpc.control.bridge.bridge",
    "contact_mpc.control.controller",
    "contact_mpc.control.tracking.follower",
    "contact_mpc.estimation.contact_location.locator",
    "contact_mpc.estimation.state_estimator",
    "contact_mpc.loop.controllers",
    "contact_mpc.model.system_builder",
    "contact_mpc.plants.registry",
    "contact_mpc.task.task",
)  # what nodes import, but for ROS
MOST_BYTES = 1 << 20
ADOPTION_LIMIT_S, ADOPTION_POLL_S = 10.0, 2e-4
ARGUMENTS_FIELD = 48  # of /proc/self/stat, counted from 1: where the command line begins, then where it ends
PR_SET_NAME = 15


@dataclass(frozen=True)
class Request:
    """A node to start: its name, the rest of its command line, folder, environment, and the process that asks."""

    name: str
    arguments: tuple[str, ...]
    folder: str
    environment: dict[str, str]
    parent: int

    def pack(self) -> bytes:
        """Return the request as a packet."""
        return json.dumps(asdict(self)).encode()

    @staticmethod
    def unpack(packet: bytes) -> "Request":
        """Return the request in a packet."""
        values = json.loads(packet)
        return Request(**{**values, "arguments": tuple(values["arguments"])})


def main() -> None:
    """Be a nursery until the other end of the socket is closed; in a forked process, be the node that was asked for."""
    line = socket.socket(fileno=int(sys.argv[1]))
    line.set_inheritable(False)
    import_shared(SHARED)
    request = serve(line)
    if request is not None:
        import_module(f"{NODES}.{request.name}").main()


def import_shared(names: Iterable[str]) -> None:
    """Import modules, and keep the garbage collector from touching what all nodes share."""
    for name in names:
        import_module(name)
    gc.collect()
    gc.freeze()


def serve(line: socket.socket) -> Request | None:
    """Fork for each request; returns the request in the process that is the node, None where nobody asks any more."""
    while True:
        packet, descriptors, _flags, _address = socket.recv_fds(line, MOST_BYTES, 1)
        if not packet:
            return None
        log = descriptors[0]
        between = os.fork()
        if between == 0:
            if os.fork() != 0:
                os._exit(0)
            request = Request.unpack(packet)
            is_ready = become(request, log) and wait_for_parent(request.parent)
            line.send(str(os.getpid() if is_ready else 0).encode())
            line.close()
            if not is_ready:
                os._exit(1)
            return request
        os.close(log)
        os.waitpid(between, 0)


def become(request: Request, log: int) -> bool:
    """Give this process group, folder, environment, streams and command line of a node; False without its folder."""
    os.setpgid(0, 0)
    try:
        os.chdir(request.folder)
    except OSError:
        return False
    sys.path[0] = request.folder
    os.environ.clear()
    os.environ.update(request.environment)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((nothing, 0), (log, 1), (log, 2)):
        os.dup2(source, target)
    os.close(nothing)
    os.close(log)
    module = f"{NODES}.{request.name}"
    sys.argv = [module, *request.arguments]
    show_as([sys.executable, "-m", *sys.argv], request.name)
    return True


def wait_for_parent(parent: int) -> bool:
    """Wait until the process that asked has become the parent; False where that does not happen."""
    deadline = time.monotonic() + ADOPTION_LIMIT_S
    while os.getppid() != parent:
        if time.monotonic() > deadline:
            return False
        time.sleep(ADOPTION_POLL_S)
    return True


def show_as(words: list[str], name: str) -> None:
    """Let tools that list processes show this command line and name; of a longer one the beginning."""
    ctypes.CDLL(None).prctl(PR_SET_NAME, name.encode()[:15], 0, 0, 0)
    fields = Path("/proc/self/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    first, end = (int(fields[ARGUMENTS_FIELD - 3 + k]) for k in range(2))  # what stands behind ")" begins with field 3
    room = end - first
    if first == 0 or room <= 0:
        return
    text = b"\0".join(os.fsencode(word) for word in words)[: room - 1]
    ctypes.memset(first, 0, room)
    ctypes.memmove(first, text, len(text))


if __name__ == "__main__":
    main()
