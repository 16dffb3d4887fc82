"""A port of this machine that nobody listens on."""

import socket


def free_port() -> int:
    """Return its number."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
