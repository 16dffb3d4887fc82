"""Nodes as children that a nursery has forked: asked for, adopted, watched; one nursery per environment.

Only standard libraries are imported here, so that a command can let the nursery begin before its own imports.
"""

import atexit
import ctypes
import os
import select
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from contact_mpc.ros.runtime.parent_process import PARENT_VARIABLE, parent_environment
from contact_mpc.ros.stack.nursery import Request
from contact_mpc.settings.threads import SINGLE_THREADED

PR_SET_CHILD_SUBREAPER = 36
PADDING = 8192  # bytes for the command line that a node shows
FREE = ("ROS_DOMAIN_ID", "ROS_AUTOMATIC_DISCOVERY_RANGE", "FASTRTPS_DEFAULT_PROFILES_FILE", PARENT_VARIABLE)
VOLATILE = ("PYTEST_CURRENT_TEST", "LINES", "COLUMNS")  # what no import reads
# What imports set by themselves (joblib does), in a nursery too, and in a command after its nursery has begun.
SET_BY_IMPORTS = ("KMP_INIT_AT_FORK",)
ANSWER_LIMIT_S = 120.0  # imports on a busy machine
_lock = threading.Lock()


class AdoptedProcess:
    """A child of this process that another one has forked; with the interface of `subprocess.Popen` that is needed."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._code: int | None = None

    def poll(self) -> int | None:
        """Return the exit code, negative for a signal; None while it runs."""
        return self._collect(os.WNOHANG)

    def wait(self) -> int | None:
        """Wait for the end; return the exit code."""
        return self._collect(0)

    def _collect(self, flags: int) -> int | None:
        if self._code is None:
            pid, status = os.waitpid(self.pid, flags)
            if pid == self.pid:
                self._code = os.waitstatus_to_exitcode(status)
        return self._code


class Nursery:
    """The process that forks nodes, for one environment."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.key, self.owner = _imported(environment), os.getpid()
        self._line, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._line.settimeout(ANSWER_LIMIT_S)
        command = [sys.executable, "-m", "contact_mpc.ros.stack.nursery", str(other.fileno()), " " * PADDING]
        with other:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                env=dict(environment), process_group=0, pass_fds=(other.fileno(),),
            )  # fmt: skip

    def fits(self, environment: Mapping[str, str]) -> bool:
        """Whether it lives, is this process's own, and has imported under this environment."""
        return self.owner == os.getpid() and self.key == _imported(environment) and self._process.poll() is None

    def start(self, request: Request, log: BinaryIO) -> AdoptedProcess | None:
        """Return the node as a child of this process; None where the nursery has ended."""
        prctl = ctypes.CDLL(None, use_errno=True).prctl
        if prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
            return None
        try:
            socket.send_fds(self._line, [request.pack()], [log.fileno()])
            answer = self._answer()
        except OSError:
            answer = b""
        finally:
            prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
        pid = int(answer or b"0")
        return AdoptedProcess(pid) if pid else None

    def _answer(self) -> bytes:
        readable, _, _ = select.select([self._line], [], [], ANSWER_LIMIT_S)
        return self._line.recv(64) if readable else b""

    def close(self) -> None:
        """End it; nodes that it has forked go on."""
        self._line.close()
        if self.owner == os.getpid():
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(0.5)
            self._process.kill()
            self._process.wait()


_nursery: Nursery | None = None


def node_environment() -> dict[str, str]:
    """Return the environment of every node that this process starts."""
    threads = dict.fromkeys(SINGLE_THREADED, "1")
    return {**os.environ, **threads, "PYTHONUNBUFFERED": "1", **parent_environment()}


def prepare() -> None:
    """Let a nursery begin, unless there is one: what imports take is done beside what the caller does."""
    with _lock:
        _find(node_environment())


def start_node(
    name: str, arguments: Sequence[str], environment: Mapping[str, str], log: BinaryIO
) -> AdoptedProcess | None:
    """Return a node that was forked with its output in `log`; None where that is not possible here."""
    with _lock:
        request = Request(name, tuple(arguments), str(Path.cwd()), dict(environment), os.getpid())
        return _find(environment).start(request, log)


def _find(environment: Mapping[str, str]) -> Nursery:
    global _nursery
    if _nursery is None or not _nursery.fits(environment):
        if _nursery is None:
            atexit.register(_close)
        else:
            _nursery.close()
        _nursery = Nursery(environment)
    return _nursery


def _close() -> None:
    if _nursery is not None and _nursery.owner == os.getpid():
        _nursery.close()


def _imported(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that imports may read."""
    return {key: value for key, value in environment.items() if key not in (*FREE, *VOLATILE, *SET_BY_IMPORTS)}
