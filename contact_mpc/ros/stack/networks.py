"""Two network namespaces of this machine with a cable between: a stack on two computers, without the computers.

Each has interfaces of its own, as a computer of its own has; clocks are the same. Needs root and iproute2.
"""

import ctypes
import os
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from contact_mpc.errors import StackError
from contact_mpc.ros.stack.stack import Placement

NAMESPACES = Path("/run/netns")
ADDRESSES = ("10.199.77.1/24", "10.199.77.2/24")  # seen in the two namespaces alone
CLONE_NEWNET = 0x40000000
LINK_WAIT_S, LINK_POLL_S = 20.0, 0.02  # the kernel may tell up to a second after that a link runs
PID_DIGITS = 10**7  # names of interfaces have at most 15 letters


class LinkedNetworks:
    """The namespaces `near` and `far` and what joins them; use as a context manager.

    Raises
    ------
    StackError
        This process may not make namespaces, or the machine has no `ip`.
    """

    def __init__(self) -> None:
        stem = f"cmpc{os.getpid() % PID_DIGITS}"
        self.near, self.far = f"{stem}near", f"{stem}far"
        self._ends = {self.near: f"{stem}n", self.far: f"{stem}f"}

    def __enter__(self) -> "LinkedNetworks":
        if os.geteuid() != 0 or shutil.which("ip") is None:
            raise StackError("two network namespaces need root and the command ip (Debian: iproute2)")
        try:
            self._make()
        except StackError:
            self.remove()
            raise
        return self

    def __exit__(self, *_error: object) -> None:
        self.remove()

    def place(self, far: Sequence[str]) -> Placement:
        """Return where a stack runs of which these nodes are on the far side."""
        return Placement("SUBNET", dict.fromkeys(far, ("ip", "netns", "exec", self.far)))

    def cut(self) -> None:
        """Pull the cable: nothing passes, and both ends see that."""
        self._set_link("down")

    def join(self) -> None:
        """Put the cable in again, and wait until both ends run: Fast DDS never uses an interface that ran later.

        Raises
        ------
        StackError
            An end does not run in time.
        """
        self._set_link("up")
        deadline = time.monotonic() + LINK_WAIT_S
        for name, end in self._ends.items():
            while " state UP " not in _run("ip", "-n", name, "-o", "link", "show", end):
                if time.monotonic() > deadline:
                    raise StackError(f"interface {end} of the namespace {name} does not run after {LINK_WAIT_S:g} s")
                time.sleep(LINK_POLL_S)

    def remove(self) -> None:
        """Take both namespaces away, and with them the cable."""
        for name in (self.near, self.far):
            if (NAMESPACES / name).exists():
                _run("ip", "netns", "del", name)

    @contextmanager
    def inside(self) -> Iterator[None]:
        """Have this thread in the namespace `near`, and what it starts meanwhile: threads and processes."""
        with Path("/proc/thread-self/ns/net").open() as before, (NAMESPACES / self.near).open() as near:
            _enter(near.fileno())
            try:
                yield
            finally:
                _enter(before.fileno())

    def _make(self) -> None:
        for name in self._ends:
            _run("ip", "netns", "add", name)
        (near, first), (far, second) = self._ends.items()
        _run("ip", "link", "add", first, "netns", near, "type", "veth", "peer", "name", second, "netns", far)
        for (name, end), address in zip(self._ends.items(), ADDRESSES, strict=True):
            _run("ip", "-n", name, "address", "add", address, "dev", end)
            _run("ip", "-n", name, "link", "set", "lo", "up")
        self.join()

    def _set_link(self, state: str) -> None:
        for name, end in self._ends.items():
            _run("ip", "-n", name, "link", "set", end, state)


def _run(*command: str) -> str:
    """Run a command and return what it printed; raises StackError where it fails."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise StackError(f"{' '.join(command)}: {done.stderr.strip() or f'exit code {done.returncode}'}")
    return done.stdout


def _enter(namespace: int) -> None:
    if ctypes.CDLL(None, use_errno=True).setns(namespace, CLONE_NEWNET) != 0:
        raise StackError(f"a network namespace cannot be entered: {os.strerror(ctypes.get_errno())}")
