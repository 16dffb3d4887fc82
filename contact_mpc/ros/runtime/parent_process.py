"""The process that started a node, and the node's end with it."""

import ctypes
import os
import signal
import sys

PARENT_VARIABLE = "CONTACT_MPC_PARENT_PID"
PR_SET_PDEATHSIG = 1


def parent_environment() -> dict[str, str]:
    """Return the environment variables with which nodes that this process starts end when it dies."""
    return {PARENT_VARIABLE: str(os.getpid())}


def die_with_parent() -> None:
    """Have the kernel send SIGTERM to this process when the orchestrator that started it dies, however it dies."""
    parent = os.environ.get(PARENT_VARIABLE)
    if parent is None:
        return
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != int(parent):
        sys.exit(1)
