"""One operating-system process per node: started with its own log, watched, and ended on every path.

It is forked by a process that has imported what nodes share (`nursery`), or starts by itself where that has failed.
"""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from contact_mpc.errors import StackError
from contact_mpc.ros.stack.adoption import AdoptedProcess, node_environment, start_node

TAIL_LINES = 12
POLL_S = 0.02
LEAST_FREE_BYTES = 1_000_000  # with less a recorder has ended, or soon will


class NodeProcess:
    """A node in a process group of its own, so that Ctrl-C in a terminal reaches the orchestrator only.

    Parameters
    ----------
    name : str
        Name of the node and of its module in contact_mpc.ros.nodes.
    ros_arguments : sequence of str
        What follows `--ros-args`.
    log : Path
        File for stdout and stderr.
    environment : dict
        Added to the environment of this process.
    prefix : sequence of str
        Words before the command, of a node that then starts by itself.
    """

    def __init__(
        self,
        name: str,
        ros_arguments: Sequence[str],
        log: Path,
        environment: dict[str, str],
        prefix: Sequence[str] = (),
    ) -> None:
        self.name, self.log = name, log
        arguments = ["--ros-args", *ros_arguments]
        command = [*prefix, sys.executable, "-m", f"contact_mpc.ros.nodes.{name}", *arguments]
        variables = {**node_environment(), **environment}
        self._process: subprocess.Popen[bytes] | AdoptedProcess
        try:
            with log.open("wb") as output:
                forked = None if prefix else start_node(name, arguments, variables, output)
                self._process = forked or subprocess.Popen(
                    command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=variables, process_group=0
                )
        except OSError as error:
            raise StackError(f"node {name} could not be started: {error}; its log would be {log}") from error

    @property
    def pid(self) -> int:
        """Process id."""
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """Exit code; negative for a signal; None while it runs."""
        return self._process.poll()

    def check(self) -> None:
        """Raise StackError with the last lines of its log if the process has ended."""
        code = self.exit_code
        if code is None:
            return
        how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
        raise StackError(f"node {self.name} {how}; the end of its log {self.log}:\n{self.tail()}")

    def tail(self) -> str:
        """Return the last lines of the log, indented."""
        lines = self.log.read_text(errors="replace").splitlines()[-TAIL_LINES:]
        shown = "\n".join(f"  {line}" for line in lines) or "  (empty)"
        full = self._full_disk()
        return f"{shown}\n  {full}" if full else shown

    def _full_disk(self) -> str:
        """Return what to do where the log is on a full disk, which cuts what nodes record and what they say of it."""
        free = shutil.disk_usage(self.log.parent).free
        if free >= LEAST_FREE_BYTES:
            return ""
        return (
            f"no space left on the disk of {self.log.parent} ({free // 1000} kB): free some, or give another --record"
        )

    def errors(self) -> str:
        """Return what the node itself called an error, or the end of its log."""
        lines = self.log.read_text(errors="replace").splitlines()
        found = [line.split("]: ", 1)[-1] for line in lines if "[ERROR]" in line or "[FATAL]" in line]
        return "; ".join(found) or f"the end of its log {self.log}:\n{self.tail()}"

    def signal(self, number: int) -> None:
        """Send a signal to the whole process group, if it still runs."""
        if self.exit_code is None:
            os.killpg(self._process.pid, number)

    def wait(self) -> None:
        """Wait for the end of the process."""
        self._process.wait()


@contextmanager
def interrupts_deferred() -> Iterator[None]:
    """Let Ctrl-C and SIGTERM wait until the end of the block, so that what starts in it is always known to its owner.

    A started process has the default handlers: unlike ignored or masked signals, Python's handlers are not inherited.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    arrived: list[int] = []

    def note(number: int, _frame: FrameType | None) -> None:
        arrived.append(number)

    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for first in arrived[:1]:
            signal.raise_signal(first)


def stop_processes(processes: Sequence[NodeProcess], patience_s: float) -> None:
    """End processes: SIGINT, on which nodes clean up, and SIGKILL for those that still run after `patience_s`."""
    for process in processes:
        process.signal(signal.SIGINT)
    deadline = time.monotonic() + patience_s
    while any(process.exit_code is None for process in processes) and time.monotonic() < deadline:
        time.sleep(POLL_S)
    for process in processes:
        process.signal(signal.SIGKILL)
        process.wait()
