"""When the system ends a process that was killed: it takes the memory back first, which needs some milliseconds."""

import os
import select
import threading
import time

from contact_mpc.errors import StackError


class ExitWatch(threading.Thread):
    """Waits for the end of a process, beside everything else.

    Parameters
    ----------
    pid : int
        A process that has not been waited for.

    Raises
    ------
    StackError
        From `wait_ns`: the process still runs.
    """

    def __init__(self, pid: int) -> None:
        super().__init__(name=f"exit_watch_{pid}", daemon=True)
        self._pid, self._descriptor = pid, os.pidfd_open(pid)
        self._ended_ns = 0
        self.start()

    def run(self) -> None:
        """Sleep until the process has ended."""
        poll = select.poll()
        poll.register(self._descriptor, select.POLLIN)
        poll.poll()
        self._ended_ns = time.monotonic_ns()
        os.close(self._descriptor)

    def wait_ns(self, timeout_s: float) -> int:
        """Return when the system reported the end of the process (pidfd, Linux), monotonic clock, ns."""
        self.join(timeout_s)
        if self.is_alive():
            raise StackError(f"process {self._pid} still ran {timeout_s:g} s after it was killed")
        return self._ended_ns
