"""How the processes of a stack find each other and talk: over UDP on the loopback interface, and without waiting.

Fast DDS by itself shares memory between the processes of one machine, also in the range LOCALHOST of its ROS 2 layer. A
process that is killed while it holds a lock there stops those that write to it, the command bridge too: with 2.14 a
publisher at 1 kHz stood still for 50 to 140 ms after most kills, and up to a second (`healthy_check_timeout_ms`; see
eProsima/Fast-DDS issues 5469 and 6535). Sockets have no such locks. In the range LOCALHOST it also listens on all
interfaces, though it announces itself on one. The profile listens on 127.0.0.1 alone. So the range is left to it. It
asks for more than the usual buffers of sockets, so that a burst need not be sent again; the kernel gives what it may.

A participant that starts drops the first answers of those already there, because they arrive before it is ready, and
they repeat theirs only every 3 s. So with this profile each announces itself ten times a second while a stack starts,
and at the usual rate from then on.

Before a writer may send a reliable message again it lets a time pass (nackSupressionDuration), 0 by default, at whose
end another thread wakes up: for every message and reader, 13 times in a step of 1 ms of lockstep. On the loopback,
where hardly anything is lost, it is 20 ms, counted from the first message, and a lost one may come that much later.

In the range SUBNET the profile does the same on all interfaces, without that time: no shared memory either.
"""

import os
from pathlib import Path

from rclpy.utilities import get_rmw_implementation_identifier

from contact_mpc.settings.resources import resource

RANGE_VARIABLE, PROFILE_VARIABLE = "ROS_AUTOMATIC_DISCOVERY_RANGE", "FASTRTPS_DEFAULT_PROFILES_FILE"
PROFILE, NETWORK_PROFILE = "fastdds_loopback", "fastdds_network"


def loopback_environment() -> dict[str, str]:
    """Return the variables that keep every process of a stack on the loopback interface.

    Other middlewares than Fast DDS, and a profile that the user has chosen, get the range LOCALHOST instead.
    """
    if not _is_profile_ours():
        return {RANGE_VARIABLE: "LOCALHOST"}
    return {RANGE_VARIABLE: "SYSTEM_DEFAULT", PROFILE_VARIABLE: str(resource("middleware", PROFILE))}


def discovery_environment(scope: str) -> dict[str, str]:
    """Return the variables for a range: LOCALHOST as `loopback_environment`, SUBNET with the profile of networks."""
    if scope == "LOCALHOST":
        return loopback_environment()
    if not _is_profile_ours():
        return {RANGE_VARIABLE: scope}
    return {RANGE_VARIABLE: scope, PROFILE_VARIABLE: str(resource("middleware", NETWORK_PROFILE))}


def _is_profile_ours() -> bool:
    """Whether the middleware reads a profile, and the user has chosen none."""
    chosen, ours = os.environ.get(PROFILE_VARIABLE), (PROFILE, NETWORK_PROFILE)
    is_ours = chosen is None or Path(chosen).name in [resource("middleware", name).name for name in ours]
    return is_ours and get_rmw_implementation_identifier().startswith("rmw_fastrtps")
