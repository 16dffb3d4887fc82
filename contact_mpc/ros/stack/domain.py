"""A ROS domain of one's own: found free, kept from other runs of this package, or refused because it is in use."""

import os
import random
import socket

from contact_mpc.errors import StackError

# DDS: participant k of domain d listens for discovery on UDP port 7400 + 250 d + 10 + 2 k, where processes count their
# participants of all domains. Above domain 101 the ports meet those that Linux hands out by itself.
FIRST_PORT, PORTS_PER_DOMAIN, UNICAST_OFFSET, PORTS_PER_PARTICIPANT = 7400, 250, 10, 2
PARTICIPANTS_PROBED = 32
DOMAINS = range(1, 102)


class DomainLease:
    """Holds a domain until `release`, by the name of an abstract socket that ends with the process at the latest.

    Parameters
    ----------
    domain : int, optional
        The domain wanted; by default any that is free.

    Raises
    ------
    StackError
        The domain is out of range or in use, or none is free.
    """

    def __init__(self, domain: int | None = None) -> None:
        self._socket: socket.socket | None = None
        if domain is not None:
            self.domain = _checked(domain)
            if not self._take(domain):
                raise StackError(
                    f"ROS domain {domain} is in use on this machine; stop what runs there or choose another --domain"
                )
            return
        candidates = list(DOMAINS)
        random.Random(os.getpid()).shuffle(candidates)
        free = next((candidate for candidate in candidates if self._take(candidate)), None)
        if free is None:
            raise StackError(f"no free ROS domain in {DOMAINS[0]}..{DOMAINS[-1]}; stop other ROS processes")
        self.domain = free

    def release(self) -> None:
        """Give the domain back."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _take(self, domain: int) -> bool:
        if is_in_use(domain):
            return False
        lock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            lock.bind(f"\0contact_mpc_ros_domain_{domain}")
        except OSError:
            lock.close()
            return False
        self._socket = lock
        return True


def is_in_use(domain: int) -> bool:
    """Whether a participant of this machine listens in a domain."""
    first = FIRST_PORT + PORTS_PER_DOMAIN * domain + UNICAST_OFFSET
    return any(_is_bound(first + PORTS_PER_PARTICIPANT * k) for k in range(PARTICIPANTS_PROBED))


def _is_bound(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind(("", port))
        except OSError:
            return True
    return False


def _checked(domain: int) -> int:
    if domain not in (0, *DOMAINS):
        raise StackError(f"ROS domain {domain} is out of range; allowed: 0 to {DOMAINS[-1]}")
    return domain
